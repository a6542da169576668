"""A process that is really killed, before or after a call by which a folder is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

SCRIPT = """
import os, signal, sys
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store import layout
from bicliq.pipeline.store.layout import Store
work, folder, method, when, file, left, *given = sys.argv[1:]
of, left = getattr(layout, folder), int(left)
real = getattr(of, method)
def killed(self, *asked, **options):
    global left
    left -= not file or any(str(one).startswith(file) for one in asked)
    found = real(self, *asked, **options) if left or when == "after" else None
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(of, method, killed)
exec(work)
"""


def killed(
    work: str, *given: str, method: str, when: str = "before", file: str = "", at: int = 1, folder: str = "RunFolder"
) -> None:
    """Do ``work``, with what is ``given``, up to the call of a method of folders, the first or a
    later one, that names a file."""
    command = [sys.executable, "-c", SCRIPT, work, folder, method, when, file, str(at), *given]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
