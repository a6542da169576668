// graph.hpp: the graph as every search sees it, and the way there from a CSR matrix.
//
// One side of the bipartite graph is enumerated: its vertices are the *columns*, and every search
// is rooted at one of them. The other side gives the *rows*. Columns are numbered in search order
// (ascending degree, ties by id), rows keep their order, and both adjacency lists are ascending.
// Preparation is two counting passes (scatter.hpp): O(edges + vertices) time, 8 bytes an edge.
#pragma once

#include "graphs/passes.hpp"
#include "graphs/scatter.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace bicliq {

struct Graph {
  std::uint32_t n_rows = 0, n_columns = 0;
  std::vector<std::uint64_t> row_start, column_start;
  std::vector<std::uint32_t> row_columns, column_rows;
  std::vector<std::uint64_t> row_signature;     // a bit for each column's hash: a subset of columns is a subset of bits
  std::vector<std::uint32_t> vertex_of_column;  // search order -> vertex of the enumerated side

  std::uint32_t column_degree(std::uint32_t c) const {
    return static_cast<std::uint32_t>(column_start[c + 1] - column_start[c]);
  }
  std::uint32_t row_degree(std::uint32_t r) const {
    return static_cast<std::uint32_t>(row_start[r + 1] - row_start[r]);
  }
};

/// Vertices in ascending order of degree, ties by number (a counting sort).
inline std::vector<std::uint32_t> ascending_degree(const std::vector<std::uint32_t>& degree) {
  std::uint32_t largest = 0;
  for (std::uint32_t d : degree) largest = d > largest ? d : largest;
  std::vector<std::uint32_t> place(static_cast<std::size_t>(largest) + 2, 0), order(degree.size());
  for (std::uint32_t d : degree) ++place[d + 1];
  for (std::size_t d = 1; d < place.size(); ++d) place[d] += place[d - 1];
  for (std::uint32_t v = 0; v < degree.size(); ++v) order[place[degree[v]]++] = v;
  return order;
}

/// Turns the CSR matrix of the left side (rows sorted, unique) into the searched form.
/// `columns_are_left` says which side is enumerated; `order` are its vertices in search order, all
/// of them; none: by ascending degree. `check` is called now and then, and may end it by an
/// exception.
template <class Check>
Graph prepare(const std::int64_t* indptr, const std::int32_t* indices, std::uint32_t n_left, std::uint32_t n_right,
              bool columns_are_left, std::vector<std::uint32_t> order, const Check& check) {
  Graph g;
  g.n_rows = columns_are_left ? n_right : n_left;
  g.n_columns = columns_are_left ? n_left : n_right;
  const std::size_t n_edges = static_cast<std::size_t>(indptr[n_left]);

  std::vector<std::uint32_t> degree(g.n_columns, 0);
  if (columns_are_left)
    each_vertex(n_left, check, [&](std::uint32_t v) { degree[v] = static_cast<std::uint32_t>(indptr[v + 1] - indptr[v]); });
  else
    each_edge(n_edges, check, [&](std::uint64_t e) { ++degree[static_cast<std::uint32_t>(indices[e])]; });

  g.vertex_of_column = order.empty() ? ascending_degree(degree) : std::move(order);
  std::vector<std::uint32_t> column_of(g.n_columns);
  g.column_start.assign(std::size_t{g.n_columns} + 1, 0);
  each_vertex(g.n_columns, check, [&](std::uint32_t c) {
    column_of[g.vertex_of_column[c]] = c;
    g.column_start[c + 1] = g.column_start[c] + degree[g.vertex_of_column[c]];
  });

  g.column_rows.resize(n_edges);
  if (columns_are_left) {
    each_vertex(g.n_columns, check, [&](std::uint32_t c) {
      const std::uint32_t v = g.vertex_of_column[c];
      for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e)
        g.column_rows[g.column_start[c] + static_cast<std::uint64_t>(e - indptr[v])] = static_cast<std::uint32_t>(indices[e]);
    });
  } else {
    std::vector<std::uint64_t> at(g.column_start.begin(), g.column_start.end() - 1);
    Scatter scatter(at.data(), at.size(), g.column_rows.data(), n_edges);
    each_vertex(n_left, check, [&](std::uint32_t u) {
      for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) scatter.add(column_of[static_cast<std::uint32_t>(indices[e])], u);
    });
  }

  g.row_start.assign(std::size_t{g.n_rows} + 1, 0);
  each_edge(n_edges, check, [&](std::uint64_t e) { ++g.row_start[std::size_t{g.column_rows[e]} + 1]; });
  each_vertex(g.n_rows, check, [&](std::uint32_t r) { g.row_start[r + 1] += g.row_start[r]; });
  g.row_columns.resize(n_edges);
  g.row_signature.assign(g.n_rows, 0);
  std::vector<std::uint64_t> at(g.row_start.begin(), g.row_start.end() - 1);
  {
    Scatter scatter(at.data(), at.size(), g.row_columns.data(), n_edges);
    each_vertex(g.n_columns, check, [&](std::uint32_t c) {
      const std::uint64_t bit = std::uint64_t{1} << (c * 0x9e3779b97f4a7c15ull >> 58);
      for (std::uint64_t e = g.column_start[c]; e < g.column_start[c + 1]; ++e) {
        const std::uint32_t r = g.column_rows[e];
        scatter.add(r, c);
        g.row_signature[r] |= bit;
      }
    });
  }
  return g;
}

}  // namespace bicliq
