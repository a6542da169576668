// clique_plan.hpp: what a host does before a device searches for a maximum clique.
//
// What: core numbers and order (local_rows.hpp), a first clique (first_clique.hpp), and the
// choice of what is searched: the whole core that is left as one local graph, or the neighbourhoods
// of roots. The one graph is ordered here (search_order.hpp) and written as rows of non-neighbours,
// unless its colours show that no clique is larger; for roots, later neighbours are put in
// ascending order, and the colours behind each are counted.
//
// Cost: linear in the edges, and n² for a whole graph of n vertices.
#pragma once

#include "clique/first_clique.hpp"
#include "clique/search_order.hpp"
#include "graphs/csr.hpp"
#include "lanes/workers.hpp"

namespace bicliq {

class CliquePlan {
 public:
  /// `check` is called now and then, and may end it by an exception: then the best clique so far is
  /// known.
  template <class Check>
  void make(const Rows& graph, u32 lower_bound, const Check& check) {
    best = lower_bound;
    {
      const Stopwatch watch(order_seconds);
      cores = find_cores(graph, check);
    }
    {
      const Stopwatch watch(heuristic_seconds);
      if (graph.n && lower_bound == 0) keep({cores.n() - 1});
      FirstCliques(cores, best, [this](std::vector<u32> places) { keep(std::move(places)); }, [&check] { return check(), false; }).find();
    }
    const Stopwatch watch(order_seconds);
    choose(check);
    is_complete = true;
  }

  Cores cores;
  u32 best = 0, first_root = 0;      // size of the best clique known; the first place that may be in a larger one
  std::vector<u32> members;      // its places; empty where nothing beats the lower bound
  std::vector<u32> whole, rows;  // places of the one graph in its order, and its rows of non-neighbours; empty where roots are searched
  u32 stride = 0;                // words of a row
  std::vector<u32> behind;       // where roots are searched: the colours behind each place
  double order_seconds = 0, heuristic_seconds = 0;
  bool is_complete = false;

 private:
  static constexpr u32 kMostWhole = 8192;
  static constexpr double kDense = 0.1;

  template <class Check>
  void choose(const Check& check) {
    first_root = cores.first_of_core(best);
    const u32 left = cores.n() - first_root;
    if (left <= best) return;
    if (is_one_graph(left)) return order_whole(left, check);
    sort_later(check);
    behind = colours_behind(cores, first_root, check);
  }

  void keep(std::vector<u32> clique) {
    best = static_cast<u32>(clique.size());
    members = std::move(clique);
  }

  static u32 words_a_lane(u32 n) { return (n + 1023) / 1024; }
  /// One graph where the rest is dense, and its sets take no more words a lane than those of roots
  /// would.
  bool is_one_graph(u32 left) const {
    return left <= kMostWhole && cores.density(first_root) >= kDense && words_a_lane(left) <= words_a_lane(cores.degeneracy);
  }
  /// Puts the later neighbours of the places that are left in order, as bisection needs them:
  /// transposed twice, since to sort each row takes longer than all else here.
  template <class Check>
  void sort_later(const Check& check) {
    const u32 n = cores.n();
    const u64 first = cores.start[first_root];
    std::vector<u32> degree(n, 0);
    each_edge(cores.later.size() - first, check, [&](u64 e) { ++degree[cores.later[first + e]]; });
    const auto earlier = gathered<u64, u32>(n, [&](usize p) { return degree[p]; }, [&](const auto& tell) {
      each_vertex(n - first_root, check, [&](u32 v) {
        const u32 p = first_root + v;
        for (u64 e = cores.start[p]; e < cores.start[p + 1]; ++e) tell(cores.later[e], p);
      });
    });
    const auto later = gathered<u64, u32>(n, [&](usize p) { return p < first_root ? 0 : cores.start[p + 1] - cores.start[p]; }, [&](const auto& tell) {
      each_vertex(n, check, [&](u32 p) {
        for (u64 e = earlier.start[p]; e < earlier.start[p + 1]; ++e) tell(earlier.row[e], p);
      });
    });
    std::copy(later.row.begin(), later.row.end(), cores.later.begin() + static_cast<i64>(first));
  }
  template <class Check>
  void order_whole(u32 left, const Check& check) {
    std::vector<u32> places(left);
    std::iota(places.begin(), places.end(), first_root);
    Neighbourhood around(cores);
    LocalRows near(around, places);
    std::vector<u32> ids;
    for (u32 p : places) ids.push_back(cores.id[p]);
    const std::vector<u32> order = search_order(near, ids, best, check);
    if (order.empty()) {
      first_root = cores.n();
      return;
    }
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
};

}  // namespace bicliq
