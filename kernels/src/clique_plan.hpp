// clique_plan.hpp: what a host does before a device searches for a maximum clique.
//
// What: core numbers and order (cores.hpp), a first clique by greed from the densest cores, and the choice of what is
// searched: the whole core that is left as one local graph, or the neighbourhoods of roots. The one graph is
// ordered here, by repeated removal of a vertex with the fewest neighbours left, and written as rows of strangers; for
// roots, later neighbours are put in ascending order.
//
// Cost: linear in the edges, and n² for a whole graph of n vertices.
#pragma once

#include "cores.hpp"

#include <chrono>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The adjacency of a local graph, as wide as it needs to be.
class LocalRows {
 public:
  LocalRows(Neighbourhood& around, const std::vector<u32>& places)
      : n_(static_cast<u32>(places.size())), words_((n_ + 63) / 64), bits_(usize{n_} * words_, 0) {
    around.each_edge(places, [&](u32 i, u32 j) {
      row(i)[j / 64] |= u64{1} << j % 64;
      row(j)[i / 64] |= u64{1} << i % 64;
    });
  }
  u32 n() const { return n_; }
  u32 words() const { return words_; }
  u64* row(u32 v) { return bits_.data() + usize{v} * words_; }
  template <class F>
  void each_neighbour(u32 v, F f) {
    for (u32 i = 0; i < words_; ++i)
      for (u64 word = row(v)[i]; word; word &= word - 1) f(64 * i + static_cast<u32>(__builtin_ctzll(word)));
  }

 private:
  const u32 n_, words_;
  std::vector<u64> bits_;
};

class CliquePlan {
 public:
  CliquePlan(Adjacency graph, u32 lower_bound) : best(lower_bound) {
    order_seconds = timed([&] { cores = find_cores(graph); });
    heuristic_seconds = timed([&] {
      if (graph.n && lower_bound == 0) keep({cores.n() - 1});
      start_greedily();
    });
    order_seconds += timed([&] { choose(); });
  }

  Cores cores;
  u32 best, first_root = 0;      // size of the best clique known; the first place that may be in a larger one
  std::vector<u32> members;      // its places; empty where nothing beats the lower bound
  std::vector<u32> whole, rows;  // places of the one graph in its order, and its strangers; empty where roots are searched
  u32 stride = 0;                // words of a row
  double order_seconds = 0, heuristic_seconds = 0;

 private:
  static constexpr u32 kGreedyRoots = 16, kMostWhole = 8192;
  static constexpr double kDense = 0.1;

  template <class F>
  static double timed(F f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void choose() {
    first_root = cores.first_of_core(best);
    const u32 left = cores.n() - first_root;
    if (left <= best) return;
    if (is_one_graph(left))
      order_whole(left);
    else
      sort_later();
  }

  void keep(std::vector<u32> clique) {
    best = static_cast<u32>(clique.size());
    members = std::move(clique);
  }

  /// From the densest cores outwards, a few roots, each of another core number after the first.
  void start_greedily() {
    Neighbourhood around(cores);
    u32 tried = 0, last_core = ~0u;
    for (u32 p = cores.n(); p-- > 0 && tried < kGreedyRoots && cores.number[p] >= best;) {
      if (cores.number[p] == last_core && tried > 4) continue;
      const std::vector<u32> found = around.filter(p, best + 1);
      if (found.empty()) continue;
      ++tried;
      last_core = cores.number[p];
      grow(around, p, found);
    }
  }
  /// Takes the candidate with most neighbours among the candidates, again and again.
  void grow(Neighbourhood& around, u32 root, const std::vector<u32>& found) {
    LocalRows rows_of(around, found);
    std::vector<u64> left(rows_of.words(), 0);
    std::vector<u32> clique = {root};
    for (u32 v = 0; v < rows_of.n(); ++v) left[v / 64] |= u64{1} << v % 64;
    for (;;) {
      u32 chosen = ~0u, most = 0;
      for (u32 v = 0; v < rows_of.n(); ++v) {
        if (!(left[v / 64] >> v % 64 & 1)) continue;
        u32 n = 1;
        for (u32 i = 0; i < rows_of.words(); ++i) n += static_cast<u32>(__builtin_popcountll(left[i] & rows_of.row(v)[i]));
        if (n > most) chosen = v, most = n;
      }
      if (chosen == ~0u) break;
      clique.push_back(found[chosen]);
      for (u32 i = 0; i < rows_of.words(); ++i) left[i] &= rows_of.row(chosen)[i];
    }
    if (clique.size() > best) keep(std::move(clique));
  }

  static u32 words_a_lane(u32 n) { return (n + 1023) / 1024; }
  /// One graph where the rest is dense, and its sets take no more words a lane than those of roots would.
  bool is_one_graph(u32 left) const {
    const double edges = static_cast<double>(cores.later.size() - cores.start[first_root]);
    return left <= kMostWhole && edges >= kDense * left * (left - 1) / 2 && words_a_lane(left) <= words_a_lane(cores.degeneracy);
  }
  /// Puts the later neighbours of the places that are left in order, as bisection needs them: transposed twice.
  void sort_later() {
    const u32 n = cores.n();
    std::vector<u64> begin(usize{n} + 1, 0), next;
    for (u64 e = cores.start[first_root]; e < cores.later.size(); ++e) ++begin[cores.later[e] + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<u32> earlier(begin[n]);
    next = begin;
    for (u32 p = first_root; p < n; ++p)
      for (u64 e = cores.start[p]; e < cores.start[p + 1]; ++e) earlier[next[cores.later[e]]++] = p;
    next.assign(cores.start.begin(), cores.start.end());
    for (u32 p = first_root; p < n; ++p)
      for (u64 e = begin[p]; e < begin[p + 1]; ++e) cores.later[next[earlier[e]]++] = p;
  }
  void order_whole(u32 left) {
    std::vector<u32> places(left);
    std::iota(places.begin(), places.end(), first_root);
    Neighbourhood around(cores);
    LocalRows near(around, places);
    const std::vector<u32> order = densest_first(near, places);
    std::vector<u32> rank(left);
    for (u32 i = 0; i < left; ++i) {
      rank[order[i]] = i;
      whole.push_back(places[order[i]]);
    }
    stride = ((left + 31) / 32 + 7) / 8 * 8;
    rows.assign(usize{left} * stride, 0);
    for (u32 i = 0; i < left; ++i) {
      u32* row = rows.data() + usize{i} * stride;
      for (u32 j = 0; j < left; ++j)
        if (j != i) row[j / 32] |= 1u << j % 32;
      near.each_neighbour(order[i], [&](u32 v) { row[rank[v] / 32] &= ~(1u << rank[v] % 32); });
    }
  }
  /// By repeated removal of one with the fewest neighbours left (of several, that of the largest id), the last first.
  std::vector<u32> densest_first(LocalRows& near, const std::vector<u32>& places) const {
    const u32 n = near.n();
    std::vector<u32> order(n), left(n), degree(n, 0);
    std::iota(left.begin(), left.end(), 0u);
    std::sort(left.begin(), left.end(), [&](u32 a, u32 b) { return cores.id[places[a]] > cores.id[places[b]]; });
    for (u32 v = 0; v < n; ++v) near.each_neighbour(v, [&](u32) { ++degree[v]; });
    for (u32 i = n; i-- > 0;) {
      const auto least = std::min_element(left.begin(), left.end(), [&](u32 a, u32 b) { return degree[a] < degree[b]; });
      order[i] = *least;
      left.erase(least);
      near.each_neighbour(order[i], [&](u32 u) { --degree[u]; });
    }
    return order;
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
