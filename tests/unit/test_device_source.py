"""The CUDA kernels compile for every generation that they are made for, on a machine without a GPU.

So do the assertions that tie structs, enums and constants of C++ to those of Python: where one side
changes alone, the program does not compile.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.layouts import LAYOUTS
from bicliq import kernels
from bicliq.kernels.cuda import (
    butterflies,
    clique_program,
    counting,
    machine_code,
    pivots,
    row_groups,
    search_program,
    sizes,
    table,
)
from bicliq.kernels.cuda.instances import PROGRAMS, instances
from bicliq.kernels.cuda.program import OPTIONS, SOURCES, Program, SharedEnum, Struct, Values
from bicliq.kernels.cuda.search_program import Tuning
from bicliq.pipeline.placement import doctor
from tests import host_cupy
from tests.host_cupy import HostCupy
from tests.nightly import NIGHTLY, by_night, part_of

ONE_SEARCH = "-DBICLIQ_SEARCH=0"
BY_DAY = () if NIGHTLY else ("-G", ONE_SEARCH)  # not optimised: a tenth of the time


def complaint(architecture: str, of: Program, *more: str) -> str:
    """Compile a program; returns what the compiler has to say against it, or nothing."""
    try:
        machine_code.load_nvrtc()
    except kernels.BackendError as missing:
        pytest.skip(str(missing))
    try:
        machine_code.compile_to_machine_code(of.text(), (*OPTIONS, *more), int(architecture.removeprefix("sm_")))
    except kernels.BackendError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"] if NIGHTLY else ["sm_90"])
def test_the_kernels_compile_without_a_gpu(architecture: str, name: str) -> None:
    assert complaint(architecture, PROGRAMS[name], *BY_DAY) == ""


@by_night
def test_another_layout_compiles() -> None:
    layout = Tuning(warps_a_block=8, blocks_a_multiprocessor=1, most_given=0, shares=1, nodes_a_poll=8)
    assert complaint("sm_90", PROGRAMS["enumeration"], ONE_SEARCH, *layout.options()) == ""


@pytest.mark.parametrize("width", part_of([2, 64], 2))
def test_wider_sets_of_cliques_compile(width: int) -> None:
    assert complaint("sm_90", PROGRAMS["clique"], f"-DBICLIQ_WIDTH={width}", *BY_DAY) == ""


def swapped(struct: Struct) -> Struct:
    """The same with its first two fields the other way round."""
    names = [struct.names[1], struct.names[0], *struct.names[2:]]
    return replace(struct, dtype=np.dtype([(name, struct.dtype[name]) for name in names]))


def longer(struct: Struct) -> Struct:
    """The same with one field more."""
    return replace(struct, dtype=np.dtype([(name, struct.dtype[name]) for name in struct.names] + [("more", "u8")]))


class Stop(IntEnum):
    """Not the numbers of the kernels."""

    END = 2
    PARK = 1


@pytest.mark.parametrize(
    ("name", "agreement", "said"),
    [
        ("enumeration", swapped(search_program.RUN), "PLACE(Run, column_start)"),
        ("enumeration", longer(search_program.COUNTERS), "sizeof(Counters)"),
        ("enumeration", Struct("Subtree", np.dtype("V152")), "sizeof(Subtree)"),
        ("enumeration", SharedEnum(Stop), "Stop::kEnd"),
        ("levels", longer(counting.RUN), "sizeof(CountRun)"),
        ("pivots", longer(pivots.COUNTERS), "sizeof(PivotCounters)"),
        ("butterflies", swapped(butterflies.RUN), "PLACE(ButterflyRun, adjacent)"),
        ("trees", swapped(table.RUN), "PLACE(TreeRun, binomials)"),
        ("clique", swapped(clique_program.TREE), "PLACE(CliqueTree, n)"),
        ("clique", Values((("slot_words(8, 5)", 25),)), "slot_words(8, 5)"),
        ("row_groups", swapped(row_groups.PAGE), "PLACE(Page, at)"),
        ("row_groups", swapped(row_groups.COLUMN), "PLACE(PageColumn, values)"),
    ],
)
def test_a_program_that_differs_from_its_driver_does_not_compile(name: str, agreement: object, said: str) -> None:
    program = PROGRAMS[name]
    changed = replace(program, agreements=(*program.agreements, agreement))
    told = complaint("sm_90", changed, ONE_SEARCH)
    assert "kernels/cuda takes this for granted" in told
    assert said in told


def test_every_field_of_every_struct_is_tied() -> None:
    text = PROGRAMS["enumeration"].text()
    for struct in (search_program.RUN, search_program.COUNTERS, search_program.TASK, search_program.CHUNK):
        assert all(f"BICLIQ_PLACE({struct.name}, {field}) ==" in text for field in struct.names)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_one_text_with_every_header_once(name: str) -> None:
    text = PROGRAMS[name].text()
    assert '#include "' not in text
    headers = [line for path in SOURCES.glob("*/*.hpp") for line in path.read_text().splitlines()[:1]]
    assert max(text.count(f"{line}\n") for line in headers) == 1


def test_every_number_of_a_layout_is_one_that_the_source_knows() -> None:
    text = PROGRAMS["enumeration"].text()
    names = [option.split("=")[0].removeprefix("-D") for option in Tuning().options()]
    assert all(f"#ifndef {name}" in text for name in names)
    by_sizes_of_tasks = [layout for layout in LAYOUTS.values() if layout == Tuning(task_words=layout.task_words)]
    assert len({layout.options() for layout in LAYOUTS.values()}) == len(LAYOUTS) - len(by_sizes_of_tasks) + 1


# ---- machine code that comes with Bicliq

ELF = b"\x7fELF"


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The machine code of the smallest program alone, for one architecture."""
    complaint("sm_90", sizes.PROGRAM)
    small = [(sizes.PROGRAM.text(), OPTIONS)]
    monkeypatch.setattr("bicliq.kernels.cuda.instances.instances", lambda: small)
    path = tmp_path / "machine_code.zip"
    machine_code.make(path, (80, 90))
    monkeypatch.setattr(machine_code, "FILE", path)
    return path


def test_machine_code_is_found_by_source_options_and_generation(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sizes.PROGRAM.text()
    found = {card: machine_code.find(text, OPTIONS, card) for card in (75, 80, 86, 90, 103, 120)}
    assert {card for card, code in found.items() if code} == {80, 86, 90}
    assert found[80] == found[86] != found[90]
    assert all(code.startswith(ELF) and b"count_sizes" in code for code in found.values() if code)
    assert (machine_code.is_whole(86), machine_code.is_whole(75)) == (True, False)
    for capability, told in (
        ("90", "of all programs is here"),
        ("75", "compiled at the first use, in some seconds, for compute capability 7.5"),
        ("100", "compiled at the first use, in some seconds, for compute capability 10.0"),
    ):
        with host_cupy.installed(HostCupy({}, capability=capability), monkeypatch):
            assert doctor.examine()["machine code"] == told
    assert machine_code.find(f"{text} ", OPTIONS, 90) is None
    assert machine_code.find(text, (*OPTIONS, "-DX=1"), 90) is None


def test_machine_code_that_cannot_be_made_leaves_the_file_as_it_was(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shipped.read_bytes()
    monkeypatch.setattr("bicliq.kernels.cuda.instances.instances", lambda: [("no C++", OPTIONS)])
    with pytest.raises(kernels.BackendError, match="error"):
        machine_code.make(shipped, (90,))
    assert shipped.read_bytes() == before
    assert zipfile.is_zipfile(shipped)


@pytest.mark.parametrize(
    ("capability", "driver_reads_it", "compiles"), [("90", True, 0), ("90", False, 1), ("75", True, 1)]
)
def test_a_program_is_compiled_only_where_its_machine_code_does_not_run(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, capability: str, driver_reads_it: bool, compiles: int
) -> None:
    cupy = HostCupy({}, capability=capability)
    loaded: list[bytes] = []

    def load(code: bytes) -> None:
        if not driver_reads_it:
            raise cupy.cuda.driver.CUDADriverError("CUDA_ERROR_NO_BINARY_FOR_GPU")
        loaded.append(code)

    cupy.cuda.function = SimpleNamespace(Module=lambda: SimpleNamespace(load=load))
    with host_cupy.installed(cupy, monkeypatch):
        sizes.PROGRAM.compiled(device=0)
    assert (len(cupy.compiled), len(loaded)) == (compiles, 1 - compiles)


def test_all_that_the_drivers_ask_for_is_among_the_instances() -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []

    class Asked(Program):
        def compiled(self, *options: str, device: int | None = None) -> Any:
            asked.append((self.text(), (*OPTIONS, *options)))

    def asks(module: Any, ask: Callable[[], Any]) -> None:
        own, module.PROGRAM = module.PROGRAM, Asked(module.PROGRAM.source, module.PROGRAM.agreements)
        ask()
        module.PROGRAM = own

    for search in search_program.SEARCHES:
        asks(search_program, lambda search=search: search_program.compiled_search(search, Tuning(), 0))
    for width in clique_program.WIDTHS:
        asks(clique_program, lambda width=width: clique_program.compiled_for(width, 0))
    assert len(set(asked)) == len(search_program.SEARCHES) + len(clique_program.WIDTHS)
    assert set(asked) <= set(instances())
    sources = {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.cu")}
    assert {program.source for program in PROGRAMS.values()} == sources


def test_fields_without_a_value_and_values_without_a_field_are_errors():
    struct = Struct.of_words("Range", "begin", "end")
    assert struct.unpacked(struct.packed({"begin": 3, "end": 2**64 - 1})) == {"begin": 3, "end": 2**64 - 1}
    with pytest.raises(ValueError, match=r"Range lacks \['end'\]"):
        struct.packed({"begin": 1})
    with pytest.raises(ValueError, match=r"has no \['stop'\]"):
        struct.packed({"begin": 1, "end": 2, "stop": 3})
