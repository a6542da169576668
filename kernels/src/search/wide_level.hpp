// wide_level.hpp: what a wide node knows by itself: which of its candidates are to be tried, were
// tried, or have all rows of a child.
//
// Cost: a pass over the words of the child's rows.
#pragma once

#include "search/search_state.hpp"

namespace bicliq {

template <class Mark>
struct WideLevel : NodeOnPath<WideLevel<Mark>, Mark> {
  using Base = NodeOnPath<WideLevel, Mark>;
  using Base::alive, Base::next, Base::end;

  BitMatrix matrix;  // its own, or its parent's where a smaller one would not pay
  u32* rows;         // L, one bit a row of the matrix
  u32* counts;       // how many rows of L each candidate has
  u32* tried_above;  // candidates of the matrix that were tried on the way to this node: excluded here, one bit each

  /// L is all rows of the matrix, whose columns are filled.
  template <class Memory>
  void take_all_rows(Memory& memory, u32 rows_needed) {
    const BitMatrix& m = matrix;
    const u32 depth = words_for(m.n_rows);
    u32* all = memory.take(depth);
    each_item(depth, [all](u32 k) { all[k] = ~0u; });
    rows = all;
    counts = m.counts;
    alive = memory.take(m.candidate_words);
    tried_above = memory.take(m.candidate_words);
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const Flags real = first_lanes(m.n_candidates - 32 * w);
      put(alive + w, ballot((load(m.counts + 32 * w) >= splat(rows_needed)) & real));
      put(tried_above + w, 0);
    }
  }

  /// The candidates of a word that are excluded below candidate x.
  u32 tried_before(u32 word, u32 x) const { return tried_above[word] | (alive[word] & bits_below(word, x)); }

  /// Divides the candidates after x, by the n rows of L': `closed` gets those that have all of
  /// them, `open` those that have at least two. False where one that was tried before has all.
  bool close_candidates(u32 x, const u32* row_starts, u32 n, u32* closed, u32* open, u32& n_open) const {
    const BitMatrix& m = matrix;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; w += kLanes) {
      const u32 n_words = m.candidate_words - w < kLanes ? m.candidate_words - w : kLanes;
      const Flags real = first_lanes(n_words);
      const RowFold fold = fold_rows(m.rows + m.excluded_words + w, row_starts, n, n_words);
      const Lanes living = load(alive + w, real), tried = words_before(w, x), all = fold.all & living;
      if (ballot(meets(all, tried) | meets(fold.all, load(tried_above + w, real)))) return false;
      store(closed + w, without(without(all, tried), word_of(w, x)), real);
      const Lanes rest = without(without(fold.two & living, tried), all);
      store(open + w, rest, real);
      n_open += sum(popcounts(rest));
    }
    return true;
  }

  /// Where a share to give away begins. Whoever takes it tries the last candidates of the level,
  /// and counts those before them as excluded. The level itself keeps all of them, for the closures
  /// of the candidates that it still tries.
  u32 first_given() const {
    const u32 first = next_bit(alive, next, end), cut = next_bit(alive, end - (end - first + kShares - 1) / kShares, end);
    return cut < end ? cut : first;
  }

 private:
  /// The bits before x, in words w, w + 1, …
  static Lanes words_before(u32 w, u32 x) {
    const Lanes number = lane_numbers() + splat(w), at = splat(x / 32);
    return select(at > number, splat(~0u), select(number == at, splat((1u << x % 32) - 1), splat(0)));
  }
  /// The bit of x, in words w, w + 1, …
  static Lanes word_of(u32 w, u32 x) {
    return select((lane_numbers() + splat(w)) == splat(x / 32), splat(1u << x % 32), splat(0));
  }
};

/// Has an excluded column of a matrix all of n rows?
inline bool excluded_covers(const BitMatrix& m, const u32* row_starts, u32 n) {
  BICLIQ_ROLL
  for (u32 w = 0; w < m.excluded_words; w += kLanes)
    if (share_column(m.rows + w, row_starts, n, m.excluded_words - w < kLanes ? m.excluded_words - w : kLanes)) return true;
  return false;
}

/// f(w, words[w]) for the words that are not zero.
template <class F>
void each_nonzero(const u32* words, u32 n, F f) {
  BICLIQ_ROLL
  for (u32 first = 0; first < n; first += kLanes)
    for (u32 some = ballot(nonzero(load(words + first, first_lanes(n - first)))); some; some &= some - 1) {
      const u32 w = first + first_set(some);
      f(w, words[w]);
    }
}

}  // namespace bicliq
