// matrix_limit.hpp: the largest bit matrix that a search on a CPU begins with.
#pragma once

#include "lanes/bitmatrix.hpp"
#include "lanes/errors.hpp"

#include <string>

namespace bicliq {

/// Refuses the matrix of a root before any memory is taken for it.
inline void check_matrix(u32 root, u32 n_rows, u32 n_excluded, u32 n_candidates) {
  if (BitMatrix::can_search(n_rows, n_excluded, n_candidates)) return;
  throw CapacityError("the bit matrix of root " + std::to_string(root) + " has " + std::to_string(n_rows) + " rows and " +
                      std::to_string(usize{n_excluded} + n_candidates) + " columns, " +
                      std::to_string(BitMatrix::all_words(n_rows, n_excluded, n_candidates) >> 28) +
                      " GiB, and 16 are the most; search from the other side, or reduce the graph");
}

}  // namespace bicliq
