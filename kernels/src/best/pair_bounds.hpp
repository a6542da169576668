// pair_bounds.hpp: the most that a node can hold by surprise, pair by pair.
//
// Terms of rows and columns bound a pair from above (scores.hpp), and by far too much where busy
// rows meet popular columns. Here each pair counts what it is worth: a row of an answer of s rows
// adds its pairs with the columns of R, and those with its candidates that are worth their share,
// 1 / s, of what a column costs at least. The s best rows bound the answers of s rows.
//
// A range of s is bounded at once by what holds for all of it, and halved where that does not
// suffice. Cost: a step a pair, for each half that is looked at.
#pragma once

#include "best/scores.hpp"

#include <functional>

namespace bicliq::best {

class PairBounds {
 public:
  explicit PairBounds(const Scores& scores) : scores_(scores) {}

  /// Begins a node of no rows, with so many columns in R.
  void begin(u32 n_members) {
    n_members_ = n_members;
    terms_.clear();
    of_members_.clear();
    pairs_.clear();
  }
  void row(u32 row) {
    terms_.push_back(scores_.own_row_terms[row]);
    of_members_.push_back(0);
  }
  /// A column of R: all rows have it.
  void member(u32 column) {
    const i64 term = scores_.own_column_terms[column];
    for (u32 i = 0; i < terms_.size(); ++i) of_members_[i] += worth(i, term);
  }
  /// A candidate that the row of this number has.
  void pair(u32 row, u32 column) { pairs_.push_back({row, worth(row, scores_.own_column_terms[column])}); }

  /// The smallest number of rows from `first` to `last` with which an answer can be worth `least`;
  /// 0 where none can.
  u32 fewest(u32 first, u32 last, i64 least) {
    counts_.assign(terms_.size(), 0);
    for (const Pair& pair : pairs_) ++counts_[pair.row];
    std::sort(counts_.begin(), counts_.end(), std::greater<u32>());
    return fewest_of(first, std::min<u32>(last, static_cast<u32>(terms_.size())), static_cast<double>(least));
  }

 private:
  struct Pair {
    u32 row;
    float worth;
  };

  /// A little more than the pair is worth, as all sums of it may round.
  float worth(u32 row, i64 term) const {
    return static_cast<float>(std::max<i64>(scores_.exact->correction.pair(terms_[row] + term), 0)) * (1 + 2e-7f);
  }
  u32 fewest_of(u32 first, u32 last, double least) {
    if (first > last || !reaches(first, last, least)) return 0;
    if (first == last) return first;
    const u32 middle = first + (last - first) / 2, found = fewest_of(first, middle, least);
    return found ? found : fewest_of(middle + 1, last, least);
  }
  bool reaches(u32 first, u32 last, double least) {
    const Sizes& sizes = scores_.sizes;
    const u32 columns = std::min(counts_[first - 1], sizes.max_columns - n_members_);  // of so many rows no more
    if (!columns || n_members_ + columns < sizes.min_columns) return false;
    const double paid = column_cost(n_members_), a_column = (column_cost(n_members_ + columns) - paid) / columns;
    const double a_pair = a_column / (a_column > 0 ? last : first);  // beyond half of all, more columns cost less
    const float share = static_cast<float>(a_pair - (a_pair < 0 ? -a_pair : a_pair) * 2e-7);
    const double a_row = row_cost(last) / last * (1 - 1e-9);
    sums_ = of_members_;
    for (const Pair& pair : pairs_) sums_[pair.row] += std::max(pair.worth - share, 0.0f);
    const double rounding = 1 + 1.2e-7 * (n_members_ + columns + 2.0);  // of sums of so many
    double most = 2 - paid;
    for (float sum : sums_) most += std::max(sum * rounding - a_row, 0.0);
    if (most < least) return false;
    std::partial_sort(sums_.begin(), sums_.begin() + last, sums_.end(), std::greater<float>());
    double worth = 2 - paid;
    for (u32 s = 1; s <= last; ++s) {
      worth += sums_[s - 1] * rounding;
      if (s >= first && worth - row_cost(s) >= least) return true;
    }
    return false;
  }
  double row_cost(u32 n) const { return static_cast<double>(Worth::cost(scores_.row_cost, n)); }
  double column_cost(u32 n) const { return static_cast<double>(Worth::cost(scores_.column_cost, n)); }

  const Scores& scores_;
  u32 n_members_ = 0;
  std::vector<i64> terms_;           // of the rows
  std::vector<float> of_members_, sums_;  // by row
  std::vector<u32> counts_;          // of candidates that a row has, the most first
  std::vector<Pair> pairs_;
};

}  // namespace bicliq::best
