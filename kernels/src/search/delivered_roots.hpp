// delivered_roots.hpp: the subtree of a root straight from short rows.
//
// What: as roots.hpp, for many rows and few columns. Method ("occurrence deliver", LCM: Uno,
// Kiyomi, Arimura 2004): the rows of the root are read once to count what each later column shares
// with it, which says who is a candidate, and once more for the bits that they have for these.
// Excluded columns are looked for only in rows that have a candidate. Rows with the same candidates
// become one, which has what all of them have, and the root a tall node over these; where each has
// few of many candidates, or rows are named, a bit matrix. Cost: O(edges in two steps of the root).
// Memory: two words a column, and the subtree.
#pragma once

#include "search/roots.hpp"
#include "search/short_rows.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

template <class Sink>
class DeliveredRoots {
 public:
  DeliveredRoots(const ShortRows& rows, u32 least, Sink& sink)
      : rows_(rows), least_(least), sink_(sink), count_(rows.size() + 64), place_(rows.size() + ShortRows::kBlock, kNowhere) {}

  u64 nodes = 0, dropped = 0;
  std::size_t workspace_bytes() const { return memory_.bytes(); }

  /// Reports the root's own biclique; false where nothing is left to search below it.
  bool open(u32 v) {
    memory_.release({});
    tree_ = Subtree();
    tree_.root = v;
    sink_.root(v);
    joined_.clear();
    order_.clear();
    join(v);
    if (rows_.dense() ? count_bits(v) : has_twin(v)) return ++dropped, false;
    if (!rows_.dense()) count_after(v);
    const u32 degree = rows_.degree(v);
    each_counted(v + 1, rows_.size(), [&](u32 w) {
      if (count_[w] < degree) order_.push_back(w);
      else join(w);
    });
    ++nodes;
    sink_.found(rows_.names(v), degree, members());
    if (order_.empty()) return false;
    if (order_.size() == 1) return take_pair(v, order_[0]), false;
    tree_.n_candidates = tree_.to = static_cast<u32>(order_.size());
    tree_.ids = memory_.take(32 * usize{words_for(tree_.to)});
    std::copy(order_.begin(), order_.end(), tree_.ids);
    if (rows_.dense()) merge_bits(v);
    else deliver(v);
    return true;
  }
  /// The subtree of the root that `open` was asked for; valid until it is asked for the next.
  const Subtree& tree() const { return tree_; }

 private:
  using Column = ShortRows::Column;
  static constexpr u32 kFew = 63;           // columns that have a bit in a word of 64, and one for all others
  static constexpr Column kNowhere = 0xffff;
  static constexpr usize kSparse = 16;      // rows are merged where each has one of so many candidates, on average

  const ShortRows& rows_;
  const u32 least_;
  Sink& sink_;
  Workspace memory_;
  std::vector<u32> count_;     // rows that each column shares with the root
  std::vector<Column> place_; // which bit of a row a column is; else kNowhere
  std::vector<u32> order_, joined_, excluded_, names_;
  // Rows of bits, equal ones as one, and which bits are candidates and which excluded columns.
  u32 *own_ = nullptr, *weights_ = nullptr, *open_ = nullptr, *closed_ = nullptr, stride_ = 0;
  EqualRows equal_;
  Merged merged_;
  Subtree tree_;

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
  /// f(column) for those from `from` to before `to` that share enough with the root.
  template <class F>
  void each_counted(u32 from, u32 to, F f) const {
    for (; from < to; from += kLanes)
      for (u32 some = ballot((load(count_.data() + from) >= splat(least_)) & first_lanes(to - from)); some; some &= some - 1)
        f(from + first_set(some));
  }

  /// All that is below a root with one candidate.
  void take_pair(u32 v, u32 x) {
    ++nodes;
    if (rows_.dense() ? is_covered_in_bits(v, x) : is_covered(v, x)) {
      ++dropped;
      return;
    }
    join(x);
    names_.clear();
    if constexpr (Sink::wants_rows)
      for (u32 i = 0; i < rows_.n_rows(v); ++i)
        if (has(rows_.rows_begin(v)[i], x)) names_.push_back(rows_.names(v)[i]);
    sink_.found(names_.data(), count_[x], members());
  }

  // ---- rows of bits -----------------------------------------------------------------------------

  /// Counts for all columns from the first with as many rows; true where one before the root has
  /// all of its rows.
  bool count_bits(u32 v) {
    const u32 first = rows_.first_of_degree(v);
    for (u32 w = first / 32; w < rows_.stride(); ++w) {
      Lanes sum = splat(0);
      for (const u32* r = rows_.rows_begin(v); r < rows_.rows_end(v); ++r)
        sum = sum + select(flags(rows_.bits(*r)[w]), splat(rows_.weight(*r)), splat(0));
      store(count_.data() + 32 * w, sum);
    }
    const u32* const count = count_.data();
    return std::any_of(count + first, count + v, [&](u32 n) { return n == rows_.degree(v); });
  }
  /// Has a column before v all rows of v and x?
  bool is_covered_in_bits(u32 v, u32 x) const {
    for (u32 w = 0; w <= v / 32; ++w) {
      u32 all = w < v / 32 ? ~0u : (1u << v % 32) - 1;
      for (const u32* r = rows_.rows_begin(v); all && r < rows_.rows_end(v); ++r)
        if (rows_.bits(*r)[x / 32] >> x % 32 & 1) all &= rows_.bits(*r)[w];
      if (all) return true;
    }
    return false;
  }
  void merge_bits(u32 v) {
    stride_ = rows_.stride();
    begin_merging(v / 32, rows_.n_rows(v));
    for (u32 w : order_) open_[w / 32] |= 1u << w % 32;
    for (u32 w = 0; w <= v / 32; ++w) closed_[w] = w < v / 32 ? ~0u : (1u << v % 32) - 1;
    for (const u32* r = rows_.rows_begin(v); r < rows_.rows_end(v); ++r) equal_.add(rows_.bits(*r), rows_.weight(*r));
    take_merged();
  }

  // ---- lists ------------------------------------------------------------------------------------

  /// Has a column before v the same rows? It stands in each row side by side with v, or with others
  /// that have as many rows.
  bool has_twin(u32 v) const {
    const u32 first = rows_.first_of_degree(v), *begin = rows_.rows_begin(v), *end = rows_.rows_end(v);
    if (begin == end) return false;
    const auto is_like = [&](Column c) { return c >= first && c < v; };
    for (const Column* c = rows_.at(*begin); is_like(*--c);)
      if (std::all_of(begin, end, [&](u32 place) {
            const Column* other = rows_.at(place);
            while (is_like(*--other) && *other != *c) {}
            return *other == *c;
          }))
        return rows_.n_rows(v) == rows_.degree(v);
    return false;
  }
  /// Has a row a column behind this place?
  bool has(u32 place, u32 x) const {
    bool found = false;
    rows_.each_after(place, [&](Column c) { found |= c == x; });
    return found;
  }
  bool is_covered(u32 v, u32 x) {
    bool begun = false;
    excluded_.clear();
    for (const u32* place = rows_.rows_begin(v); place < rows_.rows_end(v) && (!begun || !excluded_.empty()); ++place) {
      if (!has(*place, x)) continue;
      const Column* c = rows_.at(*place);
      if (!begun) {
        while (*--c < rows_.size()) excluded_.push_back(*c);
      } else {
        const auto lacks = [&](u32 w) {
          while (c[-1] < rows_.size() && c[-1] > w) --c;
          return c[-1] != w;
        };
        u32 n = 0;  // in their order, which falls
        for (u32 w : excluded_)
          if (!lacks(w)) excluded_[n++] = w;
        excluded_.resize(n);
      }
      begun = true;
    }
    return !excluded_.empty();
  }
  void count_after(u32 v) {
    std::fill(count_.begin() + v + 1, count_.end(), 0u);
    u32* const count = count_.data();
    rows_.each_place(rows_.rows_begin(v), rows_.rows_end(v), [&](u32 place) {
      rows_.each_after(place, [=](Column c) { ++count[c]; });
    });
  }
  /// Writes the bits of all rows that have a candidate.
  void deliver(u32 v) {
    const u32 n_candidates = tree_.to, n_rows = rows_.n_rows(v);
    const bool few = n_candidates < kFew;
    u32 *const kept = memory_.take(n_rows), *const names = memory_.take(n_rows);
    u64* const keys = reinterpret_cast<u64*>(memory_.take(2 * usize{n_rows}));
    for (u32 i = 0; i < n_candidates; ++i) place_[order_[i]] = static_cast<Column>(few ? i : 0);
    u32 n = 0;
    usize n_bits = 0;
    const u32* name = Sink::wants_rows ? rows_.names(v) : rows_.rows_begin(v);  // these say nothing, but are copied
    rows_.each_place(rows_.rows_begin(v), rows_.rows_end(v), [&](u32 place) {
      keys[n] = few_after(place);
      n_bits += static_cast<usize>(__builtin_popcountll(keys[n]));
      kept[n] = place;
      names[n] = *name++;
      n += keys[n] != 0;
    });
    find_excluded(v, kept, n);
    const u32 n_excluded = static_cast<u32>(excluded_.size()), before = words_for(n_excluded);
    check_matrix(v, n, n_excluded, n_candidates);
    for (u32 i = 0; i < n_excluded; ++i) place_[excluded_[i]] = static_cast<Column>(i);
    for (u32 i = 0; i < n_candidates; ++i) place_[order_[i]] = static_cast<Column>(few ? i : 32 * before + i);
    stride_ = before + words_for(n_candidates);
    const auto write = [&](u32 i, u32* to) {
      const auto set = [&](Column c) {
        const u32 at = std::min(u32{place_[c]}, 32 * stride_);
        to[at / 32] |= 1u << at % 32;
      };
      if (n_excluded >= kFew || !few) std::fill(to, to + stride_ + 1, 0u);
      if (n_excluded >= kFew) rows_.each_before(kept[i], set);
      else if (n_excluded) put(to, few_before(kept[i]), before);
      if (few) put(to + before, keys[i], stride_ - before);
      else rows_.each_after(kept[i], set);
    };
    if (!Sink::wants_rows && few && kSparse * n_bits >= usize{n} * n_candidates) {
      begin_merging(before, n);
      for (u32 i = 0; i < n_excluded; ++i) closed_[i / 32] |= 1u << i % 32;
      for (u32 i = 0; i < n_candidates; ++i) open_[before + i / 32] |= 1u << i % 32;
      u32* const row = memory_.take(stride_ + 1);
      for (u32 i = 0; i < n; ++i) write(i, row), equal_.add(row, 1);
      take_merged();
    } else {
      u32* const rows = memory_.take(usize{n} * stride_ + 1);
      for (u32 i = 0; i < n; ++i) write(i, rows + usize{i} * stride_);
      take_matrix(rows, names, n, n_excluded);
    }
    for (u32 w : order_) place_[w] = kNowhere;
    for (u32 w : excluded_) place_[w] = kNowhere;
  }
  /// Bits of a row's columns by their places, fewer than 63.
  u64 few_after(u32 place) const {
    u64 bits = 0;
    rows_.each_after(place, [&](Column c) { bits |= u64{1} << place_[c] % 64; });
    return bits & ~(u64{1} << kFew);
  }
  u64 few_before(u32 place) const {
    u64 bits = 0;
    rows_.each_before(place, [&](Column c) { bits |= u64{1} << place_[c] % 64; });
    return bits & ~(u64{1} << kFew);
  }
  static void put(u32* to, u64 bits, u32 n_words) {
    to[0] = static_cast<u32>(bits);
    if (n_words > 1) to[1] = static_cast<u32>(bits >> 32);
  }
  /// Columns before v that share enough of these rows with it.
  void find_excluded(u32 v, const u32* kept, u32 n) {
    excluded_.clear();
    std::fill(count_.begin(), count_.begin() + v, 0u);
    u32* const count = count_.data();
    rows_.each_place(kept, kept + n, [&](u32 place) { rows_.each_before(place, [=](Column c) { ++count[c]; }); });
    each_counted(0, v, [&](u32 w) { excluded_.push_back(w); });
  }
  void take_matrix(u32* rows, u32* names, u32 n, u32 n_excluded) {
    tree_.wide = true;
    BitMatrix& m = tree_.matrix;
    m.n_rows = n;
    m.n_excluded = n_excluded, m.n_candidates = tree_.to;
    m.excluded_words = words_for(n_excluded), m.candidate_words = words_for(tree_.to);
    m.rows = rows;
    m.ids = tree_.ids;
    m.row_ids = names;
  }

  // ---- merged rows ------------------------------------------------------------------------------

  /// To be called before rows are added, with the first word that has a candidate.
  void begin_merging(u32 first, u32 n_rows) {
    own_ = memory_.take(usize{n_rows} * stride_);
    weights_ = memory_.take(n_rows);
    open_ = memory_.take(stride_);
    closed_ = memory_.take(stride_);
    std::fill(open_, open_ + stride_, 0u);
    std::fill(closed_, closed_ + stride_, 0u);
    equal_.begin(stride_, first, open_, n_rows, own_, weights_);
  }

  /// Lists of masks over merged rows.
  void take_merged() {
    const u32 n_rows = equal_.size();
    u32 bits[32] = {};
    for (u32 g = 0; g < n_rows; ++g)
      for (u32 w = weights_[g]; w; w &= w - 1) ++bits[first_set(w)];
    u32 depth = 0, k = 0, n_excluded = 0, n_candidates = 0;
    for (u32 n : bits) depth += words_for(n);
    merged_ = {};
    merged_.shifts = memory_.take(depth);
    u32* const rows = memory_.take(32 * usize{depth} * stride_);
    std::fill(rows, rows + 32 * usize{depth} * stride_, 0u);
    for (u32 shift = 32; shift-- > 0;) {
      if (!bits[shift]) continue;
      u32* to = rows + 32 * usize{k} * stride_;
      for (u32 w = words_for(bits[shift]); w; --w) merged_.shifts[k++] = shift;
      for (u32 g = 0; g < n_rows; ++g)
        if (weights_[g] >> shift & 1) to = std::copy(own_ + usize{g} * stride_, own_ + usize{g + 1} * stride_, to);
    }
    tree_.merged = &merged_;
    tree_.n_rows = 32 * depth;
    for (u32 w = 0; w < stride_; ++w) n_excluded += popcount(closed_[w]);
    tree_.excluded_stride = tall_stride(n_excluded);
    tree_.n_excluded = n_candidates = 0;
    tree_.excluded = memory_.take(usize{depth} * tree_.excluded_stride);
    tree_.candidates = memory_.take(usize{depth} * tall_stride(tree_.to));
    u32* const masks = memory_.take(32 * usize{depth});
    for (u32 w = 0; w < stride_; ++w) {
      if (closed_[w] | open_[w]) take_masks(rows + w, depth, masks);
      tree_.n_excluded += put_masks(masks, depth, closed_[w], tree_.excluded + tree_.n_excluded, tree_.excluded_stride);
      n_candidates += put_masks(masks, depth, open_[w], tree_.candidates + n_candidates, tall_stride(tree_.to));
    }
  }
  /// A word of rows of bits as masks of its columns, 32 rows a word.
  void take_masks(const u32* rows, u32 depth, u32* to) const {
    for (u32 k = 0; k < depth; ++k) store(to + 32 * k, column_masks_apart(rows + 32 * usize{k} * stride_, stride_, 32));
  }
  /// Writes those of the set bits that have enough rows; returns how many.
  u32 put_masks(const u32* masks, u32 depth, u32 wanted, u32* to, u32 to_stride) const {
    if (!wanted) return 0;
    Lanes sum = splat(0);
    for (u32 k = 0; k < depth; ++k) sum = sum + shift_left(popcounts(load(masks + 32 * k)), merged_.shifts[k]);
    const Flags kept = flags(wanted) & (sum >= splat(least_));
    for (u32 k = 0; k < depth; ++k) compact(to + usize{k} * to_stride, load(masks + 32 * k), kept);
    return popcount(ballot(kept));
  }
};

}  // namespace bicliq
