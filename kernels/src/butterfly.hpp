// butterfly.hpp: complete 2×2 subgraphs (butterflies), all of them, of each vertex and of each edge.
//
// Input: a CSR matrix of the left side; all vertices of both sides are ranked together by ascending degree. Method:
// every butterfly has one vertex of highest rank, u; the paths u–v–w through vertices of lower rank are counted at their
// ends w, and c paths to one w make C(c, 2) butterflies. Each of these paths lies in c - 1 of them, which gives the
// counts of its middle vertex and of its two edges. Time O(Σ over edges of the smaller degree), memory O(vertices +
// edges). Counts of one vertex or edge are 64 bits wide, enough for 2^33 edges (edges × largest degree / 2 bounds them).
// Paper: BFC-VP (Wang et al., PVLDB 2019).
#pragma once

#include "core.hpp"
#include "wide.hpp"


namespace bicliq {

class Butterflies {
 public:
  Butterflies(const std::int64_t* indptr, const std::int32_t* indices, std::uint32_t n_left, std::uint32_t n_right)
      : n_left_(n_left), n_(n_left + n_right), rank_(n_), start_(static_cast<std::size_t>(n_) + 1, 0) {
    const auto m = static_cast<std::uint64_t>(indptr[n_left]);
    std::vector<std::uint32_t> degree(n_, 1);
    for (std::uint32_t u = 0; u < n_left; ++u) degree[u] += static_cast<std::uint32_t>(indptr[u + 1] - indptr[u]);
    for (std::uint64_t e = 0; e < m; ++e) ++degree[n_left + static_cast<std::uint32_t>(indices[e])];
    vertex_ = core::order_by(degree, false);
    for (std::uint32_t i = 0; i < n_; ++i) rank_[vertex_[i]] = i;
    for (std::uint32_t i = 0; i < n_; ++i) start_[i + 1] = start_[i] + degree[vertex_[i]] - 1;
    fill(indptr, indices, m);
  }

  /// All butterflies; with `parts`, those of each vertex and each edge too (see `of_vertex`, `of_edge`).
  u128 count(bool parts) {
    u128 total = 0;
    std::vector<std::uint32_t> paths(n_, 0), ends(n_ + 1);
    if (parts) {
      of_vertex.assign(n_, 0);
      of_edge.assign(edge_.size() / 2, 0);
    }
    for (std::uint32_t u = 0; u < n_; ++u) {
      const std::uint32_t n = walk(u, paths, ends);
      if (parts) share(u, paths);
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint64_t c = paths[ends[i]], made = c * (c - 1) / 2;
        total += made;
        if (parts) of_vertex[vertex_[u]] += made, of_vertex[vertex_[ends[i]]] += made;
        paths[ends[i]] = 0;
      }
    }
    return total;
  }
  std::vector<std::uint64_t> of_vertex;  // left vertices, then right ones
  std::vector<std::uint64_t> of_edge;    // in the order of `indices`

 private:
  void fill(const std::int64_t* indptr, const std::int32_t* indices, std::uint64_t m) {
    adjacent_.resize(2 * m);
    edge_.resize(2 * m);
    std::vector<std::uint64_t> number(m);
    std::vector<std::uint64_t> right_start(n_ - n_left_ + 1, 0), at;
    for (std::uint64_t e = 0; e < m; ++e) ++right_start[static_cast<std::uint32_t>(indices[e]) + 1];
    std::partial_sum(right_start.begin(), right_start.end(), right_start.begin());
    at.assign(right_start.begin(), right_start.end() - 1);
    std::vector<std::uint32_t> left_of(m);
    for (std::uint32_t u = 0; u < n_left_; ++u)
      for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) {
        const std::uint64_t slot = at[static_cast<std::uint32_t>(indices[e])]++;
        left_of[slot] = u;
        number[slot] = static_cast<std::uint64_t>(e);
      }
    std::vector<std::uint64_t> to(start_.begin(), start_.end() - 1);
    const auto append = [&](std::uint32_t owner, std::uint32_t neighbour, std::uint64_t e) {
      adjacent_[to[rank_[owner]]] = neighbour;
      edge_[to[rank_[owner]]++] = e;
    };
    for (std::uint32_t i = 0; i < n_; ++i) {  // by ascending rank: every list comes out sorted
      const std::uint32_t v = vertex_[i];
      if (v < n_left_)
        for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e)
          append(n_left_ + static_cast<std::uint32_t>(indices[e]), i, static_cast<std::uint64_t>(e));
      else
        for (std::uint64_t s = right_start[v - n_left_]; s < right_start[v - n_left_ + 1]; ++s) append(left_of[s], i, number[s]);
    }
  }
  /// Counts the paths from u through lower ranks; returns the number of their ends.
  std::uint32_t walk(std::uint32_t u, std::vector<std::uint32_t>& paths, std::vector<std::uint32_t>& ends) const {
    std::uint32_t n = 0;
    for (std::uint64_t a = start_[u]; a < start_[u + 1] && adjacent_[a] < u; ++a)
      for (std::uint64_t b = start_[adjacent_[a]]; adjacent_[b] < u; ++b) {
        ends[n] = adjacent_[b];
        n += paths[adjacent_[b]]++ == 0;
      }
    return n;
  }
  /// Gives the middles and the edges of the paths from u their butterflies.
  void share(std::uint32_t u, const std::vector<std::uint32_t>& paths) {
    for (std::uint64_t a = start_[u]; a < start_[u + 1] && adjacent_[a] < u; ++a)
      for (std::uint64_t b = start_[adjacent_[a]]; adjacent_[b] < u; ++b) {
        const std::uint64_t others = paths[adjacent_[b]] - 1;
        of_vertex[vertex_[adjacent_[a]]] += others;
        of_edge[edge_[a]] += others;
        of_edge[edge_[b]] += others;
      }
  }

  const std::uint32_t n_left_, n_;
  std::vector<std::uint32_t> rank_, vertex_, adjacent_;
  std::vector<std::uint64_t> start_, edge_;
};

}  // namespace bicliq
