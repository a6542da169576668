// vertex_sum.hpp: what the leaves of a pivot search on a device add up to, for one (p,q), in all
// and for every vertex.
//
// A leaf of value C(o, i) · C(o', j) adds all of it to each vertex that it holds, and to each
// optional one the part with that vertex prescribed, C(o - 1, i - 1) · C(o', j), as `EachVertex` of
// pivot_sums.hpp has it. Below a tree, lane i keeps the sums of candidate i of either side; whoever
// was held or made optional above gets the tree's sums at its end, once.
//
// Sums of vertices have 128 bits and may pass through differences modulo 2^128; none exceeds the
// count of all, which is known exactly (leaf_sum.hpp) and must fit.
#pragma once

#include "counting/leaf_sum.hpp"
#include "counting/trees.hpp"
#include "lanes/shared_words.hpp"

namespace bicliq {

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
