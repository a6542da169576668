// best_sink.hpp: a sink that keeps the best bicliques, and tells the search what is hopeless.
//
// The bound of a node: an answer below it with s rows consists of R and of candidates that have at
// least s rows each, so that it has at most R's columns and these. For every s that bounds its
// value, with the s best rows where rows have terms and the columns that can add to it; by surprise
// the best of these columns, less what so many cost, and then what the pairs are worth that are
// there (pair_bounds.hpp). Where no s reaches what is wanted (`BestList::least`), the node is
// hopeless. Else the smallest s that does is the number of rows that a candidate must have: one
// with fewer is in no answer below the node, nor can it exclude one.
//
// `MaximalBicliques` asks a sink that `wants_best` (search/sink.hpp). The sum of the
// members' hashes, which the search carries along, is here the sum of their terms.
//
// Cost of a bound: a step a candidate and a step a row; by surprise a step a pair.
#pragma once

#include "best/best_list.hpp"
#include "best/pair_bounds.hpp"
#include "best/scores.hpp"
#include "lanes/lanes.hpp"
#include "search/sink.hpp"

#include <functional>

namespace bicliq::best {

/// The graph's vertices by their numbers in the input.
struct Numbers {
  std::vector<u32> of_row, of_column;
  bool columns_are_left = false;

  Answer answer(i64 value, const u32* rows, u32 n_rows, const u32* columns, u32 n_columns) const {
    Answer answer;
    answer.value = value;
    std::vector<i32>& row_list = columns_are_left ? answer.right : answer.left;
    std::vector<i32>& column_list = columns_are_left ? answer.left : answer.right;
    for (u32 i = 0; i < n_rows; ++i) row_list.push_back(static_cast<i32>(of_row[rows[i]]));
    for (u32 i = 0; i < n_columns; ++i) column_list.push_back(static_cast<i32>(of_column[columns[i]]));
    std::sort(row_list.begin(), row_list.end());
    std::sort(column_list.begin(), column_list.end());
    return answer;
  }
};

/// What sinks of the best share: where what a mask or a leaf stands for is remembered, and who is
/// offered. `Own` has `consider`, which takes any maximal biclique, and `found_in_leaf`.
template <class Own>
class KeepingSink : public SinkBase {
 public:
  static constexpr bool wants_best = true, bounds_by_size = true;

  /// The rows that the bits of the coming masks stand for.
  void rows(const u32* rows, u32 n) {
    std::copy(rows, rows + n, subtree_rows_);
    n_subtree_rows_ = n;
  }
  /// The columns that the lanes of the coming leaf stand for.
  template <class M>
  void leaf(const M&, const u32* ids, u32 n) {
    std::copy(ids, ids + n, leaf_columns_);
  }
  template <class M>
  void found(u32 rows, const M& members) {
    own().found_in_leaf(rows, members, 0);
  }
  template <class M>
  void found(const u32* rows, u32 n, const M& members) {
    own().consider(rows, n, members.ids, members.n);
  }
  void single_row(u32 row, const u32* columns, u32 n) { own().consider(&row, 1, columns, n); }

 protected:
  KeepingSink(const Sizes& sizes, const Numbers& numbers, BestList& best)
      : numbers_(numbers), best_(best), rows_needed_(std::max(sizes.min_rows, 2u)) {}

  template <class M>
  Answer answer_in_leaf(i64 value, u32 rows, const M& members, u32 joined) const {
    u32 list[kLanes];
    u32 n = 0;
    for (u32 bits = rows; bits; bits &= bits - 1) list[n++] = subtree_rows_[first_set(bits)];
    std::vector<u32> columns(members.ids, members.ids + members.n);
    for (u32 bits = joined; bits; bits &= bits - 1) columns.push_back(leaf_columns_[first_set(bits)]);
    return numbers_.answer(value, list, n, columns.data(), static_cast<u32>(columns.size()));
  }
  /// Drops the candidates of a narrow node that have fewer rows; `end` of them are still to be
  /// tried. False where none is.
  static bool drop_fewer(u32 least, u32* candidates, u32* ids, u32& n, u32& end) {
    u32 kept = 0, kept_to_try = 0;
    for (u32 i = 0; i < n; ++i) {
      if (popcount(candidates[i]) < least) continue;
      candidates[kept] = candidates[i];
      ids[kept++] = ids[i];
      kept_to_try += i < end;
    }
    n = kept;
    end = kept_to_try;
    return end != 0;
  }

  const Numbers& numbers_;
  BestList& best_;
  const u32 rows_needed_;
  u32 n_subtree_rows_ = 0;
  u32 subtree_rows_[kLanes] = {}, leaf_columns_[kLanes] = {};

 private:
  Own& own() { return static_cast<Own&>(*this); }
};

class BestSink : public KeepingSink<BestSink> {
 public:
  BestSink(const Scores& scores, const Numbers& numbers, u32 most_rows, BestList& best)
      : KeepingSink(scores.sizes, numbers, best), scores_(scores), n_at_(usize{most_rows} + 2), sum_at_(usize{most_rows} + 2), pairs_(scores) {}

  // ---- what is found ----------------------------------------------------------------------------

  u64 column_hash(u32 c) const { return scores_.by_size() ? 0 : static_cast<u64>(scores_.column_terms[c]); }
  void rows(const u32* rows, u32 n) {
    KeepingSink::rows(rows, n);
    if (scores_.by_size()) return;
    for (u32 i = 0; i < n; ++i) subtree_terms_[i] = static_cast<u64>(scores_.row_terms[rows[i]]);
    for (u32 i = 0; i < n; ++i) by_term_[i] = i;
    std::sort(by_term_, by_term_ + n, [this](u32 a, u32 b) {
      return static_cast<i64>(subtree_terms_[a]) > static_cast<i64>(subtree_terms_[b]);
    });
  }
  template <class M>
  void leaf(const M& members, const u32* ids, u32 n) {
    KeepingSink::leaf(members, ids, n);
    if (!scores_.by_size())
      for (u32 i = 0; i < n; ++i) leaf_terms_[i] = static_cast<u64>(scores_.column_terms[ids[i]]);
  }

  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    const u32 n = popcount(rows), n_columns = members.n + popcount(joined);
    i64 row_sum = 0, column_sum = 0;
    if (!scores_.by_size()) {
      row_sum = static_cast<i64>(sum_selected(subtree_terms_, rows));
      column_sum = static_cast<i64>(members.hash + sum_selected(leaf_terms_, joined));
    }
    const i64 value = scores_.value(n, n_columns, row_sum, column_sum);
    if (value < best_.least() || !scores_.sizes.accepts(n, n_columns)) return;
    offer(answer_in_leaf(value, rows, members, joined));
  }

  /// Keeps a maximal biclique if it is among the best.
  void consider(const u32* rows, u32 n_rows, const u32* columns, u32 n_columns) {
    i64 row_sum = 0, column_sum = 0;
    if (!scores_.by_size()) {
      for (u32 i = 0; i < n_rows; ++i) row_sum += scores_.row_terms[rows[i]];
      for (u32 i = 0; i < n_columns; ++i) column_sum += scores_.column_terms[columns[i]];
    }
    const i64 value = scores_.value(n_rows, n_columns, row_sum, column_sum);
    if (value >= best_.least() && scores_.sizes.accepts(n_rows, n_columns)) offer(numbers_.answer(value, rows, n_rows, columns, n_columns));
  }

  // ---- greed ------------------------------------------------------------------------------------

  /// Prepares `promise` for these rows, and the columns that all of them have.
  void weigh(const std::vector<u32>&, const std::vector<u32>& closed) {
    if (scores_.by_size()) return;
    i64 of_closed = 0;
    for (u32 column : closed) of_closed += own(scores_.column_terms, scores_.own_column_terms)[column];
    n_closed_ = static_cast<u32>(closed.size());
    closed_sum_ = static_cast<double>(of_closed);
  }
  i64 row_term(u32 row) const { return scores_.by_size() ? 0 : own(scores_.row_terms, scores_.own_row_terms)[row]; }
  /// How good a column is that so many of the rows have, with the sum of their terms: by surprise,
  /// what they are worth with it.
  double promise(u32 column, u32 count, i64 row_sum) const {
    if (scores_.by_size()) return count;
    const double term = static_cast<double>(own(scores_.column_terms, scores_.own_column_terms)[column]), sum = static_cast<double>(row_sum);
    if (!scores_.row_cost) return sum + count * term;
    return (n_closed_ + 1) * sum + count * (closed_sum_ + term) -
           static_cast<double>(Worth::cost(scores_.row_cost, count) + Worth::cost(scores_.column_cost, n_closed_ + 1));
  }

  // ---- what is hopeless -------------------------------------------------------------------------

  /// What is below a root is not known any closer when it has been opened.
  i64 root_bound() const { return INT64_MAX; }
  /// Can one of at most so many rows and columns be wanted?
  bool hopeful(u64 n_rows, u64 n_columns) const { return scores_.most(n_rows, n_columns) >= best_.least(); }

  /// Columns without which nothing of these rows is wanted, below a root.
  u32 columns_needed(u32 root, const u32* rows, u32 n) {
    const i64 least = best_.least();
    const u32 most_rows = std::min(n, scores_.sizes.max_rows);
    if (least <= 0 || scores_.objective == Objective::weight) return scores_.sizes.min_columns;
    if (scores_.by_size()) return scores_.columns_needed(most_rows, least, scores_.sizes.min_columns, ~0u);
    terms_.clear();
    for (u32 i = 0; i < n; ++i)
      terms_.push_back(std::max<i64>(scores_.row_terms[rows[i]] + scores_.best_column_from[root], 0));
    if (most_rows < n) std::nth_element(terms_.begin(), terms_.begin() + most_rows, terms_.end(), std::greater<i64>());
    i64 a_column = -scores_.column_charge;  // no column adds more
    for (u32 i = 0; i < most_rows; ++i) a_column += terms_[i];
    if (a_column <= 0) return ~0u;
    return static_cast<u32>(std::clamp<i64>((least + scores_.row_charge - 1) / a_column + 1, scores_.sizes.min_columns, ~0u));
  }

  /// Bounds a narrow node, and drops the candidates that are in no answer below it; `end` of them
  /// are still to be tried. False where it is hopeless.
  template <class M>
  bool aim(u32* candidates, u32* ids, u32& n, u32& end, const M& members) {
    u32 reach = 0;
    for (u32 i = 0; i < n; ++i) reach |= candidates[i];
    begin_narrow(reach);
    for (u32 i = 0; i < n; ++i) add(popcount(candidates[i]), ids[i]);
    u32 least = least_rows(members.n, members.hash);
    if (least && bounds_pairs()) {
      begin_pairs(reach, members, 0);
      for (u32 i = 0; i < n; ++i) pairs_of(reach, candidates[i], ids[i]);
      least = pairs_.fewest(least, scores_.sizes.max_rows, best_.least());
    }
    return least && drop_fewer(least, candidates, ids, n, end);
  }
  /// The same for a node of a leaf, whose candidates `next` have the rows `inside`; returns those
  /// that are left.
  template <class M>
  u32 aim_leaf(u32 rows, Lanes inside, u32 next, const M& members, u32 joined) {
    alignas(64) u32 counts[2 * kLanes];
    store(counts, popcounts(inside));
    begin_narrow(rows);
    for (u32 bits = next; bits; bits &= bits - 1) {
      const u32 i = first_set(bits);
      add(counts[i], leaf_columns_[i]);
    }
    const u64 sum = scores_.by_size() ? 0 : members.hash + sum_selected(leaf_terms_, joined);
    u32 least = least_rows(members.n + popcount(joined), sum);
    if (least && bounds_pairs()) {
      alignas(64) u32 masks[2 * kLanes];
      store(masks, inside);
      begin_pairs(rows, members, joined);
      for (u32 bits = next; bits; bits &= bits - 1) pairs_of(rows, masks[first_set(bits)], leaf_columns_[first_set(bits)]);
      least = pairs_.fewest(least, scores_.sizes.max_rows, best_.least());
    }
    return least ? next & ballot(load(counts) >= splat(least)) : 0;
  }
  /// The same for any other node: `each(f)` calls f(rows, column) for its candidates, and
  /// `each_pair(least, f)` f(row, column) for each row, by its place, of those that have so many.
  /// Returns how many rows a candidate must have, 0 where the node is hopeless.
  template <class M, class Each, class EachPair>
  u32 aim_wide(const u32* rows, u32 n_rows, const M& members, Each each, EachPair each_pair) {
    n_prefix_ = n_rows;
    if (!scores_.by_size()) {
      terms_.clear();
      for (u32 i = 0; i < n_rows; ++i) terms_.push_back(scores_.row_terms[rows[i]]);
      const u32 n = std::min(n_rows, scores_.sizes.max_rows);
      if (n < n_rows) std::nth_element(terms_.begin(), terms_.begin() + n, terms_.end(), std::greater<i64>());
      std::sort(terms_.begin(), terms_.begin() + n, std::greater<i64>());
      sum_prefixes(terms_.data(), n);
    }
    each([this](u32 count, u32 column) { add(count, column); });
    const u32 least = least_rows(members.n, members.hash);
    if (!least || !bounds_pairs()) return least;
    pairs_.begin(members.n);
    for (u32 i = 0; i < n_rows; ++i) pairs_.row(rows[i]);
    for (u32 i = 0; i < members.n; ++i) pairs_.member(members.ids[i]);
    each_pair(least, [this](u32 row, u32 column) { pairs_.pair(row, column); });
    return pairs_.fewest(least, scores_.sizes.max_rows, best_.least());
  }

 private:
  /// Greed goes by terms that are no bounds: pairs of hubs are worth nearly nothing.
  const std::vector<i64>& own(const std::vector<i64>& terms, const std::vector<i64>& own) const { return scores_.exact ? own : terms; }
  /// Offers what its value, or by surprise more, lets hope.
  void offer(Answer answer) {
    if (scores_.exact) answer.value = scores_.exact->surprise(answer.left, answer.right);
    if (answer.value >= best_.least()) best_.offer(std::move(answer));
  }

  /// Prepares the bound of a node over some rows of the subtree.
  void begin_narrow(u32 rows) {
    n_prefix_ = popcount(rows);
    if (scores_.by_size()) return;
    i64 terms[kLanes];
    u32 n = 0;
    for (u32 i = 0; i < n_subtree_rows_; ++i)
      if (rows >> by_term_[i] & 1) terms[n++] = static_cast<i64>(subtree_terms_[by_term_[i]]);
    n_prefix_ = n;
    sum_prefixes(terms, n);
  }
  /// Sums of the best 0, 1, … rows.
  void sum_prefixes(const i64* terms, u32 n) {
    prefix_.assign(1, 0);
    for (u32 i = 0; i < n; ++i) prefix_.push_back(prefix_.back() + terms[i]);
    gains_.clear();
  }
  void add(u32 count, u32 column) {
    if (scores_.objective == Objective::surprise) return gains_.push_back({scores_.column_terms[column], count});
    ++n_at_[count];
    if (!scores_.by_size()) sum_at_[count] += std::max<i64>(scores_.column_terms[column], 0);
  }
  /// From what `add` was told: how many rows a candidate must have; 0 where no answer can be had.
  u32 least_rows(u32 n_members, u64 hash) {
    if (scores_.objective == Objective::surprise) return least_rows_by_surprise(n_members, static_cast<i64>(hash));
    if (n_members >= scores_.sizes.max_columns) return forget(), 0;
    const i64 least = best_.least();
    u64 columns = n_members;
    i64 column_sum = static_cast<i64>(hash);
    u32 fewest = 0;
    for (u32 s = n_prefix_; s >= 1; --s) {
      columns += n_at_[s];
      column_sum += sum_at_[s];
      n_at_[s] = 0;
      sum_at_[s] = 0;
      if (columns == n_members || s < rows_needed_ || s > scores_.sizes.max_rows) continue;
      if (columns < scores_.sizes.min_columns || s * columns < scores_.sizes.min_edges) continue;
      if (scores_.most(s, columns, scores_.by_size() ? 0 : prefix_[s], column_sum) >= least) fewest = s;
    }
    return fewest;
  }
  /// The same where a choice costs, and each column adds what it is worth with s rows: of those
  /// that have so many the best 1, 2, …, less what so many cost.
  u32 least_rows_by_surprise(u32 n_members, i64 member_sum) {
    const Sizes& sizes = scores_.sizes;
    if (n_members >= sizes.max_columns || gains_.empty()) return 0;
    const double least = static_cast<double>(best_.least());
    std::sort(gains_.begin(), gains_.end(), [](const Gain& a, const Gain& b) { return a.term > b.term; });
    u32 fewest = 0;
    const u32 most_rows = std::min(n_prefix_, sizes.max_rows);
    for (u32 s = most_rows; s >= rows_needed_; --s) {
      u64 columns = n_members;
      const double of_rows = static_cast<double>(prefix_[s]), paid = static_cast<double>(Worth::cost(scores_.row_cost, s));
      double sum = static_cast<double>(columns) * of_rows + static_cast<double>(s) * static_cast<double>(member_sum) - paid;
      for (const Gain& gain : gains_) {
        if (gain.rows < s) continue;
        if (++columns > sizes.max_columns) break;
        sum += of_rows + static_cast<double>(s) * static_cast<double>(gain.term);
        if (columns < sizes.min_columns || s * columns < sizes.min_edges) continue;
        if (Worth::rounded_up(sum - static_cast<double>(Worth::cost(scores_.column_cost, columns))) < least) continue;
        fewest = s;
        break;
      }
    }
    return fewest;
  }
  bool bounds_pairs() const { return scores_.exact && best_.least() != INT64_MIN; }
  /// Begins the bound by pairs of a narrow node.
  template <class M>
  void begin_pairs(u32 rows, const M& members, u32 joined) {
    pairs_.begin(members.n + popcount(joined));
    for (u32 bits = rows; bits; bits &= bits - 1) pairs_.row(subtree_rows_[first_set(bits)]);
    for (u32 i = 0; i < members.n; ++i) pairs_.member(members.ids[i]);
    for (u32 bits = joined; bits; bits &= bits - 1) pairs_.member(leaf_columns_[first_set(bits)]);
  }
  /// A candidate with some of these rows.
  void pairs_of(u32 rows, u32 mask, u32 column) {
    for (u32 bits = mask; bits; bits &= bits - 1) pairs_.pair(popcount(rows & ((bits & (0 - bits)) - 1)), column);
  }
  void forget() {
    std::fill(n_at_.begin(), n_at_.begin() + n_prefix_ + 1, 0);
    std::fill(sum_at_.begin(), sum_at_.begin() + n_prefix_ + 1, 0);
  }

  const Scores& scores_;
  std::vector<u32> n_at_;    // candidates by their number of rows
  std::vector<i64> sum_at_;  // and the sum of their terms
  std::vector<i64> prefix_, terms_;
  struct Gain {
    i64 term;
    u32 rows;
  };
  std::vector<Gain> gains_;  // of surprise: candidates
  double closed_sum_ = 0;  // of greed
  u32 n_closed_ = 0;
  u32 n_prefix_ = 0;
  PairBounds pairs_;
  u32 by_term_[kLanes] = {};
  u64 subtree_terms_[kLanes] = {}, leaf_terms_[kLanes] = {};
};

}  // namespace bicliq::best
