"""A real browser without a screen: Debian's Chromium, over its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

PROGRAM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="no Chromium here (Debian: apt-get install chromium)")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-port=0", "--hide-scrollbars",
)  # fmt: skip


class Tab:
    """One page, which is asked by expressions of JavaScript."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._asked = connection, 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._asked += 1
        self._connection.send(json.dumps({"id": self._asked, "method": method, "params": parameters}))
        while True:
            said = json.loads(self._connection.recv(timeout=60))
            if said.get("id") == self._asked:
                assert "error" not in said, said
                return said["result"]

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def text(self) -> str:
        """All text that the page shows, that of components of its own (shadow roots) included."""
        return (
            self.value(
                "(function all(n) { return [...n.childNodes].map(c => ['SCRIPT', 'STYLE'].includes(c.nodeName) ? ''"
                " : c.nodeType == 3 ? c.data : (c.shadowRoot ? all(c.shadowRoot) : '') + ' ' + all(c)).join(' ') })(document.body)"
            )
            or ""
        )

    def wait_for(self, *words: str, seconds: float = 60) -> str:
        """The text of the page, as soon as all these words are in it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = " ".join(self.text().split())
            if all(word in text for word in words):
                return text
            time.sleep(0.2)
        raise AssertionError(
            f"{[word for word in words if word not in text]} did not come; the page says: {text[:3000]}"
        )

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(home: Path, width: int = 1280, height: int = 800) -> Iterator[Tab]:
    """A browser with an empty home of its own, ended with the block."""
    command = [str(PROGRAM), *FLAGS, f"--user-data-dir={home}", f"--window-size={width},{height}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(home / "DevToolsActivePort", process)
        tabs = httpx.get(f"http://127.0.0.1:{port}/json/list", timeout=30).json()
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(30)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.1)
    raise AssertionError("Chromium did not start")
