// best_search.hpp: the search for the best maximal bicliques, whatever they are valued by.
//
// What it does: opens a part of the graph that can hold answers (core_parts.hpp), bounds what each
// root can hold, climbs to first answers (greedy.hpp), and searches the roots whose bound reaches
// the k-th best, the most promising first. `Own` is the search over it, and says which parts there
// are: `Finding` by terms of vertices (finding.hpp), `EdgeFinding` by weights of edges
// (edge_finding.hpp). It has `run`; `open_stage(part, sizes)`, which makes a part ready; and
// `sink(best)`, which values the bicliques of that part.
//
// The search below a root is the enumeration's (mbe.hpp), whose nodes the sink bounds.
#pragma once

#include "best/greedy.hpp"
#include "best/root_bounds.hpp"
#include "best/row_ranges.hpp"
#include "best/stars.hpp"
#include "search/crew.hpp"

#include <memory>
#include <optional>

namespace bicliq::best {

/// What is searched: rows of the left side, which the caller keeps.
struct FindRequest {
  Rows rows;
  u32 n_right;
  bool columns_are_left;
  usize k;
  i64 least;  // what an answer must be worth, in units of the objective
  Sizes sizes;
  u32 threads;
};

template <class Own, class Sink>
class BestSearch {
 public:
  BestSearch(const BestSearch&) = delete;
  BestSearch& operator=(const BestSearch&) = delete;

  /// Waits at most so long; true when the search has ended. Rethrows what ended it.
  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }
  /// How far the range of sizes, or the step of a cover, is that is searched now.
  u64 n_roots() const { return crew_.n_roots(); }
  u64 roots_done() const { return crew_.roots_done(); }

  // ---- once it has ended ------------------------------------------------------------------------

  /// Was everything searched, or ruled out?
  bool proven() const { return proven_; }
  u64 nodes() const { return nodes_; }
  u64 roots_opened() const { return roots_opened_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }

 protected:
  /// A part of the graph with what is wanted of it, ready to be searched.
  struct Stage {
    std::optional<Sizes> asked;  // where it is not open, none
    Sizes sizes;                 // the same, in rows and columns of `graph`
    Graph graph;
    Numbers numbers;
    u32 most_rows = 0;
    std::vector<i64> bounds;  // a column
    std::vector<u32> order;   // roots that are not ruled out, the most promising first
  };

  BestSearch(const FindRequest& request, i64 least, usize k) : request_(request), best_(k, least) {}
  /// To be called when all of `Own` is there.
  void begin() {
    crew_.begin([this] {
      own().run();
      proven_ = !crew_.stopped();
    });
  }
  void check() { crew_.check(); }
  /// The same for whoever looks around now and then.
  auto checker() {
    return [this] { crew_.check(); };
  }

  RowsAndColumns sides(CoreParts& cores) const { return {cores, request_.columns_are_left}; }
  CorePart part_of(CoreParts& cores, const Sizes& sizes) { return sides(cores).part(sizes, checker()); }
  /// Stars from either side are first answers: with hubs, often the best.
  template <class Value>
  void offer_stars_of(const CoreParts& cores, const std::vector<i64>& left_promises, const std::vector<i64>& right_promises, const Value& value) {
    constexpr usize kStarsAnAnswer = 4, kMostStars = 1024;  // that are looked at, on each side
    each_star_of_both(cores.left(), left_promises, cores.right(), right_promises, std::min(kStarsAnAnswer * request_.k, kMostStars),
                      [&](const Ids& left, const Ids& right) { offer(left, right, value); });
  }
  /// Offers a maximal biclique of sizes that are asked for.
  template <class Value>
  void offer(const Ids& left, const Ids& right, const Value& value_of) {
    const Sizes& sizes = request_.sizes;
    if (!(request_.columns_are_left ? sizes.accepts(right.size(), left.size()) : sizes.accepts(left.size(), right.size()))) return;
    const i64 value = value_of(left, right);
    if (value >= best_.least()) best_.offer({value, left, right});
  }

  /// The part for these sizes, but for its bounds; `turned` says that its columns are our rows.
  void open_part(const CorePart& part, const Sizes& sizes, bool turned) {
    stage_ = Stage();
    Stage& s = stage_;
    const bool columns_are_left = request_.columns_are_left != turned;
    s.asked = sizes;
    s.sizes = turned ? sizes.turned() : sizes;
    s.graph = prepare(part.start.data(), part.row.data(), part.n_left(), part.n_right(), columns_are_left, {}, checker());
    s.numbers.columns_are_left = columns_are_left;
    s.numbers.of_row = columns_are_left ? part.right : part.left;
    const std::vector<u32>& columns = columns_are_left ? part.left : part.right;
    for (u32 c : s.graph.vertex_of_column) s.numbers.of_column.push_back(columns[c]);
    if (s.graph.n_columns) s.most_rows = s.graph.column_degree(s.graph.n_columns - 1);  // by ascending degree
  }
  /// Makes a range of sizes ready, with first answers of it; false where it holds nothing.
  bool open_range(CoreParts& cores, const Sizes& sizes) {
    check();
    if (stage_.asked == sizes) return true;
    const CorePart part = part_of(cores, sizes);
    if (part.row.empty()) return false;
    own().open_stage(part, sizes);
    climb();
    return true;
  }
  void choose_roots() { stage_.order = promising_roots(stage_.bounds, best_.least()); }
  /// From the first roots, until so many climbs in a row find nothing better.
  void climb() {
    const Stage& s = stage_;
    Sink sink = own().sink(best_);
    climb_from_first(s.graph, s.sizes, sink, s.order, s.bounds, best_, Own::kGreedyEdges, own().most_fruitless(), checker());
  }
  /// From roots that promise most, one step from many. Where choices cost and much was looked at in
  /// other parts, these are the cheapest ones alone: small groups far from hubs are there.
  void climb_far(BestList& best) {
    constexpr u64 kMostEdges = 1 << 24, kLooksAgain = 2;  // 0.1 s; at every edge
    const Stage& s = stage_;
    Sink sink = own().sink(best);
    const bool again = own().choices_cost() && edges_far_ >= kMostEdges;
    const u64 most = again ? std::min(kMostEdges, kLooksAgain * s.graph.column_rows.size()) : kMostEdges;
    edges_far_ += climb_where_promising(s.graph, s.sizes, sink, s.order, s.bounds, best.least(), own().choices_cost(), most, checker());
  }
  void search() {
    check();
    crew_.search(request_.threads, stage_.order.size(), [this](u32) { work(); });
  }

  const FindRequest request_;
  BestList best_;
  Stage stage_;
  u64 edges_far_ = 0;  // that greed has looked at, one step from many roots
  mutable std::mutex mutex_;
  double prepare_seconds_ = 0, search_seconds_ = 0;

 private:
  Own& own() { return static_cast<Own&>(*this); }
  void work();  // best_search.cpp

  u64 nodes_ = 0, roots_opened_ = 0;
  bool proven_ = false;

 protected:
  Crew crew_;  // last: its threads use all that is above; `Own`, of which they use more, ends it first
};

}  // namespace bicliq::best
