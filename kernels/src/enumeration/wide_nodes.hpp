// wide_nodes.hpp: nodes of more than 32 rows on a bit matrix (bitmatrix.hpp): a child's closure is an AND over its rows.
//
// A child of at most 32 rows becomes a narrow node, one with few enough columns a tall node, and one whose columns
// or rows have become few gets a matrix of its own.
#pragma once

#include "enumeration/smaller_matrix.hpp"
#include "enumeration/tall_nodes.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template <class Self, class Sink, class Crew, class Memory>
class WideNodes : public TallNodes<Self, Sink, Crew, Memory> {
  using Base = TallNodes<Self, Sink, Crew, Memory>;

 protected:
  using Base::Base;
  using typename Base::Mark;
  using typename Base::NarrowLevel;
  using typename Base::Parcel;
  using typename Base::TallLevel;
  using Base::bits_below, Base::copy, Base::crew_, Base::dropped, Base::head_words, Base::join, Base::leave_to, Base::low_bits,
      Base::members_, Base::memory_, Base::narrow_, Base::next_bit, Base::nodes, Base::n_subtree_rows_, Base::order_,
      Base::parcel_head, Base::promising, Base::push_tall, Base::room, Base::row_list_, Base::rows_needed_, Base::self, Base::sink_,
      Base::open_tall, Base::stride_for, Base::subtree_rows_, Base::take_row_scratch, Base::tall_words, Base::ticks_;

  struct WideLevel {
    WideLevel* parent;
    BitMatrix matrix;  // its own, or its parent's where a smaller one would not pay
    u32* rows;         // L, one bit a row of the matrix
    u32* counts;       // rows of each candidate in L
    u32* alive;        // candidates neither done with nor covered, one bit each
    u32* inherited;    // candidates of the matrix that are befores of this node
    u32 next, end;     // candidates still to be tried here
    u32 n_members;
    u64 members_hash;
    Mark mark;
  };

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
    WideLevel& level = push_wide(memory_.mark());
    level.matrix = tree.matrix;
    if (!tree.matrix.columns) level.matrix.fill_columns(memory_);
    if (tree.rows) {
      level.rows = tree.rows;
      level.counts = tree.ids;
      level.alive = tree.candidates;
      level.inherited = tree.befores;
      start_wide(level, tree.from, tree.to);
    } else {
      open_wide(level, tree.from, tree.to);
    }
  }

  WideLevel& push_wide(Mark mark) {
    WideLevel* level = reinterpret_cast<WideLevel*>(memory_.take(Base::template words_of<WideLevel>()));
    level->parent = wide_;
    level->mark = mark;
    wide_ = level;
    return *level;
  }

  /// Makes a level over all rows of its matrix, whose columns are filled, the current node.
  void open_wide(WideLevel& level, u32 from, u32 to) {
    const BitMatrix& m = level.matrix;
    const u32 depth = words_for(m.n_rows);
    u32* rows = memory_.take(depth);
    each_item(depth, [rows](u32 k) { rows[k] = ~0u; });
    level.rows = rows;
    level.counts = m.counts;
    level.alive = memory_.take(m.candidate_words);
    level.inherited = memory_.take(m.candidate_words);
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const Flags real = first_lanes(m.n_candidates - 32 * w);
      put(level.alive + w, ballot((load(m.counts + 32 * w) >= splat(rows_needed_)) & real));
      put(level.inherited + w, 0);
    }
    start_wide(level, from, to);
  }

  void start_wide(WideLevel& level, u32 from, u32 to) {
    level.next = from;
    level.end = to;
    level.n_members = members_.n;
    level.members_hash = members_.hash;
  }

  u32 step_wide(WideLevel& level) {
    const u32 x = next_bit(level.alive, level.next, level.end);
    if (x == level.end) {
      wide_ = level.parent;
      memory_.release(level.mark);
      return 0;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    return wide_child(level, x);
  }

  /// Hands a share of the shallowest open level to the crew; false where none has anything to give.
  bool give_wide() {
    WideLevel* top = nullptr;
    BICLIQ_ROLL
    for (WideLevel* level = wide_; level; level = level->parent)
      if (next_bit(level->alive, level->next, level->end) < level->end) top = level;
    return top && give_wide(*top);
  }

 private:
  static constexpr u32 kTallWords = 5;  // words of 32 columns that cost as much as a row's first 32 words
  static constexpr u32 kShorter = 4;    // a matrix of so many times fewer rows is worth making

  u32 *row_starts_ = nullptr, *live_ = nullptr, *reach_starts_ = nullptr;  // scratch: places of rows, words of columns

  /// Words that the child of a wide node may take, its own matrix aside.
  static usize child_words(const BitMatrix& m) {
    return usize{400} * m.candidate_words + usize{64} * m.before_words + words_for(m.n_rows) + 1024;
  }

  /// The child of candidate x of a wide node; returns its rows where narrow_[0] is to be opened.
  u32 wide_child(WideLevel& level, u32 x) {
    const BitMatrix& m = level.matrix;
    if (!memory_.fits(child_words(m))) {
      self().overflow();
      return 0;
    }
    ++nodes;
    ticks_ = kNodesAPoll;  // it takes long: the crew is looked at after each
    const u32 n = list_rows_of(level, x);
    const Mark mark = memory_.mark();
    u32* closed = memory_.take(m.candidate_words);
    u32* open = memory_.take(m.candidate_words);
    u32 n_open = 0;
    if (!close_candidates(level, x, n, closed, open, n_open) || before_covers(m, n)) {
      ++dropped;
      put(level.alive + x / 32, level.alive[x / 32] & ~(1u << x % 32));  // a before covers x: it forbids all that x would
      memory_.release(mark);
      return 0;
    }
    join(m.ids[x]);
    join_closed(level, closed, n);
    report(m, n);
    if (n_open && promising(n, members_.n + n_open)) {
      if (n <= kLanes) return narrow_child_of_wide(level, x, n, open, n_open, mark);
      return wide_child_of_wide(level, x, n, open, mark);
    } else {
      memory_.release(mark);
    }
    return 0;
  }

  /// Lists the rows of L ∩ N(x), as numbers and as places in the matrix.
  u32 list_rows_of(const WideLevel& level, u32 x) {
    const BitMatrix& m = level.matrix;
    const u32 *column = m.columns + x, *rows = level.rows;
    const usize apart = m.column_stride();
    const u32 n = list_bits(row_list_, words_for(m.n_rows), [=](u32 k) { return column[k * apart] & rows[k]; });
    place_rows(row_list_, row_starts_, n, m.stride());
    return n;
  }

  void join_closed(WideLevel& level, const u32* closed, u32 n) {
    const BitMatrix& m = level.matrix;
    each_nonzero(closed, m.candidate_words, [&](u32 w, u32 bits) {
      u32 twins = 0;
      for (; bits; bits &= bits - 1) {
        const u32 y = 32 * w + first_set(bits);
        join(m.ids[y]);
        if (level.counts[y] == n) twins |= bits & (0u - bits);
      }
      if (twins) put(level.alive + w, level.alive[w] & ~twins);
    });
  }

  /// f(w, words[w]) for the words that are not zero.
  template <class F>
  static void each_nonzero(const u32* words, u32 n, F f) {
    BICLIQ_ROLL
    for (u32 first = 0; first < n; first += kLanes)
      for (u32 some = ballot(nonzero(load(words + first, first_lanes(n - first)))); some; some &= some - 1) {
        const u32 w = first + first_set(some);
        f(w, words[w]);
      }
  }

  void report(const BitMatrix& m, u32 n) {
    if constexpr (Sink::kMembers) {
      const u32 *list = row_list_, *ids = m.row_ids;
      u32* to = order_;
      each_item(n, [=](u32 i) { to[i] = ids[list[i]]; });
      sink_.found(order_, n, members_);
    } else {
      sink_.found(nullptr, n, members_);
    }
  }

  /// Splits the candidates after x: `closed` has all rows of L', `open` at least two. False: one tried before has all.
  bool close_candidates(const WideLevel& level, u32 x, u32 n, u32* closed, u32* open, u32& n_open) const {
    const BitMatrix& m = level.matrix;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; w += kLanes) {
      const u32 n_words = m.candidate_words - w < kLanes ? m.candidate_words - w : kLanes;
      const Flags real = first_lanes(n_words);
      const RowFold fold = fold_rows(m.rows + m.before_words + w, row_starts_, n, n_words);
      const Lanes alive = load(level.alive + w, real), tried = tried_words(w, x), all = fold.all & alive;
      if (ballot(meets(all, tried) | meets(fold.all, load(level.inherited + w, real)))) return false;
      store(closed + w, without(without(all, tried), own_word(w, x)), real);
      const Lanes rest = without(without(fold.two & alive, tried), all);
      store(open + w, rest, real);
      n_open += sum(popcounts(rest));
    }
    return true;
  }

  /// The bits before x, in words w, w + 1, …
  static Lanes tried_words(u32 w, u32 x) {
    const Lanes number = lane_numbers() + splat(w), at = splat(x / 32);
    return select(at > number, splat(~0u), select(number == at, splat((1u << x % 32) - 1), splat(0)));
  }
  /// The bit of x, in words w, w + 1, …
  static Lanes own_word(u32 w, u32 x) {
    return select((lane_numbers() + splat(w)) == splat(x / 32), splat(1u << x % 32), splat(0));
  }

  /// Has a before column all n rows of L'?
  bool before_covers(const BitMatrix& m, u32 n) const {
    BICLIQ_ROLL
    for (u32 w = 0; w < m.before_words; w += kLanes)
      if (share_column(m.rows + w, row_starts_, n, m.before_words - w < kLanes ? m.before_words - w : kLanes)) return true;
    return false;
  }

  /// Fills narrow_[0] with the child over at most 32 rows; returns its rows, or 0 where it has no candidate.
  u32 narrow_child_of_wide(WideLevel& from, u32 x, u32 n, const u32* open, u32 n_open, Mark mark) {
    const BitMatrix& m = from.matrix;
    NarrowLevel& level = narrow_[0];
    level.mark = mark;
    u32* candidates = memory_.take(n_open);
    u32* ids = memory_.take(n_open);
    u32 n_candidates = 0;
    Lanes reach = splat(0);
    const u32 all = low_bits(n);
    each_nonzero(open, m.candidate_words, [&](u32 w, u32 bits) {
      const Lanes masks = column_masks(m.rows + m.before_words + w, row_starts_, all);
      const Lanes counts = popcounts(masks);
      const Flags kept = flags(bits) & (counts >= splat(rows_needed_));
      const u32 inside = ballot(flags(bits) & (counts == load(from.counts + 32 * w)));  // inside N(x)
      if (inside) put(from.alive + w, from.alive[w] & ~inside);
      reach = reach | select(kept, masks, splat(0));
      if constexpr (Sink::kMembers) compact(ids + n_candidates, load(m.ids + 32 * w), kept);
      n_candidates += compact(candidates + n_candidates, masks, kept);
    });
    if (!n_candidates) {
      memory_.release(mark);
      return 0;
    }
    level.candidates = candidates;
    level.ids = ids;
    level.n_candidates = level.end = n_candidates;
    gather_befores(from, x, any_bits(reach), level);
    const u32 *list = row_list_, *row_ids = m.row_ids;
    u32* to = subtree_rows_;
    each_item(n, [=](u32 i) { to[i] = row_ids[list[i]]; });
    n_subtree_rows_ = n;
    sink_.rows(subtree_rows_, n);
    return n;
  }

  /// The befores of the child, over the rows in `reach` only: earlier columns, and candidates tried before x.
  void gather_befores(const WideLevel& from, u32 x, u32 reach, NarrowLevel& level) {
    const BitMatrix& m = from.matrix;
    const u32 n_rows = compact(reach_starts_, load(row_starts_, flags(reach)), flags(reach));
    u32* befores = memory_.take(usize{m.n_before} + m.n_candidates);
    u32 kept = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.stride(); w += kLanes) {
      const u32 n_words = m.stride() - w < kLanes ? m.stride() - w : kLanes;
      const Lanes two = fold_rows(m.rows + w, reach_starts_, n_rows, n_words).two;
      for (u32 words = ballot(nonzero(two)); words; words &= words - 1) {
        const u32 k = w + first_set(words);
        u32 wanted = lane(two, first_set(words));
        if (k >= m.before_words) {
          wanted &= tried_before(from, k - m.before_words, x);
          if (!wanted) continue;
        }
        const Lanes masks = column_masks(m.rows + k, row_starts_, reach);
        kept += compact(befores + kept, masks, flags(wanted) & at_least(masks, rows_needed_));
      }
    }
    level.befores = befores;
    level.n_befores = kept;
  }

  /// The candidate columns that are befores of candidate x, in a word.
  static u32 tried_before(const WideLevel& level, u32 word, u32 x) {
    return level.inherited[word] | (level.alive[word] & bits_below(word, x));
  }

  /// Opens the child over more than 32 rows: as lists of masks, on a smaller matrix of its own, or on its parent's. Returns
  /// its rows where it is narrow_[0].
  u32 wide_child_of_wide(WideLevel& from, u32 x, u32 n, u32* open, Mark mark) {
    const BitMatrix& m = from.matrix;
    WideLevel& level = push_wide(mark);
    level.counts = memory_.take(m.column_stride());
    level.inherited = memory_.take(m.candidate_words);
    const u32 *column = m.columns + x, *above = from.rows, depth = words_for(m.n_rows);
    const usize apart = m.column_stride();
    u32* rows = memory_.take(depth);
    each_item(depth, [=](u32 k) { rows[k] = above[k] & column[k * apart]; });
    level.rows = rows;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      put(level.inherited + w, tried_before(from, w, x));
      if (open[w]) put(open + w, count_open(from, level, n, w, open[w]));
    }
    const bool may_shrink = kTallNodes || kShorter * n <= m.n_rows || m.stride() > kLanes;
    if (may_shrink && usize{n} * m.stride() <= kLargestPlan) {
      const MatrixPlan p = plan_projection(m, lists(), n, level.inherited, open);
      if constexpr (kTallNodes)
        if (p.n_rows <= kLanes || tall_pays(m, p)) return open_listed(m, p, open, mark);
      if (project_child(m, n, p, level, open)) return 0;
    }
    level.matrix = m;
    level.alive = open;
    start_wide(level, 0, m.n_candidates);
    return 0;
  }

  /// Counts the rows in L' of the open candidates of a word: those with too few are closed, those that lie
  /// inside N(x) are done with in the parent. Returns what stays open.
  u32 count_open(WideLevel& from, const WideLevel& level, u32 n, u32 w, u32 open) {
    const BitMatrix& m = from.matrix;
    const u32 depth = words_for(m.n_rows);
    Lanes counts = splat(0);
    if (n < depth * kRowsAColumnWord) {
      BICLIQ_ROLL
      for (u32 i = 0; i < n; i += kLanes)
        counts = counts + popcounts(column_masks(m.rows + m.before_words + w, row_starts_ + i, low_bits(n - i)));
    } else {
      counts = count_rows(m.columns + 32 * w, m.column_stride(), level.rows, depth);
    }
    store(level.counts + 32 * w, counts);
    const u32 inside = ballot(flags(open) & (counts == load(from.counts + 32 * w)));
    if (inside) put(from.alive + w, from.alive[w] & ~inside);
    return ballot(flags(open) & (counts >= splat(rows_needed_)));
  }

  // ---- smaller matrices ---------------------------------------------------------------------------

  MatrixLists lists() const { return {row_list_, row_starts_, order_, live_}; }

  /// Are lists cheaper than rows? A child through rows reads about half of them, all of its matrix wide; through lists, the
  /// live columns, 32 rows at a time.
  bool tall_pays(const BitMatrix& m, const MatrixPlan& p) const {
    const u32 columns = words_for(p.n_before) + words_for(p.n_candidates);
    return columns <= kTallWords * (2 * ((m.stride() + kLanes - 1) / kLanes) + 1) &&
           memory_.fits(tall_words(words_for(p.n_rows), p.n_candidates, p.n_before) + child_words(m));
  }

  /// Turns the planned rows and columns into lists of masks: narrow_[0], or the current tall node.
  u32 open_listed(const BitMatrix& m, const MatrixPlan& p, const u32* open, Mark mark) {
    const u32 depth = words_for(p.n_rows), n_candidates = p.n_candidates;
    wide_ = wide_->parent;  // it is no matrix after all
    if (!n_candidates) {
      memory_.release(mark);
      return 0;
    }
    u32 candidate_stride = stride_for(n_candidates), before_stride = stride_for(p.n_before);
    u32* candidates = memory_.take(usize{depth} * candidate_stride);
    u32* befores = memory_.take(usize{depth} * before_stride);
    u32* ids = memory_.take(Sink::kMembers ? n_candidates : 0);
    u32 n = 0, n_befores = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.stride(); ++w)
      if (live_[w]) n_befores += gather_columns(m.rows + w, flags(live_[w]), p.n_rows, befores + n_befores, before_stride);
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      if (!open[w]) continue;
      if constexpr (Sink::kMembers) compact(ids + n, load(m.ids + 32 * w), flags(open[w]));
      n += gather_columns(m.rows + m.before_words + w, flags(open[w]), p.n_rows, candidates + n, candidate_stride);
    }
    const u32 *order = order_, *row_ids = m.row_ids;
    if (p.n_rows <= kLanes) {
      NarrowLevel& level = narrow_[0];
      level.mark = mark;
      level.candidates = candidates;
      level.befores = befores;
      level.ids = ids;
      level.n_candidates = level.end = n;
      level.n_befores = n_befores;
      u32* to = subtree_rows_;
      each_item(p.n_rows, [=](u32 i) { to[i] = row_ids[order[i]]; });
      n_subtree_rows_ = p.n_rows;
      sink_.rows(subtree_rows_, p.n_rows);
      return p.n_rows;
    }
    u32* rows = memory_.take(32 * usize{depth});
    each_item(p.n_rows, [=](u32 i) { rows[i] = row_ids[order[i]]; });
    TallLevel& level = push_tall(mark);
    level.candidates = candidates;
    level.befores = befores;
    level.ids = ids;
    level.row_ids = rows;
    open_tall(level, depth, n, n_befores, candidate_stride, before_stride);
    return 0;
  }

  /// Writes the flagged columns of a word over the planned rows, word after word; returns their number.
  u32 gather_columns(const u32* word, Flags wanted, u32 n_rows, u32* to, u32 stride) const {
    BICLIQ_ROLL
    for (u32 k = 0; 32 * k < n_rows; ++k)
      compact(to + usize{k} * stride, column_masks(word, row_starts_ + 32 * k, low_bits(n_rows - 32 * k)), wanted);
    return popcount(ballot(wanted));
  }

  /// Gives the child its own matrix where that is half as wide, or a fourth as long, and there is memory for it.
  bool project_child(const BitMatrix& m, u32 n, const MatrixPlan& p, WideLevel& level, const u32* open) {
    const bool shorter = kShorter * n <= m.n_rows;
    const usize words = words_for(p.n_before) + words_for(p.n_candidates), columns = 32 * usize{words_for(p.n_candidates)};
    if (!shorter && 2 * words > m.stride()) return false;
    if (!memory_.fits(p.n_rows * (words + 1) + (words_for(p.n_rows) + 5) * columns + child_words(m))) return false;
    BitMatrix& to = level.matrix;
    to.shape(memory_, p.n_rows, p.n_before, p.n_candidates);
    write_projection(m, lists(), open, to);
    to.fill_columns(memory_);
    open_wide(level, 0, to.n_candidates);
    return true;
  }

  // ---- giving work away ---------------------------------------------------------------------------

  /// What is given reads the matrix of the level, where that can stay until the search ends; else it gets one of its own.
  bool give_wide(WideLevel& level) {
    if constexpr (Crew::kKeepsGiven)
      return (level.matrix.shared || share(level.matrix)) && give_shared(level);
    else
      return give_projected(level);
  }

  /// Copies a matrix to where it stays, for all levels on it.
  bool share(const BitMatrix m) {
    const u32 row_words = m.n_rows * m.stride(), column_words = words_for(m.n_rows) * m.column_stride();
    Parcel parcel = crew_.parcel(padded(row_words) + padded(column_words) + 2 * padded(m.column_stride()) + padded(m.n_rows));
    if (!parcel) return false;
    BitMatrix to = m;
    to.shared = true;
    to.rows = copy(parcel, m.rows, row_words);
    to.columns = copy(parcel, m.columns, column_words);
    to.counts = copy(parcel, m.counts, m.column_stride());
    to.ids = copy(parcel, m.ids, m.column_stride());
    to.row_ids = copy(parcel, m.row_ids, m.n_rows);
    BICLIQ_ROLL
    for (WideLevel* level = wide_; level; level = level->parent)
      if (level->matrix.rows == m.rows) level->matrix = to;
    return true;
  }

  bool give_projected(WideLevel& level) {
    const BitMatrix& m = level.matrix;
    const Mark mark = memory_.mark();
    if (!memory_.fits(child_words(m))) return false;
    u32* open = memory_.take(m.candidate_words);
    u32* tried = memory_.take(m.candidate_words);
    const u32 next = first_given(level);
    u32 n_open = 0;
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const u32 rest = level.alive[w] & ~bits_below(w, next);
      n_open += popcount(rest & bits_below(w, level.end));
      put(open + w, rest);
      put(tried + w, tried_before(level, w, next));
    }
    const u32 *rows = level.rows, n_rows = m.n_rows;
    const u32 n = list_bits(row_list_, words_for(n_rows),
                            [=](u32 k) { return n_rows - 32 * k < 32 ? rows[k] & ((1u << n_rows % 32) - 1) : rows[k]; });
    place_rows(row_list_, row_starts_, n, m.stride());
    const MatrixPlan p = plan_projection(m, lists(), n, tried, open);
    const bool sent = send_wide(level, p, next, open, n_open);
    memory_.release(mark);
    return sent;
  }

  /// A node over the matrix that others may read: only the state of the level is copied.
  bool give_shared(WideLevel& level) {
    const BitMatrix& m = level.matrix;
    const u32 depth = words_for(m.n_rows);
    Parcel parcel = crew_.parcel(padded(depth) + padded(m.column_stride()) + 2 * padded(m.candidate_words) + head_words(level.n_members));
    if (!parcel) return false;
    Subtree tree = parcel_head(parcel, level.n_members, level.members_hash);
    tree.wide = true;
    tree.matrix = m;
    tree.from = first_given(level);
    tree.to = level.end;
    tree.rows = copy(parcel, level.rows, depth);
    tree.ids = copy(parcel, level.counts, m.column_stride());
    tree.candidates = copy(parcel, level.alive, m.candidate_words);
    tree.befores = copy(parcel, level.inherited, m.candidate_words);
    crew_.give(static_cast<Parcel&&>(parcel), tree);
    level.end = tree.from;
    return true;
  }
  /// The taker tries the last candidates of a level, and those before them are its befores; the level keeps all for its closures.
  static u32 first_given(const WideLevel& level) {
    const u32 next = next_bit(level.alive, level.next, level.end);
    const u32 cut = next_bit(level.alive, level.end - (level.end - next + kShares - 1) / kShares, level.end);
    return cut < level.end ? cut : next;
  }

  bool send_wide(WideLevel& level, const MatrixPlan& p, u32 next, const u32* open, u32 n_open) {
    const usize words = words_for(p.n_before) + words_for(p.n_candidates);
    Parcel parcel = crew_.parcel(padded(p.n_rows * words) + padded(p.n_rows) + padded(32 * usize{words_for(p.n_candidates)}) +
                                 head_words(level.n_members));
    if (!parcel) return false;
    Subtree tree = parcel_head(parcel, level.n_members, level.members_hash);
    tree.wide = true;
    tree.matrix.shape(parcel, p.n_rows, p.n_before, p.n_candidates);
    write_projection(level.matrix, lists(), open, tree.matrix);
    tree.to = n_open;
    crew_.give(static_cast<Parcel&&>(parcel), tree);
    level.end = next;
    return true;
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
