// smaller_matrix.hpp: the bit matrix of a child, made from its parent's: fewer rows, fewer columns.
//
// What it finds: `plan_projection` chooses the rows and columns that are worth keeping and counts
// them, so that memory can be taken; `write_projection` writes them. Kept are the rows that have an
// open candidate, the open candidates, and of the excluded columns and the candidates tried before
// those that have at least two of these rows: others cannot exclude anything.
//
// Cost: every word of the parent's matrix in these rows is read twice, and a bit that is kept takes
// one step. Memory: the lists of `MatrixLists`, and the matrix.
#pragma once

#include "lanes/bitmatrix.hpp"

namespace bicliq {

struct MatrixPlan {
  u32 n_rows, n_excluded, n_candidates;
};
/// Scratch of the functions below, in one struct: a device calls them, and an address is all that a
/// call then has to pass.
struct MatrixLists {
  u32* row_list;    // numbers of the child's rows
  u32* row_starts;  // where their words begin in the parent's matrix
  u32* order;       // rows that are kept
  u32* live;        // a bit set over all columns: those that are kept as excluded ones
};

/// Where the rows of a list begin in their matrix, which has fewer than 2^32 words
/// (`BitMatrix::can_search`).
inline void place_rows(const u32* list, u32* starts, u32 n, u32 stride) {
  each_item(n, [=](u32 i) { starts[i] = list[i] * stride; });
}

/// Sets `live` to the excluded columns, and candidates tried before, with at least two of the kept
/// rows; returns their number.
inline u32 find_live(const BitMatrix& m, MatrixLists s, const u32* tried, u32 n_rows) {
  BICLIQ_ROLL
  for (u32 w = 0; w < m.stride(); w += kLanes) {
    const u32 n_words = m.stride() - w < kLanes ? m.stride() - w : kLanes;
    store(s.live + w, fold_rows(m.rows + w, s.row_starts, n_rows, n_words).two, first_lanes(n_words));
  }
  u32 n = 0;
  BICLIQ_ROLL
  for (u32 w = 0; w < m.stride(); ++w) {
    u32 live = s.live[w];
    if (w >= m.excluded_words) put(s.live + w, live &= tried[w - m.excluded_words]);
    n += popcount(live);
  }
  return n;
}

/// Chooses rows and columns of the smaller matrix: `order` and `live` get them, and the candidates
/// are the open ones. `tried` are the candidates of the parent's matrix that count as excluded.
BICLIQ_CALL inline MatrixPlan plan_projection(const BitMatrix& m, MatrixLists s, u32 n, const u32* tried,
                                              const u32* open) {
  const u32 *list = s.row_list, *starts = s.row_starts, *words = m.rows + m.excluded_words;
  const u32 n_words = m.candidate_words;
  MatrixPlan p = {0, 0, 0};
  p.n_rows = list_if(s.order, n, [=](u32 i) {
    u32 meets_open = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < n_words; ++w) meets_open |= words[starts[i] + w] & open[w];
    return meets_open != 0;
  });
  u32* order = s.order;
  each_item(p.n_rows, [=](u32 i) { order[i] = list[order[i]]; });
  place_rows(order, s.row_starts, p.n_rows, m.stride());
  p.n_excluded = find_live(m, s, tried, p.n_rows);
  BICLIQ_ROLL
  for (u32 w = 0; w < n_words; ++w) p.n_candidates += popcount(open[w]);
  return p;
}

/// Writes what was planned; the matrix has its shape.
BICLIQ_CALL inline void write_projection(const BitMatrix& m, MatrixLists s, const u32* open, const BitMatrix& to) {
  u32 n = 0;
  BICLIQ_ROLL
  for (u32 w = 0; w < m.candidate_words; ++w)
    if (open[w]) n += compact(to.ids + n, load(m.ids + 32 * w), flags(open[w]));
  const u32 *order = s.order, *live = s.live;
  const BitMatrix source = m, target = to;
  each_item(to.n_rows, [=](u32 i) {
    const u32* row = source.row(order[i]);
    target.row_ids[i] = source.row_ids[order[i]];
    BitWriter excluded(target.row(i)), candidates(target.row(i) + target.excluded_words);
    BICLIQ_ROLL
    for (u32 w = 0; w < source.stride(); ++w)
      if (live[w]) excluded.put(compress_bits(row[w], live[w]), popcount(live[w]));
    BICLIQ_ROLL
    for (u32 w = 0; w < source.candidate_words; ++w)
      if (open[w]) candidates.put(compress_bits(row[source.excluded_words + w], open[w]), popcount(open[w]));
    excluded.end();
    candidates.end();
  });
}

}  // namespace bicliq
