// greedy.hpp: good bicliques before the search, so that it has something to beat from the start.
//
// From a root's rows and the columns that all of them have, the column that promises most joins
// again and again, and the rows without it leave. All on the way are maximal bicliques. Cost: the
// edges within two steps of the root for every step; a budget of such edges ends the whole.
//
// Roots with large bounds are hubs. Where vertices have terms, the best groups may be far from all
// hubs: fraud rings among popular items. So greed also looks one step from many roots
// (`climb_where_promising`), for a part of what it would take to open them all.
#pragma once

#include "best/best_sink.hpp"
#include "graphs/graph.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq::best {

template <class Sink>
class Greedy {
 public:
  Greedy(const Graph& graph, const Sizes& sizes, Sink& sink, u64 budget)
      : g_(graph), sizes_(sizes), sink_(sink), budget_(budget), counts_(graph.n_columns, 0), sums_(graph.n_columns, 0), joined_(graph.n_columns, false) {}

  bool has_budget() const { return spent_ < budget_; }
  u64 spent() const { return spent_; }

  /// What the columns promise that may join a root first, squared: large promises count; or what
  /// the best one promises.
  double look(u32 root, bool best_alone) {
    begin(root);
    const u32 best = count_columns();
    return !best_alone ? promised_ : best == kNone ? -kUnbounded : most_;
  }
  void climb(u32 root) {
    begin(root);
    while (!rows_.empty() && rows_.size() >= sizes_.min_rows && has_budget()) {
      const u32 best = count_columns();
      sink_.consider(rows_.data(), static_cast<u32>(rows_.size()), closed_.data(), static_cast<u32>(closed_.size()));
      if (best == kNone || !worth_going_on()) break;
      keep_rows_of(best);
    }
    for (u32 v : closed_) joined_[v] = true;
  }
  /// Did a climb end with this column?
  bool has_joined(u32 column) const { return joined_[column]; }

 private:
  static constexpr u32 kNone = ~0u;
  static constexpr double kUnbounded = 1e300;

  void begin(u32 root) {
    rows_.assign(g_.column_rows.begin() + static_cast<i64>(g_.column_start[root]),
                 g_.column_rows.begin() + static_cast<i64>(g_.column_start[root + 1]));
  }
  /// Sets `closed_` to the columns that all rows have; returns the one that is to join next.
  u32 count_columns() {
    touched_.clear();
    for (u32 u : rows_) {
      const i64 term = sink_.row_term(u);
      for (u64 e = g_.row_start[u]; e < g_.row_start[u + 1]; ++e)
        if (sums_[g_.row_columns[e]] += term; !counts_[g_.row_columns[e]]++) touched_.push_back(g_.row_columns[e]);
      spent_ += g_.row_degree(u);
    }
    const u32 n = static_cast<u32>(rows_.size());
    closed_.clear();
    for (u32 w : touched_)
      if (counts_[w] == n) closed_.push_back(w);
    sink_.weigh(rows_, closed_);
    columns_in_reach_ = 0;
    u32 best = kNone;
    promised_ = 0;
    for (u32 w : touched_) {
      const u32 count = std::exchange(counts_[w], 0);
      const i64 sum = std::exchange(sums_[w], 0);
      columns_in_reach_ += count >= sizes_.min_rows;
      if (count == n || count < sizes_.min_rows) continue;
      const double promise = sink_.promise(w, count, sum);
      if (promise > 0) promised_ += promise * promise;
      if (best == kNone || promise > most_ || (promise == most_ && w < best)) {
        best = w;
        most_ = promise;
      }
    }
    return best;
  }
  bool worth_going_on() const { return sink_.hopeful(rows_.size() - 1, columns_in_reach_); }
  void keep_rows_of(u32 column) {
    const auto* own = g_.column_rows.data();
    std::vector<u32> both;
    std::set_intersection(rows_.begin(), rows_.end(), own + g_.column_start[column], own + g_.column_start[column + 1],
                          std::back_inserter(both));
    rows_.swap(both);
  }

  const Graph& g_;
  const Sizes& sizes_;
  Sink& sink_;
  const u64 budget_;
  u64 spent_ = 0;
  u32 columns_in_reach_ = 0;
  double promised_ = 0, most_ = 0;  // what all promise, squared, and what the best one does
  std::vector<u32> counts_, touched_, rows_, closed_;
  std::vector<i64> sums_;  // of the terms of the rows that are counted
  std::vector<bool> joined_;
};

/// Climbs from the first of the roots, which are in an order of falling promise, until so many
/// climbs in a row have found nothing better. The budget are two looks at every edge, and so many
/// edges more. `check` may end it.
template <class Sink, class Check>
void climb_from_first(const Graph& graph, const Sizes& sizes, Sink& sink, const std::vector<u32>& roots, const std::vector<i64>& bounds,
                      const BestList& best, u64 more_edges, usize most_fruitless, const Check& check) {
  constexpr usize kRoots = 64;
  Greedy<Sink> greedy(graph, sizes, sink, 2 * graph.column_rows.size() + more_edges);
  usize fruitless = 0;
  for (usize i = 0; i < roots.size() && i < kRoots && fruitless < most_fruitless && greedy.has_budget(); ++i) {
    check();
    const i64 least = best.least();
    if (bounds[roots[i]] >= least) greedy.climb(roots[i]);
    fruitless = best.least() > least || least == INT64_MIN ? 0 : fruitless + 1;
  }
}

/// Climbs from those of the roots that promise most, each outside of what the others have reached;
/// `bounds` of less than `least` rule roots out. Where choices cost, the best column of a root says
/// what it promises, and all roots are looked at, the cheapest first, for `most_edges` edges.
/// Returns how many edges that took. `check` may end it.
template <class Sink, class Check>
u64 climb_where_promising(const Graph& graph, const Sizes& sizes, Sink& sink, std::vector<u32> roots,
                           const std::vector<i64>& bounds, i64 least, bool choices_cost, u64 most_edges, const Check& check) {
  const u64 share = choices_cost ? 1 : 24;  // of the edges that opening all of them would look at
  constexpr usize kClimbs = 64;
  roots.erase(std::remove_if(roots.begin(), roots.end(), [&](u32 v) { return bounds[v] < least; }), roots.end());
  std::vector<u64> cost(graph.n_columns, 0);
  u64 all = 0;
  for (u32 v : roots) {
    for (u64 e = graph.column_start[v]; e < graph.column_start[v + 1]; ++e) cost[v] += graph.row_degree(graph.column_rows[e]);
    all += cost[v];
  }
  std::sort(roots.begin(), roots.end(), [&](u32 a, u32 b) { return std::make_pair(cost[a], a) < std::make_pair(cost[b], b); });
  const u64 budget = std::min(all / share, most_edges);
  Greedy<Sink> looks(graph, sizes, sink, budget);
  std::vector<std::pair<double, u32>> promises;
  for (usize i = 0; i < roots.size() && looks.has_budget(); ++i) {
    if (i % 256 == 0) check();
    promises.push_back({-looks.look(roots[i], choices_cost), roots[i]});
  }
  std::sort(promises.begin(), promises.end());
  Greedy<Sink> greedy(graph, sizes, sink, budget);
  usize climbs = 0;
  for (usize i = 0; i < promises.size() && climbs < kClimbs && greedy.has_budget(); ++i) {
    if (greedy.has_joined(promises[i].second)) continue;
    check();
    greedy.climb(promises[i].second);
    ++climbs;
  }
  return looks.spent();
}

}  // namespace bicliq::best
