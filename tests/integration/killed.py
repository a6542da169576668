"""Processes to be killed; one of them before or after a call by which a folder is written."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.forked import Forked


def search(uri: str, run: str) -> None:
    """Search a planned run."""
    from bicliq.pipeline.stages.search_run import search_run
    from bicliq.pipeline.store.layout import Store

    search_run(Store.open(uri), run)


def killed(
    work: str, *given: str, method: str, when: str = "before", file: str = "", at: int = 1, folder: str = "RunFolder"
) -> None:
    """Do ``work``, with what is ``given``, up to the call of a method of folders, the first or a
    later one, that names a file."""
    process = Forked(_work_until, work, given, folder, method, when, file, at)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said


def _work_until(work: str, given: tuple[str, ...], folder: str, method: str, when: str, file: str, left: int) -> None:
    from bicliq.pipeline.settings import load_settings
    from bicliq.pipeline.store import layout

    of = getattr(layout, folder)
    real = getattr(of, method)

    def killed(self: Any, *asked: Any, **options: Any) -> Any:
        nonlocal left
        left -= not file or any(str(one).startswith(file) for one in asked)
        found = real(self, *asked, **options) if left or when == "after" else None
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(of, method, killed)
    exec(work, {"given": given, "load_settings": load_settings, "Store": layout.Store})
