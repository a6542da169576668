// local_search.hpp: good bicliques of dense tables, before the search.
//
// What it finds: where a table is dense, greed takes what is best now and ends far from the best
// that there is. Here a set of members of the smaller side grows and shrinks: of all that may join
// it or leave it the one after which it is worth most, with the others that all of the set have;
// also where that is worth less than before, so that the way leads out of what is best nearby. Who
// has just moved stays for some steps (tabu search: Glover 1989). After so many steps without
// anything better it begins again: by turns at one member, and at half of the best set so far.
//
// Of random tables of 100 x 100 to 300 x 300 with half to nine tenths of their cells, all that two
// seconds of such steps find is there after 5 to 5,000 of them.
//
// Cost of a step: the cells of the table / 64. Memory: a bit a cell.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/objective.hpp"
#include "lanes/hash.hpp"

#include <vector>

namespace bicliq::best {

class LocalSearch {
 public:
  /// `rows` are those of the smaller side; `worth` has its sizes as rows.
  LocalSearch(const Rows& rows, u32 n_columns, const Worth& worth)
      : worth_(worth), n_rows_(static_cast<u32>(rows.size())), n_columns_(n_columns), words_((n_columns + 63) / 64),
        has_(usize{n_rows_} * words_, 0), lacking_(n_columns), all_(words_), all_but_one_(words_), rests_until_(n_rows_) {
    for (u32 r = 0; r < n_rows_; ++r)
      for (i32 c : rows[static_cast<i32>(r)]) has_[usize{r} * words_ + static_cast<u32>(c) / 64] |= u64{1} << c % 64;
  }
  /// Takes so many steps; each set that no step betters and that is worth at least `least()` is
  /// told, as rows and columns of a maximal biclique. `check` may end it.
  template <class Least, class Found, class Check>
  void search(u32 steps, const Least& least, const Found& found, const Check& check) {
    std::vector<char> best(n_rows_, 0);
    i64 best_value = INT64_MIN, most = INT64_MIN, value = INT64_MIN;  // of all, since it began last, and now
    u32 fruitless = kMostFruitless;
    for (u32 step = 1, begun = 0; step <= steps; ++step) {
      if (step % kStepsACheck == 0) check();
      if (fruitless++ >= kMostFruitless) {
        begin(best, begun++ % 2 == 1);
        value = most = INT64_MIN, fruitless = 0;
      }
      const Move move = best_move(step, best_value);
      if (value >= least() && value >= move.value && n_in_ >= worth_.sizes.min_rows) tell(found);
      if (move.row == n_rows_) {
        fruitless = kMostFruitless;
        continue;
      }
      take(move.row, step);
      value = move.value;
      if (value > most) most = value, fruitless = 0;
      if (value > best_value) best_value = value, best = is_in_;
    }
  }

 private:
  static constexpr u32 kMostFruitless = 300, kStepsACheck = 64, kRest = 10;
  struct Move {
    u32 row;
    i64 value;
  };

  const u64* row(u32 r) const { return has_.data() + usize{r} * words_; }
  u64 random() { return mix(random_ += kLeftSeed); }

  /// Of one row, or of about half of the best ones.
  void begin(const std::vector<char>& best, bool at_the_best) {
    is_in_.assign(n_rows_, 0);
    if (at_the_best)
      for (u32 r = 0; r < n_rows_; ++r) is_in_[r] = best[r] && random() % 2;
    is_in_[random() % n_rows_] = 1;
    n_in_ = 0;
    std::fill(lacking_.begin(), lacking_.end(), 0);
    std::fill(rests_until_.begin(), rests_until_.end(), 0);
    std::fill(all_.begin(), all_.end(), ~u64{0});
    if (n_columns_ % 64) all_.back() = (u64{1} << n_columns_ % 64) - 1;
    std::fill(all_but_one_.begin(), all_but_one_.end(), 0);
    for (u32 r = 0; r < n_rows_; ++r)
      if (std::exchange(is_in_[r], 0)) take(r, 0);
  }
  /// Lets a row join or leave.
  void take(u32 r, u32 step) {
    const bool joins = !is_in_[r];
    is_in_[r] = joins;
    n_in_ += joins ? 1 : -1;
    rests_until_[r] = step + (joins ? kRest / 2 : kRest) + static_cast<u32>(random() % kRest);
    for (u32 w = 0; w < words_; ++w) {
      u64 lacks = ~row(r)[w];
      if (w + 1 == words_ && n_columns_ % 64) lacks &= (u64{1} << n_columns_ % 64) - 1;
      for (; lacks; lacks &= lacks - 1) {
        const u64 bit = lacks & (0 - lacks);
        const u32 n = lacking_[w * 64 + static_cast<u32>(__builtin_ctzll(lacks))] += joins ? 1 : -1;
        all_[w] = n == 0 ? all_[w] | bit : all_[w] & ~bit;
        all_but_one_[w] = n == 1 ? all_but_one_[w] | bit : all_but_one_[w] & ~bit;
      }
    }
  }
  /// The best step, any of equal ones; who rests moves where that is better than all so far.
  Move best_move(u32 step, i64 best_value) {
    u32 n_all = 0;
    for (u64 word : all_) n_all += static_cast<u32>(__builtin_popcountll(word));
    Move best{n_rows_, INT64_MIN};
    u32 equal = 0;
    for (u32 r = 0; r < n_rows_; ++r) {
      const i64 value = is_in_[r] ? value_of(n_in_ - 1, n_all + gained_without(r)) : value_of(n_in_ + 1, left_with(r));
      if (value == INT64_MIN || value < best.value || (rests_until_[r] > step && value <= best_value)) continue;
      equal = value > best.value ? 1 : equal + 1;
      if (equal == 1 || random() % equal == 0) best = {r, value};
    }
    return best;
  }
  u32 left_with(u32 r) const {
    u32 n = 0;
    for (u32 w = 0; w < words_; ++w) n += static_cast<u32>(__builtin_popcountll(all_[w] & row(r)[w]));
    return n;
  }
  u32 gained_without(u32 r) const {
    u32 n = 0;
    for (u32 w = 0; w < words_; ++w) n += static_cast<u32>(__builtin_popcountll(all_but_one_[w] & ~row(r)[w]));
    return n;
  }
  /// Too few rows are worth less than enough, and the more the better; too few columns, or too many
  /// rows, are none to go by.
  i64 value_of(u32 rows, u32 columns) const {
    const Sizes& sizes = worth_.sizes;
    if (!rows || !columns || columns < sizes.min_columns || rows > sizes.max_rows) return INT64_MIN;
    if (rows < sizes.min_rows) return static_cast<i64>(u64{rows} << 32 | columns) - (i64{1} << 62);
    return worth_.most(rows, columns);
  }
  /// All columns of the set, and all rows that have these.
  template <class Found>
  void tell(const Found& found) const {
    std::vector<i32> rows, columns;
    for (u32 r = 0; r < n_rows_; ++r) {
      bool has_all = true;
      for (u32 w = 0; w < words_ && has_all; ++w) has_all = !(all_[w] & ~row(r)[w]);
      if (has_all) rows.push_back(static_cast<i32>(r));
    }
    for (u32 c = 0; c < n_columns_; ++c)
      if (all_[c / 64] >> c % 64 & 1) columns.push_back(static_cast<i32>(c));
    found(rows, columns);
  }

  const Worth worth_;
  const u32 n_rows_, n_columns_, words_;
  std::vector<u64> has_;  // the table: a bit a column, row by row
  std::vector<char> is_in_;
  u32 n_in_ = 0;
  std::vector<u32> lacking_;            // by column: rows of the set that have it not
  std::vector<u64> all_, all_but_one_;  // columns that all rows of the set have, and all but one
  std::vector<u32> rests_until_;        // by row, a step
  u64 random_ = 0;
};

/// How many steps are worth their time: none where a table is sparse, for greed and the search are
/// good there; in dense ones the more the denser, for these are searched longest.
inline u32 local_steps(u64 n_rows, u64 n_columns, u64 n_edges) {
  constexpr double kMostSteps = 16384, kFewestSteps = 64;  // at a density of 1, and of 1/4
  const double density = static_cast<double>(n_edges) / (static_cast<double>(n_rows) * static_cast<double>(n_columns) + 1);
  const double steps = kMostSteps * density * density * density * density;
  return steps < kFewestSteps ? 0 : static_cast<u32>(steps);
}

}  // namespace bicliq::best
