"""The line diagram of a small lattice: a dot a concept, larger ones above, lines where one covers.

Labels are reduced: an attribute stands above the largest concepts that have it, an object below the
smallest ones; a concept has the attributes on the ways up from it, and the objects on those down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError

if TYPE_CHECKING:
    from bicliq.pipeline.results.concepts import Concepts

MOST_DRAWN = 60
"""Concepts that a diagram has, at most: more is no picture that anybody reads."""

LETTERS, LINES = 24, 4
"""Letters of a label, and labels of a concept and side that are shown; a title has all."""

LETTER, LINE, DOT, GAP, BETWEEN = 6.6, 14, 6, 24, 56
"""Pixels: of a letter and a line, of a dot's radius, between two dots or labels, and two layers."""

FLATTEST = 4
"""Pixels that a line goes across for one down, at most: so it passes by the dot beside its own."""

SWEEPS = 24
"""Times that concepts are put below and above those that they are tied to."""

STYLE = (
    "svg{background:#fff}text{fill:#1c2430;font:11px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".grid{stroke:#97a3b1;fill:none}.left{fill:#0b62a8}.around{fill:#7a3f0c}"
)
"""Of a diagram that stands alone."""


@dataclass
class _Node:
    """A concept that is drawn, with its neighbours, its labels and its place."""

    number: int
    objects: frozenset[int]
    attributes: frozenset[int]
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    under: list[str] = field(default_factory=list)
    layer: int = 0
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        """Of its dot or its longest label."""
        return max([2 * DOT, *(LETTER * len(label) for label in (*_cut(self.over), *_cut(self.under)))]) + GAP


def diagram_of(found: Concepts, *, alone: bool = False) -> str:
    """Draw concepts as SVG.

    `found`: those that are drawn, in their own order: those that a filter left out may lie between.
    `alone`: whether the picture is a file, and not part of a page with its style. Raises InputError
    where there are none, or more than `MOST_DRAWN`.

    Examples
    --------
    >>> import bicliq
    >>> picture = diagram_of(bicliq.concepts({"duck": ["flies", "swims"], "owl": ["flies", "hunts"]}))
    >>> picture.count("<circle"), picture.count("<polyline")
    (4, 4)
    """
    if not 0 < len(found) <= MOST_DRAWN:
        raise InputError(
            f"a diagram shows 1 to {MOST_DRAWN} concepts, and here are {len(found):,}; choose some with of, where or a"
            " larger min_support"
        )
    nodes = []
    for number in found.numbers.tolist():
        lists = found.lattice.lists(number, number + 1)
        nodes.append(_Node(number, frozenset(lists.left.tolist()), frozenset(lists.right.tolist())))
    _tie(nodes)
    _label(nodes, found)
    drawn, paths = len(nodes), _paths(nodes)
    layers = [
        [at for at, node in enumerate(nodes) if node.layer == layer] for layer in sorted({n.layer for n in nodes})
    ]
    _place_across(nodes, layers)
    _place_down(nodes, layers)
    return _svg(nodes[:drawn], [[nodes[at] for at in path] for path in paths], found, alone)


def _tie(nodes: Sequence[_Node]) -> None:
    """Find which of them lie next to each other; larger ones come first."""
    for low, node in enumerate(nodes):
        larger = [up for up in range(low) if nodes[up].attributes < node.attributes]
        node.above = [
            up for up in larger if not any(nodes[up].attributes < nodes[between].attributes for between in larger)
        ]
        node.layer = max((nodes[up].layer + 1 for up in node.above), default=0)
        for up in node.above:
            nodes[up].below.append(low)


def _label(nodes: Sequence[_Node], found: Concepts) -> None:
    """Give attributes to the largest concepts that have them, and objects to the smallest."""
    for node in nodes:
        own = node.attributes.difference(*(nodes[up].attributes for up in node.above))
        node.over = [str(label) for label in found.context.attributes.take(column_of(_ids(own))).to_pylist()]
        own = node.objects.difference(*(nodes[low].objects for low in node.below))
        labels = found.context.objects.take(column_of(_ids(own))).to_pylist()
        node.under = ["(no name)" if label is None else str(label) for label in labels]


def _paths(nodes: list[_Node]) -> list[list[int]]:
    """Add a place to each layer that a line crosses, and return what each line goes through.

    A line that went straight could pass through a dot to which it does not belong.
    """
    paths = []
    for low, node in enumerate(nodes[:]):
        for up in node.above:
            places = range(len(nodes), len(nodes) + node.layer - nodes[up].layer - 1)
            nodes += [_Node(-1, frozenset(), frozenset(), layer=node.layer - 1 - at) for at in range(len(places))]
            paths.append([low, *places, up])
    for node in nodes:
        node.above, node.below = [], []
    for path in paths:
        for low, up in pairwise(path):
            nodes[low].above.append(up)
            nodes[up].below.append(low)
    return paths


def _ids(some: frozenset[int]) -> npt.NDArray[np.int64]:
    return np.array(sorted(some), np.int64)


def _place_across(nodes: Sequence[_Node], layers: Sequence[list[int]]) -> None:
    """Put each near what it is tied to, first by order within its layer, then by how far."""
    for layer in layers:
        for at, number in enumerate(layer):
            nodes[number].x = 100 * (at - len(layer) / 2)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = {number: _middle(nodes, number, down, sweep > SWEEPS // 2) for number in layer}
            layer.sort(key=lambda number: (wanted[number], nodes[number].x))
            for number, x in zip(
                layer, _apart([wanted[n] for n in layer], [nodes[n].width for n in layer]), strict=True
            ):
                nodes[number].x = x
    least = min(node.x - node.width / 2 for node in nodes)
    for node in nodes:
        node.x -= least


def _middle(nodes: Sequence[_Node], number: int, down: bool, both: bool) -> float:
    node = nodes[number]
    tied = node.above + node.below if both else node.above if down else node.below
    return fmean(nodes[other].x for other in tied) if tied else node.x


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Places in the same order, as near as may be to those wanted, that do not overlap."""
    starts = np.concatenate([[0.0], np.cumsum([(a + b) / 2 for a, b in pairwise(widths)])])
    blocks: list[tuple[float, int]] = []  # mean and number of those that touch
    for value in (np.array(wanted) - starts).tolist():
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, n), (last, more) = blocks[-2], blocks.pop()
            blocks[-1] = ((mean * n + last * more) / (n + more), n + more)
    means = [mean for mean, n in blocks for _ in range(n)]
    return [mean + start for mean, start in zip(means, starts.tolist(), strict=True)]


def _place_down(nodes: Sequence[_Node], layers: Sequence[list[int]]) -> None:
    """Put each layer below the one before, so far that no line touches what is beside its ends."""
    y = 0.0
    for layer in layers:
        tied = [(nodes[number], nodes[up]) for number in layer for up in nodes[number].above]
        steep = [up.y + abs(node.x - up.x) / FLATTEST for node, up in tied]
        y = max([y + DOT + LINE * max(len(_cut(nodes[number].over)) for number in layer), *steep])
        for number in layer:
            nodes[number].y = y
        y += DOT + LINE * max(len(_cut(nodes[number].under)) for number in layer) + BETWEEN


def _svg(nodes: Sequence[_Node], paths: Sequence[Sequence[_Node]], found: Concepts, alone: bool) -> str:
    width = max(node.x + node.width / 2 for path in [nodes, *paths] for node in path) + GAP
    height = max(node.y + DOT + LINE * len(_cut(node.under)) for node in nodes) + GAP
    said = f"Line diagram of {len(nodes)} concepts"
    own = f' xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style' if alone else ""
    parts = [
        f'<svg class="fixed diagram" width="{width:.0f}" height="{height:.0f}" viewBox="0 {-GAP} {width:.0f} {height + GAP:.0f}"'
        f' role="img" aria-label="{said}"{own}>'
    ]
    for path in paths:
        places = " ".join(f"{node.x:.1f},{node.y:.1f}" for node in path)
        parts.append(f'<polyline class="grid" points="{places}"/>')
    for node in nodes:
        parts.append(
            f'<circle class="left" cx="{node.x:.1f}" cy="{node.y:.1f}" r="{DOT}">{_title(node, found)}</circle>'
        )
        over, under = _cut(node.over), _cut(node.under)
        parts += _lines(node, over, node.y - DOT - 4 - LINE * (len(over) - 1), "")
        parts += _lines(node, under, node.y + DOT + LINE - 2, ' class="around"')
    return "".join([*parts, "</svg>"])


def _title(node: _Node, found: Concepts) -> str:
    context = found.context
    sides = (
        ", ".join(map(str, labels.take(column_of(_ids(some))).to_pylist())) or "none"
        for labels, some in ((context.objects, node.objects), (context.attributes, node.attributes))
    )
    stability = int(found.lattice.stability[node.number])
    said = "concept {}; objects: {}; attributes: {}; stability {:,}".format(node.number, *sides, stability)
    return f"<title>{escape(said)}</title>"


def _lines(node: _Node, labels: Sequence[str], y: float, style: str) -> list[str]:
    return [
        f'<text{style} x="{node.x:.1f}" y="{y + LINE * at:.1f}" text-anchor="middle">{escape(label)}</text>'
        for at, label in enumerate(labels)
    ]


def _cut(labels: Sequence[str]) -> list[str]:
    """Labels as they are shown: short, the first of them, and how many more there are."""
    lines = [" ".join(label.split()) or "(blank)" for label in labels]
    lines = [line if len(line) <= LETTERS else line[: LETTERS - 1] + "…" for line in lines]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], f"… {len(lines) - LINES + 1:,} more"]
