"""Generated tables of growing size taken all the way: what each stage takes, and how that grows.

Each stage is a process of its own, so that its memory is its own. What it took is written down in a
folder: a measurement that was ended goes on with the first stage that is not there.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generate import generate
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.picture import picture
from bicliq.pipeline.run import resume
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.store.layout import Store

STAGES = ("generate", "ingest", "profile", "plan", "search")
SEED, CORNERS = 7, (0.35, 0.25, 0.25, 0.15)
"""Degrees are skewed, but no vertex is joined to everything."""

EDGES_A_LEFT, EDGES_A_RIGHT, EDGES_A_RING = 10, 40, 1_000_000
"""Edges for each id of the sides that may be drawn, and for each planted ring."""

MEASURED = "growth.json"


@dataclass(frozen=True)
class StageMeasured:
    """One stage of one size.

    Parameters
    ----------
    edges
        Edges drawn for the table.
    stage
        Of `STAGES`.
    seconds, cpu_seconds
        Of the whole process, its imports included.
    peak
        Most bytes of memory that the process held.
    found
        What it made: the name of the graph or of the run, or the number of bicliques and their
        digest.
    """

    edges: int
    stage: str
    seconds: float
    cpu_seconds: float
    peak: int
    found: Any

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def measure_growth(folder: Path, sizes: Sequence[int], settings: Settings) -> Iterator[StageMeasured]:
    """Take tables of some sizes from their edges to published bicliques, stage by stage.

    Parameters
    ----------
    folder
        Where tables and stores lie, on a disk with 25 bytes an edge, and what was measured. A table
        is removed when it has been ingested.
    sizes
        Edges drawn for each table.
    settings
        Everything but the store: thresholds, a limit of memory, backends.

    Yields
    ------
    StageMeasured
        Those of a former call as well.

    Raises
    ------
    InputError
        Where the folder is a URL, cannot be made, or holds other things than measurements; where
        these were made with other settings.
    BicliqError
        Where the process of a stage was killed.
    """
    _check_folder(folder)
    asked = settings.model_dump(mode="json", exclude={"store"})
    for size in sizes:
        place = folder / str(size)
        place.mkdir(parents=True, exist_ok=True)
        known = _read(place / MEASURED, asked)
        for stage in STAGES[: len(known)]:
            yield known[stage]
        for stage in STAGES[len(known) :]:
            known[stage] = _measure(stage, size, place, {name: one.found for name, one in known.items()}, settings)
            if stage == "ingest":
                shutil.rmtree(place / "table")
            records = [one.record() for one in known.values()]
            (place / MEASURED).write_text(json.dumps({"asked": asked, "stages": records}))
            yield known[stage]


def growth_exponents(records: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Return by which power of the edges the processor's seconds grow: of each stage, and in all.

    Notes
    -----
    The slope of a line through the logarithms (least squares). Stages that were measured for a
    single size have none.

    Examples
    --------
    >>> rows = [{"stage": "plan", "edges": n, "cpu_seconds": n**1.5} for n in (10, 100)]
    >>> growth_exponents(rows)
    {'plan': 1.5, 'all': 1.5}
    """
    found = {}
    for stage, points in _seconds_by_stage(records).items():
        if len(points) > 1:
            edges, seconds = np.log(list(points)), np.log(list(points.values()))
            found[stage] = round(float(np.polyfit(edges, seconds, 1)[0]), 3)
    return found


def draw_growth(records: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Draw the processor's seconds of each stage over the edges, with their exponents.

    Raises what `pipeline.picture.picture` does.
    """
    exponents = growth_exponents(records)
    with picture(path, 5.2, 3.6) as figure:
        axes = figure.subplots()
        for stage, points in _seconds_by_stage(records).items():
            power = f", edges^{exponents[stage]:.2f}" if stage in exponents else ""
            style = {"color": "black", "linewidth": 2} if stage == "all" else {"marker": "o", "markersize": 4}
            axes.plot(list(points), list(points.values()), label=stage + power, **style)
        axes.set(xscale="log", yscale="log", xlabel="edges", ylabel="seconds of the processor")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)


def _seconds_by_stage(records: Iterable[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """For each stage, and for all together, the processor's seconds by number of edges."""
    stages: dict[str, dict[int, float]] = {}
    for record in records:
        stages.setdefault(record["stage"], {})[record["edges"]] = record["cpu_seconds"]
    whole = set.intersection(*(set(points) for points in stages.values()))
    stages["all"] = {edges: sum(points[edges] for points in stages.values()) for edges in sorted(whole)}
    return {stage: dict(sorted(points.items())) for stage, points in stages.items()}


def _check_folder(folder: Path) -> None:
    if ":/" in str(folder):
        raise InputError(f"{folder}: stages are measured on a disk of this machine; name a folder of it, not a URL")
    if not folder.parent.is_dir():
        raise InputError(f"{folder.parent}: there is no such folder; make it, or name another place")
    found = list(folder.iterdir()) if folder.exists() else []
    others = [path.name for path in found if path.is_dir() and not path.name.isdigit()]
    if others:
        raise InputError(f"{folder}: it holds other things than measurements ({others[0]}); name a new folder")


def _read(path: Path, asked: dict[str, Any]) -> dict[str, StageMeasured]:
    if not path.exists():
        return {}
    kept = json.loads(path.read_text())
    if kept["asked"] != asked:
        raise InputError(f"{path}: this was measured with other settings; name another folder, or remove this one")
    return {record["stage"]: StageMeasured(**record) for record in kept["stages"]}


def _measure(stage: str, size: int, place: Path, found: dict[str, Any], settings: Settings) -> StageMeasured:
    started = time.perf_counter()
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            answer, cpu_seconds, peak = process.submit(_in_a_process, stage, size, place, found, settings).result()
    except BrokenProcessPool as error:
        raise BicliqError(
            f"{place}: the process of {stage} was killed, perhaps for its memory; the same command goes on there"
        ) from error
    return StageMeasured(size, stage, round(time.perf_counter() - started, 3), round(cpu_seconds, 3), peak, answer)


def _in_a_process(
    stage: str, size: int, place: Path, found: dict[str, Any], settings: Settings
) -> tuple[Any, float, int]:
    answer = _work(stage, size, place, found, settings.model_copy(update={"store": str(place / "store")}))
    return answer, time.process_time(), _most_memory()


def _work(stage: str, size: int, place: Path, found: dict[str, Any], settings: Settings) -> Any:
    """Do a stage; returns what the next ones must know."""
    limit, backend = settings.search.memory_limit, settings.data_backend
    if stage == "generate":
        sides = max(size // EDGES_A_LEFT, 1), max(size // EDGES_A_RIGHT, 1)
        return generate(str(place / "table"), *sides, size, SEED, CORNERS, rings=size // EDGES_A_RING).bytes
    store = Store.open(settings.store)
    if stage == "ingest":
        return ingest(str(place / "table"), store, settings.ingest, None, backend, limit).graph
    if stage == "profile":
        return profile(store, found["ingest"], backend, limit).seconds
    if stage == "plan":
        how = settings.search, settings.plan, backend, settings.cluster
        return plan(store, found["ingest"], *how, publish=settings.publish, memory_limit=limit).run
    finished = resume(found["plan"], settings)
    return {"bicliques": finished.bicliques, "digest": finished.digest}


def _most_memory() -> int:
    """Bytes that this process has held at most; of its own, where a parent's would be inherited."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise BicliqError("/proc/self/status does not say how much memory a process has held")
