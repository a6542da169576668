// count_node.hpp: a node of a count in the memory of a device: columns as masks over rows.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Columns as masks over rows, word by word; `need` of them are still to be chosen. In a grid for
/// pivots (pivot_waves.hpp) there are `need` rows, and the rows as masks over the columns follow.
struct CountNode {
  u64 masks;  // where they begin in the arena
  u32 n, stride, words, need;
};

/// Words from one word of the masks to the next, of n columns or rows.
constexpr u32 stride_of(u32 n) { return (n + 63) / 32 * 32; }
constexpr u32 words_of(u32 n) { return (n + 31) / 32; }

}  // namespace bicliq
