// scores.hpp: how bicliques are valued, with a term a vertex.
//
// By surprise a pair of a left and a right vertex is worth -ln p of its chance p, where p / (1 - p)
// is a product of a factor of either. With s + t the negative logarithm of that product (the
// terms), -ln p = s + t + ln(1 + exp(-(s + t))): a sum of terms, and a correction that is next to
// nothing where chances are small. The value of a biclique is exact; sums of terms bound it, once
// each term has room for the corrections of its pairs (`raise_terms`).
#pragma once

#include "graphs/objective.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq::best {

/// The vertices of a graph by their numbers in the input: terms of weight and surprise, and of
/// surprise what else it is made of.
struct VertexTerms {
  std::vector<i64> left, right;
  std::vector<i64> left_costs, right_costs;  // of a choice of so many
  Correction correction;
  /// Left and right members, ascending, whose pairs are worth nothing any more.
  std::vector<std::pair<std::vector<i32>, std::vector<i32>>> covered;

  i64 pair(i32 u, i32 v) const { return correction.pair(left[static_cast<std::size_t>(u)] + right[static_cast<std::size_t>(v)]); }
  /// The surprise of a biclique of these vertices, ascending.
  i64 surprise(const std::vector<i32>& lefts, const std::vector<i32>& rights) const {
    i64 value = -Worth::cost(left_costs.data(), lefts.size()) - Worth::cost(right_costs.data(), rights.size());
    for (i32 u : lefts)
      for (i32 v : rights) value += pair(u, v);
    if (covered.empty()) return value;
    std::vector<bool> seen(lefts.size() * rights.size(), false);
    for (const auto& [block_left, block_right] : covered) {
      const std::vector<std::size_t> in_left = among(lefts, block_left), in_right = among(rights, block_right);
      for (std::size_t i : in_left)
        for (std::size_t j : in_right) {
          if (seen[i * rights.size() + j]) continue;
          seen[i * rights.size() + j] = true;
          value -= pair(lefts[i], rights[j]);
        }
    }
    return value;
  }

 private:
  /// Where in `some` those lie that are in `all` as well.
  static std::vector<std::size_t> among(const std::vector<i32>& some, const std::vector<i32>& all) {
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < some.size(); ++i)
      if (std::binary_search(all.begin(), all.end(), some[i])) at.push_back(i);
    return at;
  }
};

struct Scores : Worth {
  std::vector<i64> row_terms, column_terms;  // of weight and surprise
  std::vector<i64> own_row_terms, own_column_terms;  // of surprise: before they were raised
  std::vector<i64> best_column_from;         // the best term of a column from each one on
  const VertexTerms* exact = nullptr;  // of surprise: what values are reckoned from, where sums of terms are bounds

  /// Sets what follows from the terms.
  void close() {
    best_column_from = column_terms;
    for (std::size_t v = best_column_from.size(); v-- > 1;)
      best_column_from[v - 1] = std::max(best_column_from[v - 1], best_column_from[v]);
    largest_pair = largest(row_terms) + largest(column_terms);
  }
  /// Adds to the terms what the corrections of their pairs come to at most: to that of a row, or to
  /// that of a column which is so popular that it would raise all of its rows. `lists` are those of
  /// a graph, with the rows of each column.
  template <class Lists>
  void raise_terms(const Lists& lists, const Correction& correction) {
    own_row_terms = row_terms, own_column_terms = column_terms;
    const i64 popular = correction(0) / 2;  // a chance of 0.3
    for (u32 v = 0; v < lists.n_columns(); ++v) {
      i64 most = 0, sum = 0, n = 0;
      for (auto row : lists.rows(v)) {
        const i64 own = correction(own_row_terms[static_cast<u32>(row)] + column_terms[v]);
        most = std::max(most, own);
        sum += own;
        ++n;
      }
      if (sum > popular * n) {
        column_terms[v] += most;
        continue;
      }
      for (auto row : lists.rows(v)) {
        const u32 u = static_cast<u32>(row);
        row_terms[u] = std::max(row_terms[u], own_row_terms[u] + correction(own_row_terms[u] + column_terms[v]));
      }
    }
  }
  static i64 largest(const std::vector<i64>& terms) {
    return terms.empty() ? 0 : *std::max_element(terms.begin(), terms.end());
  }
};

}  // namespace bicliq::best
