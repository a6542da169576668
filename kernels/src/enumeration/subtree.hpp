// subtree.hpp: a part of the search that somebody has prepared: the builder of a root, or a worker that gives
// work away. It points to memory of its maker, and whoever searches it may write there.
#pragma once

#include "lanes/bitmatrix.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// R of a node: how many columns, the sum of their hashes and, where bicliques are written, their numbers.
struct Members {
  u32* ids = nullptr;
  u32 n = 0;
  u64 hash = 0;
};

struct Subtree {
  u32 root = 0;
  bool wide = false;
  Members members;

  // The candidates to be tried: of a wide subtree the numbers in this range, of a narrow one all before `to`. The
  // others are there for the closures of those.
  u32 from = 0, to = 0;

  // At most 32 rows: one mask a column over the rows. More, and not wide: masks of several words (tall_nodes.hpp).
  u32 *candidates = nullptr, *ids = nullptr, *befores = nullptr, *rows = nullptr;
  u32 n_rows = 0, n_candidates = 0, n_befores = 0, before_stride = 0;

  // Wide: a matrix (shared, and only read, where its columns are filled already). Where
  // `rows` is set, the node is below the matrix: rows and candidates are bit sets, ids counts of rows, befores a bit
  // set of candidates tried.
  BitMatrix matrix;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
