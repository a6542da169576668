// limits.hpp: which bicliques are wanted, in terms of the searched (row, column) sides.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

struct Limits {
  u32 min_rows = 1, min_columns = 1;
  u64 min_edges = 1;

  bool accepts(u64 n_rows, u64 n_columns) const {
    return n_rows >= min_rows && n_columns >= min_columns && n_rows * n_columns >= min_edges;
  }
};

}  // namespace bicliq
