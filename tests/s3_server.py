"""moto's S3 server in a thread of the tests, and the variables by which a store is found."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def s3_server() -> Iterator[tuple[str, int]]:
    """Host and port of a server; buckets outlive it, as long as the process."""
    from moto import backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    services = set(backends.list_of_moto_modules())
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        # it lists its own folder at each request, which takes a quarter of all time
        patch.setattr(backends, "list_of_moto_modules", lambda: services)
        server.start()
        yield server.get_host_and_port()
        server.stop()


@contextmanager
def s3_at(url: str, **variables: str) -> Iterator[None]:
    """Whoever opens ``s3://…`` here, or in a command that is started here, finds the store at a
    URL."""
    import s3fs

    names = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"AWS_ENDPOINT_URL": url, **names, **variables}.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield
        s3fs.S3FileSystem.clear_instance_cache()
