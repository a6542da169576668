// subtree.hpp: a node of the search with all that is needed to search below it.
//
// A root's builder makes one (roots.hpp on a CPU, device_roots.hpp on a GPU), and so does a worker
// that gives a part of its search to another. The arrays belong to whoever made the subtree; the
// worker that searches it may write to them.
#pragma once

#include "lanes/bitmatrix.hpp"

namespace bicliq {

/// Rows that were merged (merged_rows.hpp): a bit of a mask stands for some of them. What follows
/// `shifts` is there where a search wants to know who they are.
struct Merged {
  u32* shifts = nullptr;  // a bit of word k stands for 2^shifts[k] rows; null: none were merged
  u32* bits = nullptr;    // of each bit of the masks: its number among all that there were at first
  u32 n_rows = 0, n_bits = 0;
  u32* starts = nullptr;  // [n_bits]: where its rows begin in `places`
  u32* places = nullptr;  // [n_rows]: places in the list of rows
  u64* sums = nullptr;    // [n_bits]: what the sink adds up over them
};

/// R of a node: how many columns, the sum of their hashes and, where bicliques are written, their
/// numbers.
struct Members {
  u32* ids = nullptr;
  u32 n = 0;
  u64 hash = 0;
};

/// Words from one row of masks of several words to the next: a group of lanes may write 32 words at
/// the end of one.
inline u32 tall_stride(u32 n_columns) { return 32 * (words_for(n_columns) + 1); }

struct Subtree {
  u32 root = 0;
  bool wide = false;
  Members members;

  // The candidates that are to be tried: of a wide subtree those numbered `from` … `to` - 1, else
  // those before `to`. The others only take part in the closures of these.
  u32 from = 0, to = 0;

  // Not wide: a mask over the rows for every column. At most 32 rows: one word each, and rows names
  // the rows. More: several words each (tall_nodes.hpp).
  u32 *candidates = nullptr, *ids = nullptr, *excluded = nullptr, *rows = nullptr;
  u32 n_rows = 0, n_candidates = 0, n_excluded = 0, excluded_stride = 0;
  const Merged* merged = nullptr;  // where rows were merged

  // Wide: a bit matrix. If its columns are filled already, it is shared with others and only read.
  // If `rows` is set, the node has some of the matrix's rows: then `rows` is a bit set of these,
  // `candidates` one of its candidates, `excluded` one of the candidates that were tried before,
  // and `ids` holds the number of its rows that each candidate has.
  BitMatrix matrix;
};

}  // namespace bicliq
