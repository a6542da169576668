// first_clique.hpp: a large clique by greed and swaps, before a search begins.
//
// What: from the densest cores outwards, the neighbourhoods of a few roots, until the core that is
// left is small and dense; then that core. In each the vertex with most neighbours among those left
// is taken, again and again, and where no colouring shows that this clique is a largest one, it is
// improved (clique_swaps.hpp). Of the places with one core number the first has all others that it
// is tied to behind it, the last almost none: so the first is the root.
//
// Cost: for n vertices and m edges of a neighbourhood, 3·n² + m steps and n²/8 bytes.
#pragma once

#include "clique/clique_swaps.hpp"

namespace bicliq {

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
