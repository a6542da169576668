// limits.hpp: which bicliques are wanted, in terms of the searched (row, column) sides.
#pragma once

#include <cstdint>

namespace bicliq {

struct Limits {
  std::uint32_t min_rows = 1, min_columns = 1;
  std::uint64_t min_edges = 1;

  bool accepts(std::uint64_t n_rows, std::uint64_t n_columns) const {
    return n_rows >= min_rows && n_columns >= min_columns && n_rows * n_columns >= min_edges;
  }
};

}  // namespace bicliq
