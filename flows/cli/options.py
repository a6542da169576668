"""What the commands have in common: their options, each with its sentence, and the settings made of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

EXIT_OTHER, EXIT_INPUT, EXIT_LIMIT, EXIT_INTERRUPTED = 1, 2, 3, 130

Edges = Annotated[str, typer.Argument(metavar="EDGES", help="Edge table: a path or an fsspec URL.")]
RunName = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run, or how its name begins; by default the latest.")
]
StoreUri = Annotated[str | None, typer.Option("--store", help="Store: a path or an fsspec URL (default bicliq-store).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads of a kernel; 0 takes all cores.")]
Backend = Annotated[str | None, typer.Option("--backend", help="auto, cpu or cuda.")]
Devices = Annotated[int, typer.Option("--devices", min=0, help="GPUs of a search for cliques; 0 takes all.")]
DataBackend = Annotated[
    str | None,
    typer.Option("--data-backend", help="Where ingest, reduce, profile, plan and projections run: auto, cpu or cuda."),
]
SideOption = Annotated[str | None, typer.Option("--side", help="Enumerated side: auto, left or right.")]
MinLeft = Annotated[int | None, typer.Option("--min-left", help="Least number of left vertices.")]
MinRight = Annotated[int | None, typer.Option("--min-right", help="Least number of right vertices.")]
MinEdges = Annotated[int | None, typer.Option("--min-edges", help="Least number of edges (left times right).")]
MaxBicliques = Annotated[int | None, typer.Option("--max-bicliques", help="Stop after so many.")]
OnLimit = Annotated[
    str | None, typer.Option("--on-limit", help="A reached limit is: flag (marked) or error (exit code 3).")
]
Check = Annotated[
    bool | None, typer.Option("--check", help="Compare the checksums of what was found before it is taken as done.")
]
Partitions = Annotated[
    int | None, typer.Option("--partitions", help="Number of partitions; by default by memory and work.")
]
MemoryBudget = Annotated[int | None, typer.Option("--memory-budget", help="Bytes that one partition may take.")]
Scheduler = Annotated[str | None, typer.Option("--scheduler", help="Existing Dask scheduler, as tcp://host:8786.")]
Workers = Annotated[int | None, typer.Option("--workers", help="Dask workers on this machine; by default one a core.")]
Local = Annotated[
    bool | None, typer.Option("--local", help="Search in this process, without a Dask cluster, however much there is.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="auto, csv, tsv, parquet, konect, snap, mtx or adjacency.")
]
Left = Annotated[str | None, typer.Option("--left", help="Column of the left ids: name, or number from 0.")]
Right = Annotated[str | None, typer.Option("--right", help="Column of the right ids.")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of the weights.")]
Time = Annotated[str | None, typer.Option("--time", help="Column of the timestamps.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Field separator of a CSV file.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether a CSV file starts with column names.")
]
Duplicates = Annotated[str | None, typer.Option("--duplicates", help="Repeated edges: first, sum, max or error.")]
MinWeight = Annotated[float | None, typer.Option("--min-weight", help="Drop rows below this weight.")]
Since = Annotated[str | None, typer.Option("--since", help="Drop rows before this time (ISO date or Unix seconds).")]
Until = Annotated[str | None, typer.Option("--until", help="Drop rows from this time on.")]
Ragged = Annotated[str | None, typer.Option("--ragged", help="Lines with too many or too few fields: error or drop.")]
Nulls = Annotated[str | None, typer.Option("--nulls", help="Rows without an id: error or drop.")]
SelfLabels = Annotated[str | None, typer.Option("--self-labels", help="Edges with equal labels: keep, error or drop.")]
Sides = Annotated[str | None, typer.Option("--sides", help="SNAP files: source-target or columns.")]
Sample = Annotated[float | None, typer.Option("--sample", help="Keep this fraction of the left vertices.")]


def settings_from(**options: Any) -> Any:
    """Settings from the given options; those that are None are left to environment, file and defaults."""
    from pydantic import BaseModel

    from pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, load_settings

    tree: dict[str, Any] = {}
    groups: dict[str, type[BaseModel]] = {
        "ingest": IngestSettings,
        "search": SearchSettings,
        "plan": PlanSettings,
        "cluster": ClusterSettings,
    }
    for name, value in options.items():
        if value is None:
            continue
        group = next((group for group, model in groups.items() if name in model.model_fields), None)
        if group is None:
            tree[name] = value
        else:
            tree.setdefault(group, {})[name] = value
    return load_settings(**tree)
