// butterfly_paths.hpp: butterflies on a device, path by path: all of them, and of each edge.
//
// Input: a `ButterflyRun`, written by kernels/cuda/butterflies.py: both sides of the graph as one,
// vertices by ascending degree (butterfly_lists.hpp); of each slot of a root u and a vertex v of
// lower rank, its *unit*: the paths u–v–w through it to a w of lower rank than u; and batches of
// roots. Other slots are units without a path.
//
// Method: that of butterfly.hpp. Every butterfly has one vertex of highest rank, its root; c paths
// from a root to the same w make C(c, 2) butterflies, and each of these paths lies in c - 1 of
// them. A thread takes a few paths that follow each other, wherever they lie: it seeks the unit of
// the first by bisection, and no thread has more to do than another, however uneven the degrees
// are. A root has a hash table of its own, of twice as many words as it can have ends w; the tables
// of a batch lie side by side. `count` counts paths at their ends: the k-th path to one finds k - 1
// before it, and the sum of these is the number of butterflies. `share` walks the same paths again
// and gives the two edges of each its c - 1. A vertex's count is half of the sum of its edges',
// since each butterfly has two edges at it; the host adds them up.
//
// Exactness: sums of integers, so neither the order of threads nor the cut into batches matters.
// Counts of an edge fit in 64 bits if edges × largest degree does, which the host sees to.
//
// Cost: sum over edges of the smaller degree. Memory: a batch's tables, which are bounded but for
// those of one root (two words for each vertex at most). Paper: BFC-VP (Wang et al., PVLDB 2019).
#pragma once

#include "lanes/hash.hpp"
#include "lanes/shared_words.hpp"

namespace bicliq {

constexpr u32 kPathsAThread = 8;      // their neighbours lie in one sector of memory
constexpr u32 kButterflyTotals = 1024;  // sums of two words, so that threads rarely meet at one

/// Everything the kernels are told; 64-bit fields only. kernels/cuda/butterflies.py describes it
/// again, for the driver, which writes it; a program where the two differ does not compile.
struct ButterflyRun {
  const u64* start;       // of each vertex's list; places are ranks
  const u32* adjacent;    // lists are ascending
  const u64* slots;       // of each: the owner of the list above the vertex
  const u64* first_path;  // of each slot's unit, and the number of all paths
  const u64* first_word;  // of each root's table, and the number of all words
  const u64 *batch_root, *batch_unit;  // where each batch begins, and the last one ends
  u64* table;             // of the roots of a batch; zeros
  u64* of_slot;           // what each edge lies in, as found from this end of it
  u64* totals;            // low and high words
};

/// The paths of one batch; every thread has its own.
class ButterflyPaths {
 public:
  ButterflyPaths(const ButterflyRun& run, u64 batch)
      : g_(run),
        end_unit_(run.batch_unit[batch + 1]),
        end_(run.first_path[end_unit_]),
        base_(run.first_word[run.batch_root[batch]]),
        unit_(run.batch_unit[batch]),
        first_(run.first_path[unit_]) {}

  /// Counts the paths at their ends, and adds the butterflies to the totals.
  void count(u64 thread, u64 n_threads) {
    u64 found = 0;
    each_path(thread, n_threads, [&](u64 b) { found += visit(g_.adjacent[b]); }, [] {});
    if (!found) return;
    u64* total = g_.totals + 2 * (thread % kButterflyTotals);
    const u64 before = add_alone(total, found);
    if (before + found < found) add_alone(total + 1, 1);
  }

  /// Gives the edges of the paths their butterflies; every path has been counted.
  void share(u64 thread, u64 n_threads) {
    u64 of_unit = 0;
    each_path(
        thread, n_threads,
        [&](u64 b) {
          const u64 others = paths_to(g_.adjacent[b]) - 1;
          if (others) add_alone(g_.of_slot + b, others);
          of_unit += others;
        },
        [&] {
          if (of_unit) add_alone(g_.of_slot + unit_, of_unit);
          of_unit = 0;
        });
  }

 private:
  /// f(b) for each path of this thread, where b is the slot of its second edge; `leave()` when the
  /// last one of a unit, or of the thread in it, has been.
  template <class F, class Leave>
  void each_path(u64 thread, u64 n_threads, F f, Leave leave) {
    for (u64 k = first_ + kPathsAThread * thread; k < end_; k += kPathsAThread * n_threads) {
      seek(k);
      const u64 end = k + kPathsAThread < end_ ? k + kPathsAThread : end_;
      for (u64 path = k; path < end;) {
        const u64 next = g_.first_path[unit_ + 1], upto = next < end ? next : end;
        open();
        for (; path < upto; ++path) f(list_ + path);
        leave();
        if (path < end && g_.first_path[++unit_ + 1] == path) seek(path);
      }
    }
  }
  /// Goes on to the unit of a path, which is that of the last one, or behind it.
  void seek(u64 path) {
    u64 low = unit_, high = end_unit_;
    while (high - low > 1) {
      const u64 middle = low + (high - low) / 2;
      if (g_.first_path[middle] <= path)
        low = middle;
      else
        high = middle;
    }
    unit_ = low;
  }
  void open() {
    const u64 root = g_.slots[unit_] >> 32;
    list_ = g_.start[g_.adjacent[unit_]] - g_.first_path[unit_];
    words_ = g_.table + (g_.first_word[root] - base_);
    n_words_ = g_.first_word[root + 1] - g_.first_word[root];
  }
  u64 place(u32 w) const { return (mix(w) >> 32) * n_words_ >> 32; }
  u64 after(u64 i) const { return i + 1 == n_words_ ? 0 : i + 1; }

  /// Counts a path to w; returns how many there were. A word has w above its number of paths, which
  /// is 1 or more, so that 0 is nobody's.
  u64 visit(u32 w) {
    for (u64 i = place(w);; i = after(i)) {
      u64 word = read_alone(words_ + i);
      if (word == 0) word = replace_alone(words_ + i, 0, static_cast<u64>(w) << 32 | 1);
      if (word == 0) return 0;
      if (word >> 32 == w) return add_alone(words_ + i, 1) & 0xffffffffull;
    }
  }
  u64 paths_to(u32 w) const {
    u64 i = place(w);
    while (words_[i] >> 32 != w) i = after(i);
    return words_[i] & 0xffffffffull;
  }

  const ButterflyRun& g_;
  const u64 end_unit_, end_, base_;
  u64 unit_;
  const u64 first_;
  u64 list_ = 0;  // that and the number of a path of the unit is the slot of its second edge
  u64* words_ = nullptr;
  u64 n_words_ = 0;
};

}  // namespace bicliq
