// local_columns.hpp: what a root of a count sees: its rows, and the later vertices of its own side
// (columns) as masks over these rows.
//
// Columns with fewer than `least` rows in common with the root are left out; the others stand by
// ascending number of common rows (a counting sort), so that a search meets those with short lists
// first. Masks are word-major: word k of column j is `masks[k * stride + j]`, with 32 zero columns
// behind the last for whole-register reads. A root of at most 32 rows (nearly all) collects the
// masks themselves in one walk, a larger one counts first and walks again. Time O(paths of length
// two from the root to later vertices), once or twice.
#pragma once

#include "lanes/types.hpp"
#include "lanes/bitmatrix.hpp"
#include "graphs/counting_core.hpp"
#include "lanes/lanes.hpp"
#include "lanes/memory.hpp"

#include <algorithm>
#include <cstring>

namespace bicliq {

// ---- The size of a search tree, from a few random ways down.
//
// At every node one child is drawn, and all that is met below it counts by the inverse of the
// child's chance; so the sum of one way is right on average, whatever the chances are. A way costs
// as many nodes as the tree is deep, however large the tree. The search says only where weights
// change (`weigh`): its own counter of work runs on as ever.
//
// Paper: Knuth, Estimating the efficiency of backtrack programs, 1975.

class RandomWays {
 public:
  /// Is a child to be drawn, instead of all being searched?
  bool on() const { return on_; }
  void begin(u64 seed, u64 work) {
    on_ = true;
    random_ = seed * 0x9E3779B97F4A7C15u;
    sum_ = 0;
    weight_ = 1;
    before_ = work;
  }
  /// The sum of all ways; `work` is the search's own counter, here and elsewhere.
  double end(u64 work) {
    weigh(1, work);
    on_ = false;
    return sum_;
  }
  /// From now on, work counts so many times.
  void weigh(double weight, u64 work) {
    sum_ += weight_ * static_cast<double>(work - before_);
    before_ = work;
    weight_ = weight;
  }
  double weight() const { return weight_; }
  /// Uniform in [0, 1).
  double draw() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(random_ >> 11) / static_cast<double>(u64{1} << 53);
  }

 private:
  bool on_ = false;
  u64 random_ = 0, before_ = 0;
  double sum_ = 0, weight_ = 1;
};

struct Columns {
  const u32* masks = nullptr;
  u32 n = 0, stride = 0, words = 0;
  u32 word(u32 k, u32 j) const { return masks[static_cast<std::size_t>(k) * stride + j]; }
};

class LocalColumns {
 public:
  LocalColumns(const CountSide& roots, const CountSide& rows)
      : roots_(roots), rows_(rows), met_(roots.n + 1, 0), seen_(roots.n + 1) {}

  /// Finds the rows that each later vertex shares with v; returns how many vertices share at least
  /// `least`.
  u32 meet(u32 v, u32 least) {
    v_ = v;
    is_narrow_ = roots_.degree(v) <= kLanes;
    const u32 n = is_narrow_ ? walk<true>(least) : walk<false>(least);
    u32 kept = 0;
    for (u32 i = 0; i < n; ++i) {
      const u32 w = seen_[i];
      if (shared(w) < least) {
        met_[w] = 0;
        continue;
      }
      seen_[kept++] = w;
    }
    n_seen_ = kept;
    return kept;
  }
  template <class F>
  void each_common(F f) const {
    for (u32 i = 0; i < n_seen_; ++i) f(seen_[i], shared(seen_[i]));
  }
  /// Forgets what `meet` found.
  void forget() {
    for (u32 i = 0; i < n_seen_; ++i) met_[seen_[i]] = 0;
    n_seen_ = 0;
  }

  /// The masks of the columns that `meet` kept; forgets them. `ids` are their numbers.
  Columns fill(Workspace& memory) {
    Columns c;
    const u32 d = roots_.degree(v_);
    c.n = n_seen_;
    c.stride = (c.n + 32 + 31) / 32 * 32;
    c.words = words_for(d);
    const std::size_t size = static_cast<std::size_t>(c.stride) * c.words;
    u32* masks = memory.take(size);
    std::memset(masks, 0, size * sizeof(u32));
    sort_by_shared(d, masks);
    if (is_narrow_)
      paths_ = 0;
    else
      walk_again(c, masks);
    forget();
    c.masks = masks;
    return c;
  }
  const std::vector<u32>& ids() const { return ids_; }
  u32 vertex() const { return v_; }
  /// Paths of length two that the last call of `meet` or `fill` walked.
  u64 paths() const { return paths_; }

 private:
  u32 shared(u32 w) const { return is_narrow_ ? popcount(met_[w]) : met_[w]; }

  /// Collects masks, or counts. Who is not met before the last `least` - 1 rows cannot come to
  /// `least` and is left alone.
  template <bool kMasks>
  u32 walk(u32 least) {
    const u32 *begin = roots_.begin(v_), *end = roots_.end(v_), *last_new = end - std::min(roots_.degree(v_), least - 1);
    u32 n = 0, bit = 1;
    paths_ = 0;
    for (const u32* r = begin; r != end; ++r, bit <<= 1) {
      const u32 *last = rows_.end(*r) - 1, *first = rows_.begin(*r), *w = last;
      if (r < last_new)
        for (; w >= first && *w > v_; --w) {
          seen_[n] = *w;
          const u32 met = met_[*w];
          n += met == 0;
          met_[*w] = kMasks ? met | bit : met + 1;
        }
      else
        for (; w >= first && *w > v_; --w) {  // without a branch, which nobody could foretell
          const u32 met = met_[*w];
          met_[*w] = kMasks ? met | (met ? bit : 0) : met + (met != 0);
        }
      paths_ += static_cast<u64>(last - w);
    }
    return n;
  }
  /// Gives each column its place, and where masks were collected writes them there; else the place,
  /// from 1 on, stands where the count was.
  void sort_by_shared(u32 d, u32* masks) {
    start_.assign(static_cast<std::size_t>(d) + 2, 0);
    for (u32 i = 0; i < n_seen_; ++i) ++start_[shared(seen_[i]) + 1];
    for (u32 k = 1; k < d + 2; ++k) start_[k] += start_[k - 1];
    ids_.resize(n_seen_);
    for (u32 i = 0; i < n_seen_; ++i) {
      const u32 w = seen_[i], place = start_[shared(w)]++;
      ids_[place] = w;
      if (is_narrow_)
        masks[place] = met_[w];
      else
        met_[w] = place + 1;
    }
  }
  void walk_again(const Columns& c, u32* masks) const {
    u32 i = 0;
    for (const u32* r = roots_.begin(v_); r != roots_.end(v_); ++r, ++i) {
      u32* to = masks + static_cast<std::size_t>(i / 32) * c.stride;
      const u32 bit = 1u << (i % 32);
      for (const u32 *w = rows_.end(*r) - 1, *first = rows_.begin(*r); w >= first && *w > v_; --w)
        if (met_[*w]) to[met_[*w] - 1] |= bit;
    }
  }

  const CountSide &roots_, &rows_;
  std::vector<u32> met_, seen_, start_, ids_;  // met_: masks or counts of shared rows, zero outside of a root
  u32 v_ = 0, n_seen_ = 0;
  u64 paths_ = 0;
  bool is_narrow_ = false;
};

}  // namespace bicliq
