"""Machine code of the programs, compiled where Bicliq is built.

``machine_code.zip`` lies beside this module where somebody has made it (`make machine-code`, and
every wheel): an entry for each set of options that the drivers ask for and each architecture. An
entry is named by what goes into it, so one that is out of date is not found. What is not there is
compiled where it is needed, as all was before: the first search of a machine then waits for it.

The compiler is NVRTC, which nvcc and CuPy have in common, not nvcc itself: nvcc does not know
``--device-as-default-execution-space``, and the code would be another one than that of the
measurements.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import zipfile
from functools import cache
from multiprocessing.pool import ThreadPool
from pathlib import Path

from bicliq.kernels.errors import BackendError

FILE = Path(__file__).with_name("machine_code.zip")
ARCHITECTURES = (80, 90, 100)
"""Compute capabilities of A100, H100 and B200; later minor ones run the code as well (8.6, 8.9)."""

AS_CUPY = ("--ftz=true",)
"""What CuPy tells NVRTC beyond what it is asked for."""


def entry(text: str, options: tuple[str, ...], architecture: int) -> str:
    """Name of the machine code of a source with its options.

    Examples
    --------
    >>> entry("", ("-DBICLIQ_WIDTH=1",), 90)
    'sm_90/aa639d6288571626'
    """
    digest = hashlib.sha256("\n".join((*AS_CUPY, *options, text)).encode()).hexdigest()
    return f"sm_{architecture}/{digest[:16]}"


def find(text: str, options: tuple[str, ...], capability: int) -> bytes | None:
    """The machine code for a device, or None where there is none.

    Parameters
    ----------
    text, options
        Source and options, as the compiler would be given them.
    capability
        Of the device, as in 90.
    """
    runs = [one for one in ARCHITECTURES if one // 10 == capability // 10 and one <= capability]
    if not runs or not FILE.exists():
        return None
    with zipfile.ZipFile(FILE) as file:
        name = entry(text, options, max(runs))
        return file.read(name) if name in file.NameToInfo else None


def is_whole(capability: int) -> bool:
    """Whether the machine code of everything that the drivers ask for is there for a device."""
    from bicliq.kernels.cuda.instances import instances

    return all(find(*one, capability) is not None for one in instances())


def compile_to_machine_code(text: str, options: tuple[str, ...], architecture: int) -> bytes:
    """Compile a source by NVRTC as CuPy would; needs no GPU.

    Raises
    ------
    BackendError
        If there is no NVRTC, or it has something to say against the source.
    """
    nvrtc, program = load_nvrtc(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"bicliq.cu", 0, None, None)
    given = [option.encode() for option in (f"--gpu-architecture=sm_{architecture}", *AS_CUPY, *options)]
    try:
        if nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given)):
            raise BackendError(_told(nvrtc, program, "ProgramLog").decode(errors="replace"))
        return _told(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _told(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    out = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, out)
    return out.raw


@cache
def load_nvrtc() -> ctypes.CDLL:
    """The compiler of the package nvidia-cuda-nvrtc, or of a CUDA toolkit.

    Raises
    ------
    BackendError
        If there is none.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations or []] if spec else []
    for builtins in [path for folder in folders for path in folder.glob("*/lib/libnvrtc-builtins.so.1*")]:
        ctypes.CDLL(str(builtins))  # older versions look for it by its name only
    found = [str(path) for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.1*"))]
    for name in [*found, "libnvrtc.so.13", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise BackendError("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def make(path: Path = FILE, architectures: tuple[int, ...] = ARCHITECTURES, threads: int = 0) -> None:
    """Compile everything that the drivers ask for, for each architecture, into one file.

    Parameters
    ----------
    path
        The file; it is there when all is well, and else as it was. What it has already stays.
    architectures
        Compute capabilities.
    threads
        Compilers at a time; 0: one a core.
    """
    from bicliq.kernels.cuda.instances import instances

    wanted = [(*one, architecture) for architecture in architectures for one in instances()]
    part, there = path.with_suffix(".part"), {}
    if path.exists():
        with zipfile.ZipFile(path) as before:
            there = {name: before.read(name) for name in before.namelist()}

    def code_of(one: tuple[str, tuple[str, ...], int]) -> bytes:
        return there.get(entry(*one)) or compile_to_machine_code(*one)

    with ThreadPool(threads or None) as pool, zipfile.ZipFile(part, "w") as file:
        for one, code in zip(wanted, pool.imap(code_of, wanted), strict=True):
            file.writestr(zipfile.ZipInfo(entry(*one)), code, zipfile.ZIP_LZMA)
    part.replace(path)


if __name__ == "__main__":
    make()
