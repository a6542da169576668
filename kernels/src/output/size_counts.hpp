// size_counts.hpp: how many bicliques of a batch have so many vertices on a side, and the largest.
//
// Cost: O(bicliques + largest size).
#pragma once

#include "lanes/types.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace bicliq {

/// Sizes that occur, ascending, with the number of bicliques of each.
inline std::vector<std::pair<i32, u64>> count_sizes(const i32* sizes, std::size_t n) {
  std::vector<u32> counts;
  for (std::size_t i = 0; i < n; ++i) {
    const auto size = static_cast<std::size_t>(sizes[i]);
    if (size >= counts.size()) counts.resize(size + 1 + counts.size());  // never twice the ids that there are
    ++counts[size];
  }
  std::vector<std::pair<i32, u64>> found;
  for (std::size_t size = 0; size < counts.size(); ++size)
    if (counts[size]) found.emplace_back(static_cast<i32>(size), counts[size]);
  return found;
}

/// The sizes of the sides of the biclique with most edges; of several, of the one with most left
/// vertices.
inline std::pair<i32, i32> largest_of(const i32* n_left, const i32* n_right, std::size_t n) {
  std::pair<i32, i32> largest{0, 0};
  i64 most = -1;
  for (std::size_t i = 0; i < n; ++i) {
    const i32 l = n_left[i], r = n_right[i];
    const i64 edges = i64{l} * r;
    if (edges < most || (edges == most && l <= largest.first)) continue;
    most = edges;
    largest = {l, r};
  }
  return largest;
}

}  // namespace bicliq
