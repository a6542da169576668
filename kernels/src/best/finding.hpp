// finding.hpp: the best maximal bicliques of a graph, by branch and bound.
//
// What it finds: of all maximal bicliques of wanted sizes the k best of an objective
// (objective.hpp), ordered as best_list.hpp says; with k = 1 a maximum biclique.
//
// Method: greedy climbs say what is wanted (greedy.hpp), by size in dense tables a local search
// (local_search.hpp), where vertices have terms stars as well (stars.hpp), by surprise in small
// cores too. By size and by surprise, the search then goes from
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

#include "best/best_search.hpp"
#include "best/local_search.hpp"
#include "best/size_bounds.hpp"

#include <numeric>

namespace bicliq::best {

class Finding : public BestSearch<Finding, BestSink> {
 public:
  /// `only_opens`: another machine searches (`open`).
  Finding(const FindRequest& request, Objective objective, VertexTerms terms, bool only_opens)
      : BestSearch(request, request.least > 0 ? Worth{objective, request.sizes}.least(request.least) : request.least, request.k),
        terms_(std::move(terms)), only_opens_(only_opens), worth_{objective, request.sizes} {
    set_costs(worth_, request.columns_are_left);
    begin();
  }
  ~Finding() { end(); }

  /// The best so far.
  std::vector<Answer> so_far(usize) const { return best_.first(); }

  // ---- once it has ended ------------------------------------------------------------------------

  const std::vector<Answer>& answers() const { return best_.answers(); }
  i64 value(const Answer& answer) const { return worth_.plain(answer.value); }
  /// Where it only opens: what an answer must be worth, with what orders equal ones; the roots that
  /// can have one, as places in the search order; and the terms by which bicliques are bounded, of
  /// rows by their numbers and of columns in the search order.
  i64 least() const { return best_.least(); }
  const std::vector<u32>& roots() const { return roots_; }
  const Scores& scores() const { return scores_; }

 private:
  friend BestSearch;
  static constexpr usize kCheapShare = 2;  // parts of more of the edges are not cheap
  static constexpr u32 kSmallestCore = 2;
  static constexpr u64 kGreedyEdges = 1 << 17;  // of greed, besides two looks at every edge: 0.3 ms
  static constexpr usize most_fruitless() { return 4; }  // climbs in a row that find nothing better: greed is over

  void run() {
    if (only_opens_) return open();
    std::unique_ptr<CoreParts> cores;
    {
      const Stopwatch watch(prepare_seconds_);
      cores = std::make_unique<CoreParts>(request_.rows, request_.n_right, checker());
      expect_star(*cores);
      if (!worth_.by_size()) offer_stars(*cores);
      if (worth_.by_size()) guess(*cores);
      if (choices_cost()) {
        climb_in_cores(*cores);
        bounds_ = SizeBounds(sides(*cores).rows(), row_terms(), sides(*cores).columns(), column_terms(), terms_.correction);
      }
      if (!knows_what_is_wanted() || !worth_.by_size()) open_all(*cores);
    }
    const Stopwatch watch(search_seconds_);
    if (!knows_what_is_wanted() || !worth_.by_size()) {
      climb();
      if (!worth_.by_size()) climb_far(best_);
    }
    if (knows_what_is_wanted())
      search_by_rows(*cores);
    else {
      if (search_locally(*cores)) choose_roots();
      search();
    }
  }
  /// So that ranges of rows need many columns.
  bool knows_what_is_wanted() const { return worth_.objective != Objective::weight && best_.least() != INT64_MIN; }
  /// What choices cost in a graph whose columns are of this side.
  void set_costs(Worth& worth, bool columns_are_left) const {
    if (!choices_cost()) return;
    worth.row_cost = (columns_are_left ? terms_.right_costs : terms_.left_costs).data();
    worth.column_cost = (columns_are_left ? terms_.left_costs : terms_.right_costs).data();
  }
  /// By surprise terms become bounds, for pairs are worth more than their terms.
  template <class Lists>
  void value_exactly(Scores& scores, const Lists& lists, bool columns_are_left) const {
    if (scores.objective != Objective::surprise) return;
    scores.raise_terms(lists, terms_.correction);
    scores.exact = &terms_;
    set_costs(scores, columns_are_left);
  }
  const std::vector<i64>& row_terms() const { return request_.columns_are_left ? terms_.right : terms_.left; }
  const std::vector<i64>& column_terms() const { return request_.columns_are_left ? terms_.left : terms_.right; }

  /// What a GPU is told that searches the whole graph: stars and greed where it is cheap say what
  /// is wanted, and degrees which roots can have it. All else that `run` does would take longer
  /// than it saves there.
  void open() {
    const Stopwatch watch(prepare_seconds_);
    CoreParts cores(request_.rows, request_.n_right, checker());
    expect_star(cores);
    if (worth_.objective != Objective::balanced) offer_stars(cores);
    if (worth_.by_size()) guess(cores);
    const DegreeOrder &by_row = sides(cores).rows(), &by_column = sides(cores).columns();
    roots_ = by_column.all();
    std::iota(roots_.begin(), roots_.end(), 0u);
    scores_ = Scores{{worth_.objective, worth_.sizes}, row_terms(), {}, {}, {}, {}};
    const OrderedLists lists{request_.columns_are_left ? cores.left() : cores.right(), by_row, by_column};
    if (!worth_.by_size()) {
      for (u32 v : by_column.all()) scores_.column_terms.push_back(column_terms()[v]);
      value_exactly(scores_, lists, request_.columns_are_left);
      scores_.close();
      scores_.charge(by_column.largest(), by_row.largest());
    }
    if (best_.least() == INT64_MIN) return;
    const std::vector<i64> bounds = RootBounds(lists, scores_, best_.least()).all(checker());
    const auto drop_hopeless = [&] {
      roots_.erase(std::remove_if(roots_.begin(), roots_.end(), [&](u32 v) { return bounds[v] < best_.least(); }), roots_.end());
    };
    drop_hopeless();
    stage_.order = roots_;
    if (search_locally(cores)) drop_hopeless();
  }
  /// Where one vertex suffices for a side: with k = 1 a vertex and all its neighbours, or what is
  /// larger, is an answer.
  void expect_star(CoreParts& cores) {
    const Sizes& sizes = worth_.sizes;
    if (request_.k > 1 || !worth_.by_size() || sizes.max_rows != ~0u || sizes.max_columns != ~0u) return;
    const auto expect = [&](u32 n_rows, u32 n_columns) {
      if (sizes.accepts(n_rows, n_columns)) best_.expect(worth_.most(n_rows, n_columns));
    };
    expect(1, sides(cores).rows().largest());
    expect(sides(cores).columns().largest(), 1);
  }
  void offer_stars(const CoreParts& cores) {
    const std::vector<i64>&left_terms = terms_.left, &right_terms = terms_.right;
    const auto sum = [](const std::vector<i64>& terms, const Ids& ids) {
      i64 all = 0;
      if (!terms.empty())
        for (std::int32_t v : ids) all += terms[static_cast<usize>(v)];
      return all;
    };
    const auto value = [&](const Ids& left, const Ids& right) {  // alike for rows and columns exchanged, but for costs
      return choices_cost() ? terms_.surprise(left, right)
                             : worth_.value(left.size(), right.size(), sum(left_terms, left), sum(right_terms, right));
    };
    offer_stars_of(cores, promises(cores.left(), left_terms, right_terms), promises(cores.right(), right_terms, left_terms), value);
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
    Sizes sizes = sides(cores).had(worth_.sizes);
    u32 rows = sizes.max_rows / 2 + 1;
    for (; rows > worth_.sizes.min_rows && !knows_what_is_wanted(); rows /= 2) {
      check();
      sizes.min_rows = rows;
      if (worth_.objective == Objective::balanced) sizes.min_columns = std::max(rows, worth_.sizes.min_columns);
      if (only_opens_ && kCheapShare * sides(cores).most_edges(sizes) > request_.rows.n_edges()) return;
      const CorePart part = part_of(cores, sizes);
      if (part.row.empty()) continue;
      open_stage(part, sizes);
      climb();
    }
  }

  /// Once, where the table is dense, and more than a few roots are to be opened.
  bool search_locally(const CoreParts& cores) {
    constexpr usize kFewRoots = 8;
    if (!worth_.by_size() || stage_.order.size() <= kFewRoots || std::exchange(searched_locally_, true)) return false;
    const Rows left = cores.left(), right = cores.right();
    const u32 steps = local_steps(left.size(), right.size(), left.n_edges());
    if (!steps) return false;
    const bool by_left = left.size() <= right.size();
    Worth worth = worth_;
    if (by_left == request_.columns_are_left) worth.sizes = worth.sizes.turned();
    LocalSearch local(by_left ? left : right, static_cast<u32>(by_left ? right.size() : left.size()), worth);
    const auto value = [this](const Ids& l, const Ids& r) { return worth_.value(l.size(), r.size(), 0, 0); };
    local.search(
        steps, [this] { return best_.least(); },
        [&](const Ids& near, const Ids& far) { by_left ? offer(near, far, value) : offer(far, near, value); }, checker());
    return true;
  }
  /// All that the sizes allow, as the first range where nothing is known that rules out more.
  void open_all(CoreParts& cores) {
    const Sizes sizes = sides(cores).had(worth_.sizes);
    open_stage(part_of(cores, sizes), sizes);
  }

  /// The columns that answers of so many rows need.
  auto needed_in(CoreParts& cores) {
    return [this, most_columns = sides(cores).rows().largest()](u32 fewest, u32 most) {
      return bounds_.columns_needed(worth_, best_.least(), fewest, most, most_columns);
    };
  }
  /// Range after range (row_ranges.hpp).
  void search_by_rows(CoreParts& cores) {
    const auto open = [&](const Sizes& sizes) {
      if (!open_range(cores, sizes)) return false;
      search_locally(cores);
      return true;
    };
    const auto search = [this] { this->search(); };
    if (choices_cost())
      search_from_few_rows(sides(cores), worth_.sizes, best_, needed_in(cores), open, search);
    else
      best::search_by_rows(sides(cores), worth_.sizes, best_, needed_in(cores), open, search);
  }
  /// Greed where all are joined to many, then to half as many: small parts, where groups are
  /// beyond chance that hubs hide from greed. Smaller groups than a part is made for may lack
  /// members that it has not, so that all are closed in the whole graph.
  void climb_in_cores(CoreParts& cores) {
    const Sizes asked = sides(cores).had(worth_.sizes);
    Sizes sizes = asked;
    for (u32 n = asked.max_rows / 2; n >= kSmallestCore; n /= 2) {
      check();
      sizes.min_rows = std::max(n, asked.min_rows), sizes.min_columns = std::max(n, asked.min_columns);
      const CorePart part = part_of(cores, sizes);
      if (part.row.empty()) continue;
      if (kCheapShare * part.row.size() > request_.rows.n_edges()) break;
      open_stage(part, asked);
      BestList found(request_.k, best_.least());
      climb_far(found);
      for (const Answer& answer : found.answers()) {
        const Ids right = all_have(cores.left(), answer.left), left = all_have(cores.right(), right);
        offer(left, right, [this](const Ids& l, const Ids& r) { return terms_.surprise(l, r); });
      }
    }
    stage_ = Stage();
  }

  void open_stage(const CorePart& part, const Sizes& sizes) {
    const bool turned = turns(sizes), columns_are_left = request_.columns_are_left != turned;
    open_part(part, sizes, turned);
    Stage& s = stage_;
    scores_ = Scores{{worth_.objective, s.sizes}, {}, {}, {}, {}, {}};
    if (!worth_.by_size()) {
      const std::vector<i64>&of_rows = turned ? column_terms() : row_terms(), &of_columns = turned ? row_terms() : column_terms();
      for (u32 row : s.numbers.of_row) scores_.row_terms.push_back(of_rows[row]);
      for (u32 column : s.numbers.of_column) scores_.column_terms.push_back(of_columns[column]);
      value_exactly(scores_, GraphLists{s.graph}, columns_are_left);
      scores_.close();
      u32 most_columns = 0;
      for (u32 r = 0; r < s.graph.n_rows; ++r) most_columns = std::max(most_columns, s.graph.row_degree(r));
      scores_.charge(s.most_rows, most_columns);
    }
    s.bounds = RootBounds(GraphLists{s.graph}, scores_, best_.least()).all(checker());
    choose_roots();
  }
  /// Is the other side branched on, of which answers have fewer? By surprise clearly fewer: the
  /// rule by size takes 952,976 nodes for edit-nawiki's best of at most 20 x 12, this one 184,357.
  bool turns(const Sizes& sizes) const {
    if (choices_cost()) return 4 * u64{sizes.max_rows} < 3 * u64{sizes.min_columns};
    return worth_.by_size() && sizes.max_rows / 2 < sizes.min_columns;
  }
  bool choices_cost() const { return worth_.objective == Objective::surprise; }
  BestSink sink(BestList& best) const { return {scores_, stage_.numbers, stage_.most_rows, best}; }

  const VertexTerms terms_;
  const bool only_opens_;
  bool searched_locally_ = false;
  Worth worth_;
  Scores scores_;  // of the stage; where it only opens, of all
  SizeBounds bounds_;
  std::vector<u32> roots_;
};

}  // namespace bicliq::best
