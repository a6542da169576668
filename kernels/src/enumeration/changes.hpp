// changes.hpp: which maximal bicliques a batch of new edges makes, and which it ends.
//
// What it finds: with G' the graph that has the new edges and G the one without, the bicliques of
// G' that are none of G (appeared), and those of G that are none of G' (vanished). Input: G' as CSR
// rows of its left side, ascending, and the new edges in it, sorted. Deletions are the same read
// backwards: G' is then the graph before them, and appeared and vanished change places.
// Method: (1) what appears contains a new edge. The maximal bicliques through an edge (u, v) are
// those of the subgraph that N'(v) and N'(u) span; through a vertex that has new edges only, those
// of its neighbours and theirs. `neighbourhoods` writes the subgraphs of some changes side by side
// as one graph, which the ordinary search takes. (2) A biclique found through several changes
// counts at the first (`is_first`). (3) What vanishes lies inside one that appeared: it is what is
// left when at each new edge one of its ends is taken away (`Remains`), where nothing extends it
// in G. Cost: (1) the paths of two edges over the changes, each row at most by bisection; (3) a
// closure for each remainder, most of them by bits of what a subgraph reaches beyond it
// (outside.hpp). A biclique whose only new edge is its change, as nearly all are, has two
// remainders, and of each the same look says whether another biclique may leave it as well: who
// else would have it has a vertex outside that all of its members reach, one by a new edge. If not
// (all but 500 of a million on gowalla), nobody need look for it among those that vanished. Memory:
// rows of the right vertices that a change reaches; the graph itself is looked at where it lies.
// Paper: Das and Tirthapura, "Incremental maintenance of maximal bicliques in a dynamic bipartite
// graph", 2018.
#pragma once

#include "enumeration/found_changes.hpp"
#include "enumeration/outside.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// Subgraphs side by side: a CSR matrix, and the vertex and the change that each number stands for.
struct Neighbourhoods {
  std::vector<std::int64_t> indptr{0};
  Ids indices, left, right, left_change;
  std::vector<std::int64_t> left_start{0}, right_start{0};  // where the vertices of each subgraph begin
};

/// A change: a new edge, or a vertex of one side that has new edges only (the other end is -1).
struct Change {
  std::int32_t left, right;
};

class ChangedGraph {
  friend class Remains;

 public:
  /// `fresh` holds the new edges as rows of the left side. Rows of the right side are made for the
  /// vertices that a change reaches: those adjacent to the left end of a new edge. (All edges of a
  /// vertex that has new ones only begin at such ends.) Of a few edges that saves most of it.
  ChangedGraph(const Rows& by_left, std::size_t n_right, const Rows& fresh)
      : by_left_(by_left), fresh_left_(fresh), reached_(reached_by(by_left, n_right, fresh)),
        right_rows_(transposed(by_left, n_right, [this](std::int32_t v) { return reached_[static_cast<std::size_t>(v)] != 0; })),
        fresh_right_rows_(transposed(fresh, n_right, [](std::int32_t) { return true; })), by_right_(right_rows_.view()),
        fresh_right_(fresh_right_rows_.view()), change_of_left_(by_left_.size(), -1), change_of_right_(n_right, -1) {
    for (std::int32_t u = 0; u < static_cast<std::int32_t>(by_left_.size()); ++u)
      if (is_new(by_left_, fresh_left_, u)) change_of_left_[static_cast<std::size_t>(u)] = add({u, -1});
    for (std::int32_t v = 0; v < static_cast<std::int32_t>(n_right); ++v)
      if (is_new(by_right_, fresh_right_, v) && !all_ends_are_new(v)) change_of_right_[static_cast<std::size_t>(v)] = add({-1, v});
    change_of_edge_.assign(fresh_left_.n_edges(), -1);
    for (std::int32_t u = 0; u < static_cast<std::int32_t>(by_left_.size()); ++u) {
      if (change_of_left_[static_cast<std::size_t>(u)] >= 0) continue;
      for (const std::int32_t& v : fresh_left_[u])
        if (change_of_right_[static_cast<std::size_t>(v)] < 0) change_of_edge_[static_cast<std::size_t>(&v - fresh_left_.row)] = add({u, v});
    }
  }
  ChangedGraph(const ChangedGraph&) = delete;  // its views are of its own rows
  ChangedGraph& operator=(const ChangedGraph&) = delete;

  std::size_t n_changes() const { return changes_.size(); }
  const Change& change(std::int32_t number) const { return changes_[static_cast<std::size_t>(number)]; }

  /// Rows of the right side, of the vertices that a change reaches; the new edges as such; and the
  /// change of a vertex that has new ones only, or -1.
  const OwnRows& right_rows() const { return right_rows_; }
  const OwnRows& fresh_right_rows() const { return fresh_right_rows_; }
  const Ids& left_changes() const { return change_of_left_; }
  const Ids& right_changes() const { return change_of_right_; }

  /// An upper bound of the work of each change: its paths of two edges.
  std::vector<std::int64_t> costs() const {
    std::vector<std::int64_t> found;
    for (const Change& change : changes_) {
      std::int64_t cost = 1;
      if (change.right >= 0)
        for (std::int32_t u : by_right_[change.right]) cost += change.left >= 0 ? row_cost(u, by_left_[change.left].size()) : static_cast<std::int64_t>(by_left_[u].size());
      else
        for (std::int32_t v : by_left_[change.left]) cost += static_cast<std::int64_t>(by_right_[v].size());
      found.push_back(cost);
    }
    return found;
  }

  /// The subgraphs of the changes from `first` to before `last`.
  Neighbourhoods neighbourhoods(std::size_t first, std::size_t last) const {
    Neighbourhoods to;
    Ids number;
    for (std::size_t i = first; i < last; ++i) {
      const Change& change = changes_[i];
      const auto name = static_cast<std::int32_t>(i);
      if (change.left >= 0 && change.right >= 0)
        span(name, by_right_[change.right], by_left_[change.left], to, number);
      else if (change.left >= 0)
        span(name, span_of(two_steps(by_left_[change.left], by_right_)), by_left_[change.left], to, number);
      else
        span(name, by_right_[change.right], span_of(two_steps(by_right_[change.right], by_left_)), to, number);
    }
    return to;
  }

  /// Is this change the first one that a biclique contains?
  bool is_first(std::int32_t change, Span left, Span right) const {
    for (std::int32_t u : left) {
      const std::int32_t own = change_of_left_[static_cast<std::size_t>(u)];
      if (own >= 0 && own < change) return false;
      for (const std::int32_t& v : fresh_left_[u]) {
        const std::int32_t at = change_of_edge_[static_cast<std::size_t>(&v - fresh_left_.row)];
        if (at >= 0 && at < change && right.has(v)) return false;
      }
    }
    for (std::int32_t v : right) {
      const std::int32_t own = change_of_right_[static_cast<std::size_t>(v)];
      if (own >= 0 && own < change) return false;
    }
    return true;
  }

  std::size_t n_left() const { return by_left_.size(); }
  std::size_t n_right() const { return by_right_.size(); }

 private:
  static std::vector<char> reached_by(const Rows& by_left, std::size_t n_right, const Rows& fresh) {
    std::vector<char> found(n_right, 0);
    for (std::int32_t u = 0; u < static_cast<std::int32_t>(fresh.size()); ++u)
      if (fresh[u].size())
        for (std::int32_t v : by_left[u]) found[static_cast<std::size_t>(v)] = 1;
    return found;
  }
  static bool is_new(const Rows& all, const Rows& fresh, std::int32_t v) {
    return fresh[v].size() > 1 && fresh[v].size() == all[v].size();
  }
  bool all_ends_are_new(std::int32_t v) const {
    for (std::int32_t u : fresh_right_[v])
      if (change_of_left_[static_cast<std::size_t>(u)] < 0) return false;
    return true;
  }
  std::int32_t add(Change change) {
    changes_.push_back(change);
    return static_cast<std::int32_t>(changes_.size() - 1);
  }
  static Ids two_steps(Span from, const Rows& rows) {
    Ids found;
    for (std::int32_t x : from) found.insert(found.end(), rows[x].begin(), rows[x].end());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// A row is read whole, or looked up in, whichever takes fewer steps.
  static constexpr std::size_t kBisection = 16;  // steps of a bisection, and what a jump costs
  std::int64_t row_cost(std::int32_t u, std::size_t n_columns) const {
    return static_cast<std::int64_t>(std::min(by_left_[u].size(), kBisection * n_columns));
  }

  /// `number` holds -1 for every right vertex, or nothing, and does so again afterwards.
  void span(std::int32_t name, Span left, Span right, Neighbourhoods& to, Ids& number) const {
    const auto base = static_cast<std::int32_t>(to.right.size());
    number.resize(by_right_.size(), -1);
    for (std::size_t i = 0; i < right.size(); ++i) number[static_cast<std::size_t>(right.first[i])] = base + static_cast<std::int32_t>(i);
    for (std::int32_t u : left) {
      const Span row = by_left_[u];
      if (row.size() > kBisection * right.size()) {
        for (const std::int32_t& v : right)
          if (row.has(v)) to.indices.push_back(base + static_cast<std::int32_t>(&v - right.first));
      } else {
        const std::size_t before = to.indices.size();
        to.indices.resize(before + row.size());
        std::int32_t* at = to.indices.data() + before;
        for (std::int32_t v : row) {
          *at = number[static_cast<std::size_t>(v)];
          at += *at >= 0;
        }
        to.indices.resize(static_cast<std::size_t>(at - to.indices.data()));
      }
      to.indptr.push_back(static_cast<std::int64_t>(to.indices.size()));
      to.left.push_back(u);
      to.left_change.push_back(name);
    }
    for (std::int32_t v : right) number[static_cast<std::size_t>(v)] = -1;
    to.right.insert(to.right.end(), right.begin(), right.end());
    to.left_start.push_back(static_cast<std::int64_t>(to.left.size()));
    to.right_start.push_back(static_cast<std::int64_t>(to.right.size()));
  }

  const Rows by_left_, fresh_left_;
  const std::vector<char> reached_;
  const OwnRows right_rows_, fresh_right_rows_;
  const Rows by_right_, fresh_right_;
  std::vector<Change> changes_;
  Ids change_of_left_, change_of_right_, change_of_edge_;
};

/// What appears through one change after the other, and what vanishes inside.
class Remains {
 public:
  struct Least {
    std::int64_t left, right, edges;
    bool accepts(std::size_t n_left, std::size_t n_right) const {
      const auto l = static_cast<std::int64_t>(n_left), r = static_cast<std::int64_t>(n_right);
      return l >= left && r >= right && l * r >= edges;
    }
  };
  Remains(const ChangedGraph& graph, const Least& least) : g_(graph), least_(least), seen_left_(g_.n_left(), 0), seen_right_(g_.n_right(), 0) {}

  /// The change whose n bicliques come next, with the sides of its subgraph.
  void change(std::int32_t number, std::size_t n_bicliques, Span left, Span right) {
    n_bicliques_ = n_bicliques, number_ = number, change_ = g_.changes_[static_cast<std::size_t>(number)];
    left_side_ = left, right_side_ = right;
    left_place_ = place_in(left, change_.left), right_place_ = place_in(right, change_.right);
    is_right_known_ = is_left_known_ = false;
    find_others();
  }

  /// Adds a biclique of the subgraph to those that appeared, and what vanishes inside it, if this
  /// change is the first one that it contains. Its members are given with their places in the sides
  /// of the subgraph, too. What vanishes here alone goes to `gone`, all else to `found`.
  void take(Span left, Span right, Span left_places, Span right_places, Lists& appeared, Lists& gone, FoundChanges& found) {
    const bool alone = is_alone(left_places, right_places);
    if (!alone && !g_.is_first(number_, left, right)) return;
    appeared.add(left.first, left.size(), right.first, right.size());
    left_ = left, right_ = right;
    if (!alone) return split({left.begin(), left.end()}, {right.begin(), right.end()}, 0, found);
    if (left.size() > 1 && least_.accepts(left.size() - 1, right.size())) {
      Outside* const outside = beyond_right();
      if (!(outside ? outside->reached_by_all(left_places, left_place_) : extends(without(left, change_.left), {right.begin(), right.end()}, g_.by_left_, g_.fresh_left_))) {
        if (outside && !outside->may_be_reached_anew(left_places, left_place_))
          gone.add_without_left(left, change_.left, right);
        else
          vanish(span_of(without(left, change_.left)), right, found);
      }
    }
    if (right.size() > 1 && least_.accepts(left.size(), right.size() - 1)) {
      Outside* const outside = beyond_left();
      if (!(outside ? outside->reached_by_all(right_places, right_place_) : extends(without(right, change_.right), {left.begin(), left.end()}, g_.by_right_, g_.fresh_right_))) {
        if (outside && !outside->may_be_reached_anew(right_places, right_place_))
          gone.add_without_right(left, right, change_.right);
        else
          vanish(left, span_of(without(right, change_.right)), found);
      }
    }
  }

 private:
  /// Finds the other new edges of the subgraph, as places in its sides. A biclique without them has
  /// one new edge, and this change alone: a vertex that has new edges only would add one.
  void find_others() {
    other_start_.assign(1, 0), others_.clear();
    if (!is_edge()) return;
    for (std::int32_t u : left_side_) {
      for (std::int32_t v : g_.fresh_left_[u]) {
        if (u == change_.left && v == change_.right) continue;
        const std::int32_t place = place_in(right_side_, v);
        if (place < static_cast<std::int32_t>(right_side_.size()) && right_side_.first[place] == v) others_.push_back(place);
      }
      other_start_.push_back(static_cast<u32>(others_.size()));
    }
  }
  bool is_edge() const { return change_.left >= 0 && change_.right >= 0; }
  bool is_alone(Span left_places, Span right_places) const {
    if (!is_edge()) return false;
    for (const std::int32_t place : left_places)
      for (u32 i = other_start_[static_cast<std::size_t>(place)]; i < other_start_[static_cast<std::size_t>(place) + 1]; ++i)
        if (right_places.has(others_[i])) return false;
    return true;
  }
  static void vanish(Span left, Span right, FoundChanges& found) { found.vanish(left, right, hash_of(left, right)); }

  /// What the sides of the subgraph reach beyond it, where that fits into memory.
  Outside* beyond_right() {
    if (!is_right_known_) beyond_right_.fill(n_bicliques_, left_side_, right_side_, g_.by_left_, g_.fresh_left_, g_.by_right_, seen_right_);
    is_right_known_ = true;
    return beyond_right_.usable() ? &beyond_right_ : nullptr;
  }
  Outside* beyond_left() {
    if (!is_left_known_) beyond_left_.fill(n_bicliques_, right_side_, left_side_, g_.by_right_, g_.fresh_right_, g_.by_left_, seen_left_);
    is_left_known_ = true;
    return beyond_left_.usable() ? &beyond_left_ : nullptr;
  }
  static std::int32_t place_in(Span side, std::int32_t vertex) {
    return static_cast<std::int32_t>(std::lower_bound(side.first, side.last, vertex) - side.first);
  }
  const Ids& without(Span all, std::int32_t one) {
    some_.resize(all.size());
    some_.erase(std::remove_copy(all.begin(), all.end(), some_.begin(), one), some_.end());
    return some_;
  }
  /// Takes one end of each new edge away, and keeps what is maximal in G. Left vertices before
  /// `settled` have no new edge to the right ones any more.
  void split(const Ids& left, const Ids& right, std::size_t settled, FoundChanges& to) {
    if (left.empty() || right.empty() || !least_.accepts(left.size(), right.size())) return;
    for (; settled < left.size(); ++settled) {
      const Span fresh = g_.fresh_left_[left[settled]];
      if (fresh.size() == 0) continue;
      Ids others;
      std::set_difference(right.begin(), right.end(), fresh.begin(), fresh.end(), std::back_inserter(others));
      if (others.size() == right.size()) continue;
      split(left, others, settled + 1, to);
      Ids fewer(left);
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(settled));
      split(fewer, right, settled, to);
      return;
    }
    if (is_extended(left, right)) return;
    vanish(span_of(left), span_of(right), to);
  }

  /// Where only one side lost vertices, only the other can be extended: what could come back has a
  /// new edge to somebody who stayed.
  bool is_extended(const Ids& left, const Ids& right) {
    const bool fewer_left = left.size() < left_.size(), fewer_right = right.size() < right_.size();
    if (fewer_left && (beyond_right() ? is_reached(beyond_right_, left, left_side_, right.size()) : extends(left, right, g_.by_left_, g_.fresh_left_))) return true;
    return fewer_right && (beyond_left() ? is_reached(beyond_left_, right, right_side_, left.size()) : extends(right, left, g_.by_right_, g_.fresh_right_));
  }
  /// Is a vertex beside the n known ones adjacent in G to all of these members of a side?
  bool is_reached(Outside& outside, const Ids& members, Span side, std::size_t n_known) {
    some_.clear();
    const std::int32_t* at = side.first;
    for (std::int32_t m : members) {
      at = std::lower_bound(at, side.last, m);
      some_.push_back(static_cast<std::int32_t>(at - side.first));
    }
    return outside.n_inside(span_of(some_)) > n_known || outside.reached_by_all(span_of(some_), -1);
  }

  /// Is there a vertex beside `others` that is adjacent in G to all of `members`?
  static bool extends(const Ids& members, const Ids& others, const Rows& rows, const Rows& fresh) {
    const std::int32_t least = *std::min_element(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
      return rows[a].size() < rows[b].size();
    });
    const Span known = span_of(others);
    for (std::int32_t x : rows[least]) {
      if (known.has(x)) continue;
      const auto adjacent = [&](std::int32_t m) { return (m == least || rows[m].has(x)) && !fresh[m].has(x); };
      if (std::all_of(members.begin(), members.end(), adjacent)) return true;
    }
    return false;
  }

  const ChangedGraph& g_;
  const Least least_;
  std::vector<std::int32_t> seen_left_, seen_right_;
  std::int32_t number_ = -1;
  std::size_t n_bicliques_ = 0;
  Change change_{-1, -1};
  std::vector<u32> other_start_;  // of each left vertex of the subgraph, among others_
  Ids others_;
  Span left_side_{}, right_side_{}, left_{}, right_{};
  Outside beyond_right_, beyond_left_;
  bool is_right_known_ = false, is_left_known_ = false;
  std::int32_t left_place_ = 0, right_place_ = 0;  // of the ends of the change
  Ids some_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
