// sink.hpp: what a search asks of who takes the bicliques.
//
// A search is compiled for its sink. A sink is a class over `SinkBase`: it says by the constants
// what it wants to know, and has the functions that this takes; what is given here is all that one
// needs who does not care. Below, `members` (subtree.hpp) are the columns of R.
//
//   always               found(rows mask, members)      a biclique of at most 32 rows, bits of the last `rows`
//                        found(rows, n, members)        any other; without `wants_rows` rows are null
//                        single_row(row, columns, n)    a row with all its columns (on a CPU)
//   wants_members        found_in_leaf(mask, members, joined)
//                                                       R and the `joined` lanes of the last `leaf`
//   sums_rows            row_hash(row), found_sum(sum, n, members, list)
//                        a biclique of n rows by the sum of their hashes; list() gives their numbers
//   may_lack_room        room(rows, columns)            false: the search parks before the next step
//   bounds_by_size       hopeful(rows, columns)         can one of at most so many be wanted?
//   bounds_by_weight     narrow_reaches, leaf_reaches, wide_reaches (node_bounds.hpp)
//   wants_best           columns_needed, aim, aim_leaf, aim_wide (best/best_sink.hpp)
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

struct SinkBase {
  static constexpr bool wants_members = true;  // R, not only that there is a biclique
  static constexpr bool wants_ids = true;      // R's columns by number; else how many, and the sum of their hashes
  static constexpr bool wants_rows = true;      // L, not only how many rows it has (of a mask: always)
  static constexpr bool sums_rows = false;
  static constexpr bool may_lack_room = false, bounds_by_size = false, bounds_by_weight = false, wants_best = false;

  /// What comes is below this root;
  void root(u32) {}
  /// the bits of the coming masks stand for these rows,
  void rows(const u32*, u32) {}
  /// and the lanes of the coming leaf for these columns. `members` are in each of its R.
  template <class M>
  void leaf(const M&, const u32*, u32) {}
  /// What is added up over the columns of R, as `members.hash`.
  u64 column_hash(u32) const { return 0; }
  /// Nothing comes any more from this worker.
  void finish() {}
  u64 digest() const { return 0; }
};

/// A sink that asks of a biclique only how large it is: `Self` has add(rows, columns).
template <class Self>
struct SinkOfSizes : SinkBase {
  static constexpr bool wants_ids = false, wants_rows = false;

  template <class M>
  void found(u32 rows, const M& members) {
    self().add(popcount(rows), members.n);
  }
  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    self().add(popcount(rows), members.n + popcount(joined));
  }
  template <class M>
  void found(const u32*, u32 n, const M& members) {
    self().add(n, members.n);
  }
  void single_row(u32, const u32*, u32 n) { self().add(1, n); }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace bicliq
