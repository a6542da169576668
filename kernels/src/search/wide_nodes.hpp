// wide_nodes.hpp: nodes of more than 32 rows, on a bit matrix (bitmatrix.hpp).
//
// The rows of L' are listed; an AND over their words gives the columns that have all of them, and
// "at least twice" the columns that stay in the child, 1,024 columns at a time. A child of at most
// 32 rows becomes a narrow node, and one with few enough columns a tall node. One whose columns or
// rows have become few gets a smaller matrix of its own (smaller_matrix.hpp); any other goes on
// with its parent's matrix, as a bit set of rows.
//
// Cost of a node: the words of its rows. Memory: a count and four bits a candidate for every node
// on the path, and the matrices that were made on the way.
#pragma once

#include "search/smaller_matrix.hpp"
#include "search/tall_nodes.hpp"
#include "search/wide_level.hpp"

namespace bicliq {

template <class Self, class Sink, class Workers, class Memory>
class WideNodes : public TallNodes<Self, Sink, Workers, Memory> {
  using Base = TallNodes<Self, Sink, Workers, Memory>;

 protected:
  using Base::Base;
  using Base::begin, Base::copy, Base::workers_, Base::dropped, Base::members_words, Base::join,
      Base::members_, Base::memory_, Base::narrow_, Base::next_candidate, Base::nodes,
      Base::n_subtree_rows_, Base::order_, Base::begin_given, Base::promising, Base::push_node, Base::room,
      Base::row_list_, Base::rows_needed_, Base::self, Base::sink_, Base::open_tall,
      Base::subtree_rows_, Base::take_row_scratch, Base::tall_, Base::tall_words, Base::since_poll_;
  using typename Base::Block;
  using typename Base::Mark;
  using typename Base::NarrowLevel;
  using typename Base::TallColumns;
  using typename Base::TallLevel;

  using WideLevel = bicliq::WideLevel<Mark>;

  WideLevel* wide_ = nullptr;

  template <class F>
  void each_field(F&& f) {
    Base::each_field(f);
    f(wide_);
    f(row_starts_);
    f(live_);
    f(reach_starts_);
  }
  bool wide_room() { return room(wide_->matrix.n_rows, wide_->n_members + wide_->matrix.n_candidates); }

  /// Makes the root of a subtree the current node.
  void start_wide(const Subtree& tree) {
    take_row_scratch(tree.matrix.n_rows);
    row_starts_ = memory_.take(tree.matrix.n_rows);
    live_ = memory_.take(tree.matrix.stride());
    reach_starts_ = memory_.take(kLanes);
    if constexpr (kMergesRows && !Sink::wants_best)
      if (rows_needed_ > kLanes && !tree.rows && !tree.from && tree.to == tree.matrix.n_candidates && open_merged(tree.matrix)) return;
    WideLevel& level = push_node(wide_, memory_.mark());
    level.matrix = tree.matrix;
    if (!tree.matrix.columns) level.matrix.fill_columns(memory_);
    if (tree.rows) {
      level.rows = tree.rows;
      level.counts = tree.ids;
      level.alive = tree.candidates;
      level.tried_above = tree.excluded;
      begin(level, tree.from, tree.to);
    } else {
      open_wide(level, tree.from, tree.to);
    }
  }

  /// Completes a level over all rows of its matrix, whose columns are filled.
  void open_wide(WideLevel& level, u32 from, u32 to) {
    level.take_all_rows(memory_, rows_needed_);
    begin(level, from, to);
  }

  /// Tries the next candidate of the last node, or closes it.
  Next step_wide() {
    WideLevel& level = *wide_;
    u32 x;
    return next_candidate(wide_, x) ? wide_child(level, x) : Next::kStep;
  }

  /// Gives away a share of the shallowest open level; false where none has anything to give.
  bool give_wide() {
    WideLevel* top = Base::shallowest(wide_);
    return top && give_wide(*top);
  }

 private:
  static constexpr u32 kTallWords = 5;  // words of 32 columns that cost as much as a row's first 32 words
  static constexpr u32 kSparse = 4;     // rows are merged where each has one of so many candidates, on average
  static constexpr u32 kShorter = 4;    // a matrix of so many times fewer rows is worth making

  // Scratch: where the words of rows begin in their matrix, of all rows of a child and of those
  // that some candidate has; and a bit set over all columns.
  u32 *row_starts_ = nullptr, *live_ = nullptr, *reach_starts_ = nullptr;

  /// Words that the child of a wide node may take, besides a matrix of its own.
  static usize child_words(const BitMatrix& m) {
    return usize{400} * m.candidate_words + usize{64} * m.excluded_words + words_for(m.n_rows) + 1024;
  }

  /// Makes the child for candidate x the current wide or tall node, or fills narrow_[0] with it.
  Next wide_child(WideLevel& level, u32 x) {
    const BitMatrix& m = level.matrix;
    if (!memory_.fits(child_words(m))) {
      self().overflow();
      return Next::kStep;
    }
    ++nodes;
    since_poll_ = kNodesAPoll;  // it takes so long that the other workers are looked at after each
    const u32 n = list_rows_of(level, x);
    const Mark mark = memory_.mark();
    u32* closed = memory_.take(m.candidate_words);
    u32* open = memory_.take(m.candidate_words);
    u32 n_open = 0;
    if (!level.close_candidates(x, row_starts_, n, closed, open, n_open) || excluded_covers(m, row_starts_, n)) {
      ++dropped;
      // x need not exclude anything later: the column that has all its rows does
      level.drop(x);
      memory_.release(mark);
      return Next::kStep;
    }
    join(m.ids[x]);
    join_closed(level, closed, n);
    report(m, n);
    bool opens = n_open && promising(n, members_.n + n_open);
    if constexpr (Sink::bounds_by_weight) opens = opens && sink_.wide_reaches(order_, n, open, m.candidate_words, m.ids, members_);
    if (opens) {
      if (n <= kLanes) return narrow_child_of_wide(level, x, n, open, n_open, mark);
      return wide_child_of_wide(level, x, n, open, mark);
    }
    memory_.release(mark);
    return Next::kStep;
  }

  /// Lists the rows of L' = L ∩ N(x), as numbers and as places in the matrix; returns how many.
  u32 list_rows_of(const WideLevel& level, u32 x) {
    const BitMatrix& m = level.matrix;
    const u32 *column = m.columns + x, *rows = level.rows;
    const usize apart = m.column_stride();
    const u32 n = list_bits(row_list_, words_for(m.n_rows), [=](u32 k) { return column[k * apart] & rows[k]; });
    place_rows(row_list_, row_starts_, n, m.stride());
    return n;
  }

  /// Adds the candidates of a bit set, which have all n rows of L', to R. Those with no other row
  /// in L are done with at this node.
  void join_closed(WideLevel& level, const u32* closed, u32 n) {
    const BitMatrix& m = level.matrix;
    each_nonzero(closed, m.candidate_words, [&](u32 w, u32 bits) {
      u32 twins = 0;
      for (; bits; bits &= bits - 1) {
        const u32 y = 32 * w + first_set(bits);
        join(m.ids[y]);
        if (level.counts[y] == n) twins |= bits & (0u - bits);
      }
      if (twins) level.drop(w, twins);
    });
  }

  void report(const BitMatrix& m, u32 n) {
    if constexpr (Sink::wants_rows) {
      const u32 *list = row_list_, *ids = m.row_ids;
      u32* to = order_;
      each_item(n, [=](u32 i) { to[i] = ids[list[i]]; });
      sink_.found(order_, n, members_);
    } else {
      sink_.found(nullptr, n, members_);
    }
  }

  /// Fills narrow_[0] with the child over at most 32 rows, if it has a candidate.
  Next narrow_child_of_wide(WideLevel& from, u32 x, u32 n, const u32* open, u32 n_open, Mark mark) {
    const BitMatrix& m = from.matrix;
    NarrowLevel& level = narrow_[0];
    level.mark = mark;
    u32* candidates = memory_.take(n_open);
    u32* ids = memory_.take(n_open);
    u32 n_candidates = 0;
    Lanes reach = splat(0);
    const u32 all = low_bits(n);
    each_nonzero(open, m.candidate_words, [&](u32 w, u32 bits) {
      const Lanes masks = column_masks(m.rows + m.excluded_words + w, row_starts_, all);
      const Lanes counts = popcounts(masks);
      const Flags kept = flags(bits) & (counts >= splat(rows_needed_));
      const u32 inside = ballot(flags(bits) & (counts == load(from.counts + 32 * w)));  // all their rows are in N(x)
      if (inside) from.drop(w, inside);
      reach = reach | select(kept, masks, splat(0));
      if constexpr (Sink::wants_members) compact(ids + n_candidates, load(m.ids + 32 * w), kept);
      n_candidates += compact(candidates + n_candidates, masks, kept);
    });
    if (!n_candidates) {
      memory_.release(mark);
      return Next::kStep;
    }
    level.candidates = candidates;
    level.ids = ids;
    level.n_candidates = level.end = n_candidates;
    gather_excluded(from, x, any_bits(reach), level);
    const u32 *list = row_list_, *row_ids = m.row_ids;
    u32* to = subtree_rows_;
    each_item(n, [=](u32 i) { to[i] = row_ids[list[i]]; });
    n_subtree_rows_ = n;
    sink_.rows(subtree_rows_, n);
    return open_narrow_of(n);
  }

  /// Writes the excluded columns of the child: those of the matrix and the candidates tried before
  /// x, cut down to the rows in `reach`.
  void gather_excluded(const WideLevel& from, u32 x, u32 reach, NarrowLevel& level) {
    const BitMatrix& m = from.matrix;
    const u32 n_rows = compact(reach_starts_, load(row_starts_, flags(reach)), flags(reach));
    u32* excluded = memory_.take(usize{m.n_excluded} + m.n_candidates);
    u32 kept = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.stride(); w += kLanes) {
      const u32 n_words = m.stride() - w < kLanes ? m.stride() - w : kLanes;
      const Lanes two = fold_rows(m.rows + w, reach_starts_, n_rows, n_words).two;
      for (u32 words = ballot(nonzero(two)); words; words &= words - 1) {
        const u32 k = w + first_set(words);
        u32 wanted = lane(two, first_set(words));
        if (k >= m.excluded_words) {
          wanted &= from.tried_before(k - m.excluded_words, x);
          if (!wanted) continue;
        }
        const Lanes masks = column_masks(m.rows + k, row_starts_, reach);
        kept += compact(excluded + kept, masks, flags(wanted) & at_least(masks, rows_needed_));
      }
    }
    level.excluded = excluded;
    level.n_excluded = kept;
  }

  /// Opens the child over more than 32 rows: as lists of masks, on a smaller matrix of its own, or
  /// on its parent's.
  Next wide_child_of_wide(WideLevel& from, u32 x, u32 n, u32* open, Mark mark) {
    const BitMatrix& m = from.matrix;
    WideLevel& level = push_node(wide_, mark);
    level.counts = memory_.take(m.column_stride());
    level.tried_above = memory_.take(m.candidate_words);
    const u32 *column = m.columns + x, *above = from.rows, depth = words_for(m.n_rows);
    const usize apart = m.column_stride();
    u32* rows = memory_.take(depth);
    each_item(depth, [=](u32 k) { rows[k] = above[k] & column[k * apart]; });
    level.rows = rows;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      put(level.tried_above + w, from.tried_before(w, x));
      if (open[w]) put(open + w, count_open(from, level, n, w, open[w]));
    }
    if constexpr (Sink::wants_best)
      if (!aim(m, level, n, open)) {
        wide_ = level.parent;
        memory_.release(mark);
        return Next::kStep;
      }
    const bool may_shrink = kTallNodes || kShorter * n <= m.n_rows || m.stride() > kLanes;
    if (may_shrink && usize{n} * m.stride() <= kLargestPlan) {
      const MatrixPlan p = plan_projection(m, lists(), n, level.tried_above, open);
      if constexpr (kTallNodes)
        if (p.n_rows <= kLanes || tall_pays(m, p)) return open_listed(m, p, open, mark);
      if (project_child(m, n, p, level, open)) return Next::kStep;
    }
    level.matrix = m;
    level.alive = open;
    begin(level, 0, m.n_candidates);
    return Next::kStep;
  }

  /// Counts the rows in L' of the open candidates of a word, and returns those with enough. Those
  /// that have no other rows in L are done with at the parent.
  u32 count_open(WideLevel& from, const WideLevel& level, u32 n, u32 w, u32 open) {
    const BitMatrix& m = from.matrix;
    const u32 depth = words_for(m.n_rows);
    Lanes counts = splat(0);
    if (n < depth * kRowsAColumnWord) {
      BICLIQ_ROLL
      for (u32 i = 0; i < n; i += kLanes)
        counts = counts + popcounts(column_masks(m.rows + m.excluded_words + w, row_starts_ + i, low_bits(n - i)));
    } else {
      counts = count_rows(m.columns + 32 * w, m.column_stride(), level.rows, depth);
    }
    store(level.counts + 32 * w, counts);
    const u32 inside = ballot(flags(open) & (counts == load(from.counts + 32 * w)));
    if (inside) from.drop(w, inside);
    return ballot(flags(open) & (counts >= splat(rows_needed_)));
  }

  /// Drops the child's candidates that are in nothing the sink wants; false where none is.
  bool aim(const BitMatrix& m, const WideLevel& level, u32 n, u32* open) {
    const auto each = [&](auto add) {
      for (u32 w = 0; w < m.candidate_words; ++w)
        for (u32 bits = open[w]; bits; bits &= bits - 1) {
          const u32 y = 32 * w + first_set(bits);
          add(level.counts[y], m.ids[y]);
        }
    };
    const auto each_pair = [&](u32 least, auto pair) {
      for (u32 i = 0; i < n; ++i)
        for (u32 w = 0; w < m.candidate_words; ++w)
          for (u32 bits = m.rows[row_starts_[i] + m.excluded_words + w] & open[w]; bits; bits &= bits - 1)
            if (const u32 y = 32 * w + first_set(bits); level.counts[y] >= least) pair(i, m.ids[y]);
    };
    const u32 least = sink_.aim_wide(order_, n, members_, each, each_pair);
    if (!least) return false;
    for (u32 w = 0; w < m.candidate_words; ++w) open[w] &= ballot(load(level.counts + 32 * w) >= splat(least));
    return true;
  }

  // ---- smaller matrices -------------------------------------------------------------------------

  MatrixLists lists() const { return {row_list_, row_starts_, order_, live_}; }

  /// Is the child cheaper as lists of masks than as a matrix? A node on a matrix reads about half
  /// of its rows, at the full width of the matrix; a node of lists reads the kept columns, 32 rows
  /// a word.
  bool tall_pays(const BitMatrix& m, const MatrixPlan& p) const {
    const u32 columns = words_for(p.n_excluded) + words_for(p.n_candidates);
    return columns <= kTallWords * (2 * ((m.stride() + kLanes - 1) / kLanes) + 1) &&
           memory_.fits(tall_words(words_for(p.n_rows), p.n_candidates, p.n_excluded) + child_words(m));
  }

  // tall_from_matrix.hpp, which whoever searches includes
  TallColumns list_columns(const BitMatrix& m, const u32* rows, u32 n_rows, const MatrixPlan& p, const u32* open);
  Next open_listed(const BitMatrix& m, const MatrixPlan& p, const u32* open, Mark mark);
  bool open_merged(const BitMatrix& m);
  bool open_merged(const BitMatrix& m, const MatrixPlan& p, const u32* open, Mark mark);
  void sum_rows(MergedRows& merged, const u32* row_ids);

  /// Writes the masks of the flagged columns of a word, over the planned rows; returns their
  /// number.
  u32 gather_columns(const u32* word, Flags wanted, u32 n_rows, u32* to, u32 stride) const {
    BICLIQ_ROLL
    for (u32 k = 0; 32 * k < n_rows; ++k)
      compact(to + usize{k} * stride, column_masks(word, row_starts_ + 32 * k, low_bits(n_rows - 32 * k)), wanted);
    return popcount(ballot(wanted));
  }

  /// Gives the child its own matrix if that is half as wide, or has a fourth of the rows, and there
  /// is memory for it.
  bool project_child(const BitMatrix& m, u32 n, const MatrixPlan& p, WideLevel& level, const u32* open) {
    const bool shorter = kShorter * n <= m.n_rows;
    const usize words = words_for(p.n_excluded) + words_for(p.n_candidates),
                columns = 32 * usize{words_for(p.n_candidates)};
    if (!shorter && 2 * words > m.stride()) return false;
    if (!memory_.fits(p.n_rows * (words + 1) + (words_for(p.n_rows) + 5) * columns + child_words(m))) return false;
    BitMatrix& to = level.matrix;
    to.shape(memory_, p.n_rows, p.n_excluded, p.n_candidates);
    write_projection(m, lists(), open, to);
    to.fill_columns(memory_);
    open_wide(level, 0, to.n_candidates);
    return true;
  }

  // ---- giving work away -------------------------------------------------------------------------

  /// Whoever takes the subtree reads the matrix of this level, where memory that is given away
  /// stays until the search ends; elsewhere it gets a matrix of its own, which is freed with the
  /// subtree.
  bool give_wide(WideLevel& level) {
    if constexpr (Workers::kKeepsGiven)
      return (level.matrix.shared || share(level.matrix)) && give_shared(level);
    else
      return give_projected(level);
  }

  /// Copies a matrix to where it stays, and lets all levels that use it use the copy.
  bool share(const BitMatrix m) {
    const u32 row_words = m.n_rows * m.stride(), column_words = words_for(m.n_rows) * m.column_stride();
    Block block =
        workers_.block(padded(row_words) + padded(column_words) + 2 * padded(m.column_stride()) + padded(m.n_rows));
    if (!block) return false;
    BitMatrix to = m;
    to.shared = true;
    to.rows = copy(block, m.rows, row_words);
    to.columns = copy(block, m.columns, column_words);
    to.counts = copy(block, m.counts, m.column_stride());
    to.ids = copy(block, m.ids, m.column_stride());
    to.row_ids = copy(block, m.row_ids, m.n_rows);
    BICLIQ_ROLL
    for (WideLevel* level = wide_; level; level = level->parent)
      if (level->matrix.rows == m.rows) level->matrix = to;
    return true;
  }

  /// Gives away a share of a level with a matrix of its own.
  bool give_projected(WideLevel& level) {
    const BitMatrix& m = level.matrix;
    const Mark mark = memory_.mark();
    if (!memory_.fits(child_words(m))) return false;
    u32* open = memory_.take(m.candidate_words);
    u32* tried = memory_.take(m.candidate_words);
    const u32 next = level.first_given();
    u32 n_open = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const u32 rest = level.alive[w] & ~bits_below(w, next);
      n_open += popcount(rest & bits_below(w, level.end));
      put(open + w, rest);
      put(tried + w, level.tried_before(w, next));
    }
    const u32 *rows = level.rows, n_rows = m.n_rows;
    const u32 n = list_bits(row_list_, words_for(n_rows), [=](u32 k) {
      return n_rows - 32 * k < 32 ? rows[k] & ((1u << n_rows % 32) - 1) : rows[k];
    });
    place_rows(row_list_, row_starts_, n, m.stride());
    const MatrixPlan p = plan_projection(m, lists(), n, tried, open);
    const bool sent = send_wide(level, p, next, open, n_open);
    memory_.release(mark);
    return sent;
  }

  /// Gives away a share of a level whose matrix others may read: only the state above it is copied.
  bool give_shared(WideLevel& level) {
    const BitMatrix& m = level.matrix;
    const u32 depth = words_for(m.n_rows);
    Block block = workers_.block(padded(depth) + padded(m.column_stride()) + 2 * padded(m.candidate_words) +
                                 members_words(level.n_members));
    if (!block) return false;
    Subtree tree = begin_given(block, level.n_members, level.members_hash);
    tree.wide = true;
    tree.matrix = m;
    tree.from = level.first_given();
    tree.to = level.end;
    tree.rows = copy(block, level.rows, depth);
    tree.ids = copy(block, level.counts, m.column_stride());
    tree.candidates = copy(block, level.alive, m.candidate_words);
    tree.excluded = copy(block, level.tried_above, m.candidate_words);
    workers_.give(static_cast<Block&&>(block), tree);
    level.end = tree.from;
    return true;
  }
  bool send_wide(WideLevel& level, const MatrixPlan& p, u32 next, const u32* open, u32 n_open) {
    const usize words = words_for(p.n_excluded) + words_for(p.n_candidates);
    Block block = workers_.block(padded(p.n_rows * words) + padded(p.n_rows) +
                                 padded(32 * usize{words_for(p.n_candidates)}) + members_words(level.n_members));
    if (!block) return false;
    Subtree tree = begin_given(block, level.n_members, level.members_hash);
    tree.wide = true;
    tree.matrix.shape(block, p.n_rows, p.n_excluded, p.n_candidates);
    write_projection(level.matrix, lists(), open, tree.matrix);
    tree.to = n_open;
    workers_.give(static_cast<Block&&>(block), tree);
    level.end = next;
    return true;
  }
};

}  // namespace bicliq
