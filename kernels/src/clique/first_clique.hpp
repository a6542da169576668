// first_clique.hpp: a large clique by greed and swaps, before a search begins.
//
// What: from the densest cores outwards, the neighbourhoods of a few roots, until the core that is
// left is small and dense; then that core. In each the vertex with most neighbours among those left
// is taken, again and again, and where no colouring shows that this clique is a largest one, it is
// improved (`CliqueSwaps`). Of the places with one core number the first has all others that it
// is tied to behind it, the last almost none: so the first is the root.
//
// Cost: for n vertices and m edges of a neighbourhood, 3·n² + m steps and n²/8 bytes.
#pragma once

#include "clique/local_rows.hpp"

namespace bicliq {

// ---- A larger clique by adding, swapping and dropping vertices.
//
// What: `CliqueSwaps::improve` starts from a clique. A vertex that is tied to all members is added;
// where there is none, a vertex that is tied to all but one takes that one's place; where there is
// none of those, a member is dropped. What has left may not come back for some steps, so that the
// same cliques are not met again.
//
// Cost: a step is as long as the lists of non-neighbours of the vertices that come and go; it ends
// after n² without a larger clique. The choices are pseudo-random, the same in every run.
//
// Paper: Wu, Hao and Glover 2012 (multi-neighbourhood tabu search).

class CliqueSwaps {
 public:
  explicit CliqueSwaps(const LocalRows& graph)
      : graph_(graph), missing_(graph.n(), 0), place_(graph.n()), banned_until_(graph.n(), 0) {
    for (u32 v = 0; v < graph.n(); ++v) enter(kFree, v);
  }

  /// The largest clique met, until stopped().
  template <class Stopped>
  std::vector<u32> improve(const std::vector<u32>& clique, const Stopped& stopped) {
    for (u32 v : clique) add(v);
    std::vector<u32> best = clique;
    const u64 patience = std::min(u64{graph_.n()} * graph_.n(), kMostWork);
    for (work_ = 0; work_ < patience && best.size() < graph_.n() && !stopped(); ++step_) {
      step();
      if (list_[kMembers].size() <= best.size()) continue;
      best = list_[kMembers];
      work_ = 0;
    }
    return best;
  }

 private:
  enum List { kFree, kAllButOne, kMembers };  // tied to all members, to all but one
  static constexpr u32 kNone = ~0u, kBan = 7;
  static constexpr u64 kMostWork = u64{1} << 25;

  void step() {
    if (const u32 v = pick(kFree); v != kNone) return add(v);
    if (const u32 v = pick(kAllButOne); v != kNone) {
      const u32 ban = kBan + random(kAllButOne);
      drop(non_neighbour_of(v), ban);
      return add(v);
    }
    if (!list_[kMembers].empty()) drop(list_[kMembers][random(kMembers)], kBan);  // else all are banned, for a few steps
  }
  /// One of a list that is not banned, beginning anywhere.
  u32 pick(List list) {
    const std::vector<u32>& all = list_[list];
    const u32 n = static_cast<u32>(all.size()), from = random(list);
    work_ += 1;
    for (u32 i = 0; i < n; ++i)
      if (const u32 v = all[from + i < n ? from + i : from + i - n]; banned_until_[v] <= step_) return v;
    return kNone;
  }
  u32 non_neighbour_of(u32 v) {
    work_ += list_[kMembers].size();
    return *std::find_if(list_[kMembers].begin(), list_[kMembers].end(), [&](u32 u) { return !graph_.tied(u, v); });
  }
  /// Below the length of a list; 0 of an empty one.
  u32 random(List list) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<u32>((state_ >> 32) * list_[list].size() >> 32);
  }

  void add(u32 v) {
    leave(kFree, v);
    enter(kMembers, v);
    graph_.each_non_neighbour(v, [&](u32 u) {
      const u32 before = missing_[u]++;
      if (before <= kAllButOne) leave(static_cast<List>(before), u);
      if (before == kFree) enter(kAllButOne, u);
      ++work_;
    });
  }
  void drop(u32 v, u32 ban) {
    banned_until_[v] = step_ + ban;
    leave(kMembers, v);
    enter(kFree, v);
    graph_.each_non_neighbour(v, [&](u32 u) {
      const u32 now = --missing_[u];
      if (now == kFree) leave(kAllButOne, u);
      if (now <= kAllButOne) enter(static_cast<List>(now), u);
      ++work_;
    });
  }
  void enter(List list, u32 v) {
    place_[v] = static_cast<u32>(list_[list].size());
    list_[list].push_back(v);
  }
  void leave(List list, u32 v) {
    const u32 other = list_[list].back();
    list_[list][place_[v]] = other;
    place_[other] = place_[v];
    list_[list].pop_back();
  }

  const LocalRows& graph_;
  std::vector<u32> missing_;  // members that a vertex outside is not tied to
  std::vector<u32> place_;    // in its list
  std::vector<u32> banned_until_;
  std::vector<u32> list_[3];
  u32 step_ = 0;
  u64 work_ = 0;  // since the last larger clique
  u64 state_ = 0x9E3779B97F4A7C15;
};

/// Takes the vertex with most neighbours among those left, again and again; of several, the first.
inline std::vector<u32> grow_clique(const LocalRows& graph) {
  std::vector<u32> clique, left(graph.n()), degree(graph.n());
  std::iota(left.begin(), left.end(), 0u);
  for (u32 v : left) degree[v] = graph.degree(v);
  while (!left.empty()) {
    const u32 v = *std::max_element(left.begin(), left.end(), [&](u32 a, u32 b) { return degree[a] < degree[b]; });
    clique.push_back(v);
    usize kept = 0;
    for (u32 u : left)
      if (graph.tied(v, u))
        left[kept++] = u;
      else  // of v as well; all that are left lose it alike
        graph.each_neighbour(u, [&](u32 w) { --degree[w]; });
    left.resize(kept);
  }
  return clique;
}

/// Whether k independent sets, each the greedy one of what is left, hold all vertices: then no
/// clique is larger than k.
inline bool has_colours(const LocalRows& graph, u32 k) {
  std::vector<u64> left(graph.words(), 0), open;
  for (u32 v = 0; v < graph.n(); ++v) left[v / 64] |= u64{1} << v % 64;
  for (u32 c = 0; c < k; ++c) {
    open = left;
    for (u32 i = 0; i < graph.words(); ++i)
      while (open[i]) {
        const u32 v = 64 * i + static_cast<u32>(__builtin_ctzll(open[i]));
        left[i] &= ~(u64{1} << v % 64);
        open[i] &= left[i];
        for (u32 j = i; j < graph.words(); ++j) open[j] &= ~graph.row(v)[j];
      }
  }
  return std::all_of(left.begin(), left.end(), [](u64 word) { return word == 0; });
}

/// Calls keep(places) for each clique that is larger than `best` and those before it, until
/// stopped().
template <class Keep, class Stopped>
class FirstCliques {
 public:
  FirstCliques(const Cores& cores, u32 best, Keep keep, Stopped stopped)
      : cores_(cores), around_(cores), best_(best), keep_(std::move(keep)), stopped_(std::move(stopped)) {}

  void find() {
    u32 tried = 0;
    for (u32 root = cores_.n(); root > 0 && tried < kRoots && !stopped_() && !is_small_and_dense();) {
      root = cores_.first_of_core(cores_.number[root - 1]);
      if (cores_.number[root] < best_) return;
      std::vector<u32> found = around_.filter(root, best_ + 1);
      if (found.empty()) continue;
      ++tried;
      found.push_back(root);
      look_in(std::move(found));
    }
    if (!stopped_() && is_small_and_dense()) look_in(cores_.places_from(cores_.first_of_core(best_)));
  }

 private:
  static constexpr u32 kRoots = 16, kSmall = 16384;
  static constexpr double kDense = 0.1;

  /// The core that a larger clique lies in.
  bool is_small_and_dense() const {
    const u32 first = cores_.first_of_core(best_), n = cores_.n() - first;
    return n > best_ && n <= kSmall && cores_.density(first) >= kDense;
  }
  void look_in(std::vector<u32> places) {
    std::sort(places.begin(), places.end(), std::greater<u32>());
    const LocalRows graph(around_, places);
    std::vector<u32> clique = grow_clique(graph);
    if (!has_colours(graph, std::max(best_, static_cast<u32>(clique.size())))) clique = CliqueSwaps(graph).improve(clique, stopped_);
    if (clique.size() <= best_) return;
    best_ = static_cast<u32>(clique.size());
    for (u32& v : clique) v = places[v];
    keep_(std::move(clique));
  }

  const Cores& cores_;
  Neighbourhood around_;
  u32 best_;
  Keep keep_;
  Stopped stopped_;
};

}  // namespace bicliq
