"""Commands about versions of a run: `update`, `watch`, `diff`, `rollback`, `compact`, `prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Edges, Json, LeftWeights, RightWeights, RunName

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import FindAsked
    from bicliq.pipeline.settings import Settings

room = Room("Versions of a run")


@room.command(
    "update",
    "bicliq update today.csv --store shop-store",
    "bicliq update cancelled.csv --delete --store shop-store",
    "bicliq update today.parquet --run 3f2a --left buyer --right product --store shop-store",
)
def update(
    settings: Settings,
    edges: Edges,
    delete: Annotated[bool, typer.Option("--delete", help="Take the edges away.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", help="A run, or how its name begins; by default the latest.")
    ] = None,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Run as a Prefect flow, with its states and artifacts.")
    ] = False,
    json: Json = False,
) -> None:
    """Join the edges of a table to a run, or take them away, as a new version of the run.

    Only what they change is searched, of groups in step all. The table is read as that of the run
    was, unless options say otherwise; thresholds are those of the run. Files that were taken are
    not taken again.
    """
    from bicliq.flows.cli import console

    if prefect:
        from bicliq.pipeline.extras import needs

        with needs("flows", "--prefect"):
            from bicliq.flows.update import update_flow

        given = settings.model_dump(mode="json", exclude_unset=True)
        record = update_flow(edges, {**given, "store": settings.store}, run, delete)
    else:
        from bicliq.pipeline.versions.update import update as update_run

        with console.observed(json) as observer:
            record = update_run(edges, settings, run, delete=delete, observer=observer).record()
    console.answer(record, json, console.updated)


@room.command(
    "watch",
    "bicliq watch /srv/lake/orders --store shop-store",
    "bicliq watch s3://lake/orders --once --left buyer --right product --store s3://lake/groups",
    'bicliq watch "orders/2026-*.csv" --every 10m --replace --store shop-store',
)
def watch(
    settings: Settings,
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help="A folder or prefix, a glob, or a file: a path or an fsspec URL.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Look once, take what is new, and end.")] = False,
    every: Annotated[str, typer.Option("--every", help="Time between two looks, as 30s, 10m or 1h.")] = "30s",
    settle: Annotated[
        str, typer.Option("--settle", help="Time for which a new file must stay as it is, so that it is taken.")
    ] = "2s",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take a file that changed anew, in place of what it held.")
    ] = False,
    quarantine: Annotated[
        bool,
        typer.Option("--quarantine", help="Set a file aside that cannot be taken, say so, and go on with the others."),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Take files that were rolled back with the version that took them, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Take new files of a folder, prefix or glob, each exactly once, until interrupted.

    The first files of a new store make a full run, with the options of `run`; later ones are joined
    to it as by `update`, those of one look in one version. Names that begin with . or _ or end on
    .tmp or .part are passed over.
    """
    import time

    from bicliq.flows.cli import console
    from bicliq.flows.words import taken_in_words
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.stale import StaleStore
    from bicliq.pipeline.times import seconds_of
    from bicliq.pipeline.versions.watch import Watch

    pause = seconds_of("--every", every)
    if not pause:
        raise InputError(f"--every {every}: between two looks there must be some time, as in 30s")
    watched = Watch(
        place, settings, replace=replace, settle=seconds_of("--settle", settle), quarantine=quarantine, again=again
    )
    store = StaleStore(settings, place)
    while True:
        with console.observed(json) as observer:
            taken = watched.take(observer)
        store.look()
        if taken.anything or (once and not taken.more):
            console.answer(taken.record(), json, taken_in_words)
        if taken.more:
            continue
        if once:
            return
        time.sleep(pause)


Least = Annotated[int, typer.Option(min=1, max=2**62, help="At least so many.", rich_help_panel="Which groups")]
Most = Annotated[int | None, typer.Option(min=1, max=2**62, help="At most so many.", rich_help_panel="Which groups")]
Before = Annotated[str | None, typer.Argument(metavar="BEFORE", help="A run; by default the parent of AFTER.")]
Shown = Annotated[int, typer.Option("--limit", "-k", min=1, max=2**24, help="Groups that are shown of each kind.")]
By = Annotated[
    Literal["edges", "vertices", "balanced", "left", "right", "weight", "surprise"],
    typer.Option("--by", help="What is good."),
]
Missing = Annotated[
    int,
    typer.Option(
        "--missing",
        min=0,
        max=255,
        help="Of BEFORE's best groups with so many gaps, too: which are filled in AFTER?",
    ),
]
MissingEach = Annotated[
    int | None, typer.Option("--missing-each", min=0, max=255, help="And so many gaps of one member.")
]


@room.command(
    "diff",
    "bicliq diff --store shop-store",
    "bicliq diff 3f2a 91bc --min-left 3 --min-right 3 --by balanced --store shop-store",
    "bicliq diff --by surprise --min-left 3 --min-right 3 --store shop-store",
    "bicliq diff --missing 4 --by surprise --store shop-store",
    "bicliq diff --out changes.parquet --store shop-store",
)
def diff(
    settings: Settings,
    before: Before = None,
    after: Annotated[str | None, typer.Argument(metavar="AFTER", help="A run; by default the latest.")] = None,
    limit: Shown = 20,
    by: By = "edges",
    left_weights: LeftWeights = None,
    right_weights: RightWeights = None,
    min_left: Least = 1,
    max_left: Most = None,
    min_right: Least = 1,
    max_right: Most = None,
    min_edges: Least = 1,
    max_edges: Most = None,
    missing: Missing = 0,
    missing_each: MissingEach = None,
    out: Annotated[str | None, typer.Option("--out", help="Write all of them to this .parquet or .jsonl file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file of --out that is there.")] = False,
    json: Json = False,
) -> None:
    """Show which groups appeared and vanished between two versions of a run.

    Each is shown beside the one of the other kind that shares most edges with it: what it grew
    from, or what is left of it. With --missing, groups with gaps of BEFORE are looked at as well:
    those are shown of which AFTER has a pair that was missing, first those that are complete now.
    """
    from bicliq.flows.cli import console, groups
    from bicliq.pipeline.questions.filled import filled_gaps
    from bicliq.pipeline.questions.find import FindAsked
    from bicliq.pipeline.questions.members import read_weights
    from bicliq.pipeline.results.changes import changes_between
    from bicliq.pipeline.store.choice import Choice
    from bicliq.pipeline.store.results import open_run

    choice = Choice(min_left, max_left, min_right, max_right, min_edges, max_edges)
    weights = {side: read_weights(f) for side, f in (("left", left_weights), ("right", right_weights)) if f is not None}
    asked = FindAsked(
        top=limit,
        by=by,
        max_left=max_left,
        max_right=max_right,
        left_weights=left_weights,
        right_weights=right_weights,
        diverse=by in ("edges", "surprise"),
        missing=missing,
        missing_each=missing_each,
    )
    _check_filled(asked)
    with console.steps(json) as progress:
        changes = changes_between(open_run(settings.store, after), before, choice, progress)
        record = {"store": settings.store, "by": by, **changes.record(limit, by, weights)}
        if missing:
            least = {"min_left": min_left, "min_right": min_right, "min_edges": min_edges}
            of_gaps = settings.model_copy(update={"search": settings.search.model_copy(update=least)})
            record["gaps"] = filled_gaps(changes.before, changes.after, asked, of_gaps)
        if out is not None:
            record["out"], record["rows"] = out, changes.write(out, overwrite=overwrite)
    console.answer(record, json, groups.changes_tables)


def _check_filled(asked: FindAsked) -> None:
    """Refuse groups with gaps that cannot be looked for, before the versions are compared."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.gaps import check_gaps

    if asked.missing and asked.by in ("left", "right"):
        raise InputError(
            f"--missing is not for --by {asked.by}, which is one side alone; take edges, balanced or surprise"
        )
    check_gaps(asked)


@room.command("compact", "bicliq compact --store shop-store", "bicliq compact 3f2a --store shop-store")
def compact(settings: Settings, run: RunName = None, json: Json = False) -> None:
    """Write a version as a run of its own that stands on no other run.

    It has the bicliques and the digest of the version, and is the latest run where that was. The
    version stays until it is pruned.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.versions.compact import compact as compact_version

    store = Store.open(settings.store, create=False)
    console.answer(compact_version(store, run, settings.search.threads).record(), json, console.compacted)


@room.command(
    "prune",
    "bicliq prune --keep-last 30 --store shop-store",
    "bicliq prune --keep-last 30 --older-than 90d --yes --store shop-store",
)
def prune(
    settings: Settings,
    keep_last: Annotated[
        int | None, typer.Option("--keep-last", min=1, max=2**31, help="Keep so many runs of each family.")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Remove only what was published so long ago, as 30d or 12h.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove; without it, what would go is only listed.")] = False,
    json: Json = False,
) -> None:
    """List or remove runs that nobody keeps, with their graphs, and what killed processes left.

    A family is all runs of one table and question, with their versions. What a kept version stands
    on stays, and so does what is not finished (but for a version that another one has overtaken)
    or at work.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.versions.prune import parse_age
    from bicliq.pipeline.versions.prune import prune as prune_store

    age = None if older_than is None else parse_age(older_than)
    found = prune_store(Store.open(settings.store, create=False), keep_last, age, remove=yes)
    console.answer(found.record(), json, console.pruned)


@room.command("rollback", "bicliq rollback 3f2a --store shop-store", "bicliq rollback 3f2a --reject --store shop-store")
def rollback(
    settings: Settings,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A version or another run, or how its name begins.")],
    reject: Annotated[
        bool, typer.Option("--reject", help="No watch ever takes the files again that go by this.")
    ] = False,
    json: Json = False,
) -> None:
    """Make an earlier version the latest run again, for all readers and for the next update.

    Nothing is removed: a later version is made the latest again in the same way. The files that it
    did not take are left alone by `watch`, until they change or `watch --again` takes them.
    """
    from bicliq.flows.cli import console
    from bicliq.flows.words import rolled_back_in_words
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.versions.rollback import rollback as roll_back

    store = Store.open(settings.store, create=False)
    name = store.find_run(run)
    before, aside, held = roll_back(store, name, reject=reject)
    about = {"run": name, "before": before, "store": store.uri}
    record = {**about, "set_aside": aside, "held_otherwise": held, "rejected": reject}
    console.answer(record, json, rolled_back_in_words)
