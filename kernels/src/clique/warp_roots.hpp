// warp_roots.hpp: the local graphs of roots for a clique search, built by groups of 32 lanes.
//
// What it finds: below a root lie its later neighbours in the degeneracy order. Of these, only such
// as have enough neighbours among the rest can be in a larger clique than the best known: the
// others are dropped until nothing changes. The non-neighbours of those that are left are written
// into the arena, the vertices of the densest core first.
//
// Input: a `CliqueLaunch` (clique_launch.hpp), later neighbours ascending.
//
// Cost: for each round of dropping, and for the rows, a pass over the later lists of the root's
// candidates, each entry sought among them by bisection. Memory: two words a candidate and group.
#pragma once

#include "clique/clique_launch.hpp"
#include "lanes/sorted_words.hpp"

namespace bicliq {

class RootRows {
 public:
  RootRows(const CliqueLaunch& run, u32 group)
      : run_(run),
        best_(read(&run.counters->best)),
        list_(run.scratch + run.scratch_words * group),
        degrees_(list_ + run.scratch_words / 2) {}

  void build(u32 root) {
    const u64 first = run_.start[root];
    n_ = static_cast<u32>(run_.start[root + 1] - first);
    for (u32 i = 0; i < n_; i += kLanes) store(list_ + i, load(run_.later + first + i, rest_of(i)), rest_of(i));
    do {
      if (n_ < best_ || n_ == 0) return;
      count_degrees();
    } while (drop_few());
    write(root);
  }

 private:
  Flags rest_of(u32 i) const { return first_lanes(n_ - i); }

  void count_degrees() {
    for (u32 i = 0; i < n_; i += kLanes) store_fresh(degrees_ + i, splat(0), rest_of(i));
    settle();
    u32* const degrees = degrees_;
    each_edge([=](u32 i, u32 j) {
      count_one(degrees + i);
      count_one(degrees + j);
    });
  }
  /// Keeps the candidates with at least best - 1 neighbours among the others; says whether any was
  /// dropped.
  bool drop_few() {
    u32 kept = 0;
    for (u32 i = 0; i < n_; i += kLanes) {
      const Flags enough = load_fresh(degrees_ + i, rest_of(i)) + splat(1) >= splat(best_);
      kept += compact(list_ + kept, load(list_ + i, rest_of(i)), enough & rest_of(i));
    }
    const bool dropped = kept < n_;
    n_ = kept;
    return dropped;
  }
  /// f(i, j) for the edges among the candidates, i before j; each edge in one lane.
  template <class F>
  void each_edge(F f) const {
    for (u32 i = 0; i + 1 < n_; ++i) {
      const u64 from = run_.start[list_[i]];
      const u32 *others = run_.later + from, *list = list_;
      const u32 n = n_;
      each_item(static_cast<u32>(run_.start[list_[i] + 1] - from), [=](u32 e) {
        const u32 wanted = others[e], at = first_where(i + 1, n, [=](u32 place) { return list[place] >= wanted; });
        if (at < n && list[at] == wanted) f(i, at);
      });
    }
  }

  /// Writes the rows of non-neighbours: all ones first, then a bit less for each edge.
  void write(u32 root) const {
    const u32 n = n_, words = (n + 31) / 32, stride = (words + 7) / 8 * 8;
    const u64 size = (static_cast<u64>(n) * (stride + 1) + 7) / 8 * 8, at = fetch_add(&run_.counters->arena_used, size);
    if (at + size > run_.arena_words) {
      fetch_add(&run_.counters->arena_full, 1);
      return;
    }
    u32 *const rows = run_.arena + at, *const ids = rows + static_cast<u64>(n) * stride;
    for (u32 v = 0; v < n; ++v)
      for (u32 i = 0; i < words; i += kLanes)
        store_fresh(rows + static_cast<u64>(v) * stride + i, all_but(v, i), first_lanes(words - i));
    const u32* list = list_;
    each_item(n, [=](u32 i) { ids[i] = list[n - 1 - i]; });
    each_edge([=](u32 i, u32 j) {
      const u32 a = n - 1 - i, b = n - 1 - j;
      clear_bit(rows + static_cast<u64>(a) * stride, b);
      clear_bit(rows + static_cast<u64>(b) * stride, a);
    });
    CliqueTree* const tree = run_.trees + fetch_add(&run_.counters->n_trees, 1);
    each_item(1, [=](u32) { *tree = {at, n, stride, root, 0}; });
  }
  /// All vertices but v: 32 words from the i-th on.
  Lanes all_but(u32 v, u32 i) const {
    const Lanes word = lane_numbers() + splat(i);
    const Lanes whole = select(splat(n_ / 32) > word, splat(~0u), splat(0));
    const Lanes all = select(word == splat(n_ / 32), splat((1u << n_ % 32) - 1), whole);
    return select(word == splat(v / 32), all & splat(~(1u << v % 32)), all);
  }

  const CliqueLaunch& run_;
  const u32 best_;
  u32 *const list_, *const degrees_;
  u32 n_ = 0;
};

/// What a group does: takes roots from a counter until none is left.
inline void build_roots(const CliqueLaunch& run, u32 group) {
  RootRows rows(run, group);
  for (u64 i = fetch_add(&run.counters->next_root, 1); i < run.n_roots; i = fetch_add(&run.counters->next_root, 1)) {
    if (read(&run.counters->stop)) return;
    rows.build(run.roots[i]);
  }
}

}  // namespace bicliq
