// warp_set.hpp: a set of at most 1,024·W vertices, held by a group of 32 lanes: W words a lane.
//
// Vertex v is bit v % 32 of word v / 32; word i is in lane i % 32, the (i / 32)-th of that lane. In
// memory a set is its words in order, and only as many as the graph needs (`Extent`): the lanes
// beyond hold zero.
#pragma once

#include "lanes/shared_words.hpp"

namespace bicliq {

#if defined(__CUDACC_RTC__)  // what is indexed by a known number stays in registers
#define BICLIQ_EACH_WORD _Pragma("unroll (W <= 8 ? W : 1)")
#else
#define BICLIQ_EACH_WORD
#endif

constexpr u32 kNoVertex = ~0u;

/// The number of the lowest set bit of each lane, where there is one; and that bit alone.
inline Lanes lowest_numbers(Lanes x) { return popcounts(without(x + splat(~0u), x)); }
inline Lanes lowest_bits(Lanes x) { return without(x, x + splat(~0u)); }

template <u32 W>
struct WarpSet {
  Lanes word[W];
};

/// How many words the sets of a graph have in memory.
struct Extent {
  u32 words = 0;
  /// The lanes whose s-th word is among them.
  Flags real(u32 s) const { return first_lanes(words > kLanes * s ? words - kLanes * s : 0); }
};

template <u32 W>
inline WarpSet<W> no_vertex() {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = splat(0);
  return out;
}
template <u32 W>
inline WarpSet<W> load_set(const u32* p, Extent extent) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = load(p + kLanes * s, extent.real(s));
  return out;
}
template <u32 W>
inline WarpSet<W> load_fresh_set(const u32* p, Extent extent) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = load_fresh(p + kLanes * s, extent.real(s));
  return out;
}
template <u32 W>
inline void store_set(u32* p, const WarpSet<W>& a, Extent extent) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) store(p + kLanes * s, a.word[s], extent.real(s));
}

template <u32 W>
inline WarpSet<W> operator&(const WarpSet<W>& a, const WarpSet<W>& b) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = a.word[s] & b.word[s];
  return out;
}
template <u32 W>
inline WarpSet<W> without(const WarpSet<W>& a, const WarpSet<W>& b) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = without(a.word[s], b.word[s]);
  return out;
}
template <u32 W>
inline bool any(const WarpSet<W>& a) {
  Lanes all = a.word[0];
  BICLIQ_EACH_WORD
  for (u32 s = 1; s < W; ++s) all = all | a.word[s];
  return ballot(nonzero(all)) != 0;
}
template <u32 W>
inline u32 count(const WarpSet<W>& a) {
  Lanes n = popcounts(a.word[0]);
  BICLIQ_EACH_WORD
  for (u32 s = 1; s < W; ++s) n = n + popcounts(a.word[s]);
  return sum(n);
}

/// The bit of v in the lane that holds it.
inline Lanes bit_of(u32 v) { return select(only_lane(v / 32 % kLanes), splat(1u << v % 32), splat(0)); }
template <u32 W>
inline void add(WarpSet<W>& a, u32 v) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) a.word[s] = a.word[s] | bit_of(v);
}
template <u32 W>
inline void remove(WarpSet<W>& a, u32 v) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) a.word[s] = without(a.word[s], bit_of(v));
}
template <u32 W>
inline bool has(const WarpSet<W>& a, u32 v) {
  u32 bits = 0;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) bits = lane(a.word[s], v / 32 % kLanes);
  return bits >> v % 32 & 1;
}
/// The largest vertex; kNoVertex of the empty set.
template <u32 W>
inline u32 last(const WarpSet<W>& a) {
  u32 found = kNoVertex;
  BICLIQ_EACH_WORD
  for (u32 s = W; s-- > 0;) {
    if (found != kNoVertex) continue;
    if (const u32 lanes = ballot(nonzero(a.word[s]))) {
      const u32 j = last_set(lanes);
      found = 32 * (kLanes * s + j) + last_set(lane(a.word[s], j));
    }
  }
  return found;
}
/// The vertices before n.
template <u32 W>
inline WarpSet<W> first_vertices(u32 n) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) {
    const u32 words = n / 32 > kLanes * s ? n / 32 - kLanes * s : 0;
    out.word[s] = select(first_lanes(words), splat(~0u), splat(0));
  }
  if (n % 32 == 0) return out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (n / 1024 == s) out.word[s] = select(only_lane(n / 32 % kLanes), splat((1u << n % 32) - 1), out.word[s]);
  return out;
}
/// f(v) for the members, ascending, until it returns false.
template <u32 W, class F>
inline void each_while(const WarpSet<W>& a, F f) {
  bool going = true;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    for (u32 lanes = ballot(nonzero(a.word[s])); lanes && going; lanes &= lanes - 1) {
      const u32 j = first_set(lanes);
      for (u32 word = lane(a.word[s], j); word && going; word &= word - 1)
        going = f(32 * (kLanes * s + j) + first_set(word));
    }
}

}  // namespace bicliq
