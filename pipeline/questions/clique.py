"""Maximum cliques of a table: read or project it, search, commit the answer with its ids.

In the store a result is a folder ``cliques/<name>``: a table (a row a clique, its members as a
list), and ``clique.json``, which names it. The name of the folder is a hash of the graph and of
what was asked, so that the same question finds its proven answer again; an answer that is not
proven stands until there is a better one.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import xxhash

from bicliq import kernels
from bicliq.pipeline.arguments import check_kinds
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.formats import Edges, name_of
from bicliq.pipeline.graphs.bipartite import Int32s, Int64s
from bicliq.pipeline.graphs.cores import cores_by_halving
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.placement.arrays import library_of, to_host
from bicliq.pipeline.placement.device import device_errors_of
from bicliq.pipeline.placement.where import CPU_DATA, Backend, check_backends, place_data, place_search
from bicliq.pipeline.questions.clique_by_cores import search_by_cores, time_left, united
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.in_memory import project_table, read_undirected
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import CliqueRecord

AUTO_SECONDS = 1.0
"""With "auto", a GPU goes on with what the CPU has not proven in so many seconds: about what it
costs to start one."""


@dataclass(frozen=True)
class CliqueQuestion:
    """What is asked about a graph.

    Parameters
    ----------
    project
        The side of a bipartite table to project; None: the table is an undirected graph.
    min_shared
        Common neighbours that make an edge of the projection.
    all
        Whether every maximum clique is wanted.
    time_limit
        Seconds of search, after which the best so far is given; None: until it is proven.
    """

    project: Literal["left", "right"] | None = None
    min_shared: int = 1
    all: bool = False
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be asked."""
        check_kinds(self)
        if self.project not in (None, "left", "right"):
            raise InputError(f"project is {self.project!r}; it must be left or right")
        if not 1 <= self.min_shared < 2**31:
            raise InputError(f"min_shared is {self.min_shared}; it must be at least 1, and below 2**31")
        if self.project is None and self.min_shared != 1:
            raise InputError(
                f"min_shared is {self.min_shared}, but nothing is projected; add project = 'left' or 'right'"
            )
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit is {self.time_limit}; it must be a number of seconds above 0")


def read_graph_of(
    source: Edges,
    question: CliqueQuestion,
    settings: IngestSettings | None = None,
    store: Store | None = None,
    threads: int = 1,
    data_backend: str = "auto",
) -> UndirectedGraph:
    """Read the undirected graph that a question is about.

    `source`: an edge table; with a store, the name of one of its graphs, which must then be
    projected. `question`, `settings`, `threads`: what is asked, how a table is read, and the
    threads of a projection. `store`: where `source` is a graph. `data_backend`: auto, cpu or cuda:
    where a table is read and projected, and where the arrays of the graph lie; auto takes a GPU for
    large tables. Raises InputError at anything wrong in the file or the question. Raises
    BackendError if "cuda" cannot run here.
    """
    if question.project is not None:
        return project_table(source, question.project, question.min_shared, settings, store, threads, data_backend)
    if store is not None:
        raise InputError(f"{source}: a graph of the store is bipartite; say which side to project: left or right")
    return read_undirected(source, settings, data_backend)


def find_clique(
    graph: UndirectedGraph, question: CliqueQuestion, *, threads: int = 0, backend: str = "auto", devices: int = 1
) -> dict[str, Any]:
    """Search a graph; the answer is a record with the original ids.

    Parameters
    ----------
    graph
        The graph; one on a GPU is searched from its cores down
        (`pipeline.questions.clique_by_cores`), and most of it stays there.
    question
        ``all`` and ``time_limit`` of it.
    threads
        Threads of the search; 0 takes all cores.
    backend
        auto, cpu or cuda. Auto begins on the CPU, and goes on with a GPU, where there is one, after
        `AUTO_SECONDS`; all maximum cliques are searched on the CPU.
    devices
        GPUs; 0 takes all that this process sees.

    Returns
    -------
    dict
        size, members, n_cliques, cliques (where all are asked for), proven, n_vertices, n_edges,
        self_loops, repeated, what became of the rows (`account`), degeneracy, nodes, backend,
        threads, seconds; the backend is "none" where the densest core of a graph on a GPU is the
        answer.

    Raises
    ------
    BackendError
        Where the backend cannot run here, or cannot do what is asked.
    """
    found = _search(graph, question, threads, backend, devices)
    cliques = [graph.ids.take(column_of(clique)).to_pylist() for clique in found.cliques]
    return {
        "size": found.size,
        "members": cliques[0] if cliques else [],
        "n_cliques": len(cliques),
        **({"cliques": cliques} if question.all else {}),
        "proven": found.proven,
        "n_vertices": graph.n,
        "n_edges": graph.n_edges,
        "self_loops": graph.self_loops,
        "repeated": graph.repeated,
        **graph.account,
        "degeneracy": found.degeneracy,
        "nodes": found.nodes,
        "backend": found.backend,
        "threads": found.threads,
        "seconds": {**found.seconds, "total": round(sum(found.seconds.values()), 6)},
    }


def _search(
    graph: UndirectedGraph, question: CliqueQuestion, threads: int, backend: str, devices: int
) -> kernels.CliqueResult:
    """Search a graph of the host as it is, and one on a GPU from its cores down."""
    search = partial(_search_csr, all=question.all, threads=threads, backend=backend, devices=devices)
    if backend != "auto":
        place_search(backend, cannot=_cannot(question.all))  # refused also where cores alone would give the answer
    if library_of(graph.indices) is np:
        return search(graph.indptr, graph.indices, question.time_limit, 0)
    started = time.perf_counter()
    with device_errors_of(graph.indices):
        cores = cores_by_halving(graph)
    took = time.perf_counter() - started
    limit = time_left(question.time_limit, took)
    found = search_by_cores(graph, cores, search, all=question.all, time_limit=limit, threads=threads)
    return replace(found, seconds={"cores": round(took, 6), **found.seconds})


def _search_csr(
    indptr: Int64s, indices: Int32s, limit: float | None, lower_bound: int, *, all: bool, threads: int, backend: str, devices: int
) -> kernels.CliqueResult:  # fmt: skip
    """Search with the backend, or, with "auto", with those that pay."""

    def searched(backend: str, time_limit: float | None, lower_bound: int = lower_bound) -> kernels.CliqueResult:
        return kernels.maximum_clique(
            indptr, indices, all=all, time_limit=time_limit, lower_bound=lower_bound, threads=threads, backend=backend,
            devices=devices,
        )  # fmt: skip

    place = place_search(backend, cannot=_cannot(all))
    if backend != "auto":
        return place.run(lambda chosen: searched(chosen, limit))
    if place.backend == "cpu" or (limit is not None and limit <= AUTO_SECONDS):
        tell("cliques are searched on the CPU", reason=place.why)
        return searched("cpu", limit)
    first = searched("cpu", AUTO_SECONDS)
    if first.proven:
        return first
    left = time_left(limit, AUTO_SECONDS)
    best = max(first.size, lower_bound)
    return united(first, place.run(lambda chosen: searched(chosen, left, best)))


def _cannot(all: bool) -> str | None:
    """Why a GPU cannot do what is asked."""
    return "a GPU finds one maximum clique, not all; use the CPU backend" if all else None


def answer(
    source: Edges,
    question: CliqueQuestion,
    settings: IngestSettings | None = None,
    *,
    store: Store | None = None,
    stored: bool = False,
    threads: int = 0,
    backend: str = "auto",
    devices: int = 1,
    data_backend: str = "auto",
) -> dict[str, Any]:
    """Read, search and, where a store is given, commit.

    `source`, `question`, `settings`, `threads`, `backend`, `devices`, `data_backend`: as in
    `read_graph_of` and `find_clique`. `store`: where the answer goes; None: nowhere. `stored`:
    whether `source` is the name of a graph of the store. Returns the record of `find_clique`, with
    ``read`` seconds, and ``output`` where it was committed. A proven answer that the store holds
    already is given back as it is, with ``found`` true; one that is not proven, but larger than
    what this search has found in its time, with ``earlier`` true.
    """
    if stored and store is None:
        raise InputError(f"{source}: a graph of a store was named, but no store; name it, as in store = 'groups'")
    check_backends(data_backend, backend, threads, cannot=_cannot(question.all))
    read = partial(read_graph_of, source, question, settings, store if stored else None, threads)
    search = partial(find_clique, question=question, threads=threads, backend=backend, devices=devices)
    started = time.perf_counter()
    graph = read(data_backend)
    on_device = library_of(graph.indices) is not np

    def work(chosen: Backend) -> dict[str, Any]:
        again = on_device and chosen == "cpu"  # what lay on the GPU that failed
        there = read("cpu") if again else graph
        took = time.perf_counter() - started
        return _known_or_found(source, there, question, store, search, took)

    return (place_data(data_backend) if on_device else CPU_DATA).run(work)


def _known_or_found(
    source: Edges,
    graph: UndirectedGraph,
    question: CliqueQuestion,
    store: Store | None,
    search: Callable[[UndirectedGraph], dict[str, Any]],
    took: float,
) -> dict[str, Any]:
    """The proven answer that the store holds, or that of a search, which is then committed."""
    folder = None if store is None else store.clique(_name(graph, question))
    known = None if folder is None else _known(folder)
    if known is not None and known["proven"]:
        return {**known, **graph.account, "found": True}
    record = {"source": name_of(source), "question": asdict(question), **search(graph)}
    record["seconds"]["read"] = round(took, 6)
    return record if folder is None else _keep_the_better(folder, record, graph.ids.type)


def _name(graph: UndirectedGraph, question: CliqueQuestion) -> str:
    state = xxhash.xxh3_64(f"{graph.n} {question.all}\n".encode())
    for array in (graph.indptr, graph.indices):
        state.update(np.ascontiguousarray(to_host(array)).tobytes())
    for buffer in graph.ids.buffers()[1:]:
        state.update(b"-" if buffer is None else memoryview(buffer))
    return str(state.hexdigest())


def _keep_the_better(folder: Folder, record: dict[str, Any], kind: pa.DataType) -> dict[str, Any]:
    """Commit an answer, unless the store has a better one by now; returns what stands."""
    with folder.claim("clique"):
        known = _known(folder)
        if known is not None and _worth(known) > _worth(record):
            return {**known, "earlier": True}
        before = None if known is None else folder.find(CliqueRecord)
        made = _written(folder, record, kind)
        stands = folder.commit(made.at, made, "" if folder.is_local else None, before)
        folder.sweep()
    if stands != made and (first := _known(folder)) is not None:  # another process came first
        return {**first, "earlier": True}
    return {**record, "output": folder.uri}


def _worth(record: dict[str, Any]) -> tuple[bool, int, int]:
    return record["proven"], record["size"], record["n_cliques"]


def _written(folder: Folder, record: dict[str, Any], kind: pa.DataType) -> CliqueRecord:
    """Write the table, and return the record that makes it visible."""
    cliques = record.get("cliques") or ([record["members"]] if record["members"] else [])
    table = pa.table({"members": pa.array(cliques, pa.list_(kind))})
    file = folder.write_table(f"cliques-{uuid.uuid4().hex[:8]}.parquet", table)
    worth = {name: record[name] for name in ("source", "size", "n_cliques", "proven")}
    told = {name: value for name, value in record.items() if name not in ("cliques", "members")}
    return CliqueRecord(stored=(file,), **worth, answer=told)


def _known(folder: Folder) -> dict[str, Any] | None:
    """The answer that the store has, if it is sound."""
    try:
        record = folder.find(CliqueRecord)
        if record is None:
            return None
        (file,) = record.stored
        cliques = folder.read_table(file)["members"].to_pylist()
    except DamageError as error:
        warn("clique is searched again", reason=error)
        if not folder.is_local:  # the first that is written stands there
            folder.remove(CliqueRecord.at)
        return None
    listed = {"cliques": cliques} if record.answer["question"]["all"] else {}
    members = cliques[0] if cliques else []
    return {**record.answer, "members": members, **listed, "table": file.name, "output": folder.uri}
