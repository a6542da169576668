"""The CUDA kernels compile for every generation that they are made for, on a machine without a GPU.

So do the assertions that tie structs, enums and constants of C++ to those of Python: where one side
changes alone, the program does not compile.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from benchmarks.layouts import LAYOUTS
from bicliq.kernels.cuda import (
    butterflies,
    changes,
    clique_program,
    counting,
    pivots,
    row_groups,
    search_program,
    sizes,
    table,
)
from bicliq.kernels.cuda.program import OPTIONS, SOURCES, Program, SharedEnum, Struct, Values
from bicliq.kernels.cuda.search_program import Tuning
from tests.nightly import NIGHTLY

PROGRAMS = {
    "enumeration": search_program.PROGRAM,
    "changes": changes.PROGRAM,
    "levels": counting.PROGRAM,
    "trees": table.PROGRAM,
    "pivots": pivots.PROGRAM,
    "butterflies": butterflies.PROGRAM,
    "clique": clique_program.PROGRAM,
    "row_groups": row_groups.PROGRAM,
    "sizes": sizes.PROGRAM,
}
ONE_SEARCH = "-DBICLIQ_SEARCH=0"


def load_nvrtc() -> ctypes.CDLL:
    """The compiler of the package nvidia-cuda-nvrtc, or of a CUDA toolkit."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations or []] if spec else []
    found = [path for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.1*"))]
    for builtins in [path for folder in folders for path in folder.glob("*/lib/libnvrtc-builtins.so.1*")]:
        ctypes.CDLL(str(builtins))  # older versions look for it by its name only
    for name in [*map(str, found), "libnvrtc.so.13", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def complaint(architecture: str, of: Program, *more: str) -> str:
    """Compile a program; returns what the compiler has to say against it, or nothing."""
    nvrtc = load_nvrtc()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), of.text().encode(), of.source.encode(), 0, None, None) == 0
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *OPTIONS, *more)]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() if status else ""


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"] if NIGHTLY else ["sm_90"])
def test_the_kernels_compile_without_a_gpu(architecture: str, name: str) -> None:
    assert complaint(architecture, PROGRAMS[name]) == ""


def test_another_layout_compiles() -> None:
    layout = Tuning(warps_a_block=8, blocks_a_multiprocessor=1, most_given=0, shares=1, nodes_a_poll=8)
    assert complaint("sm_90", PROGRAMS["enumeration"], ONE_SEARCH, *layout.options()) == ""


@pytest.mark.parametrize("width", [2, 64])
def test_wider_sets_of_cliques_compile(width: int) -> None:
    assert complaint("sm_90", PROGRAMS["clique"], f"-DBICLIQ_WIDTH={width}") == ""


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
        ("enumeration", Struct("Subtree", np.dtype("V160")), "sizeof(Subtree)"),
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
