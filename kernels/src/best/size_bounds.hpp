// size_bounds.hpp: the most that a biclique of so many rows and columns can be worth, wherever in
// the graph it lies; and so how many columns an answer of so many rows needs.
//
// Each row of an answer of s rows and t columns has at least t neighbours, and each column s. By
// surprise, neighbours cost: no pair is worth more than the best term of a row with t neighbours
// and the best one of a column with s. With the degrees of the graph itself that is
// ln m - ln s - ln t, so that s · t pairs have to be many to be wanted.
//
// Cost: O(vertices) once, and a step a number of columns for each range that is asked for.
#pragma once

#include "best/core_parts.hpp"
#include "graphs/objective.hpp"

namespace bicliq::best {

class SizeBounds {
 public:
  SizeBounds() = default;
  /// `row_terms` and `column_terms` are those of surprise; by size there are none.
  SizeBounds(const DegreeOrder& rows, const std::vector<i64>& row_terms, const DegreeOrder& columns,
             const std::vector<i64>& column_terms, const Correction& correction)
      : correction_(correction), best_row_(best_terms(rows, row_terms)), best_column_(best_terms(columns, column_terms)) {}

  /// The most that one of `fewest` to `rows` rows and of exactly so many columns is worth.
  i64 most(const Worth& worth, u32 fewest, u32 rows, u32 columns) const {
    if (worth.by_size()) return worth.most(rows, columns);
    if (columns >= best_row_.size() || fewest >= best_column_.size()) return INT64_MIN;
    Worth of_pairs = worth;
    of_pairs.charge(rows, columns);
    of_pairs.largest_pair = correction_.most(best_row_[columns] + best_column_[fewest]);
    return of_pairs.most(rows, columns);
  }
  /// Columns without which nothing of `fewest` to `rows` rows reaches `least`; one more than `most`
  /// where all of these do not suffice.
  u32 columns_needed(const Worth& worth, i64 least, u32 fewest, u32 rows, u32 most_columns) const {
    const u32 high = std::max(worth.sizes.min_columns, most_columns) + 1;
    u32 low = worth.sizes.min_columns;
    if (!worth.by_size()) {  // terms may fall faster than columns grow in number
      while (low < high && most(worth, fewest, rows, low) < least) ++low;
      return low;
    }
    return worth.columns_needed(rows, least, low, high);
  }

 private:
  /// The best term of a vertex with at least so many neighbours.
  static std::vector<i64> best_terms(const DegreeOrder& order, const std::vector<i64>& terms) {
    std::vector<i64> best(usize{order.largest()} + 1, INT64_MIN);
    for (u32 v = 0; v < order.size(); ++v) best[order.degree(v)] = std::max(best[order.degree(v)], terms[v]);
    for (usize d = best.size() - 1; d-- > 0;) best[d] = std::max(best[d], best[d + 1]);
    return best;
  }

  Correction correction_;
  std::vector<i64> best_row_, best_column_;  // by number of neighbours
};

}  // namespace bicliq::best
