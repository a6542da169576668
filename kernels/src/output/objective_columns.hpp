// objective_columns.hpp: what each biclique of a batch is worth, for columns of its row group.
//
// The formulas are those of graphs/objective.hpp, so a stored value is the one that the search
// for the best bicliques gives, to the last bit: terms and sums are whole numbers.
//
// Cost: O(1) a biclique for what its sizes tell, a pass over the ids for surprise.
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
  Terms left, right;
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

  i64 sum(std::size_t i) const {
    return lists_.places ? sum(lists_.places, i) : sum(lists_.ids, i);
  }

 private:
  template <class T>
  i64 sum(const T* numbers, std::size_t i) const {
    i64 total = 0;
    for (i32 at = lists_.offsets[i]; at < lists_.offsets[i + 1]; ++at) total += of_[numbers[at]];
    return total;
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
  std::vector<double> surprise(const ListColumn& left_lists, const ListColumn& right_lists, const Terms& left_terms,
                               const Terms& right_terms, double unit) const {
    const TermsOfLists left(left_lists, n_, left_terms), right(right_lists, n_, right_terms);
    Worth worth;
    worth.objective = Objective::surprise;
    std::vector<double> values(n_);
    for (std::size_t i = 0; i < n_; ++i)
      values[i] = unit * static_cast<double>(worth.value(size(n_left_, i), size(n_right_, i), left.sum(i), right.sum(i)));
    return values;
  }

 private:
  const i32 *const n_left_, *const n_right_;
  const std::size_t n_;

  static u64 size(const i32* sizes, std::size_t i) { return static_cast<u64>(sizes[i]); }
};

}  // namespace bicliq
