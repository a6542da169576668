// changes.hpp: which maximal bicliques a batch of new edges makes, and which it ends.
//
// What it finds: with G' the graph that has the new edges and G the one without, the bicliques of
// G' that are none of G (appeared), and those of G that are none of G' (vanished). Input: G' as
// CSR rows of its left side, ascending, and the new edges in it, sorted. Deletions are the same
// read backwards: G' is then the graph before them, and appeared and vanished change places.
// Method: (1) what appears contains a new edge. The maximal bicliques through an edge (u, v) are
// those of the subgraph that N'(v) and N'(u) span; through a vertex that has new edges only, those
// of its neighbours and theirs. `neighbourhoods` writes the subgraphs of some changes side by side
// as one graph, which the ordinary search takes. An end of the edge is adjacent to all of the
// other side, so all bicliques contain it: as the first vertex of the search it is the only root.
// (2) A biclique found through several changes counts at the first (`is_first`). (3) What vanishes
// lies inside one that appeared: it is what is left when at each new edge one of its ends is taken
// away (`Remains`), where nothing extends it in G. Cost: (1) the paths of two edges over the
// changes, each row at most by bisection; (3) a closure for each remainder, most of them by bits
// of what a subgraph reaches beyond it (outside.hpp). A biclique whose only new edge is its
// change, as nearly all are, has two remainders, and of each the same look says whether another
// biclique may leave it as well: who else would have it has a vertex outside that all of its
// members reach, one by a new edge. If not (all but 500 of a million on gowalla), nobody need look
// for it among those that vanished. Memory: rows of the right vertices that a change reaches; the
// graph itself is looked at where it lies.
// Paper: Das and Tirthapura, "Incremental maintenance of maximal bicliques in a dynamic bipartite
// graph", 2018.
#pragma once

#include "changes/found_changes.hpp"
#include "changes/outside.hpp"
#include "graphs/limits.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

namespace bicliq {

/// In which order a side is searched, subgraph by subgraph, and which roots find everything.
struct SearchOrder {
  Ids order, roots;
};

/// Subgraphs side by side: a CSR matrix, and the vertex and the change that each number stands for.
struct Neighbourhoods {
  std::vector<std::int64_t> indptr{0};
  Growing<std::int32_t> indices;
  Ids left, right, left_change;
  std::vector<std::int64_t> left_start{0}, right_start{0};  // where the vertices of each subgraph begin
  SearchOrder left_search, right_search;
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
  template <class Check>
  ChangedGraph(const Rows& by_left, std::size_t n_right, const Rows& fresh, const Check& check)
      : by_left_(by_left), fresh_left_(fresh), reached_(reached_by(by_left, n_right, fresh)),
        right_rows_(transposed(by_left, n_right, [this](std::int32_t v) { return reached_[static_cast<std::size_t>(v)] != 0; }, check)),
        fresh_right_rows_(transposed(fresh, n_right, check)), by_right_(right_rows_.view()),
        fresh_right_(fresh_right_rows_.view()), change_of_left_(by_left_.size(), -1), change_of_right_(n_right, -1) {
    for (std::int32_t u = 0; u < static_cast<std::int32_t>(by_left_.size()); ++u)
      if (is_new(by_left_, fresh_left_, u)) change_of_left_[static_cast<std::size_t>(u)] = add({u, -1});
    for (std::int32_t v = 0; v < static_cast<std::int32_t>(n_right); ++v)
      if (is_new(by_right_, fresh_right_, v) && !all_ends_are_new(v)) change_of_right_[static_cast<std::size_t>(v)] = add({-1, v});
    change_of_edge_.assign(fresh_left_.n_edges(), -1);
    for (std::int32_t u = 0; u < static_cast<std::int32_t>(by_left_.size()); ++u) {
      if (change_of_left_[static_cast<std::size_t>(u)] >= 0) continue;
      for (const std::int32_t& v : fresh_left_[u])
        if (change_of_right_[static_cast<std::size_t>(v)] < 0) change_of_edge_[fresh_left_.number(v)] = add({u, v});
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
    reserve(first, last, to);
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
        const std::int32_t at = change_of_edge_[fresh_left_.number(v)];
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
  static bool is_new(const Rows& all, const FewRows& fresh, std::int32_t v) {
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
  static constexpr std::size_t kAhead = 8;       // rows that memory is asked for before they are read
  std::int64_t row_cost(std::int32_t u, std::size_t n_columns) const {
    return static_cast<std::int64_t>(std::min(by_left_[u].size(), kBisection * n_columns));
  }

  /// Makes room for the vertices of subgraphs; those that lie two steps from a change are not
  /// counted.
  void reserve(std::size_t first, std::size_t last, Neighbourhoods& to) const {
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = first; i < last; ++i) {
      const Change& change = changes_[i];
      if (change.right >= 0) n_left += by_right_[change.right].size();
      if (change.left >= 0) n_right += by_left_[change.left].size();
    }
    to.indptr.reserve(n_left + 1);
    for (Ids* of_left : {&to.left, &to.left_change, &to.left_search.order}) of_left->reserve(n_left);
    for (Ids* of_right : {&to.right, &to.right_search.order}) of_right->reserve(n_right);
  }

  /// `number` holds -1 for every right vertex, or nothing, and does so again afterwards.
  void span(std::int32_t name, Span left, Span right, Neighbourhoods& to, Ids& number) const {
    const auto base = static_cast<std::int32_t>(to.right.size());
    number.resize(by_right_.size(), -1);
    for (std::size_t i = 0; i < right.size(); ++i) number[static_cast<std::size_t>(right.first[i])] = base + static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (i + 2 * kAhead < left.size()) by_left_.fetch_start(left.first[i + 2 * kAhead]);
      if (i + kAhead < left.size()) by_left_.fetch(left.first[i + kAhead]);
      const std::int32_t u = left.first[i];
      const Span row = by_left_[u];
      if (row.size() > kBisection * right.size()) {
        for (const std::int32_t& v : right)
          if (row.has(v)) to.indices.push(base + static_cast<std::int32_t>(&v - right.first));
      } else {
        std::int32_t *const first = to.indices.room(row.size()), *at = first;
        for (std::int32_t v : row) {
          const std::int32_t own = number[static_cast<std::size_t>(v)];
          *at = own;
          at += own >= 0;
        }
        to.indices.add(static_cast<std::size_t>(at - first));
      }
      to.indptr.push_back(static_cast<std::int64_t>(to.indices.size()));
    }
    for (std::int32_t v : right) number[static_cast<std::size_t>(v)] = -1;
    to.left.insert(to.left.end(), left.begin(), left.end());
    to.left_change.insert(to.left_change.end(), left.size(), name);
    to.right.insert(to.right.end(), right.begin(), right.end());
    to.left_start.push_back(static_cast<std::int64_t>(to.left.size()));
    to.right_start.push_back(static_cast<std::int64_t>(to.right.size()));
    const Change& change = changes_[static_cast<std::size_t>(name)];
    const auto left_base = static_cast<std::int32_t>(to.left.size() - left.size());
    if (change.left >= 0)
      begin_with(change.left, left, left_base, to.left_search);
    else
      by_degree(left_degrees(to, left.size()), left_base, to.left_search);
    if (change.right >= 0)
      begin_with(change.right, right, base, to.right_search);
    else
      by_degree(right_degrees(to, left.size(), right.size()), base, to.right_search);
  }

  /// A side that a vertex begins which is adjacent to the whole other side.
  static void begin_with(std::int32_t vertex, Span side, std::int32_t base, SearchOrder& to) {
    const std::int32_t own = base + static_cast<std::int32_t>(std::lower_bound(side.first, side.last, vertex) - side.first);
    to.roots.push_back(own);
    to.order.push_back(own);
    for (std::int32_t at = base; at < base + static_cast<std::int32_t>(side.size()); ++at)
      if (at != own) to.order.push_back(at);
  }
  /// A side without such a vertex.
  static void by_degree(const Ids& degrees, std::int32_t base, SearchOrder& to) {
    const auto first = static_cast<std::ptrdiff_t>(to.order.size());
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(degrees.size()); ++at) to.order.push_back(base + at);
    const auto degree = [&](std::int32_t vertex) { return degrees[static_cast<std::size_t>(vertex - base)]; };
    std::stable_sort(to.order.begin() + first, to.order.end(), [&](std::int32_t a, std::int32_t b) { return degree(a) < degree(b); });
    to.roots.insert(to.roots.end(), to.order.begin() + first, to.order.end());
  }
  /// Degrees in the subgraph that was written last.
  static Ids left_degrees(const Neighbourhoods& of, std::size_t n) {
    Ids degrees;
    for (std::size_t i = of.indptr.size() - n; i < of.indptr.size(); ++i) degrees.push_back(static_cast<std::int32_t>(of.indptr[i] - of.indptr[i - 1]));
    return degrees;
  }
  static Ids right_degrees(const Neighbourhoods& of, std::size_t n_left, std::size_t n) {
    Ids degrees(n, 0);
    const auto base = static_cast<std::int32_t>(of.right.size() - n);
    for (auto e = static_cast<std::size_t>(of.indptr[of.indptr.size() - 1 - n_left]); e < of.indices.size(); ++e)
      ++degrees[static_cast<std::size_t>(of.indices[e] - base)];
    return degrees;
  }

  const Rows by_left_;
  const FewRows fresh_left_;
  const std::vector<char> reached_;
  const OwnRows right_rows_, fresh_right_rows_;
  const Rows by_right_;
  const FewRows fresh_right_;
  std::vector<Change> changes_;
  Ids change_of_left_, change_of_right_, change_of_edge_;
};

/// What appears through one change after the other, and what vanishes inside.
class Remains {
 public:
  /// Of the members of both sides of a subgraph.
  struct Degrees {
    const std::int32_t *left, *right;
  };
  /// `stopped` says whether what takes long is to end.
  Remains(const ChangedGraph& graph, const Limits& limits, std::function<bool()> stopped)
      : g_(graph), limits_(limits), stopped_(std::move(stopped)), seen_left_(g_.n_left()), seen_right_(g_.n_right()) {}

  /// The change whose n bicliques come next, with the sides of its subgraph and, where they are
  /// known, the degrees in it: these stay where they are.
  void change(std::int32_t number, std::size_t n_bicliques, Span left, Span right, Degrees degrees = {nullptr, nullptr}) {
    n_bicliques_ = n_bicliques, degrees_ = degrees;
    if (number == number_) {  // more of them: what is known of the subgraph stays
      is_right_known_ = is_right_known_ && beyond_right_.usable(), is_left_known_ = is_left_known_ && beyond_left_.usable();
      return;
    }
    number_ = number, change_ = g_.changes_[static_cast<std::size_t>(number)];
    left_side_ = left, right_side_ = right;
    left_place_ = place_in(left, change_.left), right_place_ = place_in(right, change_.right);
    is_right_known_ = is_left_known_ = false;
    find_new();
  }

  /// Is the change an edge, and known what its sides reach beyond the subgraph?
  bool sees_beyond() { return is_edge() && beyond_right() && beyond_left(); }
  /// Of a side, then: where the end of the change is, what the side reaches beyond, and what other
  /// new edges of the subgraph each member has: to the other end of the change (`kToEnd`), or to
  /// somebody else (`kInside`; those of the end itself are told by whom they lead to). A biclique
  /// has the change alone if it has none to an end, and no two members that share one inside.
  struct Seen {
    std::int32_t own;
    const Outside& beyond;
    const std::vector<char>& fresh;
  };
  static constexpr char kToEnd = 1, kInside = 2;
  /// Places on the right of the new edges of a left one.
  Span new_of(std::size_t left_place) const { return {new_.data() + new_start_[left_place], new_.data() + new_start_[left_place + 1]}; }
  Seen seen_from_left() const { return {left_place_, beyond_right_, left_new_}; }
  Seen seen_from_right() const { return {right_place_, beyond_left_, right_new_}; }

  /// Adds what vanishes inside of a biclique of the subgraph, if this change is the first one that
  /// it contains; says whether it is, and the biclique appeared. `one` tells its members, as places
  /// and as vertices. What vanishes here alone goes to `gone`, all else to `found`.
  template <class Biclique, class Gone>
  bool take(const Biclique& one, Gone& gone, FoundChanges& found) {
    const Places left = one.left_places, right = one.right_places;
    const std::size_t n_left = left.members.size(), n_right = right.members.size();
    if (!is_alone(left, right)) {
      if (!g_.is_first(number_, one.left, one.right)) return false;
      split_whole(left, right, found);
      return true;
    }
    if (n_left > 1 && limits_.accepts(n_left - 1, n_right)) {
      Outside* const outside = beyond_right(n_left);
      if (!(outside ? outside->reached_by_all(left, left_place_) : is_extended_right(one.left, one.right))) {
        if (outside && !outside->may_be_reached_anew(left, left_place_))
          gone.without_left(one, member(left, left_place_));
        else
          vanish(span_of(without(one.left, change_.left)), one.right, found);
      }
    }
    if (n_right > 1 && limits_.accepts(n_left, n_right - 1)) {
      Outside* const outside = beyond_left(n_right);
      if (!(outside ? outside->reached_by_all(right, right_place_) : is_extended_left(one.left, one.right))) {
        if (outside && !outside->may_be_reached_anew(right, right_place_))
          gone.without_right(one, member(right, right_place_));
        else
          vanish(one.left, span_of(without(one.right, change_.right)), found);
      }
    }
    return true;
  }

 private:
  /// Finds the new edges of the subgraph, as places in its sides. A biclique that has none beside
  /// the change has this change alone: a vertex that has new edges only would add one.
  void find_new() {
    new_start_.assign(1, 0), new_.clear();
    for (std::int32_t u : left_side_) {
      const std::int32_t* at = right_side_.first;
      for (std::int32_t v : g_.fresh_left_[u]) {
        at = std::lower_bound(at, right_side_.last, v);
        if (at == right_side_.last) break;
        if (*at == v) new_.push_back(static_cast<std::int32_t>(at - right_side_.first));
      }
      new_start_.push_back(static_cast<u32>(new_.size()));
    }
    if (is_edge()) mark_new();
  }
  void mark_new() {
    left_new_.assign(left_side_.size(), 0), right_new_.assign(right_side_.size(), 0);
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(left_side_.size()); ++place)
      for (const std::int32_t v : new_of(static_cast<std::size_t>(place))) {
        const bool from_end = place == left_place_, to_end = v == right_place_;
        if (!from_end) left_new_[static_cast<std::size_t>(place)] |= to_end ? kToEnd : kInside;
        if (!to_end) right_new_[static_cast<std::size_t>(v)] |= from_end ? kToEnd : kInside;
      }
  }
  bool is_edge() const { return change_.left >= 0 && change_.right >= 0; }
  bool is_alone(Places left, Places right) const {
    if (!is_edge()) return false;
    if (new_.size() == 1) return true;
    for (const std::int32_t member : left.members) {
      const std::int32_t place = member - left.base;
      for (const std::int32_t v : new_of(static_cast<std::size_t>(place)))
        if ((place != left_place_ || v != right_place_) && right.members.has(v + right.base)) return false;
    }
    return true;
  }
  /// Where a place stands among members.
  static std::size_t member(Places all, std::int32_t place) {
    return static_cast<std::size_t>(std::lower_bound(all.members.first, all.members.last, place + all.base) - all.members.first);
  }
  /// Without the end of the change on that side.
  bool is_extended_right(Span left, Span right) {
    return extends(without(left, change_.left), {right.begin(), right.end()}, g_.by_left_, g_.fresh_left_);
  }
  bool is_extended_left(Span left, Span right) {
    return extends(without(right, change_.right), {left.begin(), left.end()}, g_.by_right_, g_.fresh_right_);
  }
  static void vanish(Span left, Span right, FoundChanges& found) { found.vanish(left, right, hash_of(left, right)); }

  /// What the sides of the subgraph reach beyond it, where that fits into memory.
  Outside* beyond_right() {
    const std::int32_t* const degrees = change_.right >= 0 ? degrees_.left : nullptr;
    if (!is_right_known_) beyond_right_.fill(n_bicliques_, left_side_, degrees, right_side_, g_.by_left_, g_.fresh_left_, g_.by_right_, seen_right_, seen_left_);
    is_right_known_ = true;
    return beyond_right_.usable() ? &beyond_right_ : nullptr;
  }
  Outside* beyond_left() {
    const std::int32_t* const degrees = change_.left >= 0 ? degrees_.right : nullptr;
    if (!is_left_known_) beyond_left_.fill(n_bicliques_, right_side_, degrees, left_side_, g_.by_right_, g_.fresh_right_, g_.by_left_, seen_left_, seen_right_);
    is_left_known_ = true;
    return beyond_left_.usable() ? &beyond_left_ : nullptr;
  }
  /// The same for a biclique of so many members: one of the whole side may have some that were not
  /// read (outside.hpp).
  Outside* beyond_right(std::size_t n_left) { return n_left == left_side_.size() ? nullptr : beyond_right(); }
  Outside* beyond_left(std::size_t n_right) { return n_right == right_side_.size() ? nullptr : beyond_left(); }
  static std::int32_t place_in(Span side, std::int32_t vertex) {
    return static_cast<std::int32_t>(std::lower_bound(side.first, side.last, vertex) - side.first);
  }
  const Ids& without(Span all, std::int32_t one) {
    some_.resize(all.size());
    some_.erase(std::remove_copy(all.begin(), all.end(), some_.begin(), one), some_.end());
    return some_;
  }
  /// Takes one end of each new edge away, and keeps what is maximal in G.
  void split_whole(Places left, Places right, FoundChanges& to) {
    n_left_ = left.members.size(), n_right_ = right.members.size();
    stack_.clear(), out_.clear();
    for (const std::int32_t member : left.members) stack_.push_back(member - left.base);
    for (const std::int32_t member : right.members) stack_.push_back(member - right.base);
    split({0, n_left_}, {n_left_, n_left_ + n_right_}, 0, to);
  }
  /// Places in a side of the subgraph, ascending, from `first` to before `last` of the stack.
  struct Some {
    std::size_t first, last;
    std::size_t size() const { return last - first; }
  };
  Span span_of_some(Some some) const { return {stack_.data() + some.first, stack_.data() + some.last}; }

  /// Left vertices before `settled` have no new edge to the right ones any more. Of one that has,
  /// either the new neighbours go, which is a split of its own, or the vertex does, in a list of
  /// this split's own, whose front moves up. One that is out comes back where its new neighbours go
  /// as well: nothing below is maximal then.
  void split(Some left, Some right, std::size_t settled, FoundChanges& to) {
    if (!limits_.accepts(left.size(), right.size()) || brings_back(right)) return;
    const std::size_t bottom = stack_.size(), n_out = out_.size();
    while (settled < left.size() && limits_.accepts(left.size(), right.size())) {
      const std::int32_t u = stack_[left.first + settled];
      const Span fresh = new_of(static_cast<std::size_t>(u));
      if (fresh.size() == 0 || !meets(fresh, span_of_some(right))) {
        ++settled;
        continue;
      }
      if (stopped_()) return;
      const std::size_t top = stack_.size();
      for (std::size_t i = right.first; i < right.last; ++i)
        if (const std::int32_t v = stack_[i]; !fresh.has(v)) stack_.push_back(v);
      split(left, {top, stack_.size()}, settled + 1, to);
      stack_.resize(top);
      if (out_.size() == n_out) {
        for (std::size_t i = left.first; i < left.last; ++i) stack_.push_back(stack_[i]);
        left = {top, stack_.size()};
      }
      out_.push_back(u);
      const auto front = stack_.begin() + static_cast<std::ptrdiff_t>(left.first);
      std::move_backward(front, front + static_cast<std::ptrdiff_t>(settled), front + static_cast<std::ptrdiff_t>(settled) + 1);
      ++left.first;
    }
    if (limits_.accepts(left.size(), right.size())) keep(left, right, to);
    out_.resize(n_out), stack_.resize(bottom);
  }
  bool brings_back(Some right) const {
    return std::any_of(out_.rbegin(), out_.rend(), [&](std::int32_t u) { return !meets(new_of(static_cast<std::size_t>(u)), span_of_some(right)); });
  }
  void keep(Some left, Some right, FoundChanges& to) {
    if (is_extended(left, right)) return;
    const Ids &l = vertices(left, left_side_, some_left_), &r = vertices(right, right_side_, some_right_);
    vanish(span_of(l), span_of(r), to);
  }
  static bool meets(Span few, Span many) {
    return std::any_of(few.begin(), few.end(), [&](std::int32_t x) { return many.has(x); });
  }
  const Ids& vertices(Some places, Span side, Ids& to) const {
    to.clear();
    for (const std::int32_t place : span_of_some(places)) to.push_back(side.first[place]);
    return to;
  }

  /// Where only one side lost vertices, only the other can be extended: what could come back has a
  /// new edge to somebody who stayed.
  bool is_extended(Some left, Some right) {
    if (left.size() < n_left_) {
      Outside* const outside = beyond_right(n_left_);
      if (outside ? is_reached(*outside, left, right.size())
                  : extends(vertices(left, left_side_, some_left_), vertices(right, right_side_, some_right_), g_.by_left_, g_.fresh_left_))
        return true;
    }
    if (right.size() == n_right_) return false;
    Outside* const outside = beyond_left(n_right_);
    return outside ? is_reached(*outside, right, left.size())
                   : extends(vertices(right, right_side_, some_right_), vertices(left, left_side_, some_left_), g_.by_right_, g_.fresh_right_);
  }
  /// Is a vertex beside the n known ones adjacent in G to all of these members of a side?
  bool is_reached(Outside& outside, Some members, std::size_t n_known) const {
    const Places all{span_of_some(members), 0};
    return outside.n_inside(all.members) > n_known || outside.reached_by_all(all, -1);
  }

  /// Is there a vertex beside `others`, to whom all of `members` are adjacent, that they are in G?
  static bool extends(const Ids& members, const Ids& others, const Rows& rows, const FewRows& fresh) {
    std::int32_t least = members.front();
    for (const std::int32_t m : members) {
      if (rows[m].size() < rows[least].size()) least = m;
      if (rows[least].size() == others.size()) return false;  // adjacent to nobody else
    }
    const Span known = span_of(others);
    for (std::int32_t x : rows[least]) {
      if (known.has(x)) continue;
      const auto adjacent = [&](std::int32_t m) { return (m == least || rows[m].has(x)) && !fresh[m].has(x); };
      if (std::all_of(members.begin(), members.end(), adjacent)) return true;
    }
    return false;
  }

  const ChangedGraph& g_;
  const Limits limits_;  // rows are the left side
  const std::function<bool()> stopped_;
  Zeros<std::int32_t> seen_left_, seen_right_;
  std::int32_t number_ = -1;
  std::size_t n_bicliques_ = 0;
  Degrees degrees_{nullptr, nullptr};
  Change change_{-1, -1};
  std::vector<u32> new_start_;  // of each left vertex of the subgraph, among new_
  Ids new_;
  std::vector<char> left_new_, right_new_;  // beside the change (`Seen`)
  Span left_side_{}, right_side_{};
  std::size_t n_left_ = 0, n_right_ = 0;  // of the biclique that is split
  Ids stack_, out_, some_left_, some_right_;
  Outside beyond_right_, beyond_left_;
  bool is_right_known_ = false, is_left_known_ = false;
  std::int32_t left_place_ = 0, right_place_ = 0;  // of the ends of the change
  Ids some_;
};

}  // namespace bicliq
