// greedy.hpp: good bicliques before the search, so that it has something to beat from the start.
//
// From a root's rows and the columns that all of them have, the column that promises most joins
// again and again, and the rows without it leave. All on the way are maximal bicliques. Cost: the
// edges within two steps of the root for every step; a budget of such edges ends the whole.
#pragma once

#include "enumeration/best_sink.hpp"
#include "graphs/graph.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template <class Sink>
class Greedy {
 public:
  Greedy(const Graph& graph, const Sizes& sizes, Sink& sink, u64 budget)
      : g_(graph), sizes_(sizes), sink_(sink), budget_(budget), counts_(graph.n_columns, 0) {}

  bool has_budget() const { return spent_ < budget_; }

  void climb(u32 root) {
    rows_.assign(g_.column_rows.begin() + static_cast<i64>(g_.column_start[root]),
                 g_.column_rows.begin() + static_cast<i64>(g_.column_start[root + 1]));
    while (!rows_.empty() && rows_.size() >= sizes_.min_rows && has_budget()) {
      const u32 best = count_columns();
      sink_.consider(rows_.data(), static_cast<u32>(rows_.size()), closed_.data(), static_cast<u32>(closed_.size()));
      if (best == kNone || !worth_going_on()) return;
      keep_rows_of(best);
    }
  }

 private:
  static constexpr u32 kNone = ~0u;

  /// Sets `closed_` to the columns that all rows have; returns the one that is to join next.
  u32 count_columns() {
    touched_.clear();
    sink_.weigh(rows_);
    for (u32 u : rows_) {
      for (u64 e = g_.row_start[u]; e < g_.row_start[u + 1]; ++e)
        if (!counts_[g_.row_columns[e]]++) touched_.push_back(g_.row_columns[e]);
      spent_ += g_.row_degree(u);
    }
    const u32 n = static_cast<u32>(rows_.size());
    closed_.clear();
    columns_in_reach_ = 0;
    u32 best = kNone;
    double most = 0;
    for (u32 w : touched_) {
      const u32 count = std::exchange(counts_[w], 0);
      columns_in_reach_ += count >= sizes_.min_rows;
      if (count == n) {
        closed_.push_back(w);
        continue;
      }
      if (count < sizes_.min_rows) continue;
      const double promise = sink_.promise(w, count);
      if (best == kNone || promise > most || (promise == most && w < best)) {
        best = w;
        most = promise;
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
  std::vector<u32> counts_, touched_, rows_, closed_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
