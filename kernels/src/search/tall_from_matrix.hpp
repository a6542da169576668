// tall_from_matrix.hpp: how rows and columns of a bit matrix become a tall node: as they are, or
// with equal rows as one.
#pragma once

#include "search/wide_nodes.hpp"

namespace bicliq {

/// The planned columns as lists of masks, over so many rows of a matrix of the same columns.
template <class Self, class Sink, class Workers, class Memory>
auto WideNodes<Self, Sink, Workers, Memory>::list_columns(const BitMatrix& m, const u32* rows, u32 n_rows, const MatrixPlan& p, const u32* open) -> TallColumns {
  const u32 depth = words_for(n_rows);
  TallColumns to = {nullptr, nullptr, nullptr, 0, 0, tall_stride(p.n_candidates), tall_stride(p.n_excluded)};
  to.candidates = memory_.take(usize{depth} * to.candidate_stride);
  to.excluded = memory_.take(usize{depth} * to.excluded_stride);
  to.ids = memory_.take(Sink::wants_members ? p.n_candidates : 0);
  BICLIQ_ROLL
  for (u32 w = 0; w < m.stride(); ++w)
    if (live_[w]) to.n_excluded += gather_columns(rows + w, flags(live_[w]), n_rows, to.excluded + to.n_excluded, to.excluded_stride);
  BICLIQ_ROLL
  for (u32 w = 0; w < m.candidate_words; ++w) {
    if (!open[w]) continue;
    if constexpr (Sink::wants_members) compact(to.ids + to.n_candidates, load(m.ids + 32 * w), flags(open[w]));
    to.n_candidates += gather_columns(rows + m.excluded_words + w, flags(open[w]), n_rows, to.candidates + to.n_candidates, to.candidate_stride);
  }
  return to;
}

/// Turns the planned rows and columns into lists of masks: the current tall node, or narrow_[0].
template <class Self, class Sink, class Workers, class Memory>
auto WideNodes<Self, Sink, Workers, Memory>::open_listed(const BitMatrix& m, const MatrixPlan& p, const u32* open, Mark mark) -> Next {
  wide_ = wide_->parent;  // the level that was begun is not a wide one after all
  if (!p.n_candidates) {
    memory_.release(mark);
    return Next::kStep;
  }
  const TallColumns columns = list_columns(m, m.rows, p.n_rows, p, open);
  const u32 *order = order_, *row_ids = m.row_ids;
  if (p.n_rows <= kLanes) {
    NarrowLevel& level = narrow_[0];
    level.mark = mark;
    level.candidates = columns.candidates;
    level.excluded = columns.excluded;
    level.ids = columns.ids;
    level.n_candidates = level.end = columns.n_candidates;
    level.n_excluded = columns.n_excluded;
    u32* to = subtree_rows_;
    each_item(p.n_rows, [=](u32 i) { to[i] = row_ids[order[i]]; });
    n_subtree_rows_ = p.n_rows;
    sink_.rows(subtree_rows_, p.n_rows);
    return open_narrow_of(p.n_rows);
  }
  const u32 depth = words_for(p.n_rows);
  u32* rows = memory_.take(32 * usize{depth});
  each_item(p.n_rows, [=](u32 i) { rows[i] = row_ids[order[i]]; });
  TallLevel& level = push_node(tall_, mark);
  static_cast<TallColumns&>(level) = columns;
  level.row_ids = rows;
  level.merged = {};
  open_tall(level, depth);
  return Next::kStep;
}

/// Opens a root with its equal rows as one; false where it is sparse, since then few rows of a
/// node are in a child, and a list of these is read faster than masks over all.
template <class Self, class Sink, class Workers, class Memory>
bool WideNodes<Self, Sink, Workers, Memory>::open_merged(const BitMatrix& m) {
  usize bits = 0;
  for (u32 i = 0; i < m.n_rows; ++i)
    for (u32 w = 0; w < m.candidate_words; ++w) bits += popcount(m.row(i)[m.excluded_words + w]);
  if (kSparse * bits < usize{m.n_rows} * m.n_candidates) return false;
  const Mark mark = memory_.mark();
  u32 *tried = memory_.take(m.candidate_words), *open = memory_.take(m.candidate_words);
  for (u32 w = 0; w < m.candidate_words; ++w) {
    put(tried + w, 0);
    put(open + w, low_bits(m.n_candidates - 32 * w));
  }
  u32* list = row_list_;
  each_item(m.n_rows, [=](u32 i) { list[i] = i; });
  place_rows(row_list_, row_starts_, m.n_rows, m.stride());
  const MatrixPlan p = plan_projection(m, lists(), m.n_rows, tried, open);
  return open_merged(m, p, open, mark);
}

/// Turns the planned rows and columns into lists of masks over merged rows: the current tall
/// node.
template <class Self, class Sink, class Workers, class Memory>
bool WideNodes<Self, Sink, Workers, Memory>::open_merged(const BitMatrix& m, const MatrixPlan& p, const u32* open, Mark mark) {
  MergedRows merged = RowMerger<Memory>(m, lists(), p.n_rows, open, memory_).merge();
  u32* row_starts = row_starts_;
  row_starts_ = memory_.take(32 * usize{merged.depth});
  u32* starts = row_starts_;
  const u32 stride = m.stride(), n_rows = 32 * merged.depth;
  each_item(n_rows, [=](u32 i) { starts[i] = i * stride; });
  const TallColumns columns = list_columns(m, merged.rows, n_rows, p, open);
  row_starts_ = row_starts;
  u32* row_ids = memory_.take(p.n_rows);
  const u32 *order = order_, *numbers = m.row_ids;
  each_item(p.n_rows, [=](u32 i) { row_ids[i] = numbers[order[i]]; });
  u32* bits = memory_.take(Sink::wants_rows ? n_rows : 0);
  if constexpr (Sink::wants_rows) each_item(n_rows, [=](u32 i) { bits[i] = i; });
  if constexpr (Sink::sums_rows) sum_rows(merged, row_ids);
  TallLevel& level = push_node(tall_, mark);
  static_cast<TallColumns&>(level) = columns;
  level.row_ids = row_ids;
  level.merged = merged.bits;
  level.merged.bits = bits;
  open_tall(level, merged.depth);
  return true;
}

template <class Self, class Sink, class Workers, class Memory>
void WideNodes<Self, Sink, Workers, Memory>::sum_rows(MergedRows& merged, const u32* row_ids) {
  merged.bits.sums = reinterpret_cast<u64*>(memory_.take(2 * usize{merged.bits.n_bits}));
  for (u32 bit = 0; bit < merged.bits.n_bits; ++bit) {
    u64 sum = 0;
    for (u32 i = 0; i < merged.n_rows_of(bit); ++i) sum += sink_.row_hash(row_ids[merged.bits.places[merged.bits.starts[bit] + i]]);
    merged.bits.sums[bit] = sum;
  }
}

}  // namespace bicliq
