// list_column.hpp: a column of lists as Arrow lays it out: where each begins, and the ids, or what
// stands for them.
#pragma once

#include "lanes/types.hpp"

#include <cstddef>
#include <vector>

namespace bicliq {

struct ListColumn {
  const i32 *offsets, *ids;
  const std::uint16_t* places = nullptr;      // instead of ids,
  const std::vector<i32>* entries = nullptr;  // among these
  i32 length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
  std::vector<i32> lengths(std::size_t n) const {
    std::vector<i32> found(n);
    for (std::size_t i = 0; i < n; ++i) found[i] = length(i);
    return found;
  }
};

}  // namespace bicliq
