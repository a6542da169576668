// leaf_sum.hpp: what the leaves of a pivot search on a device add up to, for one (p,q).
//
// A leaf stands for C(optional, p - held) · C(optional, q - held) bicliques. Terms have 128 bits
// and sums 192, so that differences of leaves may pass through large values. A term that does not
// fit raises a flag: every leaf that is added stands for bicliques of the graph, so the count does
// not fit either.
#pragma once

#include "counting/sizes.hpp"
#include "lanes/shared_words.hpp"
#include "counting/trees.hpp"

namespace bicliq {

struct Words128 {
  u64 low, high;
  constexpr bool fits() const { return (low & high) != ~0ull; }
};
constexpr Words128 kNoFit = {~0ull, ~0ull};  // no product of two binomials (count128.hpp)

#if defined(__CUDACC_RTC__)
__device__ inline u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
#else
inline u64 high_product(u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); }
#endif

/// a·b, or `kNoFit`.
inline Words128 product(Words128 a, Words128 b) {
  if (!a.fits() || !b.fits() || (a.high && b.high)) return kNoFit;
  const Words128 wide = a.high ? a : b;
  const u64 narrow = a.high ? b.low : a.low;
  if (high_product(wide.high, narrow)) return kNoFit;
  const u64 upper = wide.high * narrow, carry = high_product(wide.low, narrow);
  return upper + carry < upper ? kNoFit : Words128{wide.low * narrow, upper + carry};
}

/// C(n, k) of all n up to a largest one, for k from 0 on: low and high words, `kNoFit` from 2^128
/// on.
struct BinomialTable {
  const u64* words;
  u64 width;  // numbers n that it has
  Words128 operator()(u32 n, u32 k) const {
    const u64 at = 2 * (k * width + n);
    return {words[at], words[at + 1]};
  }
};

/// The sum of one group of lanes.
class LeafSum {
 public:
  static constexpr bool kOfVertices = false;
  LeafSum(const SizeRange& sizes, const BinomialTable& choose) : size_{sizes.least[0], sizes.least[1]}, choose_(choose) {}

  u64 low = 0, middle = 0, high = 0;  // in two's complement
  bool too_large = false;

  void add(const Held& s, bool negative) {
    if (s.sure(0) < size_[0] || s.sure(1) < size_[1]) return;
    const Words128 x = product(choose_(s.optional[0], size_[0] - s.held[0]), choose_(s.optional[1], size_[1] - s.held[1]));
    too_large |= !x.fits();
    if (negative)
      subtract(x);
    else
      add(x);
  }
  void add(const LeafSum& other) {
    too_large |= other.too_large;
    high += other.high;
    add(Words128{other.low, other.middle});
  }
  /// Adds the sum to three words of memory.
  void add_to(u64* total) const {
    LeafSum all = *this;
    all.high += read(total + 2);
    all.add(Words128{read(total), read(total + 1)});
    each_item(1, [&](u32) {
      total[0] = all.low;
      total[1] = all.middle;
      total[2] = all.high;
    });
  }

 private:
  void add(Words128 x) {
    low += x.low;
    const u64 carry = low < x.low, upper = middle + x.high;
    high += (upper < middle) + (upper + carry < carry);
    middle = upper + carry;
  }
  void subtract(Words128 x) {
    const u64 borrow = low < x.low, upper = middle - x.high;
    low -= x.low;
    high -= (middle < x.high) + (upper < borrow);
    middle = upper - borrow;
  }

  u32 size_[2];
  BinomialTable choose_;
};

// ---- What the leaves of a pivot search on a device add up to, for one (p,q), in all
// and for every vertex.
//
// A leaf of value C(o, i) · C(o', j) adds all of it to each vertex that it holds, and to each
// optional one the part with that vertex prescribed, C(o - 1, i - 1) · C(o', j), as `EachVertex` of
// pivot_sums.hpp has it. Below a tree, lane i keeps the sums of candidate i of either side; whoever
// was held or made optional above gets the tree's sums at its end, once.
//
// Sums of vertices have 128 bits and may pass through differences modulo 2^128; none exceeds the
// count of all, which is known exactly (leaf_sum.hpp) and must fit.

/// What a part of a search came to, and with one optional vertex of a side prescribed.
struct VertexShare {
  Words128 all = {0, 0}, of_optional[2] = {{0, 0}, {0, 0}};
};

inline Words128 plus(Words128 a, Words128 b) {
  const u64 low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low)};
}
inline Words128 minus(Words128 a) {
  const u64 low = 0 - a.low;
  return {low, 0 - a.high - (a.low != 0)};
}

/// A sum of 128 bits in every lane, as four words.
struct LaneSums {
  Lanes word[4] = {splat(0), splat(0), splat(0), splat(0)};
  void add(Flags where, Words128 x) {
    const u32 words[4] = {static_cast<u32>(x.low), static_cast<u32>(x.low >> 32), static_cast<u32>(x.high),
                          static_cast<u32>(x.high >> 32)};
    Lanes carry = splat(0);
    for (u32 k = 0; k < 4; ++k) {
      const Lanes own = select(where, splat(words[k]), splat(0)), sum = word[k] + own, next = sum + carry;
      carry = select((own > sum) | (carry > next), splat(1), splat(0));
      word[k] = next;
    }
  }
};

/// Adds to a sum of 128 bits that other groups add to as well; for a single lane.
inline void add_alone(u64* to, Words128 x) {
  const u64 before = add_alone(to, x.low), high = x.high + (before + x.low < before);
  if (high) add_alone(to + 1, high);
}

/// The sum of one group of lanes, below a node or a tree.
class VertexSum {
 public:
  static constexpr bool kOfVertices = true;
  VertexSum(const SizeRange& sizes, const BinomialTable& choose)
      : sum(sizes, choose), size_{sizes.least[0], sizes.least[1]}, choose_(choose) {}

  LeafSum sum;
  VertexShare share;      // of all leaves
  LaneSums candidate[2];  // of the candidates of a tree

  /// The share of one leaf, which is added to the sum.
  VertexShare leaf(const Held& s, bool negative) {
    sum.add(s, negative);
    VertexShare x;
    for (u32 a = 0; a < 2; ++a)
      if (s.sure(a) < size_[a]) return x;
    const Words128 ways[2] = {choose_(s.optional[0], size_[0] - s.held[0]), choose_(s.optional[1], size_[1] - s.held[1])};
    x.all = product(ways[0], ways[1]);
    for (u32 a = 0; a < 2; ++a)
      if (s.optional[a] && s.held[a] < size_[a])
        x.of_optional[a] = product(choose_(s.optional[a] - 1, size_[a] - s.held[a] - 1), ways[1 - a]);
    if (!negative) return x;
    return {minus(x.all), {minus(x.of_optional[0]), minus(x.of_optional[1])}};
  }
  void add(const Held& s, const LeafSets& sets, bool negative) {
    const VertexShare x = leaf(s, negative);
    share.all = plus(share.all, x.all);
    for (u32 a = 0; a < 2; ++a) {
      share.of_optional[a] = plus(share.of_optional[a], x.of_optional[a]);
      candidate[a].add(flags(sets.held[a]), x.all);
      candidate[a].add(flags(sets.optional[a]), x.of_optional[a]);
    }
  }

 private:
  u32 size_[2];
  BinomialTable choose_;
};

}  // namespace bicliq
