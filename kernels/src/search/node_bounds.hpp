// node_bounds.hpp: the most that a biclique below a node can be worth by its terms, as a warp finds
// it out cheaply.
//
// Every answer below a node has all of R, and besides some of the candidates and of the rows that
// any of these has. By weight it is worth no more than R and all of those that add something. By
// surprise no pair of it is worth more than its column with the best of the rows; so that R and the
// candidates that add something with that row, times all rows, bound it, each less the charge for
// choosing it. What is negative in all is bounded by zero. The bounds of best_sink.hpp are closer,
// as they tell numbers of rows apart, and cost a step a candidate and a step a row one after the
// other.
//
// Cost: a load and an addition for each 32 rows or candidates, and some sums over all lanes.
#pragma once

#include "graphs/objective.hpp"
#include "search/subtree.hpp"
#include "lanes/lanes.hpp"

namespace bicliq {

class NodeBounds {
 public:
  /// LaneTerms by number; where sizes alone count there need be none.
  NodeBounds(const Worth& worth, const u64* row_terms, const u64* column_terms)
      : worth_(worth), row_terms_(row_terms), column_terms_(column_terms) {}

  /// Can a child be worth `least` that is a list of n candidates, which have some of the rows that
  /// lanes stand for?
  bool narrow(i64 least, const LaneTerms& row_terms, u32 rows, const u32* ids, u32 n, const Members& members) const {
    return reaches(least, popcount(rows), members.n, members.hash, [&](auto f) { f(row_terms, flags(rows)); },
                   [&](auto f) { each_listed(column_terms_, ids, n, f); });
  }
  /// The same for a node of a leaf, whose candidates are lanes; some of them joined R.
  bool leaf(i64 least, const LaneTerms& row_terms, u32 rows, const LaneTerms& column_terms, u32 next, const Members& members, u32 joined) const {
    if (worth_.by_size()) return true;
    return reaches(least, popcount(rows), members.n + popcount(joined), members.hash + total(masked(column_terms, flags(joined))),
                   [&](auto f) { f(row_terms, flags(rows)); }, [&](auto f) { f(column_terms, flags(next)); });
  }
  /// The same for a wide child over listed rows, whose candidates are the set bits of some words.
  bool wide(i64 least, const u32* rows, u32 n_rows, const u32* open, u32 n_words, const u32* ids, const Members& members) const {
    return reaches(least, n_rows, members.n, members.hash, [&](auto f) { each_listed(row_terms_, rows, n_rows, f); },
                   [&](auto f) {
                     BICLIQ_ROLL
                     for (u32 w = 0; w < n_words; ++w)
                       if (open[w]) f(load_terms(column_terms_, load(ids + 32 * w), flags(open[w])), flags(open[w]));
                   });
  }

 private:
  const Worth worth_;
  const u64 *row_terms_, *column_terms_;

  /// f(terms, lanes) for 32 of n listed vertices at a time.
  template <class F>
  static void each_listed(const u64* terms, const u32* ids, u32 n, F f) {
    BICLIQ_ROLL
    for (u32 i = 0; i < n; i += kLanes) {
      const Flags real = first_lanes(n - i);
      f(load_terms(terms, load(ids + i, real), real), real);
    }
  }
  /// The sum of what is positive, with `base` added to each.
  template <class Each>
  static u64 gains(u64 base, const Each& each) {
    LaneTerms sum = {};
    each([&](const LaneTerms& terms, Flags lanes) { add_gains(sum, terms, base, lanes); });
    return total(sum);
  }
  template <class EachRow, class EachColumn>
  bool reaches(i64 least, u32 n_rows, u32 n_members, u64 member_sum, const EachRow& each_row, const EachColumn& each_column) const {
    if (worth_.objective == Objective::weight)
      return static_cast<i64>(member_sum + gains(0, each_row) + gains(0, each_column)) >= least;
    if (worth_.objective != Objective::surprise) return true;
    i64 best = kLeastTerm;
    each_row([&](const LaneTerms& terms, Flags lanes) {
      const i64 most = largest(terms, lanes);
      best = most > best ? most : best;
    });
    const u32 most_rows = n_rows < worth_.sizes.max_rows ? n_rows : worth_.sizes.max_rows;
    const u64 base = static_cast<u64>(best - worth_.column_charge / (most_rows ? most_rows : 1));
    const i64 sum = static_cast<i64>(member_sum + n_members * base + gains(base, each_column)) - worth_.row_charge;
    return worth_.most(most_rows, 0, 0, sum > 0 ? sum : 0) >= least;
  }
};

}  // namespace bicliq
