"""Which columns of a table are left, right, weight and time.

Those that were named, or the two that there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.cells import AS_MATRIX, looks_like_matrix, may_be_matrix
from bicliq.pipeline.formats.files import folder_keys
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import LISTED, SHOWN, listed, shown

EXAMPLES = 2
"""Values of a column that a message shows."""

SAMPLE = 20
"""First rows that show what a table is."""


def wants_weight(settings: IngestSettings) -> bool:
    """Whether the settings need weights.

    As a column, to filter by, or to unite repeated edges by.
    """
    return settings.weight is not None or settings.min_weight is not None or settings.duplicates in ("sum", "max")


def wants_time(settings: IngestSettings) -> bool:
    """Whether the settings need times: as a column, to filter by, for a window, or for groups."""
    asked = (settings.time, settings.since, settings.until, settings.window, settings.in_step)
    return any(each is not None for each in asked)


@dataclass(frozen=True)
class Columns:
    """Positions of the columns that were chosen, from 0.

    `left`, `right`, `weight`, `time`: the positions; weight and time only where they are wanted.
    `by_name`: whether each was found by its name.
    """

    left: int
    right: int
    weight: int | None
    time: int | None
    by_name: bool


def asked_keys(source: str, settings: IngestSettings, names: Sequence[str]) -> dict[str, str | None]:
    """Keys of a file's folders that are asked for as columns, and that none of its own is called.

    Examples
    --------
    >>> asked_keys("lake/year=2024/a.csv", IngestSettings(left="year", right="item"), ["item"])
    {'year': '2024'}
    """
    asked = (settings.left, settings.right, settings.weight, settings.time)
    return {key: value for key, value in folder_keys(source).items() if key in asked and key not in names}


def choose_columns(
    source: str,
    settings: IngestSettings,
    names: Sequence[str],
    header: bool,
    first_rows: Callable[[], Sequence[Sequence[str]]],
    keys: Collection[str] = (),
) -> Columns:
    """Choose the columns of a table with named or numbered columns.

    Sides that are not named take the columns called left and right, or else the columns that are
    left over if these are as many: nothing is guessed where there are more.

    `source`: the file, for messages. `names`, `header`: names of the columns, and whether they are
    the file's own; else they are numbers. `first_rows`: returns some first rows, for messages.
    `keys`: those of the names that are keys of the file's folders. Raises InputError where a named
    column is not there or there twice, a column would serve twice, or sides are not clear.
    """
    asked = {"left": settings.left, "right": settings.right, "weight": settings.weight, "time": settings.time}
    if header:
        asked |= {side: side for side in ("left", "right") if asked[side] is None and side in names}
    if wants_weight(settings) and asked["weight"] is None:
        raise InputError(f"{source}: which column is the weight? Name it; there are: {_some(names, header)}")
    if wants_time(settings) and asked["time"] is None:
        raise InputError(f"{source}: which column is the time? Name it; there are: {_some(names, header)}")
    known = names if header else keys
    found = {role: _place(source, name, role, names, known) for role, name in asked.items() if name is not None}
    by_name = header and all(name in known for name in asked.values() if name is not None)
    missing = [side for side in ("left", "right") if side not in found]
    rest = [at for at in range(len(names)) if at not in found.values()]
    if len(missing) == 2 and len(rest) > 1:
        rows = first_rows()
        if looks_like_matrix(rows) or (header and looks_like_matrix([names, *rows])):
            raise InputError(f"{source}: {AS_MATRIX}")
    if missing == ["right"] and set(found) == {"left"} and len(rest) > 2:
        rows = [[row[at] for at in (found["left"], *rest)] for row in first_rows() if len(row) == len(names)]
        if looks_like_matrix([[names[found["left"]], *(names[at] for at in rest)], *rows]):
            raise InputError(f"{source}: {AS_MATRIX}")
    if missing and len(rest) != len(missing):
        rows = [row for row in first_rows() if settings.ragged == "error" or len(row) == len(names)]
        if len(rest) < len(missing):
            raise InputError(_too_few(source, missing, found, names, header))
        raise InputError(_unclear(source, missing, rest, names, rows, header or settings.header is False))
    if header:
        for side, at in zip(missing, rest, strict=False):
            _refuse_double_name(source, side, names[at], names)
    found |= dict(zip(missing, rest, strict=False))
    _refuse_double_use(source, found, names)
    return Columns(
        found["left"],
        found["right"],
        found.get("weight"),
        found["time"] if wants_time(settings) else None,
        by_name and not missing,
    )


def _place(source: str, wanted: str, role: str, names: Sequence[str], known: Collection[str]) -> int:
    """Position of a column, by its name, if that is known, or its number from 0."""
    if wanted in known:
        _refuse_double_name(source, role, wanted, names)
        at = names.index(wanted)
        if known is names and _is_number(wanted, names) and int(wanted) != at:
            raise InputError(
                f"{source}: {role} = {wanted!r} may be the column called {wanted!r} or that of this number from 0, called"
                f" {shown(names[int(wanted)])}; rename them, or, of a text file, take the line of names out with skip and"
                " header = false, so that numbers count"
            )
        return at
    if _is_number(wanted, names):
        return int(wanted)
    raise InputError(
        f"{source}: there is no column {shown(wanted)} for the {role}; there are: {_some(names, known is names)}"
    )


def _is_number(wanted: str, names: Sequence[str]) -> bool:
    """Whether a name is written as the number of a column."""
    return wanted.isascii() and wanted.isdigit() and len(wanted) < 9 and int(wanted) < len(names)


def _refuse_double_name(source: str, role: str, name: str, names: Sequence[str]) -> None:
    if Counter(names)[name] > 1:
        raise InputError(
            f"{source}: {Counter(names)[name]} columns are called {shown(name)}; rename one, or, of a text file, give the"
            f" {role} column's number from 0 (the first is {names.index(name)}) and say header = true"
        )


def _some(names: Sequence[str], header: bool) -> str:
    if header:
        return listed(names)
    return f"numbers 0 to {len(names) - 1}" if len(names) > 1 else "one column, so the delimiter may be another"


def _too_few(source: str, missing: list[str], found: dict[str, int], names: Sequence[str], header: bool) -> str:
    taken = ", ".join(f"{shown(names[at])} is the {role}" for role, at in found.items())
    other = " (is the delimiter another?)" if len(names) == 1 and any(mark in names[0] for mark in ",;|\t ") else ""
    return (
        f"{source}: has too few columns for the {' and '.join(missing)}{f' ({taken})' if taken else ''}; there are:"
        f" {_some(names, header)}; an edge table needs a left and a right column{other}"
    )


def _unclear(
    source: str,
    missing: list[str],
    rest: list[int],
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    told: bool,
) -> str:
    """What to ask for: `told` says that it is known whether line 1 names columns."""
    sides = " and ".join(missing)
    columns = ", ".join(shown(names[at]) + _examples(at, rows) for at in rest[:LISTED])
    more = f" and {len(rest) - LISTED:,} more" if len(rest) > LISTED else ""
    filled = [at for at in rest if any(row[at] not in ("", "None") for row in rows if at < len(row))]
    named = [at for at in filled if names[at]]  # one without is most likely an index of pandas, or names of rows
    likely = zip(missing, named if len(named) >= len(missing) else rest, strict=False)
    chosen = ", ".join(f"{side} = {_argument(names, at)!r}" for side, at in likely)
    if len(missing) == 2 and may_be_matrix([names, *rows] if told else rows):
        advice = (
            f"say {sides} if a row is an edge, or, if its cells say how much of each column a row has, read it with format ="
            " 'matrix'"
        )
    else:
        advice = f"name them, as in {chosen}"
    widths = sorted({len(names), *map(len, rows)})
    if len(widths) > 1:
        advice = (
            f"its lines have {widths[0]} to {widths[-1]} columns: say format = 'baskets' if each is a basket of items, else"
            f" {advice}"
        )
    if not told:
        advice = f"say header = true if line 1 holds names, else header = false, and then {advice}"
    return (
        f"{source}: has {len(names)} columns, and which of them are the {sides} is not said: {columns}{more}; {advice}"
    )


def _examples(at: int, rows: Sequence[Sequence[str]]) -> str:
    values = ", ".join(shown(row[at]) for row in rows[:EXAMPLES] if at < len(row))
    return f" ({values})" if values else ""


def _argument(names: Sequence[str], at: int) -> str:
    """A column's name, or its number where the name is long, empty, or not the only one."""
    name = names[at]
    return name if 0 < len(name) <= SHOWN and Counter(names)[name] == 1 else str(at)


def _refuse_double_use(source: str, found: dict[str, int], names: Sequence[str]) -> None:
    for at, uses in Counter(found.values()).items():
        if uses > 1:
            roles = " and ".join(role for role, place in found.items() if place == at)
            raise InputError(f"{source}: column {shown(names[at])} is asked for as {roles}; name two columns")
