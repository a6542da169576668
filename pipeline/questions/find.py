"""Find the best maximal bicliques of an edge table, or of a published run.

The answer of a run is that of its graph, searched for bicliques of the run's sizes: the run lists
all of these, so none is missed, and none of its files has to be read. A run that is cut off does
not hold all of them; the answer says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from bicliq import kernels
from bicliq.pipeline.arguments import check_kinds
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import warn
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.placement.where import Place, place_search
from bicliq.pipeline.questions.gaps import CANNOT_ON_GPU, check_gaps, missing_labels
from bicliq.pipeline.questions.in_step import compare_in_step, find_in_step
from bicliq.pipeline.questions.members import Part
from bicliq.pipeline.questions.null import Null, compare_groups, with_p
from bicliq.pipeline.report.answers import find_page
from bicliq.pipeline.report.frame import write_page
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.in_step import stored_table
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.results import Run, open_run


@dataclass(frozen=True)
class Reached:
    """How far a search for the best groups is.

    Parameters
    ----------
    top, diverse
        What is looked for: so many groups, and whether they are a cover.
    groups
        Of a cover, how many stand; else 1 once something is found.
    best
        Value, left and right members of the best so far, of a cover of its first group.
    share
        Of a cover, the share of all edges that it has; else 0.
    roots_done, n_roots
        Of the step of the cover, or the range of sizes, that is searched now.
    tables
        Once the table itself is searched, how many random ones are done, and how many there are.
    """

    top: int
    diverse: bool
    groups: int
    best: tuple[float, int, int] | None
    share: float
    roots_done: int
    n_roots: int
    tables: tuple[int, int] | None = None

    @classmethod
    def of(cls, asked: FindAsked, state: kernels.FindProgress, n_edges: int) -> Reached:
        """Of a search in a table with so many edges."""
        groups = state.groups
        best = (groups[0].value, len(groups[0].left), len(groups[0].right)) if groups else None
        share = (groups[-1].covered or 0) / n_edges if groups else 0.0
        return cls(asked.top, asked.diverse, len(groups), best, share, state.roots_done, state.n_roots)


Tell = Callable[[Reached], Any]


@dataclass(frozen=True)
class FindAsked:
    """What is looked for.

    Parameters
    ----------
    top
        How many.
    by
        "edges", "vertices", "balanced", "weight" or "surprise": see `kernels.top_bicliques`.
    max_left, max_right
        Most members of a side.
    containing
        Labels that every answer has, of either side; "left:…" or "right:…" for one that both have.
    within
        A file of labels, one a line, or the labels themselves: answers have no others of the sides
        that these are of.
    max_left_degree, max_right_degree
        Vertices with more neighbours in the table are left out.
    min_surprise
        Least surprise in nats, with ``by="surprise"``; by default whatever is above 0, which chance
        does not give.
    left_weights, right_weights
        Files of LABEL,WEIGHT lines, or weights by label, with ``by="weight"``; without them a group
        is worth the weights of its edges, of the column that the settings name (`ingest.weight`).
    diverse
        Each next group is the one that adds most to those before it, by edges, surprise, or weights
        of edges, that none of them holds.
    time_limit
        Seconds; then the best so far, which are not proven. By surprise at most a minute, unless
        more is given (`SURPRISE_SECONDS`).
    null, seed
        So many random tables of the same degrees are asked the same, of seeds from this one on: see
        `pipeline.questions.null.compare_groups`. They may take a time limit of their own, as long.
    missing, missing_each
        So many pairs of a group may be missing, in all, and of one member (by default as many):
        see `kernels.groups_with_gaps`.
    """

    top: int = 20
    by: str = "edges"
    max_left: int | None = None
    max_right: int | None = None
    containing: tuple[str, ...] = ()
    within: str | tuple[str, ...] | None = None
    max_left_degree: int | None = None
    max_right_degree: int | None = None
    min_surprise: float | None = None
    left_weights: str | Mapping[Any, float] | None = None
    right_weights: str | Mapping[Any, float] | None = None
    diverse: bool = False
    time_limit: float | None = None
    null: int = 0
    seed: int = 0
    missing: int = 0
    missing_each: int | None = None

    def check(self, column: str | None, search: SearchSettings) -> None:
        """Refuse what contradicts itself, the least sizes, or the column of weights."""
        check_kinds(self)
        Null(self.null, self.seed)
        check_gaps(self)
        narrowed = self.containing or self.within is not None
        narrowed = narrowed or self.max_left_degree is not None or self.max_right_degree is not None
        if self.null and (narrowed or self.by == "weight"):
            why = "by = 'weight'" if self.by == "weight" else "a part of it (containing, within, largest degrees)"
            raise InputError(f"null = {self.null} compares a whole table with random ones; it is not for {why}")
        has_weights = self.left_weights is not None or self.right_weights is not None
        if self.by == "weight" and not has_weights and column is None:
            raise InputError(
                "by = 'weight' needs weights: of members (left_weights, right_weights), or of edges, in a column of the"
                " table (weight)"
            )
        if self.by != "weight" and has_weights:
            raise InputError(f"weights are for by = 'weight', not for by = {self.by!r}")
        if self.by != "surprise" and self.min_surprise is not None:
            raise InputError(f"min_surprise = {self.min_surprise} is for by = 'surprise', not for by = {self.by!r}")
        if self.diverse and (self.by not in ("edges", "surprise", "weight") or has_weights):
            what = "weights of members" if has_weights else f"by = {self.by!r}"
            raise InputError(f"diverse = true is for edges, surprise and weights of edges, not for {what}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit is {self.time_limit}; it must be a number of seconds above 0")
        for side, least, most in (
            ("left", search.min_left, self.max_left),
            ("right", search.min_right, self.max_right),
        ):
            if most is not None and least > most:
                raise InputError(f"min_{side} = {least} is above max_{side} = {most}; no group can be both")
        if self.max_left and self.max_right and search.min_edges > self.max_left * self.max_right:
            raise InputError(
                f"min_edges = {search.min_edges} is above {self.max_left * self.max_right}, which is what max_left ="
                f" {self.max_left} and max_right = {self.max_right} allow"
            )

    @property
    def seconds(self) -> float | None:
        """Seconds that the search may take."""
        return SURPRISE_SECONDS if self.by == "surprise" and self.time_limit is None else self.time_limit

    def random_tables(self, threads: int, tell: Tell | None) -> Null:
        """Return the random tables that are asked the same; `tell` hears how many are done."""

        def done(tables: int, n: int) -> None:
            if tell is not None:
                tell(Reached(self.top, self.diverse, 0, None, 0.0, 0, 0, (tables, n)))

        return Null(self.null, self.seed, self.time_limit, threads, done)

    def seconds_of_table(self, left: float | None) -> float | None:
        """Seconds that the search of a random table may take, where so many are left for all."""
        return min((each for each in (left, self.seconds) if each is not None), default=None)

    @property
    def min_value(self) -> float | None:
        """What a group must be worth."""
        beyond_chance = self.by == "surprise" and self.min_surprise is None
        return kernels.SurpriseTerms.unit if beyond_chance else self.min_surprise

    def why_none(self, found: bool, proven: bool) -> str | None:
        """Say why no group has the surprise that was asked for, where none was found."""
        if self.by != "surprise" or found:
            return None
        least, does = self.min_surprise, "adds" if self.diverse else "has"
        wanted = "beyond chance" if least is None else f"that {does} a surprise of at least {least:g}"
        if least is not None and least <= 0 and self.diverse:
            wanted = "that adds any surprise"
        if not proven:
            return f"none {wanted} was found within {self.seconds:g} seconds"
        if least is None:
            return "nothing is beyond what chance gives in a table of these degrees"
        return f"there is none of these sizes {wanted}"

    @property
    def most_missing_each(self) -> int:
        """Pairs of one member that may be missing."""
        return self.missing if self.missing_each is None else min(self.missing, self.missing_each)

    def restrict(self, part: Part) -> None:
        """Leave out what no answer may hold."""
        part.limit_degree("left", self.max_left_degree)
        part.limit_degree("right", self.max_right_degree)
        part.stay_within(self.within)
        part.contain(self.containing, self.most_missing_each)

    @property
    def weighs_edges(self) -> bool:
        """Whether groups are worth the weights of their edges."""
        return self.by == "weight" and self.left_weights is None and self.right_weights is None

    def place(self, search: SearchSettings) -> Place:
        """Decide where the search runs."""
        cannot = kernels.gpu_cannot_find(
            self.top, diverse=self.diverse, edge_weights=self.weighs_edges, time_limit=self.time_limit
        )
        cannot = CANNOT_ON_GPU if self.missing else cannot
        return place_search(search.backend, cannot=cannot, not_worth=NOT_WORTH)


SURPRISE_SECONDS = 60.0
"""Of a search by surprise without a time limit. The best groups are found within seconds, also at
300,000 edges; but where some hundred members on both sides are joined to nearly all of each other,
that there are no better ones takes hours to rule out."""

NOT_WORTH = "its bounds leave a CPU little to search"
"""Why "auto" takes no GPU: what a CPU takes longest for, a GPU has no bounds for."""


def find_in_table(
    source: Edges,
    asked: FindAsked,
    settings: Settings,
    report: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """Find the best maximal bicliques of an edge table, and publish nothing.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table, or a table in memory (`pipeline.formats.tables`).
    asked
        What is looked for.
    settings
        Its `ingest` and `search` parts are used, and `data_backend`.
    report
        Path or fsspec URL of a page of the answer, written in place of one that is there.
    tell
        Called about five times a second with how far the search is.

    Returns
    -------
    dict
        ``groups``: a list of left, right (labels), n_left, n_right, value, and by surprise expected
        (edges that chance gives the group), and with `null` p; the best first; with `diverse` value
        is what a group adds, and covered and share are the edges that it and those before it hold
        together, and their share of all edges of the table. Further proven, by, diverse, left_out
        (vertices that each restriction left out), why_none (why no group can be an answer), n_left,
        n_right, n_edges, side, nodes, backend, threads, seconds, the `account` of the table, and
        report, where a page was asked for. With `missing` groups have ``missing``, the pairs (left,
        right) that they miss, and value by edges is the number that is there. With `ingest.in_step`
        groups have ``windows`` (`questions.in_step`).

    Raises
    ------
    InputError
        At bad input, an unknown label, or a restriction that contradicts another.
    BackendError
        If a GPU is asked for and cannot be had, or not for this.
    """
    asked.check(settings.ingest.weight, settings.search)
    if settings.ingest.in_step is not None:
        return find_in_step(source, asked, settings, settings.search, report, tell)
    place = asked.place(settings.search)
    started = time.perf_counter()
    table = read_edge_table(source, settings.ingest, backend=settings.data_backend)
    part = Part(bipartite_of(table), table.left_ids, table.right_ids, table.weight, fold=settings.ingest.fold)
    found = _find(part, asked, settings.search, place, started, table.summary, report, tell)
    return {**found, **table.summary.account}


def find_in_run(
    run: str,
    asked: FindAsked,
    settings: Settings,
    report: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """Find the best bicliques of a run of the store; see `find_in_table`.

    `run`: name of the run, or how it begins. `asked`: what is looked for. `settings`: `store`, and
    sizes that are larger than those of the run. Returns what `find_in_table` does, and run, state,
    complete, partitions_searched, partitions: how far the run is. Where it is not complete, the
    answer is still that of its whole graph, as the run would have it in the end, and a warning says
    so.
    """
    asked.check(None, settings.search)
    place = asked.place(settings.search)
    started = time.perf_counter()
    opened = open_run(settings.store, run)
    sizes = opened.folder.asked.search
    wanted = {name: max(getattr(sizes, name), getattr(settings.search, name)) for name in _SIZES}
    folder = opened.graph
    left_ids, right_ids = read_labels(folder)
    search = settings.search.model_copy(update=wanted)
    if not opened.state.complete:
        warn("groups are the best of the whole graph; the run may not hold them yet", run=opened.run)
    state = {"run": opened.run, **opened.state.record()}
    if opened.acted is not None:
        return {**state, **find_in_step(folder, asked, settings, search, report, tell)}
    return {
        **state,
        **_find(
            Part(read_graph(folder), left_ids, right_ids, fold=folder.record().summary.fold),
            asked,
            search,
            place,
            started,
            folder.record().summary,
            report,
            tell,
        ),
    }


def compare_in_run(opened: Run, by: str, rows: list[dict[str, Any]], null: Null) -> dict[str, Any]:
    """Give some bicliques of a run their p: what its question finds in random tables.

    `by`: what makes one large: an objective of `find` that needs no weights. `rows`: the bicliques,
    with sizes, and surprise where it is by that; each gets ``p``. Returns as of
    `pipeline.questions.null.compare_groups`, without p. Raises InputError if `by` is one side
    alone.
    """
    if by not in ("edges", "vertices", "balanced", "surprise"):
        raise InputError(f"null = {null.tables} is for by = edges, vertices, balanced or surprise, not for by = {by!r}")
    settings, asked = opened.folder.asked.search, FindAsked(by=by, null=null.tables, seed=null.seed)
    values = [_value(row, by) for row in rows]
    if opened.acted is not None:
        return compare_in_step(stored_table(opened.graph), values, rows, null, asked, settings)
    graph = read_graph(opened.graph)
    options: dict[str, Any] = {name: getattr(settings, name) for name in _SIZES} | {"threads": null.threads}

    def best(columns: Any, least: float, left: float | None) -> tuple[float | None, bool]:
        table, limit = (graph.indptr, columns, graph.n_right), asked.seconds_of_table(left)
        found = kernels.top_bicliques(*table, 1, cast(Any, by), min_value=least, time_limit=limit, **options)
        return _best_of(found)

    return with_p(rows, compare_groups(graph, values, null, best))


def _value(row: dict[str, Any], by: str) -> float:
    sizes = row["n_left"], row["n_right"]
    values = {"edges": row["n_edges"], "vertices": sum(sizes), "balanced": min(sizes)}
    return float(row["surprise"] if by == "surprise" else values[by])


def _best_of(found: kernels.FindResult) -> tuple[float | None, bool]:
    return max((group.value for group in found.groups), default=None), found.proven


_SIZES = ("min_left", "min_right", "min_edges")


def _find(
    part: Part,
    asked: FindAsked,
    search: SearchSettings,
    place: Place,
    started: float,
    summary: Summary,
    report: str | os.PathLike[str] | None,
    tell: Tell | None,
) -> dict[str, Any]:
    graph = part.graph
    asked.restrict(part)
    options = _options(part, asked, search)
    read = time.perf_counter()
    result = _search(part, asked, place, options, tell)
    record: dict[str, Any] = {
        "groups": [_labelled(group, asked.by, part, graph) for group in result.groups],
        "proven": result.proven,
        "by": asked.by,
        "diverse": asked.diverse,
        "labels": part.kinds(),
        "left_out": part.left_out,
        "why_none": part.why_none or asked.why_none(bool(result.groups), result.proven),
        "n_left": graph.n_left,
        "n_right": graph.n_right,
        "n_edges": graph.n_edges,
        "side": result.side,
        "nodes": result.nodes,
        "backend": result.backend,
        "threads": result.threads,
    }
    if asked.missing:
        record |= {"missing": asked.missing, "missing_each": asked.missing_each}
    if asked.null:
        _compare(record, graph, result, asked, options, tell)
    record["seconds"] = {"ingest": read - started, **result.seconds, "total": time.perf_counter() - started}
    if report is not None:
        groups = [(group.left, group.right) for group in result.groups]
        labels = (part.left_ids, part.right_ids)
        record["report"] = write_page(
            report, lambda: find_page(record, summary, graph, groups, labels), overwrite="pages"
        )
    return record


def _options(part: Part, asked: FindAsked, search: SearchSettings) -> dict[str, Any]:
    """What the kernel is told of sizes, values and threads."""
    options: dict[str, Any] = {name: getattr(search, name) for name in (*_SIZES, "threads")}
    options |= {"max_left": asked.max_left, "max_right": asked.max_right}
    if asked.weighs_edges:
        options["edge_weights"] = part.edge_weights()
    elif asked.by == "weight":
        options["left_weights"] = part.weights("left", asked.left_weights)
        options["right_weights"] = part.weights("right", asked.right_weights)
    elif asked.by == "surprise":  # degrees are those of the whole table
        options |= {"left_degrees": part.graph.left_degrees, "right_degrees": part.graph.right_degrees}
    if asked.missing:  # both sides are branched on
        return options | {"missing": asked.missing, "missing_each": asked.missing_each}
    return options | {"side": search.side}


def _search(part: Part, asked: FindAsked, place: Place, options: dict[str, Any], tell: Tell | None) -> Any:
    """The groups and what was searched for them, a `kernels.FindResult`."""
    searched, n_edges = part.edges(), part.graph.n_edges
    csr = searched.indptr, searched.indices, searched.n_right
    options = options | {"min_value": asked.min_value, "diverse": asked.diverse}
    options["progress"] = None if tell is None else lambda state: tell(Reached.of(asked, state, n_edges))
    by = cast(Any, asked.by)
    if asked.missing:
        members: Any = [[place for own, place in part.members if own == side] for side in ("left", "right")]
        limit = asked.seconds
        return kernels.groups_with_gaps(*csr, asked.top, by, time_limit=limit, containing=members, **options)

    def on(backend: Any) -> kernels.FindResult:
        limit = asked.seconds if backend == "cpu" else None
        return kernels.top_bicliques(*csr, asked.top, by, time_limit=limit, backend=backend, **options)

    return place.run(on)


def _compare(
    record: dict[str, Any],
    graph: BipartiteGraph,
    result: Any,
    asked: FindAsked,
    options: dict[str, Any],
    tell: Tell | None,
) -> None:
    """Add what random tables have, and to each group the share of them that have one as good."""
    search: Any = kernels.groups_with_gaps if asked.missing else kernels.top_bicliques

    def best(columns: Any, least: float, left: float | None) -> tuple[float | None, bool]:
        csr, limit = (graph.indptr, columns, graph.n_right), asked.seconds_of_table(left)
        found: kernels.FindResult = search(*csr, 1, asked.by, min_value=least, time_limit=limit, **options)
        return _best_of(found)

    values = [group.value for group in result.groups]
    null = asked.random_tables(options["threads"], tell)
    record["null"] = with_p(record["groups"], compare_groups(graph, values, null, best))


def _labelled(group: kernels.Group, by: str, part: Part, graph: BipartiteGraph) -> dict[str, Any]:
    record: dict[str, Any] = {
        "left": part.labels("left", group.left),
        "right": part.labels("right", group.right),
        "n_left": len(group.left),
        "n_right": len(group.right),
        "value": group.value if by == "surprise" or group.value != int(group.value) else int(group.value),
    }
    if by == "surprise":
        record["expected"] = graph.surprise_terms.of_group(group.left, group.right)[1]
    if group.missing is not None:
        record["missing"] = missing_labels(group, part)
    if group.covered is not None:
        record |= {"covered": group.covered, "share": group.covered / graph.n_edges}
    return record
