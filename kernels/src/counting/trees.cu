// trees.cu: the narrow ends of a pivot search on a GPU, a warp a tree (trees.hpp).
//
// What it finds: for every tree, its share of the cells that make the counts of all (p,q).
//
// Input: a `TreeRun`, written by kernels/cuda/table.py: trees that a search on the host gave away,
// binomials, and blocks of memory.
//
// Method: warps take trees from a counter. The warps of a block share a table of 64-bit cells in
// device memory, and add to it by atomic operations that return nothing. The host bounds the number
// of leaves between two looks at a table, so that no cell can wrap: then, and at the end of a
// launch, every cell is added to its 128-bit total, the low word first, and the carry into the high
// one. Additions commute, so neither their order nor launches that run side by side change a bit of
// the outcome.
//
// Cost: the nodes of the trees. Memory: a table of cells a block.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "counting/trees.hpp"

namespace bicliq {

constexpr u32 kTreeThreads = 256;

/// Everything the kernel is told; 64-bit fields only. kernels/cuda/table.py describes it again, for
/// the driver, which writes it; a program where the two differ does not compile.
struct TreeRun {
  const u32* trees;
  const u64* binomials;  // [n][k], n and k up to kMostOptional
  u64* tables;           // one a block
  u64* totals;           // low and high word of each cell
  u64 *next_tree, *nodes;
  u64 n_trees, leaves_a_flush, most_roots, most_rows, optional;
};

/// The cells that the warps of a block add to.
class BlockCells {
 public:
  static constexpr bool kOfVertices = false;
  BlockCells(const TreeRun& run, const CellShape& shape)
      : g_(run),
        shape_(shape),
        width_(static_cast<u32>(shape.width())),
        n_cells_(shape.cells()),
        table_(run.tables + blockIdx.x * shape.cells()) {}

  void add(const Held& s, bool negative) {
    const u64 row = shape_.row(s.held[0], s.optional[0]);
    const u32 first = s.held[1], n = s.optional[1];
    const u64* choose = g_.binomials + n * (kMostOptional + 1);
    for (u32 k = lane_id(); k <= n && first + k < width_; k += kLanes)
      atomicAdd(table_ + row + first + k, negative ? 0 - choose[k] : choose[k]);
    if (++leaves_ < g_.leaves_a_flush) return;
    flush(lane_id(), kLanes);
  }
  /// Moves every `step`-th cell of the table to its total.
  void flush(u32 from, u32 step) {
    leaves_ = 0;
    for (u64 i = from; i < n_cells_; i += step) {
      if (!__ldcg(table_ + i)) continue;  // most are never touched
      const u64 x = atomicExch(table_ + i, 0ull);
      const u64 before = atomicAdd(g_.totals + 2 * i, x),
                high = (static_cast<i64>(x) < 0 ? ~0ull : 0ull) + (before + x < before);
      if (high) atomicAdd(g_.totals + 2 * i + 1, high);
    }
  }

 private:
  const TreeRun& g_;
  const CellShape shape_;
  const u32 width_;
  const u64 n_cells_;
  u64* const table_;
  u64 leaves_ = 0;
};

extern "C" __global__ void __launch_bounds__(kTreeThreads) count_trees(const TreeRun* run) {
  const TreeRun g = *run;
  const u32 most[2] = {static_cast<u32>(g.most_roots), static_cast<u32>(g.most_rows)};
  BlockCells cells(g, {{most[0], most[1]}, static_cast<u32>(g.optional)});
  TreeSearch<BlockCells> search({{2, 2}, {most[0], most[1]}}, cells);
  for (;;) {
    u64 i = lane_id() == 0 ? atomicAdd(g.next_tree, 1ull) : 0;
    i = __shfl_sync(~0u, i, 0);
    if (i >= g.n_trees) break;
    search.search(g.trees + i * kTreeWords);
  }
  if (lane_id() == 0) atomicAdd(g.nodes, search.nodes);
  __syncthreads();
  cells.flush(threadIdx.x, blockDim.x);
}

}  // namespace bicliq
