// host_lanes.hpp: a group of lanes on a CPU core: SIMD registers, and loops for what a warp does in
// parallel. Included by lanes.hpp, which says what each function does.
#pragma once

#include <algorithm>
#include <cstring>

namespace bicliq {

inline u32 popcount(u32 x) { return static_cast<u32>(__builtin_popcount(x)); }
/// Index of the lowest set bit of a word that is not zero.
inline u32 first_set(u32 x) { return static_cast<u32>(__builtin_ctz(x)); }

/// A predicate of every lane.
struct Flags {
  u32 bits;
};
inline Flags operator&(Flags a, Flags b) { return {a.bits & b.bits}; }
inline Flags operator|(Flags a, Flags b) { return {a.bits | b.bits}; }
inline Flags operator~(Flags a) { return {~a.bits}; }
/// The predicate as a uniform word: bit i is lane i.
inline u32 ballot(Flags a) { return a.bits; }
inline Flags flags(u32 bits) { return {bits}; }
/// True in the first n lanes (all of them where n is 32 or more).
inline Flags first_lanes(u32 n) { return {n >= kLanes ? ~0u : (1u << n) - 1}; }

}  // namespace bicliq

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VPOPCNTDQ__) && defined(__AVX512VBMI2__)
#include "lanes/avx512_lanes.hpp"
#else
#include "lanes/vector_lanes.hpp"
#endif

namespace bicliq {

/// A word of several groups of lanes, whose registers a branch for each would have to tell apart.
template <u32 K>
inline u32 lane(const Lanes (&a)[K], u32 i) {
  u32 x;
  std::memcpy(&x, reinterpret_cast<const char*>(a) + sizeof(u32) * i, sizeof(u32));
  return x;
}

struct LaneTerms {
  u64 own[kLanes] = {};
};
inline LaneTerms load_terms(const u64* table, Lanes ids, Flags f) {
  alignas(64) u32 places[kLanes];
  store(places, ids);
  LaneTerms terms;
  for (u32 bits = f.bits; bits; bits &= bits - 1) terms.own[first_set(bits)] = table[places[first_set(bits)]];
  return terms;
}
inline LaneTerms masked(const LaneTerms& a, Flags f) {
  LaneTerms kept;
  for (u32 bits = f.bits; bits; bits &= bits - 1) kept.own[first_set(bits)] = a.own[first_set(bits)];
  return kept;
}
inline u64 total(const LaneTerms& a) {
  u64 all = 0;
  for (u64 term : a.own) all += term;
  return all;
}
inline i64 largest(const LaneTerms& a, Flags f) {
  i64 most = kLeastTerm;
  for (u32 bits = f.bits; bits; bits &= bits - 1) most = std::max(most, static_cast<i64>(a.own[first_set(bits)]));
  return most;
}
inline void add_gains(LaneTerms& sum, const LaneTerms& a, u64 base, Flags f) {
  for (u32 bits = f.bits; bits; bits &= bits - 1)
    sum.own[first_set(bits)] += static_cast<u64>(std::max<i64>(static_cast<i64>(a.own[first_set(bits)] + base), 0));
}

/// One word a depth: the open levels of a leaf.
struct LaneStack {
  u32 words[kLanes];
  void put(u32 i, u32 x) { words[i] = x; }
  u32 get(u32 i) const { return words[i]; }
  void save(u32* to) const { each([=](u32 i) { to[i] = words[i]; }); }
  void restore(const u32* from) { each([=](u32 i) { words[i] = from[i]; }); }

 private:
  template <class F>
  static void each(F f) {
    for (u32 i = 0; i < kLanes; ++i) f(i);
  }
};
/// Stores of a device that need no barrier between them, until `settle`.
inline void write(u32* p, Lanes a) { store(p, a); }
inline void settle() {}
/// Words that lie `distance` apart, in the first n lanes.
inline Lanes load_apart(const u32* p, usize distance, u32 n) {
  alignas(64) u32 words[kLanes] = {};
  for (u32 i = 0; i < n; ++i) words[i] = p[i * distance];
  return load(words);
}
/// Writes one word for the whole group.
inline void put(u32* p, u32 x) { *p = x; }

/// f(i) for all i < n, in any order; f must not use the group.
template <class F>
inline void each_item(u32 n, F f) {
  for (u32 i = 0; i < n; ++i) f(i);
}

/// Copies n words between two pieces of memory.
inline void copy_piece(u32* to, const u32* from, u32 n) { std::copy(from, from + n, to); }

/// Writes the numbers of the set bits of word(0), word(1), … side by side; returns how many.
template <class F>
inline u32 list_bits(u32* to, u32 n_words, F word) {
  u32 n = 0;
  for (u32 k = 0; k < n_words; ++k)
    for (u32 bits = word(k); bits; bits &= bits - 1) to[n++] = 32 * k + first_set(bits);
  return n;
}

/// Writes the numbers i < n for which keep(i) holds side by side; returns how many.
template <class F>
inline u32 list_if(u32* to, u32 n, F keep) {
  u32 kept = 0;
  for (u32 i = 0; i < n; ++i)
    if (keep(i)) to[kept++] = i;
  return kept;
}

/// The words of some rows, 32 words at a time: what all of them have, what any has, what at least
/// two have.
struct RowFold {
  Lanes all, any, two;
};
/// Rows start at base[starts[i]], i < n; only the first n_words words (at most 32) are there.
inline RowFold fold_rows(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const Flags real = first_lanes(n_words);
  RowFold f = {splat(~0u), splat(0), splat(0)};
  for (u32 i = 0; i < n; ++i) {
    const Lanes bits = load(base + starts[i], real);
    f.two = f.two | (f.any & bits);
    f.any = f.any | bits;
    f.all = f.all & bits;
  }
  return f;
}
/// For 32 columns, one bit a row: how many of the set rows each has.
inline Lanes count_rows(const u32* words, usize distance, const u32* rows, u32 depth) {
  Lanes counts = splat(0);
  for (u32 k = 0; k < depth; ++k, words += distance)
    if (rows[k]) counts = counts + popcounts(load(words) & splat(rows[k]));
  return counts;
}

/// Has any column all of n >= 1 rows?
inline bool share_column(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const Flags real = first_lanes(n_words);
  Lanes all = load(base + starts[0], real);
  for (u32 i = 1; i < n; ++i) {
    all = all & load(base + starts[i], real);
    if (i % 8 == 7 && !ballot(nonzero(all))) return false;
  }
  return ballot(nonzero(all)) != 0;
}
/// column_masks of n rows that follow each other at a distance.
inline Lanes column_masks_apart(const u32* word, usize distance, u32 n) {
  Lanes masks = splat(0), bit = splat(1);
  for (u32 r = 0; r < n; ++r, word += distance, bit = bit + bit) masks = set_bits(masks, flags(*word), bit);
  return masks;
}

}  // namespace bicliq
