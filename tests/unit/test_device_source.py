"""The CUDA kernels compile for every generation that they are made for, on a machine without a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

import pytest

from kernels.cuda import enumeration as cuda
from kernels.cuda.tuning import Tuning
from pipeline.bench.layouts import LAYOUTS


def load_nvrtc() -> ctypes.CDLL:
    """The compiler of the package nvidia-cuda-nvrtc, or of a CUDA toolkit."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations or []] if spec else []
    found = [path for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.1*"))]
    for name in [*map(str, found), "libnvrtc.so.13", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def compile_for(nvrtc: ctypes.CDLL, architecture: str, name: str, *more: str) -> str:
    """Compile the kernels; returns the compiler's complaint, or nothing."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = cuda.source(name).encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in (*cuda.OPTIONS, *more))]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() if status else ""


@pytest.mark.parametrize(
    "name", ["enumeration/enumeration.cu", "counting/levels.cu", "counting/trees.cu", "clique/clique.cu"]
)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_kernels_compile_without_a_gpu(architecture: str, name: str) -> None:
    assert compile_for(load_nvrtc(), architecture, name) == ""


def test_another_layout_compiles() -> None:
    layout = Tuning(warps_a_block=8, blocks_a_multiprocessor=1, gifts=0, shares=1, nodes_a_poll=8)
    assert (
        compile_for(load_nvrtc(), "sm_90", "enumeration/enumeration.cu", "-DBICLIQ_SEARCH=0", *layout.options()) == ""
    )


@pytest.mark.parametrize("width", [2, 64])
def test_wider_sets_of_cliques_compile(width: int) -> None:
    assert compile_for(load_nvrtc(), "sm_90", "clique/clique.cu", f"-DBICLIQ_WIDTH={width}") == ""


def test_the_source_is_one_text_with_every_header_once() -> None:
    text = cuda.source()
    assert '#include "' not in text
    assert text.count("class MaximalBicliques :") == 1


def test_every_number_of_a_layout_is_one_that_the_source_knows() -> None:
    text = cuda.source()
    names = [option.split("=")[0].removeprefix("-D") for option in Tuning().options()]
    assert all(f"#ifndef {name}" in text or f"#define {name} " in text for name in names)
    by_sizes_of_tasks = [layout for layout in LAYOUTS.values() if layout == Tuning(task_words=layout.task_words)]
    assert len({layout.options() for layout in LAYOUTS.values()}) == len(LAYOUTS) - len(by_sizes_of_tasks) + 1
