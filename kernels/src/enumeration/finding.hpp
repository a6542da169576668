// finding.hpp: the best maximal bicliques of a graph, by branch and bound.
//
// What it finds: of all maximal bicliques of wanted sizes the k best of an objective
// (objective.hpp), ordered as best_list.hpp says; with k = 1 a maximum biclique.
//
// Method: degrees bound what each root can hold (root_bounds.hpp), and roots are searched from the
// largest bound down, so that the first root that cannot reach what is wanted ends the list. Greedy
// climbs from the first roots say what that is (greedy.hpp). The search below a root is the
// enumeration's (mbe.hpp), whose nodes are bounded by best_sink.hpp.
//
// Cost: O(edges) before the search, for graph, bounds and greed; the search visits the nodes whose
// bound reaches the k-th best. Memory: that of an enumeration, and the k answers.
//
// Papers: Lyu et al., VLDB 2020 (maximum bicliques at scale: bounds by degrees, pruning by an
// incumbent); Chen et al., SIGMOD 2025.
#pragma once

#include "enumeration/crew.hpp"
#include "enumeration/greedy.hpp"
#include "enumeration/root_bounds.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// What is searched: a CSR matrix of the left side, which the caller keeps, and terms a vertex.
struct FindRequest {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  u32 n_left, n_right;
  bool columns_are_left;
  std::vector<i64> left_terms, right_terms;  // of weight and surprise
  usize k;
  i64 least;  // what an answer must be worth, in units of the objective
  u32 threads;
};

class Finding {
 public:
  Finding(FindRequest request, Objective objective, const Sizes& sizes)
      : request_(std::move(request)), scores_{objective, sizes, {}, {}, 0},
        best_(request_.k, scores_.least(request_.least)) {
    crew_.begin([this] { run(); });
  }
  ~Finding() { end(); }
  Finding(const Finding&) = delete;
  Finding& operator=(const Finding&) = delete;

  /// Waits at most so long; true when the search has ended. Rethrows what ended it.
  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }

  // ---- once it has ended ------------------------------------------------------------------------

  const std::vector<Answer>& answers() const { return best_.answers(); }
  i64 value(const Answer& answer) const { return scores_.plain(answer.value); }
  /// Was everything searched, or ruled out?
  bool proven() const { return proven_; }
  u64 nodes() const { return nodes_; }
  u64 roots_opened() const { return roots_opened_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }

 private:
  static constexpr usize kGreedyRoots = 64;

  void run() {
    {
      const Stopwatch watch(prepare_seconds_);
      prepare_all();
    }
    const Stopwatch watch(search_seconds_);
    climb();
    crew_.search(request_.threads, order_.size(), [this](u32) { work(); });
    proven_ = !crew_.stopped();
  }
  void prepare_all() {
    FindRequest& r = request_;
    const auto check = [this] { crew_.check(); };
    graph_ = prepare(r.indptr, r.indices, r.n_left, r.n_right, r.columns_are_left, false, check);
    numbers_ = {graph_.vertex_of_column, r.columns_are_left};
    for (u32 v = 0; v < graph_.n_columns; ++v) most_rows_ = std::max(most_rows_, graph_.column_degree(v));
    if (!scores_.by_size()) {
      scores_.row_terms = r.columns_are_left ? r.right_terms : r.left_terms;
      const std::vector<i64>& terms = r.columns_are_left ? r.left_terms : r.right_terms;
      for (u32 v : graph_.vertex_of_column) scores_.column_terms.push_back(terms[v]);
      scores_.largest_pair = largest(scores_.row_terms) + largest(scores_.column_terms);
    }
    bounds_ = RootBounds(graph_, scores_).all(check);
    for (u32 v = 0; v < graph_.n_columns; ++v)
      if (bounds_[v] >= best_.least() && bounds_[v] != INT64_MIN) order_.push_back(v);
    std::sort(order_.begin(), order_.end(),
              [this](u32 a, u32 b) { return std::make_pair(bounds_[a], a) > std::make_pair(bounds_[b], b); });
  }
  static i64 largest(const std::vector<i64>& terms) {
    return terms.empty() ? 0 : *std::max_element(terms.begin(), terms.end());
  }
  void climb() {
    BestSink sink(scores_, numbers_, most_rows_, best_);
    Greedy greedy(graph_, scores_, sink, graph_.column_rows.size() / 2 + 1024);
    for (usize i = 0; i < order_.size() && i < kGreedyRoots && greedy.has_budget(); ++i) {
      crew_.check();
      if (bounds_[order_[i]] >= best_.least()) greedy.climb(order_[i]);
    }
  }
  void work();  // find_search.cpp

  FindRequest request_;
  Scores scores_;
  Graph graph_;
  Numbers numbers_;
  BestList best_;
  u32 most_rows_ = 0;
  std::vector<i64> bounds_;  // a column
  std::vector<u32> order_;   // roots that are left, the most promising first
  std::mutex mutex_;
  u64 nodes_ = 0, roots_opened_ = 0;
  bool proven_ = false;
  double prepare_seconds_ = 0, search_seconds_ = 0;
  Crew crew_;  // last: its threads use all that is above
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
