"""Numbers of compiled counts as Python's: of any size, with terms that 128 bits do not hold."""

from __future__ import annotations

from typing import Any

from bicliq.kernels.contracts import Counts


def whole_number_of(number: tuple[int, int, int]) -> int:
    """A number of 192 bits, of its high, middle and low words."""
    high, middle, low = number
    return (high << 128) + (middle << 64) + low


def together(high: Counts, low: Counts) -> Counts:
    """Numbers of their high and low words; Python's integers where some are beyond 64 bits."""
    if not high.any():
        return low
    both: Counts = (high.astype(object) << 64) | low.astype(object)
    return both


def table_of(found: dict[str, Any]) -> dict[tuple[int, int], int]:
    """All counts that a search has found, with the terms that the compiled code cannot hold."""
    counts = {(p, q): whole_number_of(number) for p, q, *number in found["table"]}
    of_roots, of_rows, leaves = found["large_terms_of_table"]
    if not (of_roots or of_rows or leaves):
        return counts
    on_left = found["on_left"]
    largest = max(counts)
    most_roots, most_rows = largest if on_left else largest[::-1]

    def add(a: int, b: int, count: int) -> None:
        counts[(a, b) if on_left else (b, a)] += count

    for n, _, _, _, times in of_roots:
        for b, choices in enumerate(binomials(n, most_rows)):
            if b > 1:
                add(1, b, times * choices)
    for n, _, _, _, times in of_rows:
        for k, choices in enumerate(binomials(n, most_roots - 1)):
            add(1 + k, 1, times * choices)
    for held, optional, row_held, row_optional, times in leaves:
        of_side = list(enumerate(binomials(row_optional, most_rows - row_held), row_held))
        for a, choices in enumerate(binomials(optional, most_roots - held), held):
            for b, row_choices in of_side:
                if a > 1 and b > 1:
                    add(a, b, times * choices * row_choices)
    return counts


def binomials(n: int, most: int) -> list[int]:
    """C(n, k) for every k up to n and `most`.

    Examples
    --------
    >>> binomials(5, 3), binomials(2, 9)
    ([1, 5, 10, 10], [1, 2, 1])
    """
    row = [1]
    for k in range(min(n, most)):
        row.append(row[-1] * (n - k) // (k + 1))
    return row
