// pair_bounds.hpp: the most that a node can hold by surprise, pair by pair.
//
// Terms of rows and columns bound a pair from above (scores.hpp), and by far too much where busy
// rows meet popular columns. Here each pair counts what it is worth. An answer of s rows with t
// candidates besides R has only rows with t candidates or more, and each adds its pairs with R and
// its best t others; the s best rows bound it, less what s rows and so many columns cost. All t are
// looked at, the fewest first.
//
// Columns are taken by falling terms, so that the pairs of a row come the best first. (A pair's
// correction has steps, at which worth falls a little: bounds take the upper end of each step.)
//
// Cost: some steps a pair, and a sort of the columns; where t is not ruled out by what any rows
// cost at least, one of the rows.
#pragma once

#include "best/scores.hpp"

#include <functional>

namespace bicliq::best {

class PairBounds {
 public:
  explicit PairBounds(const Scores& scores) : scores_(scores), slot_(scores.own_column_terms.size(), kNone) {}

  /// Begins a node of no rows, with so many columns in R.
  void begin(u32 n_members) {
    n_members_ = n_members;
    terms_.clear();
    of_members_.clear();
    pairs_.clear();
    columns_.clear();
    rows_of_.clear();
  }
  void row(u32 row) {
    terms_.push_back(scores_.own_row_terms[row]);
    of_members_.push_back(0);
  }
  /// A column of R: all rows have it.
  void member(u32 column) {
    const i64 term = scores_.own_column_terms[column];
    for (u32 i = 0; i < terms_.size(); ++i) of_members_[i] += worth(scores_.exact->correction.pair(terms_[i] + term));
  }
  /// A candidate that the row of this number has.
  void pair(u32 row, u32 column) {
    u32& slot = slot_[column];
    if (slot == kNone) {
      slot = static_cast<u32>(columns_.size());
      columns_.push_back({scores_.own_column_terms[column], column, slot});
      rows_of_.push_back(0);
    }
    ++rows_of_[slot];
    pairs_.push_back({row, slot});
  }

  /// The smallest number of rows from `first` to `last` with which an answer can be worth `least`;
  /// 0 where none can.
  u32 fewest(u32 first, u32 last, i64 least) {
    by_row();
    const Sizes& sizes = scores_.sizes;
    u32 found = 0, n = static_cast<u32>(order_.size());
    for (u32 t = 1; n_members_ + t <= sizes.max_columns; ++t) {
      while (n && counts_[order_[n - 1]] < t) --n;
      if (n < first) break;
      for (u32 i = 0; i < n; ++i) sums_[i] += worths_[starts_[order_[i]] + t - 1];
      if (n_members_ + t < sizes.min_columns) continue;
      const u32 most = std::min(n, found ? found - 1 : last);
      if (const u32 s = fewest_of(first, most, n, t, static_cast<double>(least))) found = s;
      if (found == first) break;
    }
    return found;
  }

 private:
  static constexpr u32 kNone = ~0u;
  struct Pair {
    u32 row, column;
  };
  struct Column {
    i64 term;
    u32 id, slot;
  };

  /// A little more than the pair is worth, as all sums of it may round.
  float worth(i64 pair) const { return static_cast<float>(std::max<i64>(pair, 0)) * (1 + 2e-7f); }
  /// Lists what each row's pairs are worth, the best first, and the rows by how many they have.
  void by_row() {
    const u32 n = static_cast<u32>(terms_.size());
    std::sort(columns_.begin(), columns_.end(), [](const Column& a, const Column& b) { return a.term > b.term; });
    u32 before = 0;
    for (const Column& c : columns_) {
      before += rows_of_[c.slot];
      rows_of_[c.slot] = before - rows_of_[c.slot];
      slot_[c.id] = kNone;
    }
    rows_.resize(pairs_.size());
    counts_.assign(n + 1, 0);
    for (const Pair& pair : pairs_) rows_[rows_of_[pair.column]++] = pair.row, ++counts_[pair.row];
    starts_.resize(n + 1);
    ends_.resize(n);
    order_.resize(n);
    u32 start = 0;
    for (u32 i = 0; i < n; ++i) {
      starts_[i] = ends_[i] = start;
      start += counts_[i];
      order_[i] = i;
    }
    worths_.resize(pairs_.size());
    u32 at = 0;
    for (const Column& c : columns_)
      for (; at < rows_of_[c.slot]; ++at) worths_[ends_[rows_[at]]++] = worth(scores_.exact->correction.rising(terms_[rows_[at]] + c.term));
    std::sort(order_.begin(), order_.end(), [this](u32 a, u32 b) { return counts_[a] > counts_[b]; });
    sums_.clear();
    for (u32 i : order_) sums_.push_back(of_members_[i]);
  }
  /// The same for answers of t more columns, of the first n rows.
  u32 fewest_of(u32 first, u32 last, u32 n, u32 t, double least) {
    if (last < first) return 0;
    const double rounding = 1 + 1.2e-7 * (n_members_ + t + 2.0);  // of sums of so many
    const double paid = column_cost(n_members_ + t), a_row = row_cost(last) / last * (1 - 1e-9);
    double most = 2 - paid;
    for (u32 i = 0; i < n; ++i) most += std::max(sums_[i] * rounding - a_row, 0.0);
    if (most < least) return 0;
    best_.assign(sums_.begin(), sums_.begin() + n);
    if (first < n) std::nth_element(best_.begin(), best_.begin() + first, best_.end(), std::greater<float>());
    double worth = 2 - paid;
    for (u32 s = 1; s <= last; ++s) {
      if (s == first + 1) {
        if (last < n) std::nth_element(best_.begin() + first, best_.begin() + last, best_.end(), std::greater<float>());
        std::sort(best_.begin() + first, best_.begin() + last, std::greater<float>());
      }
      worth += best_[s - 1] * rounding;
      if (s >= first && u64{s} * (n_members_ + t) >= scores_.sizes.min_edges && worth - row_cost(s) >= least) return s;
    }
    return 0;
  }
  double row_cost(u32 n) const { return static_cast<double>(Worth::cost(scores_.row_cost, n)); }
  double column_cost(u32 n) const { return static_cast<double>(Worth::cost(scores_.column_cost, n)); }

  const Scores& scores_;
  u32 n_members_ = 0;
  std::vector<i64> terms_;           // of the rows
  std::vector<float> of_members_;    // by row
  std::vector<u32> counts_, starts_, ends_, order_;  // of pairs by row; the rows by their counts
  std::vector<float> worths_, sums_, best_;  // of pairs by row; of rows in that order
  std::vector<u32> slot_;            // of the candidates by number; else none
  std::vector<u32> rows_of_, rows_;  // how many rows each candidate has, then where they end; all of them
  std::vector<Column> columns_;  // candidates
  std::vector<Pair> pairs_;
};

}  // namespace bicliq::best
