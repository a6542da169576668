// mbe.hpp: every maximal biclique of a bipartite graph, each exactly once.
//
// What: all pairs (L, R) of a set of rows and a set of columns, both not empty, complete and not
// contained in a larger one; only those with at least `min_rows`, `min_columns` and `min_edges`.
//
// Input: a `Subtree` (subtree.hpp): a root's columns over its rows, made by roots.hpp on a CPU and by device.cu
// on a GPU, or a part of the search that another worker gave away.
//
// Method: each biclique is found below the *root* that is its first column. A node is a set L of rows,
// the columns that may still join (*candidates*) and those that may not (*befores*: earlier roots,
// candidates already tried), each column as a mask over the rows of L. The child of candidate x has
// L' = L ∩ N(x); it is canonical unless a before covers L' (then it was found elsewhere: no excluded set
// of vertices is ever kept); candidates that cover L' join R, candidates that lie inside N(x) are done
// with (sibling pruning), and only columns with at least two rows in L' stay: bicliques of one row are
// counted at their root, outside. Befores are reduced to the rows that some candidate has, and
// those inside another before are dropped, with the candidates inside them.
//
// Paths: more than 32 rows: a bit matrix (bitmatrix.hpp), children through its rows. At most 32 rows:
// lists of one-word masks, 32 columns at a time (98 % of all nodes). At most 32 candidates and 32
// befores: the leaf, which holds all of them in registers.
//
// Cost: O(columns in two steps / 32) word operations a node; memory a worker: the matrix of its root and
// of the nodes on its path (bitmatrix.hpp), freed when the root ends.
//
// Papers: Close-by-One (Kuznetsov 1993); iMBEA (Zhang et al. 2014); GMBE (Pan et al., SC'23), whose
// local-neighbourhood-size pruning is the sibling pruning here; AdaMBE (SC'24).
#pragma once

#include "lanes.hpp"
#include "limits.hpp"
#include "pieces.hpp"
#include "subtree.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The search of one worker. `Sink` gets the bicliques, `Crew` knows whether workers wait, `Memory` is a stack.
template <class Sink, class Crew, class Memory>
class MaximalBicliques {
 public:
  MaximalBicliques(const Limits& limits, Crew& crew, Sink& sink, Memory& memory)
      : limits_(limits), crew_(crew), sink_(sink), memory_(memory), rows_needed_(limits.min_rows > 2 ? limits.min_rows : 2) {}

  u64 nodes = 0, dropped = 0;

  /// Everything below a node whose own biclique has been reported.
  void search(const Subtree& tree) {
    const Mark start = memory_.mark();
    if (!memory_.fits(base_words(tree))) return overflow();
    sink_.root(tree.root);
    root_ = tree.root;
    members_ = tree.members;
    if constexpr (Sink::kIds) {
      members_.ids = memory_.take(usize{tree.members.n} + (tree.wide ? tree.matrix.n_candidates : tree.n_candidates));
      for (u32 i = 0; i < tree.members.n; ++i) members_.ids[i] = tree.members.ids[i];
    }
    narrow_ = reinterpret_cast<NarrowLevel*>(memory_.take((kLanes + 1) * words_of<NarrowLevel>()));
    if (tree.wide) {
      search_wide(tree);
    } else {
      search_narrow(tree);
    }
    memory_.release(start);
  }

 private:
  using Mark = typename Memory::Mark;
  static constexpr u32 kPollNodes = 64;         // leaf nodes between two looks at whether workers wait
  static constexpr u32 kWideNode = 16;          // what a wide node counts, in leaf nodes
  static constexpr u32 kRegisterBefores = 128;  // befores that the dominance filter holds in registers
  static constexpr u32 kShorter = 4;            // a matrix of so many times fewer rows is worth making
  static constexpr u32 kKept = 64;              // befores that the filter keeps at most in its passes over memory

  struct NarrowLevel {
    u32 *candidates, *ids, *befores;  // one mask a column over the rows of the subtree
    u32 n_candidates, n_befores, next, n_members;
    u64 members_hash;
    Mark mark;
  };
  struct WideLevel {
    WideLevel* parent;
    BitMatrix matrix;  // its own, or its parent's where a smaller one would not pay
    u32* rows;         // L, one bit a row of the matrix
    u32* counts;       // rows of each candidate in L
    u32* alive;        // candidates neither done with nor covered, one bit each
    u32* inherited;    // candidates of the matrix that are befores of this node
    u32 next, end;     // candidates still to be tried here
    u32 n_members;
    bool given;
    u64 members_hash;
    Mark mark;
  };
  template <class T>
  static constexpr usize words_of() {
    return (sizeof(T) + 3) / 4;
  }

  const Limits limits_;
  Crew& crew_;
  Sink& sink_;
  Memory& memory_;
  const u32 rows_needed_;
  Members members_;
  NarrowLevel* narrow_ = nullptr;
  WideLevel* wide_ = nullptr;
  u32 *row_list_ = nullptr, *row_starts_ = nullptr, *order_ = nullptr, *live_ = nullptr;
  u32 *reach_starts_ = nullptr, *subtree_rows_ = nullptr;
  u32 n_narrow_ = 0, ticks_ = 0, root_ = 0, n_subtree_rows_ = 0;
  const u32* shared_rows_ = nullptr;  // of the matrix that other workers may read too, if there is one

  // ---- R ----------------------------------------------------------------------------------------

  void join(u32 column) {
    if constexpr (Sink::kMembers) {
      if constexpr (Sink::kIds) members_.ids[members_.n] = column;
      ++members_.n;
      members_.hash += sink_.column_hash(column);
    }
  }
  void leave_to(u32 n, u64 hash) {
    members_.n = n;
    members_.hash = hash;
  }
  /// Can a node with so many rows, and columns at most, still lead to an answer?
  bool promising(u32 n_rows, u32 n_columns) const {
    if constexpr (!Sink::kMembers) return true;
    return n_columns >= limits_.min_columns && static_cast<u64>(n_rows) * n_columns >= limits_.min_edges;
  }

  // ---- the loop over open levels ------------------------------------------------------------------

  static usize base_words(const Subtree& tree) {
    const usize columns = usize{tree.members.n} + tree.n_candidates + tree.matrix.n_candidates;
    return columns + (kLanes + 1) * words_of<NarrowLevel>() + 3 * padded(tree.matrix.n_rows) + 3 * padded(tree.matrix.stride()) + 1024 +
           (tree.wide && !tree.matrix.columns ? usize{words_for(tree.matrix.n_rows) + 2} * tree.matrix.column_stride() : 0);
  }

  /// `filled`: rows of the node in narrow_[n_narrow_], which is to be opened; 0 where there is none.
  void run(u32 filled) {
    for (;;) {
      if (filled) open_narrow(filled);
      if (ticks_ >= kPollNodes) poll();
      if (n_narrow_)
        filled = step_narrow(narrow_[n_narrow_ - 1]);
      else if (wide_)
        filled = step_wide(*wide_);
      else
        return;
    }
  }

  /// Looks at the crew; true where a worker waits and no open level has work to give.
  bool poll() {
    ticks_ = 0;
    if (crew_.stopped()) {
      abandon();
      return false;
    }
    return crew_.hungry() && !give();
  }
  void abandon() {
    n_narrow_ = 0;
    wide_ = nullptr;
  }
  void overflow() {
    crew_.overflow();
    abandon();
  }

  // ---- wide nodes ---------------------------------------------------------------------------------

  void search_wide(const Subtree& tree) {
    const u32 n = tree.matrix.n_rows;
    row_list_ = memory_.take(n);
    row_starts_ = memory_.take(n);
    order_ = memory_.take(n);
    live_ = memory_.take(tree.matrix.stride());
    reach_starts_ = memory_.take(kLanes);
    subtree_rows_ = memory_.take(kLanes);
    WideLevel& level = push_wide(memory_.mark());
    level.matrix = tree.matrix;
    shared_rows_ = tree.matrix.columns ? tree.matrix.rows : nullptr;
    if (!shared_rows_) level.matrix.fill_columns(memory_);
    if (tree.rows) {
      level.rows = tree.rows;
      level.counts = tree.ids;
      level.alive = tree.candidates;
      level.inherited = tree.befores;
      start_wide(level, tree.from, tree.to);
    } else {
      open_wide(level, tree.from, tree.to);
    }
    run(0);
  }

  WideLevel& push_wide(Mark mark) {
    WideLevel* level = reinterpret_cast<WideLevel*>(memory_.take(words_of<WideLevel>()));
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
    level.given = false;
  }

  u32 step_wide(WideLevel& level) {
    const u32 x = next_alive(level);
    if (x == level.end) {
      wide_ = level.parent;
      memory_.release(level.mark);
      return 0;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    return wide_child(level, x);
  }

  static u32 next_alive(const WideLevel& level) {
    const u32 end = level.end;
    u32 x = level.next;
    while (x < end) {
      const u32 rest = level.alive[x / 32] >> x % 32;
      if (rest) {
        x += first_set(rest);
        return x < end ? x : end;
      }
      x = (x / 32 + 1) * 32;
    }
    return end;
  }

  /// Words that the child of a wide node may take, its own matrix aside.
  static usize child_words(const BitMatrix& m) {
    return usize{400} * m.candidate_words + usize{64} * m.before_words + words_for(m.n_rows) + 1024;
  }

  /// The child of candidate x of a wide node; returns its rows where narrow_[0] is to be opened.
  u32 wide_child(WideLevel& level, u32 x) {
    const BitMatrix& m = level.matrix;
    if (!memory_.fits(child_words(m))) {
      overflow();
      return 0;
    }
    ++nodes;
    ticks_ += kWideNode;
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
      wide_child_of_wide(level, x, n, open, mark);
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
    place_rows(row_list_, n, m.stride());
    return n;
  }
  void place_rows(const u32* list, u32 n, u32 stride) {
    u32* starts = row_starts_;
    each_item(n, [=](u32 i) { starts[i] = list[i] * stride; });
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
    level.n_candidates = n_candidates;
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
        kept += compact(befores + kept, masks, flags(wanted) & (popcounts(masks) >= splat(rows_needed_)));
      }
    }
    level.befores = befores;
    level.n_befores = kept;
  }

  /// The candidate columns that are befores of candidate x, in a word.
  static u32 tried_before(const WideLevel& level, u32 word, u32 x) {
    return level.inherited[word] | (level.alive[word] & bits_below(word, x));
  }
  static u32 bits_below(u32 word, u32 x) {
    if (word < x / 32) return ~0u;
    return word == x / 32 ? (1u << x % 32) - 1 : 0;
  }

  /// Opens the child over more than 32 rows: on its parent's matrix, or on its own where that is much smaller.
  void wide_child_of_wide(WideLevel& from, u32 x, u32 n, u32* open, Mark mark) {
    const BitMatrix& m = from.matrix;
    WideLevel& level = push_wide(mark);
    level.counts = memory_.take(m.column_stride());
    level.inherited = memory_.take(m.candidate_words);
    const u32 *column = m.columns + x, *above = from.rows, depth = words_for(m.n_rows);
    const usize apart = m.column_stride();
    u32* rows = memory_.take(depth);
    each_item(depth, [=](u32 k) { rows[k] = above[k] & column[k * apart]; });
    level.rows = rows;
    for (u32 w = 0; w < m.candidate_words; ++w) {
      put(level.inherited + w, tried_before(from, w, x));
      if (open[w]) put(open + w, count_open(from, level, n, w, open[w]));
    }
    if (project_child(m, n, level, open)) return;
    level.matrix = m;
    level.alive = open;
    start_wide(level, 0, m.n_candidates);
  }

  /// Counts the rows in L' of the open candidates of a word: those with too few are closed, those that lie
  /// inside N(x) are done with in the parent. Returns what stays open.
  u32 count_open(WideLevel& from, const WideLevel& level, u32 n, u32 w, u32 open) {
    const BitMatrix& m = from.matrix;
    const u32 depth = words_for(m.n_rows);
    Lanes counts = splat(0);
    if (n < depth * kRowsAColumnWord) {
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
  static u32 low_bits(u32 n) { return n >= kLanes ? ~0u : (1u << n) - 1; }

  // ---- smaller matrices ---------------------------------------------------------------------------

  /// Gives the child its own matrix where that is half as wide, or a fourth as long, and there is memory for it.
  bool project_child(const BitMatrix& m, u32 n, WideLevel& level, const u32* open) {
    const bool shorter = kShorter * n <= m.n_rows;
    if (!shorter && m.stride() <= kLanes) return false;
    const Projection p = plan_projection(m, n, level.inherited, open);
    const usize words = words_for(p.n_before) + words_for(p.n_candidates), columns = 32 * usize{words_for(p.n_candidates)};
    if (!shorter && 2 * words > m.stride()) return false;
    if (!memory_.fits(p.n_rows * (words + 1) + (words_for(p.n_rows) + 5) * columns + child_words(m))) return false;
    BitMatrix& to = level.matrix;
    to.shape(memory_, p.n_rows, p.n_before, p.n_candidates);
    write_projection(m, open, to);
    to.fill_columns(memory_);
    open_wide(level, 0, to.n_candidates);
    return true;
  }

  struct Projection {
    u32 n_rows, n_before, n_candidates;
  };
  /// Sets `order_` to the rows of `row_list_` that have an open candidate, and `live_` to the befores and tried
  /// candidates with at least two of them, which are the befores of the new matrix.
  Projection plan_projection(const BitMatrix& m, u32 n, const u32* tried, const u32* open) {
    const u32 *list = row_list_, *starts = row_starts_, *words = m.rows + m.before_words;
    const u32 n_words = m.candidate_words;
    Projection p = {0, 0, 0};
    p.n_rows = list_if(order_, n, [=](u32 i) {
      u32 meets_open = 0;
      for (u32 w = 0; w < n_words; ++w) meets_open |= words[starts[i] + w] & open[w];
      return meets_open != 0;
    });
    u32* order = order_;
    each_item(p.n_rows, [=](u32 i) { order[i] = list[order[i]]; });
    place_rows(order_, p.n_rows, m.stride());
    p.n_before = find_live(m, tried, p.n_rows);
    for (u32 w = 0; w < n_words; ++w) p.n_candidates += popcount(open[w]);
    return p;
  }

  u32 find_live(const BitMatrix& m, const u32* tried, u32 n_rows) {
    for (u32 w = 0; w < m.stride(); w += kLanes) {
      const u32 n_words = m.stride() - w < kLanes ? m.stride() - w : kLanes;
      store(live_ + w, fold_rows(m.rows + w, row_starts_, n_rows, n_words).two, first_lanes(n_words));
    }
    u32 n = 0;
    for (u32 w = 0; w < m.stride(); ++w) {
      u32 live = live_[w];
      if (w >= m.before_words) put(live_ + w, live &= tried[w - m.before_words]);
      n += popcount(live);
    }
    return n;
  }

  void write_projection(const BitMatrix& m, const u32* open, const BitMatrix& to) {
    u32 n = 0;
    for (u32 w = 0; w < m.candidate_words; ++w)
      if (open[w]) n += compact(to.ids + n, load(m.ids + 32 * w), flags(open[w]));
    const u32 *order = order_, *live = live_;
    const BitMatrix source = m, target = to;
    each_item(to.n_rows, [=](u32 i) {
      const u32* row = source.row(order[i]);
      target.row_ids[i] = source.row_ids[order[i]];
      BitWriter befores(target.row(i)), candidates(target.row(i) + target.before_words);
      for (u32 w = 0; w < source.stride(); ++w)
        if (live[w]) befores.put(compress_bits(row[w], live[w]), popcount(live[w]));
      for (u32 w = 0; w < source.candidate_words; ++w)
        if (open[w]) candidates.put(compress_bits(row[source.before_words + w], open[w]), popcount(open[w]));
      befores.end();
      candidates.end();
    });
  }

  // ---- narrow nodes -------------------------------------------------------------------------------

  void search_narrow(const Subtree& tree) {
    NarrowLevel& level = narrow_[0];
    level.mark = memory_.mark();
    level.n_candidates = tree.n_candidates;
    level.n_befores = tree.n_befores;
    level.candidates = tree.candidates;
    level.ids = tree.ids;
    level.befores = tree.befores;
    subtree_rows_ = tree.rows;
    n_subtree_rows_ = tree.n_rows;
    sink_.rows(tree.rows, tree.n_rows);
    run(tree.n_rows);
  }

  /// Makes narrow_[n_narrow_] the current node (its lists are filled), or searches it at once as a leaf.
  void open_narrow(u32 n_rows) {
    NarrowLevel& level = narrow_[n_narrow_];
    drop_dominated(level);
    const bool worth = level.n_candidates && promising(n_rows, members_.n + level.n_candidates);
    if (worth && level.n_candidates <= kLanes && level.n_befores <= kLanes) {
      leaf(level);
    } else if (worth) {
      level.next = 0;
      level.n_members = members_.n;
      level.members_hash = members_.hash;
      ++n_narrow_;
      return;
    }
    memory_.release(level.mark);
  }

  u32 step_narrow(NarrowLevel& level) {
    const u32 n = level.n_candidates;
    u32 x = level.next;
    for (; x < n; x += kLanes) {
      const u32 alive = ballot(nonzero(load(level.candidates + x, first_lanes(n - x))));
      if (!alive) continue;
      x += first_set(alive);
      break;
    }
    if (x >= n) {
      memory_.release(level.mark);
      --n_narrow_;
      return 0;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    return narrow_child(level, x);
  }

  static bool covers(const u32* columns, u32 n, Lanes rows) {
    for (u32 i = 0; i < n; i += kLanes)
      if (ballot(((load(columns + i, first_lanes(n - i)) & rows) == rows))) return true;
    return false;
  }

  /// The child of candidate x of a narrow node; returns its rows where it is to be opened.
  u32 narrow_child(NarrowLevel& from, u32 x) {
    const u32 bits = from.candidates[x];
    const Lanes rows = splat(bits);
    ++nodes;
    ticks_ += 2 + (from.n_befores + from.n_candidates) / 128;
    if (covers(from.befores, from.n_befores, rows) || covers(from.candidates, x, rows)) {
      ++dropped;
      put(from.candidates + x, 0);  // a before covers x: it forbids all that x would
      return 0;
    }
    if (!memory_.fits(2 * usize{from.n_candidates} + from.n_befores + 256)) {
      overflow();
      return 0;
    }
    join(from.ids[x]);
    NarrowLevel& child = narrow_[n_narrow_];
    child.mark = memory_.mark();
    child.candidates = memory_.take(from.n_candidates - x);
    child.ids = memory_.take(Sink::kMembers ? from.n_candidates - x : 0);
    u32 wanted = 0;
    const u32 n = split_candidates(from, x, bits, child, wanted);
    sink_.found(bits, members_);
    if (!n || !promising(popcount(bits), members_.n + n)) {
      memory_.release(child.mark);
      return 0;
    }
    child.n_candidates = n;
    child.befores = memory_.take(from.n_befores + x);
    u32 n_befores = restrict_befores(from.befores, from.n_befores, wanted, child.befores);
    n_befores += restrict_befores(from.candidates, x, wanted, child.befores + n_befores);
    child.n_befores = n_befores;
    return popcount(bits);
  }

  /// The candidates after x over the rows of x: members of R, candidates of the child, or done with. Returns
  /// the child's; `wanted` gets the rows that they have.
  u32 split_candidates(NarrowLevel& from, u32 x, u32 bits, NarrowLevel& child, u32& wanted) {
    const Lanes rows = splat(bits);
    u32* candidates = from.candidates;
    const u32 end = from.n_candidates;
    u32 n = 0;
    Lanes reach = splat(0);
    for (u32 i = x + 1; i < end; i += kLanes) {
      const Flags real = first_lanes(end - i);
      const Lanes masks = load(candidates + i, real), inside = masks & rows;
      const Flags full = inside == rows, kept = (popcounts(inside) >= splat(rows_needed_)) & ~full;
      store(candidates + i, splat(0), (inside == masks) & real);  // inside N(x): done with
      if constexpr (Sink::kMembers) {
        const Lanes ids = load(from.ids + i, real);
        for (u32 left = ballot(full); left; left &= left - 1) join(lane(ids, first_set(left)));
        compact(child.ids + n, ids, kept);
      }
      reach = reach | select(kept, inside, splat(0));
      n += compact(child.candidates + n, inside, kept);
    }
    wanted = any_bits(reach);
    return n;
  }

  /// Copies the columns with at least rows_needed_ of the wanted rows, reduced to those.
  u32 restrict_befores(const u32* from, u32 n, u32 wanted, u32* to) const {
    const Lanes rows = splat(wanted);
    u32 kept = 0;
    for (u32 i = 0; i < n; i += kLanes) {
      const Lanes masks = load(from + i, first_lanes(n - i)) & rows;
      kept += compact(to + kept, masks, popcounts(masks) >= splat(rows_needed_));
    }
    return kept;
  }

  // ---- dominated columns --------------------------------------------------------------------------

  /// Drops befores inside other befores, and candidates inside befores; the largest befores come first.
  void drop_dominated(NarrowLevel& level) {
    if (!level.n_befores || !level.n_candidates) return;
    u32* befores = level.befores;
    u32 kept = 0;
    if (level.n_befores > kRegisterBefores) kept = thin_out(befores, level.n_befores);
    if (level.n_befores - kept <= 32)
      kept += keep_largest<1>(befores + kept, level.n_befores - kept);
    else if (level.n_befores - kept <= 64)
      kept += keep_largest<2>(befores + kept, level.n_befores - kept);
    else if (level.n_befores - kept <= kRegisterBefores)
      kept += keep_largest<4>(befores + kept, level.n_befores - kept);
    else
      kept = level.n_befores;
    level.n_befores = kept;
    drop_covered_candidates(level);
  }

  /// Moves up to kKept largest befores to the front and drops all inside them; returns how many it moved. The
  /// level's number of befores is brought up to date.
  u32 thin_out(u32* befores, u32& n) {
    u32 kept = 0;
    while (n - kept > kRegisterBefores && kept < kKept) {
      Lanes best = splat(0), best_count = splat(0);
      for (u32 i = kept; i < n; i += kLanes) {
        const Lanes masks = load(befores + i, first_lanes(n - i)), counts = popcounts(masks);
        const Flags larger = counts > best_count;
        best = select(larger, masks, best);
        best_count = select(larger, counts, best_count);
      }
      const u32 most = largest(best_count);
      const u32 mask = lane(best, first_set(ballot(best_count == splat(most))));
      const Lanes cover = splat(mask);
      u32 to = kept;
      for (u32 i = kept; i < n; i += kLanes) {
        const Lanes masks = load(befores + i, first_lanes(n - i));
        to += compact(befores + to, masks, nonzero(without(masks, cover)));
      }
      // One place is free: the mask itself was dropped.
      put(befores + to, befores[kept]);
      put(befores + kept++, mask);
      n = to + 1;
    }
    return kept;
  }

  /// The same in registers, for at most 32 K befores, to the end.
  template <u32 K>
  u32 keep_largest(u32* befores, u32 n) const {
    Lanes masks[K], keys[K];
    BICLIQ_UNROLL
    for (u32 k = 0; k < K; ++k) {
      masks[k] = load(befores + 32 * k, first_lanes(n > 32 * k ? n - 32 * k : 0));
      keys[k] = select(nonzero(masks[k]), shift_left(popcounts(masks[k]), 8) | (lane_numbers() + splat(32 * k)), splat(0));
    }
    u32 kept = 0;
    for (;;) {
      Lanes best = keys[0];
      BICLIQ_UNROLL
      for (u32 k = 1; k < K; ++k) best = select(keys[k] > best, keys[k], best);
      const u32 key = largest(best);
      if (!key) return kept;
      const u32 at = key & 0xff;
      u32 mask = 0;
      BICLIQ_UNROLL
      for (u32 k = 0; k < K; ++k)
        if (k == at / 32) mask = lane(masks[k], at % 32);
      put(befores + kept++, mask);
      const Lanes cover = splat(mask);
      BICLIQ_UNROLL
      for (u32 k = 0; k < K; ++k) keys[k] = select(nonzero(without(masks[k], cover)), keys[k], splat(0));
    }
  }

  void drop_covered_candidates(NarrowLevel& level) const {
    u32 to = 0;
    for (u32 i = 0; i < level.n_candidates; i += kLanes) {
      const Flags real = first_lanes(level.n_candidates - i);
      const Lanes masks = load(level.candidates + i, real);
      Flags kept = nonzero(masks);
      for (u32 b = 0; b < level.n_befores; ++b) kept = kept & nonzero(without(masks, splat(level.befores[b])));
      if constexpr (Sink::kMembers) compact(level.ids + to, load(level.ids + i, real), kept);
      to += compact(level.candidates + to, masks, kept);
    }
    level.n_candidates = to;
  }

  // ---- leaves -------------------------------------------------------------------------------------

  /// Open levels of a leaf: rows, candidates to try, candidates tried, candidates that joined R.
  struct LeafStack {
    LaneStack rows, todo, tried, joined;
    u32 depth = 0;
  };
  struct LeafState {
    u32 rows, todo, tried, joined;
  };

  /// At most 32 candidates and 32 befores: one of each a lane, the state of a node in four words.
  void leaf(const NarrowLevel& level) {
    LeafStack open;
    const Flags real = first_lanes(level.n_candidates);
    const Lanes candidates = load(level.candidates, real);
    const Lanes befores = load(level.befores, first_lanes(level.n_befores));
    if constexpr (Sink::kMembers) sink_.leaf(level.ids, level.n_candidates);
    LeafState at = {~0u, ballot(nonzero(candidates)), 0, 0};
    for (;;) {
      if (!at.todo) {
        if (!open.depth) return;
        at = pop(open);
        continue;
      }
      if (++ticks_ >= kPollNodes && poll()) give_leaf(level.ids, candidates, befores, open);
      ++nodes;
      const u32 x = first_set(at.todo);
      at.todo &= at.todo - 1;
      const u32 bits = lane(candidates, x) & at.rows;
      const Lanes rows = splat(bits), inside = candidates & rows;
      const u32 full = ballot(inside == rows);
      const u32 escapes = ballot(meets(candidates, splat(at.rows & ~bits)));
      const u32 after = at.todo;
      at.todo &= escapes;
      if ((full & at.tried) || ballot((befores & rows) == rows)) {
        ++dropped;
        continue;
      }
      const u32 joined = at.joined | 1u << x | (full & after);
      if constexpr (Sink::kMembers)
        sink_.found_in_leaf(bits, members_, joined);
      else
        sink_.found(bits, members_);
      const u32 next = after & ~full & ballot(popcounts(inside) >= splat(rows_needed_));
      const u32 tried = at.tried;
      at.tried |= 1u << x;
      if (next && promising(popcount(bits), members_.n + popcount(joined) + popcount(next))) {
        if (at.todo) push(open, at);
        at = {bits, next, tried, joined};
      }
    }
  }

  static void push(LeafStack& open, const LeafState& at) {
    open.rows.put(open.depth, at.rows);
    open.todo.put(open.depth, at.todo);
    open.tried.put(open.depth, at.tried);
    if constexpr (Sink::kMembers) open.joined.put(open.depth, at.joined);
    ++open.depth;
  }
  static LeafState pop(LeafStack& open) {
    const u32 i = --open.depth;
    return {open.rows.get(i), open.todo.get(i), open.tried.get(i), Sink::kMembers ? open.joined.get(i) : 0};
  }

  // ---- giving work away ---------------------------------------------------------------------------

  using Parcel = typename Crew::Parcel;

  /// Hands the rest of the shallowest open level to the crew; false where no level has anything to give.
  bool give() {
    WideLevel* widest = nullptr;
    for (WideLevel* level = wide_; level; level = level->parent)
      if (!level->given && next_alive(*level) < level->end) widest = level;
    if (widest) return give_wide(*widest);
    for (u32 i = 0; i < n_narrow_; ++i)
      if (narrow_[i].next < narrow_[i].n_candidates) return give_narrow(narrow_[i]);
    return false;
  }

  Subtree parcel_head(Parcel& parcel, u32 n_members, u64 hash) const {
    Subtree tree;
    tree.root = root_;
    tree.members.n = n_members;
    tree.members.hash = hash;
    if constexpr (Sink::kIds) {
      tree.members.ids = parcel.take(n_members);
      for (u32 i = 0; i < n_members; ++i) tree.members.ids[i] = members_.ids[i];
    }
    return tree;
  }
  static usize head_words(u32 n_members) { return Sink::kIds ? padded(n_members) : 0; }

  bool give_wide(WideLevel& level) {
    if (level.matrix.rows == shared_rows_) return give_shared(level);
    const BitMatrix& m = level.matrix;
    const Mark mark = memory_.mark();
    if (!memory_.fits(child_words(m))) return false;
    u32* open = memory_.take(m.candidate_words);
    u32* tried = memory_.take(m.candidate_words);
    const u32 next = next_alive(level);
    u32 n_open = 0;
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const u32 rest = level.alive[w] & ~bits_below(w, next);
      n_open += popcount(rest & bits_below(w, level.end));
      put(open + w, rest);
      put(tried + w, tried_before(level, w, next));
    }
    const u32 *rows = level.rows, n_rows = m.n_rows;
    const u32 n = list_bits(row_list_, words_for(n_rows),
                            [=](u32 k) { return n_rows - 32 * k < 32 ? rows[k] & ((1u << n_rows % 32) - 1) : rows[k]; });
    place_rows(row_list_, n, m.stride());
    const Projection p = plan_projection(m, n, tried, open);
    const bool sent = send_wide(level, p, open, n_open);
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
    tree.from = next_alive(level);
    tree.to = level.end;
    tree.rows = copy(parcel, level.rows, depth);
    tree.ids = copy(parcel, level.counts, m.column_stride());
    tree.candidates = copy(parcel, level.alive, m.candidate_words);
    tree.befores = copy(parcel, level.inherited, m.candidate_words);
    crew_.give(static_cast<Parcel&&>(parcel), tree);
    level.next = level.end;
    level.given = true;
    return true;
  }
  static u32* copy(Parcel& parcel, const u32* from, u32 n) {
    u32* to = parcel.take(n);
    each_item(n, [=](u32 i) { to[i] = from[i]; });
    return to;
  }

  bool send_wide(WideLevel& level, const Projection& p, const u32* open, u32 n_open) {
    const usize words = words_for(p.n_before) + words_for(p.n_candidates);
    Parcel parcel = crew_.parcel(padded(p.n_rows * words) + padded(p.n_rows) + padded(32 * usize{words_for(p.n_candidates)}) +
                                 head_words(level.n_members));
    if (!parcel) return false;
    Subtree tree = parcel_head(parcel, level.n_members, level.members_hash);
    tree.wide = true;
    tree.matrix.shape(parcel, p.n_rows, p.n_before, p.n_candidates);
    write_projection(level.matrix, open, tree.matrix);
    tree.to = n_open;
    crew_.give(static_cast<Parcel&&>(parcel), tree);
    level.next = level.end;
    level.given = true;
    return true;
  }

  bool give_narrow(NarrowLevel& level) {
    const u32 next = level.next, n = level.n_candidates - next;
    Parcel parcel = crew_.parcel(2 * padded(n) + padded(usize{level.n_befores} + next) + padded(kLanes) + head_words(level.n_members));
    if (!parcel) return false;
    Subtree tree = parcel_head(parcel, level.n_members, level.members_hash);
    tree.candidates = parcel.take(n);
    tree.ids = parcel.take(n);
    tree.befores = parcel.take(usize{level.n_befores} + next);
    tree.n_candidates = copy_alive(level, next, level.n_candidates, tree.candidates, tree.ids);
    const u32 *befores = level.befores;
    u32* to = tree.befores;
    each_item(level.n_befores, [=](u32 i) { to[i] = befores[i]; });
    tree.n_befores = level.n_befores + copy_alive(level, 0, next, tree.befores + level.n_befores, nullptr);
    send_narrow(static_cast<Parcel&&>(parcel), tree);
    level.next = level.n_candidates;
    return true;
  }

  /// Copies the candidates in a range that are not done with (ids may be null).
  static u32 copy_alive(const NarrowLevel& level, u32 first, u32 end, u32* masks_to, u32* ids_to) {
    u32 n = 0;
    for (u32 i = first; i < end; i += kLanes) {
      const Flags real = first_lanes(end - i);
      const Lanes masks = load(level.candidates + i, real);
      if constexpr (Sink::kMembers)
        if (ids_to) compact(ids_to + n, load(level.ids + i, real), nonzero(masks));
      n += compact(masks_to + n, masks, nonzero(masks));
    }
    return n;
  }

  /// Gives away the shallowest level of a leaf that waits with candidates.
  void give_leaf(const u32* ids, Lanes candidates, Lanes befores, LeafStack& open) {
    u32 i = 0;
    while (i < open.depth && !open.todo.get(i)) ++i;
    if (i == open.depth) return;
    const u32 joined = Sink::kMembers ? open.joined.get(i) : 0;
    Parcel parcel = crew_.parcel(5 * padded(2 * kLanes) + head_words(members_.n + kLanes));
    if (!parcel) return;
    const u32 n_members = members_.n;
    const u64 hash = members_.hash;
    if constexpr (Sink::kMembers)
      for (u32 bits = joined; bits; bits &= bits - 1) join(ids[first_set(bits)]);
    Subtree tree = parcel_head(parcel, members_.n, members_.hash);
    leave_to(n_members, hash);
    const Lanes rows = splat(open.rows.get(i)), masks = candidates & rows;
    const Flags todo = flags(open.todo.get(i)), tried = flags(open.tried.get(i));
    tree.candidates = parcel.take(kLanes);
    tree.ids = parcel.take(kLanes);
    tree.befores = parcel.take(2 * kLanes);
    if constexpr (Sink::kMembers) compact(tree.ids, load(ids), todo);
    tree.n_candidates = compact(tree.candidates, masks, todo);
    tree.n_befores = compact(tree.befores, befores & rows, popcounts(befores & rows) >= splat(rows_needed_));
    tree.n_befores += compact(tree.befores + tree.n_befores, masks, tried);
    send_narrow(static_cast<Parcel&&>(parcel), tree);
    open.todo.put(i, 0);
  }

  void send_narrow(Parcel&& parcel, Subtree& tree) {
    u32* rows = parcel.take(kLanes);
    const u32* own = subtree_rows_;
    each_item(n_subtree_rows_, [=](u32 i) { rows[i] = own[i]; });
    tree.rows = rows;
    tree.n_rows = n_subtree_rows_;
    if (tree.n_candidates) crew_.give(static_cast<Parcel&&>(parcel), tree);
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
