"""A line between processes that can be slow, or be cut: TCP, passed on by threads of this one."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

BLOCK = 1 << 16


class Line:
    """Passes on connections to a port of this machine.

    Parameters
    ----------
    port
        Where the connections go.

    Attributes
    ----------
    port
        Where to connect to.
    delay
        Seconds that each block waits.
    """

    def __init__(self, port: int) -> None:
        self.delay = 0.0
        self._to = port
        self._open: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop all connections that there are."""
        ends, self._open = self._open, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Drop all connections, and take no more."""
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._door.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                one.close()
                continue
            self._open += [one, other]
            for source, sink in ((one, other), (other, one)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(BLOCK):
                time.sleep(self.delay)
                sink.sendall(block)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
