"""A concept lattice in files: GraphML, DOT, JSON, Parquet, a diagram as SVG, and `.cxt`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import check_new_file
from bicliq.pipeline.results.concepts import BATCH
from bicliq.pipeline.results.diagram import diagram_of
from bicliq.pipeline.results.export import graphml_node, text_file, write_file, xml_attribute

if TYPE_CHECKING:
    from bicliq.pipeline.results.concepts import Concepts


@dataclass(frozen=True)
class ExportedLattice:
    """What an export of a lattice wrote.

    `path`, `format`: the file. `concepts`, `covers`: concepts and cover edges in it; of ".cxt",
    which holds the context, none. `bytes`: its size, that of the second file of Parquet included.
    `edges_path`: the second file of Parquet, with the cover edges.
    """

    path: str
    format: str
    concepts: int
    covers: int
    bytes: int
    edges_path: str | None = None


def checked_lattice_format(path: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """Return the format that the end of a name tells.

    Raises InputError where it tells none that a lattice is written to, or the file is there
    already, or its folder is not.

    Examples
    --------
    >>> checked_lattice_format("memory://birds.dot")
    'dot'
    """
    place = os.fspath(path)
    kind = next((kind for kind in WRITERS if place.lower().endswith(f".{kind}")), None)
    if kind is None:
        raise InputError(f"{place}: which format? A lattice is written to a name that ends on .{', .'.join(WRITERS)}")
    for each in (place, edges_path(place)) if kind == "parquet" else (place,):
        check_new_file(each, overwrite=overwrite)
    return kind


def edges_path(path: str) -> str:
    """Return the file of cover edges beside a Parquet file of concepts.

    Examples
    --------
    >>> edges_path("birds.parquet")
    'birds.edges.parquet'
    """
    return path[: -len(".parquet")] + ".edges.parquet"


def export_lattice(found: Concepts, path: str | os.PathLike[str], *, overwrite: bool = False) -> ExportedLattice:
    """Write a lattice to a file, batch by batch, by what its name ends on.

    `found`: what is written: the concepts that a filter left, and the cover edges between them.
    `path`: path or fsspec URL: ".graphml" and ".dot" for programs that draw, ".json" an object with
    `concepts` and `edges`, ".parquet" a row a concept, and beside it ".edges.parquet" a row an
    edge; ".svg" the line diagram of a few (`diagram_of`); ".cxt" is the context itself, in
    Burmeister's format. `overwrite`: whether a file that is there is replaced. Raises InputError
    where the format is not known, the file is there already, or a label cannot be written. Raises
    StorageError where the file cannot be written; what was there before is still there.

    Examples
    --------
    >>> import bicliq
    >>> birds = bicliq.concepts({"duck": ["flies", "swims"], "owl": ["flies"]})
    >>> export_lattice(birds, "memory://birds.dot", overwrite=True).covers
    1
    """
    place = os.fspath(path)
    kind = checked_lattice_format(place, overwrite=overwrite)
    size = write_file(found, place, kind, overwrite=overwrite, writer=WRITERS[kind])
    if kind == "cxt":
        return ExportedLattice(place, kind, 0, 0, size)
    edges = edges_path(place) if kind == "parquet" else None
    if edges is not None:
        size += write_file(found.edges, edges, kind, overwrite=overwrite, writer=_write_edges)
    return ExportedLattice(place, kind, len(found), found.edges.num_rows, size, edges)


def _write_graphml(found: Concepts, system: Any, path: str) -> None:
    keys = {"extent": "string", "intent": "string", "n_objects": "long", "n_attributes": "long"}
    keys |= {"support": "double", "stability": "long"}
    with text_file(system, path) as write:
        write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, kind in keys.items():
            write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
        write('<graph edgedefault="directed">\n')
        for row in found:
            told = {**row, **{side: json.dumps(row[side], ensure_ascii=False) for side in ("extent", "intent")}}
            write(graphml_node(f"c{row['concept']}", {name: told[name] for name in keys}))
        _each_edge(found, lambda low, up: write(f"<edge source={_name(low)} target={_name(up)}/>\n"))
        write("</graph>\n</graphml>\n")


def _name(concept: int) -> str:
    return xml_attribute(f"c{concept}")


def _write_dot(found: Concepts, system: Any, path: str) -> None:
    with text_file(system, path) as write:
        write("digraph lattice {\n  rankdir=BT;\n  node [shape=box];\n  edge [dir=none];\n")
        for row in found:
            label = ", ".join(map(str, row["intent"])) + "\n" + ", ".join(map(str, row["extent"]))
            write(f"  {row['concept']} [label={_quoted(label)}];\n")
        _each_edge(found, lambda low, up: write(f"  {low} -> {up};\n"))
        write("}\n")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _write_json(found: Concepts, system: Any, path: str) -> None:
    with text_file(system, path) as write:
        write('{"concepts": [')
        for at, row in enumerate(found):
            write((",\n" if at else "\n") + json.dumps(row, ensure_ascii=False))
        write('\n], "edges": [')
        first = [True]

        def edge(low: int, up: int) -> None:
            write(("\n" if first.pop() else ",\n") + json.dumps({"lower": low, "upper": up}))
            first.append(False)

        _each_edge(found, edge)
        write("\n]}\n")


def _each_edge(found: Concepts, write: Callable[[int, int], Any]) -> None:
    for batch in found.edges.to_batches(BATCH):
        for low, up in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            write(low, up)


def _write_parquet(found: Concepts, system: Any, path: str) -> None:
    with system.open(path, "wb") as file, pq.ParquetWriter(file, found.schema) as writer:
        for batch in found.batches():
            writer.write_table(batch)


def _write_edges(edges: pa.Table, system: Any, path: str) -> None:
    with system.open(path, "wb") as file:
        pq.write_table(edges, file)


def _write_diagram(found: Concepts, system: Any, path: str) -> None:
    picture = diagram_of(found, alone=True)
    with text_file(system, path) as write:
        write(picture)


def _write_context(found: Concepts, system: Any, path: str) -> None:
    context = found.context
    names = [
        _plain(side, labels) for side, labels in (("objects", context.objects), ("attributes", context.attributes))
    ]
    with text_file(system, path) as write:
        write(f"B\n\n{len(names[0])}\n{len(names[1])}\n\n" + "".join(f"{name}\n" for side in names for name in side))
        for g in range(context.graph.n_left):
            row = np.full(context.graph.n_right, ".", "U1")
            row[context.graph.indices[context.graph.indptr[g] : context.graph.indptr[g + 1]]] = "X"
            write("".join(row.tolist()) + "\n")


def _plain(side: str, labels: pa.Array) -> list[str]:
    """Labels as lines; those without a name are numbered, which is told by what they are called."""
    names = [f"nameless {number}" if name is None else str(name) for number, name in enumerate(labels.to_pylist())]
    for name in names:
        if name != name.strip() or not name or re.search(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", name):
            raise InputError(f"{side}: the label {name!r} cannot be a line of a .cxt file; export to another format")
    if len(set(names)) < len(names):
        raise InputError(f"{side}: two have the same name in a .cxt file; rename one")
    return names


WRITERS: dict[str, Callable[[Any, Any, str], None]] = {
    "graphml": _write_graphml,
    "dot": _write_dot,
    "json": _write_json,
    "parquet": _write_parquet,
    "svg": _write_diagram,
    "cxt": _write_context,
}
"""What writes each format, by the end of its names."""
