"""Bytes that no writer of ours made, and codecs that a machine lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDDEN = """
import resource
import numpy as np
from bicliq.kernels.cpu import load_extension
extension = load_extension()
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # no file can be opened from here on, and so no library
try:
    {call}
except RuntimeError as error:
    print(error)
"""
ONE = "*[np.array(x, np.int32) for x in ([0, 1], [0], [0, 1], [0], [0])]"


def ran(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


@pytest.mark.parametrize(
    "call",
    [
        f"extension.encode_bicliques({ONE}, extension.RowGroupMaker(False, 6, 1, None, [], None, 1.0))",
        "extension.read_columns(np.zeros(30, np.uint8), 6, [(0, 30, 1, 1)], 1)",
    ],
)
def test_a_codec_whose_library_is_missing_is_said(call: str) -> None:
    """It was a null function pointer."""
    assert ran(HIDDEN.format(call=call)) == "this machine has no library for zstd"


def test_bytes_of_a_file_cannot_overflow_the_stack() -> None:
    """Structs within structs, a million deep."""
    script = """
import numpy as np
from bicliq.kernels import read_columns
data = np.full(10**6, 0x1C, np.uint8)
print(read_columns(data, "none", [(0, len(data), 1, "int32")], 1))
"""
    assert ran(script) == "None"
