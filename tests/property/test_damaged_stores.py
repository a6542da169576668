"""Random damage to every kind of file of a finished store: verify names it, no reader is fooled,
repair mends it or says why.

In the ordinary suite a seeded sample; ``BICLIQ_CORRUPTIONS=1000`` tries so many.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import StorageError
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count import count_run
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.stages.profile import two_hop
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.update import update
from tests.nightly import drawn

TRIES = int(os.environ.get("BICLIQ_CORRUPTIONS", drawn(60, 20)))
SEED = 20_261_122
UNFINISHED = {
    "clique.json": "cliques-*.parquet",
    "profile.json": "profile.parquet",
    "two_hop.json": "two_hop.parquet",
}
"""Records without which their tables are what a killed process leaves; verify names the tables."""
COUNTED = [CountAsked(2, 2, vertices=True), CountAsked(3, 3, all_sizes=True)]


@dataclass(frozen=True)
class Finished:
    """A store with runs, versions of them, counts and cliques, and what can be read from it."""

    path: Path
    sources: list[str]
    runs: dict[str, list[dict[str, Any]]]
    top: dict[str, list[dict[str, Any]]]
    states: dict[str, str]
    latest: str
    counts: list[dict]
    cliques: list[list]
    files: list[str]


def settings_of(store: Path, **changes: Any) -> Settings:
    return load_settings(store=str(store), cluster={"local": True}, **changes)


def read_runs(store: Path, runs: list[str]) -> dict[str, Callable[[], Any]]:
    """Every way to read the runs of a store, by name."""
    ways: dict[str, Callable[[], Any]] = {"latest": lambda: open_run(str(store)).run}
    for name in runs:
        ways |= {
            f"state of {name}": lambda name=name: str(open_run(str(store), name).state),
            f"table of {name}": lambda name=name: ordered(open_run(str(store), name).table()),
            f"dataset of {name}": lambda name=name: ordered(open_run(str(store), name).dataset().to_table()),
            f"top of {name}": lambda name=name: open_run(str(store), name).top(5).to_pylist(),
        }
    return ways


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: (row["left"], row["right"]))


def without_roots(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as they are where a run was planned again: one written whole has its base's plan."""
    return [{**row, "root": None} for row in rows]


def ask_again(source: str, store: Path) -> tuple[list[dict], list[list]]:
    """The counts and cliques of a store, which answer from what it holds, or search again what is
    damaged."""
    counts = [count_run(source, asked, settings_of(store, plan={"partitions": 3})).counts for asked in COUNTED]
    questions = (CliqueQuestion(project="left"), CliqueQuestion(project="left", all=True))
    cliques = [answer(source, question, store=Store.open(str(store)))["members"] for question in questions]
    return counts, cliques


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("damaged")
    store, sources = folder / "store", []
    for seed in range(2):
        left, right = np.nonzero(np.random.default_rng(seed).random((30, 25)) < 0.2)
        sources.append(str(folder / f"edges-{seed}.parquet"))
        pq.write_table(pa.table({"l": [f"left {i}" for i in left], "r": right + 100}), sources[-1])
    run(sources[1], settings_of(store, plan={"partitions": 3}))
    run(sources[0], settings_of(store, plan={"partitions": 3}, search={"max_bicliques": 40}))
    run(sources[0], settings_of(store, plan={"partitions": 2}, search={"min_left": 2, "min_right": 2}))
    make_versions(folder, store)
    run(sources[0], settings_of(store, plan={"partitions": 4}))
    opened = Store.open(str(store))
    two_hop(opened, opened.graphs()[0])
    counts, cliques = ask_again(sources[0], store)
    assert verify_store(opened).problems == []
    runs = [name for name in opened.runs() if open_run(opened, name).state.name != "count"]
    assert len(runs) == 9
    assert {"changed.parquet", "rows.parquet"} <= {path.name for path in store.rglob("*.parquet")}
    assert any(opened.graph(graph).record().base for graph in opened.graphs())
    read = {way: read() for way, read in read_runs(store, runs).items()}
    return Finished(
        store,
        sources,
        {name: read[f"table of {name}"] for name in runs},
        {name: read[f"top of {name}"] for name in runs},
        {name: read[f"state of {name}"] for name in runs},
        read["latest"],
        counts,
        cliques,
        in_order_of_making(store),
    )


def in_order_of_making(store: Path) -> list[str]:
    """Its files; by name they would have another order each time, as versions are named by where
    their tables lie."""
    files = sorted((path for path in store.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime_ns)
    return [str(path.relative_to(store)) for path in files]


def make_versions(folder: Path, store: Path) -> None:
    """A run with a window of time and a version of it, which has a layer; a version written whole;
    and a graph told by what differs from another one."""
    random = np.random.default_rng(7)

    def table(name: str, rows: int, first: int) -> str:
        ends = (random.integers(15, size=rows) for _ in range(2))
        names = [[f"{side}{end}" for end in some] for side, some in zip("ab", ends, strict=True)]
        pq.write_table(pa.table({"l": names[0], "r": names[1], "t": np.arange(rows) + first}), folder / name)
        return str(folder / name)

    windowed = {"ingest": {"left": "l", "right": "r", "time": "t", "window": "100s"}}
    run(table("timed.parquet", 100, 0), settings_of(store, **windowed))
    update(table("later.parquet", 4, 100), settings_of(store, **windowed))
    plain = {"ingest": {"left": "l", "right": "r"}}
    run(table("whole.parquet", 200, 0), settings_of(store, **plain))
    changed = update(table("more.parquet", 3, 0), settings_of(store, **plain))
    compact(Store.open(str(store)), changed.version)


def kind_of(path: str) -> str:
    """Files that differ in numbers and tokens only are of one kind."""
    name = path.split("/")[-1]
    if path.endswith(".lock"):
        return "lock"
    return (
        "".join(c for c in name if not c.isdigit())[:12]
        if "part-" in name or "partition" in name
        else name.split("-")[0]
    )


def damaged(random: np.random.Generator, finished: Finished, store: Path) -> tuple[str, set[str]]:
    """Damage one file, every kind of file alike; returns how, and the paths of which verify must
    name one."""
    kinds = sorted({kind_of(path) for path in finished.files})
    kind = kinds[random.integers(len(kinds))]
    of_kind = [path for path in finished.files if kind_of(path) == kind]
    path = of_kind[random.integers(len(of_kind))]
    file = store / path
    data = bytearray(file.read_bytes())
    ways = ["flip", "byte", "cut", "longer", "gone", "empty", "swap", "over", "copy", "digit"]
    how = "longer" if kind == "lock" else ways[random.integers(len(ways))]
    others = [other for other in of_kind if (store / other).read_bytes() != bytes(data)]
    if how in ("swap", "over") and not others:
        how = "flip"
    if how == "copy" and path == "bicliq-store.json":  # what else lies beside it is nobody's business
        how = "flip"
    digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()] if path.endswith(".json") else []
    if how == "digit" and not digits:
        how = "byte"
    named = {path}
    if how == "flip":
        data[random.integers(len(data))] ^= 1 << random.integers(8)
    elif how == "byte":
        at = random.integers(len(data))
        data[at] = (data[at] + 1 + random.integers(255)) % 256
    elif how == "digit":
        at = digits[random.integers(len(digits))]
        data[at] = ord("0") + (data[at] - ord("0") + 1 + random.integers(9)) % 10
    elif how == "cut":
        del data[random.integers(len(data)) :]
    elif how == "longer":
        data += random.bytes(1 + random.integers(20))
    elif how == "empty":
        data.clear()
    if how == "gone":
        file.unlink()
        if file.name in UNFINISHED:
            named = {str(next(file.parent.glob(UNFINISHED[file.name])).relative_to(store))}
    elif how == "copy":
        copy = file.with_name(file.name.replace("0000", "0007") if "0000" in file.name else f"copy-{file.name}")
        copy.write_bytes(data)
        named = {str(copy.relative_to(store))}
    elif how in ("swap", "over"):
        other = others[random.integers(len(others))]
        file.write_bytes((store / other).read_bytes())
        if how == "swap":
            (store / other).write_bytes(data)
            named.add(other)
    else:
        file.write_bytes(data)
    return f"{how} {path}", named


def check_readers(finished: Finished, store: Path, how: str) -> None:
    """No reader returns anything but what was there; an error is a StorageError."""
    expected = {"latest": finished.latest}
    for name, table in finished.runs.items():
        expected |= {
            f"table of {name}": table,
            f"dataset of {name}": None,
            f"top of {name}": finished.top[name],
            f"state of {name}": finished.states[name],
        }
    gone = how.startswith("gone") and (how.endswith(("manifest.json", "run.json")) or "publications/" in how)
    for way, read in read_runs(store, list(finished.runs)).items():
        try:
            found = read()
        except StorageError:
            continue
        except Exception as error:
            if gone and "is no run of this store" in str(error):
                continue
            raise AssertionError(f"{how}: {way} raised {type(error).__name__}: {error}") from error
        if gone and way.startswith(("latest", "state")):  # it says less, and nothing wrong: searched, or another run
            continue
        if way.startswith("dataset"):
            assert len(found) == len(finished.runs[way.removeprefix("dataset of ")]), f"{how}: {way}"
        else:
            assert found == expected[way], f"{how}: {way}"


@pytest.mark.parametrize("block", range(-(-TRIES // 10)))
def test_no_damage_goes_unnoticed(finished: Finished, tmp_path: Path, block: int) -> None:
    random = np.random.default_rng([SEED, block])
    for number in range(min(TRIES, 10)):
        store = tmp_path / str(number)
        shutil.copytree(finished.path, store)
        how, named = damaged(random, finished, store)
        found = verify_store(Store.to_verify(str(store)))
        said = [*found.problems, *found.leftovers]
        missed = f"{how}: verify says {said}"
        assert said, missed
        assert any(path in sentence for path in named for sentence in said), missed
        left_over = how.startswith("copy") or (how.startswith("gone") and how.endswith(tuple(UNFINISHED)))
        assert not found.ok or (left_over and found.leftovers), missed
        check_readers(finished, store, how)
        check_repair(finished, store, how)
        shutil.rmtree(store)


def check_repair(finished: Finished, store: Path, how: str) -> None:
    """After a repair all is as it was, or it said what it could not do; what is asked again has the
    same answer."""
    opened = Store.to_verify(str(store))
    said = repair(opened, settings_of(store))
    found = verify_store(opened)
    left = any(
        word in sentence for word in ("cannot be mended", "left to you", "is not mended before") for sentence in said
    )
    if not left:
        assert found.problems == [], f"{how}: repair said {said}"
        read = {way: read() for way, read in read_runs(store, list(finished.runs)).items() if way.startswith("table")}
        for name, rows in finished.runs.items():
            same = without_roots(read[f"table of {name}"]) == without_roots(rows)
            assert finished.states[name] != "published" or same, f"{how}: {name} after repair"
    counts, cliques = ask_again(finished.sources[0], store)
    assert (counts, cliques) == (finished.counts, finished.cliques), f"{how}: asked again"
