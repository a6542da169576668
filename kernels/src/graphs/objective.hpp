// objective.hpp: what makes one biclique better than another, and what is the most that one with
// given rows and columns can reach.
//
// A biclique of r rows and c columns is worth
//
//   edges      r · c
//   vertices   r + c, of equal ones the one with more edges first
//   balanced   min(r, c), of equal ones the one with more edges first
//   weight     the sum of its rows' and its columns' terms
//   surprise   c · (sum of its rows' terms) + r · (sum of its columns' terms)
//              − what the choice of r rows costs − what that of c columns costs
//
// The cost of a choice is ln C(n, r), for the groups that could have been chosen, and ln r (r + 1)
// for their size. It is concave in r and 0 at 0, so that up to some largest size every row costs at
// least its share of what so many cost: the charge of a row, by which bounds are shifted.
//
// Terms and sums are whole numbers (weights and logarithms in fixed point), so that the value of a
// biclique does not depend on the order in which it is summed up: threads, sides and lanes agree to
// the last bit.
#pragma once

#include "graphs/limits.hpp"
#include "lanes/sorted_words.hpp"

namespace bicliq {

enum class Objective { edges, vertices, balanced, weight, surprise };

/// ln(1 + exp(-x)) by x in steps; x and what it gives are whole numbers of one unit.
struct Correction {
  const i32* values = nullptr;  // none: pairs are worth the sum of their terms
  i64 lowest = 0;  // the x of the first value; no pair has a smaller one
  u32 n = 0, shift = 0;

  explicit operator bool() const { return values; }
  i64 operator()(i64 x) const {
    const i64 at = (x - lowest) >> shift;
    return at >= static_cast<i64>(n) ? 0 : values[at < 0 ? 0 : at];
  }
  i64 pair(i64 x) const { return values ? x + (*this)(x) : x; }
  /// No less than the pair is worth, and never falling: as if its sum were the largest of its step.
  i64 rising(i64 x) const { return pair(x | ((i64{1} << shift) - 1)); }
  /// No pair of a smaller sum is worth more; by steps one may be worth more than that of x.
  i64 most(i64 x) const { return pair(x) + (values ? i64{1} << shift : 0); }
};

/// How bicliques are valued and bounded.
struct Worth {
  Objective objective = Objective::edges;
  Sizes sizes;
  i64 largest_pair = 0;  // surprise: the largest row term and the largest column term together
  // Of surprise; none where a choice costs nothing.
  const i64 *row_cost = nullptr, *column_cost = nullptr;  // by number of rows, of columns
  i64 row_charge = 0, column_charge = 0;  // no more than the cost of so many, each, in all sizes in reach

  bool by_size() const { return objective < Objective::weight; }

  /// The value of a biclique, from its sizes and the sums of its terms.
  i64 value(u64 rows, u64 columns, i64 row_sum, i64 column_sum) const {
    switch (objective) {
      case Objective::weight: return row_sum + column_sum;
      case Objective::surprise:
        return static_cast<i64>(columns) * row_sum + static_cast<i64>(rows) * column_sum - cost(row_cost, rows) -
               cost(column_cost, columns);
      default: return of_sizes(rows, columns);
    }
  }
  /// Sets the charges for sizes up to these.
  void charge(u64 most_rows, u64 most_columns) {
    row_charge = charge_of(row_cost, less(most_rows, sizes.max_rows));
    column_charge = charge_of(column_cost, less(most_columns, sizes.max_columns));
  }
  /// What each of up to so many costs at least.
  static i64 charge_of(const i64* costs, u64 most) {
    if (!costs || !most) return 0;
    const i64 share = costs[most] / static_cast<i64>(most) - 1;  // costs are rounded
    return share > 0 ? share : 0;
  }
  static i64 cost(const i64* costs, u64 n) { return costs ? costs[n] : 0; }
  /// The most that a biclique of exactly so many rows and at most so many columns is worth, where
  /// no such rows have a larger sum of terms, and no such columns a larger one. By surprise without
  /// what its choice costs: callers charge for it.
  i64 most(u64 rows, u64 columns, i64 row_sum, i64 column_sum) const {
    switch (objective) {
      case Objective::weight: return row_sum + column_sum;
      case Objective::surprise:
        return rounded_up(static_cast<double>(columns) * static_cast<double>(row_sum) +
                          static_cast<double>(rows) * static_cast<double>(column_sum));
      default: return of_sizes(rows, less(columns, sizes.max_columns));
    }
  }
  /// The most that one of at most so many rows and columns is worth, whatever their terms.
  i64 most(u64 rows, u64 columns) const {
    if (objective == Objective::weight) return kUnbounded;
    rows = less(rows, sizes.max_rows);
    columns = less(columns, sizes.max_columns);
    if (objective == Objective::surprise)
      return charged(rows, columns,
                     static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(largest_pair > 0 ? largest_pair : 0));
    return of_sizes(rows, columns);
  }
  /// By size: the first number of columns from `low` on with which at most so many rows can be
  /// worth `least`; `high` where nothing below that is enough.
  u32 columns_needed(u64 rows, i64 least, u32 low, u32 high) const {
    const auto reached = [&](u32 columns) { return most(rows, columns) >= least; };
    return reached(low) ? low : first_where(low, high, reached);
  }
  /// A biclique's value in the objective's own units, without what only orders equal ones.
  i64 plain(i64 value) const {
    return objective == Objective::vertices || objective == Objective::balanced ? value >> kTieBits : value;
  }
  /// The least value of a biclique that reaches so many units.
  i64 least(i64 units) const {
    if (objective != Objective::vertices && objective != Objective::balanced) return units;
    if (units <= 0) return 0;  // to shift it would be undefined; every biclique reaches it
    return units > kUnbounded >> kTieBits ? kUnbounded : units << kTieBits;
  }

  static constexpr i64 kUnbounded = 0x7fffffffffffffff;
  /// A bound that was summed in floating point, made safe.
  static i64 rounded_up(double x) {
    if (x == 0) return 0;  // nothing was summed
    const double safe = x + (x < 0 ? -x : x) * 1e-12 + 2;
    return safe < 9e18 ? static_cast<i64>(safe) : kUnbounded;
  }

 private:
  static constexpr u32 kTieBits = 30;

  static u64 less(u64 a, u64 b) { return a < b ? a : b; }

  /// What pairs are worth at most, less what so many rows and columns cost at least; as it is
  /// linear in either, fewer are worth no more than all of them or than nothing.
  i64 charged(u64 rows, u64 columns, double pairs) const {
    if (!row_cost) return rounded_up(pairs);
    const double left = pairs - static_cast<double>(rows) * static_cast<double>(row_charge) -
                        static_cast<double>(columns) * static_cast<double>(column_charge);
    return rounded_up(left > 0 ? left : 0);
  }

  i64 of_sizes(u64 rows, u64 columns) const {
    const u64 edges = rows * columns;
    if (objective == Objective::edges) return static_cast<i64>(edges);
    const u64 size = objective == Objective::vertices ? rows + columns : less(rows, columns);
    return static_cast<i64>(size << kTieBits | less(edges, (u64{1} << kTieBits) - 1));
  }
};

}  // namespace bicliq
