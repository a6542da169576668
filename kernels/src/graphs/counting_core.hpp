// counting_core.hpp: the part of a bipartite graph that can hold a (p,q)-biclique, ready for
// counting on either side.
//
// A left vertex needs q neighbours and a right vertex p; whoever has fewer leaves, and so on in
// sweeps over the rows until a sweep removes less than a fiftieth of the edges (the rest is
// harmless: fewer vertices is a matter of speed, not of exactness). Then both sides are numbered by
// ascending degree, unless the order of a side is prescribed, and both adjacencies are written with
// ascending lists by two counting sorts. Either side can then hold the roots without further work.
// Time O(edges) a sweep, memory 8 bytes an edge. Not peeling.hpp: that takes up to 3 times as long,
// since it reads rows that are too short from the start, and keeps the places of those that went.
#pragma once

#include "graphs/csr.hpp"

#include <numeric>
#include <utility>

namespace bicliq {

struct CountSide : Csr<u64, u32> {
  std::uint32_t n = 0;
  std::vector<std::uint32_t> vertex;  // number in the input

  std::uint32_t degree(std::uint32_t v) const { return static_cast<std::uint32_t>(start[v + 1] - start[v]); }
  const std::uint32_t* begin(std::uint32_t v) const { return row.data() + start[v]; }
  const std::uint32_t* end(std::uint32_t v) const { return row.data() + start[v + 1]; }
  std::uint32_t largest_degree() const {
    std::uint32_t most = 0;
    for (std::uint32_t v = 0; v < n; ++v) most = std::max(most, degree(v));
    return most;
  }
};

struct CountGraph {
  CountSide left, right;
};

/// Numbers 0…n - 1 by ascending degree, or in their order; those without neighbours are left out.
inline std::vector<u32> order_of(const std::vector<u32>& degree, bool keep_order) {
  std::vector<u32> order;
  if (keep_order) {
    order.resize(degree.size());
    std::iota(order.begin(), order.end(), 0u);
  } else {
    order = ascending_degree(degree);
  }
  order.erase(std::remove_if(order.begin(), order.end(), [&](u32 v) { return degree[v] == 0; }), order.end());
  return order;
}

namespace core {

/// Rows of the left side that are left over.
struct Swept {
  std::vector<std::uint64_t> start{0};
  std::vector<std::uint32_t> left, right;  // vertex of each row; right ends of its edges
};

template <class Check>
Swept sweep_once(const Rows& all, u32 q, u32 p, const std::vector<u32>& degree, const Check& check) {
  Swept rows;
  rows.right.resize(all.n_edges());
  std::size_t out = 0;
  each_vertex(static_cast<u32>(all.n), check, [&](u32 u) {
    const std::size_t begin = out;
    if (all.degree(u) < q) return;
    for (const std::int32_t v : all[static_cast<std::int32_t>(u)]) {
      rows.right[out] = static_cast<u32>(v);
      out += degree[static_cast<u32>(v)] >= p;
    }
    if (out - begin < q || out == begin) {
      out = begin;
      return;
    }
    rows.left.push_back(u);
    rows.start.push_back(out);
  });
  rows.right.resize(out);
  return rows;
}

/// Removes what has become too small, in place; the number of edges that went.
template <class Check>
std::size_t sweep_again(Swept& rows, std::uint32_t q, std::uint32_t p, std::vector<std::uint32_t>& degree, const Check& check) {
  const std::size_t before = rows.right.size();
  std::fill(degree.begin(), degree.end(), 0u);
  each_edge(before, check, [&](std::uint64_t e) { ++degree[rows.right[e]]; });
  std::size_t out = 0, kept = 0, from = 0;
  each_vertex(static_cast<std::uint32_t>(rows.left.size()), check, [&](std::uint32_t r) {
    const std::size_t begin = out, to = rows.start[r + 1];
    for (; from < to; ++from) {
      const std::uint32_t v = rows.right[from];
      rows.right[out] = v;
      out += degree[v] >= p;
    }
    if (out - begin < q || out == begin) {
      out = begin;
      return;
    }
    rows.left[kept++] = rows.left[r];
    rows.start[kept] = out;
  });
  rows.left.resize(kept);
  rows.start.resize(kept + 1);
  rows.right.resize(out);
  return before - out;
}

inline void set_starts(CountSide& side, const std::vector<std::uint32_t>& degree_of_place) {
  side.start.assign(static_cast<std::size_t>(side.n) + 1, 0);
  for (std::uint32_t i = 0; i < side.n; ++i) side.start[i + 1] = side.start[i] + degree_of_place[i];
}

}  // namespace core

/// The core of a CSR matrix of the left side, both sides numbered as counting wants them. `check`
/// is called now and then, and may end it by an exception.
template <class Check>
CountGraph prepare_core(const Rows& all, u32 n_right, u32 p, u32 q, bool keep_left_order, bool keep_right_order, const Check& check) {
  std::vector<u32> degree = other_degrees(all, n_right, check);
  core::Swept rows = core::sweep_once(all, q, p, degree, check);
  const auto few = [&](std::size_t removed) { return removed <= rows.right.size() / 50; };
  if (!few(all.n_edges() - rows.right.size()))
    while (!few(core::sweep_again(rows, q, p, degree, check))) {}
  std::fill(degree.begin(), degree.end(), 0u);
  each_edge(rows.right.size(), check, [&](std::uint64_t e) { ++degree[rows.right[e]]; });

  CountGraph g;
  const auto n_rows = static_cast<std::uint32_t>(rows.left.size());
  std::vector<std::uint32_t> row_degree(n_rows), place_degree;
  for (std::uint32_t r = 0; r < n_rows; ++r) row_degree[r] = static_cast<std::uint32_t>(rows.start[r + 1] - rows.start[r]);
  const std::vector<std::uint32_t> row_order = order_of(row_degree, keep_left_order);

  g.right.vertex = order_of(degree, keep_right_order);
  g.right.n = static_cast<std::uint32_t>(g.right.vertex.size());
  g.left.n = n_rows;
  for (std::uint32_t r : row_order) g.left.vertex.push_back(rows.left[r]);
  for (std::uint32_t r : row_order) place_degree.push_back(row_degree[r]);
  core::set_starts(g.left, place_degree);
  place_degree.clear();
  for (std::uint32_t v : g.right.vertex) place_degree.push_back(degree[v]);
  core::set_starts(g.right, place_degree);

  std::vector<std::uint64_t> at(n_right);
  for (std::uint32_t c = 0; c < g.right.n; ++c) at[g.right.vertex[c]] = g.right.start[c];
  g.right.row.resize(rows.right.size());
  each_vertex(n_rows, check, [&](std::uint32_t r) {
    for (std::uint64_t e = rows.start[row_order[r]]; e < rows.start[row_order[r] + 1]; ++e) g.right.row[at[rows.right[e]]++] = r;
  });
  std::vector<std::uint64_t> to(g.left.start.begin(), g.left.start.end() - 1);
  g.left.row = std::move(rows.right);  // memory of the same size that is needed no more
  each_vertex(g.right.n, check, [&](std::uint32_t c) {
    for (const std::uint32_t* r = g.right.begin(c); r != g.right.end(c); ++r) g.left.row[to[*r]++] = c;
  });
  return g;
}

}  // namespace bicliq
