"""The bicliques of a run as people use them: chosen, paged, in the table library that they know."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.arguments import check_whole
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import needs
from bicliq.pipeline.results.as_table import SHOWN, InBatches, as_text
from bicliq.pipeline.store.acted import WINDOW
from bicliq.pipeline.store.bicliques import OBJECTIVE_COLUMNS
from bicliq.pipeline.store.choice import EVERYTHING, Choice
from bicliq.pipeline.store.results import Run
from bicliq.pipeline.store.worth import By

if TYPE_CHECKING:
    from bicliq.pipeline.results.changes import Changes
    from bicliq.pipeline.results.export import Exported, Format


class Bounds(TypedDict, total=False):
    """What `Bicliques.where` takes: the fields of `pipeline.store.choice.Choice`."""

    min_left: int
    max_left: int | None
    min_right: int
    max_right: int | None
    min_edges: int
    max_edges: int | None
    with_left: Iterable[Any]
    with_right: Iterable[Any]
    min_surprise: float | None


@dataclass(frozen=True, repr=False)
class Bicliques(InBatches):
    """Maximal bicliques with their original ids; all of a run, or those that were chosen.

    Parameters
    ----------
    run
        Where they lie: on disk, on an object store, or in memory. Nothing is read before it is
        asked for.
    choice
        Which of them; `where` narrows it.

    Examples
    --------
    >>> import bicliq
    >>> shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}
    >>> groups = bicliq.enumerate(shop)
    >>> len(groups), groups.complete
    (2, True)
    >>> groups.top(1).to_pylist()[0]["left"]
    ['ann', 'bob']
    >>> groups.where(with_left=["cid"]).to_arrow()["right"].to_pylist()
    [['tea']]
    >>> groups.where(max_left=2).long().select(["side", "label"]).to_pylist()[0]
    {'side': 'left', 'label': 'ann'}
    """

    run: Run
    choice: Choice = EVERYTHING

    def __len__(self) -> int:
        """How many there are; a choice by sizes reads two columns for it."""
        return self.run.count(self.choice)

    def __repr__(self) -> str:
        of = "all" if self.choice == EVERYTHING else "chosen"
        more = "" if self.complete else ", not all there are"
        lines = (f"{row['left']} × {row['right']}" for row in self.top(SHOWN).to_pylist())
        return as_text(f"{len(self):,} bicliques ({of}{more}) of run {self.run.run}; the largest", lines)

    @property
    def complete(self) -> bool:
        """Whether the run found all that was asked for: no limit, nothing left to search."""
        return self.run.state.complete

    @property
    def account(self) -> dict[str, Any]:
        """What became of the rows of the table, of a version those of its own table.

        See `pipeline.store.account`.
        """
        return self.run.graph.record().summary.account

    @property
    def digest(self) -> str:
        """Set digest of the whole run, 16 hex digits: equal digests, equal sets."""
        return self.run.manifest.digest

    @property
    def schema(self) -> pa.Schema:
        """Columns of their tables: biclique_id, left, right, n_left, n_right, n_edges.

        Then those of the objectives that the run stores (`PublishSettings.objectives`), or, of
        groups in step, windows: of each right member the first and the last action in its window.
        """
        left, right = (pa.list_(ids.type) for ids in (self.run.left_ids, self.run.right_ids))
        kinds = (pa.int64(), left, right, pa.int32(), pa.int32(), pa.int64())
        values = (
            (OBJECTIVE_COLUMNS[by].name, OBJECTIVE_COLUMNS[by].type) for by in self.run.objectives if by != "edges"
        )
        windows = [] if self.run.acted is None else [("windows", pa.list_(WINDOW))]
        return pa.schema([*zip(COLUMNS, kinds, strict=True), *values, *windows])

    def where(self, **bounds: Unpack[Bounds]) -> Bicliques:
        """Choose among them.

        Parameters
        ----------
        **bounds
            ``min_left``, ``max_left``, ``min_right``, ``max_right``, ``min_edges``, ``max_edges``:
            numbers of members and edges, both ends included. ``with_left``, ``with_right``: lists
            of original ids that must all be members. ``min_surprise``: nats. What was chosen before
            stays, unless it is given again.

        Returns
        -------
        Bicliques

        Raises
        ------
        InputError
            Where bounds contradict each other, or an id is not in the graph.
        """
        try:
            choice = replace(self.choice, **bounds)  # type: ignore[arg-type]
        except TypeError:
            unknown = sorted(set(bounds) - Bounds.__annotations__.keys())
            raise InputError(f"where: there is no {', '.join(unknown)}; there are {', '.join(Bounds.__annotations__)}")\
                from None  # fmt: skip
        for label in choice.with_left:
            self.run.dense("left", label)
        for label in choice.with_right:
            self.run.dense("right", label)
        return Bicliques(self.run, choice)

    def top(self, k: int = 10, by: By = "edges") -> pa.Table:
        """Return the k largest as an Arrow table; `by` as of `page`."""
        check_whole("k", k, 1, "it says how many are shown")
        return self.page(1, k, by)

    def page(self, number: int, size: int = 20, by: By = "edges") -> pa.Table:
        """Return one page of them, largest first, as an Arrow table.

        Parameters
        ----------
        number
            The page, from 1.
        size
            Bicliques on a page.
        by
            "edges", "vertices", "balanced" (the smaller side), "left", "right" or "surprise"; for
            weights, `bicliq.find` asks the table.

        Returns
        -------
        pyarrow.Table
            Columns of `schema`, and where they are ordered by surprise that and expected (edges
            that chance gives). Bicliques of equal worth always come in the same order, so that no
            page repeats or leaves out one.

        Notes
        -----
        O(number × size) rows are held; for all of them take `batches`. By surprise all lists are
        read, unless the run stores it.
        """
        for name, value in (("number", number), ("size", size)):
            check_whole(name, value, 1, "pages are numbered from 1, and hold something")
        table = self.run.top(size, by, choice=self.choice, skip=(number - 1) * size)
        beyond = ["surprise", "expected"] if by == "surprise" else []
        return table.select(list(dict.fromkeys([*self.schema.names, *beyond])))

    def batches(self) -> Iterator[pa.Table]:
        """Yield all of them as Arrow tables of bounded size, in the order of the files."""
        for part in self.run.chosen(self.choice):
            labelled = self.run.labelled(part)
            if "n_edges" not in part.column_names:
                edges = pc.multiply(part["n_left"].cast(pa.int64()), part["n_right"].cast(pa.int64()))
                labelled = labelled.append_column("n_edges", edges)
            yield labelled.select(self.schema.names).cast(self.schema)

    def in_long_form(self, batch: pa.Table) -> pa.Table:
        """Return a table of bicliques in long form, as `long`."""
        in_step = "windows" in batch.column_names
        kinds = self.run.left_ids.type, self.run.right_ids.type
        kind = kinds[0] if kinds[0] == kinds[1] else pa.string()
        parts = []
        for side in ("left", "right"):
            lists = batch[side].combine_chunks()
            ids = batch["biclique_id"].combine_chunks().take(pc.list_parent_indices(lists))
            labels = pc.cast(lists.flatten(), kind)
            part = {"biclique_id": ids, "side": pa.repeat(side, len(ids)), "label": labels}
            if in_step:
                at = batch["windows"].combine_chunks().flatten() if side == "right" else pa.nulls(len(ids), WINDOW)
                part |= {field.name: pc.struct_field(at, field.name) for field in WINDOW}
            parts.append(pa.table(part))
        return pa.concat_tables(parts)

    def to_networkx(self) -> Any:
        """Return a bipartite networkx Graph of groups and members, which needs networkx.

        Nodes are ("biclique", id), with its sizes, ("left", label) and ("right", label); each has
        its `kind`, and `bipartite` is 0 for bicliques and 1 for members. An edge says who is in
        what.

        Examples
        --------
        >>> import bicliq
        >>> graph = bicliq.enumerate({"ann": ["jam", "tea"], "bob": ["jam"]}, min_left=2).to_networkx()
        >>> sorted(graph.nodes)
        [('biclique', 0), ('left', 'ann'), ('left', 'bob'), ('right', 'jam')]
        """
        with needs("frames", "to_networkx"):
            import networkx

        graph = networkx.Graph()
        for batch in self.batches():
            for row in batch.to_pylist():
                group = "biclique", row["biclique_id"]
                sizes = {name: row[name] for name in ("n_left", "n_right", "n_edges")}
                graph.add_node(group, kind="biclique", bipartite=0, **sizes)
                for side in ("left", "right"):
                    graph.add_nodes_from(((side, label) for label in row[side]), kind=side, bipartite=1)
                    times = row.get("windows", repeat({})) if side == "right" else repeat({})
                    graph.add_edges_from(
                        (group, (side, label), at) for label, at in zip(row[side], times, strict=False)
                    )
        return graph

    def long(self) -> pa.Table:
        """Return a row a member, for joins: biclique_id, side ("left" or "right"), label.

        Where the ids of one side are numbers and those of the other text, all are text. Right
        members of groups in step have start and end of their windows.
        """
        return self.in_long_form(self.to_arrow())

    def changes(self, before: str | None = None) -> Changes:
        """Return what changed since another run of the store.

        Parameters
        ----------
        before
            Its name, or how it begins; by default the run that this one is a version of.

        Raises
        ------
        InputError
            Where there is no such run, or this one is no version and none is named.
        """
        from bicliq.pipeline.results.changes import changes_between

        return changes_between(self.run, before, self.choice)

    def export(
        self,
        path: str | os.PathLike[str],
        format: Format | None = None,
        *,
        long: bool = False,
        overwrite: bool = False,
        guard: bool = True,
        bom: bool = False,
    ) -> Exported:
        """Write them to a file: Parquet, CSV, Excel, JSON Lines, GraphML, DuckDB or Delta.

        Parameters and errors as of `pipeline.results.export.export`.
        """
        from bicliq.pipeline.results.export import export

        return export(self, path, format, long=long, overwrite=overwrite, guard=guard, bom=bom)


COLUMNS = ["biclique_id", "left", "right", "n_left", "n_right", "n_edges"]
"""Columns of a table of bicliques."""
