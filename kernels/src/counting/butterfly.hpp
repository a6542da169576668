// butterfly.hpp: complete 2×2 subgraphs (butterflies), all of them, of each vertex and of each
// edge.
//
// Input: a CSR matrix of the left side; all vertices of both sides are ranked together by ascending
// degree. Method: every butterfly has one vertex of highest rank, u; the paths u–v–w through
// vertices of lower rank are counted at their ends w, and c paths to one w make C(c, 2)
// butterflies. Each of these paths lies in c - 1 of them, which gives the counts of its middle
// vertex and of its two edges. A vertex u is a root of open_roots.hpp; threads share the counts of
// vertices and edges, which are added to atomically. Time O(sum over edges of the smaller degree),
// memory O(vertices + edges). Counts of one vertex or edge are 64 bits wide; `parts_fit` says
// whether that is enough (edges × largest degree bounds them). Paper: BFC-VP (Wang et al., PVLDB
// 2019).
#pragma once

#include "graphs/counting_core.hpp"
#include "counting/count128.hpp"

namespace bicliq {

/// Both sides of a graph as one, vertices by ascending degree.
class RankedGraph {
 public:
  /// `check` is called now and then, and may end it by an exception.
  template <class Check>
  RankedGraph(const Rows& rows, std::uint32_t n_right, const Check& check)
      : n_left_(static_cast<u32>(rows.n)), n_(n_left_ + n_right), rank_(n_), start_(static_cast<std::size_t>(n_) + 1, 0) {
    std::vector<u32> degree = degrees(rows);
    const std::vector<u32> of_right = other_degrees(rows, n_right, check);
    degree.insert(degree.end(), of_right.begin(), of_right.end());
    vertex_ = ascending_degree(degree);
    for (std::uint32_t i = 0; i < n_; ++i) rank_[vertex_[i]] = i;
    for (std::uint32_t i = 0; i < n_; ++i) start_[i + 1] = start_[i] + degree[vertex_[i]];
    if (n_ > 0) largest_ = degree[vertex_[n_ - 1]];
    fill(rows.start, rows.row, rows.n_edges(), check);
  }
  std::uint32_t n() const { return n_; }
  std::uint64_t n_edges() const { return edge_.size() / 2; }
  bool parts_fit() const { return checked_product(n_edges(), largest_) <= ~std::uint64_t{0}; }

  // Places are ranks; lists are ascending.
  std::uint64_t begin(std::uint32_t u) const { return start_[u]; }
  std::uint64_t end(std::uint32_t u) const { return start_[u + 1]; }
  std::uint32_t adjacent(std::uint64_t a) const { return adjacent_[a]; }
  std::uint64_t edge(std::uint64_t a) const { return edge_[a]; }
  std::uint32_t vertex(std::uint32_t u) const { return vertex_[u]; }

 private:
  template <class Check>
  void fill(const std::int64_t* indptr, const std::int32_t* indices, std::uint64_t m, const Check& check) {
    adjacent_.resize(2 * m);
    edge_.resize(2 * m);
    std::vector<std::uint64_t> number(m);
    std::vector<std::uint64_t> right_start(static_cast<std::size_t>(n_ - n_left_) + 1, 0), at;
    each_edge(m, check, [&](std::uint64_t e) { ++right_start[static_cast<std::uint32_t>(indices[e]) + 1]; });
    std::partial_sum(right_start.begin(), right_start.end(), right_start.begin());
    at.assign(right_start.begin(), right_start.end() - 1);
    std::vector<std::uint32_t> left_of(m);
    each_vertex(n_left_, check, [&](std::uint32_t u) {
      for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) {
        const std::uint64_t slot = at[static_cast<std::uint32_t>(indices[e])]++;
        left_of[slot] = u;
        number[slot] = static_cast<std::uint64_t>(e);
      }
    });
    std::vector<std::uint64_t> to(start_.begin(), start_.end() - 1);
    const auto append = [&](std::uint32_t owner, std::uint32_t neighbour, std::uint64_t e) {
      adjacent_[to[rank_[owner]]] = neighbour;
      edge_[to[rank_[owner]]++] = e;
    };
    each_vertex(n_, check, [&](std::uint32_t i) {  // by ascending rank: every list comes out sorted
      const std::uint32_t v = vertex_[i];
      if (v < n_left_)
        for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e)
          append(n_left_ + static_cast<std::uint32_t>(indices[e]), i, static_cast<std::uint64_t>(e));
      else
        for (std::uint64_t s = right_start[v - n_left_]; s < right_start[v - n_left_ + 1]; ++s) append(left_of[s], i, number[s]);
    });
  }
  const std::uint32_t n_left_, n_;
  std::uint64_t largest_ = 0;
  std::vector<std::uint32_t> rank_, vertex_, adjacent_;
  std::vector<std::uint64_t> start_, edge_;
};

struct ButterflyCounts {
  explicit ButterflyCounts(const RankedGraph& g) : of_vertex(g.n(), 0), of_edge(g.n_edges(), 0) {}
  std::vector<std::uint64_t> of_vertex;  // left vertices, then right ones
  std::vector<std::uint64_t> of_edge;    // in the order of `indices`
};

/// One thread of a count; with `counts`, of each vertex and edge too.
class Butterflies {
 public:
  Butterflies(const RankedGraph& graph, ButterflyCounts* counts)
      : graph_(graph), counts_(counts), paths_(graph.n(), 0), ends_(static_cast<std::size_t>(graph.n()) + 1) {}

  u128 total = 0;  // at most edges squared: fits

  /// Counts the butterflies whose vertex of highest rank is u; nothing is left to branch on.
  std::uint32_t open(std::uint32_t u) {
    const std::uint32_t n = walk(u);
    if (counts_) share(u);
    u128 of_u = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t c = paths_[ends_[i]], made = c * (c - 1) / 2;
      paths_[ends_[i]] = 0;
      of_u += made;
      if (counts_ && made) add(counts_->of_vertex[graph_.vertex(ends_[i])], made);
    }
    total += of_u;
    if (counts_ && of_u) add(counts_->of_vertex[graph_.vertex(u)], static_cast<std::uint64_t>(of_u));
    return 0;
  }
  void step(const Butterflies&, std::uint32_t) {}

 private:
  static void add(std::uint64_t& to, std::uint64_t x) { __atomic_fetch_add(&to, x, __ATOMIC_RELAXED); }

  /// Counts the paths from u through lower ranks; returns the number of their ends.
  std::uint32_t walk(std::uint32_t u) {
    std::uint32_t n = 0;
    for (std::uint64_t a = graph_.begin(u); a < graph_.end(u) && graph_.adjacent(a) < u; ++a) {
      const std::uint32_t v = graph_.adjacent(a);
      for (std::uint64_t b = graph_.begin(v); graph_.adjacent(b) < u; ++b) {
        ends_[n] = graph_.adjacent(b);
        n += paths_[graph_.adjacent(b)]++ == 0;
      }
    }
    return n;
  }
  /// Gives the middles and the edges of the paths from u their butterflies.
  void share(std::uint32_t u) {
    for (std::uint64_t a = graph_.begin(u); a < graph_.end(u) && graph_.adjacent(a) < u; ++a) {
      const std::uint32_t v = graph_.adjacent(a);
      std::uint64_t of_middle = 0;
      for (std::uint64_t b = graph_.begin(v); graph_.adjacent(b) < u; ++b) {
        const std::uint64_t others = paths_[graph_.adjacent(b)] - 1;
        of_middle += others;
        if (others) add(counts_->of_edge[graph_.edge(b)], others);
      }
      if (!of_middle) continue;
      add(counts_->of_vertex[graph_.vertex(v)], of_middle);
      add(counts_->of_edge[graph_.edge(a)], of_middle);
    }
  }

  const RankedGraph& graph_;
  ButterflyCounts* const counts_;
  std::vector<std::uint32_t> paths_, ends_;
};

}  // namespace bicliq
