"""Concepts, cover edges and stability are those of their definitions, on small random contexts."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq import kernels
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
