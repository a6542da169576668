// search_lists.hpp: the lists that a search on a device reads, made there.
//
// Input: a `SearchLists`, written by kernels/cuda/search_graph.py: a CSR matrix of the left side.
//
// Method: steps, of which each does the same for many items, whatever their order; between them the
// driver sorts words. Sorted by degree, then number, columns have their search order; edges, by
// column and by row, are both adjacency lists. An edge's place in its row's list is found by
// bisection.
//
// Cost: O(edges × log degree), beside three sorts; 40 bytes an edge. No step needs another program
// than this one, which comes with Bicliq: an array library's kernels are compiled where they run.
#pragma once

#include "lanes/shared_words.hpp"
#include "lanes/sorted_words.hpp"

namespace bicliq {

/// In their order; kernels/cuda/search_program.py numbers them too.
enum class ListStep : u32 { kDegrees, kRanks, kEdges, kLists, kPlaces };

/// Everything the steps are told; 64-bit fields only. kernels/cuda/search_program.py describes it
/// too.
struct SearchLists {
  const i64* indptr;
  const i32* indices;
  u64* degrees;  // of each column's vertex, above its number; zeros, then in search order
  u32* rank;     // of each column's vertex
  u64 *by_column, *by_row;  // edges: column above row, and row above column; sorted
  u64 *column_start, *row_start;
  u32 *column_rows, *row_columns;
  u32* places;              // of each edge of a column: the column's place in the row's list
  u64* edges_in_two_steps;  // of each column: the edges of its rows; zeros
  u64 n_left, n_columns, n_rows, n_edges, columns_are_left;
};

class ListSteps {
 public:
  explicit ListSteps(const SearchLists& lists) : g_(lists) {}

  /// Takes a step for the items of one of some threads.
  void take(ListStep step, u64 thread, u64 n_threads) const {
    const u64 n = n_items(step);
    for (u64 i = thread; i < n; i += n_threads) take(step, i);
  }

 private:
  u64 n_items(ListStep step) const {
    switch (step) {
      case ListStep::kDegrees: return g_.n_columns + g_.n_edges;
      case ListStep::kRanks: return g_.n_columns;
      case ListStep::kLists: return g_.n_edges + g_.n_columns + 1 + g_.n_rows + 1;
      default: return g_.n_edges;
    }
  }
  void take(ListStep step, u64 i) const {
    switch (step) {
      case ListStep::kDegrees: return add_degree(i);
      case ListStep::kRanks: g_.rank[low_half(g_.degrees[i])] = static_cast<u32>(i); return;
      case ListStep::kEdges: return pair(i);
      case ListStep::kLists: return list(i);
      case ListStep::kPlaces: return place(i);
    }
  }
  void add_degree(u64 i) const {
    if (i >= g_.n_columns) {
      if (!g_.columns_are_left) add_alone(g_.degrees + g_.indices[i - g_.n_columns], word_of(1, 0));
    } else {
      const u64 degree = g_.columns_are_left ? static_cast<u64>(g_.indptr[i + 1] - g_.indptr[i]) : 0;
      add_alone(g_.degrees + i, word_of(static_cast<u32>(degree), static_cast<u32>(i)));
    }
  }
  void pair(u64 edge) const {
    const u32 left = row_of(g_.indptr, g_.n_left, edge), right = static_cast<u32>(g_.indices[edge]);
    const u32 column = g_.rank[g_.columns_are_left ? left : right], row = g_.columns_are_left ? right : left;
    g_.by_column[edge] = word_of(column, row);
    g_.by_row[edge] = word_of(row, column);
  }
  void list(u64 i) const {
    if (i < g_.n_edges) {
      g_.column_rows[i] = low_half(g_.by_column[i]);
      g_.row_columns[i] = low_half(g_.by_row[i]);
    } else if ((i -= g_.n_edges) <= g_.n_columns) {
      g_.column_start[i] = n_below(g_.by_column, g_.n_edges, i << 32);
    } else {
      i -= g_.n_columns + 1;
      g_.row_start[i] = n_below(g_.by_row, g_.n_edges, i << 32);
    }
  }
  void place(u64 edge) const {
    const u32 column = high_half(g_.by_column[edge]), row = g_.column_rows[edge];
    const u64 first = g_.row_start[row], n = g_.row_start[row + 1] - first;
    g_.places[edge] = static_cast<u32>(n_below(g_.row_columns + first, n, column));
    add_alone(g_.edges_in_two_steps + column, n);
  }

  const SearchLists& g_;
};

}  // namespace bicliq
