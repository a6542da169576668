// device_roots.hpp: the roots of an enumeration on a GPU.
//
// What it finds: `build_heavy_roots` and `build_light_roots` the subtree of each root, with R of
// the root and its own biclique, cut into tasks.
//
// Input: a `Run` (device_run.hpp).
//
// Method: a block takes a root: a column before it that has all its rows ends it; the columns after
// it are counted by a pass over the lists of its rows, sorted by their number of rows, and written
// as masks over at most 32 rows or as a bit matrix. Roots with many edges within two steps get
// blocks of 1,024 threads, others of 64.
//
// Cost: O(edges within two steps) a root. Memory: four words a column for every block, and the
// subtrees in the arena.
#pragma once

#include "lanes/lanes.hpp"
#include "search/device/device_run.hpp"
#include "search/device/single_rows.hpp"

namespace bicliq {

constexpr u32 kExactBuckets = 1024, kBuckets = 1024 + 22 * 64;
/// Candidates are sorted by their number of rows; beyond 1,024 rows, numbers that differ by less
/// than a 64th may count as equal.
inline u32 bucket_of(u32 count) {
  if (count < kExactBuckets) return count;
  const u32 exponent = 31 - __clz(count);
  return kExactBuckets + (exponent - 10) * 64 + (count >> (exponent - 6) & 63);
}

/// What the threads of a block share while they build a root.
struct Shared {
  u64 least;  // the row with fewest columns before the root, below their number
  u64 hash, rows_hash;
  u64 sum;  // rows of all candidates; then the first task
  u32 place, n_touched, n_joined, n_candidates, n_excluded, n_rows;
  u32 reach;  // rows that some candidate has, where there are at most 32
  u32 *memory, *members;
  u32 histogram[kBuckets];
};

/// Builds the subtree of one root after the other; a block of threads.
///
/// A word of scratch for every column holds its *mark*: first the rows of the root that it has (a
/// mask where there are at most 32, else their number), later its place in the matrix.

class RootBuilder {
 public:
  RootBuilder(const Run& run, Shared& shared, u32* scratch)
      : g_(run), s_(shared), mark_(scratch), touched_(mark_ + run.n_columns), ids_(touched_ + run.n_columns),
        counts_(ids_ + run.n_columns), list_(counts_ + run.n_columns), limits_(run.limits()),
        needed_(limits_.min_rows > 2 ? limits_.min_rows : 2) {}

  Reported reported;  // by thread 0
  u64 nodes = 0, dropped = 0;

  /// Builds the subtree of a root, and reports its own biclique; false where memory has run out.
  bool root(u32 v) {
    v_ = v;
    rows_ = g_.column_rows + g_.column_start[v];
    places_ = g_.places + g_.column_start[v];
    d_ = g_.column_degree(v);
    if (d_ < needed_) return true;
    reset();
    if (covered()) {
      dropped += threadIdx.x == 0;
      return true;
    }
    count_candidates();
    if (g_.output && !keep_members()) return false;
    report();
    bool good = true;
    if (s_.n_candidates && promising())
      good = d_ <= kLanes ? narrow() : wide();
    else if (g_.output)
      good = emit(head(), 1, 1);
    forget();
    return good;
  }

 private:
  const Run& g_;
  Shared& s_;
  u32 *mark_, *touched_;  // marks; columns that have one
  u32 *ids_, *counts_;    // candidates, and their numbers of rows
  u32* list_;             // places of the rows that stay in the matrix
  const Limits limits_;
  const u32 needed_;
  u32 v_ = 0, d_ = 0;
  const u32 *rows_ = nullptr, *places_ = nullptr;
  static constexpr u32 kThreadsARow = 8;  // that read its list together

  void reset() {
    __syncthreads();
    for (u32 i = threadIdx.x; i < kBuckets; i += blockDim.x) s_.histogram[i] = 0;
    if (threadIdx.x == 0) {
      s_.least = ~0ull;
      s_.hash = s_.rows_hash = s_.sum = 0;
      s_.n_touched = s_.n_joined = s_.n_candidates = s_.n_excluded = s_.n_rows = s_.reach = 0;
    }
    __syncthreads();
  }

  // ---- twins

  /// Has a column before v all rows of v? Then all that is below v is found there. It would be in
  /// the list of the row with the fewest columns before v.
  bool covered() {
    u64 least = ~0ull;
    for (u32 i = threadIdx.x; i < d_; i += blockDim.x) {
      const u64 key = static_cast<u64>(places_[i]) << 32 | rows_[i];
      least = key < least ? key : least;
    }
    if (least != ~0ull) atomicMin(&s_.least, least);
    __syncthreads();
    const u32 n = static_cast<u32>(s_.least >> 32);
    const u32* excluded = g_.row_columns + g_.row_start[static_cast<u32>(s_.least)];
    int dead = 0;
    for (u32 i = threadIdx.x; i < n && !dead; i += blockDim.x) dead = includes(excluded[i]);
    return __syncthreads_or(dead);
  }
  /// Has column w all rows of the root?
  bool includes(u32 w) const {
    const u32 n = g_.column_degree(w);
    if (n < d_) return false;
    const u32 *own = g_.column_rows + g_.column_start[w], *end = own + n;
    for (u32 i = 0; i < d_; ++i) {
      while (own < end && *own < rows_[i]) ++own;
      if (end - own < d_ - i || *own != rows_[i]) return false;
      ++own;
    }
    return true;
  }

  // ---- columns in two steps

  /// Notes that column w has row i of the root.
  void touch(u32 w, u32 i) {
    const u32 was = d_ <= kLanes ? atomicOr(mark_ + w, 1u << i) : atomicAdd(mark_ + w, 1u);
    if (!was) touched_[atomicAdd(&s_.n_touched, 1u)] = w;
  }
  u32 count_of(u32 mark) const { return d_ <= kLanes ? popcount(mark) : mark; }

  /// f(w) for the columns of row i from place `first` to `end` of its list; for the threads of a
  /// row.
  template <class F>
  void each_column(u32 i, u32 first, u32 end, F f) const {
    const u32* columns = g_.row_columns + g_.row_start[rows_[i]];
    for (u32 k = first + threadIdx.x % kThreadsARow; k < end; k += kThreadsARow) f(columns[k]);
  }

  /// Marks the columns after the root; those that have all its rows join R, and those with enough
  /// of them are the candidates.
  void count_candidates() {
    for (u32 i = threadIdx.x / kThreadsARow; i < d_; i += blockDim.x / kThreadsARow)
      each_column(i, places_[i] + 1, g_.row_degree(rows_[i]), [&](u32 w) { touch(w, i); });
    __syncthreads();
    u32 joined = 0;
    u64 hash = 0, sum = 0;
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 w = touched_[i], count = count_of(__ldcg(mark_ + w));
      if (count == d_) {
        if (g_.output) ids_[atomicAdd(&s_.n_joined, 1u)] = w;
        ++joined;
        if (g_.column_hashes) hash += g_.column_hashes[w];
      } else if (count >= needed_) {
        atomicAdd(&s_.histogram[bucket_of(count)], 1u);
        sum += count;
      }
    }
    if (joined && !g_.output) atomicAdd(&s_.n_joined, joined);
    if (hash) atomicAdd(&s_.hash, hash);
    if (sum) atomicAdd(&s_.sum, sum);
    add_row_hashes();
    __syncthreads();
    if (threadIdx.x < kLanes) start_buckets();
    __syncthreads();
  }
  void add_row_hashes() {
    if (!g_.row_hashes) return;
    u64 hash = 0;
    for (u32 i = threadIdx.x; i < d_; i += blockDim.x) hash += g_.row_hashes[rows_[i]];
    if (hash) atomicAdd(&s_.rows_hash, hash);
  }
  /// Turns sizes of buckets into their first places (one warp); their sum is the number of
  /// candidates.
  void start_buckets() {
    const u32 n = start_each(s_.histogram, bucket_of(d_) + 1);
    if (lane_id() == 0) s_.n_candidates = n;
  }

  /// Lists R of the root in the arena: v and the columns that joined it.
  bool keep_members() {
    if (!reserve(padded(1 + s_.n_joined))) return false;
    for (u32 i = threadIdx.x; i < s_.n_joined; i += blockDim.x) s_.memory[1 + i] = ids_[i];
    if (threadIdx.x == 0) {
      s_.memory[0] = v_;
      s_.members = s_.memory;
    }
    __syncthreads();
    return true;
  }
  void report() {
    if (threadIdx.x != 0) return;
    ++nodes;
    if (g_.output) return;  // the warp that takes the root's first task writes it
    if (!limits_.accepts(d_, 1 + s_.n_joined)) return;
    reported.add(g_, [this] { return g_.hash_of(s_.rows_hash, s_.hash + g_.column_hashes[v_]); });
  }
  bool promising() const {
    return limits_.reached(d_, 1ull + s_.n_joined + s_.n_candidates);
  }
  /// Clears all marks.
  void forget() {
    __syncthreads();
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) __stcg(mark_ + touched_[i], 0u);
    __syncthreads();
  }

  // ---- subtrees

  /// Reserves memory for the whole block.
  bool reserve(u64 words) {
    if (threadIdx.x == 0) {
      s_.memory = g_.reserve(words);
      if (!s_.memory) g_.fail(Failure::kArenaFull);
    }
    __syncthreads();
    return s_.memory != nullptr;
  }
  /// A subtree with its root and R.
  Subtree head() const {
    Subtree tree;
    tree.root = v_;
    tree.members.n = 1 + s_.n_joined;
    if (g_.output) tree.members.ids = s_.members;
    if (g_.column_hashes) tree.members.hash = s_.hash + g_.column_hashes[v_];
    return tree;
  }

  /// The subtree of a root of at most 32 rows: masks.
  bool narrow() {
    const u32 n = s_.n_candidates;
    if (!reserve(2 * padded(n) + padded(d_))) return false;
    Pieces pieces = {s_.memory};
    Subtree tree = head();
    tree.candidates = pieces.take(n);
    tree.ids = pieces.take(n);
    tree.rows = pieces.take(d_);
    tree.n_rows = d_;
    tree.n_candidates = tree.to = n;
    place_masks(tree);
    for (u32 i = threadIdx.x; i < d_; i += blockDim.x) tree.rows[i] = rows_[i];
    forget();
    if (threadIdx.x == 0) s_.n_touched = 0;
    __syncthreads();
    for (u32 i = threadIdx.x / kThreadsARow; i < d_; i += blockDim.x / kThreadsARow)
      if (s_.reach >> i & 1) each_column(i, 0, places_[i], [&](u32 w) { touch(w, i); });
    __syncthreads();
    if (!reserve(padded(s_.n_touched))) return false;
    tree.excluded = s_.memory;
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 mask = __ldcg(mark_ + touched_[i]);
      if (popcount(mask) >= needed_) tree.excluded[atomicAdd(&s_.n_excluded, 1u)] = mask;
    }
    __syncthreads();
    tree.n_excluded = s_.n_excluded;
    return emit(tree, 1, 1);
  }
  /// Writes the candidates, by their number of rows.
  void place_masks(const Subtree& tree) {
    u32 reach = 0;
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 mask = __ldcg(mark_ + touched_[i]), count = popcount(mask);
      if (count == d_ || count < needed_) continue;
      const u32 at = atomicAdd(&s_.histogram[count], 1u);
      tree.candidates[at] = mask;
      tree.ids[at] = touched_[i];
      reach |= mask;
    }
    if (reach) atomicOr(&s_.reach, reach);
  }

  /// The subtree of a root of more rows: a matrix of the rows that have a candidate, and of the
  /// excluded columns that have at least two such rows.
  bool wide() {
    place_candidates();
    list_rows();
    place_excluded();
    BitMatrix m;
    m.n_rows = s_.n_rows;
    m.n_excluded = s_.n_excluded;
    m.n_candidates = s_.n_candidates;
    m.excluded_words = words_for(m.n_excluded);
    m.candidate_words = words_for(m.n_candidates);
    m.shared = true;
    if (!BitMatrix::can_search(m.n_rows, m.n_excluded, m.n_candidates)) {  // nor has any larger arena room for it
      if (threadIdx.x == 0) g_.fail(Failure::kArenaFull);
      return false;
    }
    const u64 row_words = static_cast<u64>(m.n_rows) * m.stride();
    const u64 column_words = static_cast<u64>(words_for(m.n_rows)) * m.column_stride();
    if (!reserve(padded(row_words) + padded(m.n_rows) + 2 * padded(m.column_stride()) + padded(column_words)))
      return false;
    Pieces pieces = {s_.memory};
    m.rows = pieces.take(row_words);
    m.columns = pieces.take(column_words);
    m.row_ids = pieces.take(m.n_rows);
    m.ids = pieces.take(m.column_stride());
    m.counts = pieces.take(m.column_stride());
    for (u64 i = threadIdx.x; i < row_words; i += blockDim.x) __stcg(m.rows + i, 0u);
    for (u64 i = threadIdx.x; i < column_words; i += blockDim.x) __stcg(m.columns + i, 0u);
    for (u32 i = threadIdx.x; i < m.column_stride(); i += blockDim.x) {
      m.ids[i] = i < m.n_candidates ? ids_[i] : 0;
      m.counts[i] = i < m.n_candidates ? counts_[i] : 0;
    }
    __syncthreads();
    fill(m);
    __syncthreads();
    Subtree tree = head();
    tree.wide = true;
    tree.matrix = m;
    const u64 words_a_child = s_.sum / m.n_candidates * m.stride() + 1;
    const u64 at_once = g_.task_words / words_a_child;
    return emit(tree, m.n_candidates, at_once < 1 ? 1 : at_once > 32 ? 32 : static_cast<u32>(at_once));
  }

  /// From here on a mark is the place of a candidate or an excluded column, plus one; or 0.
  void place_candidates() {
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 w = touched_[i], count = __ldcg(mark_ + w);
      u32 mark = 0;
      if (count != d_ && count >= needed_) {
        const u32 at = atomicAdd(&s_.histogram[bucket_of(count)], 1u);
        ids_[at] = w;
        counts_[at] = count;
        mark = at + 1;
      }
      __stcg(mark_ + w, mark);
    }
    __syncthreads();
  }
  /// Lists the rows that have a candidate.
  void list_rows() {
    for (u32 i = threadIdx.x; i < d_; i += blockDim.x) {
      const u32* columns = g_.row_columns + g_.row_start[rows_[i]];
      for (u32 k = g_.row_degree(rows_[i]); k-- > places_[i] + 1;)
        if (__ldcg(mark_ + columns[k])) {
          list_[atomicAdd(&s_.n_rows, 1u)] = i;
          break;
        }
    }
    __syncthreads();
  }
  /// Marks the columns before the root that have enough of these rows.
  void place_excluded() {
    const u32 after = s_.n_touched;
    __syncthreads();
    for (u32 i = threadIdx.x / kThreadsARow; i < s_.n_rows; i += blockDim.x / kThreadsARow)
      each_column(list_[i], 0, places_[list_[i]], [&](u32 w) { touch(w, 0); });
    __syncthreads();
    for (u32 i = after + threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 w = touched_[i];
      __stcg(mark_ + w, __ldcg(mark_ + w) >= needed_ ? atomicAdd(&s_.n_excluded, 1u) + 1 : 0);
    }
    __syncthreads();
  }
  /// Sets the bits of the matrix, which is all zero.
  void fill(const BitMatrix& m) {
    for (u32 i = threadIdx.x / kThreadsARow; i < m.n_rows; i += blockDim.x / kThreadsARow) {
      const u32 k = list_[i], place = places_[k];
      u32 *excluded = m.row(i), *candidates = excluded + m.excluded_words;
      u32* columns = m.columns + static_cast<u64>(i / 32) * m.column_stride();
      m.row_ids[i] = rows_[k];
      each_column(k, 0, place, [&](u32 w) {
        const u32 at = __ldcg(mark_ + w) - 1;
        if (at != ~0u) atomicOr(excluded + at / 32, 1u << at % 32);
      });
      each_column(k, place + 1, g_.row_degree(rows_[k]), [&](u32 w) {
        const u32 at = __ldcg(mark_ + w) - 1;
        if (at == ~0u) return;
        atomicOr(candidates + at / 32, 1u << at % 32);
        atomicOr(columns + at, 1u << i % 32);
      });
    }
  }

  /// Adds the subtree, and a task for every `at_once` of its n candidates; false where there is no
  /// room.
  bool emit(const Subtree& tree, u32 n, u32 at_once) {
    const u32 n_tasks = (n + at_once - 1) / at_once;
    __syncthreads();
    if (threadIdx.x == 0) {
      s_.place = static_cast<u32>(atomicAdd(&g_.counters->n_subtrees, 1ull));
      s_.sum = atomicAdd(&g_.counters->n_tasks, static_cast<u64>(n_tasks));
      if (s_.sum + n_tasks > g_.task_capacity || s_.place >= g_.subtree_capacity) {
        s_.n_rows = ~0u;
        g_.fail(Failure::kTasksFull);
      } else {
        g_.subtrees[s_.place] = tree;
      }
    }
    __syncthreads();
    if (s_.n_rows == ~0u) return false;
    for (u32 i = threadIdx.x; i < n_tasks; i += blockDim.x)  // the last candidates, with most rows, come first
      g_.tasks[s_.sum + n_tasks - 1 - i] = {s_.place, i * at_once, i + 1 < n_tasks ? (i + 1) * at_once : n};
    return true;
  }
};

/// What a block does: takes roots from a counter until none is left.
inline void build(const Run* run, const u32* roots, u64 n_roots, u64* next, u32 first_block) {
  __shared__ Shared shared;
  __shared__ u64 taken;
  const u64 scratch_words = kScratchWordsAColumn * run->n_columns + run->max_degree;
  RootBuilder builder(*run, shared, run->scratch + (first_block + blockIdx.x) * scratch_words);
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = volatile_load(&run->counters->stop) ? n_roots : atomicAdd(next, 1ull);
    __syncthreads();
    if (taken >= n_roots || !builder.root(roots[taken])) break;
  }
  if (threadIdx.x != 0) return;
  builder.reported.publish(run->counters);
  atomicAdd(&run->counters->nodes, builder.nodes);
  atomicAdd(&run->counters->dropped, builder.dropped);
}

/// Roots with many edges within two steps, which come first in `roots`.
extern "C" __global__ void __launch_bounds__(kHeavyThreads, 1) build_heavy_roots(const Run* run) {
  build(run, run->roots, run->n_heavy, &run->counters->next_heavy, 0);
}
/// All others, with the scratch behind that of the large blocks.
extern "C" __global__ void __launch_bounds__(kLightThreads, 16) build_light_roots(const Run* run, u32 first_block) {
  build(run, run->roots + run->n_heavy, run->n_light, &run->counters->next_light, first_block);
}

}  // namespace bicliq
