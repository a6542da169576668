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
// away (remains.hpp), where nothing extends it in G. Cost: (1) the paths of two edges over the
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

#include "changes/outside.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
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

}  // namespace bicliq
