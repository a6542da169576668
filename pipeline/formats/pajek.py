"""Networks of Pajek (``.net``): two modes, or one for cliques."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.lines import Neighbours, TextLines, edge_batches, refuse_line
from bicliq.pipeline.formats.problems import is_number
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.words import shown


def pajek_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a Pajek network: vertices of the first mode are left, of the second right."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _Pajek(source).edges(lines))


@dataclass
class _Pajek:
    """What was read of a network: its sizes, the labels of its vertices, and whose they are."""

    source: EdgeSource
    n: int = 0
    n_left: int = 0
    labels: dict[int, str] = field(default_factory=dict)
    places: dict[tuple[bool, str], int] = field(default_factory=dict)

    def edges(self, lines: TextLines) -> Iterator[Neighbours]:
        """The edges by the line, in the sections of the file."""
        section, row = "", 0
        uri = self.source.uri
        for number, line in lines:
            words = line.split()
            if not words or line.startswith("%"):
                continue
            if line.startswith("*"):
                section, row = words[0].lower(), 0
                if section == "*vertices":
                    self._sizes(number, line, words[1:])
                elif section not in ("*network", "*edges", "*arcs", "*edgeslist", "*arcslist", "*matrix"):
                    raise refuse_line(uri, number, line, "heads no section of a network that is read; take it out")
            elif section == "*vertices":
                self._vertex(number, line)
            elif section in ("*edges", "*arcs"):
                yield self._tie(number, line, [self._place(number, line, word) for word in words[:2]], words[2:3])
            elif section in ("*edgeslist", "*arcslist"):
                first, *others = (self._place(number, line, word) for word in words)
                for other in others:
                    yield self._tie(number, line, [first, other], [])
            elif section == "*matrix":
                row += 1
                yield self._row(number, line, row, words)
            else:
                raise refuse_line(uri, number, line, "stands before *Vertices; a Pajek file begins with it")

    def _sizes(self, number: int, line: str, words: Sequence[str]) -> None:
        sizes = [int(word) for word in words if re.fullmatch("[0-9]{1,9}", word)]
        one_set = self.source.settings.sides == "source-target"
        if len(sizes) != 2 and not (one_set and len(sizes) == 1):
            raise refuse_line(
                self.source.uri, number, line, "declares no two modes, as *Vertices 32 18 does: one set of vertices is read"
                " by bicliq clique alone"
            )  # fmt: skip
        if one_set and len(sizes) == 2:
            raise refuse_line(
                self.source.uri, number, line, "declares two modes, and a clique is of one; project a side: project = 'left'"
                " or 'right'"
            )  # fmt: skip
        self.n, self.n_left = sizes[0], sizes[-1]

    def _vertex(self, number: int, line: str) -> None:
        found = re.match(r'\s*([0-9]+)(?:\s+(?:"([^"]*)"|(\S+)))?', line)
        if found is None:
            raise refuse_line(self.source.uri, number, line, "must be the number of a vertex, and its label")
        place, label = self._place(number, line, found[1]), found[2] if found[2] is not None else found[3]
        if label is not None:
            self.labels[place] = label

    def _place(self, number: int, line: str, word: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", word) or not 1 <= int(word) <= self.n:
            raise refuse_line(self.source.uri, number, line, f"names a vertex that is none of 1…{self.n}; mend it")
        return int(word)

    def _tie(self, number: int, line: str, ends: Sequence[int], value: Sequence[str]) -> Neighbours:
        if len(ends) < 2 or (value and not is_number(value[0])):
            raise refuse_line(
                self.source.uri, number, line, "must be two vertices, and a number if it has a third field"
            )
        left, right = ends
        if self.n_left < self.n:
            left, right = sorted(ends)
            if not left <= self.n_left < right:
                raise refuse_line(
                    self.source.uri,
                    number,
                    line,
                    f"ties two vertices of one mode (1…{self.n_left} are the first); mend it",
                )
        return Neighbours(number, self._label(left), [self._label(right)], [float(value[0]) if value else 1.0])

    def _row(self, number: int, line: str, row: int, words: Sequence[str]) -> Neighbours:
        first = self.n_left if self.n_left < self.n else 0
        if len(words) != self.n - first or row > self.n_left or not all(map(is_number, words)):
            raise refuse_line(
                self.source.uri, number, line, f"must be a row of {self.n - first} numbers, one of {self.n_left}"
            )
        tied = {first + at: float(word) for at, word in enumerate(words, 1) if float(word)}
        return Neighbours(number, self._label(row), [self._label(at) for at in tied], list(tied.values()))

    def _label(self, place: int) -> str:
        label = self.labels.get(place, str(place))
        called = label.strip() if self.source.settings.strip else label
        other = self.places.setdefault((place > self.n_left, called), place)
        if other != place:
            raise InputError(
                f"{self.source.uri}: vertices {other} and {place} are both called {shown(label)}; rename one, as they would"
                " become one"
            )
        return label
