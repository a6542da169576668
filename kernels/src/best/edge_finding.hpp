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

#include "search/crew.hpp"
#include "best/edge_sink.hpp"
#include "best/greedy.hpp"
#include "best/root_bounds.hpp"
#include "best/row_ranges.hpp"
#include "best/stars.hpp"

#include <memory>
#include <optional>

namespace bicliq::best {

/// What is searched: a CSR matrix of the left side and its weights, which the caller keeps.
struct EdgeFindRequest {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  const i64* weights;
  u32 n_left, n_right;
  bool columns_are_left, cover;
  usize k;
  i64 least;  // what an answer must be worth
  Sizes sizes;
  u32 threads;
};

class EdgeFinding {
 public:
  explicit EdgeFinding(EdgeFindRequest request) : request_(std::move(request)) {
    crew_.begin([this] { run(); });
  }
  ~EdgeFinding() { end(); }
  EdgeFinding(const EdgeFinding&) = delete;
  EdgeFinding& operator=(const EdgeFinding&) = delete;

  /// Waits at most so long; true when the search has ended. Rethrows what ended it.
  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }
  /// Of a cover, the groups that stand, without the first `known`; else the best so far.
  std::vector<Answer> so_far(usize known) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!request_.cover) return best_ ? best_->first() : std::vector<Answer>();
    return {answers_.begin() + static_cast<std::ptrdiff_t>(std::min(known, answers_.size())), answers_.end()};
  }
  /// How far the step is that is searched now.
  u64 n_roots() const { return crew_.n_roots(); }
  u64 roots_done() const { return crew_.roots_done(); }

  // ---- once it has ended ------------------------------------------------------------------------

  const std::vector<Answer>& answers() const { return request_.cover || !best_ ? answers_ : best_->answers(); }
  i64 value(const Answer& answer) const { return answer.value; }
  /// Was everything searched, or ruled out?
  bool proven() const { return proven_; }
  u64 nodes() const { return nodes_; }
  u64 roots_opened() const { return roots_opened_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }

 private:
  static constexpr usize kStarsAnAnswer = 4, kMostStars = 1024;  // that are looked at, on each side
  static constexpr usize kFruitless = 4;  // climbs in a row that find nothing better: greed is over
  static constexpr u64 kGreedyEdges = 1 << 20;  // of greed, besides two looks at every edge: 2 ms

  void run() {
    std::unique_ptr<CoreParts> cores;
    {
      const Stopwatch watch(prepare_seconds_);
      cores = std::make_unique<CoreParts>(rows(), request_.n_right, [this] { crew_.check(); });
      if (request_.cover) open(part_of(*cores, request_.sizes), request_.sizes);
    }
    const Stopwatch watch(search_seconds_);
    if (request_.cover)
      find_cover();
    else
      find_best(*cores);
    proven_ = !crew_.stopped();
  }
  Rows rows() const { return {request_.indptr, request_.indices, request_.n_left}; }
  RowsAndColumns sides(CoreParts& cores) const { return {cores, request_.columns_are_left}; }
  CorePart part_of(CoreParts& cores, const Sizes& sizes) {
    return sides(cores).part(sizes, [this] { crew_.check(); });
  }

  // ---- a cover ----------------------------------------------------------------------------------

  void find_cover() {
    while (answers_.size() < request_.k) {
      begin(1);
      begin_round();
      search();
      if (crew_.stopped()) return;  // a step is exact, or none
      if (best_->answers().empty()) break;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        answers_.push_back(best_->answers().front());
      }
      cover(answers_.back());
    }
  }
  void begin(usize k) {
    const std::lock_guard<std::mutex> lock(mutex_);
    best_ = std::make_unique<BestList>(k, request_.least);
  }

  // ---- the best ---------------------------------------------------------------------------------

  void find_best(CoreParts& cores) {
    begin(request_.k);
    offer_stars(cores);
    if (best_->least() == INT64_MIN && open_range(cores, sides(cores).had(request_.sizes))) climb_far();
    const i64 heaviest = heaviest_edge();
    const auto needed = [&](u32, u32 rows) {
      const i64 least = best_->least(), edges = least > 0 && heaviest > 0 ? (least - 1) / heaviest + 1 : 0;
      return static_cast<u32>(std::clamp<i64>((edges + rows - 1) / rows, request_.sizes.min_columns, ~0u));
    };
    const auto open = [&](const Sizes& sizes) { return open_range(cores, sizes); };
    search_by_rows(sides(cores), request_.sizes, *best_, needed, open, [this] { search(); });
  }
  i64 heaviest_edge() const {
    const i64 *first = request_.weights, *last = first + rows().n_edges();
    return first == last ? 0 : *std::max_element(first, last);
  }
  /// In graphs with hubs their stars say at once what is wanted.
  void offer_stars(const CoreParts& cores) {
    std::vector<i64> of_left(request_.n_left, 0), of_right(request_.n_right, 0);
    for (u32 u = 0; u < request_.n_left; ++u)
      for (std::int64_t e = request_.indptr[u]; e < request_.indptr[u + 1]; ++e) {
        of_left[u] += request_.weights[e];
        of_right[static_cast<u32>(request_.indices[e])] += request_.weights[e];
      }
    const usize n = std::min(kStarsAnAnswer * request_.k, kMostStars);
    each_star_of_both(cores.left(), of_left, cores.right(), of_right, n, [this](const Ids& left, const Ids& right) {
      const bool fits = request_.columns_are_left ? request_.sizes.accepts(right.size(), left.size())
                                                  : request_.sizes.accepts(left.size(), right.size());
      if (!fits) return;
      const i64 value = weight_of(left, right);
      if (value >= best_->least()) best_->offer({value, left, right});
    });
  }
  i64 weight_of(const Ids& left, const Ids& right) const {
    i64 sum = 0;
    for (std::int32_t u : left) {
      const Span row = rows()[u];
      for (std::int32_t v : right) sum += request_.weights[std::lower_bound(row.begin(), row.end(), v) - request_.indices];
    }
    return sum;
  }
  bool open_range(CoreParts& cores, const Sizes& sizes) {
    crew_.check();
    if (asked_ == sizes) return true;
    const CorePart part = part_of(cores, sizes);
    if (part.indices.empty()) return false;
    open(part, sizes);
    begin_round();
    return true;
  }

  // ---- both -------------------------------------------------------------------------------------

  void open(const CorePart& part, const Sizes& sizes) {
    const EdgeFindRequest& r = request_;
    const auto check = [this] { crew_.check(); };
    const bool turned = !r.cover && sizes.max_rows / 2 < sizes.min_columns;  // answers have fewer of them: branched on
    const bool columns_are_left = r.columns_are_left != turned;
    asked_ = sizes;
    sizes_ = turned ? sizes.turned() : sizes;
    graph_ = prepare(part.indptr.data(), part.indices.data(), part.n_left(), part.n_right(), columns_are_left, {}, check);
    weights_ = EdgeWeights(part, graph_, columns_are_left, r.indptr, r.indices, r.weights);
    numbers_ = Numbers();
    numbers_.columns_are_left = columns_are_left;
    numbers_.of_row = columns_are_left ? part.right : part.left;
    const std::vector<u32>& columns = columns_are_left ? part.left : part.right;
    for (u32 c : graph_.vertex_of_column) numbers_.of_column.push_back(columns[c]);
    if (graph_.n_columns) most_rows_ = graph_.column_degree(graph_.n_columns - 1);  // by ascending degree
    Scores edges;
    edges.sizes = sizes_;
    bounds_ = RootBounds(GraphLists{graph_}, edges).all(check);  // in edges
    for (i64& bound : bounds_)
      if (bound != INT64_MIN) bound = capped_product(static_cast<u64>(bound), weights_.largest());
  }
  /// Greed, and the roots whose bound reaches the best.
  void begin_round() {
    lower_bounds();
    order_ = promising_roots(bounds_, best_->least());
    climb();
  }
  void search() {
    crew_.check();
    crew_.search(request_.threads, order_.size(), [this](u32) { work(); });
  }
  /// A root's bicliques have no edges but those of its rows to columns from the root on.
  void lower_bounds() {
    std::vector<i64> left(graph_.n_rows, 0);
    std::vector<u32> at(graph_.n_rows, 0);
    for (u32 r = 0; r < graph_.n_rows; ++r)
      for (const auto& edge : weights_.row(r)) left[r] += std::max<i64>(edge.second, 0);
    each_vertex(graph_.n_columns, [this] { crew_.check(); }, [&](u32 v) {
      i64 sum = 0;
      for (u64 e = graph_.column_start[v]; e < graph_.column_start[v + 1]; ++e) {
        const u32 r = graph_.column_rows[e];
        if (__builtin_add_overflow(sum, left[r], &sum)) sum = INT64_MAX;
        const EdgeWeights::Row row = weights_.row(r);
        if (at[r] < row.size() && row[at[r]].first == v) left[r] -= std::max<i64>(row[at[r]++].second, 0);
      }
      bounds_[v] = std::min(bounds_[v], sum);
    });
  }
  void climb() {
    EdgeSink sink(sizes_, weights_, numbers_, most_rows_, *best_);
    const usize most_fruitless = request_.cover ? order_.size() : kFruitless;  // a step of a cover is worth more of them
    climb_from_first(graph_, sizes_, sink, order_, bounds_, *best_, kGreedyEdges, most_fruitless, [this] { crew_.check(); });
    if (request_.cover && weights_.largest() > 1) climb_far();  // where edges are only counted, hubs are where to begin
  }
  void climb_far() {
    EdgeSink sink(sizes_, weights_, numbers_, most_rows_, *best_);
    climb_where_promising(graph_, sizes_, sink, order_, bounds_, best_->least(), false, [this] { crew_.check(); });
  }
  void work();  // edge_search.cpp

  /// The answer's edges weigh nothing any more.
  void cover(const Answer& answer) {
    const std::vector<i32>&rows = numbers_.columns_are_left ? answer.right : answer.left,
          &columns = numbers_.columns_are_left ? answer.left : answer.right;
    std::vector<u32> own;
    for (u32 r = 0; r < graph_.n_rows; ++r)
      if (std::binary_search(rows.begin(), rows.end(), static_cast<i32>(numbers_.of_row[r]))) own.push_back(r);
    weights_.cover(own, [&](u32 c) { return std::binary_search(columns.begin(), columns.end(), static_cast<i32>(numbers_.of_column[c])); });
  }

  const EdgeFindRequest request_;
  std::optional<Sizes> asked_;  // of what is open
  Sizes sizes_;                 // the same, in rows and columns of `graph_`
  Graph graph_;
  EdgeWeights weights_;
  Numbers numbers_;
  u32 most_rows_ = 0;
  std::vector<i64> bounds_;  // a column
  std::vector<u32> order_;   // roots that are not ruled out, the most promising first
  std::unique_ptr<BestList> best_;
  std::vector<Answer> answers_;
  mutable std::mutex mutex_;
  u64 nodes_ = 0, roots_opened_ = 0;
  bool proven_ = false;
  double prepare_seconds_ = 0, search_seconds_ = 0;
  Crew crew_;  // last: its threads use all that is above
};

}  // namespace bicliq::best
