// leaf_order.hpp: the columns of a leaf by ascending ids, so that each of its bicliques selects
// from them instead of sorting its own.
//
// What it orders: members, which all of the bicliques have, and up to 32 lanes, of which each has
// some. Input: an id and a number of each; the numbers are what is written. 32 or fewer are ordered
// by counting for each how many are smaller, which takes no branch that depends on them. Cost:
// O(n) words of lanes for up to 32, else a sort.
#pragma once

#include "lanes/types.hpp"
#include "lanes/lanes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bicliq {

// ---- The bits of a word brought into another order, on a CPU.
//
// With AVX2 in four instructions, whatever the order: each place of the new word names a byte of
// the old one and a bit of it.

class BitOrder {
 public:
  /// All places are empty.
  void clear() {
    std::memset(byte_, kNone, sizeof byte_);
    std::memset(mask_, 1, sizeof mask_);
  }
  /// Bit `from` of a word comes to bit `to`.
  void set(u32 to, u32 from) {
    byte_[to] = static_cast<std::uint8_t>(from / 8);
    mask_[to] = static_cast<std::uint8_t>(1u << from % 8);
  }
  u32 operator()(u32 word) const {
#if defined(__AVX2__)
    const __m256i byte = _mm256_load_si256(reinterpret_cast<const __m256i*>(byte_));
    const __m256i mask = _mm256_load_si256(reinterpret_cast<const __m256i*>(mask_));
    const __m256i named = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), byte);
    return static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(named, mask), mask)));
#else
    u32 ordered = 0;
    for (u32 i = 0; i < 32; ++i)
      if (byte_[i] != kNone && word >> 8 * byte_[i] & mask_[i]) ordered |= 1u << i;
    return ordered;
#endif
  }

 private:
  static constexpr std::uint8_t kNone = 0x80;  // what makes a shuffle write zero
  alignas(32) std::uint8_t byte_[32];
  alignas(32) std::uint8_t mask_[32];
};

/// Of each of up to 32 different ids, how many are smaller: its place when they are sorted.
template <class F>
inline void each_place(const u32 (&ids)[kLanes], u32 n, F f) {
  const Lanes all = load(ids);
  const u32 real = ballot(first_lanes(n));
  for (u32 i = 0; i < n; ++i) f(i, popcount(ballot(splat(ids[i]) > all) & real));
}

/// Numbers of up to 32 vertices, as lists of ids and lists of places take them.
struct LeafNumbers {
  u32 wide[kLanes];
  std::uint16_t narrow[kLanes];
  void narrow_down() {
    for (u32 i = 0; i < kLanes; ++i) narrow[i] = static_cast<std::uint16_t>(wide[i]);
  }
};

class LeafOrder {
 public:
  /// `id(i)` and `number(i)` are asked of members, i < n_members, and then of lanes.
  template <class Id, class Number>
  void order(u32 n_members, u32 n_lanes, Id id, Number number) {
    const u32 n = n_members + n_lanes;
    begin_words((n + kLanes - 1) / kLanes);
    if (n <= kLanes)
      order_few(n_members, n, id, number);
    else
      order_many(n_members, n, id, number);
  }
  std::size_t n_words() const { return always_.size(); }
  /// Up to 32 of the numbers, by ascending ids, and which of them these are: all members, and the
  /// joined lanes.
  LeafNumbers& numbers(std::size_t word) { return numbers_[word]; }
  const LeafNumbers& numbers(std::size_t word) const { return numbers_[word]; }
  u32 selected(std::size_t word, u32 joined) const { return always_[word] | lanes_[word](joined); }

 private:
  void begin_words(std::size_t n) {
    if (numbers_.size() < n) numbers_.resize(2 * n);
    always_.assign(n, 0);
    lanes_.resize(n);
    for (BitOrder& lanes : lanes_) lanes.clear();
  }
  template <class Id, class Number>
  void order_few(u32 n_members, u32 n, Id id, Number number) {
    u32 ids[kLanes] = {}, always = 0;
    for (u32 i = 0; i < n; ++i) ids[i] = id(i);
    u32* const numbers = numbers_[0].wide;
    each_place(ids, n, [&](u32 i, u32 place) {
      numbers[place] = number(i);
      if (i < n_members)
        always |= 1u << place;
      else
        lanes_[0].set(place, i - n_members);
    });
    always_[0] = always;
  }
  template <class Id, class Number>
  void order_many(u32 n_members, u32 n, Id id, Number number) {
    for (u32 i = 0; i < n; ++i) order_.push_back(u64{id(i)} << 32 | i);
    std::sort(order_.begin(), order_.end());
    for (u32 k = 0; k < n; ++k) {
      const u32 from = static_cast<u32>(order_[k]), place = k % kLanes;
      numbers_[k / kLanes].wide[place] = number(from);
      if (from < n_members)
        always_[k / kLanes] |= 1u << place;
      else
        lanes_[k / kLanes].set(place, from - n_members);
    }
    order_.clear();
  }

  std::vector<LeafNumbers> numbers_;
  std::vector<u32> always_;      // of each word of a bit set over these: the members
  std::vector<BitOrder> lanes_;  // and where the lanes come in it
  std::vector<u64> order_;       // what is sorted: ids, each above a place
};

}  // namespace bicliq
