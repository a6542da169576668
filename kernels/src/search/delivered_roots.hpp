// delivered_roots.hpp: the subtree of a root straight from short rows, where no row is ever named.
//
// What: as roots.hpp, for many rows and few columns. Method ("occurrence deliver", LCM: Uno,
// Kiyomi, Arimura 2004): the rows of the root are read once to count what each other column shares
// with it, which says who is a candidate and who is excluded, and once more to write the bits that
// they have for these. The root of a dense table becomes a tall node of merged rows, any other a
// bit matrix. Cost: O(edges in two steps of the root). Memory: two words a column, and the subtree.
#pragma once

#include "search/roots.hpp"
#include "search/short_rows.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

template <class Sink>
class DeliveredRoots {
 public:
  DeliveredRoots(const ShortRows& rows, u32 least, Sink& sink) : rows_(rows), least_(least), sink_(sink), count_(rows.size()), place_(rows.size()) {}

  u64 nodes = 0, dropped = 0;
  std::size_t workspace_bytes() const { return memory_.bytes(); }

  /// Reports the root's own biclique; false where nothing is left to search below it.
  bool open(u32 v) {
    memory_.release({});
    tree_ = Subtree();
    tree_.root = v;
    sink_.root(v);
    count_shared(v);
    joined_.clear();
    excluded_.clear();
    order_.clear();
    join(v);
    const u32 degree = rows_.degree(v);
    for (u32 w = 0; w < rows_.size(); ++w) {
      if (count_[w] < least_ || w == v) continue;
      if (w > v && count_[w] < degree) order_.push_back(u64{count_[w]} << 32 | w);
      else if (w > v) join(w);
      else if (count_[w] < degree) excluded_.push_back(w);
      else return ++dropped, false;
    }
    ++nodes;
    sink_.found(nullptr, degree, members());
    if (order_.empty()) return false;
    deliver(v);
    if (rows_.merged()) take_merged();
    else take_matrix();
    return true;
  }
  /// The subtree of the root that `open` was asked for; valid until it is asked for the next.
  const Subtree& tree() const { return tree_; }

 private:
  using Column = ShortRows::Column;
  /// The bits of the rows, those of excluded columns first.
  struct Delivered {
    u32 *rows = nullptr, *weights = nullptr, *ids = nullptr;  // of the candidates: numbers of the columns
    u32 n = 0, excluded_words = 0, stride = 0;
  };
  static constexpr u32 kLeftOut = 63;  // where in a word of 64 bits other columns go

  const ShortRows& rows_;
  const u32 least_;
  Sink& sink_;
  Workspace memory_;
  std::vector<u32> count_;  // rows that each column shares with the root
  std::vector<u32> place_;  // which bit of a row it is
  std::vector<u64> order_;  // candidates: number of rows, then column
  std::vector<u32> joined_, excluded_, slots_;
  Delivered own_;
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

  void count_shared(u32 v) {
    std::fill(count_.begin(), count_.end(), 0u);
    u32* const count = count_.data();
    rows_.each_of(rows_.rows_begin(v), rows_.rows_end(v), [&](u32 r) {
      const u32 weight = rows_.merged() ? rows_.weight(r) : 1;
      for (const Column* c = rows_.begin(r); c < rows_.end(r); ++c) count[*c] += weight;
    });
  }

  /// Writes the bits of all rows that have a candidate.
  void deliver(u32 v) {
    std::sort(order_.begin(), order_.end());
    const u32 n_excluded = static_cast<u32>(excluded_.size()), n_candidates = static_cast<u32>(order_.size());
    const u32 n_rows = static_cast<u32>(rows_.rows_end(v) - rows_.rows_begin(v));
    check_matrix(v, n_rows, n_excluded, n_candidates);
    own_ = {};
    own_.excluded_words = words_for(n_excluded);
    own_.stride = own_.excluded_words + words_for(n_candidates);
    own_.rows = memory_.take(usize{n_rows} * own_.stride);
    own_.ids = memory_.take(32 * usize{words_for(n_candidates)});
    if (rows_.merged()) own_.weights = memory_.take(n_rows);
    const bool few = n_excluded <= kLeftOut && n_candidates <= kLeftOut;
    std::fill(place_.begin(), place_.end(), few ? kLeftOut : 32 * own_.stride);
    for (u32 i = 0; i < n_excluded; ++i) place_[excluded_[i]] = i;
    for (u32 i = 0; i < n_candidates; ++i) {
      own_.ids[i] = static_cast<u32>(order_[i]);
      place_[own_.ids[i]] = few ? i : 32 * own_.excluded_words + i;
    }
    rows_.each_of(rows_.rows_begin(v), rows_.rows_end(v), [&](u32 r) {
      if (!(few ? put_few(r, v) : put_many(r, v))) return;
      if (own_.weights) own_.weights[own_.n] = rows_.weight(r);
      ++own_.n;
    });
  }
  /// Writes the bits of a row behind the others; false where it has no candidate. Candidates come
  /// first, from the end.
  bool put_few(u32 r, u32 v) {
    const u32* const place = place_.data();
    u64 candidates = 0, excluded = 0;
    const Column* c = rows_.end(r);
    while (*--c != v) candidates |= u64{1} << place[*c];
    candidates &= ~(u64{1} << kLeftOut);
    if (!candidates) return false;
    u32* const to = own_.rows + usize{own_.n} * own_.stride;
    if (own_.excluded_words) {
      while (c-- > rows_.begin(r)) excluded |= u64{1} << place[*c];
      put(to, excluded & ~(u64{1} << kLeftOut), own_.excluded_words);
    }
    put(to + own_.excluded_words, candidates, own_.stride - own_.excluded_words);
    return true;
  }
  static void put(u32* to, u64 bits, u32 n_words) {
    to[0] = static_cast<u32>(bits);
    if (n_words > 1) to[1] = static_cast<u32>(bits >> 32);
  }
  bool put_many(u32 r, u32 v) {
    u32* const to = own_.rows + usize{own_.n} * own_.stride;
    for (u32 w = 0; w <= own_.stride; ++w) to[w] = 0;
    const auto set = [&](u32 column) { to[place_[column] / 32] |= 1u << place_[column] % 32; };
    const Column* c = rows_.end(r);
    while (*--c != v) set(*c);
    u32 some = 0;
    for (u32 w = own_.excluded_words; w < own_.stride; ++w) some |= to[w];
    if (!some) return false;
    while (c-- > rows_.begin(r)) set(*c);
    return true;
  }

  void take_matrix() {
    tree_.wide = true;
    tree_.to = static_cast<u32>(order_.size());
    BitMatrix& m = tree_.matrix;
    m.n_rows = own_.n;
    m.n_excluded = static_cast<u32>(excluded_.size()), m.n_candidates = tree_.to;
    m.excluded_words = own_.excluded_words, m.candidate_words = own_.stride - own_.excluded_words;
    m.rows = own_.rows;
    m.ids = own_.ids;
    m.row_ids = memory_.take(own_.n);  // of no use, but copied
    std::fill(m.row_ids, m.row_ids + own_.n, 0u);
  }

  // ---- merged rows ------------------------------------------------------------------------------

  /// Lists of masks over merged rows: rows with the same candidates are one, which has what all of
  /// them have.
  void take_merged() {
    merge_equal(own_);
    const Delivered& own = own_;
    u32 bits[32] = {};
    for (u32 g = 0; g < own.n; ++g)
      for (u32 w = own.weights[g]; w; w &= w - 1) ++bits[first_set(w)];
    u32 depth = 0, k = 0;
    for (u32 n : bits) depth += words_for(n);
    merged_ = {};
    merged_.shifts = memory_.take(depth);
    u32* const rows = memory_.take(32 * usize{depth} * own.stride);
    std::fill(rows, rows + 32 * usize{depth} * own.stride, 0u);
    for (u32 shift = 32; shift-- > 0;) {
      if (!bits[shift]) continue;
      u32* to = rows + 32 * usize{k} * own.stride;
      for (u32 w = words_for(bits[shift]); w; --w) merged_.shifts[k++] = shift;
      for (u32 g = 0; g < own.n; ++g)
        if (own.weights[g] >> shift & 1) to = std::copy(own.rows + usize{g} * own.stride, own.rows + usize{g + 1} * own.stride, to);
    }
    tree_.merged = &merged_;
    tree_.n_rows = 32 * depth;
    tree_.n_candidates = tree_.to = static_cast<u32>(order_.size());
    tree_.n_excluded = static_cast<u32>(excluded_.size());
    tree_.ids = own.ids;
    tree_.excluded_stride = tall_stride(tree_.n_excluded);
    tree_.excluded = masks(rows, own.stride, own.excluded_words, depth, tree_.excluded_stride);
    tree_.candidates = masks(rows + own.excluded_words, own.stride, own.stride - own.excluded_words, depth, tall_stride(tree_.n_candidates));
  }
  /// Moves the first row of each group to the front, with what all of the group have.
  void merge_equal(Delivered& own) {
    u32 size = 64, n = 0;
    while (size < 2 * own.n) size *= 2;
    slots_.assign(size, ~0u);
    for (u32 i = 0; i < own.n; ++i) {
      u32* const row = own.rows + usize{i} * own.stride;
      u32 at = hash_of(row + own.excluded_words, row + own.stride) & (size - 1);
      const auto same = [&](u32 g) {
        return std::equal(row + own.excluded_words, row + own.stride, own.rows + usize{g} * own.stride + own.excluded_words);
      };
      while (slots_[at] != ~0u && !same(slots_[at])) at = (at + 1) & (size - 1);
      if (slots_[at] != ~0u) {
        u32* const to = own.rows + usize{slots_[at]} * own.stride;
        for (u32 w = 0; w < own.excluded_words; ++w) to[w] &= row[w];
        own.weights[slots_[at]] += own.weights[i];
      } else {
        std::copy(row, row + own.stride, own.rows + usize{n} * own.stride);
        own.weights[n] = own.weights[i];
        slots_[at] = n++;
      }
    }
    own.n = n;
  }
  static u32 hash_of(const u32* word, const u32* last) {
    u64 sum = 0;
    for (; word < last; ++word) sum = (sum ^ *word) * 0x9e3779b97f4a7c15ull, sum ^= sum >> 32;
    return static_cast<u32>(sum);
  }
  /// Columns of rows of bits as masks, 32 rows a word.
  u32* masks(const u32* rows, u32 stride, u32 n_words, u32 depth, u32 to_stride) {
    u32* const to = memory_.take(usize{depth} * to_stride);
    for (u32 k = 0; k < depth; ++k)
      for (u32 w = 0; w < n_words; ++w)
        store(to + usize{k} * to_stride + 32 * w, column_masks_apart(rows + 32 * usize{k} * stride + w, stride, 32));
    return to;
  }
};

}  // namespace bicliq
