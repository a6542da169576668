// lane_leaves.hpp: a leaf of many nodes, searched by 32 lanes that each walk a part of its tree by themselves.
//
// What: the children of a leaf's node (narrow_nodes.hpp: at most 32 candidates and 32 befores over at most 32 rows) and all below
// them; `visit(rows, joined, next)` is called for each biclique, by the lane that found it.
//
// Method: a group holds 32 nodes of the tree at once instead of one. The leaf lies in near memory twice: for each candidate the
// rows that it has, and for each row the candidates and befores that have it, so that one pass over the rows of a child says who
// covers it, who has two of its rows, and which candidates have a row besides. A lane that has come to its end takes the
// shallowest open level of another lane, or all but the first candidate of its only level.
//
// Cost: O(rows) of a lane a node, where a group that searches one node takes three ballots for it; lanes wait for the one with most rows.
#pragma once

#include "lanes.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// A node whose children are being tried, as a lane holds it: sets of candidates are words.
struct LaneNode {
  u32 rows, todo, others, tried, joined;  // `others` come later and are tried by another lane
};

struct LeafWords {
  struct Row {
    u32 candidates, befores;
  };
  u32 columns[kLanes];  // of each candidate, its rows
  Row rows[kLanes];
  LaneNode given[kLanes];

  void fill(Lanes candidates, Lanes befores) {
    store(columns, candidates);
#if defined(__CUDACC_RTC__)
    rows[lane_id()] = {transpose(candidates.v), transpose(befores.v)};
    __syncwarp();
#else
    for (u32 r = 0; r < kLanes; ++r) rows[r] = {ballot(meets(candidates, splat(1u << r))), ballot(meets(befores, splat(1u << r)))};
#endif
  }
};

/// What one lane does.
class LaneWalk {
 public:
  u32 nodes = 0, dropped = 0;

  bool idle() const { return at_.todo == 0; }
  bool can_give() const { return bottom_ < depth_ || (at_.todo & (at_.todo - 1)) != 0; }
  void take(const LaneNode& node) {
    at_ = node;
    bottom_ = depth_ = 0;
  }
  LaneNode give() {
    if (bottom_ < depth_) return open_[bottom_++];
    LaneNode rest = at_;
    const u32 first = at_.todo & (0u - at_.todo);
    rest.todo &= ~first;
    rest.tried |= first;
    at_.others |= rest.todo;
    at_.todo = first;
    return rest;
  }

  /// Tries the next candidate; `visit` says whether the child can lead to an answer.
  template <class Visit>
  void step(const LeafWords& leaf, Visit visit) {
    const u32 x = first_set(at_.todo), bit = 1u << x, rows = leaf.columns[x] & at_.rows;
    u32 full = ~0u, covers = ~0u, once = 0, twice = 0, escapes = 0;
    for (u32 left = rows; left; left &= left - 1) {
      const LeafWords::Row row = leaf.rows[first_set(left)];
      full &= row.candidates;
      covers &= row.befores;
      twice |= once & row.candidates;
      once |= row.candidates;
    }
    for (u32 left = at_.rows & ~rows; left; left &= left - 1) escapes |= leaf.rows[first_set(left)].candidates;
    const u32 after = (at_.todo | at_.others) & ~bit;
    at_.todo &= escapes & ~bit;  // inside N(x): done with
    at_.others &= escapes;
    ++nodes;
    if (covers | (full & at_.tried)) {
      ++dropped;
    } else {
      const LaneNode child = {rows, after & ~full & twice, 0, at_.tried, at_.joined | bit | (full & after)};
      at_.tried |= bit;
      if (visit(rows, child.joined, child.todo) && child.todo) {
        if (at_.todo) open_[depth_++] = at_;
        at_ = child;
      }
    }
    if (!at_.todo && bottom_ < depth_) at_ = open_[--depth_];
  }

 private:
  LaneNode at_ = {};
  u32 bottom_ = 0, depth_ = 0;
  LaneNode open_[kLanes];
};

/// The walks of a group: on a GPU each lane has its own, on a CPU they take turns.
struct Walks {
#if defined(__CUDACC_RTC__)
  LaneWalk own;
  template <class F>
  void each(F f) {
    f(own, lane_id());
    __syncwarp();
  }
  template <class F>
  u32 which(F f) {
    return ballot(Flags{f(own)});
  }
  template <class F>
  u32 total(F f) {
    return sum(Lanes{f(own)});
  }
#else
  LaneWalk lanes[kLanes];
  template <class F>
  void each(F f) {
    for (u32 i = 0; i < kLanes; ++i) f(lanes[i], i);
  }
  template <class F>
  u32 which(F f) {
    u32 bits = 0;
    for (u32 i = 0; i < kLanes; ++i) bits |= static_cast<u32>(f(lanes[i])) << i;
    return bits;
  }
  template <class F>
  u32 total(F f) {
    u32 all = 0;
    for (LaneWalk& lane : lanes) all += f(lane);
    return all;
  }
#endif

  /// As many of the idle lanes as can be served take a part from one that has more than a node.
  void share(u32 idle, LaneNode* slots) {
    const u32 givers = which([](const LaneWalk& walk) { return walk.can_give(); });
    const u32 n = popcount(givers) < popcount(idle) ? popcount(givers) : popcount(idle);
    each([=](LaneWalk& walk, u32 i) {
      const u32 place = popcount(givers & ((1u << i) - 1));
      if ((givers >> i & 1) && place < n) slots[place] = walk.give();
    });
    each([=](LaneWalk& walk, u32 i) {
      const u32 place = popcount(idle & ((1u << i) - 1));
      if ((idle >> i & 1) && place < n) walk.take(slots[place]);
    });
  }
};

struct LeafCount {
  u32 nodes, dropped, steps;
};

/// Searches a leaf to its end: `todo` are the candidates that are not done with, `rows` those that they have.
template <class Visit>
inline LeafCount walk_leaf(LeafWords& leaf, u32 todo, u32 rows, Visit visit) {
  Walks walks;
  walks.each([=](LaneWalk& walk, u32 i) {
    const u32 bit = 1u << i, before = todo & (bit - 1);
    if (todo & bit) walk.take({rows, bit, todo & ~bit & ~before, before, 0});
  });
  u32 steps = 0;
  for (;; ++steps) {
    const u32 idle = walks.which([](const LaneWalk& walk) { return walk.idle(); });
    if (idle == ~0u) break;
    if (idle) walks.share(idle, leaf.given);
    walks.each([&](LaneWalk& walk, u32) {
      if (!walk.idle()) walk.step(leaf, visit);
    });
  }
  return {walks.total([](const LaneWalk& walk) { return walk.nodes; }), walks.total([](const LaneWalk& walk) { return walk.dropped; }), steps};
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
