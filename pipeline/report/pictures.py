"""Pictures of a report, as SVG that takes its colours from the page (`page.css`)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from html import escape

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.report.groups import GroupPicture
from bicliq.pipeline.report.times import Times

CELL = 15
"""Width of a cell of a group's picture."""

LABEL = 22
"""Characters of a label that a picture shows; the whole one is its title."""

WIDTH = 330
"""Width of a line of times."""

STEPS = 8
"""Shades of a heat map."""

SIDE = 40
"""Largest p and q that a picture of counts shows."""

EYE = 1.02
"""Points nearer than this factor on both axes are drawn as one."""

Points = Iterable[tuple[int, int]]


def short(label: str) -> str:
    r"""A label as a picture shows it.

    Examples
    --------
    >>> short("x" * 30), short("a\nb")
    ('xxxxxxxxxxxxxxxxxxxxx…', 'a b')
    """
    line = " ".join(label.split()) or "(blank)"
    return line if len(line) <= LABEL else line[: LABEL - 1] + "…"


def alone(picture: str) -> str:
    """A picture as a file of its own, in the colours of a bright page."""
    style = (
        "svg{background:#fff}text{fill:#1c2430;font:11px sans-serif}"
        ".heat{fill:rgb(11 98 168/calc(.12 + .88*var(--v)))}.grid{stroke:#d9dee5}"
    )
    start, rest = picture.split(">", 1)
    return f'{start} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}'


def degrees_picture(left: Points, right: Points) -> str:
    """Numbers of vertices by degree, on logarithmic axes; one kind of mark a side."""
    of = "{count:,} {side} vertices of degree {value:,}"
    return _scatter({"left": left, "right": right}, "degree (edges of a vertex)", "vertices", of)


def two_step_picture(left: Points, right: Points) -> str:
    """Vertices that share something with at least so many others of their side.

    Examples
    --------
    >>> two_step_picture([(1, 3), (4, 1)], []).count("<circle class")  # one is the legend's
    3
    """
    of = "{count:,} {side} vertices share something with {value:,} others or more"
    sides = {"left": _at_least(left), "right": _at_least(right)}
    return _scatter(sides, "others of the same side, at least", "vertices", of)


def _at_least(points: Points) -> Points:
    """Points (value, how many have it or more), without those that no eye tells from the last."""
    values = sorted(points)
    counts = np.cumsum([count for _, count in reversed(values)])[::-1].tolist()
    kept: list[tuple[int, int]] = []
    for (value, _), count in zip(values, counts, strict=True):
        if value > 0 and not (kept and value < kept[-1][0] * EYE and kept[-1][1] < count * EYE):
            kept.append((value, count))
    return kept


def _scatter(series: dict[str, Points], across: str, up: str, of: str) -> str:
    """Points (value, count) of the sides on logarithmic axes; `of` says what a point is."""
    series = {side: list(points) for side, points in series.items()}
    every = [point for points in series.values() for point in points if point[0] > 0]
    width, height, x0, y0 = 560, 300, 64, 250
    most = [max((point[axis] for point in every), default=1) for axis in (0, 1)]
    spans = [max(1, math.ceil(math.log10(value + 1))) for value in most]

    def place(point: tuple[int, int]) -> tuple[float, float]:
        right, high = (math.log10(value) / span for value, span in zip(point, spans, strict=True))
        return x0 + right * (width - x0 - 20), y0 - high * (y0 - 20)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(up)} by {escape(across)}">']
    for power in range(spans[0] + 1):
        x, _ = place((10**power, 1))
        parts.append(f'<path class="grid" d="M{x:.1f} 20V{y0}"/>{_text(x, y0 + 16, _power(power), "middle")}')
    for power in range(spans[1] + 1):
        _, y = place((1, 10**power))
        parts.append(f'<path class="grid" d="M{x0} {y:.1f}H{width - 20}"/>{_text(x0 - 6, y + 4, _power(power), "end")}')
    for side, points in series.items():
        for value, count in points:
            if value > 0:
                x, y = place((value, count))
                mark = f"<title>{of.format(side=side, value=value, count=count)}</title>"
                if side == "left":
                    parts.append(f'<circle class="left" cx="{x:.1f}" cy="{y:.1f}" r="3.5">{mark}</circle>')
                else:
                    parts.append(f'<path class="right" d="M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7z">{mark}</path>')
    parts.append(_text((x0 + width) / 2, height - 8, across, "middle"))
    parts.append(_upright(16, (y0 + 20) / 2, up))
    parts.append(f'<circle class="left" cx="{width - 130}" cy="30" r="4"/>{_text(width - 120, 34, "left")}')
    parts.append(f'<path class="right" d="M{width - 84} 26h8v8h-8z"/>{_text(width - 70, 34, "right")}</svg>')
    return "".join(parts)


def rules_picture(rules: Iterable[tuple[float, float, float, str]]) -> str:
    """Association rules by support and confidence; the darker, the higher their lift.

    `rules`: support, confidence, lift, and what is said of each; there is one at least.

    Examples
    --------
    >>> rules_picture([(0.5, 0.9, 1.2, "jam → tea")]).count("<circle")
    1
    """
    every = list(rules)
    width, height, x0, y0 = 560, 300, 64, 250
    step = _round_step(max(support for support, *_ in every))
    n_steps = math.ceil(max(support for support, *_ in every) / step - 1e-9)
    across = (width - x0 - 20) / (n_steps * step)
    lifts = sorted(lift for _, _, lift, _ in every)
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="rules by support and confidence">']
    for at in range(n_steps + 1):
        x = x0 + at * step * across
        parts.append(f'<path class="grid" d="M{x:.1f} 20V{y0}"/>{_text(x, y0 + 16, f"{at * step:g}", "middle")}')
    for at in range(6):
        y = y0 - at / 5 * (y0 - 20)
        parts.append(f'<path class="grid" d="M{x0} {y:.1f}H{width - 20}"/>{_text(x0 - 6, y + 4, f"{at / 5:g}", "end")}')
    for support, confidence, lift, said in every:
        x, y = x0 + support * across, y0 - confidence * (y0 - 20)
        shade = bisect_right(lifts, lift) / len(lifts)
        parts.append(
            f'<circle class="heat" style="--v:{shade:.2f}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(said)}</title></circle>'
        )
    parts.append(_text((x0 + width) / 2, height - 8, "support", "middle") + _upright(16, (y0 + 20) / 2, "confidence"))
    return "".join([*parts, "</svg>"])


def _round_step(most: float) -> float:
    """The least step of one digit, 1, 2 or 5, of which five reach a number.

    Examples
    --------
    >>> _round_step(0.23), _round_step(1.0), _round_step(0.0023)
    (0.05, 0.2, 0.0005)
    """
    power = math.floor(math.log10(most))
    steps = (float(f"{digit}e{at}") for at in (power - 1, power) for digit in (1, 2, 5))
    return next(step for step in steps if step * 5 >= most)


def bin_of(size: int) -> int:
    """Number of the bin of a size: each up to 4, then two bins an octave.

    Examples
    --------
    >>> [bin_of(size) for size in (1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17)]
    [0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8]
    """
    if size <= 4:
        return size - 1
    octave = (size - 1).bit_length() - 1  # 2**octave < size <= 2**(octave + 1)
    return 4 + 2 * (octave - 2) + (size > 3 << (octave - 1))


def bin_start(number: int) -> int:
    """Least size of a bin.

    Examples
    --------
    >>> all(bin_of(bin_start(n)) == n and bin_of(bin_start(n + 1) - 1) == n for n in range(40))
    True
    """
    if number < 4:
        return number + 1
    octave: int = 2 + (number - 4) // 2
    half: int = 2 if number % 2 == 0 else 3
    return (half << (octave - 1)) + 1


def sizes_picture(sizes: dict[tuple[int, int], int]) -> str:
    """Numbers of bicliques by their two sizes, as shades of a logarithmic scale."""
    binned: dict[tuple[int, int], int] = {}
    for (left, right), count in sizes.items():
        key = bin_of(left), bin_of(right)
        binned[key] = binned.get(key, 0) + count
    n_rows, n_columns = (max((key[axis] for key in binned), default=0) + 1 for axis in (0, 1))
    cell, x0, y0 = 26, 70, 14
    width, height = max(x0 + n_columns * cell + 20, 330), y0 + n_rows * cell + 92
    most = max(binned.values(), default=1)
    parts = [
        f'<svg class="fixed" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        ' aria-label="numbers of bicliques by size">'
    ]
    for (left, right), count in sorted(binned.items()):
        at = x0 + right * cell, y0 + (n_rows - 1 - left) * cell
        said = f"{count:,} of {_range(left)} left × {_range(right)} right"
        parts.append(_cell(at, cell, _shade(count, most), said))
    for number in range(n_rows):
        parts.append(_text(x0 - 6, y0 + (n_rows - 1 - number) * cell + 17, f"{bin_start(number):,}", "end"))
    for number in range(n_columns):
        x, y = x0 + number * cell + 16, y0 + n_rows * cell + 8
        parts.append(
            f'<text x="{x}" y="{y}" text-anchor="end" transform="rotate(-55 {x} {y})">{bin_start(number):,}</text>'
        )
    bottom = height - 34
    parts.append(_text(x0, bottom, "right vertices, from →"))
    parts.append(_upright(14, y0 + n_rows * cell / 2, "left vertices, from"))
    return "".join(parts) + _key(x0, bottom + 10, f"{most:,} bicliques") + "</svg>"


def _cell(at: tuple[int, int], side: int, shade: float, said: str) -> str:
    """A square of a heat map."""
    where = f'x="{at[0]}" y="{at[1]}" width="{side - 1}" height="{side - 1}"'
    return f'<rect class="heat" style="--v:{shade:.2f}" {where}><title>{said}</title></rect>'


def _key(x: int, y: int, most: str) -> str:
    """The shades of a heat map, from 1 to the most."""
    shades = "".join(
        f'<rect class="heat" style="--v:{step / (STEPS - 1):.2f}" x="{x + step * 16}" y="{y}" width="16" height="12"/>'
        for step in range(STEPS)
    )
    return _text(x - 6, y + 10, "1", "end") + shades + _text(x + STEPS * 16 + 6, y + 10, most)


def counts_picture(counts: dict[tuple[int, int], int]) -> str:
    """Counts by p and q, as shades of a logarithmic scale; up to `SIDE` sizes of each.

    Examples
    --------
    >>> counts_picture({(1, 1): 5, (1, 2): 0}).count("<rect")  # a count of 0 has no cell; 8 of the key
    9
    """
    shown = {size: count for size, count in counts.items() if count and max(size) <= SIDE}
    n_rows, n_columns = (max((size[axis] for size in shown), default=1) for axis in (0, 1))
    cell, x0, y0 = 20, 60, 14
    width, height = max(x0 + n_columns * cell + 20, 330), y0 + n_rows * cell + 84
    most = max(shown.values(), default=1)
    parts = [
        f'<svg class="fixed" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        ' aria-label="counts by p and q">'
    ]
    for (p, q), count in sorted(shown.items()):
        at = x0 + (q - 1) * cell, y0 + (n_rows - p) * cell
        parts.append(_cell(at, cell, _shade(count, most), f"p {p}, q {q}: {count:,}"))
    for p in range(1, n_rows + 1):
        parts.append(_text(x0 - 6, y0 + (n_rows - p) * cell + 14, str(p), "end"))
    for q in range(1, n_columns + 1):
        parts.append(_text(x0 + (q - 1) * cell + 10, y0 + n_rows * cell + 14, str(q), "middle"))
    bottom = y0 + n_rows * cell + 34
    parts.append(_text(x0, bottom, "q, right vertices →"))
    parts.append(_upright(14, y0 + n_rows * cell / 2, "p, left vertices"))
    return "".join(parts) + _key(x0, bottom + 12, f"{most:,}") + "</svg>"


def group_picture(group: GroupPicture, times: Times | None) -> str:
    """Members against items: cells of the group, edges around it, and what is absent."""
    lefts, rights = ([str(label) for label in side] for side in (group.left, group.right))
    x0, y0 = 8 + 6.4 * max(len(short(label)) for label in lefts), 12 + 5.4 * max(len(short(t)) for t in rights)
    gaps = [
        (group.right_members, 6 if len(rights) > group.right_members else 0),
        (group.left_members, 6 if len(lefts) > group.left_members else 0),
    ]

    def x(column: int) -> float:
        return x0 + column * CELL + (gaps[0][1] if column >= gaps[0][0] else 0)

    def y(row: int) -> float:
        return y0 + row * CELL + (gaps[1][1] if row >= gaps[1][0] else 0)

    width, height = x(len(rights)) + y0 - 8, y(len(lefts)) + 6
    said = f"{group.n_left} × {group.n_right} group"
    parts = [
        f'<svg class="fixed" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{said}">'
    ]
    for column, label in enumerate(rights):
        kind = "" if column < group.right_members else ' class="around"'
        at = f"{x(column) + 10:.1f} {y0 - 6:.1f}"
        parts.append(
            f'<text{kind} transform="translate({at}) rotate(-50)">{escape(short(label))}<title>{escape(label)}</title></text>'
        )
    known = None if times is None else times.of_cells(group)
    for row, label in enumerate(lefts):
        kind = "" if row < group.left_members else ' class="around"'
        parts.append(
            f'<text{kind} x="{x0 - 5:.1f}" y="{y(row) + 11:.1f}" text-anchor="end">{escape(short(label))}'
            f"<title>{escape(label)}</title></text>"
        )
        for column, there in enumerate(group.present[row]):
            member = row < group.left_members and column < group.right_members
            shade = ("member" if member else "near") if there else "missing" if member else "absent"
            seen = math.nan if known is None or not there else float(known[row, column])
            end = (
                "/>"
                if times is None or math.isnan(seen)
                else f"><title>first seen {times.in_words(seen)}</title></path>"
            )
            parts.append(
                f'<path class="{shade}" d="M{x(column):.1f} {y(row):.1f}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"{end}'
            )
    return "".join(parts) + "</svg>"


def times_picture(group: GroupPicture, times: Times) -> str:
    """When the edges of a group that are shown were first seen, on the line of all edges' times."""
    cells = times.of_cells(group)
    around = cells[group.present & ~_members(group)]
    parts = [f'<svg viewBox="0 0 {WIDTH} 46" width="{WIDTH}" role="img" aria-label="times of the edges">']
    parts.append(f'<path class="grid" d="M6 26H{WIDTH - 6}"/>')
    for kind, seen in (("near", around), ("member", cells[_members(group)])):
        for at in np.unique(np.round(_along(seen[~np.isnan(seen)], times), 1)):
            parts.append(f'<path class="tick {kind}" d="M{at:.1f} {8 if kind == "member" else 16}V26"/>')
    parts.append(_text(6, 42, times.in_words(times.first)) + _text(WIDTH - 6, 42, times.in_words(times.last), "end"))
    return "".join(parts) + "</svg>"


def _members(group: GroupPicture) -> npt.NDArray[np.bool_]:
    """Cells of the group itself, of those that a picture shows."""
    of_group = np.zeros(group.present.shape, np.bool_)
    of_group[: group.left_members, : group.right_members] = True
    return of_group


def _along(seen: npt.NDArray[np.float64], times: Times) -> npt.NDArray[np.float64]:
    """Places of times on a line of `WIDTH`."""
    return 6 + (WIDTH - 12) * (seen - times.first) / max(times.last - times.first, 1.0)


def _shade(count: int, most: int) -> float:
    """Between 0 and 1; counts may have more digits than a float has room for."""
    return math.log(count) / math.log(most) if most > 1 else 1.0


def _range(number: int) -> str:
    first, last = bin_start(number), bin_start(number + 1) - 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _power(power: int) -> str:
    return f"{10**power:,}" if power < 7 else f"1e{power}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _upright(x: float, y: float, text: str) -> str:
    return f'<text text-anchor="middle" transform="translate({x} {y:.1f}) rotate(-90)">{escape(text)}</text>'
