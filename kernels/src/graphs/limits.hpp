// limits.hpp: which bicliques are wanted, in terms of the searched (row, column) sides.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// The least sizes.
struct Limits {
  u32 min_rows = 1, min_columns = 1;
  u64 min_edges = 1;

  bool accepts(u64 n_rows, u64 n_columns) const { return n_rows >= min_rows && reached(n_rows, n_columns); }
  /// The same of rows that are enough.
  bool reached(u64 n_rows, u64 n_columns) const { return n_columns >= min_columns && n_rows * n_columns >= min_edges; }
};

/// And the largest ones.
struct Sizes : Limits {
  u32 max_rows = ~0u, max_columns = ~0u;

  bool accepts(u64 rows, u64 columns) const { return Limits::accepts(rows, columns) && rows <= max_rows && columns <= max_columns; }
  bool operator==(const Sizes& o) const {
    return min_rows == o.min_rows && min_columns == o.min_columns && min_edges == o.min_edges && max_rows == o.max_rows &&
           max_columns == o.max_columns;
  }
  /// The same with rows and columns exchanged.
  Sizes turned() const { return {{min_columns, min_rows, min_edges}, max_columns, max_rows}; }
};

}  // namespace bicliq
