// edge_finding.hpp: the maximal bicliques whose edges weigh most, and covers by them.
//
// What it finds: the k best; or, as a cover, k times the best one, after which its edges weigh
// nothing any more. With weights of 1 that is the biclique with most edges that are not covered
// yet; it is the greedy cover, each step of which is exact. A cover ends where nothing adds to it.
//
// Method: that of finding.hpp, with the bounds of edge_sink.hpp. No edge weighs more than the
// heaviest, so that what is worth much has many edges: once stars and greed have said what is
// wanted, the search goes from range to range of numbers of rows (row_ranges.hpp).
//
// A cover is searched in the whole graph, round by round. Positive weights only fall while a
// cover grows, so that what bounds a root in one round bounds it in all later ones: the root is not
// opened again before the answer has come down to its bound (lazy evaluation). Of each round a new
// bound a root is known as well, the positive weights of its rows from the root on.
//
// Cost: O(edges) a round, for greed and bounds, and the nodes whose bound reaches the answer.
//
// Papers: Minoux 1978 (lazy evaluation of greedy steps); Nemhauser, Wolsey and Fisher 1978 (a
// greedy cover of k sets holds at least 1 − 1/e of what the best k do).
#pragma once

#include "best/best_search.hpp"
#include "best/edge_sink.hpp"

namespace bicliq::best {

class EdgeFinding : public BestSearch<EdgeFinding, EdgeSink> {
 public:
  /// `weights` are those of the request's rows, edge by edge, which the caller keeps.
  EdgeFinding(const FindRequest& request, const i64* weights, bool cover)
      : BestSearch(request, request.least, cover ? 1 : request.k), given_(weights), cover_(cover) {
    begin();
  }
  ~EdgeFinding() { end(); }

  /// Of a cover, the groups that stand, without the first `known`; else the best so far.
  std::vector<Answer> so_far(usize known) const {
    if (!cover_) return best_.first();
    const std::lock_guard<std::mutex> lock(mutex_);
    return {answers_.begin() + static_cast<std::ptrdiff_t>(std::min(known, answers_.size())), answers_.end()};
  }

  // ---- once it has ended ------------------------------------------------------------------------

  const std::vector<Answer>& answers() const { return cover_ ? answers_ : best_.answers(); }
  i64 value(const Answer& answer) const { return answer.value; }

 private:
  friend BestSearch;
  static constexpr u64 kGreedyEdges = 1 << 20;  // of greed, besides two looks at every edge: 2 ms
  /// Climbs in a row that find nothing better, and greed is over; a step of a cover is worth more.
  usize most_fruitless() const { return cover_ ? stage_.order.size() : 4; }

  void run() {
    std::unique_ptr<CoreParts> cores;
    {
      const Stopwatch watch(prepare_seconds_);
      cores = std::make_unique<CoreParts>(request_.rows, request_.n_right, checker());
      if (cover_) open_stage(part_of(*cores, request_.sizes), request_.sizes);
    }
    const Stopwatch watch(search_seconds_);
    cover_ ? find_cover() : find_best(*cores);
  }

  // ---- a cover ----------------------------------------------------------------------------------

  void find_cover() {
    for (;;) {
      climb();
      if (weights_.largest() > 1) climb_far(best_);  // where edges are only counted, hubs are where to begin
      search();
      if (crew_.stopped() || best_.answers().empty()) return;  // a step is exact, or none
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        answers_.push_back(best_.answers().front());
      }
      if (answers_.size() == request_.k) return;
      cover(answers_.back());
      best_.clear();
      lower_bounds();
    }
  }
  /// The answer's edges weigh nothing any more.
  void cover(const Answer& answer) {
    const Numbers& numbers = stage_.numbers;
    const Ids &rows = numbers.columns_are_left ? answer.right : answer.left, &columns = numbers.columns_are_left ? answer.left : answer.right;
    std::vector<u32> own;
    for (u32 r = 0; r < stage_.graph.n_rows; ++r)
      if (span_of(rows).has(static_cast<i32>(numbers.of_row[r]))) own.push_back(r);
    weights_.cover(own, [&](u32 c) { return span_of(columns).has(static_cast<i32>(numbers.of_column[c])); });
  }

  // ---- the best ---------------------------------------------------------------------------------

  void find_best(CoreParts& cores) {
    offer_stars(cores);
    if (best_.least() == INT64_MIN && open_range(cores, sides(cores).had(request_.sizes))) climb_far(best_);
    const i64 *last = given_ + request_.rows.n_edges(), heaviest = given_ == last ? 0 : *std::max_element(given_, last);
    const auto needed = [&](u32, u32 rows) {
      const i64 least = best_.least(), edges = least > 0 && heaviest > 0 ? (least - 1) / heaviest + 1 : 0;
      return static_cast<u32>(std::clamp<i64>((edges + rows - 1) / rows, request_.sizes.min_columns, ~0u));
    };
    const auto open = [&](const Sizes& sizes) { return open_range(cores, sizes); };
    search_by_rows(sides(cores), request_.sizes, best_, needed, open, [this] { search(); });
  }
  void offer_stars(const CoreParts& cores) {
    const Rows& rows = request_.rows;
    std::vector<i64> of_left(rows.n, 0), of_right(request_.n_right, 0);
    for (usize u = 0; u < rows.n; ++u)
      for (std::int64_t e = rows.start[u]; e < rows.start[u + 1]; ++e) {
        of_left[u] += given_[e];
        of_right[static_cast<u32>(rows.row[e])] += given_[e];
      }
    offer_stars_of(cores, of_left, of_right, [&](const Ids& left, const Ids& right) {
      i64 sum = 0;
      for (std::int32_t u : left)
        for (std::int32_t v : right) sum += given_[std::lower_bound(rows[u].begin(), rows[u].end(), v) - rows.row];
      return sum;
    });
  }

  // ---- both -------------------------------------------------------------------------------------

  void open_stage(const CorePart& part, const Sizes& sizes) {
    open_part(part, sizes, !cover_ && sizes.max_rows / 2 < sizes.min_columns);  // answers have fewer of them: branched on
    Stage& s = stage_;
    weights_ = EdgeWeights(part, s.graph, s.numbers.columns_are_left, request_.rows, given_);
    Scores edges;
    edges.sizes = s.sizes;
    s.bounds = RootBounds(GraphLists{s.graph}, edges).all(checker());  // in edges
    for (i64& bound : s.bounds)
      if (bound != INT64_MIN) bound = capped_product(static_cast<u64>(bound), weights_.largest());
    lower_bounds();
  }
  /// A root's bicliques have no edges but those of its rows to columns from the root on.
  void lower_bounds() {
    const Graph& graph = stage_.graph;
    std::vector<i64> left(graph.n_rows, 0);
    std::vector<u32> at(graph.n_rows, 0);
    for (u32 r = 0; r < graph.n_rows; ++r)
      for (const auto& edge : weights_.row(r)) left[r] += std::max<i64>(edge.second, 0);
    each_vertex(graph.n_columns, checker(), [&](u32 v) {
      i64 sum = 0;
      for (u64 e = graph.column_start[v]; e < graph.column_start[v + 1]; ++e) {
        const u32 r = graph.column_rows[e];
        if (__builtin_add_overflow(sum, left[r], &sum)) sum = INT64_MAX;
        const EdgeWeights::Row row = weights_.row(r);
        if (at[r] < row.size() && row[at[r]].first == v) left[r] -= std::max<i64>(row[at[r]++].second, 0);
      }
      stage_.bounds[v] = std::min(stage_.bounds[v], sum);
    });
    choose_roots();
  }
  static constexpr bool choices_cost() { return false; }
  EdgeSink sink(BestList& best) const { return {stage_.sizes, weights_, stage_.numbers, stage_.most_rows, best}; }

  const i64* const given_;
  const bool cover_;
  EdgeWeights weights_;  // of the stage
  std::vector<Answer> answers_;
};

}  // namespace bicliq::best
