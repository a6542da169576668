"""Options: those that are made of the settings, and the few others that several commands share.

Every field of `pipeline.settings` is an option, with its description, choices and default; `TAKES`
says which command takes which. What is given goes to the settings as it is, so an option, a
variable and the settings file take the same values and refuse the same ones.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from bicliq.pipeline.questions.null import Null
    from bicliq.pipeline.settings import Settings

EXIT_OTHER, EXIT_INPUT, EXIT_LIMIT = 1, 2, 3
EXIT_SIGNALLED = 128
"""And the number of the signal."""

PANELS = {
    "ingest": "Input",
    "search": "Search",
    "plan": "Partitions",
    "publish": "Output",
    "versions": "Output",
    "cluster": "Cluster",
    "data_backend": "Cluster",
    "second_run": "Cluster",
    "force": "Search",
    "checks": "Checks of the input",
    "notify": "Notifications",
    "store": "Store",
}
"""Panel of `--help` in which the options of a group, or of a setting that is in none, are shown."""

HOW = ("search.backend", "search.threads")
LIMITS = tuple(f"search.{name}" for name in ("max_bicliques", "max_bytes", "time_limit", "memory_limit"))
CALL = (*HOW, *LIMITS, "search.on_limit", "search.check")
ALL = tuple(PANELS)

TAKES: dict[str, tuple[str, ...]] = {
    "run": (*ALL, "-notify.stale_hours"),
    "enumerate": ("ingest", "search", *(f"-{limit}" for limit in LIMITS[1:]), "data_backend"),
    "estimate": (
        *("ingest", "search", *(f"-{of_a_call}" for of_a_call in CALL), "search.threads"),
        "publish",
        "data_backend",
    ),
    "count": (
        "ingest",
        "search.side",
        "search.memory_limit",
        *HOW,
        "plan",
        "cluster",
        "second_run",
        "checks",
        "data_backend",
        "store",
    ),
    "find": (
        "ingest",
        *(f"search.{name}" for name in ("min_left", "min_right", "min_edges", "side")),
        *HOW,
        "data_backend",
        "store",
    ),
    "lattice": ("ingest", "search.threads", "search.time_limit", "data_backend", "store"),
    "itemsets": ("ingest", "search.threads", "data_backend"),
    "rules": ("ingest", "search.threads", "data_backend", "store"),
    "clique": ("ingest", *HOW, "data_backend", "store"),
    "ingest": ("ingest", "search.memory_limit", "data_backend", "store"),
    "profile": ("search.memory_limit", "data_backend", "store"),
    "plan": (
        "search",
        *(f"-{of_a_call}" for of_a_call in CALL),
        "search.memory_limit",
        "plan",
        "publish",
        "cluster",
        "data_backend",
        "store",
    ),
    "resume": (*CALL, "cluster", "second_run", "force", "notify", "-notify.stale_hours", "data_backend", "store"),
    "runs": ("notify.stale_hours", "store"),
    "doctor": ("notify.stale_hours", "store"),
    "diff": ("store",),
    "rollback": ("store",),
    "compact": ("search.threads", "store"),
    "prune": ("store",),
    "update": (
        *("ingest", "search.memory_limit", *HOW, "versions", "cluster", "checks", "force"),
        *("notify", "-notify.stale_hours", "data_backend", "store"),
    ),
    "watch": (*ALL, "-search.max_bicliques", "-search.on_limit"),
    "top": ("store",),
    "show": ("store",),
    "export": ("store",),
    "report": ("store",),
    "verify": (*HOW, "cluster", "data_backend", "store"),
    "serve": ALL,
}
"""Settings that a command takes as options: groups and single fields.

One with a minus is taken out of its group.
"""

CONTRADICTIONS = (("local", "workers"), ("local", "scheduler"), ("scheduler", "workers"))
"""Settings of the cluster that may not be given together; a file may hold both, for others."""

Edges = Annotated[str, typer.Argument(metavar="EDGES", help="Edge table: a path or an fsspec URL.")]
GraphName = Annotated[str, typer.Argument(metavar="GRAPH", help="A graph of the store, or how its name begins.")]
RunName = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run, or how its name begins; by default the latest.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Devices = Annotated[int, typer.Option("--devices", min=0, max=1024, help="GPUs of a search for cliques; 0 takes all.")]
Limit = Annotated[float | None, typer.Option("--time-limit", help="Seconds; then the best so far, not proven.")]
Tables = Annotated[
    int, typer.Option("--null", metavar="N", help="Ask N random tables of the same degrees, too: p-values.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**50, help="Of the random tables of --null.")]
OfTables = Annotated[
    float | None,
    typer.Option("--time-limit", help="Seconds for the random tables of --null; then those that are done."),
]
LeftWeights = Annotated[
    str | None, typer.Option("--left-weights", metavar="FILE", help="Lines of LABEL,WEIGHT, for --by weight.")
]
RightWeights = Annotated[
    str | None, typer.Option("--right-weights", metavar="FILE", help="The same for the right side.")
]
Side = Literal["auto", "left", "right"]
Backend = Literal["cpu", "cuda"]


def checked_page(place: str | None) -> str | None:
    """Refuse a place of a report that no page may take, before anything is read."""
    if place is not None:
        from bicliq.pipeline.report.frame import page_place

        page_place(place)
    return place


def random_tables(
    null: int, seed: int, time_limit: float | None, threads: int = 0, tell: Callable[[int, int], Any] | None = None
) -> Null:
    """The random tables that options ask for."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.null import Null

    if time_limit is not None and not (null and time_limit > 0):
        raise InputError(f"--time-limit {time_limit} is seconds, above 0, for the random tables of --null; give both")
    return Null(null, seed, time_limit, threads, tell)


LOG_OPTIONS = (
    inspect.Parameter(
        "verbose",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[
            bool,
            typer.Option(
                "--verbose",
                "-v",
                help="Log every event on standard error, and not only warnings.",
                rich_help_panel="Log",
            ),
        ],
    ),
    inspect.Parameter(
        "log_json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[
            bool, typer.Option("--log-json", help="Log one JSON object an event.", rich_help_panel="Log")
        ],
    ),
)
"""Options of every command that takes settings: what is logged, and how (`pipeline.events`)."""


def settings_options(takes: Iterable[str]) -> dict[tuple[str, ...], inspect.Parameter]:
    """Make the options of the settings that a command takes, each with the path of its setting."""
    from bicliq.pipeline.levels import OLD_NAMES
    from bicliq.pipeline.settings import fields_of

    wanted = {entry for entry in takes if not entry.startswith("-")}
    unwanted = {entry[1:] for entry in takes} - wanted
    fields = sorted(fields_of(), key=lambda found: list(PANELS).index(found[0][0]))
    return {
        path: _option(path, field)
        for path, field in fields
        if wanted & {path[0], ".".join(path)} and ".".join(path) not in unwanted
    } | {path: _hidden(path[-1]) for path in OLD_NAMES if path[0] in wanted}


def settings_from(given: dict[tuple[str, ...], Any]) -> Settings:
    """Load the settings; options that were not given are left to environment, file and defaults."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.settings import load_settings

    tree: dict[str, Any] = {}
    for (*groups, name), value in given.items():
        if value is not None:
            (tree.setdefault(groups[0], {}) if groups else tree)[name] = value
    cluster = tree.get("cluster", {})
    for pair in CONTRADICTIONS:
        if all(cluster.get(name) for name in pair):
            raise InputError(f"--{pair[0]} and --{pair[1]} contradict each other; give one of them")
    settings = load_settings(**tree)
    _name_found_file(tree)
    if settings.search.memory_limit is not None:  # before Arrow is loaded, which reserves more than it uses
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    return settings


FAR_REACHING = ("store", "notify.webhook", "cluster.scheduler")
"""Settings that say where results go and who is told: a file that sets them is named."""


def _name_found_file(given: dict[str, Any]) -> None:
    """Name the settings file that was found where it sets what reaches beyond this command."""
    from bicliq.pipeline.events import say
    from bicliq.pipeline.settings_file import SETTINGS_FILE, read_settings_file
    from bicliq.pipeline.variables import variable_of

    if not Path(SETTINGS_FILE).is_file():
        return
    found = read_settings_file(Path(SETTINGS_FILE))

    def at(tree: Any, path: str) -> Any:
        return reduce(lambda inner, name: inner.get(name) if isinstance(inner, dict) else None, path.split("."), tree)

    by_file = [
        path
        for path in FAR_REACHING
        if at(found, path) is not None and at(given, path) is None and variable_of(path.split(".")) not in os.environ
    ]
    if by_file:
        say("settings", f"{Path.cwd() / SETTINGS_FILE} sets {', '.join(by_file)}")


def in_options(sentence: str) -> str:
    """Word the settings of a sentence as options, in which they are given here.

    Examples
    --------
    >>> in_options("drop such rows with nulls = 'drop', or say header = false")
    'drop such rows with --nulls drop, or say --no-header'
    >>> in_options("unite them with duplicates = 'first', 'sum' or 'max'")
    'unite them with --duplicates first, sum or max'
    >>> in_options("name them, as in left = 'user', right = 'item'; leave out min_weight")
    'name them, as in --left user --right item; leave out --min-weight'
    >>> in_options("say what to keep (keep_last), or weights (left_weights)")
    'say what to keep (--keep-last), or weights (--left-weights)'
    >>> in_options("replace it with overwrite = True")
    'replace it with --overwrite'
    >>> print(in_options("take them apart with split = ';'"))
    take them apart with --split ';'
    """
    from bicliq.pipeline.settings import fields_of

    names = [*(path[-1] for path, _ in fields_of()), *OF_QUESTIONS]
    said = re.sub(rf"{_APART}({'|'.join(names)}) = ({_VALUE}(?:(?:, | or ){_VALUE})*)", _as_option, sentence)
    of_two_words = "|".join(name for name in names if "_" in name)
    bare = rf"{_APART}({of_two_words})(?![\w'\"/.=-]| =)"
    return re.sub(
        bare, lambda found: f"--{found[1].replace('_', '-')}", re.sub(r"(--\S+ (?:'[^']*'|\S+)), (?=--)", r"\1 ", said)
    )


OF_QUESTIONS = (
    *("by", "containing", "within", "min_surprise", "max_left", "max_right", "max_left_degree", "max_right_degree"),
    *("project", "min_shared", "diverse", "replace", "keep_last", "older_than", "left_weights", "right_weights"),
    *("min_support", "min_threshold", "max_len", "metric", "kind", "which", "new_since", "antecedents", "consequents"),
    *("empty", "overwrite", "missing", "missing_each", "null", "seed", "time_limit"),
)
"""Arguments of questions that are options, too, but no settings."""

_APART = r"(?<![\w./'\"-])"
"""Nothing before a name that makes it part of a path or of a value."""

_VALUE = r"(?:'[^']*'|[Tt]rue\b|[Ff]alse\b|-?[0-9][0-9.]*)"


def _as_option(setting: re.Match[str]) -> str:
    flag, values = setting[1].replace("_", "-"), setting[2]
    if values.lower() in ("true", "false"):
        return f"--{flag}" if values.lower() == "true" else f"--no-{flag}"
    return f"--{flag} " + re.sub(r"'([^']*)'", lambda value: shlex.quote(value[1]), values)


def check_picture(path: str | None) -> None:
    """Refuse a picture that cannot be written, before the work that it shows."""
    from bicliq.pipeline.errors import InputError

    if path is not None and not (path.endswith((".svg", ".png", ".pdf")) and Path(path).parent.is_dir()):
        raise InputError(f"--picture {path!r}: name a .svg, .png or .pdf file in a folder that is there")


def _option(path: tuple[str, ...], field: FieldInfo) -> inspect.Parameter:
    name = path[-1]
    flag = "--" + name.replace("_", "-")
    kinds = [kind for kind in _members(field.annotation) if kind is not NoneType]
    kind = kinds[0] if len(kinds) == 1 else str
    choices = choices_of(field)
    known = "; ".join(filter(None, (", ".join(choices), _shown_default(field.default))))
    sentence = f"{field.description} \\[{known}]" if known else field.description  # an escaped bracket is no markup
    shown: dict[str, Any] = {"help": sentence, "rich_help_panel": PANELS[path[0]], "show_default": False}
    annotation: Any
    if kind is bool:
        annotation = Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", **shown)]
    elif isinstance(kind, type) and issubclass(kind, int | float):
        metavar = "<number>" if kind in (int, float) else "<bytes>"
        annotation = Annotated[str | None, typer.Option(flag, metavar=metavar, parser=number, **shown)]
    else:
        annotation = Annotated[str | None, typer.Option(flag, metavar="<word>" if choices else "<text>", **shown)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _hidden(name: str) -> inspect.Parameter:
    """The option of a setting of before, which no help shows."""
    annotation = Annotated[str | None, typer.Option("--" + name.replace("_", "-"), hidden=True)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """The words that a setting takes, where it takes no others."""
    kinds = [kind for kind in _members(field.annotation) if kind is not NoneType]
    return get_args(kinds[0]) if len(kinds) == 1 and get_origin(kinds[0]) is Literal else ()


def _shown_default(value: Any) -> str:
    if value is None:
        return ""
    text = (
        ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return f"default {text}"


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def number(text: str) -> int | float | str:
    """Read a number; what is none stays text, which the setting refuses in its own words."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
