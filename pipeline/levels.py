"""The two thresholds of a check: above which number it warns, and above which it fails."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator


def _two_levels(value: Any) -> Any:
    parts = value.split(":") if isinstance(value, str) else value if isinstance(value, list | tuple) else (value,)
    try:
        levels = [None if part is None or part == "" else float(str(part)) for part in parts]
    except ValueError:
        levels = []
    if levels in ([], [None], [None, None]) or len(levels) > 2 or not all(n is None or n >= 0 for n in levels):
        raise ValueError("write above which number it warns, and above which it fails: 0.1:0.5, 0.1, or :0.5")
    warns, fails = (*levels, None)[:2]
    if warns is not None and fails is not None and warns > fails:
        raise ValueError(
            f"it warns above {warns:g}, where it fails above {fails:g} already; write the smaller one first"
        )
    return warns, fails


def _shares(levels: tuple[float | None, ...]) -> tuple[float | None, ...]:
    if max(filter(None, levels), default=0) > 1:
        raise ValueError("a share is 1 at most")
    return levels


Levels = Annotated[tuple[float | None, float | None], BeforeValidator(_two_levels)]
Shares = Annotated[Levels, AfterValidator(_shares)]

OLD_NAMES = {
    ("checks", f"{name}_{level}"): f"{name}_above"
    for name in ("rows", "dropped", "labels", "degree", "paths")
    for level in ("warn", "fail")
}
"""Settings of before, which are taken still, and which setting they became a part of."""


def in_new_names(given: Any) -> Any:
    """Return the settings of checks with those of before as parts of what they are by now."""
    if not isinstance(given, dict):
        return given
    settings = {name: value for name, value in given.items() if ("checks", name) not in OLD_NAMES}
    for (_, name), now in OLD_NAMES.items():
        if given.get(name) is None:
            continue
        if given.get(now) is not None:
            raise ValueError(f"{name} is a part of {now} by now, which is given, too; leave {name} out")
        try:
            level = _two_levels([given[name]])[0]
        except ValueError:
            raise ValueError(f"{name} {given[name]!r}: write a number of at least 0") from None
        warn, fail = settings.get(now) or (None, None)
        settings[now] = (level, fail) if name.endswith("warn") else (warn, level)
    return settings
