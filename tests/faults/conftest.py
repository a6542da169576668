"""An object store for tests, a real server behind a door that fails some requests when asked to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.bad_object_store import Door, a_door
from tests.s3_server import s3_at

BUCKET = "bad-days"


@pytest.fixture(scope="module")
def opened() -> Iterator[Door]:
    import s3fs

    with a_door() as door, s3_at(door.url, AWS_MAX_ATTEMPTS="2"):
        s3fs.S3FileSystem().makedirs(BUCKET, exist_ok=True)  # what a server of this process holds outlives it
        yield door


@pytest.fixture
def door(opened: Door) -> Iterator[Door]:
    """Yield the door, which fails nothing any more afterwards."""
    yield opened
    opened.fails = lambda method, path, number: None
    opened.lags, opened.knows_conditions = False, True
