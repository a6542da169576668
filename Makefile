# Two commands do it all on a fresh machine with Python >= 3.11 and a C++ compiler: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STORE ?= demo-store
SANITIZER ?= compute-sanitizer
SOURCES := $(wildcard kernels/src/*.txt kernels/src/*/*)

.PHONY: setup demo test test-checked test-gpu sanitize-gpu lint bench clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit("bicliq needs Python 3.11 or 3.12, this is %d.%d: make PYTHON=python3.12 …" % sys.version_info[:2] if not (3, 11) <= sys.version_info[:2] < (3, 13) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# A raw edge table (KONECT, with multi-edges and timestamps) to its verified maximal bicliques.
demo: setup
	$(BIN)/bicliq run tests/data/out.edit-nawiki --store $(STORE)
	$(BIN)/bicliq verify --store $(STORE)
	$(BIN)/bicliq top -k 10 --store $(STORE)

test: setup
	$(BIN)/python -m pytest

# The kernels built with the checks of the C++ library, in an environment of their own: what reads beyond a vector ends the test.
CHECKED = .venv/checked
test-checked: setup
	test -x $(CHECKED)/bin/python || $(PYTHON) -m venv $(CHECKED)
	$(CHECKED)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -C cmake.define.BICLIQ_CHECKS=ON -C build-dir=build/checked -e '.[dev]'
	$(CHECKED)/bin/python -m pytest tests/property

# Tests that need an NVIDIA GPU; each is skipped, with its reason, where there is none. First: pip install -e '.[gpu]'
test-gpu: setup
	$(BIN)/python -m pytest -m gpu tests/gpu

# NVIDIA's checkers over small graphs, one tool a kind of fault: memory, shared memory (builders of roots and cliques use it), barriers.
SANITIZE = $(SANITIZER) --error-exitcode 1
sanitize-gpu: setup
	$(SANITIZE) --tool memcheck --kernel-regex kns=search $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-regex kns=build $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-regex kns=count_ $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool racecheck --kernel-regex kns=build $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool racecheck --kernel-regex kns=search $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool synccheck --kernel-regex kns=search $(BIN)/python -m tests.gpu.sanitize

# Style, types, and the rules of the house (tests/house): who imports whom, long files, wide prose, names that nobody tests.
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/house

# Our seconds beside the published programs'; BICLIQ_DATA names the folder of the larger graphs.
bench: setup
	$(BIN)/bicliq bench enumerate

clean:
	rm -rf .venv build demo-store .pytest_cache .mypy_cache .ruff_cache
