// mbe.hpp: every maximal biclique of a bipartite graph, each exactly once.
//
// What: all pairs (L, R) of a set of rows and a set of columns, both not empty, complete and not
// contained in a larger one; only those with at least `min_rows`, `min_columns` and `min_edges`.
//
// Input: a `Graph` (graph.hpp): columns in search order, adjacency ascending on both sides.
//
// Method: each biclique is found below the *root* that is its first column. A node is a set L of rows,
// the columns that may still join (*candidates*) and those that may not (*befores*: earlier roots,
// candidates already tried), each column as a mask over the rows of L. The child of candidate x has
// L' = L ∩ N(x); it is canonical unless a before covers L' (then it was found elsewhere: no excluded set
// of vertices is ever kept); candidates that cover L' join R, candidates that lie inside N(x) are done
// with (sibling pruning), and only columns with at least two rows in L' stay: bicliques of one row are
// counted at their root, by `single_row`. Befores are reduced to the rows that some candidate has, and
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

#include "bitmatrix.hpp"
#include "crew.hpp"
#include "graph.hpp"
#include "lanes.hpp"
#include "limits.hpp"
#include "workspace.hpp"

#include <algorithm>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// R of the node being searched: column numbers, and the sum of their hashes.
struct Members {
  std::vector<u32> ids;
  u64 hash = 0;
};

template <class Sink>
class MaximalBicliques {
 public:
  MaximalBicliques(const Graph& graph, const Limits& limits, Crew& crew, Sink& sink)
      : g_(graph), limits_(limits), crew_(crew), sink_(sink), rows_needed_(limits.min_rows > 2 ? limits.min_rows : 2),
        mark_(graph.n_columns, 0),
        touched_(graph.n_columns + std::size_t{1}) {}

  u64 nodes = 0, dropped = 0;
  std::size_t workspace_bytes() const { return memory_.bytes(); }

  /// Everything below one root.
  void root(u32 v) {
    const u32* rows = g_.column_rows.data() + g_.column_start[v];
    const u32 d = g_.column_degree(v);
    sink_.root(v);
    if (limits_.min_rows <= 1) single_row(v, rows, d);
    if (d < rows_needed_ || d < limits_.min_rows) return;
    members_.ids.clear();
    members_.hash = 0;
    join(v);
    if (covered(v, rows, d)) {
      ++dropped;
      return;
    }
    if (d <= kLanes)
      narrow_root(v, rows, d);
    else
      wide_root(v, rows, d);
    memory_.release({});
  }

  /// A node that another worker gave away.
  void resume(const GivenNode& node) {
    sink_.root(node.root);
    members_.ids = node.members;
    members_.hash = node.members_hash;
    if (node.wide)
      resume_wide(node);
    else
      resume_narrow(node);
    memory_.release({});
  }

 private:
  static constexpr u32 kPollNodes = 64;        // nodes between two looks at whether workers wait
  static constexpr u32 kRegisterBefores = 128; // befores that the dominance filter holds in registers
  static constexpr u32 kKept = 64;             // befores that the filter keeps at most in its passes over memory

  struct NarrowLevel {
    u32 *candidates, *ids, *befores;  // one mask a column over the rows of the subtree
    u32 n_candidates, n_befores, next;
    std::size_t n_members;
    u64 members_hash;
    Workspace::Mark mark;
  };
  struct WideLevel {
    BitMatrix matrix;  // its own, or its parent's where a smaller one would not pay
    u32* rows;         // L, one bit a row of the matrix
    u32* counts;       // rows of each candidate in L
    u32* alive;        // candidates neither done with nor covered, one bit each
    u32* inherited;    // candidates of the matrix that are befores of this node
    u32 next;
    std::size_t n_members;
    u64 members_hash;
    Workspace::Mark mark;
    bool given;
  };

  const Graph& g_;
  const Limits limits_;
  Crew& crew_;
  Sink& sink_;
  const u32 rows_needed_;
  Workspace memory_;
  std::vector<u32> mark_, touched_, row_list_, order_, live_;
  std::vector<const u32*> row_pointers_, before_pointers_;
  std::vector<u64> signatures_;
  Members members_;
  NarrowLevel narrow_[kLanes + 1];
  u32 n_narrow_ = 0;
  std::vector<WideLevel> wide_;
  u32 subtree_rows_[kLanes] = {};
  u32 ticks_ = 0, n_touched_ = 0;

  // ---- R ----------------------------------------------------------------------------------------

  void join(u32 column) {
    if constexpr (Sink::kMembers) {
      members_.ids.push_back(column);
      members_.hash += sink_.column_hash(column);
    }
  }
  void leave_to(std::size_t n, u64 hash) {
    if constexpr (Sink::kMembers) {
      members_.ids.resize(n);
      members_.hash = hash;
    }
  }
  /// Can a node with so many rows, and columns at most, still lead to an answer?
  bool promising(u32 n_rows, std::size_t n_columns) const {
    if constexpr (!Sink::kMembers) return true;
    return n_columns >= limits_.min_columns && static_cast<u64>(n_rows) * n_columns >= limits_.min_edges;
  }

  // ---- roots ------------------------------------------------------------------------------------

  /// Bicliques ({u}, N(u)) whose first column is v: u's columns are not all in another row. Signatures side by side
  /// refuse nearly all other rows without a look at their columns (fimi-retail: a quarter of its time).
  void single_row(u32 v, const u32* rows, u32 d) {
    signatures_.clear();
    for (u32 i = 0; i < d; ++i) {
      const u32 u = rows[i];
      const u32* columns = g_.row_columns.data() + g_.row_start[u];
      const u32 n = g_.row_degree(u);
      if (columns[0] != v || !limits_.accepts(1, n)) continue;
      if (signatures_.empty())
        for (u32 j = 0; j < d; ++j) signatures_.push_back(g_.row_signature[rows[j]]);
      const u64 own = signatures_[i];
      bool contained = false;
      for (u32 j = 0; j < d && !contained; ++j)
        contained = (own & ~signatures_[j]) == 0 && j != i && has_columns(rows[j], columns, n);
      if (!contained) sink_.single_row(u, columns, n);
    }
  }

  /// Has the row all of these columns (ascending)?
  bool has_columns(u32 row, const u32* columns, u32 n) const {
    const u32* at = g_.row_columns.data() + g_.row_start[row];
    const u32* end = g_.row_columns.data() + g_.row_start[row + 1];
    if (static_cast<std::size_t>(end - at) < n || end[-1] < columns[n - 1]) return false;
    for (u32 k = n; k-- > 0;) {  // from the end: the last columns are the popular ones
      end = std::lower_bound(at, end, columns[k]);
      if (end == g_.row_columns.data() + g_.row_start[row + 1] || *end != columns[k]) return false;
    }
    return true;
  }

  /// Is there a column before v with all rows of v? (By ascending degree it can only be v's twin.)
  bool covered(u32 v, const u32* rows, u32 d) const {
    u32 least = rows[0];
    for (u32 i = 1; i < d; ++i)
      if (g_.row_degree(rows[i]) < g_.row_degree(least)) least = rows[i];
    for (u64 e = g_.row_start[least]; g_.row_columns[e] < v; ++e) {
      const u32 w = g_.row_columns[e];
      if (g_.column_degree(w) < d) continue;
      const u32* own = g_.column_rows.data() + g_.column_start[w];
      if (std::includes(own, own + g_.column_degree(w), rows, rows + d)) return true;
    }
    return false;
  }

  /// Adds to `touched_` the columns w of a row that are not marked yet; `mark` is told of every w.
  template <class Mark>
  void touch(u32 w, Mark mark) {
    touched_[n_touched_] = w;
    n_touched_ += !mark_[w];
    mark(mark_[w]);
  }
  template <class Mark>
  void touch_after(u32 v, u32 row, Mark mark) {
    const u32* first = g_.row_columns.data() + g_.row_start[row];
    for (const u32* at = g_.row_columns.data() + g_.row_start[row + 1]; at > first && at[-1] > v; --at) touch(at[-1], mark);
  }
  template <class Mark>
  void touch_before(u32 v, u32 row, Mark mark) {
    for (const u32* at = g_.row_columns.data() + g_.row_start[row]; *at < v; ++at) touch(*at, mark);
  }
  void forget_touched() {
    for (u32 i = 0; i < n_touched_; ++i) mark_[touched_[i]] = 0;
    n_touched_ = 0;
  }

  /// A root of at most 32 rows: the masks come straight from the adjacency lists.
  void narrow_root(u32 v, const u32* rows, u32 d) {
    const u32 all = d == kLanes ? ~0u : (1u << d) - 1;
    NarrowLevel& level = narrow_[0];
    level.mark = memory_.mark();
    level.n_candidates = level.n_befores = 0;
    u32 reach = 0;
    if (Sink::kMembers || d > rows_needed_) {
      for (u32 i = 0; i < d; ++i) touch_after(v, rows[i], [bit = 1u << i](u32& mask) { mask |= bit; });
      reach = root_candidates(level, all);
      forget_touched();
    }
    sink_.rows(rows, d);
    ++nodes;
    sink_.found(all, members_);
    if (!level.n_candidates) return;
    for (u32 bits = reach; bits; bits &= bits - 1)
      touch_before(v, rows[first_set(bits)], [bit = bits & (0u - bits)](u32& mask) { mask |= bit; });
    level.befores = memory_.take(n_touched_);
    for (u32 i = 0; i < n_touched_; ++i) {
      level.befores[level.n_befores] = mark_[touched_[i]];
      level.n_befores += popcount(mark_[touched_[i]]) >= rows_needed_;
    }
    forget_touched();
    std::copy(rows, rows + d, subtree_rows_);
    open_narrow(d);
    run();
  }

  /// Splits the touched columns into members of R and candidates, these by ascending number of rows; returns
  /// the rows that some candidate has.
  u32 root_candidates(NarrowLevel& level, u32 all) {
    u32 starts[kLanes + 1] = {}, reach = 0, sum = 0;
    for (u32 i = 0; i < n_touched_; ++i) {
      const u32 mask = mark_[touched_[i]];
      if (mask == all)
        join(touched_[i]);
      else
        ++starts[popcount(mask)];
    }
    for (u32 n = 0; n <= kLanes; ++n) {
      const u32 count = n < rows_needed_ ? 0 : starts[n];
      starts[n] = sum;
      sum += count;
    }
    level.n_candidates = sum;
    if (!sum) return 0;
    level.candidates = memory_.take(sum);
    level.ids = memory_.take(sum);
    for (u32 i = 0; i < n_touched_; ++i) {
      const u32 mask = mark_[touched_[i]];
      if (mask == all || popcount(mask) < rows_needed_) continue;
      const u32 at = starts[popcount(mask)]++;
      level.candidates[at] = mask;
      level.ids[at] = touched_[i];
      reach |= mask;
    }
    return reach;
  }

  /// A root of more than 32 rows: only rows with a candidate, only columns with two such rows.
  void wide_root(u32 v, const u32* rows, u32 d) {
    for (u32 i = 0; i < d; ++i) touch_after(v, rows[i], [](u32& count) { ++count; });
    order_.clear();
    for (u32 i = 0; i < n_touched_; ++i) {
      const u32 w = touched_[i];
      if (mark_[w] == d)
        join(w);
      else if (mark_[w] >= rows_needed_)
        order_.push_back(w);
    }
    ++nodes;
    sink_.found(rows, d, members_);
    if (!order_.empty() && promising(d, members_.ids.size() + order_.size())) build_root(v, rows, d);
    forget_touched();
    run();
  }

  /// The bit matrix of a root; `order_` holds its candidates, `mark_` their numbers of rows.
  void build_root(u32 v, const u32* rows, u32 d) {
    std::sort(order_.begin(), order_.end(),
              [&](u32 a, u32 b) { return mark_[a] != mark_[b] ? mark_[a] < mark_[b] : a < b; });
    const u32 n_candidates = static_cast<u32>(order_.size());
    for (u32 i = 0; i < n_touched_; ++i) mark_[touched_[i]] = 0;
    for (u32 i = 0; i < n_candidates; ++i) mark_[order_[i]] = i + 1;
    row_list_.clear();
    for (u32 i = 0; i < d; ++i)  // a row without candidates is in no child
      if (has_candidate(v, rows[i])) row_list_.push_back(rows[i]);
    const u32 after = n_touched_;
    for (u32 r : row_list_) touch_before(v, r, [](u32& count) { ++count; });
    u32 n_before = 0;
    for (u32 i = after; i < n_touched_; ++i) {
      u32& mark = mark_[touched_[i]];
      mark = mark >= rows_needed_ ? ++n_before : 0;
    }
    wide_.emplace_back();
    WideLevel& level = wide_.back();
    level.mark = memory_.mark();
    BitMatrix& m = level.matrix;
    m.shape(memory_, static_cast<u32>(row_list_.size()), n_before, n_candidates);
    std::copy(row_list_.begin(), row_list_.end(), m.row_ids);
    std::copy(order_.begin(), order_.end(), m.ids);
    std::fill(m.rows, m.rows + static_cast<std::size_t>(m.n_rows) * m.stride(), 0u);
    for (u32 i = 0; i < m.n_rows; ++i) {
      u32* row = m.row(i);
      for (u64 e = g_.row_start[row_list_[i]]; e < g_.row_start[row_list_[i] + 1]; ++e) {
        const u32 w = g_.row_columns[e];
        if (!mark_[w]) continue;
        const u32 at = mark_[w] - 1 + (w > v ? 32 * m.before_words : 0);
        row[at / 32] |= 1u << at % 32;
      }
    }
    open_wide();
  }

  bool has_candidate(u32 v, u32 row) const {
    const u32* first = g_.row_columns.data() + g_.row_start[row];
    for (const u32* at = g_.row_columns.data() + g_.row_start[row + 1]; at > first && at[-1] > v; --at)
      if (mark_[at[-1]]) return true;
    return false;
  }

  // ---- the loop over open levels ------------------------------------------------------------------

  void run() {
    for (;;) {
      if (n_narrow_) {
        step_narrow(narrow_[n_narrow_ - 1]);
      } else if (!wide_.empty()) {
        step_wide(wide_.size() - 1);
      } else {
        return;
      }
      if (++ticks_ >= kPollNodes) poll();
    }
  }

  void poll() {
    ticks_ = 0;
    if (crew_.stopped()) {
      n_narrow_ = 0;
      wide_.clear();
    } else if (crew_.hungry()) {
      give();
    }
  }

  // ---- wide nodes ---------------------------------------------------------------------------------

  /// Makes the last wide level, whose matrix has just been written, the current node.
  void open_wide() {
    WideLevel& level = wide_.back();
    BitMatrix& m = level.matrix;
    m.fill_columns(memory_);
    const u32 depth = words_for(m.n_rows);
    level.rows = memory_.take(depth);
    std::fill(level.rows, level.rows + depth, ~0u);
    level.counts = m.counts;
    level.alive = memory_.take(m.candidate_words);
    level.inherited = memory_.take(m.candidate_words);
    for (u32 w = 0; w < m.candidate_words; ++w) {
      const Flags real = first_lanes(m.n_candidates - 32 * w);
      level.alive[w] = ballot((load(m.counts + 32 * w) >= splat(rows_needed_)) & real);
      level.inherited[w] = 0;
    }
    start_wide(level);
  }

  void start_wide(WideLevel& level) {
    level.next = 0;
    level.n_members = members_.ids.size();
    level.members_hash = members_.hash;
    level.given = false;
  }

  void step_wide(std::size_t depth) {
    WideLevel& level = wide_[depth];
    const u32 x = next_alive(level);
    if (x == level.matrix.n_candidates) {
      memory_.release(level.mark);
      wide_.pop_back();
      return;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    wide_child(depth, x);
  }

  static u32 next_alive(const WideLevel& level) {
    const u32 n = level.matrix.n_candidates;
    u32 x = level.next;
    while (x < n) {
      const u32 rest = level.alive[x / 32] >> x % 32;
      if (rest) return x + first_set(rest);
      x = (x / 32 + 1) * 32;
    }
    return n;
  }

  /// The child of candidate x of a wide node.
  void wide_child(std::size_t depth, u32 x) {
    WideLevel& level = wide_[depth];
    const BitMatrix& m = level.matrix;
    ++nodes;
    row_list_.clear();
    row_pointers_.clear();
    for (u32 k = 0; k < words_for(m.n_rows); ++k)
      for (u32 word = m.column_word(k, x) & level.rows[k]; word; word &= word - 1) {
        const u32 r = 32 * k + first_set(word);
        row_list_.push_back(r);
        row_pointers_.push_back(m.row(r));
      }
    const u32 n = static_cast<u32>(row_list_.size());
    const Workspace::Mark mark = memory_.mark();
    u32* closed = memory_.take(m.candidate_words);
    u32* open = memory_.take(m.candidate_words);
    u32 n_open = 0;
    if (!close_candidates(level, x, n, closed, open, n_open) || before_covers(m, n)) {
      ++dropped;
      level.alive[x / 32] &= ~(1u << x % 32);  // a before covers x: it forbids all that x would
      memory_.release(mark);
      return;
    }
    join(m.ids[x]);
    for (u32 w = 0; w < m.candidate_words; ++w)
      for (u32 bits = closed[w]; bits; bits &= bits - 1) {
        const u32 y = 32 * w + first_set(bits);
        join(m.ids[y]);
        if (level.counts[y] == n) level.alive[w] &= ~(1u << y % 32);  // y is x's twin here
      }
    order_.resize(n);
    report(m, n);
    if (!n_open || !promising(n, members_.ids.size() + n_open)) {
      memory_.release(mark);
      return;
    }
    if (n <= kLanes)
      narrow_child_of_wide(level, x, n, open, n_open, mark);
    else
      wide_child_of_wide(depth, x, open, mark);
  }

  void report(const BitMatrix& m, u32 n) {
    if constexpr (Sink::kMembers) {
      for (u32 i = 0; i < n; ++i) order_[i] = m.row_ids[row_list_[i]];
      sink_.found(order_.data(), n, members_);
    } else {
      sink_.found(nullptr, n, members_);
    }
  }

  /// Splits the candidates after x: `closed` has all rows of L', `open` at least two. False: one tried before has all.
  bool close_candidates(const WideLevel& level, u32 x, u32 n, u32* closed, u32* open, u32& n_open) {
    const BitMatrix& m = level.matrix;
    for (u32 w = 0; w < m.candidate_words; w += kLanes) {
      const Flags real = first_lanes(m.candidate_words - w);
      Lanes all = splat(~0u), any = splat(0), two = splat(0);
      for (u32 i = 0; i < n; ++i) {
        const Lanes bits = load(row_pointers_[i] + m.before_words + w, real);
        two = two | (any & bits);
        any = any | bits;
        all = all & bits;
      }
      const Lanes alive = load(level.alive + w, real), tried = tried_words(w, x);
      const Lanes closure = all;
      all = all & alive;
      if (ballot(meets(all, tried) | meets(closure, load(level.inherited + w, real)))) return false;
      store(closed + w, without(without(all, tried), own_word(w, x)), real);
      const Lanes rest = without(without(two & alive, tried), all);
      store(open + w, rest, real);
      if (ballot(nonzero(rest) & real)) {
        u32 buffer[kLanes];
        store(buffer, popcounts(rest), first_lanes(kLanes));
        for (u32 i = 0; i < kLanes && w + i < m.candidate_words; ++i) n_open += buffer[i];
      }
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
    for (u32 w = 0; w < m.before_words; w += kLanes) {
      const Flags real = first_lanes(m.before_words - w);
      Lanes all = load(row_pointers_[0] + w, real);
      for (u32 i = 1; i < n; ++i) {
        all = all & load(row_pointers_[i] + w, real);
        if (i % 8 == 7 && !ballot(nonzero(all))) break;
      }
      if (ballot(nonzero(all))) return true;
    }
    return false;
  }

  /// Opens the child over at most 32 rows as lists of masks.
  void narrow_child_of_wide(WideLevel& from, u32 x, u32 n, const u32* open, u32 n_open, Workspace::Mark mark) {
    const BitMatrix& m = from.matrix;
    NarrowLevel& level = narrow_[0];
    level.mark = mark;
    level.candidates = memory_.take(n_open);
    level.ids = memory_.take(n_open);
    u32 n_candidates = 0;
    Lanes reach = splat(0);
    for (u32 w = 0; w < m.candidate_words; ++w) {
      if (!open[w]) continue;
      const Lanes masks = column_masks(row_pointers_.data(), n, m.before_words + w);
      const Lanes counts = popcounts(masks);
      const Flags kept = flags(open[w]) & (counts >= splat(rows_needed_));
      from.alive[w] &= ~ballot(flags(open[w]) & (counts == load(from.counts + 32 * w)));  // inside N(x)
      reach = reach | select(kept, masks, splat(0));
      if constexpr (Sink::kMembers) compact(level.ids + n_candidates, load(m.ids + 32 * w), kept);
      n_candidates += compact(level.candidates + n_candidates, masks, kept);
    }
    if (!n_candidates) {
      memory_.release(mark);
      return;
    }
    level.n_candidates = n_candidates;
    gather_befores(from, x, any_bits(reach), level);
    for (u32 i = 0; i < n; ++i) subtree_rows_[i] = m.row_ids[row_list_[i]];
    sink_.rows(subtree_rows_, n);
    open_narrow(n);
  }

  /// The befores of the child, over the rows in `reach` only: earlier columns, and candidates tried before x.
  void gather_befores(const WideLevel& from, u32 x, u32 reach, NarrowLevel& level) {
    const BitMatrix& m = from.matrix;
    before_pointers_.clear();
    u32 places[kLanes];
    for (u32 bits = reach; bits; bits &= bits - 1) {
      places[before_pointers_.size()] = first_set(bits);
      before_pointers_.push_back(row_pointers_[first_set(bits)]);
    }
    const u32 n_rows = static_cast<u32>(before_pointers_.size());
    level.befores = memory_.take(static_cast<std::size_t>(m.n_before) + m.n_candidates);
    u32 kept = 0;
    for (u32 w = 0; w < m.stride(); w += kLanes) {
      const Flags real = first_lanes(m.stride() - w);
      Lanes any = splat(0), two = splat(0);
      for (u32 i = 0; i < n_rows; ++i) {
        const Lanes bits = load(before_pointers_[i] + w, real);
        two = two | (any & bits);
        any = any | bits;
      }
      for (u32 words = ballot(nonzero(two)); words; words &= words - 1) {
        const u32 k = w + first_set(words);
        u32 wanted = lane(two, first_set(words));
        if (k >= m.before_words) {
          wanted &= tried_before(from, k - m.before_words, x);
          if (!wanted) continue;
        }
        Lanes masks = splat(0);
        for (u32 i = 0; i < n_rows; ++i)
          masks = set_bits(masks, flags(before_pointers_[i][k]), splat(1u << places[i]));
        kept += compact(level.befores + kept, masks, flags(wanted) & (popcounts(masks) >= splat(rows_needed_)));
      }
    }
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

  /// Opens the child over more than 32 rows: on its parent's matrix, or on its own where that is half as wide.
  void wide_child_of_wide(std::size_t depth, u32 x, u32* open, Workspace::Mark mark) {
    wide_.emplace_back();
    WideLevel& from = wide_[depth];
    WideLevel& level = wide_.back();
    const BitMatrix& m = from.matrix;
    level.mark = mark;
    level.counts = memory_.take(m.column_stride());
    level.inherited = memory_.take(m.candidate_words);
    for (u32 w = 0; w < m.candidate_words; ++w) {
      level.inherited[w] = tried_before(from, w, x);
      if (open[w]) count_open(from, x, w, open[w], level.counts + 32 * w);
    }
    if (m.stride() > kLanes && project(m, level.inherited, open, level.matrix, memory_)) return open_wide();
    level.matrix = m;
    level.alive = open;
    const u32 words = words_for(m.n_rows);
    level.rows = memory_.take(words);
    for (u32 k = 0; k < words; ++k) level.rows[k] = from.rows[k] & m.column_word(k, x);
    start_wide(level);
  }

  /// Counts the rows in L' of the open candidates of a word: those with too few are closed, those that lie
  /// inside N(x) are done with in the parent.
  void count_open(WideLevel& from, u32 x, u32 w, u32& open, u32* counts_out) {
    const BitMatrix& m = from.matrix;
    Lanes counts = splat(0);
    const u32* words = m.columns + 32 * w;
    for (u32 k = 0; k < words_for(m.n_rows); ++k, words += m.column_stride()) {
      const u32 rows = m.column_word(k, x) & from.rows[k];
      if (rows) counts = counts + popcounts(load(words) & splat(rows));
    }
    store(counts_out, counts);
    const Flags was_open = flags(open);
    open = ballot(was_open & (counts >= splat(rows_needed_)));
    from.alive[w] &= ~ballot(was_open & (counts == load(from.counts + 32 * w)));
  }

  /// Writes the matrix of the rows in `row_list_` that have an open candidate; its befores are the befores of
  /// the matrix and the `tried` candidates. False, and nothing written: it would not be half as wide.
  template <class Memory>
  bool project(const BitMatrix& m, const u32* tried, const u32* open, BitMatrix& to, Memory& memory, bool always = false) {
    std::size_t n_rows = 0;
    for (u32 r : row_list_) {
      u32 meets_open = 0;
      for (u32 w = 0; w < m.candidate_words; ++w) meets_open |= m.row(r)[m.before_words + w] & open[w];
      if (meets_open) order_[n_rows++] = r;
    }
    const u32 n_before = find_live(m, tried, n_rows);
    u32 n_candidates = 0;
    for (u32 w = 0; w < m.candidate_words; ++w) n_candidates += popcount(open[w]);
    if (!always && 2 * (words_for(n_before) + words_for(n_candidates)) > m.stride()) return false;
    to.shape(memory, static_cast<u32>(n_rows), n_before, n_candidates);
    u32 n = 0;
    for (u32 w = 0; w < m.candidate_words; ++w)
      for (u32 bits = open[w]; bits; bits &= bits - 1) to.ids[n++] = m.ids[32 * w + first_set(bits)];
    for (u32 i = 0; i < n_rows; ++i) {
      const u32* row = m.row(order_[i]);
      to.row_ids[i] = m.row_ids[order_[i]];
      BitWriter befores(to.row(i)), candidates(to.row(i) + to.before_words);
      for (u32 w = 0; w < live_.size(); ++w)
        if (live_[w]) befores.put(compress_bits(row[w], live_[w]), popcount(live_[w]));
      for (u32 w = 0; w < m.candidate_words; ++w)
        if (open[w]) candidates.put(compress_bits(row[m.before_words + w], open[w]), popcount(open[w]));
      befores.end();
      candidates.end();
    }
    return true;
  }

  /// Sets `live_` to the befores and tried candidates with at least two of the first rows in `order_`.
  u32 find_live(const BitMatrix& m, const u32* tried, std::size_t n_rows) {
    live_.resize(m.stride());
    u32 n = 0;
    for (u32 w = 0; w < m.stride(); w += kLanes) {
      const Flags real = first_lanes(m.stride() - w);
      Lanes any = splat(0), two = splat(0);
      for (std::size_t i = 0; i < n_rows; ++i) {
        const Lanes bits = load(m.row(order_[i]) + w, real);
        two = two | (any & bits);
        any = any | bits;
      }
      store(live_.data() + w, two, real);
    }
    for (u32 w = 0; w < m.stride(); ++w) {
      if (w >= m.before_words) live_[w] &= tried[w - m.before_words];
      n += popcount(live_[w]);
    }
    return n;
  }

  // ---- narrow nodes -------------------------------------------------------------------------------

  /// Makes narrow_[n_narrow_] the current node (its lists are filled), or searches it at once as a leaf.
  void open_narrow(u32 n_rows) {
    NarrowLevel& level = narrow_[n_narrow_];
    drop_dominated(level);
    const bool worth = level.n_candidates && promising(n_rows, members_.ids.size() + level.n_candidates);
    if (worth && level.n_candidates <= kLanes && level.n_befores <= kLanes) {
      leaf(level);
    } else if (worth) {
      level.next = 0;
      level.n_members = members_.ids.size();
      level.members_hash = members_.hash;
      ++n_narrow_;
      return;
    }
    memory_.release(level.mark);
  }

  void step_narrow(NarrowLevel& level) {
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
      return;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    narrow_child(level, x);
  }

  static bool covers(const u32* columns, u32 n, Lanes rows) {
    for (u32 i = 0; i < n; i += kLanes)
      if (ballot(((load(columns + i, first_lanes(n - i)) & rows) == rows))) return true;
    return false;
  }

  /// The child of candidate x of a narrow node.
  void narrow_child(NarrowLevel& from, u32 x) {
    const u32 bits = from.candidates[x];
    const Lanes rows = splat(bits);
    ++nodes;
    if (covers(from.befores, from.n_befores, rows) || covers(from.candidates, x, rows)) {
      ++dropped;
      from.candidates[x] = 0;  // a before covers x: it forbids all that x would
      return;
    }
    join(from.ids[x]);
    NarrowLevel& child = narrow_[n_narrow_];
    child.mark = memory_.mark();
    child.candidates = memory_.take(from.n_candidates - x);
    child.ids = memory_.take(Sink::kMembers ? from.n_candidates - x : 0);
    u32 n = 0;
    Lanes reach = splat(0);
    for (u32 i = x + 1; i < from.n_candidates; i += kLanes) {
      const Flags real = first_lanes(from.n_candidates - i);
      const Lanes masks = load(from.candidates + i, real), inside = masks & rows;
      const Flags full = inside == rows, kept = (popcounts(inside) >= splat(rows_needed_)) & ~full;
      store(from.candidates + i, splat(0), (inside == masks) & real);  // inside N(x): done with
      if constexpr (Sink::kMembers) {
        const Lanes ids = load(from.ids + i, real);
        for (u32 left = ballot(full); left; left &= left - 1) join(lane(ids, first_set(left)));
        compact(child.ids + n, ids, kept);
      }
      reach = reach | select(kept, inside, splat(0));
      n += compact(child.candidates + n, inside, kept);
    }
    sink_.found(bits, members_);
    if (!n || !promising(popcount(bits), members_.ids.size() + n)) {
      memory_.release(child.mark);
      return;
    }
    child.n_candidates = n;
    child.befores = memory_.take(from.n_befores + x);
    const u32 wanted = any_bits(reach);
    child.n_befores = restrict_befores(from.befores, from.n_befores, wanted, child.befores);
    child.n_befores += restrict_befores(from.candidates, x, wanted, child.befores + child.n_befores);
    open_narrow(popcount(bits));
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
      befores[to] = befores[kept];
      befores[kept++] = mask;
      n = to + 1;
    }
    return kept;
  }

  /// The same in registers, for at most 32 K befores, to the end.
  template <u32 K>
  u32 keep_largest(u32* befores, u32 n) const {
    Lanes masks[K], keys[K];
    for (u32 k = 0; k < K; ++k) {
      masks[k] = load(befores + 32 * k, first_lanes(n > 32 * k ? n - 32 * k : 0));
      keys[k] = select(nonzero(masks[k]), shift_left(popcounts(masks[k]), 8) | (lane_numbers() + splat(32 * k)), splat(0));
    }
    u32 kept = 0;
    for (;;) {
      Lanes best = keys[0];
      for (u32 k = 1; k < K; ++k) best = select(keys[k] > best, keys[k], best);
      const u32 key = largest(best);
      if (!key) return kept;
      const u32 at = key & 0xff;
      u32 mask = 0;
      for (u32 k = 0; k < K; ++k)
        if (k == at / 32) mask = lane(masks[k], at % 32);
      befores[kept++] = mask;
      const Lanes cover = splat(mask);
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

  /// At most 32 candidates and 32 befores: one of each a lane, the state of a node in three words.
  void leaf(const NarrowLevel& level) {
    struct State {
      u32 rows, todo, tried, joined;
    };
    State open[kLanes + 1];
    u32 depth = 0;
    const Flags real = first_lanes(level.n_candidates);
    const Lanes candidates = load(level.candidates, real);
    const Lanes befores = load(level.befores, first_lanes(level.n_befores));
    if constexpr (Sink::kMembers) sink_.leaf(level.ids, level.n_candidates);
    State at = {~0u, ballot(nonzero(candidates)), 0, 0};
    for (;;) {
      if (!at.todo) {
        if (!depth) return;
        at = open[--depth];
        continue;
      }
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
      if (next && promising(popcount(bits), members_.ids.size() + popcount(joined) + popcount(next))) {
        if (at.todo) open[depth++] = at;
        at = {bits, next, tried, joined};
      }
    }
  }

  // ---- giving work away ---------------------------------------------------------------------------

  /// Hands the rest of the shallowest open level to the crew.
  void give() {
    for (WideLevel& level : wide_)
      if (!level.given && next_alive(level) < level.matrix.n_candidates) return give_wide(level);
    for (u32 i = 0; i < n_narrow_; ++i)
      if (narrow_[i].next < narrow_[i].n_candidates) return give_narrow(narrow_[i]);
  }

  void give_wide(WideLevel& level) {
    GivenNode node;
    node.root = sink_.current_root();
    node.wide = true;
    node.members.assign(members_.ids.begin(), members_.ids.begin() + static_cast<std::ptrdiff_t>(level.n_members));
    node.members_hash = level.members_hash;
    const BitMatrix& m = level.matrix;
    std::vector<u32> open(m.candidate_words), tried(m.candidate_words);
    for (u32 w = 0; w < m.candidate_words; ++w) {
      open[w] = level.alive[w] & ~bits_below(w, level.next);
      tried[w] = tried_before(level, w, level.next);
    }
    row_list_.clear();
    for (u32 r = 0; r < m.n_rows; ++r)
      if (level.rows[r / 32] >> r % 32 & 1) row_list_.push_back(r);
    order_.resize(row_list_.size());
    BitMatrix copy;
    GivenNode::Memory memory{node.words};
    project(m, tried.data(), open.data(), copy, memory, true);
    node.n_rows = copy.n_rows;
    node.n_before = copy.n_before;
    node.n_candidates = copy.n_candidates;
    crew_.give(std::move(node));
    level.next = m.n_candidates;
    level.given = true;
  }

  void resume_wide(const GivenNode& node) {
    wide_.emplace_back();
    WideLevel& level = wide_.back();
    level.mark = memory_.mark();
    BitMatrix& m = level.matrix;
    m.shape(memory_, node.n_rows, node.n_before, node.n_candidates);
    std::copy(node.words[0].begin(), node.words[0].end(), m.rows);
    std::copy(node.words[1].begin(), node.words[1].end(), m.row_ids);
    std::copy(node.words[2].begin(), node.words[2].end(), m.ids);
    open_wide();
    run();
  }

  void give_narrow(NarrowLevel& level) {
    GivenNode node;
    node.root = sink_.current_root();
    node.wide = false;
    node.members.assign(members_.ids.begin(), members_.ids.begin() + static_cast<std::ptrdiff_t>(level.n_members));
    node.members_hash = level.members_hash;
    node.words.resize(4);
    for (u32 i = level.next; i < level.n_candidates; ++i)
      if (level.candidates[i]) {
        node.words[0].push_back(level.candidates[i]);
        if constexpr (Sink::kMembers) node.words[1].push_back(level.ids[i]);
      }
    node.words[2].assign(level.befores, level.befores + level.n_befores);
    for (u32 i = 0; i < level.next; ++i)
      if (level.candidates[i]) node.words[2].push_back(level.candidates[i]);
    node.words[3].assign(subtree_rows_, subtree_rows_ + kLanes);
    level.next = level.n_candidates;
    if (!node.words[0].empty()) crew_.give(std::move(node));
  }

  void resume_narrow(const GivenNode& node) {
    NarrowLevel& level = narrow_[0];
    level.mark = memory_.mark();
    level.n_candidates = static_cast<u32>(node.words[0].size());
    level.n_befores = static_cast<u32>(node.words[2].size());
    level.candidates = memory_.take(level.n_candidates);
    level.ids = memory_.take(level.n_candidates);
    level.befores = memory_.take(level.n_befores);
    std::copy(node.words[0].begin(), node.words[0].end(), level.candidates);
    std::copy(node.words[1].begin(), node.words[1].end(), level.ids);
    std::copy(node.words[2].begin(), node.words[2].end(), level.befores);
    std::copy(node.words[3].begin(), node.words[3].end(), subtree_rows_);
    sink_.rows(subtree_rows_, kLanes);
    open_narrow(kLanes);
    run();
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
