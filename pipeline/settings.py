"""All settings, as one tree: arguments over environment over ``bicliq.toml`` over defaults.

A field needs a type, a default and a sentence, and is then everywhere: the options of the command
line (`flows/cli/options.py`) are made of the fields. Errors are imported where they are raised,
since they bring the kernels and NumPy with them, which `bicliq --help` can do without.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from bicliq.pipeline.bounds import MOST_THREADS
from bicliq.pipeline.levels import OLD_NAMES, Levels, Shares, in_new_names
from bicliq.pipeline.settings_file import SETTINGS_FILE, SettingsFile
from bicliq.pipeline.times import LONGEST, parse_duration, parse_jump, parse_time, written_duration
from bicliq.pipeline.variables import OTHER_VARIABLES, PREFIX, did_you_mean, variable_of

Format = Literal[
    "auto", "csv", "tsv", "parquet", "konect", "snap", "mtx", "adjacency", "matrix", "baskets", "cxt", "gmt", "jsonl",
    "pajek", "dl", "excel", "duckdb",
]  # fmt: skip

NULL_WORDS = (
    "\\N", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Words that mean "no value" in CSV and TSV files: those of pandas; an empty field always does."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class IngestSettings(_Frozen):
    """How an edge table is read, and what of it is kept."""

    format: Format = Field("auto", description="Format of the file; auto goes by its name and first bytes.")
    left: str | None = Field(None, description="Column of the left ids: a name, or a number from 0.")
    right: str | None = Field(None, description="Column of the right ids: a name, or a number from 0.")
    weight: str | None = Field(None, description="Column of the weights, for min_weight, sum and max.")
    time: str | None = Field(
        None, description="Column of the timestamps, for since, until, window, in_step, and the times of a report."
    )
    ids: Literal["auto", "text"] = Field(
        "auto",
        description="auto: the ids of a side are numbers where all of them are plain whole numbers of 64 bits, else"
        " text; text: they stay text.",
    )
    delimiter: str | None = Field(None, description="Field separator of CSV files: one character, or tab.")
    skip: int = Field(
        0, ge=0, lt=2**31, description="Lines to leave out at the top of a text file, or rows of a sheet."
    )
    comment: str | None = Field(
        None, description="What begins the lines of a text file that are left out, as ! or //; they are counted."
    )
    encoding: str | None = Field(
        None,
        description="Encoding of a text file that is no UTF-8: utf-16, cp1252, latin-1, or what else Python reads.",
    )
    header: bool | None = Field(
        None, description="Whether a CSV file starts with column names; by default its first lines tell."
    )
    quotes: bool = Field(
        True, description='Whether " encloses fields of CSV files; if not, it is a character like any other.'
    )
    multiline: bool = Field(False, description="Whether quoted fields of CSV files may hold line breaks.")
    null_values: tuple[str, ...] = Field(
        NULL_WORDS,
        description="Words of CSV files that mean a missing value, with commas between them; an empty list: only an"
        " empty field does.",
    )
    strip: bool = Field(
        True, description="Whether blanks around labels are left out, and counted; if not, they are part of the label."
    )
    fold: str | None = Field(
        None,
        description="Labels that are united: case (JAM is jam), unicode (composed letters are decomposed ones), or"
        " case,unicode.",
    )
    split: str | None = Field(
        None,
        description="What stands between several ids in one field (A;B;C); lists in brackets, ['a', 'b'], are taken"
        " apart as well.",
    )
    duplicates: Literal["first", "sum", "max", "error"] = Field(
        "first", description="What the weight of a repeated edge is, or that repetition is an error."
    )
    min_weight: float | None = Field(
        None, allow_inf_nan=False, description="Drop rows below this weight, before duplicates are united."
    )
    min_value: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Least value of a cell of a matrix that is an edge, above 0; by default any but 0 is one.",
    )
    since: str | None = Field(None, description="Drop rows before this time (ISO date or Unix seconds).")
    until: str | None = Field(None, description="Drop rows from this time on (ISO date or Unix seconds).")
    window: str | None = Field(
        None,
        description="Keep the rows of so long a time up to the latest (30d, 12h, 90m, seconds); updates move it on.",
    )
    window_jump: str = Field(
        "3",
        description="How far one row may move a window on, in windows (3) or as a length of time (90d): one wrong date"
        " would empty it; inf: as far as it likes.",
    )
    in_step: str | None = Field(
        None, description="Groups in step: the left members acted on each right member within so long a time (60s, 5m)."
    )
    ragged: Literal["error", "drop"] = Field(
        "error", description="What to do with lines that have too many or too few fields."
    )
    nulls: Literal["error", "drop"] = Field(
        "error", description="What to do with rows that lack an id, or a weight or time that is asked for."
    )
    self_labels: Literal["keep", "error", "drop"] = Field(
        "keep", description="What to do with edges whose two labels are equal."
    )
    sides: Literal["columns", "source-target"] | None = Field(
        None, description="For files with one id space: source-target makes sources left and targets right."
    )
    sample: float | None = Field(
        None, gt=0, le=1, description="Keep this fraction of the left vertices, chosen by hash."
    )

    @field_validator("delimiter", mode="before")
    @classmethod
    def _one_character(cls, value: Any) -> Any:
        mark = {"\\t": "\t", "tab": "\t"}.get(value, value)
        if isinstance(mark, str) and (code := re.fullmatch(r"\\x([0-7][0-9A-Fa-f])", mark)):
            mark = chr(int(code[1], 16))  # Hive writes \x01
        if isinstance(mark, str) and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0'):
            raise ValueError(
                "a delimiter is one ASCII character (, ; | …) or 'tab', and neither a quote nor a line break"
            )
        return mark

    @field_validator("comment")
    @classmethod
    def _begins_a_line(cls, mark: str | None) -> str | None:
        if mark is not None and (not mark.strip() or "\n" in mark or "\r" in mark):
            raise ValueError("write what such a line begins with, as !, # or //")
        return mark

    @field_validator("fold")
    @classmethod
    def _forms(cls, forms: str | None) -> str | None:
        if forms is not None and not set(forms.split(",")) <= {"case", "unicode"}:
            raise ValueError("write case, unicode, or case,unicode")
        return forms

    @field_validator("encoding")
    @classmethod
    def _of_text(cls, name: str | None) -> str | None:
        try:
            "a".encode(name or "utf-8")
        except (LookupError, ValueError):
            raise ValueError("there is no such encoding of text; write utf-16, cp1252, latin-1, …") from None
        return name

    @field_validator("null_values", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        words = value.split(",") if isinstance(value, str) else value
        return tuple(word for word in words if word != "") if isinstance(words, list | tuple) else words

    @field_validator("min_value")
    @classmethod
    def _above_zero(cls, least: float | None) -> float | None:
        if least is not None and least <= 0:
            raise ValueError("write a number above 0, as a cell of 0 is no edge; without it every other one is")
        return least

    @field_validator("window_jump", mode="before")
    @classmethod
    def _a_length(cls, value: Any) -> Any:
        text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        if isinstance(text, str):
            parse_jump(text, "1")
        return text

    @model_validator(mode="after")
    def _lines_are_rows(self) -> IngestSettings:
        if self.comment is not None and self.multiline:
            raise ValueError("comment and multiline contradict each other: a line of a field may begin like a comment")
        if self.split is not None and self.split == self.delimiter:
            raise ValueError(f"split and delimiter are both {self.split!r}; one of them stands between fields")
        return self

    _in_step_is_a_duration = field_validator("in_step", mode="before")(written_duration)

    @model_validator(mode="after")
    def _window_is_open(self) -> IngestSettings:
        since, until = (None if text is None else parse_time(text) for text in (self.since, self.until))
        if self.window is not None and parse_duration(self.window) == 0:
            raise ValueError(f"window {self.window!r} holds no time; write how long it is, as in 30d or 12h")
        if self.window is not None and (since is not None or until is not None):
            raise ValueError(
                "window and since or until contradict each other: a window ends with the latest row and moves on with it;"
                " give one of them"
            )
        if self.in_step is not None and self.window is not None:
            raise ValueError("in_step and window contradict each other: leave window out; since and until choose rows")
        if since is not None and until is not None and since >= until:
            raise ValueError(
                f"since {self.since} is not before until {self.until}, so no row can pass (until is the first moment"
                " left out); give a later until, or exchange them"
            )
        return self


class SearchSettings(_Frozen):
    """Which bicliques are wanted, and how they are searched."""

    min_left: int = Field(1, ge=1, lt=2**31, description="Least number of left vertices of a biclique.")
    min_right: int = Field(1, ge=1, lt=2**31, description="Least number of right vertices of a biclique.")
    min_edges: int = Field(1, ge=1, lt=2**63, description="Least number of edges of a biclique, left times right.")
    max_bicliques: int | None = Field(None, ge=1, lt=2**63, description="Stop after so many.")
    max_bytes: ByteSize | None = Field(
        None, ge=1, lt=2**63, description="Stop when the data files of the run have so many bytes (2GB), to a batch."
    )
    time_limit: float | None = Field(
        None, gt=0, le=LONGEST, allow_inf_nan=False, description="Stop the search after so many seconds."
    )
    memory_limit: ByteSize | None = Field(
        None, ge=1, lt=2**63, description="Bytes (2GB) a process may hold: ingest sorts on disk, a search stops there."
    )
    on_limit: Literal["error", "flag"] = Field(
        "flag", description="Whether a reached limit is an error or marked in the manifest."
    )
    check: bool = Field(
        True,
        description="Whether what was found before is read, and its checksums compared, before it is taken as done;"
        " otherwise sizes are.",
    )
    side: Literal["auto", "left", "right"] = Field(
        "auto", description="The side whose vertices are the roots of the search."
    )
    threads: int = Field(0, ge=0, le=MOST_THREADS, description="Threads of a kernel; 0 takes all cores.")
    backend: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where the kernels run.")


class PlanSettings(_Frozen):
    """How a search is cut into partitions."""

    partitions: int | None = Field(
        None,
        ge=1,
        lt=2**31,
        description="Number of partitions; by default what the memory budget and the workers ask for.",
    )
    memory_budget: ByteSize = Field(
        ByteSize(256 << 20), ge=1 << 16, lt=2**63, description="Bytes that one partition's subgraph may take."
    )


class PublishSettings(_Frozen):
    """How the bicliques of a run lie in its files."""

    compression: Literal["zstd", "lz4_raw", "none"] = Field(
        "zstd", description="Codec of the Parquet files: zstd makes the smallest, lz4_raw and none cost less time."
    )
    columns: Literal["both", "smaller"] = Field(
        "both",
        description="Sides of each biclique that are stored: both, for every reader, or the smaller one alone, from"
        " which bicliq finds the other in the graph.",
    )
    objectives: tuple[Literal["surprise", "edges", "vertices", "balanced"], ...] = Field(
        (),
        description="What each biclique is worth, as columns to sort and choose by, with commas between them: surprise,"
        " edges, vertices, balanced.",
    )

    @field_validator("objectives", mode="before")
    @classmethod
    def _named_once(cls, value: Any) -> Any:
        words = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
        if isinstance(words, list | tuple) and len(set(words)) < len(words):
            raise ValueError("each objective is named once")
        return words


class VersionSettings(_Frozen):
    """How the versions that updates make are kept."""

    compact_share: float = Field(
        0.25, ge=0, description="Share of changed bicliques from which on a version is written whole; inf: never."
    )
    rebase: bool = Field(False, description="Join edges to a version that came meanwhile; otherwise it is an error.")
    one_writer: bool = Field(False, description="No two processes change the store at once (docs/updates.md).")


def _true_or_false(value: Any) -> Any:
    """Read the two words that variables and options have for truth values; other text stays."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _address(text: str) -> str:
    if not re.fullmatch(r"([a-z]+://)?[^\s/]+:\d+/?", text):
        raise ValueError("write the host and the port, as in tcp://host:8786")
    return text


def _port(text: str) -> str:
    if not re.fullmatch(r"[^\s/]*:\d+", text):
        raise ValueError("write true, false, or the port to serve at, as in :8787")
    return text


class ClusterSettings(_Frozen):
    """Where the work runs."""

    local: bool | None = Field(
        None,
        description="Search in this process, without a Dask cluster; by default where there is little to search, and"
        " no scheduler, workers or address of a dashboard are named.",
    )
    scheduler: Annotated[str, AfterValidator(_address)] | None = Field(
        None, description="Address of an existing Dask scheduler, as tcp://host:8786."
    )
    workers: int | None = Field(
        None, ge=1, le=MOST_THREADS, description="Workers of a cluster on this machine; by default one a core."
    )
    dashboard: Annotated[bool | Annotated[str, AfterValidator(_port)], BeforeValidator(_true_or_false)] = Field(
        True, description="Whether to serve the Dask dashboard (true, false), or its address, as :8787."
    )


class CheckSettings(_Frozen):
    """Above what the checks of the input warn and fail: 0.1:0.5, 0.1 to warn alone, :0.5 to fail.

    Without such levels a value is measured and passes.
    """

    rows_above: Levels | None = Field(
        None,
        description="Change of the number of rows since the last run of this source, as a share above which it warns, and"
        " fails (0.1:0.5).",
    )
    dropped_above: Shares | None = Field(
        None, description="Share of the rows that ingest drops above which it warns, and fails (0.01:0.2)."
    )
    labels_above: Shares | None = Field(
        None,
        description="Share of the labels that the last run of this source did not have above which it warns, and fails"
        " (0.3:0.5).",
    )
    degree_above: Levels | None = Field(
        None, description="Most edges of a vertex above which it warns, and fails (1e5:1e6)."
    )
    paths_above: Levels | None = Field(
        None, description="Work of the search in paths of two edges above which it warns, and fails (1e11:1e12)."
    )
    on_fail: Literal["stop", "flag"] = Field(
        "stop", description="Whether a failed check stops the run before its search, or is marked in the manifest."
    )

    _old_names = model_validator(mode="before")(in_new_names)


def _webhook(url: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port, or of brackets; its text would show a password
        known = False
    if not known or re.search(r"[\x00-\x20\x7f]", url):
        raise ValueError(
            "write a URL, as in https://hooks.example.com/services/x or https://user:password@host/path, with :, /, ? and"
            " # of a password as %3A, %2F, %3F and %23"
        )
    return url


SECRET = (("notify", "webhook"), ("notify", "lineage"))
"""Settings whose values no message shows."""


class NotifySettings(_Frozen):
    """Who is told that a run has ended."""

    webhook: Annotated[str, AfterValidator(_webhook)] | None = Field(
        None,
        description="URL that is sent JSON (Slack reads it) when a run has ended; better a variable than an option.",
    )
    webhook_on: Literal["all", "finished", "failed"] = Field("all", description="The runs that the webhook is told of.")
    webhook_groups: int = Field(
        0, ge=0, lt=2**63, description="Of finished runs, tell only of those with at least so many bicliques."
    )
    webhook_edges: int = Field(
        1, ge=1, lt=2**63, description="Edges of a biclique from which on it counts for webhook_groups, and is listed."
    )
    lineage: Annotated[str, AfterValidator(_webhook)] | None = Field(
        None, description="URL of a server of OpenLineage that is told of each run; needs bicliq[openlineage]."
    )
    webhook_members: tuple[str, ...] = Field(
        (),
        description="Labels of either side, with commas between them: only a biclique that has one of them counts and is"
        " listed.",
    )
    webhook_surprise: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Surprise of a biclique, in nats as in find, from which on it counts and is listed.",
    )

    stale_hours: float | None = Field(
        None,
        gt=0,
        le=LONGEST / 3600,
        allow_inf_nan=False,
        description="Hours without a new version of the store after which serve and watch tell of it, and runs and doctor say so.",
    )

    @field_validator("webhook_members", mode="before")
    @classmethod
    def _labels(cls, value: Any) -> Any:
        labels = value.split(",") if isinstance(value, str) else value
        return tuple(str(label) for label in labels if label != "") if isinstance(labels, list | tuple) else labels


def _somewhere(store: str) -> str:
    if not store.strip() or "\0" in store:
        raise ValueError("names no place; give a path or an fsspec URL")
    return store


class Settings(BaseSettings):
    """Every setting of Bicliq."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        enable_decoding=False,  # a variable is text like an option, and never JSON
        toml_file=SETTINGS_FILE,
        extra="forbid",
        frozen=True,
    )

    store: Annotated[str, AfterValidator(_somewhere)] = Field(
        "bicliq-store", description="The store: a path or an fsspec URL."
    )
    data_backend: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="Where ingest, profile, plan and projections run; auto takes a GPU for large tables."
    )
    second_run: Literal["share", "wait", "refuse"] = Field(
        "share", description="Where another process searches the same run: share, wait for its end or death, or refuse."
    )
    force: bool = Field(
        False, description="Search even where the results are expected to be larger than what the disk has free."
    )
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    plan: PlanSettings = PlanSettings()
    publish: PublishSettings = PublishSettings()
    versions: VersionSettings = VersionSettings()
    cluster: ClusterSettings = ClusterSettings()
    checks: CheckSettings = CheckSettings()
    notify: NotifySettings = NotifySettings()

    @field_validator("store", mode="before")
    @classmethod
    def _as_text(cls, store: Any) -> Any:
        return os.fspath(store) if isinstance(store, os.PathLike) else store

    @model_validator(mode="after")
    def _thresholds_agree(self) -> Settings:
        check_limit(self.search)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then the settings file."""
        return init_settings, env_settings, SettingsFile(settings_cls)


def check_limit(search: SearchSettings) -> None:
    """Refuse a limit that is an error without being one."""
    limits = search.max_bicliques, search.max_bytes, search.time_limit, search.memory_limit
    if search.on_limit == "error" and limits == (None,) * 4:
        raise ValueError(
            "on_limit is 'error', but no limit is set: set max_bicliques, max_bytes, time_limit or memory_limit, or"
            " leave on_limit at 'flag'"
        )


def load_settings(**arguments: Any) -> Settings:
    """Load the settings from arguments, environment and file.

    Raises InputError at whatever is wrong, with the name of the argument or variable, or the place
    in the file.

    Examples
    --------
    >>> load_settings(search={"min_left": 3}).search.min_left
    3
    """
    from bicliq.pipeline.errors import InputError

    try:
        _refuse_unknown_variables()
        return Settings(**arguments)
    except ValidationError as error:
        raise InputError("; ".join(_sentence(problem, arguments) for problem in error.errors())) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{SETTINGS_FILE}: is no TOML: {error}; mend that line") from None
    except OSError as error:
        raise InputError(f"{SETTINGS_FILE}: cannot be read: {error}; mend its permissions, or remove it") from None


def fields_of(model: type[BaseModel] = Settings) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield every field of the settings with its path, as ``("search", "min_left")``."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (((name, *path), inner) for path, inner in fields_of(kind))
        else:
            yield (name,), field


def _refuse_unknown_variables() -> None:
    """Refuse a variable that looks like a setting and is none, as a key of the settings file."""
    from bicliq.pipeline.errors import InputError

    known = {variable_of(path) for path in (*OLD_NAMES, *dict(fields_of()))} | OTHER_VARIABLES.keys()
    for name in sorted(os.environ):
        if name.upper().startswith("BICLIQ_") and name.upper() not in known:
            guess = did_you_mean(name.upper(), known)
            raise InputError(f"variable {name}: there is no such setting{guess}; correct its name, or unset it")


def _sentence(problem: Any, arguments: dict[str, Any]) -> str:
    """Say what is wrong with a setting, and where it was set."""
    place, value = problem["loc"], problem["input"]
    if problem["type"] == "extra_forbidden":
        siblings = {".".join(path[: len(place)]) for path, _ in fields_of() if path[: len(place) - 1] == place[:-1]}
        namesakes = {".".join(path) for path, _ in fields_of() if path[-1] == place[-1]}
        guess = did_you_mean(".".join(map(str, place)), siblings | namesakes)
        return f"{_source(place, arguments)}: there is no such setting{guess}"
    reason = problem["msg"].removeprefix("Value error, ")
    if isinstance(value, dict | BaseModel):  # what is wrong is how several settings go together
        return f"setting {'.'.join(map(str, place))}: {reason}".replace("setting :", "settings:")
    shown = "***" if place in SECRET else repr(value)
    return f"{_source(place, arguments)} {shown}: {reason}"


def _source(place: tuple[Any, ...], arguments: dict[str, Any]) -> str:
    """Name what set a value: an argument, a variable, or a line of the file."""
    before = (old for old, now in OLD_NAMES.items() if (old[0], now) == place)
    for named in (place, *before):
        inner: Any = arguments
        for part in named:
            inner = inner.get(part) if isinstance(inner, dict) else None
        if inner is not None:
            return f"setting {'.'.join(map(str, named))}"
        if variable_of(named) in map(str.upper, os.environ):
            return f"variable {variable_of(named)}"
    return f"{SETTINGS_FILE}: {'.'.join(map(str, place))}"
