// trees.hpp: the narrow ends of a pivot search (pivot.hpp, pivot_waves.hpp), for a group of lanes,
// without recursion.
//
// What: below a node of at most 32 candidates a side, the leaves that make the number of bicliques
// of one (p,q), or of each.
//
// Input: a tree, `kTreeWords` words: sizes and optional vertices, held vertices of either side,
// candidates of the root side as masks over those of the other.
//
// Method: that of `Pivot::small`. A lane holds a candidate of each side; a node is two words and
// four small numbers. Its branches stand on a stack of five words a level, which lie in the lanes;
// a held vertex takes a candidate of each side with it (itself and the pivot), so 32 levels
// suffice. The last branch takes its node's place.
//
// Of all sizes, a leaf adds C(optional, k) to the cells (held, optional) of the root side at
// held + k of the other; the binomials of the root side are multiplied in once, at the end, by
// whoever adds the cells up. Single cells may be negative (differences of two leaves).
//
// Compiled for the host, where tests run it, and by NVRTC (trees.cu, pivots.cu).
#pragma once

#include "counting/sizes.hpp"
#include "lanes/lanes.hpp"

namespace bicliq {

constexpr u32 kTreeWords = 36, kTreeMasks = 4;  // words of a tree; where its masks begin
constexpr u32 kMostOptional = 64;               // that cells may have room for

/// Cells of all sums: [held of the root side][its optional ones][size of the other side].
struct CellShape {
  u32 most[2];   // sizes that are asked for, of the root side and of the other
  u32 optional;  // the largest number of optional vertices, at most kMostOptional

  constexpr u64 width() const { return most[1] + 1; }
  constexpr u64 row(u32 held, u32 n_optional) const {
    return (static_cast<u64>(held) * (optional + 1) + n_optional) * width();
  }
  constexpr u64 cells() const { return row(most[0] + 1, 0); }
};

/// Which candidates of a tree a leaf holds, and which it may have.
struct LeafSets {
  u32 held[2], optional[2];
};

/// `Leaves` has `add(held, negative)`: the sizes that these make, once more or once less. If it is
/// `kOfVertices`, it has `add(held, sets, negative)` instead.
template <class Leaves>
class TreeSearch {
 public:
  TreeSearch(const SizeRange& sizes, Leaves& leaves) : sizes_(sizes), leaves_(leaves) {}

  u64 nodes = 0;

  void search(const u32* tree) {
    const u32 of = tree[0];
    search(tree + kTreeMasks, of & 255, of >> 8 & 255, {{tree[1], tree[2]}, {of >> 16 & 255, of >> 24}});
  }
  /// A tree of n0 and n1 candidates; the masks are those of the root side.
  void search(const u32* masks, u32 n0, u32 n1, const Held& base) {
    base_ = base;
    masks_[0] = load(masks, first_lanes(n0));
    masks_[1] = column_masks_apart(masks, 1, n0);
    Node node;
    node.alive[0] = first_bits(n0);
    node.alive[1] = first_bits(n1);
    for (u32 a = 0; a < 2; ++a) node.held[a] = node.optional[a] = node.sets.held[a] = node.sets.optional[a] = 0;
    for (u32 depth = 0;;) {
      if (settle(node)) push(depth++, node);
      if (depth == 0) return;
      next_branch(depth, node);
    }
  }

 private:
  /// Held and optional vertices are counted from those of the tree on.
  struct Node {
    u32 alive[2], held[2], optional[2];
    u32 side, pivot, missing;  // of the pivot; its non-neighbours that are still to be held
    LeafSets sets;             // of vertices only
  };

  static u32 first_bits(u32 n) { return n < kLanes ? (1u << n) - 1 : ~0u; }
  u32 sure(const Node& n, u32 a) const { return base_.sure(a) + n.held[a] + n.optional[a]; }
  u32 wanted(const Node& n, u32 a) const { return sizes_.least[a] > sure(n, a) ? sizes_.least[a] - sure(n, a) : 0; }

  /// Settles what needs no branching; where something is left, chooses the pivot.
  bool settle(Node& n) {
    ++nodes;
    for (u32 a = 0; a < 2; ++a)
      if (base_.held[a] + n.held[a] == sizes_.most[a]) n.alive[a] = 0;
    for (u32 a = 0; a < 2; ++a) {
      const u32 others = n.alive[1 - a];
      const Lanes neighbours = popcounts(masks_[a] & splat(others));
      n.alive[a] &= ballot(neighbours >= splat(wanted(n, 1 - a)));
      const u32 optional = n.alive[a] & ballot(neighbours == splat(popcount(others)));
      n.alive[a] &= ~optional;
      n.optional[a] += popcount(optional);
      n.sets.optional[a] |= optional;
    }
    for (u32 a = 0; a < 2; ++a)
      if (sure(n, a) + popcount(n.alive[a]) < sizes_.least[a]) return false;
    for (u32 a = 0; a < 2; ++a)
      if (n.alive[0] && n.alive[1]) settle_isolated(n, a);
    if (n.alive[0] && n.alive[1]) {
      choose_pivot(n);
      return true;
    }
    add(n, n.alive[0], n.alive[1], false);
    return false;
  }
  /// Bicliques with a candidate that has no neighbour left: the difference of two leaves.
  void settle_isolated(Node& n, u32 a) {
    const u32 alone = n.alive[a] & ~ballot(meets(masks_[a], splat(n.alive[1 - a])));
    if (!alone) return;
    const u32 all = n.alive[a], others = all & ~alone;
    n.alive[a] = others;
    add(n, a ? 0 : all, a ? all : 0, false);
    add(n, a ? 0 : others, a ? others : 0, true);
  }
  void choose_pivot(Node& n) const {
    u32 best[2];
    for (u32 a = 0; a < 2; ++a) {
      const Lanes neighbours = popcounts(masks_[a] & splat(n.alive[1 - a]));
      best[a] = largest(select(flags(n.alive[a]), shift_left(neighbours, 5) | lane_numbers(), splat(0)));
    }
    n.side = popcount(n.alive[1]) - best[0] / 32 <= popcount(n.alive[0]) - best[1] / 32 ? 0 : 1;
    n.pivot = (n.side ? best[1] : best[0]) % 32;
    n.missing = (n.side ? n.alive[0] : n.alive[1]) & ~mask(n.side, n.pivot);
  }
  u32 mask(u32 a, u32 i) const { return a ? lane(masks_[1], i) : lane(masks_[0], i); }

  /// The next child of the node on top of the stack; the last takes its place.
  void next_branch(u32& depth, Node& n) {
    pop(depth - 1, n);
    if (!n.missing) {
      --depth;
      for (u32 a = 0; a < 2; ++a)  // with an index known at compile time these are registers
        if (a == n.side) {
          n.alive[a] &= ~(1u << n.pivot);
          ++n.optional[a];
          n.sets.optional[a] |= 1u << n.pivot;
        }
      return;
    }
    const u32 i = first_set(n.missing);
    n.missing &= n.missing - 1;
    for (u32 b = 0; b < 2; ++b) n.alive[b] &= b == n.side ? ~0u : ~(1u << i);
    push(depth - 1, n);
    const u32 neighbours = mask(1 - n.side, i);
    for (u32 a = 0; a < 2; ++a) {
      n.alive[a] &= a == n.side ? neighbours : ~0u;
      n.held[a] += a != n.side;
      n.sets.held[a] |= a == n.side ? 0u : 1u << i;
    }
  }
  void push(u32 depth, const Node& n) {
    stack_[0].put(depth, n.alive[0]);
    stack_[1].put(depth, n.alive[1]);
    stack_[2].put(depth, n.missing);
    stack_[3].put(depth, n.held[0] | n.held[1] << 8 | n.optional[0] << 16 | n.optional[1] << 24);
    stack_[4].put(depth, n.pivot | n.side << 5);
    if constexpr (Leaves::kOfVertices)
      for (u32 a = 0; a < 2; ++a) {
        stack_[5 + a].put(depth, n.sets.held[a]);
        stack_[7 + a].put(depth, n.sets.optional[a]);
      }
  }
  void pop(u32 depth, Node& n) const {
    n.alive[0] = stack_[0].get(depth);
    n.alive[1] = stack_[1].get(depth);
    n.missing = stack_[2].get(depth);
    const u32 sizes = stack_[3].get(depth), pivot = stack_[4].get(depth);
    for (u32 a = 0; a < 2; ++a) {
      n.held[a] = sizes >> (8 * a) & 255;
      n.optional[a] = sizes >> (16 + 8 * a) & 255;
    }
    n.pivot = pivot & 31;
    n.side = pivot >> 5;
    if constexpr (Leaves::kOfVertices)
      for (u32 a = 0; a < 2; ++a) {
        n.sets.held[a] = stack_[5 + a].get(depth);
        n.sets.optional[a] = stack_[7 + a].get(depth);
      }
  }
  /// A leaf with more optional vertices.
  void add(const Node& n, u32 more_roots, u32 more_rows, bool negative) {
    const Held s = {{base_.held[0] + n.held[0], base_.held[1] + n.held[1]},
                    {base_.optional[0] + n.optional[0] + popcount(more_roots),
                     base_.optional[1] + n.optional[1] + popcount(more_rows)}};
    if constexpr (Leaves::kOfVertices)
      leaves_.add(s, {{n.sets.held[0], n.sets.held[1]}, {n.sets.optional[0] | more_roots, n.sets.optional[1] | more_rows}},
                  negative);
    else
      leaves_.add(s, negative);
  }

  const SizeRange sizes_;
  Leaves& leaves_;
  Held base_ = {};
  Lanes masks_[2];
  LaneStack stack_[Leaves::kOfVertices ? 9 : 5];
};

}  // namespace bicliq
