// root_bounds.hpp: the most that a biclique can be worth whose first column is a given one, from
// degrees alone.
//
// Every row of the root can be in an answer with the columns that it has from the root on. By size,
// an answer of s rows has no more columns than the s-th longest of these lists (lists are sorted by
// length class where there are many: at most a fifth too much). By surprise, an answer of t columns
// has only rows with lists of at least t, and each adds at most t times its best pair. By weight, a
// row adds no more than itself, and all of them the columns of the one whose columns weigh most.
// O(edges) in all.
//
// A graph in search order has the lists that are needed, and so have the rows of a side with an
// order of them: the search need not be prepared where another machine does so.
#pragma once

#include "best/core_parts.hpp"
#include "best/scores.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace bicliq::best {

/// Rows that a column has.
template <class T>
struct RowList {
  const T *first, *last;
  const T* begin() const { return first; }
  const T* end() const { return last; }
};

/// The lists of a graph in search order.
struct GraphLists {
  const Graph& graph;
  u32 n_rows() const { return graph.n_rows; }
  u32 n_columns() const { return graph.n_columns; }
  u32 row_degree(u32 r) const { return graph.row_degree(r); }
  RowList<u32> rows(u32 v) const {
    const u32* all = graph.column_rows.data();
    return {all + graph.column_start[v], all + graph.column_start[v + 1]};
  }
};

/// Those of a graph whose columns are `columns` in some order.
struct OrderedLists {
  const Rows columns;
  const DegreeOrder &by_row, &by_column;
  u32 n_rows() const { return by_row.size(); }
  u32 n_columns() const { return by_column.size(); }
  u32 row_degree(u32 r) const { return by_row.degree(r); }
  RowList<std::int32_t> rows(u32 v) const {
    const Span list = columns[static_cast<std::int32_t>(by_column.all()[v])];
    return {list.begin(), list.end()};
  }
};

/// Roots whose bounds reach `least`, the most promising first.
inline std::vector<u32> promising_roots(const std::vector<i64>& bounds, i64 least) {
  std::vector<u32> roots;
  for (u32 v = 0; v < bounds.size(); ++v)
    if (bounds[v] >= least && bounds[v] != INT64_MIN) roots.push_back(v);
  std::sort(roots.begin(), roots.end(),
            [&](u32 a, u32 b) { return std::make_pair(bounds[a], a) > std::make_pair(bounds[b], b); });
  return roots;
}

template <class Lists>
class RootBounds {
 public:
  /// What is below `least` need not be bounded any closer.
  RootBounds(const Lists& lists, const Scores& scores, i64 least = INT64_MIN)
      : g_(lists), scores_(scores), least_(least), passed_(lists.n_rows(), 0) {
    if (scores.objective == Objective::weight) sum_terms();
  }

  /// The bounds of all columns, the first to the last.
  template <class Check>
  std::vector<i64> all(const Check& check) {
    std::vector<i64> bounds(g_.n_columns());
    each_vertex(g_.n_columns(), check, [&](u32 v) { bounds[v] = bound(v); });
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
    lengths_.clear();
    u32 longest = 0;
    for (auto row : g_.rows(v)) {
      lengths_.push_back(left_of(row));
      longest = std::max(longest, lengths_.back());
    }
    const u32 d = static_cast<u32>(lengths_.size());
    i64 most = scores_.most(d, longest);
    if (most < least_) return most;
    most = INT64_MIN;
    const auto reach = [&](u64 n_rows, u64 columns) {
      if (n_rows < scores_.sizes.min_rows || columns < scores_.sizes.min_columns) return;
      most = std::max(most, scores_.most(n_rows, columns));
    };
    if (d <= kFew) {
      std::sort(lengths_.begin(), lengths_.end(), std::greater<u32>());
      for (u32 i = 0; i < d; ++i) reach(i + 1, lengths_[i]);
      return most;
    }
    for (u32 length : lengths_) ++n_of_class_[class_of(length)];
    const u32 largest = class_of(longest);
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
    for (auto row : g_.rows(v)) {
      const auto u = static_cast<u32>(row);
      sum += std::max<i64>(scores_.row_terms[u], 0);
      longest = std::max(longest, gains_[u]);
      gains_[u] -= std::max<i64>(scores_.column_terms[v], 0);
    }
    return sum + longest;
  }

  i64 by_surprise(u32 v) {
    i64 best_pair = 0;
    u32 largest = 0;
    for (auto row : g_.rows(v)) {
      const auto u = static_cast<u32>(row);
      const u32 length = left_of(u), number = class_of(length);
      const i64 charge = scores_.row_charge / std::max(length, 1u);  // of each of its columns
      const i64 own_pair = std::max<i64>(scores_.row_terms[u] + scores_.best_column_from[v] - charge, 0);
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
      most = std::max(most, scores_.most(1, columns, std::max<i64>(of_pairs - scores_.column_charge, 0), 0));
    }
    return most;
  }
  /// What a row's columns can add.
  void sum_terms() {
    gains_.assign(g_.n_rows(), 0);
    for (u32 v = 0; v < g_.n_columns(); ++v)
      if (const i64 gain = scores_.column_terms[v]; gain > 0)
        for (auto row : g_.rows(v)) gains_[static_cast<u32>(row)] += gain;
  }
  /// Columns that a row has from the root on.
  template <class Row>
  u32 left_of(Row row) {
    const auto r = static_cast<u32>(row);
    return g_.row_degree(r) - passed_[r]++;
  }

  const Lists g_;
  const Scores& scores_;
  const i64 least_;
  std::vector<u32> lengths_;
  std::vector<u32> passed_;  // columns of each row that lie before the root
  std::vector<i64> gains_;   // of weight: what those from the root on can add to the row
  u32 n_of_class_[kClasses] = {};
  i64 pairs_of_class_[kClasses] = {};
};

}  // namespace bicliq::best
