"""Pictures of a report, as SVG that takes its colours from the page (`page.css`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from pipeline.report.facts import GroupPicture

CELL = 15
"""Width of a cell of a group's picture."""

LABEL = 22
"""Characters of a label that a picture shows; the whole one is its title."""

STEPS = 8
"""Shades of a heat map."""

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
    series = {"left": list(left), "right": list(right)}
    every = [point for points in series.values() for point in points if point[0] > 0]
    width, height, x0, y0 = 560, 300, 64, 250
    most = [max((point[axis] for point in every), default=1) for axis in (0, 1)]
    spans = [max(1, math.ceil(math.log10(value + 1))) for value in most]

    def place(point: tuple[int, int]) -> tuple[float, float]:
        across, up = (math.log10(value) / span for value, span in zip(point, spans, strict=True))
        return x0 + across * (width - x0 - 20), y0 - up * (y0 - 20)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="numbers of vertices by degree">']
    for power in range(spans[0] + 1):
        x, _ = place((10**power, 1))
        parts.append(f'<path class="grid" d="M{x:.1f} 20V{y0}"/>{_text(x, y0 + 16, _power(power), "middle")}')
    for power in range(spans[1] + 1):
        _, y = place((1, 10**power))
        parts.append(f'<path class="grid" d="M{x0} {y:.1f}H{width - 20}"/>{_text(x0 - 6, y + 4, _power(power), "end")}')
    for side, points in series.items():
        for degree, count in points:
            if degree > 0:
                x, y = place((degree, count))
                mark = f"<title>{count:,} {side} vertices of degree {degree:,}</title>"
                if side == "left":
                    parts.append(f'<circle class="left" cx="{x:.1f}" cy="{y:.1f}" r="3.5">{mark}</circle>')
                else:
                    parts.append(f'<path class="right" d="M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7z">{mark}</path>')
    parts.append(_text((x0 + width) / 2, height - 8, "degree (edges of a vertex)", "middle"))
    parts.append(_upright(16, (y0 + 20) / 2, "vertices"))
    parts.append(f'<circle class="left" cx="{width - 130}" cy="30" r="4"/>{_text(width - 120, 34, "left")}')
    parts.append(f'<path class="right" d="M{width - 84} 26h8v8h-8z"/>{_text(width - 70, 34, "right")}</svg>')
    return "".join(parts)


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
        x, y = x0 + right * cell, y0 + (n_rows - 1 - left) * cell
        said = f"{count:,} of {_range(left)} left × {_range(right)} right"
        shade = f'class="heat" style="--v:{_shade(count, most):.2f}"'
        parts.append(
            f'<rect {shade} x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}"><title>{said}</title></rect>'
        )
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
    for step in range(STEPS):
        shade = f'class="heat" style="--v:{step / (STEPS - 1):.2f}"'
        parts.append(f'<rect {shade} x="{x0 + step * 16}" y="{bottom + 10}" width="16" height="12"/>')
    parts.append(_text(x0 - 6, bottom + 20, "1", "end"))
    parts.append(_text(x0 + STEPS * 16 + 6, bottom + 20, f"{most:,} bicliques") + "</svg>")
    return "".join(parts)


def group_picture(group: GroupPicture) -> str:
    """Members against items: cells of the group, edges around it, and what is absent."""
    x0, y0 = (
        8 + 6.4 * max(len(short(label)) for label in group.left),
        12 + 5.4 * max(len(short(t)) for t in group.right),
    )
    gaps = [
        (group.right_members, 6 if len(group.right) > group.right_members else 0),
        (group.left_members, 6 if len(group.left) > group.left_members else 0),
    ]

    def x(column: int) -> float:
        return x0 + column * CELL + (gaps[0][1] if column >= gaps[0][0] else 0)

    def y(row: int) -> float:
        return y0 + row * CELL + (gaps[1][1] if row >= gaps[1][0] else 0)

    width, height = x(len(group.right)) + y0 - 8, y(len(group.left)) + 6
    said = f"{group.n_left} × {group.n_right} group"
    parts = [
        f'<svg class="fixed" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{said}">'
    ]
    for column, label in enumerate(group.right):
        kind = "" if column < group.right_members else ' class="around"'
        at = f"{x(column) + 10:.1f} {y0 - 6:.1f}"
        parts.append(
            f'<text{kind} transform="translate({at}) rotate(-50)">{escape(short(label))}<title>{escape(label)}</title></text>'
        )
    for row, label in enumerate(group.left):
        kind = "" if row < group.left_members else ' class="around"'
        parts.append(
            f'<text{kind} x="{x0 - 5:.1f}" y="{y(row) + 11:.1f}" text-anchor="end">{escape(short(label))}'
            f"<title>{escape(label)}</title></text>"
        )
        for column, there in enumerate(group.present[row]):
            member = row < group.left_members and column < group.right_members
            shade = ("member" if member else "near") if there else "absent"
            parts.append(
                f'<path class="{shade}" d="M{x(column):.1f} {y(row):.1f}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"/>'
            )
    return "".join(parts) + "</svg>"


def _shade(count: int, most: int) -> float:
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
