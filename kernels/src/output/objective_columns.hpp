// objective_columns.hpp: what each biclique of a batch is worth, for columns of its row group.
//
// The formulas are those of graphs/objective.hpp, so a stored value is the one that the search
// for the best bicliques gives, to the last bit: terms and sums are whole numbers.
//
// Cost: O(1) a biclique for what its sizes tell, a pass over the edges for surprise.
#pragma once

#include "graphs/objective.hpp"
#include "output/list_column.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace bicliq {

/// A term of each vertex of a side, by id.
struct Terms {
  const i64* of = nullptr;
  std::size_t n = 0;
};

/// The objectives whose values are stored, and what surprise is reckoned from.
struct StoredObjectives {
  std::vector<Objective> wanted;
  Terms left, right, left_costs, right_costs;
  Correction correction;
  double unit = 1;  // nats: what a whole number of surprise stands for
};


/// What the lists of a column add up to.
class TermsOfLists {
 public:
  /// Each id must have a term; a negative one is beyond all of them when it is taken for unsigned.
  TermsOfLists(const ListColumn& lists, std::size_t n, const Terms& terms) : lists_(lists), of_(terms.of) {
    const i32 *ids = lists.places ? lists.entries->data() : lists.ids + lists.offsets[0];
    const i32 *end = lists.places ? ids + lists.entries->size() : lists.ids + lists.offsets[n];
    u32 most = 0;
    for (const i32* id = ids; id < end; ++id) most = std::max(most, static_cast<u32>(*id));
    if (ids < end && most >= terms.n)
      throw std::invalid_argument("a biclique holds the id " + std::to_string(static_cast<i32>(most)) + "; there are terms for " +
                                  std::to_string(terms.n) + " vertices of its side");
    if (!lists.places) return;
    for (const i32 id : *lists.entries) of_place_.push_back(terms.of[id]);
    of_ = of_place_.data();
  }
  TermsOfLists(const TermsOfLists&) = delete;
  TermsOfLists& operator=(const TermsOfLists&) = delete;

  /// The terms of the members of a list.
  void of(std::size_t i, std::vector<i64>& terms) const {
    lists_.places ? of(lists_.places, i, terms) : of(lists_.ids, i, terms);
  }

 private:
  template <class T>
  void of(const T* numbers, std::size_t i, std::vector<i64>& terms) const {
    terms.clear();
    for (i32 at = lists_.offsets[i]; at < lists_.offsets[i + 1]; ++at) terms.push_back(of_[numbers[at]]);
  }
  const ListColumn& lists_;
  std::vector<i64> of_place_;
  const i64* of_;
};

/// Values of the bicliques of a batch.
class BatchValues {
 public:
  BatchValues(const i32* n_left, const i32* n_right, std::size_t n) : n_left_(n_left), n_right_(n_right), n_(n) {}

  /// The values of an objective that sizes alone tell.
  std::vector<i64> of_sizes(Objective objective) const {
    Worth worth;
    worth.objective = objective;
    std::vector<i64> values(n_);
    for (std::size_t i = 0; i < n_; ++i) values[i] = worth.plain(worth.value(size(n_left_, i), size(n_right_, i), 0, 0));
    return values;
  }
  /// Surprise, in nats; it takes the lists of both sides.
  std::vector<double> surprise(const ListColumn& left_lists, const ListColumn& right_lists, const StoredObjectives& of) const {
    const TermsOfLists left(left_lists, n_, of.left), right(right_lists, n_, of.right);
    std::vector<i64> rows, columns;
    std::vector<double> values(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      left.of(i, rows);
      right.of(i, columns);
      i64 value = -cost(of.left_costs, rows.size()) - cost(of.right_costs, columns.size());
      for (i64 row : rows)
        for (i64 column : columns) value += of.correction.pair(row + column);
      values[i] = of.unit * static_cast<double>(value);
    }
    return values;
  }

 private:
  const i32 *const n_left_, *const n_right_;
  const std::size_t n_;

  static i64 cost(const Terms& costs, std::size_t n) {
    if (n >= costs.n)
      throw std::invalid_argument("a biclique has " + std::to_string(n) + " members of a side; there are costs for less than " +
                                  std::to_string(costs.n));
    return costs.of[n];
  }
  static u64 size(const i32* sizes, std::size_t i) { return static_cast<u64>(sizes[i]); }
};

}  // namespace bicliq
