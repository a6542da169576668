"""Checks of the input, between plan and search: what changed since the last run of the same source.

Each check has a name, a value, and passes, warns or fails by the thresholds of the settings. They
are kept with the run (checks.json) and shown in its manifest; a check that fails stops the run
before the search, unless it is only to be marked.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.settings import CheckSettings
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.entries import Check
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import last_of_source
from bicliq.pipeline.store.records import Checks

SIDES = ("left", "right")


def check_input(store: Store, run: str, summary: Summary, asked: CheckSettings) -> list[Check]:
    """Check the input of a planned run, and write its checks.json.

    `store`, `run`: a planned run. `summary`: what ingest read and dropped. `asked`:
    the thresholds. Raises InputError where
    a check failed and the settings say that this stops the run.

    The last run of the same source is the one that was published last. Labels are compared only
    where a threshold asks for it, since that reads the labels of both.
    """
    folder, planned = store.run(run), store.run(run).planned
    source = summary.source.uri
    last = _last_run(store, run, source)
    rows = summary.rows_read
    compare_labels = last is not None and asked.labels_above is not None
    values: dict[str, float | None] = {
        "rows": None if last is None else abs(rows - last.rows) / max(last.rows, 1),
        "dropped": summary.dropped / max(rows, 1),
        "labels": _share_of_new_labels(store, planned.graph, last.graph) if last and compare_labels else None,
        "degree": planned.max_degree if planned.max_degree is not None else _max_degree(store, planned.graph),
        "paths": planned.est_cost,
    }
    checks = judge(run, values, asked)
    record = Checks(
        run=run,
        source=source,
        rows=rows,
        graph=planned.graph,
        created=dt.datetime.now(dt.UTC).isoformat(),
        last=None if last is None else last.run,
        checks=checks,
    )
    if not _is_known(folder, record):
        folder.write(record.at, record)
    failed = failures(checks, asked)
    if failed:
        all_the_same = (
            "count with on_fail = 'flag'" if folder.asked.asks == "counts" else f"search it: bicliq resume {run}"
        )
        raise InputError(
            f"{source}: the input fails its checks: {failed}; mend the table or the threshold, or, all the"
            f" same, {all_the_same}"
        )
    return checks


def _max_degree(store: Store, graph: str) -> int:
    """Most edges of a vertex, where the plan does not say it."""
    found = profile(store, graph)
    return max(found.max_left_degree, found.max_right_degree)


def _is_known(folder: RunFolder, record: Checks) -> bool:
    """Whether a run that is published whole was checked with this very input: that stays."""
    known, manifest = folder.find(Checks), folder.manifest()
    same = known is not None and (known.source, known.rows) == (record.source, record.rows)
    return same and manifest is not None and manifest.complete


def judge(run: str, values: dict[str, float | None], asked: CheckSettings) -> list[Check]:
    """Compare what was measured with the thresholds, and log what came of it."""
    checks = [_judged(name, value, asked) for name, value in values.items()]
    for check in checks:
        said = warn if check.state != "pass" else tell
        facts: dict[str, Any] = {"check": check.name, "state": check.state, "value": check.value}
        said("input checked", run=run, **facts, warn=check.warn, fail=check.fail)
    return checks


def failures(checks: list[Check], asked: CheckSettings) -> str:
    """Say which checks failed; nothing where none did, or where that is only to be marked."""
    return "; ".join(str(check) for check in checks if check.state == "fail") if asked.on_fail == "stop" else ""


def read_checks(folder: RunFolder) -> list[Check]:
    """The checks of a run's input; none where it was not checked."""
    found = folder.find(Checks)
    return [] if found is None else found.checks


def _judged(name: str, value: float | None, asked: CheckSettings) -> Check:
    limits = dict(zip(("warn", "fail"), getattr(asked, f"{name}_above") or (None, None), strict=True))
    over = [
        level for level in ("fail", "warn") if value is not None and limits[level] is not None and value > limits[level]
    ]
    state: Any = over[0] if over else "pass"
    return Check(name, state, value, **limits)


def _last_run(store: Store, run: str, source: str) -> Checks | None:
    """The checks.json of the last published run of a source."""
    try:
        return last_of_source(store, source)
    except DamageError as error:  # `verify` tells of it; it is no reason not to search
        warn("input is compared with no earlier run", run=run, reason=error)
        return None


def _share_of_new_labels(store: Store, graph: str, last: str) -> float:
    """Share of the labels of a graph, both sides together, that another one does not have."""
    if graph == last:
        return 0.0
    new = total = 0
    for side in SIDES:
        labels, before = _labels(store, graph, side), _labels(store, last, side)
        if labels.type != before.type:
            labels, before = labels.cast(pa.string()), before.cast(pa.string())
        new += len(labels) - (pc.sum(pc.is_in(labels, value_set=before)).as_py() or 0)
        total += len(labels)
    return new / max(total, 1)


def _labels(store: Store, graph: str, side: str) -> Any:
    return read_labels(store.graph(graph))[SIDES.index(side)]
