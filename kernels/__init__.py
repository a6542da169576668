"""Algorithms on bipartite graphs, arrays in and arrays out.

Maximal bicliques, the best of them, (p,q) counts, maximum cliques, itemsets, lattices.

In: a graph as the CSR matrix of its left side: `indptr` (int64, ``n_left + 1``) and `indices`
(int32, sorted and unique within a row). Out: arrays of vertices, or numbers. Nothing here knows
tables, files or clusters.
"""

from bicliq.kernels.arguments import number_of_threads
from bicliq.kernels.changes import Changes, ChangeSearch, unite_changes
from bicliq.kernels.clique import CliqueResult, maximum_clique, project_one_mode
from bicliq.kernels.contracts import (
    BicliqueBatch,
    CountResult,
    CountTable,
    DescribedRowGroup,
    EnumerationResult,
    Progress,
    SmallerBatch,
)
from bicliq.kernels.counting import check_table, choose_count, count_all_bicliques, count_bicliques
from bicliq.kernels.cpu import BicliqueStream, Stream
from bicliq.kernels.cuda.row_groups import DeviceRowGroups, encode_on_device
from bicliq.kernels.cuda.start import start_gpu
from bicliq.kernels.digest import biclique_hashes, set_digest
from bicliq.kernels.enumeration import (
    enumerate_maximal_bicliques,
    stream_maximal_bicliques,
    stream_row_groups,
    stream_smaller_sides,
)
from bicliq.kernels.errors import BackendError, BicliqError, CapacityError, TooManyError
from bicliq.kernels.estimate import BicliqueEstimate, estimate_bicliques, gpu_seconds
from bicliq.kernels.finding import FindProgress, FindResult, Group, gpu_cannot_find, top_bicliques
from bicliq.kernels.gaps import groups_with_gaps, missing_pairs
from bicliq.kernels.itemsets import ClosedSets, closed_itemsets
from bicliq.kernels.lattice import (
    ConceptLattice,
    Implications,
    find_concepts,
    find_implications,
    minimal_transversals,
)
from bicliq.kernels.laying_out import BicliqueLists, ChangedRows, LaidOutRows, RowChanges, RowPacking
from bicliq.kernels.machine import Backend, available_memory, available_threads, why_not
from bicliq.kernels.output import (
    RowGroup,
    RowGroupLayout,
    SideRestorer,
    check_bicliques,
    encode_bicliques,
    has_codec,
    read_columns,
)
from bicliq.kernels.rows import (
    change_rows,
    connect_rows,
    count_paths,
    cut_roots,
    find_edges,
    group_roots,
    peel_rows,
    rewire_rows,
    row_starts,
    transpose_rows,
)
from bicliq.kernels.sets import BicliqueSet, kept_rows, net_changes
from bicliq.kernels.side import choose_side, searches_roots_together
from bicliq.kernels.surprise import SurpriseTerms

__all__ = [
    "Backend",
    "BackendError",
    "BicliqError",
    "BicliqueBatch",
    "BicliqueEstimate",
    "BicliqueLists",
    "BicliqueSet",
    "BicliqueStream",
    "CapacityError",
    "ChangeSearch",
    "ChangedRows",
    "Changes",
    "CliqueResult",
    "ClosedSets",
    "ConceptLattice",
    "CountResult",
    "CountTable",
    "DescribedRowGroup",
    "DeviceRowGroups",
    "EnumerationResult",
    "FindProgress",
    "FindResult",
    "Group",
    "Implications",
    "LaidOutRows",
    "Progress",
    "RowChanges",
    "RowGroup",
    "RowGroupLayout",
    "RowPacking",
    "SideRestorer",
    "SmallerBatch",
    "Stream",
    "SurpriseTerms",
    "TooManyError",
    "available_memory",
    "available_threads",
    "biclique_hashes",
    "change_rows",
    "check_bicliques",
    "check_table",
    "choose_count",
    "choose_side",
    "closed_itemsets",
    "connect_rows",
    "count_all_bicliques",
    "count_bicliques",
    "count_paths",
    "cut_roots",
    "encode_bicliques",
    "encode_on_device",
    "enumerate_maximal_bicliques",
    "estimate_bicliques",
    "find_concepts",
    "find_edges",
    "find_implications",
    "gpu_cannot_find",
    "gpu_seconds",
    "group_roots",
    "groups_with_gaps",
    "has_codec",
    "kept_rows",
    "maximum_clique",
    "minimal_transversals",
    "missing_pairs",
    "net_changes",
    "number_of_threads",
    "peel_rows",
    "project_one_mode",
    "read_columns",
    "rewire_rows",
    "row_starts",
    "searches_roots_together",
    "set_digest",
    "start_gpu",
    "stream_maximal_bicliques",
    "stream_row_groups",
    "stream_smaller_sides",
    "top_bicliques",
    "transpose_rows",
    "unite_changes",
    "why_not",
]
