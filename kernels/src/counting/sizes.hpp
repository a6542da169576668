// sizes.hpp: what is asked of a pivot search, and what a part of it has, in numbers of vertices; a
// node of a count.
//
// Sides are 0 (roots) and 1 (rows).
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Sizes that are asked for, of the root side and of the row side; both least sizes are 2 or more.
struct SizeRange {
  u32 least[2], most[2];
};

/// Numbers of held and of optional vertices of each side.
struct Held {
  u32 held[2], optional[2];
  u32 sure(u32 a) const { return held[a] + optional[a]; }
  Held with_held(u32 a) const {
    Held out = *this;
    ++out.held[a];
    return out;
  }
  Held with_optional(u32 a, u32 n) const {
    Held out = *this;
    out.optional[a] += n;
    return out;
  }
  /// How many more of a side are needed to come to `least`.
  u32 wanted(u32 a, const u32* least) const { return least[a] > sure(a) ? least[a] - sure(a) : 0; }
};

// ---- in the memory of a device

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
