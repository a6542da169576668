// levels.cu: (p,q)-bicliques on a GPU, by levels. The search is that of pq.hpp, with a warp as the
// group of 32 lanes.
//
// What it finds: the number of complete p×q subgraphs below given roots, exactly, as sums of 128
// bits. A root lies on the side that holds p vertices, its *columns* are later vertices of that
// side, and its *rows* are its neighbours.
//
// Input: a `CountRun`, written by kernels/cuda/counting.py: both adjacency lists of the core in
// search order, tables of binomials, the subsets of small sets as words, and blocks of memory.
//
// Method: `count_roots`, a block a root, counts the rows that each later vertex shares with the
// root, and writes those with enough of them as masks into the arena: a node, with a task for each
// column that may be chosen next. Then comes a *wave* of `count_wave` for each further vertex but
// the last: a warp takes a task (a node and a column) and makes the node of the columns that are
// left. If that has more than 32 columns or 32 rows, it becomes tasks of the next wave, so that no
// warp is kept by a large one. A smaller one is finished in registers: lane j holds column j, and
// lane r of the transpose row r, so that a node is two words, the columns that may still be chosen
// and the rows that are left. A node ends where there are few subsets of columns, or of rows, to
// choose (pq.hpp): each lane takes a subset.
//
// Exactness: no count depends on capacities. Where the arena or the tasks do not suffice the run
// fails as a whole, and the host repeats it with half of the roots. Sums are per lane, with a carry
// into a second word.
//
// Cost: the nodes of pq.hpp, 32 columns at a time. Memory: the nodes of all waves, in the arena.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "counting/sizes.hpp"
#include "lanes/lanes.hpp"
#include "lanes/errors.hpp"

namespace bicliq {

constexpr u32 kRootThreads = 256, kWaveThreads = 128;
constexpr u32 kMostWaves = 64, kBuckets = 1024;
constexpr u32 kSmall = 33;                              // tables of binomials have C(n, k) for n and k below
constexpr u32 kFewSubsets = 256, kMostSubsets = 1024;  // that end a node with 3 more to choose, and with more than 3
constexpr u64 kNodesALook = 4095;                       // between two looks at whether a run has failed, less one
constexpr u32 kPlaced = 0x80000000u;                    // a word of scratch with this bit holds a column's place

// kernels/cuda/counting.py describes these structs and numbers again, for the driver, which writes
// and reads them; a program where the two differ does not compile.

struct CountTask {
  u32 node, column;
};
struct CountCounters {
  u64 next_root, arena_used, n_nodes, n_tasks;
  u64 failure;    // a `Failure`
  u64 too_large;  // a sum has passed 2^128
  u64 work;
  u64 next_task[kMostWaves], end_of_wave[kMostWaves + 1];
};

/// Everything a kernel is told; 64-bit fields only.
struct CountRun {
  const u64 *root_start, *row_start;
  const u32 *root_rows, *row_roots, *roots;
  u32 *scratch, *arena;
  CountNode* nodes;
  CountTask* tasks;
  u32* workspace;
  u64* totals;                                    // low and high word of each warp's sum
  const u64 *table_low, *table_high;              // C(number of rows, q); all ones: it does not fit
  const u32 *binomials, *subsets, *first_subset;  // [n][k]; k-subsets of n things as words; where those of [n][k] begin
  CountCounters* counters;
  u64 n_vertices, n_roots, p, q, arena_words, node_capacity, task_capacity, workspace_words;
  u64 grids;  // 1: roots become grids for pivots (pivot_waves.hpp), without tasks; 2: with their vertices

  void fail(Failure why) const { atomicExch(&counters->failure, static_cast<u64>(why)); }
  bool failed() const { return *static_cast<const volatile u64*>(&counters->failure) != 0; }
};

/// The sum of one lane.
struct LaneSum {
  u64 low = 0, high = 0;
  void add(u64 x) {
    low += x;
    high += low < x;
  }
  /// True where 2^128 is passed.
  bool add(u64 x_low, u64 x_high) {
    low += x_low;
    const u64 carry = low < x_low, upper = high + x_high;
    const bool passed = upper < high;
    high = upper + carry;
    return passed || high < carry;
  }
};

/// Adds C(rows, q) for a lane's number of rows; a sum that does not fit raises the flag.
inline void add_choices(const CountRun& g, LaneSum& sum, u32 rows) {
  const u64 low = g.table_low[rows], high = g.table_high[rows];
  if (sum.add(low, high) || (low & high) == ~0ull) atomicExch(&g.counters->too_large, 1ull);
}

/// Adds the sums of a warp to its place among the totals.
inline void add_to_totals(const CountRun& g, LaneSum sum, u32 warp) {
  for (u32 step = 16; step; step /= 2) {
    const u64 low = __shfl_xor_sync(~0u, sum.low, step), high = __shfl_xor_sync(~0u, sum.high, step);
    if (sum.add(low, high)) atomicExch(&g.counters->too_large, 1ull);
  }
  if (lane_id() != 0) return;
  LaneSum all{g.totals[2 * warp], g.totals[2 * warp + 1]};
  if (all.add(sum.low, sum.high)) atomicExch(&g.counters->too_large, 1ull);
  g.totals[2 * warp] = all.low;
  g.totals[2 * warp + 1] = all.high;
}

// ---- roots --------------------------------------------------------------------------------------

struct SharedRoot {
  u64 root, masks, tasks;
  u32 node, n_touched, n;
  bool stored;
  u32 histogram[kBuckets];
};

/// Counts below one root after the other, or makes the first node below it; a block of threads.
class CountRoots {
 public:
  CountRoots(const CountRun& run, SharedRoot& shared, u32* scratch)
      : g_(run), s_(shared), counts_(scratch), touched_(scratch + run.n_vertices) {}

  LaneSum sum;

  void root(u32 v) {
    v_ = v;
    rows_ = g_.root_rows + g_.root_start[v];
    d_ = static_cast<u32>(g_.root_start[v + 1] - g_.root_start[v]);
    for (u32 i = threadIdx.x; i < kBuckets; i += blockDim.x) s_.histogram[i] = 0;
    if (threadIdx.x == 0) s_.n_touched = 0;
    __syncthreads();
    each_later([&](u32 w, u32) {
      if (!atomicAdd(counts_ + w, 1u)) touched_[atomicAdd(&s_.n_touched, 1u)] = w;
    });
    __syncthreads();
    each_kept([&](u32, u32 count) {
      if (g_.p == 2 && g_.grids < 2) add_choices(g_, sum, count);
      atomicAdd(&s_.histogram[bucket(count)], 1u);
    });
    __syncthreads();
    if (threadIdx.x < kLanes) start_buckets();
    __syncthreads();
    if ((g_.p > 2 || g_.grids == 2) && s_.n + 1 >= g_.p) write_node();
    __syncthreads();
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) __stcg(counts_ + touched_[i], 0u);
    __syncthreads();
  }

 private:
  static u32 bucket(u32 count) { return count < kBuckets ? count : kBuckets - 1; }

  /// f(w, i) for every vertex w after the root in the list of its row i; a warp takes a row, from
  /// its end.
  template <class F>
  void each_later(F f) const {
    for (u32 i = threadIdx.x / kLanes; i < d_; i += blockDim.x / kLanes) {
      const u32* list = g_.row_roots + g_.row_start[rows_[i]];
      for (i64 e = static_cast<i64>(g_.row_start[rows_[i] + 1] - g_.row_start[rows_[i]]) - 1 - lane_id();
           e >= 0 && list[e] > v_; e -= kLanes)
        f(list[e], i);
    }
  }
  /// f(w, count) for the vertices that share enough rows with the root.
  template <class F>
  void each_kept(F f) const {
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 count = __ldcg(counts_ + touched_[i]);
      if (count >= g_.q) f(touched_[i], count);
    }
  }
  /// Turns sizes of buckets into their first places (one warp); their sum is the number of columns.
  void start_buckets() {
    const u32 n = start_each(s_.histogram, bucket(d_) + 1);
    if (lane_id() == 0) s_.n = n;
  }

  /// Writes the node below the root, and a task for each of its columns that may be chosen next; or
  /// its grid.
  void write_node() {
    const u32 n = s_.n, need = g_.grids ? d_ : static_cast<u32>(g_.p) - 1, words = words_of(d_), stride = stride_of(n);
    const u64 own = static_cast<u64>(words) * stride, n_tasks = g_.grids ? 0 : n - need + 1;
    const u64 both = own + (g_.grids ? static_cast<u64>(words_of(n)) * stride_of(d_) : 0);
    const u64 size = both + (g_.grids == 2 ? static_cast<u64>(n) + d_ + 1 : 0);
    if (threadIdx.x == 0) {
      s_.masks = atomicAdd(&g_.counters->arena_used, size);
      s_.node = static_cast<u32>(atomicAdd(&g_.counters->n_nodes, 1ull));
      s_.tasks = atomicAdd(&g_.counters->n_tasks, n_tasks);
      s_.stored = false;
      if (s_.masks + size > g_.arena_words)
        g_.fail(Failure::kArenaFull);
      else if (s_.node >= g_.node_capacity || s_.tasks + n_tasks > g_.task_capacity)
        g_.fail(Failure::kTasksFull);
      else
        s_.stored = true;
      if (s_.stored) g_.nodes[s_.node] = {s_.masks, n, stride, words, need};
    }
    __syncthreads();
    if (!s_.stored) return;
    u32* masks = g_.arena + s_.masks;
    for (u64 i = threadIdx.x; i < own; i += blockDim.x) __stcg(masks + i, 0u);
    for (u64 i = threadIdx.x; i < n_tasks; i += blockDim.x) g_.tasks[s_.tasks + i] = {s_.node, static_cast<u32>(i)};
    u32* ids = g_.grids == 2 ? masks + both : nullptr;  // of columns, rows, and the root
    each_kept([&](u32 w, u32 count) {
      const u32 place = atomicAdd(&s_.histogram[bucket(count)], 1u);
      __stcg(counts_ + w, kPlaced | place);
      if (ids) ids[place] = w;
    });
    for (u32 i = threadIdx.x; ids && i <= d_; i += blockDim.x) ids[n + i] = i < d_ ? rows_[i] : v_;
    __syncthreads();
    each_later([&](u32 w, u32 i) {
      const u32 place = __ldcg(counts_ + w);
      if (place & kPlaced) atomicOr(masks + static_cast<u64>(i / 32) * stride + (place & ~kPlaced), 1u << (i % 32));
    });
  }

  const CountRun& g_;
  SharedRoot& s_;
  u32 *counts_, *touched_;
  u32 v_ = 0, d_ = 0;
  const u32* rows_ = nullptr;
};

extern "C" __global__ void __launch_bounds__(kRootThreads) count_roots(const CountRun* run) {
  __shared__ SharedRoot shared;
  const CountRun& g = *run;
  CountRoots roots(g, shared, g.scratch + 2 * g.n_vertices * blockIdx.x);
  for (;;) {
    if (threadIdx.x == 0) shared.root = atomicAdd(&g.counters->next_root, 1ull);
    __syncthreads();
    const u64 i = shared.root;
    __syncthreads();
    if (i >= g.n_roots) break;
    roots.root(g.roots[i]);
  }
  add_to_totals(g, roots.sum, (blockIdx.x * blockDim.x + threadIdx.x) / kLanes);
}

/// All tasks so far but for earlier waves are the next wave; one thread.
extern "C" __global__ void close_wave(const CountRun* run, u32 wave) {
  run->counters->end_of_wave[wave + 1] = run->counters->n_tasks;
}

// ---- search -------------------------------------------------------------------------------------

/// Runs tasks; a warp.
class CountWave {
 public:
  CountWave(const CountRun& run, const u32* binomials, u32* buffer, u32* workspace)
      : g_(run), binomials_(binomials), buffer_(buffer), q_(static_cast<u32>(run.q)), list_(workspace),
        used_(workspace + run.workspace_words / 2), words_(used_ + run.workspace_words / 4) {}

  LaneSum sum;
  u64 work = 0;

  void task(CountTask task) {
    const CountNode c = g_.nodes[task.node];
    const u32* masks = g_.arena + c.masks;
    ++work;
    if (c.words == 1)
      narrow(c, masks, task.column);
    else
      wide(c, masks, task.column);
  }

 private:
  u32 choose(u32 n, u32 k) const { return k < kSmall ? binomials_[n * kSmall + k] : 0; }

  // ---- nodes of the arena

  /// Chooses column i of a node of at most 32 rows.
  void narrow(const CountNode& c, const u32* masks, u32 i) {
    const u32 x = masks[i];
    u64 pairs = 0;
    u32 n = 0;
    for (u32 j = i + 1; j < c.n; j += kLanes) {
      const u32 common = j + lane_id() < c.n ? masks[j + lane_id()] & x : 0;
      if (c.need == 2)
        pairs += choose(__popc(common), q_);
      else
        n += compact(list_ + n, Lanes{common}, Flags{static_cast<u32>(__popc(common)) >= q_});
    }
    if (c.need == 2) return sum.add(pairs);
    if (n + 1 < c.need) return;
    if (n <= kLanes) return small(lane_id() < n ? list_[lane_id()] : 0, n, c.need - 1);
    u32* to = add_node(n, 1, c.need - 1);
    if (!to) return;
    for (u32 j = lane_id(); j < stride_of(n); j += kLanes) to[j] = j < n ? list_[j] : 0;
  }

  /// Chooses column i of a node of more rows.
  void wide(const CountNode& c, const u32* masks, u32 i) {
    u32 n_used = 0, rows = 0;
    for (u32 k = 0; k < c.words; k += kLanes) {
      const u32 own = k + lane_id();
      const u32 x = own < c.words ? masks[static_cast<u64>(own) * c.stride + i] : 0;
      compact(words_ + n_used, Lanes{x}, Flags{x != 0});
      n_used += compact(used_ + n_used, Lanes{own}, Flags{x != 0});
      rows += bicliq::sum(Lanes{static_cast<u32>(__popc(x))});
    }
    u32 n = 0;
    for (u32 j = i + 1; j < c.n; j += kLanes) {
      const u32 column = j + lane_id();
      u32 count = 0;
      if (column < c.n) {
        BICLIQ_UNROLL_8
        for (u32 a = 0; a < n_used; ++a)
          count += __popc(words_[a] & masks[static_cast<u64>(used_[a]) * c.stride + column]);
      }
      const bool enough = count >= q_;
      if (c.need == 2) {
        if (enough) add_choices(g_, sum, count);
        continue;
      }
      n += compact(list_ + n, Lanes{column}, Flags{enough});
    }
    if (c.need == 2 || n + 1 < c.need) return;
    project(c, masks, n_used, rows, n);
  }
  /// Makes the node of the kept columns over the rows of the chosen one, side by side; a lane a
  /// column.
  void project(const CountNode& c, const u32* masks, u32 n_used, u32 rows, u32 n) {
    const bool in_place = rows <= kLanes && n <= kLanes;
    const u32 stride = stride_of(n);
    u32* to = in_place ? nullptr : add_node(n, (rows + 31) / 32, c.need - 1);
    if (!in_place && !to) return;
    for (u32 j = 0; j < (in_place ? kLanes : stride); j += kLanes) {
      const bool real = j + lane_id() < n;
      const u32 column = real ? list_[j + lane_id()] : 0;
      u32 bits = 0, at = 0;
      u32* out = to + j + lane_id();
      for (u32 a = 0; a < n_used; ++a) {
        const u32 y = real ? masks[static_cast<u64>(used_[a]) * c.stride + column] : 0;
        for (u32 x = words_[a]; x; x &= x - 1) {
          bits |= (y >> (__ffs(x) - 1) & 1) << at;
          if (++at < 32 || in_place) continue;
          *out = bits;
          out += stride;
          bits = at = 0;
        }
      }
      if (in_place) return small(bits, n, c.need - 1);
      if (at) *out = bits;
    }
  }
  /// Adds a node, whose columns are tasks of the next wave; returns where its masks go, or null
  /// where there is no room.
  u32* add_node(u32 n, u32 words, u32 need) {
    const u64 size = static_cast<u64>(words) * stride_of(n), n_tasks = n - need + 1;
    u64 masks = 0, node = 0, tasks = 0;
    if (lane_id() == 0) {
      masks = atomicAdd(&g_.counters->arena_used, size);
      node = atomicAdd(&g_.counters->n_nodes, 1ull);
      tasks = atomicAdd(&g_.counters->n_tasks, n_tasks);
    }
    masks = __shfl_sync(~0u, masks, 0);
    node = __shfl_sync(~0u, node, 0);
    tasks = __shfl_sync(~0u, tasks, 0);
    if (masks + size > g_.arena_words || node >= g_.node_capacity || tasks + n_tasks > g_.task_capacity) {
      if (lane_id() == 0) g_.fail(masks + size > g_.arena_words ? Failure::kArenaFull : Failure::kTasksFull);
      return nullptr;
    }
    if (lane_id() == 0) g_.nodes[node] = {masks, n, stride_of(n), words, need};
    for (u64 t = lane_id(); t < n_tasks; t += kLanes)
      g_.tasks[tasks + t] = {static_cast<u32>(node), static_cast<u32>(t)};
    return g_.arena + masks;
  }

  // ---- at most 32 columns of at most 32 rows: lane j holds column j

  /// Counts below such a node to the end: a stack of the columns and rows that are left.
  void small(u32 mask, u32 n, u32 need) {
    const u32 row = transpose(mask);  // lane r: the columns that have row r
    u32 alive_at[kLanes], rows_at[kLanes], depth = 0, alive = n < 32 ? (1u << n) - 1 : ~0u, rows = ~0u;
    if (ends(mask, row, alive, any_bits(Lanes{mask}), need)) return;
    for (;;) {
      if (static_cast<u32>(__popc(alive)) < need) {
        if (depth == 0) return;
        --depth;
        ++need;
        alive = alive_at[depth];
        rows = rows_at[depth];
        continue;
      }
      const u32 i = first_set(alive);
      alive &= alive - 1;
      const u32 below_rows = rows & __shfl_sync(~0u, mask, i);
      const u32 below = alive & __ballot_sync(~0u, static_cast<u32>(__popc(mask & below_rows)) >= q_);
      if ((++work & kNodesALook) == 0 && g_.failed()) return;
      if (static_cast<u32>(__popc(below)) + 1 < need || ends(mask, row, below, below_rows, need - 1)) continue;
      alive_at[depth] = alive;
      rows_at[depth] = rows;
      ++depth;
      --need;
      alive = below;
      rows = below_rows;
    }
  }

  /// Counts the choices of `need` of the columns over these rows, if they are few enough to be
  /// listed.
  bool ends(u32 mask, u32 row, u32 alive, u32 rows, u32 need) {
    if (need == 2) {
      pairs(mask & rows, alive);
      return true;
    }
    const u32 n = __popc(alive), by_columns = choose(n, need), by_rows = choose(__popc(rows), q_);
    const u32 most = need == 3 ? kFewSubsets : kMostSubsets;
    if ((by_columns < by_rows ? by_columns : by_rows) > most) return false;
    if (by_columns <= by_rows) {
      subsets(gathered(mask & rows, alive), n, need, q_);
      return true;
    }
    const u32 columns = row & alive;
    const u32 useful = rows & __ballot_sync(~0u, static_cast<u32>(__popc(columns)) >= need);
    if (static_cast<u32>(__popc(useful)) >= q_) subsets(gathered(columns, useful), __popc(useful), q_, need);
    return true;
  }
  /// Adds C(common rows, q) over all pairs of columns.
  void pairs(u32 mask, u32 alive) {
    u64 found = 0;
    const bool own = alive >> lane_id() & 1;
    for (u32 left = alive; left; left &= left - 1) {
      const u32 i = first_set(left), common = mask & __shfl_sync(~0u, mask, i);
      if (own && lane_id() > i) found += choose(__popc(common), q_);
    }
    sum.add(found);
  }
  /// The words of the flagged lanes side by side.
  u32 gathered(u32 word, u32 which) {
    compact(buffer_, Lanes{word}, flags(which));
    return buffer_[lane_id()];
  }
  /// Adds C(bits of their AND, least) over the k-subsets of the words of the first n lanes; a lane
  /// takes a subset.
  void subsets(u32 word, u32 n, u32 k, u32 least) {
    const u32 all = choose(n, k);
    const u32* list = g_.subsets + g_.first_subset[n * kSmall + k];
    u64 found = 0;
    for (u32 first = 0; first < all; first += kLanes) {
      const bool own = first + lane_id() < all;
      u32 left = list[own ? first + lane_id() : first], common = ~0u;
      for (u32 t = 0; t < k; ++t, left &= left - 1) common &= __shfl_sync(~0u, word, __ffs(left) - 1);
      if (own) found += choose(__popc(common), least);
    }
    sum.add(found);
  }

  const CountRun& g_;
  const u32* binomials_;
  u32* buffer_;
  const u32 q_;
  u32 *list_, *used_, *words_;
};

extern "C" __global__ void __launch_bounds__(kWaveThreads) count_wave(const CountRun* run, u32 wave) {
  __shared__ u32 binomials[kSmall * kSmall];
  __shared__ u32 buffers[kWaveThreads / kLanes][kLanes];
  const CountRun& g = *run;
  for (u32 i = threadIdx.x; i < kSmall * kSmall; i += blockDim.x) binomials[i] = g.binomials[i];
  __syncthreads();
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const u64 begin = wave ? g.counters->end_of_wave[wave] : 0, end = g.counters->end_of_wave[wave + 1];
  CountWave search(g, binomials, buffers[threadIdx.x / kLanes], g.workspace + g.workspace_words * warp);
  const u64 warps = gridDim.x * blockDim.x / kLanes;
  const u32 most = g.p <= 4 ? 32 : 1;  // beyond, tasks are uneven: gowalla (8,8) takes 46 ms by 32, 13 one by one
  u64 next = begin;
  for (;;) {
    u32 taken = 1;
    if (lane_id() == 0) {
      const u64 share = (end - next) / (4 * warps);  // several at once while many are left: the counter takes 2.3 ns
      taken = share < 1 ? 1 : share < most ? static_cast<u32>(share) : most;
      next = g.failed()
                 ? end
                 : begin + atomicAdd(&g.counters->next_task[wave], static_cast<u64>(taken));
    }
    next = __shfl_sync(~0u, next, 0);
    taken = __shfl_sync(~0u, taken, 0);
    if (next >= end) break;
    for (u64 i = next; i < next + taken && i < end; ++i) search.task(g.tasks[i]);
    next += taken;
  }
  add_to_totals(g, search.sum, warp);
  if (lane_id() == 0) atomicAdd(&g.counters->work, search.work);
}

}  // namespace bicliq
