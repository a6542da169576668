"""nvCOMP is called as its headers say: what a C compiler makes of their declarations answers."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from bicliq.kernels.cuda import nvcomp
from bicliq.kernels.errors import BackendError
from tests import host_cupy
from tests.host_cupy import HostCupy, as_array

LIBRARY = """
#include <stddef.h>
#include <string.h>
typedef struct { int data_type; int bitshuffle_mode; char reserved[56]; } LZ4;
typedef struct { char reserved[64]; } Zstd;
enum { kSuccess = 0, kInvalidValue = 10, kLargest = 1000 };
#define CODEC(Name) \\
  static int is_default(Name of) { Name zeros; memset(&zeros, 0, sizeof zeros); return !memcmp(&of, &zeros, sizeof of); } \\
  int nvcompBatched##Name##CompressGetMaxOutputChunkSize(size_t largest, Name of, size_t* most) { \\
    if (!is_default(of) || largest > kLargest) return kInvalidValue; \\
    *most = largest + 7; \\
    return kSuccess; \\
  } \\
  int nvcompBatched##Name##CompressGetTempSizeAsync(size_t n, size_t largest, Name of, size_t* bytes, size_t total) { \\
    if (!is_default(of) || total > n * largest) return kInvalidValue; \\
    *bytes = n; \\
    return kSuccess; \\
  } \\
  int nvcompBatched##Name##CompressAsync(const char* const* from, const size_t* sizes, size_t largest, size_t n, char* scratch, \\
      size_t scratch_bytes, char* const* to, size_t* packed, Name of, int* statuses, void* stream) { \\
    if (!is_default(of) || scratch_bytes != n || stream != (void*)7) return kInvalidValue; \\
    for (size_t i = 0; i < n; ++i) { \\
      scratch[i] = 1; \\
      packed[i] = sizes[i]; \\
      statuses[i] = sizes[i] > largest ? kInvalidValue : kSuccess; \\
      for (size_t k = 0; k < sizes[i] && k < largest; ++k) to[i][k] = from[i][sizes[i] - 1 - k]; \\
    } \\
    return kSuccess; \\
  }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Turns pages round, which nothing else would."""
    folder = tmp_path_factory.mktemp("nvcomp")
    for name in ("LZ4", "Zstd"):
        (folder / f"{name}.c").write_text(LIBRARY + f"CODEC({name})\n")
    sources = [str(folder / f"{name}.c") for name in ("LZ4", "Zstd")]
    place = folder / "libnvcomp" / "lib64"
    place.mkdir(parents=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", *sources, "-o", str(place / nvcomp.LIBRARY)], check=True)
    return folder


@pytest.fixture
def gpu(built, monkeypatch):
    with host_cupy.nvcomp_at(monkeypatch, built), host_cupy.installed(HostCupy({}), monkeypatch) as cupy:
        yield cupy


def told(sizes, largest=None):
    pages = [np.arange(n, dtype=np.uint8) for n in sizes]
    pointers = as_array(np.array([page.ctypes.data for page in pages], np.uint64))
    return pages, (pointers, as_array(np.array(sizes, np.uint64)), largest or max(sizes), sum(sizes))


@pytest.mark.parametrize("codec", nvcomp.PREFIXES)
def test_each_page_has_its_row(gpu, codec):
    pages, arguments = told([5, 100, 1, 33])
    room, packed, failed = nvcomp.compress(codec, *arguments)
    assert not failed.any()
    assert packed.tolist() == [5, 100, 1, 33]
    assert room.shape == (4, 112)  # 107 bytes, and the next page begins at a multiple of 16
    for row, page in zip(room, pages, strict=True):
        assert row[: len(page)].tolist() == page[::-1].tolist()


@pytest.mark.parametrize("codec", nvcomp.PREFIXES)
def test_a_page_that_cannot_be_compressed_is_named(gpu, codec):
    *_, failed = nvcomp.compress(codec, *told([5, 100], largest=60)[1])
    assert failed.astype(bool).tolist() == [False, True]


@pytest.mark.parametrize("codec", nvcomp.PREFIXES)
def test_a_call_that_fails_is_heard_of(gpu, codec):
    with pytest.raises(BackendError, match=f"by {codec} \\(GetMaxOutputChunkSize: 10\\)"):
        nvcomp.compress(codec, *told([2000])[1])


def test_a_machine_without_it_says_so(monkeypatch):
    with host_cupy.nvcomp_at(monkeypatch, None):
        assert not nvcomp.compresses("zstd")
        assert nvcomp.compresses("none")
