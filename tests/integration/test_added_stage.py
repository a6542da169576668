"""The stage that CONTRIBUTING.md adds as an example: as it stands there, in the list of stages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline import run as stages
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.record import KINDS, Count, Digest, Record

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"

PAIRS = [(left, right) for left in range(6) for right in range(6) if left != right]
TABLE = pa.table({"left": [left for left, _ in PAIRS], "right": [right for _, right in PAIRS]})


@pytest.fixture(scope="module")
def example():
    """What the example defines; its record is known to the store as long as these tests run."""
    (text,) = re.findall(r"```python\n(.*?def tally.*?)```", CONTRIBUTING.read_text(), re.DOTALL)
    known = dict(KINDS)
    names = {"dataclass": dataclass, "Record": Record, "Digest": Digest, "Count": Count, "pa": pa, "Job": stages.Job}
    names["__name__"] = __name__
    exec(text, names)
    yield names
    KINDS.clear()
    KINDS.update(known)


@pytest.fixture
def tally(example, monkeypatch):
    """The record class of the example, whose stage is in the list."""
    monkeypatch.setitem(stages.STAGES, "tally", example["tally"])
    return example["Tally"]


def searched(tmp_path, **search):
    settings = load_settings(store=str(tmp_path / "store"), cluster={"local": True}, search=search)
    return stages.run(TABLE, settings)


def test_the_example_of_a_stage_is_made_once_and_anew_where_the_answer_is_another(tmp_path, tally):
    cut_off = searched(tmp_path, max_bicliques=5)
    store = Store.open(str(tmp_path / "store"))
    folder = store.run(cut_off.run)
    assert folder.read(tally).rows == cut_off.bicliques
    whole = searched(tmp_path)
    assert (whole.run, whole.complete) == (cut_off.run, True)
    assert folder.read(tally).rows == whole.bicliques == 62 > cut_off.bicliques
    table = pq.read_table(folder.path_of("tally.parquet"))
    assert sum(table["bicliques"].to_pylist()) == 62
    written = Path(folder.path_of("tally.json")).stat().st_mtime_ns
    assert "tally" in searched(tmp_path).seconds
    assert Path(folder.path_of("tally.json")).stat().st_mtime_ns == written
    assert verify(store, whole.run).ok


def test_a_damaged_file_of_it_is_noticed_and_repair_says_which_record_to_remove(tmp_path, tally):
    run = searched(tmp_path).run
    store = Store.open(str(tmp_path / "store"))
    folder = store.run(run)
    Path(folder.path_of("tally.parquet")).write_bytes(b"PAR1")
    assert not verify(store, run).ok
    with pytest.raises(DamageError, match=r"tally\.parquet"):
        searched(tmp_path)
    said = repair(store, load_settings(store=store.uri))
    assert [sentence for sentence in said if f"remove runs/{run}/tally.json" in sentence]
    folder.remove("tally.json")
    searched(tmp_path)
    assert verify(store, run).ok
