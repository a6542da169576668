// local_columns.hpp: what a root of a count sees: its rows, and the later vertices of its own side (columns) as
// masks over these rows.
//
// Columns with fewer than `least` rows in common with the root are left out; the others stand by ascending number
// of common rows (a counting sort), so that a search meets those with short lists first. Masks are word-major: word
// k of column j is `masks[k * stride + j]`, with 32 zero columns behind the last for whole-register reads.
// Time O(paths of length two from the root to later vertices), twice.
#pragma once

#include "bitmatrix.hpp"
#include "core.hpp"
#include "lanes.hpp"
#include "workspace.hpp"

#include <cstring>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The n lowest bits of a word, all 32 of them for more.
inline u32 low_bits(u32 n) { return n < 32 ? (1u << n) - 1 : ~0u; }

struct Columns {
  const u32* masks = nullptr;
  u32 n = 0, stride = 0, words = 0;
  u32 word(u32 k, u32 j) const { return masks[static_cast<std::size_t>(k) * stride + j]; }
};

class LocalColumns {
 public:
  LocalColumns(const CountSide& roots, const CountSide& rows)
      : roots_(roots), rows_(rows), common_(roots.n + 1, 0), seen_(roots.n + 1) {}

  /// Counts the rows that each later vertex shares with v; returns how many share at least `least`.
  u32 meet(u32 v, u32 least) {
    v_ = v;
    paths_ = 0;
    u32 n = 0;
    for (const u32* r = roots_.begin(v); r != roots_.end(v); ++r) {
      const u32 *last = rows_.end(*r) - 1, *w = last;
      for (const u32* first = rows_.begin(*r); w >= first && *w > v; --w) {
        seen_[n] = *w;
        n += common_[*w]++ == 0;
      }
      paths_ += static_cast<u64>(last - w);
    }
    u32 kept = 0;
    for (u32 i = 0; i < n; ++i) {
      const u32 w = seen_[i];
      if (common_[w] < least) {
        common_[w] = 0;
        continue;
      }
      seen_[kept++] = w;
    }
    n_seen_ = kept;
    return kept;
  }
  template <class F>
  void each_common(F f) const {
    for (u32 i = 0; i < n_seen_; ++i) f(seen_[i], common_[seen_[i]]);
  }
  /// Forgets the counts of `meet`.
  void forget() {
    for (u32 i = 0; i < n_seen_; ++i) common_[seen_[i]] = 0;
    n_seen_ = 0;
  }

  /// The masks of the columns that `meet` kept; forgets the counts. `ids` are their numbers.
  Columns fill(Workspace& memory) {
    Columns c;
    const u32 d = roots_.degree(v_);
    c.n = n_seen_;
    c.stride = (c.n + 32 + 31) / 32 * 32;
    c.words = words_for(d);
    sort_by_common(d);
    const std::size_t size = static_cast<std::size_t>(c.stride) * c.words;
    u32* masks = memory.take(size);
    std::memset(masks, 0, size * sizeof(u32));
    u32 i = 0;
    for (const u32* r = roots_.begin(v_); r != roots_.end(v_); ++r, ++i) {
      u32* to = masks + static_cast<std::size_t>(i / 32) * c.stride;
      const u32 bit = 1u << (i % 32);
      for (const u32 *w = rows_.end(*r) - 1, *first = rows_.begin(*r); w >= first && *w > v_; --w)
        if (common_[*w]) to[common_[*w] - 1] |= bit;
    }
    forget();
    c.masks = masks;
    return c;
  }
  const std::vector<u32>& ids() const { return ids_; }
  u32 vertex() const { return v_; }
  /// Paths of length two that `meet` walked.
  u64 paths() const { return paths_; }

 private:
  /// Puts the place of a column, from 1 on, where its count was.
  void sort_by_common(u32 d) {
    start_.assign(static_cast<std::size_t>(d) + 2, 0);
    for (u32 i = 0; i < n_seen_; ++i) ++start_[common_[seen_[i]] + 1];
    for (u32 k = 1; k < d + 2; ++k) start_[k] += start_[k - 1];
    ids_.resize(n_seen_);
    for (u32 i = 0; i < n_seen_; ++i) {
      const u32 w = seen_[i];
      const u32 place = start_[common_[w]]++;
      ids_[place] = w;
      common_[w] = place + 1;
    }
  }

  const CountSide &roots_, &rows_;
  std::vector<u32> common_, seen_, start_, ids_;
  u32 v_ = 0, n_seen_ = 0;
  u64 paths_ = 0;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
