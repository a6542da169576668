// sizes.hpp: what is asked of a pivot search, and what a part of it has, in numbers of vertices.
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

}  // namespace bicliq
