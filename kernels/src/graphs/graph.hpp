// graph.hpp: the graph as every search sees it, and the way there from a CSR matrix.
//
// One side of the bipartite graph is enumerated: its vertices are the *columns*, and every search
// is rooted at one of them. The other side gives the *rows*. Columns are numbered in search order
// (ascending degree, ties by id), rows keep their order, and both adjacency lists are ascending.
// Preparation is two counting passes (csr.hpp): O(edges + vertices) time, 8 bytes an edge.
#pragma once

#include "graphs/csr.hpp"

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
  const Rows left{indptr, indices, n_left};

  std::vector<std::uint32_t> degree = columns_are_left ? degrees(left) : other_degrees(left, n_right, check);

  g.vertex_of_column = order.empty() ? ascending_degree(degree) : std::move(order);
  if (columns_are_left) {
    g.column_start.assign(1, 0);
    g.column_rows.reserve(left.n_edges());
    each_vertex(g.n_columns, check, [&](std::uint32_t c) {
      const Span row = left[static_cast<std::int32_t>(g.vertex_of_column[c])];
      g.column_rows.insert(g.column_rows.end(), row.begin(), row.end());
      g.column_start.push_back(g.column_rows.size());
    });
  } else {
    std::vector<std::uint32_t> column_of(g.n_columns);
    each_vertex(g.n_columns, check, [&](std::uint32_t c) { column_of[g.vertex_of_column[c]] = c; });
    auto columns = gathered<u64, u32>(g.n_columns, [&](std::size_t c) { return degree[g.vertex_of_column[c]]; }, [&](const auto& tell) {
      each_vertex(n_left, check, [&](std::uint32_t u) {
        for (std::int32_t v : left[static_cast<std::int32_t>(u)]) tell(column_of[static_cast<std::uint32_t>(v)], u);
      });
    });
    g.column_start = std::move(columns.start), g.column_rows = std::move(columns.row);
  }

  degree = columns_are_left ? other_degrees(left, n_right, check) : degrees(left);
  g.row_signature.assign(g.n_rows, 0);
  auto rows = gathered<u64, u32>(g.n_rows, [&](std::size_t r) { return degree[r]; }, [&](const auto& tell) {
    each_vertex(g.n_columns, check, [&](std::uint32_t c) {
      const std::uint64_t bit = std::uint64_t{1} << (c * 0x9e3779b97f4a7c15ull >> 58);
      for (std::uint64_t e = g.column_start[c]; e < g.column_start[c + 1]; ++e) {
        tell(g.column_rows[e], c);
        g.row_signature[g.column_rows[e]] |= bit;
      }
    });
  });
  g.row_start = std::move(rows.start), g.row_columns = std::move(rows.row);
  return g;
}

}  // namespace bicliq
