// objective_columns.hpp: what each biclique of a batch is worth, for columns of its row group.
//
// The formulas are those of enumeration/objective.hpp, so a stored value is the one that the search
// for the best bicliques gives, to the last bit: terms and sums are whole numbers.
//
// Cost: O(1) a biclique for what its sizes tell, a pass over the ids for surprise.
#pragma once

#include "enumeration/objective.hpp"
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

inline namespace BICLIQ_ISA {

/// Values of the bicliques of a batch.
class BatchValues {
 public:
  BatchValues(const ListColumn& left, const ListColumn& right, std::size_t n) : left_(left), right_(right), n_(n) {}

  /// The values of an objective that sizes alone tell.
  std::vector<i64> of_sizes(Objective objective) const {
    Worth worth;
    worth.objective = objective;
    std::vector<i64> values(n_);
    for (std::size_t i = 0; i < n_; ++i) values[i] = worth.plain(worth.value(size(left_, i), size(right_, i), 0, 0));
    return values;
  }
  /// Surprise, in nats.
  std::vector<double> surprise(const Terms& left, const Terms& right, double unit) const {
    check(left_, left);
    check(right_, right);
    Worth worth;
    worth.objective = Objective::surprise;
    std::vector<double> values(n_);
    for (std::size_t i = 0; i < n_; ++i)
      values[i] = unit * static_cast<double>(worth.value(size(left_, i), size(right_, i), sum(left_, left, i), sum(right_, right, i)));
    return values;
  }

 private:
  const ListColumn left_, right_;
  const std::size_t n_;

  static u64 size(const ListColumn& lists, std::size_t i) { return static_cast<u64>(lists.length(i)); }
  static i64 sum(const ListColumn& lists, const Terms& terms, std::size_t i) {
    i64 total = 0;
    for (i32 at = lists.offsets[i]; at < lists.offsets[i + 1]; ++at) total += terms.of[lists.ids[at]];
    return total;
  }
  /// Each id must have a term; a negative one is beyond all of them when it is taken for unsigned.
  void check(const ListColumn& lists, const Terms& terms) const {
    u32 most = 0;
    for (i32 at = lists.offsets[0]; at < lists.offsets[n_]; ++at) most = std::max(most, static_cast<u32>(lists.ids[at]));
    if (lists.offsets[n_] > lists.offsets[0] && most >= terms.n)
      throw std::invalid_argument("a biclique holds the id " + std::to_string(static_cast<i32>(most)) + "; there are terms for " +
                                  std::to_string(terms.n) + " vertices of its side");
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
