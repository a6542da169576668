"""An object store for tests, a real server behind a door that fails some requests when asked to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.bad_object_store import Door, a_door

BUCKET = "bad-days"


@pytest.fixture(scope="module")
def opened() -> Iterator[Door]:
    import s3fs

    with a_door() as door, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": door.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "2",
        }.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().makedirs(BUCKET, exist_ok=True)  # what a server of this process holds outlives it
        yield door
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def door(opened: Door) -> Iterator[Door]:
    """Yield the door, which fails nothing any more afterwards."""
    yield opened
    opened.fails = lambda method, path, number: None
    opened.lags, opened.knows_conditions = False, True
