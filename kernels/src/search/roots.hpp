// roots.hpp: the subtree of a root on a CPU, straight from the adjacency lists.
//
// What: for a column v, its rows, the later columns with at least two of them (candidates, by
// ascending number of rows) and the earlier ones that share at least two rows which have a
// candidate (excluded); the biclique of v's rows itself and those of one row whose first column is
// v are reported here. Where the sink wants only the best, rows that are too short for one of these
// are left out first (`keep_long_rows`).
//
// Input: a `Graph` (graph.hpp): columns in search order, adjacency ascending on both sides.
//
// Cost: O(edges in two steps of v) time; memory: two words a column, and the subtree.
#pragma once

#include "lanes/bitmatrix.hpp"
#include "lanes/errors.hpp"
#include "search/crew.hpp"
#include "graphs/limits.hpp"
#include "search/search_state.hpp"
#include "search/subtree.hpp"
#include "graphs/graph.hpp"
#include "lanes/memory.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace bicliq {

// ---- The largest bit matrix that a search on a CPU begins with.

/// Refuses the matrix of a root before any memory is taken for it.
inline void check_matrix(u32 root, u32 n_rows, u32 n_excluded, u32 n_candidates) {
  if (BitMatrix::can_search(n_rows, n_excluded, n_candidates)) return;
  throw CapacityError("the bit matrix of root " + std::to_string(root) + " has " + std::to_string(n_rows) + " rows and " +
                      std::to_string(usize{n_excluded} + n_candidates) + " columns, " +
                      std::to_string(BitMatrix::all_words(n_rows, n_excluded, n_candidates) >> 28) +
                      " GiB, and 16 are the most; search from the other side, or reduce the graph");
}

template <class Sink>
class Roots {
 public:
  Roots(const Graph& graph, const Limits& limits, const Crew& crew, Sink& sink)
      : g_(graph), limits_(limits), crew_(crew), sink_(sink), rows_needed_(limits.min_rows > 2 ? limits.min_rows : 2),
        mark_(graph.n_columns, 0), touched_(graph.n_columns + std::size_t{1}) {}

  u64 nodes = 0, dropped = 0;
  std::size_t workspace_bytes() const { return memory_.bytes(); }

  /// Reports the root's own bicliques; false where nothing is left to search below it.
  bool open(u32 v) {
    const u32* rows = g_.column_rows.data() + g_.column_start[v];
    u32 d = g_.column_degree(v);
    memory_.release({});
    tree_ = Subtree();
    tree_.root = v;
    joined_.clear();
    sink_.root(v);
    if (limits_.min_rows <= 1) single_row(v, rows, d);
    if (Sink::wants_best || limits_.min_columns > 1) {
      keep_long_rows(v, rows, d);
      rows = kept_.data();
      d = static_cast<u32>(kept_.size());
    }
    if (d < rows_needed_ || d < limits_.min_rows) return false;
    join(v);
    if (covered(v, rows, d)) {
      ++dropped;
      return false;
    }
    return d <= kLanes ? narrow_root(v, rows, d) : wide_root(v, rows, d);
  }
  /// The subtree of the root that `open` was asked for; valid until it is asked for the next.
  const Subtree& tree() const { return tree_; }

 private:
  const Graph& g_;
  const Limits limits_;
  const Crew& crew_;
  Sink& sink_;
  const u32 rows_needed_;
  Workspace memory_;
  std::vector<u32> mark_, touched_, row_list_, joined_, kept_;
  std::vector<u64> order_;  // candidates of a wide root: number of rows, then column
  std::vector<u64> signatures_;
  Subtree tree_;
  u32 n_touched_ = 0;

  void join(u32 column) {
    if constexpr (Sink::wants_members) {
      joined_.push_back(column);
      tree_.members.hash += sink_.column_hash(column);
    }
  }
  const Members& members() {
    tree_.members.ids = joined_.data();
    tree_.members.n = static_cast<u32>(joined_.size());
    return tree_.members;
  }
  /// Keeps the rows that have as many columns from v on as a wanted answer needs: the others are in
  /// no such answer, and what is found without them is too small to be one.
  void keep_long_rows(u32 v, const u32* rows, u32 d) {
    kept_.assign(rows, rows + d);
    for (usize n = 0; n != kept_.size() && !kept_.empty();) {  // the sink may ask for more of fewer rows
      n = kept_.size();
      u32 needed = limits_.min_columns;
      if constexpr (Sink::wants_best) needed = std::max(needed, sink_.columns_needed(v, kept_.data(), static_cast<u32>(n)));
      const auto is_short = [&](u32 u) {
        return g_.row_degree(u) < needed || g_.row_columns[g_.row_start[u + 1] - needed] < v;
      };
      kept_.erase(std::remove_if(kept_.begin(), kept_.end(), is_short), kept_.end());
    }
  }

  /// Bicliques ({u}, N(u)) whose first column is v: u's columns are not all in another row.
  /// Signatures side by side refuse nearly all other rows without a look at their columns
  /// (fimi-retail: a quarter of its time).
  void single_row(u32 v, const u32* rows, u32 d) {
    signatures_.clear();
    for (u32 i = 0; i < d && !crew_.stopped(); ++i) {
      const u32 u = rows[i];
      const u32* columns = g_.row_columns.data() + g_.row_start[u];
      const u32 n = g_.row_degree(u);
      if (columns[0] != v || !limits_.accepts(1, n)) continue;
      if constexpr (Sink::wants_best)
        if (!sink_.hopeful(1, n)) continue;
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

  /// Marks the columns that `walk` names of each of n rows, and adds them to `touched_`. Those in
  /// none of the first rows are in fewer than are needed, so rows after these only add to marks,
  /// without a branch, as `marked(mark, one, i)` does (gowalla at 20 × 20 in 0.7 of the time). How
  /// many are touched is a local number: for all a compiler knows, a mark might be that number.
  template <class Walk, class Marked>
  void touch(u32 n, Walk walk, Marked marked) {
    u32 n_touched = n_touched_, *const touched = touched_.data(), *const marks = mark_.data();
    for (u32 i = 0; i < n; ++i) {
      if (i + rows_needed_ <= n)
        walk(i, [=, &n_touched](u32 w) {
          touched[n_touched] = w;
          n_touched += !marks[w];
          marks[w] = marked(marks[w], 1, i);
        });
      else
        walk(i, [=](u32 w) { marks[w] = marked(marks[w], u32{marks[w] != 0}, i); });
    }
    n_touched_ = n_touched;
  }
  /// f(w) for the columns of a row after v;
  template <class F>
  void each_after(u32 v, u32 row, F f) const {
    const u32* first = g_.row_columns.data() + g_.row_start[row];
    for (const u32* at = g_.row_columns.data() + g_.row_start[row + 1]; at > first && at[-1] > v; --at) f(at[-1]);
  }
  /// for those before.
  template <class F>
  void each_before(u32 v, u32 row, F f) const {
    for (const u32* at = g_.row_columns.data() + g_.row_start[row]; *at < v; ++at) f(*at);
  }
  void forget_touched() {
    for (u32 i = 0; i < n_touched_; ++i) mark_[touched_[i]] = 0;
    n_touched_ = 0;
  }

  /// A root of at most 32 rows: the masks come straight from the adjacency lists.
  bool narrow_root(u32 v, const u32* rows, u32 d) {
    const u32 all = d == kLanes ? ~0u : (1u << d) - 1;
    u32 reach = 0;
    if (Sink::wants_members || d > rows_needed_) {
      touch(d, [&](u32 i, auto f) { each_after(v, rows[i], f); }, [](u32 mask, u32 one, u32 i) { return mask | one << i; });
      reach = root_candidates(all);
      forget_touched();
    }
    sink_.rows(rows, d);
    ++nodes;
    sink_.found(all, members());
    if (!tree_.n_candidates || !is_promising(limits_, sink_, d, members().n + tree_.n_candidates)) return false;
    if constexpr (Sink::wants_best)
      if (!sink_.aim(tree_.candidates, tree_.ids, tree_.n_candidates, tree_.to, members())) return false;
    u32 places[kLanes], n = 0;
    for (u32 bits = reach; bits; bits &= bits - 1) places[n++] = first_set(bits);
    touch(n, [&](u32 i, auto f) { each_before(v, rows[places[i]], f); }, [&](u32 mask, u32 one, u32 i) { return mask | one << places[i]; });
    tree_.excluded = memory_.take(n_touched_);
    for (u32 i = 0; i < n_touched_; ++i) {
      tree_.excluded[tree_.n_excluded] = mark_[touched_[i]];
      tree_.n_excluded += popcount(mark_[touched_[i]]) >= rows_needed_;
    }
    forget_touched();
    tree_.rows = memory_.take(d);
    std::copy(rows, rows + d, tree_.rows);
    tree_.n_rows = d;
    return true;
  }

  /// Splits the touched columns into members of R and candidates, these by ascending number of
  /// rows; returns the rows that some candidate has.
  u32 root_candidates(u32 all) {
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
    tree_.n_candidates = tree_.to = sum;
    if (!sum) return 0;
    tree_.candidates = memory_.take(sum);
    tree_.ids = memory_.take(sum);
    for (u32 i = 0; i < n_touched_; ++i) {
      const u32 mask = mark_[touched_[i]];
      if (mask == all || popcount(mask) < rows_needed_) continue;
      const u32 at = starts[popcount(mask)]++;
      tree_.candidates[at] = mask;
      tree_.ids[at] = touched_[i];
      reach |= mask;
    }
    return reach;
  }

  /// A root of more than 32 rows: only rows with a candidate, only columns with two such rows.
  bool wide_root(u32 v, const u32* rows, u32 d) {
    touch(d, [&](u32 i, auto f) { each_after(v, rows[i], f); }, [](u32 count, u32 one, u32) { return count + one; });
    order_.clear();
    for (u32 i = 0; i < n_touched_; ++i) {
      const u32 w = touched_[i];
      if (mark_[w] == d)
        join(w);
      else if (mark_[w] >= rows_needed_)
        order_.push_back(static_cast<u64>(mark_[w]) << 32 | w);
    }
    ++nodes;
    sink_.found(rows, d, members());
    if constexpr (Sink::wants_best) aim(rows, d);
    bool opens = !order_.empty() && promising(d);
    if (opens) {
      take_rows(v, rows, d);
      opens = promising(static_cast<u32>(row_list_.size()));
    }
    if (opens) build_root(v);
    forget_touched();
    return opens;
  }
  bool promising(u32 n_rows) {
    return n_rows >= rows_needed_ && is_promising(limits_, sink_, n_rows, members().n + static_cast<u32>(order_.size()));
  }

  /// Lists the rows that have as many candidates as a wanted answer, and the candidates that have
  /// enough of these, again and again.
  void take_rows(u32 v, const u32* rows, u32 d) {
    const u32 needed = limits_.min_columns > members().n + 1 ? limits_.min_columns - members().n : 1;
    row_list_.assign(rows, rows + d);
    for (usize n = 0; n != order_.size();) {
      n = order_.size();
      for (u32 i = 0; i < n_touched_; ++i) mark_[touched_[i]] = 0;
      for (u64 entry : order_) mark_[static_cast<u32>(entry)] = 1;
      const auto is_short = [&](u32 row) { return !has_candidates(v, row, needed); };
      row_list_.erase(std::remove_if(row_list_.begin(), row_list_.end(), is_short), row_list_.end());
      if (needed == 1 || row_list_.empty()) return;  // what goes has no candidate
      u32* const marks = mark_.data();
      for (u32 row : row_list_) each_after(v, row, [marks](u32 w) { marks[w] += marks[w] > 0; });
      for (u64& entry : order_) entry = u64{mark_[static_cast<u32>(entry)] - 1} << 32 | static_cast<u32>(entry);
      const auto is_rare = [this](u64 entry) { return entry >> 32 < rows_needed_; };
      order_.erase(std::remove_if(order_.begin(), order_.end(), is_rare), order_.end());
    }
  }

  /// Drops the candidates that are in nothing the sink wants.
  void aim(const u32* rows, u32 d) {
    const auto each = [this](auto add) {
      for (u64 entry : order_) add(static_cast<u32>(entry >> 32), static_cast<u32>(entry));
    };
    const auto each_pair = [&](u32 least, auto pair) {
      for (u32 i = 0; i < d; ++i)
        for (u64 e = g_.row_start[rows[i] + 1]; e-- > g_.row_start[rows[i]] && g_.row_columns[e] > tree_.root;)
          if (const u32 count = mark_[g_.row_columns[e]]; count >= least && count < d) pair(i, g_.row_columns[e]);
    };
    const u32 least = sink_.aim_wide(rows, d, members(), each, each_pair);
    const auto dropped = [least](u64 entry) { return !least || (entry >> 32) < least; };
    order_.erase(std::remove_if(order_.begin(), order_.end(), dropped), order_.end());
  }

  /// The bit matrix of a root; `order_` holds its candidates, which alone are marked, and
  /// `row_list_` its rows.
  void build_root(u32 v) {
    std::sort(order_.begin(), order_.end());
    const u32 n_candidates = static_cast<u32>(order_.size());
    for (u32 i = 0; i < n_candidates; ++i) mark_[static_cast<u32>(order_[i])] = i + 1;
    const u32 after = n_touched_;
    touch(static_cast<u32>(row_list_.size()), [&](u32 i, auto f) { each_before(v, row_list_[i], f); }, [](u32 count, u32 one, u32) { return count + one; });
    u32 n_excluded = 0;
    for (u32 i = after; i < n_touched_; ++i) {
      u32& mark = mark_[touched_[i]];
      mark = mark >= rows_needed_ ? ++n_excluded : 0;
    }
    tree_.wide = true;
    tree_.to = n_candidates;
    check_matrix(v, static_cast<u32>(row_list_.size()), n_excluded, n_candidates);
    BitMatrix& m = tree_.matrix;
    m.shape(memory_, static_cast<u32>(row_list_.size()), n_excluded, n_candidates);
    std::copy(row_list_.begin(), row_list_.end(), m.row_ids);
    for (u32 i = 0; i < n_candidates; ++i) m.ids[i] = static_cast<u32>(order_[i]);
    std::fill(m.rows, m.rows + static_cast<std::size_t>(m.n_rows) * m.stride(), 0u);
    for (u32 i = 0; i < n_candidates; ++i) mark_[m.ids[i]] += 32 * m.excluded_words;
    for (u32 i = 0; i < m.n_rows; ++i) {
      u32* row = m.row(i);
      for (u64 e = g_.row_start[row_list_[i]]; e < g_.row_start[row_list_[i] + 1]; ++e) {
        const u32 at = mark_[g_.row_columns[e]];  // without a branch, which cannot be foretold
        row[(at - (at != 0)) / 32] |= static_cast<u32>(at != 0) << (at - 1) % 32;
      }
    }
  }

  /// Has a row so many candidates, which are marked?
  /// Has a row so many marked columns after v? Where many are needed, eight are looked at together,
  /// without a branch: whether one of them is marked cannot be foretold.
  bool has_candidates(u32 v, u32 row, u32 needed) const {
    constexpr u32 kMany = 4, kTogether = 8;
    const u32* first = g_.row_columns.data() + g_.row_start[row];
    const u32* at = g_.row_columns.data() + g_.row_start[row + 1];
    if (needed >= kMany)
      for (; at - first >= kTogether && at[-1] > v; at -= kTogether) {
        u32 n = 0;
        for (u32 k = 1; k <= kTogether; ++k) n += (at[-std::ptrdiff_t{k}] > v) & (mark_[at[-std::ptrdiff_t{k}]] != 0);
        if (n >= needed) return true;
        needed -= n;
      }
    for (; at > first && at[-1] > v; --at)
      if (mark_[at[-1]] && !--needed) return true;
    return false;
  }
};

}  // namespace bicliq
