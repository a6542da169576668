// root_bounds.hpp: the most that a biclique can be worth whose first column is a given one, from
// degrees alone.
//
// Every row of the root can be in an answer with the columns that it has from the root on. By size,
// an answer of s rows has no more columns than the s-th longest of these lists (lists are sorted by
// length class where there are many: at most a fifth too much). By surprise, an answer of t columns
// has only rows with lists of at least t, and each adds at most t times its best pair. By weight, a
// row adds no more than itself, and all of them the columns of the one whose columns weigh most.
// O(edges) in all.
#pragma once

#include "enumeration/scores.hpp"
#include "graphs/graph.hpp"

#include <algorithm>
#include <utility>

namespace bicliq {
inline namespace BICLIQ_ISA {

class RootBounds {
 public:
  RootBounds(const Graph& graph, const Scores& scores) : g_(graph), scores_(scores), passed_(graph.n_rows, 0) {
    if (scores.objective == Objective::weight) sum_terms();
  }

  /// The bounds of all columns, the first to the last.
  template <class Check>
  std::vector<i64> all(const Check& check) {
    std::vector<i64> bounds(g_.n_columns);
    each_vertex(g_.n_columns, check, [&](u32 v) { bounds[v] = bound(v); });
    return bounds;
  }

 private:
  i64 bound(u32 v) {
    if (scores_.by_size()) return by_size(v);
    return scores_.objective == Objective::surprise ? by_surprise(v) : by_weight(v);
  }

  static constexpr u32 kFew = 16;        // lists that are sorted one by one
  static constexpr u32 kClassBits = 2;   // classes a power of two: 2^2
  static constexpr u32 kClasses = 34 << kClassBits;

  static u32 class_of(u32 length) {
    const u32 power = 31 - static_cast<u32>(__builtin_clz(length | 1));
    if (power < kClassBits) return length;
    return (power << kClassBits) | (length >> (power - kClassBits) & ((1u << kClassBits) - 1));
  }
  /// The largest length of a class.
  static u64 longest_of(u32 number) {
    const u32 power = number >> kClassBits;
    if (power < kClassBits) return number;
    const u64 first = (u64{1} << kClassBits) | (number & ((1u << kClassBits) - 1));
    return ((first + 1) << (power - kClassBits)) - 1;
  }

  i64 by_size(u32 v) {
    const u32* rows = g_.column_rows.data() + g_.column_start[v];
    const u32 d = g_.column_degree(v);
    i64 most = INT64_MIN;
    const auto reach = [&](u64 n_rows, u64 columns) {
      if (n_rows < scores_.sizes.min_rows || columns < scores_.sizes.min_columns) return;
      most = std::max(most, scores_.most(n_rows, columns));
    };
    if (d <= kFew) {
      u32 lengths[kFew];
      for (u32 i = 0; i < d; ++i) {
        const u32 length = g_.row_degree(rows[i]) - passed_[rows[i]]++;
        u32 at = i;
        for (; at > 0 && lengths[at - 1] < length; --at) lengths[at] = lengths[at - 1];
        lengths[at] = length;
      }
      for (u32 i = 0; i < d; ++i) reach(i + 1, lengths[i]);
      return most;
    }
    u32 largest = 0;
    for (u32 i = 0; i < d; ++i) {
      const u32 number = class_of(g_.row_degree(rows[i]) - passed_[rows[i]]++);
      ++n_of_class_[number];
      largest = std::max(largest, number);
    }
    u64 n = 0;
    for (u32 number = largest + 1; number-- > 0;) {
      if (!n_of_class_[number]) continue;
      n += n_of_class_[number];
      n_of_class_[number] = 0;
      reach(n, longest_of(number));
    }
    return most;
  }

  i64 by_weight(u32 v) {
    i64 sum = 0, longest = 0;
    for (u64 e = g_.column_start[v]; e < g_.column_start[v + 1]; ++e) {
      const u32 u = g_.column_rows[e];
      sum += std::max<i64>(scores_.row_terms[u], 0);
      longest = std::max(longest, gains_[u]);
      gains_[u] -= std::max<i64>(scores_.column_terms[v], 0);
    }
    return sum + longest;
  }

  i64 by_surprise(u32 v) {
    i64 best_pair = 0;
    u32 largest = 0;
    for (u64 e = g_.column_start[v]; e < g_.column_start[v + 1]; ++e) {
      const u32 u = g_.column_rows[e];
      const u32 number = class_of(g_.row_degree(u) - passed_[u]++);
      const i64 own_pair = std::max<i64>(scores_.row_terms[u] + scores_.best_column_from[v], 0);
      largest = std::max(largest, number);
      best_pair = std::max(best_pair, own_pair);
      ++n_of_class_[number];
      pairs_of_class_[number] += own_pair;
    }
    i64 most = INT64_MIN, pairs = 0;
    u64 n = 0;
    for (u32 number = largest + 1; number-- > 0;) {
      if (!n_of_class_[number]) continue;
      n += std::exchange(n_of_class_[number], 0);
      pairs += std::exchange(pairs_of_class_[number], 0);
      const u64 columns = std::min<u64>(longest_of(number), scores_.sizes.max_columns);
      if (n < scores_.sizes.min_rows || columns < scores_.sizes.min_columns) continue;
      const i64 of_pairs = n <= scores_.sizes.max_rows ? pairs : std::min<i64>(pairs, scores_.sizes.max_rows * best_pair);
      most = std::max(most, scores_.most(1, columns, of_pairs, 0));
    }
    return most;
  }
  /// What a row's columns can add.
  void sum_terms() {
    gains_.assign(g_.n_rows, 0);
    for (u32 u = 0; u < g_.n_rows; ++u)
      for (u64 e = g_.row_start[u]; e < g_.row_start[u + 1]; ++e)
        gains_[u] += std::max<i64>(scores_.column_terms[g_.row_columns[e]], 0);
  }

  const Graph& g_;
  const Scores& scores_;
  std::vector<u32> passed_;  // columns of each row that lie before the root
  std::vector<i64> gains_;   // of weight: what those from the root on can add to the row
  u32 n_of_class_[kClasses] = {};
  i64 pairs_of_class_[kClasses] = {};
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
