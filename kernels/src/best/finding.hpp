// finding.hpp: the best maximal bicliques of a graph, by branch and bound.
//
// What it finds: of all maximal bicliques of wanted sizes the k best of an objective
// (objective.hpp), ordered as best_list.hpp says; with k = 1 a maximum biclique.
//
// Method: greedy climbs say what is wanted (greedy.hpp), where vertices have terms stars as well
// (stars.hpp), by surprise in small cores too. By size and by surprise, the search then goes from
// range to range of numbers of rows, each in the core of the graph that can hold such answers
// (row_ranges.hpp, size_bounds.hpp, core_parts.hpp), which is small, and branches on the side of
// which answers have fewer; by weight it is one search. Degrees bound what each root can hold
// (root_bounds.hpp), and roots are searched from the largest bound down. The search below a root is
// the enumeration's (mbe.hpp), whose nodes are bounded by best_sink.hpp. For a GPU only the
// beginning is found here (`open`).
//
// Cost: O(edges) before the search, for graph, bounds and greed; the search visits the nodes whose
// bound reaches the k-th best. Memory: that of an enumeration, and the k answers.
//
// Papers: Lyu et al., VLDB 2020, "Maximum biclique search at billion scale" (ranges of sizes, each
// with its core).
#pragma once

#include "best/core_parts.hpp"
#include "search/crew.hpp"
#include "best/greedy.hpp"
#include "best/root_bounds.hpp"
#include "best/row_ranges.hpp"
#include "best/size_bounds.hpp"
#include "best/stars.hpp"

#include <memory>
#include <numeric>
#include <optional>

namespace bicliq::best {

/// What is searched: a CSR matrix of the left side, which the caller keeps, and terms a vertex.
struct FindRequest {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  u32 n_left, n_right;
  bool columns_are_left;
  VertexTerms terms;
  usize k;
  i64 least;  // what an answer must be worth, in units of the objective
  u32 threads;
  bool only_opens = false;  // another machine searches: see `open`
};

class Finding {
 public:
  Finding(FindRequest request, Objective objective, const Sizes& sizes)
      : request_(std::move(request)), scores_{{objective, sizes, 0}, {}, {}, {}, {}, {}},
        best_(request_.k, request_.least > 0 ? scores_.least(request_.least) : request_.least) {
    set_costs(scores_, request_.columns_are_left);
    crew_.begin([this] { run(); });
  }
  ~Finding() { end(); }
  Finding(const Finding&) = delete;
  Finding& operator=(const Finding&) = delete;

  /// Waits at most so long; true when the search has ended. Rethrows what ended it.
  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }
  /// The best so far, and how far the range of sizes is that is searched now.
  std::vector<Answer> so_far(usize) const { return best_.first(); }
  u64 n_roots() const { return crew_.n_roots(); }
  u64 roots_done() const { return crew_.roots_done(); }

  // ---- once it has ended ------------------------------------------------------------------------

  const std::vector<Answer>& answers() const { return best_.answers(); }
  i64 value(const Answer& answer) const { return scores_.plain(answer.value); }
  /// Was everything searched, or ruled out?
  bool proven() const { return proven_; }
  u64 nodes() const { return nodes_; }
  u64 roots_opened() const { return roots_opened_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }
  /// Where it only opens: what an answer must be worth, with what orders equal ones; and the roots
  /// that can have one, as places in the search order.
  i64 least() const { return best_.least(); }
  const std::vector<u32>& roots() const { return roots_; }

 private:
  static constexpr usize kStarsAnAnswer = 4, kMostStars = 1024;  // that are looked at, on each side
  static constexpr usize kCheapShare = 2;  // parts of more of the edges are not cheap
  static constexpr u32 kSmallestCore = 2;
  static constexpr usize kFruitless = 4;  // climbs in a row that find nothing better: greed is over
  static constexpr u64 kGreedyEdges = 1 << 17;  // of greed, besides two looks at every edge: 0.3 ms

  /// A part of the graph with what is wanted of it, ready to be searched.
  struct Stage {
    std::optional<Sizes> asked;  // where it is not open, none
    Scores scores;
    Graph graph;
    Numbers numbers;
    u32 most_rows = 0;
    std::vector<i64> bounds;  // a column
    std::vector<u32> order;   // roots that are not ruled out, the most promising first
  };

  void run() {
    if (request_.only_opens) return open();
    std::unique_ptr<CoreParts> cores;
    {
      const Stopwatch watch(prepare_seconds_);
      cores = std::make_unique<CoreParts>(Rows{request_.indptr, request_.indices, request_.n_left}, request_.n_right, [this] { crew_.check(); });
      expect_star(*cores);
      if (!scores_.by_size()) offer_stars(*cores);
      if (scores_.by_size()) guess(*cores);
      if (scores_.objective == Objective::surprise) {
        climb_in_cores(*cores);
        bounds_ = SizeBounds(sides(*cores).rows(), row_terms(), sides(*cores).columns(), column_terms(), request_.terms.correction);
      }
      if (!knows_what_is_wanted() || !scores_.by_size()) open_all(*cores);
    }
    const Stopwatch watch(search_seconds_);
    if (!knows_what_is_wanted() || !scores_.by_size()) {
      climb();
      if (!scores_.by_size()) climb_far(best_);
    }
    if (knows_what_is_wanted())
      search_by_rows(*cores);
    else
      search();
    proven_ = !crew_.stopped();
  }
  /// So that ranges of rows need many columns.
  bool knows_what_is_wanted() const { return scores_.objective != Objective::weight && best_.least() != INT64_MIN; }
  /// What choices cost in a graph whose columns are of this side.
  void set_costs(Worth& worth, bool columns_are_left) const {
    if (scores_.objective != Objective::surprise) return;
    worth.row_cost = (columns_are_left ? request_.terms.right_costs : request_.terms.left_costs).data();
    worth.column_cost = (columns_are_left ? request_.terms.left_costs : request_.terms.right_costs).data();
  }
  /// By surprise terms become bounds, for pairs are worth more than their terms.
  template <class Lists>
  void value_exactly(Scores& scores, const Lists& lists, bool columns_are_left) const {
    if (scores.objective != Objective::surprise) return;
    scores.raise_terms(lists, request_.terms.correction);
    scores.exact = &request_.terms;
    set_costs(scores, columns_are_left);
  }
  const std::vector<i64>& row_terms() const { return request_.columns_are_left ? request_.terms.right : request_.terms.left; }
  const std::vector<i64>& column_terms() const { return request_.columns_are_left ? request_.terms.left : request_.terms.right; }
  RowsAndColumns sides(CoreParts& cores) const { return {cores, request_.columns_are_left}; }
  CorePart part_of(CoreParts& cores, const Sizes& sizes) {
    return sides(cores).part(sizes, [this] { crew_.check(); });
  }

  /// What a GPU is told that searches the whole graph: stars and greed where it is cheap say what
  /// is wanted, and degrees which roots can have it. All else that `run` does would take longer
  /// than it saves there.
  void open() {
    const Stopwatch watch(prepare_seconds_);
    CoreParts cores(Rows{request_.indptr, request_.indices, request_.n_left}, request_.n_right, [this] { crew_.check(); });
    expect_star(cores);
    if (scores_.objective != Objective::balanced) offer_stars(cores);
    if (scores_.by_size()) guess(cores);
    const DegreeOrder &by_row = sides(cores).rows(), &by_column = sides(cores).columns();
    roots_ = by_column.all();
    std::iota(roots_.begin(), roots_.end(), 0u);
    if (best_.least() == INT64_MIN) return;
    Scores scores{{scores_.objective, scores_.sizes, 0}, row_terms(), {}, {}, {}, {}};
    if (!scores_.by_size()) {
      for (u32 v : by_column.all()) scores.column_terms.push_back(column_terms()[v]);
    }
    const OrderedLists lists{request_.columns_are_left ? cores.left() : cores.right(), by_row, by_column};
    if (!scores.by_size()) {
      value_exactly(scores, lists, request_.columns_are_left);
      scores.close();
      scores.charge(by_column.largest(), by_row.largest());
    }
    const std::vector<i64> bounds = RootBounds(lists, scores, best_.least()).all([this] { crew_.check(); });
    roots_.erase(std::remove_if(roots_.begin(), roots_.end(), [&](u32 v) { return bounds[v] < best_.least(); }), roots_.end());
  }
  /// Where one vertex suffices for a side: with k = 1 a vertex and all its neighbours, or what is
  /// larger, is an answer.
  void expect_star(CoreParts& cores) {
    const Sizes& sizes = scores_.sizes;
    if (request_.k > 1 || !scores_.by_size() || sizes.max_rows != ~0u || sizes.max_columns != ~0u) return;
    const auto expect = [&](u32 n_rows, u32 n_columns) {
      if (sizes.accepts(n_rows, n_columns)) best_.expect(scores_.most(n_rows, n_columns));
    };
    expect(1, sides(cores).rows().largest());
    expect(sides(cores).columns().largest(), 1);
  }

  /// Stars from either side are first answers: with hubs, often the best.
  void offer_stars(const CoreParts& cores) {
    const std::vector<i64>&left_terms = request_.terms.left, &right_terms = request_.terms.right;
    const auto sum = [](const std::vector<i64>& terms, const Ids& ids) {
      i64 all = 0;
      if (!terms.empty())
        for (std::int32_t v : ids) all += terms[static_cast<usize>(v)];
      return all;
    };
    const usize n = std::min(kStarsAnAnswer * request_.k, kMostStars);
    each_star_of_both(cores.left(), promises(cores.left(), left_terms, right_terms), cores.right(),
                      promises(cores.right(), right_terms, left_terms), n, [&](const Ids& left, const Ids& right) {
      const bool turned = request_.columns_are_left;
      const i64 value = scores_.objective == Objective::surprise ? request_.terms.surprise(left, right)
                        : turned ? scores_.value(right.size(), left.size(), sum(right_terms, right), sum(left_terms, left))
                                 : scores_.value(left.size(), right.size(), sum(left_terms, left), sum(right_terms, right));
      const bool fits = turned ? scores_.sizes.accepts(right.size(), left.size()) : scores_.sizes.accepts(left.size(), right.size());
      if (fits && value >= best_.least()) best_.offer({value, left, right});
    });
  }
  /// The most that each vertex and its neighbours can be worth.
  static std::vector<i64> promises(const Rows& centres, const std::vector<i64>& terms, const std::vector<i64>& leaf_terms) {
    const i64 best_leaf = Scores::largest(leaf_terms);
    std::vector<i64> all;
    for (usize v = 0; v < centres.size(); ++v)
      all.push_back(static_cast<i64>(centres[static_cast<std::int32_t>(v)].size()) * (terms.empty() ? 1 : terms[v] + best_leaf));
    return all;
  }

  /// Greed where it is cheap: among the few columns that have many rows, then half as many, until
  /// enough is found to say what is wanted; where the smaller side counts, among as many of both.
  /// These are first ranges that the search may come to.
  void guess(CoreParts& cores) {
    Sizes sizes = sides(cores).had(scores_.sizes);
    u32 rows = sizes.max_rows / 2 + 1;
    for (; rows > scores_.sizes.min_rows && !knows_what_is_wanted(); rows /= 2) {
      crew_.check();
      sizes.min_rows = rows;
      if (scores_.objective == Objective::balanced) sizes.min_columns = std::max(rows, scores_.sizes.min_columns);
      if (request_.only_opens && kCheapShare * sides(cores).most_edges(sizes) > static_cast<u64>(request_.indptr[request_.n_left])) return;
      const CorePart part = part_of(cores, sizes);
      if (part.indices.empty()) continue;
      open_stage(part, sizes);
      climb();
    }
  }

  /// All that the sizes allow, as the first range where nothing is known that rules out more.
  void open_all(CoreParts& cores) {
    const Sizes sizes = sides(cores).had(scores_.sizes);
    open_stage(part_of(cores, sizes), sizes);
  }

  /// The columns that answers of so many rows need.
  auto needed_in(CoreParts& cores) {
    return [this, most_columns = sides(cores).rows().largest()](u32 fewest, u32 most) {
      return bounds_.columns_needed(scores_, best_.least(), fewest, most, most_columns);
    };
  }
  /// Range after range (row_ranges.hpp).
  void search_by_rows(CoreParts& cores) {
    const auto open = [&](const Sizes& sizes) { return open_range(cores, sizes); };
    const auto search = [this] { this->search(); };
    if (scores_.objective == Objective::surprise)
      search_from_few_rows(sides(cores), scores_.sizes, best_, needed_in(cores), open, search);
    else
      best::search_by_rows(sides(cores), scores_.sizes, best_, needed_in(cores), open, search);
  }
  /// Greed where all are joined to many, then to half as many: small parts, where groups are
  /// beyond chance that hubs hide from greed. Smaller groups than a part is made for may lack
  /// members that it has not, so that all are closed in the whole graph.
  void climb_in_cores(CoreParts& cores) {
    const Sizes asked = sides(cores).had(scores_.sizes);
    Sizes sizes = asked;
    for (u32 n = asked.max_rows / 2; n >= kSmallestCore; n /= 2) {
      crew_.check();
      sizes.min_rows = std::max(n, asked.min_rows), sizes.min_columns = std::max(n, asked.min_columns);
      const CorePart part = part_of(cores, sizes);
      if (part.indices.empty()) continue;
      if (kCheapShare * part.indices.size() > static_cast<usize>(request_.indptr[request_.n_left])) break;
      open_stage(part, asked);
      BestList found(request_.k, best_.least());
      climb_far(found);
      for (const Answer& answer : found.answers()) {
        Ids right = all_have(cores.left(), answer.left), left = all_have(cores.right(), right);
        offer_closed(std::move(left), std::move(right));
      }
    }
    stage_ = Stage();
  }
  void offer_closed(Ids left, Ids right) {
    const bool turned = request_.columns_are_left;
    if (!scores_.sizes.accepts(turned ? right.size() : left.size(), turned ? left.size() : right.size())) return;
    const i64 value = request_.terms.surprise(left, right);
    if (value >= best_.least()) best_.offer({value, std::move(left), std::move(right)});
  }
  bool open_range(CoreParts& cores, const Sizes& sizes) {
    crew_.check();
    if (stage_.asked == sizes) return true;
    const CorePart part = part_of(cores, sizes);
    if (part.indices.empty()) return false;
    open_stage(part, sizes);
    climb();
    return true;
  }

  void open_stage(const CorePart& part, const Sizes& sizes) {
    const bool turned = turns(sizes);
    const bool columns_are_left = request_.columns_are_left != turned;
    const auto check = [this] { crew_.check(); };
    stage_ = Stage();
    Stage& s = stage_;
    s.asked = sizes;
    s.scores.objective = scores_.objective;
    s.scores.sizes = turned ? sizes.turned() : sizes;
    s.graph = prepare(part.indptr.data(), part.indices.data(), part.n_left(), part.n_right(), columns_are_left, {}, check);
    s.numbers.columns_are_left = columns_are_left;
    s.numbers.of_row = columns_are_left ? part.right : part.left;
    const std::vector<u32>& columns = columns_are_left ? part.left : part.right;
    for (u32 c : s.graph.vertex_of_column) s.numbers.of_column.push_back(columns[c]);
    if (s.graph.n_columns) s.most_rows = s.graph.column_degree(s.graph.n_columns - 1);  // by ascending degree
    if (!scores_.by_size()) {
      const std::vector<i64>&of_rows = turned ? column_terms() : row_terms(), &of_columns = turned ? row_terms() : column_terms();
      for (u32 row : s.numbers.of_row) s.scores.row_terms.push_back(of_rows[row]);
      for (u32 column : s.numbers.of_column) s.scores.column_terms.push_back(of_columns[column]);
      value_exactly(s.scores, GraphLists{s.graph}, columns_are_left);
      s.scores.close();
      u32 most_columns = 0;
      for (u32 r = 0; r < s.graph.n_rows; ++r) most_columns = std::max(most_columns, s.graph.row_degree(r));
      s.scores.charge(s.most_rows, most_columns);
    }
    s.bounds = RootBounds(GraphLists{s.graph}, s.scores, best_.least()).all(check);
    s.order = promising_roots(s.bounds, best_.least());
  }
  /// Is the other side branched on, of which answers have fewer? By surprise clearly fewer: the
  /// rule by size takes 952,976 nodes for edit-nawiki's best of at most 20 x 12, this one 184,357.
  bool turns(const Sizes& sizes) const {
    if (scores_.objective == Objective::surprise) return 4 * u64{sizes.max_rows} < 3 * u64{sizes.min_columns};
    return scores_.by_size() && sizes.max_rows / 2 < sizes.min_columns;
  }
  void climb() {
    const Stage& s = stage_;
    BestSink sink(s.scores, s.numbers, s.most_rows, best_);
    climb_from_first(s.graph, s.scores.sizes, sink, s.order, s.bounds, best_, kGreedyEdges, kFruitless, [this] { crew_.check(); });
  }
  void climb_far(BestList& best) {
    const Stage& s = stage_;
    BestSink sink(s.scores, s.numbers, s.most_rows, best);
    climb_where_promising(s.graph, s.scores.sizes, sink, s.order, s.bounds, best.least(), scores_.objective == Objective::surprise,
                          [this] { crew_.check(); });
  }
  void search() {
    crew_.check();
    crew_.search(request_.threads, stage_.order.size(), [this](u32) { work(); });
  }
  void work();  // find_search.cpp

  FindRequest request_;
  Scores scores_;  // without terms, which a stage has
  BestList best_;
  SizeBounds bounds_;
  Stage stage_;
  std::vector<u32> roots_;
  std::mutex mutex_;
  u64 nodes_ = 0, roots_opened_ = 0;
  bool proven_ = false;
  double prepare_seconds_ = 0, search_seconds_ = 0;
  Crew crew_;  // last: its threads use all that is above
};

}  // namespace bicliq::best
