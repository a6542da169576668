// scores.hpp: how bicliques are valued, with a term a vertex.
#pragma once

#include "graphs/objective.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

struct Scores : Worth {
  std::vector<i64> row_terms, column_terms;  // of weight and surprise
  std::vector<i64> best_column_from;         // the best term of a column from each one on

  /// Sets what follows from the terms.
  void close() {
    best_column_from = column_terms;
    for (std::size_t v = best_column_from.size(); v-- > 1;)
      best_column_from[v - 1] = std::max(best_column_from[v - 1], best_column_from[v]);
    largest_pair = largest(row_terms) + largest(column_terms);
  }
  static i64 largest(const std::vector<i64>& terms) {
    return terms.empty() ? 0 : *std::max_element(terms.begin(), terms.end());
  }
};

}  // namespace bicliq
