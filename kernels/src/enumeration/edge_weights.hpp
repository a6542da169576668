// edge_weights.hpp: weights of a graph's edges, by row, and what is left of them while a cover
// grows.
//
// Only edges with a weight other than 0 are kept, so that what is covered costs nothing any more.
#pragma once

#include "enumeration/core_parts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

class EdgeWeights {
 public:
  EdgeWeights() = default;
  /// `weights` are those of the CSR matrix that the part was cut from, edge by edge.
  EdgeWeights(const CorePart& part, const Graph& graph, bool columns_are_left, const std::int64_t* indptr,
              const std::int32_t* indices, const i64* weights)
      : rows_(graph.n_rows) {
    std::vector<u32> column_of(graph.n_columns);
    for (u32 c = 0; c < graph.n_columns; ++c) column_of[graph.vertex_of_column[c]] = c;
    for (u32 u = 0; u < part.n_left(); ++u) {
      std::int64_t at = indptr[part.left[u]];
      for (std::int64_t e = part.indptr[u]; e < part.indptr[u + 1]; ++e) {
        const u32 v = static_cast<u32>(part.indices[e]);
        while (static_cast<u32>(indices[at]) != part.right[v]) ++at;
        if (!weights[at]) continue;
        if (columns_are_left)
          rows_[v].push_back({column_of[u], weights[at]});
        else
          rows_[u].push_back({column_of[v], weights[at]});
      }
    }
    for (auto& row : rows_) std::sort(row.begin(), row.end());
    measure(graph.n_columns);
  }

  /// A column and the weight of the edge to it; ascending in a row.
  using Row = std::vector<std::pair<u32, i64>>;
  const Row& row(u32 r) const { return rows_[r]; }
  /// What the positive weights of a column come to, and the largest of them; the largest of all.
  i64 sum_of(u32 column) const { return sum_[column]; }
  i64 largest_of(u32 column) const { return largest_[column]; }
  i64 largest() const { return most_; }

  /// The edges of these rows that `covered(column)` is true of count no more.
  template <class Covered>
  void cover(const std::vector<u32>& rows, const Covered& covered) {
    for (u32 r : rows)
      rows_[r].erase(std::remove_if(rows_[r].begin(), rows_[r].end(), [&](const auto& edge) { return covered(edge.first); }),
                     rows_[r].end());
    measure(static_cast<u32>(sum_.size()));
  }

 private:
  void measure(u32 n_columns) {
    sum_.assign(n_columns, 0);
    largest_.assign(n_columns, 0);
    most_ = 0;
    for (const Row& row : rows_)
      for (const auto& [column, weight] : row) {
        sum_[column] += std::max<i64>(weight, 0);
        largest_[column] = std::max(largest_[column], weight);
        most_ = std::max(most_, weight);
      }
  }

  std::vector<Row> rows_;
  std::vector<i64> sum_, largest_;
  i64 most_ = 0;
};

/// a · b, or the largest number where that is more.
inline i64 capped_product(u64 a, i64 b) {
  i64 product;
  return __builtin_mul_overflow(static_cast<i64>(a), b, &product) ? INT64_MAX : product;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
