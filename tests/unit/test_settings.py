"""Settings that are wrong are one clear error; errors survive the way between processes."""

from __future__ import annotations

import errno
import pickle

import pytest

from bicliq.pipeline.errors import (
    AskedBackendError,
    BackendError,
    CapacityError,
    InputError,
    LimitReached,
    StorageError,
    may_heal,
    sentence,
)
from bicliq.pipeline.formats import input_errors
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store


def test_a_settings_file_that_is_no_toml_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text("[search\nmin_left = 3")
    with pytest.raises(InputError, match=r"bicliq.toml: is no TOML"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "size"), [("300MB", 300 * 10**6), ("1.5 GiB", 3 << 29), ("2147483648", 1 << 31), (1e9, 10**9)]
)
def test_bytes_may_have_a_unit_wherever_they_are_set(tmp_path, monkeypatch, text, size):
    monkeypatch.chdir(tmp_path)
    assert load_settings(search={"memory_limit": text}).search.memory_limit == size
    monkeypatch.setenv("BICLIQ__PLAN__MEMORY_BUDGET", str(text) if isinstance(text, str) else str(size))
    (tmp_path / "bicliq.toml").write_text(f"[search]\nmax_bytes = {text!r}\n")
    settings = load_settings()
    assert (settings.search.max_bytes, settings.plan.memory_budget) == (size, size)
    assert load_settings(**settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize("text", ["lots", "3 apples", "0", "-1", "9EiB", "1e9"])
def test_bytes_that_are_none_are_refused(text):
    with pytest.raises(InputError, match=r"setting search.memory_limit .*(byte|greater than|less than)"):
        load_settings(search={"memory_limit": text})


def test_an_object_store_without_credentials_is_a_storage_error(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match="credentials"):
        Store.open("s3://bucket/store-without-credentials")


@pytest.mark.parametrize(
    "kind", [InputError, StorageError, LimitReached, BackendError, CapacityError, AskedBackendError]
)
def test_errors_survive_pickling(kind):
    copy = pickle.loads(pickle.dumps(kind("what, where, value, what to do")))
    assert type(copy) is kind
    assert str(copy) == "what, where, value, what to do"


def test_a_store_may_be_named_by_a_path(tmp_path):
    assert load_settings(store=tmp_path / "store").store == str(tmp_path / "store")
    with pytest.raises(InputError, match="setting store 5"):
        load_settings(store=5)


def because(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [because(StorageError("away"), ConnectionResetError()), ConnectionResetError(), TimeoutError(), MemoryError()],
)
def test_storage_networks_and_memory_may_come_back(error):
    assert may_heal(error)


@pytest.mark.parametrize(
    "error",
    [
        InputError("line 3"), CapacityError("2^128"), LimitReached("so many"), BackendError("lost"),
        StorageError("format 2"), AskedBackendError("lost"), ValueError("threads"), TypeError("text"), KeyError("x"),
    ],
)  # fmt: skip
def test_nothing_else_is_better_the_second_time(error):
    assert not may_heal(error)


@pytest.mark.parametrize("away", [OSError(errno.ESTALE, "Stale file handle"), OSError(errno.EBUSY, "SlowDown")])
def test_a_source_whose_disk_or_bucket_is_away_may_come_back_and_a_damaged_one_not(away):
    with (
        pytest.raises(StorageError, match="see that its disk is there, and try again") as caught,
        input_errors("t.csv"),
    ):
        raise away
    assert may_heal(caught.value)
    with pytest.raises(InputError, match="damaged or cut off"), input_errors("t.bz2"):
        raise OSError("Invalid data stream")


def test_an_error_of_ours_is_its_text_and_another_has_a_name():
    assert sentence(StorageError("s3://x: cannot read")) == "s3://x: cannot read"
    assert sentence(ZeroDivisionError("division by zero")) == "ZeroDivisionError: division by zero"
