// edge_sink.hpp: a sink that keeps the bicliques whose edges weigh most, and says what is hopeless.
//
// A biclique is worth the sum of the weights of its edges. The bound of a node: an answer below it
// with s rows consists of R and of candidates with at least s rows each. A column adds no more than
// its positive weights to the node's rows, and no more than s times its largest weight; all columns
// together no more than the s rows of the node can have that weigh most. For every s the lower of
// the two sums bounds the value; where sizes allow few columns, R and the best of the candidates do
// so as well. As in best_sink.hpp the smallest s that reaches what is wanted is the number of rows
// that a candidate must have.
//
// First the bound is taken with what a column weighs in the whole graph, which costs a step a
// column. Where that is not hopeless, it is taken with what it weighs in the node's rows: below 32
// rows from a table of the subtree's weights, else from the rows' lists of edges.
#pragma once

#include "best/best_list.hpp"
#include "best/best_sink.hpp"
#include "best/edge_weights.hpp"
#include "graphs/objective.hpp"
#include "lanes/lanes.hpp"

#include <functional>
#include <numeric>

namespace bicliq::best {

class EdgeSink : public KeepingSink<EdgeSink> {
 public:
  EdgeSink(const Sizes& sizes, const EdgeWeights& weights, const Numbers& numbers, u32 most_rows, BestList& best)
      : KeepingSink(sizes, numbers, best), sizes_(sizes), weights_(weights), at_(usize{most_rows} + 2), slot_of_(numbers.of_column.size(), 0), weight_of_(numbers.of_column.size(), kNone) {}

  // ---- what is found ----------------------------------------------------------------------------

  void root(u32 column) {
    root_ = column;
    bound_ = INT64_MIN;
  }
  /// The most that is below the root, as far as its opening has shown. It holds as well when edges
  /// weigh nothing any more, also those with negative weights, and so leaves these out.
  i64 root_bound() const { return bound_; }
  void rows(const u32* rows, u32 n) {
    KeepingSink::rows(rows, n);
    has_table_ = false;
  }

  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    const u32 n = popcount(rows), n_columns = members.n + popcount(joined);
    if (!hopeful(n, n_columns) || !sizes_.accepts(n, n_columns)) return;
    fill_table();
    i64 value = 0, most = 0;
    for (u32 i = 0; i < members.n; ++i) value += value_of(members.ids[i], rows, most);
    for (u32 bits = joined; bits; bits &= bits - 1) value += value_of(leaf_columns_[first_set(bits)], rows, most);
    bound_ = std::max(bound_, most);
    if (value >= best_.least()) best_.offer(answer_in_leaf(value, rows, members, joined));
  }

  /// Keeps a maximal biclique if it is among the best.
  void consider(const u32* rows, u32 n_rows, const u32* columns, u32 n_columns) {
    if (!hopeful(n_rows, n_columns) || !sizes_.accepts(n_rows, n_columns)) return;
    for (u32 i = 0; i < n_columns; ++i) weight_of_[columns[i]] = 0;
    i64 value = 0, most = 0;
    for (u32 i = 0; i < n_rows; ++i)
      for (const auto& [column, weight] : weights_.row(rows[i]))
        if (weight_of_[column] != kNone) {
          value += weight;
          most += std::max<i64>(weight, 0);
        }
    for (u32 i = 0; i < n_columns; ++i) weight_of_[columns[i]] = kNone;
    bound_ = std::max(bound_, most);
    if (value >= best_.least()) best_.offer(numbers_.answer(value, rows, n_rows, columns, n_columns));
  }

  // ---- what is hopeless -------------------------------------------------------------------------

  /// Can one of at most so many rows and columns be wanted?
  bool hopeful(u64 n_rows, u64 n_columns) {
    const u64 edges = std::min<u64>(n_rows, sizes_.max_rows) * std::min<u64>(n_columns, sizes_.max_columns);
    const i64 most = capped_product(edges, weights_.largest());
    if (most >= best_.least()) return true;
    bound_ = std::max(bound_, most);
    return false;
  }

  /// Columns without which nothing of these rows is wanted, below a root.
  u32 columns_needed(u32, const u32*, u32) const { return sizes_.min_columns; }

  i64 row_term(u32) const { return 0; }
  /// Prepares `promise` for these rows.
  void weigh(const std::vector<u32>& rows, const std::vector<u32>&) {
    promise_.resize(weight_of_.size(), 0);
    for (u32 column : promised_) promise_[column] = 0;
    promised_.clear();
    for (u32 row : rows)
      for (const auto& [column, weight] : weights_.row(row)) {
        if (!promise_[column]) promised_.push_back(column);
        promise_[column] += weight;
      }
  }
  /// How good a column is that so many of the rows have: what it weighs in them.
  double promise(u32 column, u32, i64) const { return static_cast<double>(promise_[column]); }

  /// Bounds a narrow node, and drops the candidates that are in no answer below it; `end` of them
  /// are still to be tried. False where it is hopeless.
  template <class M>
  bool aim(u32* candidates, u32* ids, u32& n, u32& end, const M& members) {
    u32 reach = 0;
    for (u32 i = 0; i < n; ++i) reach |= candidates[i];
    const u32 least = least_of_masks(reach, members, 0, [&](auto add) {
      for (u32 i = 0; i < n; ++i) add(candidates[i], ids[i]);
    });
    return least && drop_fewer(least, candidates, ids, n, end);
  }
  /// The same for a node of a leaf, whose candidates `next` have the rows `inside`; returns those
  /// that are left.
  template <class M>
  u32 aim_leaf(u32 rows, Lanes inside, u32 next, const M& members, u32 joined) {
    alignas(64) u32 masks[2 * kLanes];
    store(masks, inside);
    const u32 least = least_of_masks(rows, members, joined, [&](auto add) {
      for (u32 bits = next; bits; bits &= bits - 1) add(masks[first_set(bits)], leaf_columns_[first_set(bits)]);
    });
    return least ? next & ballot(popcounts(inside) >= splat(least)) : 0;
  }
  /// The same for any other node: `each(f)` calls f(rows, column) for its candidates. Returns how
  /// many rows a candidate must have, 0 where the node is hopeless.
  template <class M, class Each, class EachPair>
  u32 aim_wide(const u32* rows, u32 n_rows, const M& members, Each each, EachPair) {
    begin_bound(n_rows);
    for (u32 i = 0; i < members.n; ++i) add_member(members.ids[i], weights_.sum_of(members.ids[i]));
    each([this](u32 count, u32 column) { add(count, column, weights_.sum_of(column)); });
    if (!least_rows(members.n)) return nothing_below();
    for (u32 i = 0; i < members.n; ++i) weight_of_[members.ids[i]] = 0;
    each([this](u32, u32 column) { weight_of_[column] = 0; });
    terms_.clear();
    for (u32 i = 0; i < n_rows; ++i) terms_.push_back(weigh_row(rows[i]));
    sum_prefixes();
    for (u32 i = 0; i < members.n; ++i) add_member(members.ids[i], note(std::exchange(weight_of_[members.ids[i]], kNone), true));
    each([this](u32 count, u32 column) { add(count, column, note(std::exchange(weight_of_[column], kNone), false)); });
    cap_columns(members.n);
    const u32 least = least_rows(members.n);
    return least ? bounded(least) : nothing_below();
  }

 private:
  static constexpr i64 kNone = INT64_MIN;

  /// What the columns and rows of a node come to with exactly so many rows, as changes from the
  /// number before.
  struct Step {
    u32 columns = 0;
    i64 fixed = 0, slope = 0;  // of columns that add a sum, and of those that add so much a row
  };

  // ---- weights of a subtree of at most 32 rows --------------------------------------------------

  void fill_table() {
    if (has_table_) return;
    has_table_ = true;
    for (u32 column : slot_columns_) slot_of_[column] = 0;
    slot_columns_.clear();
    table_.assign(kLanes, 0);  // slot 0: a column without weights
    for (u32 i = 0; i < n_subtree_rows_; ++i) {
      const EdgeWeights::Row row = weights_.row(subtree_rows_[i]);
      for (auto edge = first_from_root(row); edge != row.end(); ++edge) {
        u32& slot = slot_of_[edge->first];
        if (!slot) {
          slot_columns_.push_back(edge->first);
          slot = static_cast<u32>(slot_columns_.size());
          table_.resize(table_.size() + kLanes, 0);
        }
        table_[usize{slot} * kLanes + i] = edge->second;
      }
    }
  }
  const EdgeWeights::Edge* first_from_root(const EdgeWeights::Row& row) const {
    return std::lower_bound(row.begin(), row.end(), root_, [](const auto& edge, u32 column) { return edge.first < column; });
  }
  /// What a column adds in some rows; `most` is what it would without its negative weights.
  i64 value_of(u32 column, u32 rows, i64& most) const {
    const i64* weights = table_.data() + usize{slot_of_[column]} * kLanes;
    i64 sum = 0;
    for (u32 i = 0; i < kLanes; ++i) {
      const i64 weight = rows >> i & 1 ? weights[i] : 0;
      sum += weight;
      most += std::max<i64>(weight, 0);
    }
    return sum;
  }
  /// What a column can add in some rows; adds the same to what these rows can have.
  i64 gain(u32 column, u32 rows, i64* of_row) const {
    if (!slot_of_[column]) return 0;
    const i64* weights = table_.data() + usize{slot_of_[column]} * kLanes;
    i64 sum = 0;
    for (u32 i = 0; i < kLanes; ++i) {
      const i64 weight = rows >> i & 1 ? std::max<i64>(weights[i], 0) : 0;
      of_row[i] += weight;
      sum += weight;
    }
    return sum;
  }

  // ---- the bound --------------------------------------------------------------------------------

  /// For a node over some rows of the subtree; `each(f)` calls f(mask, column) for its candidates.
  template <class M, class Each>
  u32 least_of_masks(u32 rows, const M& members, u32 joined, Each each) {
    begin_bound(popcount(rows));
    const u32 n_members = members.n + popcount(joined);
    const auto each_member = [&](auto f) {
      for (u32 i = 0; i < members.n; ++i) f(members.ids[i]);
      for (u32 bits = joined; bits; bits &= bits - 1) f(leaf_columns_[first_set(bits)]);
    };
    each_member([this](u32 column) { add_member(column, weights_.sum_of(column)); });
    each([this](u32 mask, u32 column) { add(popcount(mask), column, weights_.sum_of(column)); });
    if (!least_rows(n_members)) return nothing_below();
    fill_table();
    i64 of_row[kLanes] = {};
    each_member([&](u32 column) { add_member(column, note(gain(column, rows, of_row), true)); });
    each([&](u32 mask, u32 column) { add(popcount(mask), column, note(gain(column, mask, of_row), false)); });
    cap_columns(n_members);
    terms_.clear();
    for (u32 bits = rows; bits; bits &= bits - 1) terms_.push_back(of_row[first_set(bits)]);
    sum_prefixes();
    const u32 least = least_rows(n_members);
    return least ? bounded(least) : nothing_below();
  }
  void begin_bound(u32 n_rows) {
    n_rows_ = n_rows;
    prefix_.clear();
    gains_.clear();
    of_columns_ = 0;
  }
  /// Keeps what a column can add, for `cap_columns`.
  i64 note(i64 most, bool member) {
    if (sizes_.max_columns == ~0u) return most;
    if (member)
      of_columns_ += most;
    else
      gains_.push_back(most);
    return most;
  }
  /// An answer has no more columns than are allowed: what R and the best of the others can add.
  void cap_columns(u32 n_members) {
    if (sizes_.max_columns == ~0u || n_members >= sizes_.max_columns) return;
    const usize n = std::min<usize>(sizes_.max_columns - n_members, gains_.size());
    const auto end = gains_.begin() + static_cast<std::ptrdiff_t>(n);
    std::nth_element(gains_.begin(), end, gains_.end(), std::greater<i64>());
    most_of_columns_ = std::accumulate(gains_.begin(), end, of_columns_);
  }
  u32 bounded(u32 least) {
    bound_ = std::max(bound_, most_);
    return least;
  }
  u32 nothing_below() { return bounded(0); }
  /// What a row weighs in the columns that `weight_of_` marks, to which it adds.
  i64 weigh_row(u32 r) {
    i64 sum = 0;
    const EdgeWeights::Row row = weights_.row(r);
    for (auto edge = first_from_root(row); edge != row.end(); ++edge)
      if (edge->second > 0 && weight_of_[edge->first] != kNone) {
        weight_of_[edge->first] += edge->second;
        sum += edge->second;
      }
    return sum;
  }
  /// Sums of the heaviest 0, 1, … rows.
  void sum_prefixes() {
    std::sort(terms_.begin(), terms_.end(), std::greater<i64>());
    prefix_.assign(1, 0);
    for (i64 term : terms_) prefix_.push_back(prefix_.back() + term);
  }
  /// A candidate with so many rows that can add so much; s of its rows add no more than s times its
  /// largest weight, which is less for s up to `turn`.
  void add(u32 count, u32 column, i64 most) {
    ++at_[count].columns;
    add_weight(count, column, most);
  }
  void add_member(u32 column, i64 most) { add_weight(n_rows_, column, most); }
  void add_weight(u32 count, u32 column, i64 most) {
    const i64 largest = weights_.largest_of(column);
    if (most <= 0 || largest <= 0) return;
    const u32 turn = static_cast<u32>(std::min<i64>(most / largest, count));
    if (turn == count) {
      at_[count].slope += largest;
      return;
    }
    at_[count].fixed += most;
    at_[turn].fixed -= most;
    at_[turn].slope += largest;
  }
  /// From what `add` was told: how many rows a candidate must have; 0 where no answer can be had.
  /// `most_` is the most that one can be worth.
  u32 least_rows(u32 n_members) {
    const i64 least = best_.least();
    u64 columns = n_members;
    i64 fixed = 0, slope = 0;
    u32 fewest = 0;
    most_ = INT64_MIN;
    for (u32 s = n_rows_; s >= 1; --s) {
      const Step step = std::exchange(at_[s], {});
      columns += step.columns;
      fixed += step.fixed;
      slope += step.slope;
      if (columns == n_members || s < rows_needed_ || s > sizes_.max_rows || n_members >= sizes_.max_columns) continue;
      if (columns < sizes_.min_columns || s * columns < sizes_.min_edges) continue;
      i64 most;
      if (__builtin_add_overflow(capped_product(s, slope), fixed, &most)) most = INT64_MAX;
      if (!prefix_.empty()) most = std::min({most, prefix_[s], most_of_columns_});
      most_ = std::max(most_, most);
      if (most >= least) fewest = s;
    }
    at_[0] = {};
    return fewest;
  }

  const Sizes sizes_;
  const EdgeWeights& weights_;
  std::vector<Step> at_;  // by number of rows
  std::vector<u32> slot_of_, slot_columns_, promised_;
  std::vector<i64> weight_of_;  // of a column, while a node is bounded; else kNone
  std::vector<i64> table_, terms_, prefix_, promise_, gains_;
  i64 bound_ = INT64_MIN, most_ = INT64_MIN;
  i64 of_columns_ = 0, most_of_columns_ = INT64_MAX;  // of R, and of all columns that an answer can have
  u32 root_ = 0, n_rows_ = 0;
  bool has_table_ = false;
};

}  // namespace bicliq::best
