// edge_weights.hpp: weights of a graph's edges, by row, and what is left of them while a cover
// grows.
//
// Only edges with a weight other than 0 are kept, so that what is covered costs nothing any more.
#pragma once

#include "best/core_parts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq::best {

class EdgeWeights {
 public:
  EdgeWeights() = default;
  /// `weights` are those of the rows that the part was cut from, edge by edge.
  EdgeWeights(const CorePart& part, const Graph& graph, bool columns_are_left, const Rows& rows, const i64* weights)
      : edges_(part.row.size()), start_(graph.row_start.begin(), graph.row_start.end() - 1), end_(start_) {
    std::vector<u32> column_of(graph.n_columns);
    for (u32 c = 0; c < graph.n_columns; ++c) column_of[graph.vertex_of_column[c]] = c;
    for (u32 u = 0; u < part.n_left(); ++u) {
      std::int64_t at = rows.start[part.left[u]];
      for (std::int64_t e = part.start[u]; e < part.start[u + 1]; ++e) {
        const u32 v = static_cast<u32>(part.row[e]);
        while (static_cast<u32>(rows.row[at]) != part.right[v]) ++at;
        if (!weights[at]) continue;
        if (columns_are_left)
          edges_[end_[v]++] = {column_of[u], weights[at]};
        else
          edges_[end_[u]++] = {column_of[v], weights[at]};
      }
    }
    for (u32 r = 0; r < graph.n_rows; ++r)
      std::sort(edges_.begin() + static_cast<std::ptrdiff_t>(start_[r]), edges_.begin() + static_cast<std::ptrdiff_t>(end_[r]));
    measure(graph.n_columns);
  }

  /// A column and the weight of the edge to it.
  using Edge = std::pair<u32, i64>;
  /// The edges of a row, ascending.
  struct Row {
    const Edge *first, *last;
    const Edge* begin() const { return first; }
    const Edge* end() const { return last; }
    usize size() const { return static_cast<usize>(last - first); }
    const Edge& operator[](usize i) const { return first[i]; }
  };
  Row row(u32 r) const { return {edges_.data() + start_[r], edges_.data() + end_[r]}; }
  /// What the positive weights of a column come to, and the largest of them; the largest of all.
  i64 sum_of(u32 column) const { return sum_[column]; }
  i64 largest_of(u32 column) const { return largest_[column]; }
  i64 largest() const { return most_; }

  /// The edges of these rows that `covered(column)` is true of count no more.
  template <class Covered>
  void cover(const std::vector<u32>& rows, const Covered& covered) {
    for (u32 r : rows) {
      Edge *first = edges_.data() + start_[r], *last = edges_.data() + end_[r];
      end_[r] -= static_cast<u64>(last - std::remove_if(first, last, [&](const Edge& edge) { return covered(edge.first); }));
    }
    measure(static_cast<u32>(sum_.size()));
  }

 private:
  void measure(u32 n_columns) {
    sum_.assign(n_columns, 0);
    largest_.assign(n_columns, 0);
    most_ = 0;
    for (u32 r = 0; r < start_.size(); ++r)
      for (const auto& [column, weight] : row(r)) {
        sum_[column] += std::max<i64>(weight, 0);
        largest_[column] = std::max(largest_[column], weight);
        most_ = std::max(most_, weight);
      }
  }

  std::vector<Edge> edges_;
  std::vector<u64> start_, end_;  // of each row
  std::vector<i64> sum_, largest_;
  i64 most_ = 0;
};

/// a · b, or the largest number where that is more.
inline i64 capped_product(u64 a, i64 b) {
  i64 product;
  return __builtin_mul_overflow(static_cast<i64>(a), b, &product) ? INT64_MAX : product;
}

}  // namespace bicliq::best
