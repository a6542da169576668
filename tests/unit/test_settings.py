"""Settings that are wrong are one clear error; errors survive the way between processes."""

from __future__ import annotations

import pickle

import pytest

from pipeline.errors import BackendError, CapacityError, InputError, LimitReached, StorageError
from pipeline.settings import LITTLE_TO_SEARCH, ClusterSettings, load_settings
from pipeline.store.layout import Store


def test_a_settings_file_that_is_no_toml_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text("[search\nmin_left = 3")
    with pytest.raises(InputError, match=r"bicliq.toml: is no TOML"):
        load_settings()


def test_an_object_store_without_credentials_is_a_storage_error(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match="credentials"):
        Store.open("s3://bucket/store-without-credentials")


@pytest.mark.parametrize("kind", [InputError, StorageError, LimitReached, BackendError, CapacityError])
def test_errors_survive_pickling(kind):
    copy = pickle.loads(pickle.dumps(kind("what, where, value, what to do")))
    assert type(copy) is kind
    assert str(copy) == "what, where, value, what to do"


def test_a_cluster_is_started_where_there_is_work_for_it_or_it_is_asked_for():
    little, much = LITTLE_TO_SEARCH, LITTLE_TO_SEARCH + 1
    assert ClusterSettings().is_local(little)
    assert not ClusterSettings().is_local(much)
    assert not ClusterSettings(workers=2).is_local(little)
    assert not ClusterSettings(scheduler="tcp://host:8786").is_local(little)
    assert not ClusterSettings(dashboard=":8787").is_local(little)
    assert not ClusterSettings(local=False).is_local(little)
    assert ClusterSettings(local=True, workers=2).is_local(much)
