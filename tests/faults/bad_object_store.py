"""An object store with bad days: moto's S3 server behind a door that fails some of the requests.

The door speaks HTTP and passes requests on as they are, but for those that it answers itself: with
500 Internal Error, 503 Slow Down, or not at all. An answer may be lost, as one is that comes after
the client's time limit: what was asked is done then, and asked again. Lists may be older than the
objects, and writing under a condition (If-None-Match) may be unknown.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.s3_server import s3_server

ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "server", "date"}


class Door:
    """A port in front of an S3 server.

    Parameters
    ----------
    host, port
        The server behind it.

    Attributes
    ----------
    fails
        Asked of each request (method, path, number of the request): "500", "503", "gone" for a
        connection that is closed without an answer, "lost" for one that is closed when all was
        done, "silent" for one that stays open without an answer, or None.
    lags
        Whether lists are answered as they were when it was set.
    knows_conditions
        Whether If-None-Match is obeyed; otherwise it is answered 501, as by stores without it.
    """

    def __init__(self, host: str, port: int) -> None:
        self.fails: Callable[[str, str, int], str | None] = lambda method, path, number: None
        self.lags = False
        self.knows_conditions = True
        self._closed = threading.Event()
        self.requests = 0
        self.failed = 0
        self._behind, self._lists = (host, port), dict[str, Any]()
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                door.pass_on(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one

            def log_message(self, *said: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the store is, for whoever uses it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Take no more requests."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def pass_on(self, asked: BaseHTTPRequestHandler) -> None:
        """Answer a request, or let the server behind the door answer it."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        self.requests += 1
        how = self.fails(asked.command, asked.path, self.requests)
        self.failed += how is not None
        if how in ("gone", "lost", "silent"):
            asked.close_connection = True
            if how == "silent":
                self._closed.wait()
            if how == "lost":
                self._answer_behind(asked, body)
        elif how is not None:
            _answer(asked, int(how), {}, ERROR.format(code={"500": "InternalError", "503": "SlowDown"}[how]).encode())
        elif asked.headers.get("If-None-Match") and not self.knows_conditions:
            _answer(asked, 501, {}, ERROR.format(code="NotImplemented").encode())
        else:
            _answer(asked, *self._answer_behind(asked, body))

    def _answer_behind(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        is_list = asked.command == "GET" and "list-type=2" in asked.path
        if is_list and self.lags and asked.path in self._lists:
            return self._lists[asked.path]
        behind = http.client.HTTPConnection(*self._behind, timeout=30)
        try:
            behind.request(asked.command, asked.path, body, dict(asked.headers))
            found = behind.getresponse()
            answer = found.status, dict(found.getheaders()), found.read()
        finally:
            behind.close()
        if is_list:
            self._lists[asked.path] = answer
        return answer


def _answer(asked: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    asked.send_response(status)
    for name, value in headers.items():
        if name.lower() not in HOP:
            asked.send_header(name, value)
    length = headers.get("Content-Length", headers.get("content-length")) if asked.command == "HEAD" else None
    asked.send_header("Content-Length", length or str(len(body)))
    asked.end_headers()
    if asked.command != "HEAD":
        asked.wfile.write(body)


@contextmanager
def a_door() -> Iterator[Door]:
    """Start moto's server, and a door in front of it."""
    with s3_server() as behind:
        door = Door(*behind)
        yield door
        door.close()
