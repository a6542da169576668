// grid.hpp: who is a neighbour of whom among the candidates of both sides, as masks (pivot.hpp).
#pragma once

#include "lanes/lanes.hpp"

#include <cstddef>

namespace bicliq {

/// Candidates of one side as masks over those of the other, word-major, zeros behind the last.
struct GridSide {
  u32 n = 0, words = 0, stride = 0;
  const u32* masks = nullptr;
  const u32* ids = nullptr;
  u32 word(u32 k, u32 i) const { return masks[static_cast<std::size_t>(k) * stride + i]; }
};
struct Grid {
  GridSide side[2];
};

inline bool has_bit(const u32* bits, u32 i) { return bits[i / 32] >> (i % 32) & 1; }

template <class F>
inline void each_bit(u32 word, F f) {
  for (; word; word &= word - 1) f(first_set(word));
}
template <class F>
inline void each_bit(const u32* bits, u32 words, F f) {
  for (u32 k = 0; k < words; ++k) each_bit(bits[k], [&](u32 i) { f(32 * k + i); });
}

}  // namespace bicliq
