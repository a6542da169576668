"""Concepts, covers, stability and bases are those of their definitions, on random contexts."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import bicliq
from bicliq import kernels
from tests.memory_room import room
from tests.nightly import part_of
from tests.reference import concepts as reference

SEEDS = range(20)
CONTEXTS_A_SEED = 100


def random_context(chance):
    """Rows of few attributes, some empty or full or alike, and columns as well."""
    n_rows, n_columns = chance.integers(0, 9), chance.integers(0, 7)
    table = chance.random((n_rows, n_columns)) < chance.uniform(0.1, 0.95)
    for axis in (table, table.T):
        for line in axis:
            kind = chance.integers(12)
            line[:] = {0: False, 1: True}.get(kind, line)
            if kind == 2:
                line[:] = axis[chance.integers(len(axis))]
    return table


def csr_of(table):
    return np.cumsum([0, *table.sum(axis=1)]), np.nonzero(table)[1], table.shape[1]


def concepts_of(lattice):
    lists = lattice.lists()
    extents, intents = (
        [frozenset(ids[offsets[i] : offsets[i + 1]].tolist()) for i in range(len(lattice))]
        for offsets, ids in ((lists.left_offsets, lists.left), (lists.right_offsets, lists.right))
    )
    return list(zip(extents, intents, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_lattices_are_those_of_their_definition(seed):
    chance = np.random.default_rng(seed)
    for _ in range(CONTEXTS_A_SEED):
        table = random_context(chance)
        attributes = frozenset(range(table.shape[1]))
        rows = [frozenset(np.flatnonzero(row).tolist()) for row in table]
        known = reference.concepts(rows, attributes)
        least = int(chance.integers(0, 4)) if chance.random() < 0.3 else 0
        lattice = kernels.find_concepts(*csr_of(table), min_left=least)
        assert isinstance(lattice, kernels.ConceptLattice)
        found = concepts_of(lattice)
        frequent = {each for each in known if len(each[0]) >= least}
        assert len(found) == len(set(found)) == len(frequent), table
        assert set(found) == frequent
        edges = {(found[low], found[up]) for low, up in zip(lattice.lower, lattice.upper, strict=True)}
        assert len(edges) == len(lattice.lower)
        assert edges == {(low, up) for low, up in reference.covers(known) if len(low[0]) >= least}
        assert dict(zip(found, lattice.stability.tolist(), strict=True)) == {
            each: n for each, n in reference.stability(known).items() if len(each[0]) >= least
        }
        assert found == sorted(found, key=lambda each: (-len(each[0]), sorted(each[1])))
        assert [*zip(lattice.upper, lattice.lower, strict=True)] == sorted(
            zip(lattice.upper, lattice.lower, strict=True)
        )


@pytest.mark.parametrize("shape", part_of([(600, 24), (1500, 40), (24, 600), (40, 1500), (300, 300)], 2))
def test_edges_from_either_side_are_the_same(shape):
    """Bits of many words, set one by one or ANDed, from extents (as `min_left` asks) or intents."""
    for seed in range(3):
        chance = np.random.default_rng(seed)
        shares = chance.uniform(0.5, 1.5, shape[1]) * (0.15 if min(shape) < 100 else 0.04)
        table = chance.random(shape) < shares
        whole, frequent = (kernels.find_concepts(*csr_of(table), min_left=least) for least in (0, 1))
        assert len(whole) - len(frequent) == (whole.n_left == 0).sum()
        there = whole.n_left[whole.lower] > 0
        assert len(whole) > 100
        assert np.array_equal(whole.lower[there], frequent.lower)
        assert np.array_equal(whole.upper[there], frequent.upper)
        assert np.array_equal(whole.stability[: len(frequent)], frequent.stability)


def implications_of(found):
    lists = (found.premise_offsets, found.premises), (found.conclusion_offsets, found.conclusions)
    sides = [[frozenset(ids[a:b].tolist()) for a, b in pairwise(offsets)] for offsets, ids in lists]
    assert len(set(sides[0])) == len(sides[0]) == len(found)
    return dict(zip(sides[0], zip(sides[1], found.support.tolist(), strict=True), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_bases_are_those_of_their_definition(seed):
    chance = np.random.default_rng(1000 + seed)
    for _ in range(CONTEXTS_A_SEED):
        table = random_context(chance)
        attributes = frozenset(range(table.shape[1]))
        rows = [frozenset(np.flatnonzero(row).tolist()) for row in table]
        for basis, known in (("canonical", reference.canonical_basis), ("direct", reference.direct_basis)):
            found = kernels.find_implications(*csr_of(table), basis)
            assert isinstance(found, kernels.Implications)
            assert implications_of(found) == {
                some: (more, len(reference.holders(rows, some))) for some, more in known(rows, attributes).items()
            }, (basis, table)


@pytest.mark.parametrize("seed", range(5))
def test_generators_are_those_of_their_definition(seed):
    chance = np.random.default_rng(2000 + seed)
    for _ in range(40):
        table = random_context(chance)
        rows = {str(g): [str(m) for m in np.flatnonzero(row)] for g, row in enumerate(table) if row.any()}
        if not rows:
            continue
        known = [frozenset(map(int, row)) for row in rows.values()]
        found = bicliq.concepts(rows, ids="text")
        for row in found:
            sets = found.generators(row["concept"])
            assert (sets is None) == (not row["extent"])
            if sets is not None:
                numbers = {frozenset(map(int, some)) for some in sets}
                assert len(numbers) == len(sets)
                assert numbers == reference.generators(known, frozenset(map(int, row["intent"])))


@pytest.mark.parametrize(("basis", "made"), [("direct", "attributes done"), ("canonical", "implications found")])
def test_a_basis_tells_how_far_it_is_and_ends_when_asked(basis, made):
    table, told = np.random.default_rng(3).random((60, 60)) < 0.8, []

    def until(*how_far):
        told.append(how_far)
        return len(told) > 3

    assert kernels.find_implications(*csr_of(table), basis, until) is None
    assert {words for words, _, _ in told} == {made}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


@pytest.mark.parametrize("seed", range(5))
def test_transversals_are_minimal_and_all(seed):
    chance = np.random.default_rng(seed)
    for _ in range(100):
        n = int(chance.integers(1, 8))
        family = [np.flatnonzero(chance.random(n) < chance.uniform(0.2, 0.8)) for _ in range(chance.integers(0, 7))]
        met = [some for some in reference.subsets(frozenset(range(n))) if all(some & {*edge} for edge in family)]
        known = {some for some in met if not any(other < some for other in met)}
        found = [frozenset(some.tolist()) for some in kernels.minimal_transversals(family, n)]
        assert len(found) == len(known)
        assert set(found) == known


def test_bits_that_have_no_room_are_refused() -> None:
    """The neighbours of the concept of all objects took all memory there is."""
    n = 60_000
    diagonal = np.arange(n + 1), np.arange(n), n
    said = r"as bits, would take 429 MiB|each attribute would take 429 MiB"
    for call in (kernels.find_concepts, kernels.find_implications):
        with room(1 << 28), pytest.raises(kernels.CapacityError, match=said):
            call(*diagonal)


WIDE = """
from pathlib import Path
import numpy as np
from bicliq import kernels
def peak():
    told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(told["VmHWM"].split()[0]) // 1024
n = 40_000
kernels.find_implications([0, 1], [0], 1)
before = peak()
kernels.find_implications([0, n], np.arange(n), n)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of the memory")
def test_a_basis_takes_memory_for_the_depths_that_it_reaches():
    """A set of each depth that there might be took 200 MB at once, and no interrupt was heard
    meanwhile."""
    done = subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < 50
