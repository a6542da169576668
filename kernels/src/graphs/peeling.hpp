// peeling.hpp: what is left of a graph when vertices of too few edges are taken away, again and
// again, and the paths of two edges from each vertex.
//
// What it does: writes the rows of a core, over those of the graph or elsewhere. Input: rows of
// the left side, and the least degrees of both sides. Method: passes over the rows that are left,
// each of which drops edges to right vertices that have too few, and rows that then have too few
// themselves, whose edges count no more from that moment on; until a pass drops nothing.
// Cost: the edges that are left, a pass, and 8 bytes a vertex. Papers: Batagelj and Zaversnik, An
// O(m) algorithm for cores decomposition of networks, 2003 (by one vertex at a time); Ding et al.,
// Efficient fault-tolerant group recommendation using alpha-beta-core, 2017.
#pragma once

#include "graphs/csr.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace bicliq {

struct Peeled {
  std::vector<std::int64_t> start;  // of the rows that are left
  std::int64_t rounds = 0;          // passes that dropped something
};

/// `to` has room for all edges, and may be where they are; `degree` is that of the right vertices,
/// and then right for those that stay. `check` is called now and then, and may end it by an
/// exception.
template <class Check>
Peeled peel(const Rows& rows, std::int32_t* to, std::vector<u32>& degree, std::int64_t least_left, std::int64_t least_right, const Check& check) {
  Peeled found{std::vector<std::int64_t>(rows.start, rows.start + rows.n + 1), 0};
  const std::int32_t* row = rows.row;
  for (bool again = true; again; row = to) {  // until no vertex falls below its bound
    again = false;
    std::int64_t begin = 0, end = 0;
    each_vertex(static_cast<u32>(rows.n), check, [&](u32 u) {
      const std::int64_t last = found.start[u + std::size_t{1}], first = end;
      for (; begin < last; ++begin) {
        const std::int32_t v = row[begin];
        to[end] = v;
        end += std::int64_t{degree[static_cast<u32>(v)]} >= least_right;
      }
      if (end - first < least_left) {  // the edges of a row that goes are taken from those that stay
        for (std::int64_t e = first; e < end; ++e) again |= --degree[static_cast<u32>(to[e])] + std::int64_t{1} == least_right;
        end = first;
      }
      found.start[u + std::size_t{1}] = end;
    });
    found.rounds += end < begin;
  }
  return found;
}

/// The same with its vertices numbered anew.
struct Core {
  bool is_whole = false;           // nothing goes: then there are no rows here, and no old numbers
  OwnRows rows;                    // of the left side
  std::vector<std::int32_t> left;  // old numbers, ascending
  std::vector<std::int32_t> right;
  std::vector<u32> right_degrees;
};

template <class Check>
Core core_of(const Rows& rows, std::size_t n_right, std::int64_t least_left, std::int64_t least_right, const Check& check) {
  Core core;
  std::vector<u32>& degree = core.right_degrees = other_degrees(rows, n_right, check);
  core.is_whole = std::all_of(degree.begin(), degree.end(), [=](u32 d) { return d >= least_right; });
  for (u32 u = 0; core.is_whole && u < rows.n; ++u) core.is_whole = rows.degree(u) >= least_left;
  if (core.is_whole) return core;
  const std::unique_ptr<std::int32_t[]> to(new std::int32_t[rows.n_edges()]);
  const std::vector<std::int64_t> start = peel(rows, to.get(), degree, least_left, least_right, check).start;
  std::vector<std::int32_t> number(n_right);
  u32 n = 0;
  for (std::size_t v = 0; v < n_right; ++v) {
    if (degree[v] < least_right) continue;
    core.right.push_back(static_cast<std::int32_t>(v));
    degree[n] = degree[v];
    number[v] = static_cast<std::int32_t>(n++);
  }
  degree.resize(n);
  core.rows.start.assign(1, 0);
  for (u32 u = 0; u < rows.n; ++u) {
    if (start[u] == start[u + std::size_t{1}]) continue;
    core.left.push_back(static_cast<std::int32_t>(u));
    core.rows.start.push_back(start[u + std::size_t{1}]);
  }
  core.rows.row.resize(static_cast<std::size_t>(start.back()));
  each_edge(core.rows.row.size(), check, [&](u64 e) { core.rows.row[e] = number[static_cast<u32>(to[e])]; });
  return core;
}

/// For each vertex the sum of the degrees of its neighbours.
struct PathCounts {
  std::vector<std::int64_t> left, right;
};

template <class Check>
PathCounts count_paths(const Rows& rows, std::size_t n_right, const Check& check) {
  PathCounts found{std::vector<std::int64_t>(rows.n, 0), std::vector<std::int64_t>(n_right, 0)};
  const std::vector<u32> degree = other_degrees(rows, n_right, check);
  each_vertex(static_cast<u32>(rows.n), check, [&](u32 u) {
    std::int64_t sum = 0;
    for (std::int32_t v : rows[static_cast<std::int32_t>(u)]) {
      sum += degree[static_cast<u32>(v)];
      found.right[static_cast<u32>(v)] += rows.degree(u);
    }
    found.left[u] = sum;
  });
  return found;
}

// ---- Which vertices of a bipartite graph are connected.
//
// What it does: gives each vertex the number of the first vertex that it is connected with, left
// before right. Input: rows of the left side, in any order. Method: a forest in which every vertex
// hangs below a smaller one; an edge joins the two trees of its ends, and halves the ways up that
// it takes. Rows are visited in their order, so the trees that remain stay flat. Cost: about one
// step up an edge, and 4 bytes a vertex. Papers: Tarjan, van Leeuwen, Worst-case analysis of set
// union algorithms, 1984 (path halving); Patwary, Blair, Manne, Experiments on union-find
// algorithms for the disjoint-set data structure, 2010 (linking by index).

class Forest {
 public:
  explicit Forest(std::size_t n) : above_(n) { std::iota(above_.begin(), above_.end(), 0u); }

  u32 top(u32 v) {
    while (above_[v] != v) v = above_[v] = above_[above_[v]];
    return v;
  }
  /// Joins two trees, given by their tops; returns the top of both.
  u32 join(u32 a, u32 b) {
    const u32 least = a < b ? a : b;
    above_[a] = above_[b] = least;
    return least;
  }
  std::vector<u32> take() { return std::move(above_); }

 private:
  std::vector<u32> above_;
};

/// The first vertex of each vertex's component; right vertices follow the left ones, and there are
/// less than 2^32 of both. `check` is called now and then, and may end it by an exception.
template <class Check>
std::vector<u32> first_of_component(const Rows& rows, u32 n_right, const Check& check) {
  const u32 n_left = static_cast<u32>(rows.n), n = n_left + n_right;
  Forest forest(n);
  each_vertex(n_left, check, [&](u32 u) {
    u32 top = forest.top(u);
    for (std::int32_t v : rows[static_cast<std::int32_t>(u)]) {
      const u32 other = forest.top(n_left + static_cast<u32>(v));
      if (other != top) top = forest.join(top, other);
    }
  });
  std::vector<u32> found = forest.take();
  each_vertex(n, check, [&](u32 v) { found[v] = found[found[v]]; });  // smaller ones are done
  return found;
}

}  // namespace bicliq
