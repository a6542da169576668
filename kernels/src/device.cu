// device.cu: the enumeration of maximal bicliques on a GPU: the builders of roots, and the search by warps.
//
// What: the same search as on a CPU (mbe.hpp, from the same headers), a warp being a group of 32 lanes. Three
// kernels: `single_rows` reports the bicliques of one row, `build_roots` makes the subtree of every root (a
// block a root) and cuts it into tasks, `search_*` runs them.
//
// Input: a `Run`, written by cuda.py: the graph (both adjacency lists ascending, columns in search order, and for
// each edge of a column the place of that column in the row's list), thresholds, and blocks of memory.
//
// Method: tasks are a narrow root, or a range of the candidates of a wide root; roots come by falling size, so
// the heaviest start first. Warps are persistent: they take tasks from a counter, and when none is left, a ticket
// of the queue of given nodes; a busy warp looks every 64 nodes whether tickets wait and hands over half of its
// shallowest open level (a self-contained copy in the arena). The search ends when no warp is active and no node pends.
//
// Bicliques themselves: every warp writes records into a piece of one bounded output block; a warp that finds no room for
// what its next step may report parks, with its stack in the workspace, and the launch ends. The host turns the records
// into Arrow lists (`measure_chunks`, `unpack_chunks`), empties the block and launches again: each warp goes on where it was.
//
// Memory: the arena (matrices and lists of all roots, then given nodes) and a fixed workspace a warp; where either
// is too small the run stops with an error number and the host starts again with more.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "hash.hpp"
#include "mbe.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

static_assert(sizeof(Subtree) == 152, "cuda.py reserves this many bytes a subtree");

enum Failure : u64 { kNone = 0, kArenaFull = 1, kTasksFull = 2, kWorkspaceFull = 3 };

struct Task {
  u32 subtree, from, to;  // or kOneRow and a row, whose own biclique is to be written
};
constexpr u32 kOneRow = ~0u;

/// Counters that all blocks share. The first three are polled together, by busy warps only: thousands of waiting
/// ones would saturate the line, so each of those polls a flag of its own.
struct Counters {
  u64 head, tail, stop;  // tickets taken, nodes given, nonzero: everybody ends
  u64 found, digest, nodes, dropped;
  u64 next_heavy, next_light, next_task;
  u64 arena_used, n_subtrees, n_tasks;
  u64 pending;  // active warps and given nodes that are not done
  u64 failure, busy;
  u64 output_used, n_chunks;
};

/// Why everybody ends: for good, or until the output has been emptied.
enum Stop : u64 { kEnd = 1, kPark = 2 };

/// A piece of the output that one warp wrote.
struct Chunk {
  u64 start, words;
};

/// Everything a kernel is told; 64-bit fields only, in the order of cuda.py's `RUN_FIELDS`.
struct Run {
  const u64 *row_start, *column_start;
  const u32 *row_columns, *column_rows, *places;
  const u64 *row_hashes, *column_hashes;
  const u32 *is_root, *roots;
  u32 *scratch, *arena;
  Subtree* subtrees;
  Task* tasks;
  Subtree* slots;
  u32 *ready, *workspace;
  Counters* counters;
  u32 *parked, *output;  // output is null where bicliques are only counted
  Chunk* chunks;
  const i32 *row_ids, *column_ids;
  u64 n_rows, n_columns, n_heavy, n_light, max_degree;
  u64 arena_words, subtree_capacity, task_capacity, slot_capacity, workspace_words;
  u64 min_rows, min_columns, min_edges, columns_are_left, max_bicliques, task_words;
  u64 output_words, chunk_words, max_row_degree;

  Limits limits() const { return {static_cast<u32>(min_rows), static_cast<u32>(min_columns), min_edges}; }
  u32 column_degree(u32 c) const { return static_cast<u32>(column_start[c + 1] - column_start[c]); }
  u32 row_degree(u32 r) const { return static_cast<u32>(row_start[r + 1] - row_start[r]); }
  u64 hash_of(u64 rows, u64 columns) const { return columns_are_left ? biclique_hash(columns, rows) : biclique_hash(rows, columns); }
  void fail(Failure why) const {
    atomicExch(&counters->failure, static_cast<u64>(why));
    atomicExch(&counters->stop, static_cast<u64>(kEnd));
  }
  /// Reserves words of the arena; null where it is full.
  u32* reserve(u64 words) const {
    const u64 at = atomicAdd(&counters->arena_used, words);
    return at + words <= arena_words ? arena + at : nullptr;
  }
};

inline u64 volatile_load(const u64* p) { return *static_cast<const volatile u64*>(p); }

// ---- bicliques of one row ---------------------------------------------------------------------------

/// Has the row all of these columns (ascending)? One thread; from the end, where the popular columns are.
inline bool has_columns(const Run& g, u32 row, const u32* columns, u32 n) {
  const u32 *first = g.row_columns + g.row_start[row], *end = g.row_columns + g.row_start[row + 1];
  if (end - first < n || end[-1] < columns[n - 1]) return false;
  for (u32 k = n; k-- > 0;) {
    const u32 wanted = columns[k];
    const u32* low = first;
    u64 size = end - first;
    while (size) {
      const u64 half = size / 2;
      if (low[half] < wanted) {
        low += half + 1;
        size -= half + 1;
      } else {
        size = half;
      }
    }
    if (low == end || *low != wanted) return false;
    end = low;
  }
  return true;
}

/// Is N(row) part of another row's list? All rows with these columns have the first of them; the whole warp asks.
inline bool contained_row(const Run& g, u32 row, const u32* columns, u32 n) {
  const u32* others = g.column_rows + g.column_start[columns[0]];
  const u32 d = g.column_degree(columns[0]);
  for (u32 i = 0; i < d; i += kLanes) {
    const u32 k = i + lane_id();
    if (__any_sync(~0u, k < d && others[k] != row && has_columns(g, others[k], columns, n))) return true;
  }
  return false;
}

inline void add_task(const Run& g, const Task& task) {
  const u64 at = atomicAdd(&g.counters->n_tasks, 1ull);
  if (at < g.task_capacity)
    g.tasks[at] = task;
  else
    g.fail(kTasksFull);
}

extern "C" __global__ void single_rows(const Run* run) {
  const Run& g = *run;
  const Limits limits = g.limits();
  const u32 warps = gridDim.x * blockDim.x / kLanes;
  u64 found = 0, digest = 0;
  for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; row < g.n_rows; row += warps) {
    const u32* columns = g.row_columns + g.row_start[row];
    const u32 n = g.row_degree(row);
    if (!n || !g.is_root[columns[0]] || !limits.accepts(1, n) || contained_row(g, row, columns, n)) continue;
    if (g.output) {
      if (lane_id() == 0) add_task(g, {kOneRow, row, 0});
      continue;
    }
    ++found;
    if (!g.row_hashes) continue;
    u64 hash = 0;
    for (u32 i = 0; i < n; ++i) hash += g.column_hashes[columns[i]];
    digest += g.hash_of(g.row_hashes[row], hash);
  }
  if (lane_id() != 0 || !found) return;
  atomicAdd(&g.counters->found, found);
  atomicAdd(&g.counters->digest, digest);
}

// ---- roots ------------------------------------------------------------------------------------------

constexpr u32 kExactBuckets = 1024, kBuckets = 1024 + 22 * 64;
/// Candidates are put in the order of their number of rows; above 1,024 rows, in steps of a 64th.
inline u32 bucket_of(u32 count) {
  if (count < kExactBuckets) return count;
  const u32 exponent = 31 - __clz(count);
  return kExactBuckets + (exponent - 10) * 64 + (count >> (exponent - 6) & 63);
}

/// What the threads of a block share while they build a root.
struct Shared {
  u64 least, hash, rows_hash, sum;
  u32 place, n_touched, n_joined, n_candidates, n_before, n_rows, reach;
  u32 *memory, *members;
  u32 histogram[kBuckets];
};

class RootBuilder {
 public:
  RootBuilder(const Run& run, Shared& shared, u32* scratch)
      : g_(run), s_(shared), mark_(scratch), touched_(mark_ + run.n_columns), ids_(touched_ + run.n_columns),
        counts_(ids_ + run.n_columns), list_(counts_ + run.n_columns), limits_(run.limits()),
        needed_(limits_.min_rows > 2 ? limits_.min_rows : 2) {}

  u64 found = 0, digest = 0, nodes = 0, dropped = 0;  // of thread 0

  /// The whole block; false where memory has run out.
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
  u32 *mark_, *touched_, *ids_, *counts_, *list_;
  const Limits limits_;
  const u32 needed_;
  u32 v_ = 0, d_ = 0;
  const u32 *rows_ = nullptr, *places_ = nullptr;
  static constexpr u32 kTeam = 8;  // threads that read a row's list together

  void reset() {
    __syncthreads();
    for (u32 i = threadIdx.x; i < kBuckets; i += blockDim.x) s_.histogram[i] = 0;
    if (threadIdx.x == 0) {
      s_.least = ~0ull;
      s_.hash = s_.rows_hash = s_.sum = 0;
      s_.n_touched = s_.n_joined = s_.n_candidates = s_.n_before = s_.n_rows = s_.reach = 0;
    }
    __syncthreads();
  }

  // ---- twins

  /// Has a column before v all rows of v? It would be in the list of the row with the fewest befores.
  bool covered() {
    u64 least = ~0ull;
    for (u32 i = threadIdx.x; i < d_; i += blockDim.x) {
      const u64 key = static_cast<u64>(places_[i]) << 32 | rows_[i];
      least = key < least ? key : least;
    }
    if (least != ~0ull) atomicMin(&s_.least, least);
    __syncthreads();
    const u32 n = static_cast<u32>(s_.least >> 32);
    const u32* befores = g_.row_columns + g_.row_start[static_cast<u32>(s_.least)];
    int dead = 0;
    for (u32 i = threadIdx.x; i < n && !dead; i += blockDim.x) dead = includes(befores[i]);
    return __syncthreads_or(dead);
  }
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

  void touch(u32 w, u32 i) {
    const u32 was = d_ <= kLanes ? atomicOr(mark_ + w, 1u << i) : atomicAdd(mark_ + w, 1u);
    if (!was) touched_[atomicAdd(&s_.n_touched, 1u)] = w;
  }
  u32 count_of(u32 mark) const { return d_ <= kLanes ? popcount(mark) : mark; }

  /// f(w, i) for the columns of row i in [first, end) of its list; a team of threads a row.
  template <class F>
  void each_column(u32 i, u32 first, u32 end, F f) const {
    const u32* columns = g_.row_columns + g_.row_start[rows_[i]];
    for (u32 k = first + threadIdx.x % kTeam; k < end; k += kTeam) f(columns[k]);
  }

  void count_candidates() {
    for (u32 i = threadIdx.x / kTeam; i < d_; i += blockDim.x / kTeam)
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
  /// Turns sizes of buckets into their first places (one warp).
  void start_buckets() {
    const u32 last = bucket_of(d_) + 1;
    u32 before = 0;
    for (u32 i = 0; i < last; i += kLanes) {
      const u32 own = i + lane_id() < last ? s_.histogram[i + lane_id()] : 0;
      u32 upto = own;
      for (u32 step = 1; step < kLanes; step *= 2) {
        const u32 below = __shfl_up_sync(~0u, upto, step);
        if (lane_id() >= step) upto += below;
      }
      if (i + lane_id() < last) s_.histogram[i + lane_id()] = before + upto - own;
      before += __shfl_sync(~0u, upto, kLanes - 1);
    }
    if (lane_id() == 0) s_.n_candidates = before;
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
    if (g_.output) return;  // who takes the first task of the root writes it
    if (!limits_.accepts(d_, 1 + s_.n_joined)) return;
    ++found;
    if (g_.row_hashes) digest += g_.hash_of(s_.rows_hash, s_.hash + g_.column_hashes[v_]);
  }
  bool promising() const {
    const u64 columns = 1ull + s_.n_joined + s_.n_candidates;
    return columns >= limits_.min_columns && d_ * columns >= limits_.min_edges;
  }
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
      if (!s_.memory) g_.fail(kArenaFull);
    }
    __syncthreads();
    return s_.memory != nullptr;
  }
  Subtree head() const {
    Subtree tree;
    tree.root = v_;
    tree.members.n = 1 + s_.n_joined;
    if (g_.output) tree.members.ids = s_.members;
    if (g_.column_hashes) tree.members.hash = s_.hash + g_.column_hashes[v_];
    return tree;
  }

  /// A root of at most 32 rows: lists of masks.
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
    for (u32 i = threadIdx.x / kTeam; i < d_; i += blockDim.x / kTeam)
      if (s_.reach >> i & 1) each_column(i, 0, places_[i], [&](u32 w) { touch(w, i); });
    __syncthreads();
    if (!reserve(padded(s_.n_touched))) return false;
    tree.befores = s_.memory;
    for (u32 i = threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 mask = __ldcg(mark_ + touched_[i]);
      if (popcount(mask) >= needed_) tree.befores[atomicAdd(&s_.n_before, 1u)] = mask;
    }
    __syncthreads();
    tree.n_befores = s_.n_before;
    return emit(tree, 1, 1);
  }
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

  /// A root of more: only rows with a candidate, only befores with two such rows.
  bool wide() {
    place_candidates();
    list_rows();
    place_befores();
    BitMatrix m;
    m.n_rows = s_.n_rows;
    m.n_before = s_.n_before;
    m.n_candidates = s_.n_candidates;
    m.before_words = words_for(m.n_before);
    m.candidate_words = words_for(m.n_candidates);
    const u64 row_words = static_cast<u64>(m.n_rows) * m.stride();
    const u64 column_words = static_cast<u64>(words_for(m.n_rows)) * m.column_stride();
    if (!reserve(padded(row_words) + padded(m.n_rows) + 2 * padded(m.column_stride()) + padded(column_words))) return false;
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

  /// From here on a mark is one more than the place of a candidate or before, or 0.
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
  void place_befores() {
    const u32 after = s_.n_touched;
    __syncthreads();
    for (u32 i = threadIdx.x / kTeam; i < s_.n_rows; i += blockDim.x / kTeam)
      each_column(list_[i], 0, places_[list_[i]], [&](u32 w) { touch(w, 0); });
    __syncthreads();
    for (u32 i = after + threadIdx.x; i < s_.n_touched; i += blockDim.x) {
      const u32 w = touched_[i];
      __stcg(mark_ + w, __ldcg(mark_ + w) >= needed_ ? atomicAdd(&s_.n_before, 1u) + 1 : 0);
    }
    __syncthreads();
  }
  void fill(const BitMatrix& m) {
    for (u32 i = threadIdx.x / kTeam; i < m.n_rows; i += blockDim.x / kTeam) {
      const u32 k = list_[i], place = places_[k];
      u32 *befores = m.row(i), *candidates = befores + m.before_words;
      u32* columns = m.columns + static_cast<u64>(i / 32) * m.column_stride();
      m.row_ids[i] = rows_[k];
      each_column(k, 0, place, [&](u32 w) {
        const u32 at = __ldcg(mark_ + w) - 1;
        if (at != ~0u) atomicOr(befores + at / 32, 1u << at % 32);
      });
      each_column(k, place + 1, g_.row_degree(rows_[k]), [&](u32 w) {
        const u32 at = __ldcg(mark_ + w) - 1;
        if (at == ~0u) return;
        atomicOr(candidates + at / 32, 1u << at % 32);
        atomicOr(columns + at, 1u << i % 32);
      });
    }
  }

  /// Adds the subtree and its tasks, each of `at_once` of its n candidates.
  bool emit(const Subtree& tree, u32 n, u32 at_once) {
    const u32 n_tasks = (n + at_once - 1) / at_once;
    __syncthreads();
    if (threadIdx.x == 0) {
      s_.place = static_cast<u32>(atomicAdd(&g_.counters->n_subtrees, 1ull));
      s_.sum = atomicAdd(&g_.counters->n_tasks, static_cast<u64>(n_tasks));
      if (s_.sum + n_tasks > g_.task_capacity || s_.place >= g_.subtree_capacity) {
        s_.n_rows = ~0u;
        g_.fail(kTasksFull);
      } else {
        g_.subtrees[s_.place] = tree;
      }
    }
    __syncthreads();
    if (s_.n_rows == ~0u) return false;
    for (u32 i = threadIdx.x; i < n_tasks; i += blockDim.x)  // the last candidates have the most rows: they come first
      g_.tasks[s_.sum + n_tasks - 1 - i] = {s_.place, i * at_once, i + 1 < n_tasks ? (i + 1) * at_once : n};
    return true;
  }
};

inline void build(const Run* run, const u32* roots, u64 n_roots, u64* next, u32 first_block) {
  __shared__ Shared shared;
  __shared__ u64 taken;
  const u64 scratch_words = 4 * run->n_columns + run->max_degree;
  RootBuilder builder(*run, shared, run->scratch + (first_block + blockIdx.x) * scratch_words);
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = volatile_load(&run->counters->stop) ? n_roots : atomicAdd(next, 1ull);
    __syncthreads();
    if (taken >= n_roots || !builder.root(roots[taken])) break;
  }
  if (threadIdx.x != 0) return;
  atomicAdd(&run->counters->found, builder.found);
  atomicAdd(&run->counters->digest, builder.digest);
  atomicAdd(&run->counters->nodes, builder.nodes);
  atomicAdd(&run->counters->dropped, builder.dropped);
}

/// Roots with many columns in two steps: blocks of many threads; they come first in `roots`.
extern "C" __global__ void __launch_bounds__(1024, 1) build_heavy_roots(const Run* run) {
  build(run, run->roots, run->n_heavy, &run->counters->next_heavy, 0);
}
extern "C" __global__ void __launch_bounds__(64, 16) build_light_roots(const Run* run, u32 first_block) {
  build(run, run->roots + run->n_heavy, run->n_light, &run->counters->next_light, first_block);
}

// ---- the search -------------------------------------------------------------------------------------

/// The workspace of a warp: a stack of fixed size.
class Slab {
 public:
  using Mark = u64;
  Slab(u32* base, u64 words) : base_(base), words_(words) {}
  bool fits(u64 words) const { return used_ + words <= words_; }
  u32* take(u64 words) {
    u32* piece = base_ + used_;
    used_ += padded(words);
    return piece;
  }
  Mark mark() const { return used_; }
  void release(Mark mark) { used_ = mark; }

 private:
  u32* base_;
  u64 words_, used_ = 0;
};

#ifndef BICLIQ_GIFTS
#define BICLIQ_GIFTS 4  // subtrees that a warp gives away at most in one go
#endif
constexpr u32 kGifts = BICLIQ_GIFTS;

/// The queue of given nodes.
class WarpCrew {
 public:
  struct Parcel : Pieces {
    explicit operator bool() const { return next != nullptr; }
  };
  explicit WarpCrew(const Run& run) : run_(run) {}

  /// Reads head, tail and stop at once; `wanted` then answers from what was read.
  bool stopped() {
    const u64 own = lane_id() < 3 ? volatile_load(&run_.counters->head + lane_id()) : 0;
    const u64 head = __shfl_sync(~0u, own, 0), tail = __shfl_sync(~0u, own, 1);
    const u64 stop = __shfl_sync(~0u, own, 2);
    const u32 waiting = head > tail ? static_cast<u32>(head - tail) : 0, warps = gridDim.x * blockDim.x / kLanes;
    const u32 share = waiting < warps ? (waiting + warps - waiting - 1) / (warps - waiting) : kGifts;
    wanted_ = share < kGifts ? share : kGifts;
    parking_ = stop == kPark;
    return stop == kEnd;
  }
  /// Subtrees that a busy warp should give away now: its share of what all waiting ones want.
  u32 wanted() const { return wanted_; }
  /// Did the last look find that everybody is to park?
  bool parking() const { return parking_; }
  void overflow() const {
    if (lane_id() == 0) run_.fail(kWorkspaceFull);
  }

  /// Memory for a node; null where the arena or the queue is nearly full, and the node is kept.
  Parcel parcel(u64 words) const {
    Parcel parcel;
    parcel.next = room_for(run_, words);
    return parcel;
  }
  void give(Parcel&&, const Subtree& tree) const { publish(run_, tree); }

  /// Waits for a node; null when the search has ended.
  const Subtree* take() const {
    u64 slot = 0;
    if (lane_id() == 0) {
      slot = atomicAdd(&run_.counters->head, 1ull);
      if (slot >= run_.slot_capacity || !wait(slot)) slot = ~0ull;
      if (slot != ~0ull) run_.ready[slot] = kTaken;
    }
    slot = __shfl_sync(~0u, slot, 0);
    __threadfence();
    return slot == ~0ull ? nullptr : run_.slots + slot;
  }
  /// A given node is done, or this warp has found no more tasks. The last of all wakes those that wait.
  void done() const { one_less(run_); }

 private:
  const Run& run_;
  u32 wanted_ = 0;
  bool parking_ = false;
  static constexpr u32 kGiven = 1, kEnded = 2, kTaken = 3;
  static constexpr u32 kPollsBetweenStops = 64;

  // Called, not copied to each of the places that need them.
  BICLIQ_CALL static u32* room_for(const Run& run, u64 words) {
    u64 at = 0;
    if (lane_id() == 0 && volatile_load(&run.counters->tail) + gridDim.x * blockDim.x < run.slot_capacity)
      at = reinterpret_cast<u64>(run.reserve(words));
    return reinterpret_cast<u32*>(__shfl_sync(~0u, at, 0));
  }
  BICLIQ_CALL static void publish(const Run& run, const Subtree& tree) {
    __threadfence();
    __syncwarp();
    if (lane_id() == 0) {
      atomicAdd(&run.counters->pending, 1ull);
      const u64 slot = atomicAdd(&run.counters->tail, 1ull);
      run.slots[slot] = tree;
      __threadfence();
      *const_cast<volatile u32*>(run.ready + slot) = kGiven;
    }
    __syncwarp();
  }
  BICLIQ_CALL static void one_less(const Run& run) {
    __threadfence();
    __syncwarp();
    u64 left = 1;
    if (lane_id() == 0) left = atomicAdd(&run.counters->pending, ~0ull) - 1;
    if (__shfl_sync(~0u, left, 0) != 0) return;
    __threadfence();
    u64 head = volatile_load(&run.counters->head);
    head = head < run.slot_capacity ? head : run.slot_capacity;
    BICLIQ_ROLL
    for (u64 slot = volatile_load(&run.counters->tail) + lane_id(); slot < head; slot += kLanes)
      *const_cast<volatile u32*>(run.ready + slot) = kEnded;
  }

  /// Waits for the flag of a slot. Who takes a ticket after the last `done` finds that nothing pends.
  bool wait(u64 slot) const {
    const volatile u32* ready = run_.ready + slot;
    __threadfence();
    if (volatile_load(&run_.counters->pending) == 0) return false;
    for (u32 polls = 1;; ++polls) {
      const u32 flag = *ready;
      if (flag) return flag == kGiven;
      if (polls % kPollsBetweenStops == 0 && volatile_load(&run_.counters->stop)) return false;
      __nanosleep(polls < 8 ? 100 : 500);
    }
  }
};

/// Counts, publishes the count now and then, and stops everybody past the limit.
class WarpTally {
 public:
  explicit WarpTally(const Run& run)
      : run_(run), every_(run.max_bicliques < (1u << 20) ? 1 : 4096) {}
  void add() {
    if (++fresh_ >= every_) publish();
  }
  void publish() {
    if (lane_id() == 0 && atomicAdd(&run_.counters->found, fresh_) + fresh_ > run_.max_bicliques)
      atomicExch(&run_.counters->stop, static_cast<u64>(kEnd));
    fresh_ = 0;
  }

 private:
  const Run& run_;
  const u64 every_;
  u64 fresh_ = 0;
};

class WarpCount {
 public:
  static constexpr bool kMembers = false, kIds = false, kBounded = false;
  WarpCount(const Run& run, const WarpCrew&) : tally_(run) {}
  void root(u32) {}
  void rows(const u32*, u32) {}
  void found(u32, const Members&) { tally_.add(); }
  void found(const u32*, u32, const Members&) { tally_.add(); }
  void finish() { tally_.publish(); }

 private:
  WarpTally tally_;
};

/// The records of one warp: root, number of rows, number of columns, rows, columns; in chunks of the output.
class WarpOutput {
 public:
  WarpOutput(const Run& run, const WarpCrew& crew) : run_(run), crew_(crew) {}

  /// Is there room for a record of at most so many rows and columns? False: everybody parks.
  bool room(u64 rows, u64 columns) {
    if (crew_.parking()) return false;
    const u64 words = 3 + (rows < run_.max_degree ? rows : run_.max_degree) + (columns < run_.max_row_degree ? columns : run_.max_row_degree);
    return at_ + words <= end_ || take_chunk(words > run_.chunk_words ? words : run_.chunk_words);
  }
  void head(u32 root, u32 n_rows, u32 n_columns) {
    u32* to = run_.output + at_;
    if (lane_id() < 3) to[lane_id()] = lane_id() == 0 ? root : lane_id() == 1 ? n_rows : n_columns;
    at_ += 3;
  }
  void list(const u32* vertices, u32 n) {
    u32* to = run_.output + at_;
    for (u32 i = lane_id(); i < n; i += kLanes) to[i] = vertices[i];
    at_ += n;
  }
  void selected(u32 vertex, u32 lanes) {
    if (lanes >> lane_id() & 1) run_.output[at_ + popcount(lanes & ((1u << lane_id()) - 1))] = vertex;
    at_ += popcount(lanes);
  }
  void close() {
    if (lane_id() == 0 && end_) run_.chunks[number_] = {start_, at_ - start_};
    at_ = end_ = 0;
  }

 private:
  const Run& run_;
  const WarpCrew& crew_;
  u64 start_ = 0, at_ = 0, end_ = 0, number_ = 0;

  bool take_chunk(u64 words) {
    close();
    u64 start = ~0ull, number = 0;
    if (lane_id() == 0 && !volatile_load(&run_.counters->stop)) {
      start = atomicAdd(&run_.counters->output_used, words);
      if (start + words <= run_.output_words) {
        number = atomicAdd(&run_.counters->n_chunks, 1ull);
      } else {
        atomicCAS(&run_.counters->stop, 0ull, static_cast<u64>(kPark));
        start = ~0ull;
      }
    }
    start_ = at_ = __shfl_sync(~0u, start, 0);
    number_ = __shfl_sync(~0u, number, 0);
    if (start_ == ~0ull) {
      at_ = 0;
      return false;
    }
    end_ = start_ + words;
    return true;
  }
};

/// Knows the hashes of both sides, one row and one leaf column a lane; where it writes, their numbers as well.
template <bool kWrites>
class WarpMembers {
 public:
  static constexpr bool kMembers = true, kIds = kWrites, kBounded = kWrites;
  WarpMembers(const Run& run, const WarpCrew& crew) : run_(run), limits_(run.limits()), tally_(run), output_(run, crew) {}
  void root(u32 v) { root_ = v; }
  bool room(u64 rows, u64 columns) { return output_.room(rows, columns); }
  u64 column_hash(u32 c) const { return run_.column_hashes ? run_.column_hashes[c] : 0; }
  void rows(const u32* rows, u32 n) {
    row_ = lane_id() < n ? rows[lane_id()] : 0;
    row_hash_ = lane_id() < n && run_.row_hashes ? run_.row_hashes[row_] : 0;
  }
  void leaf(const u32* ids, u32 n) {
    leaf_ = lane_id() < n ? ids[lane_id()] : 0;
    leaf_hash_ = lane_id() < n ? column_hash(leaf_) : 0;
  }
  void found(u32 rows, const Members& members) {
    if (!limits_.accepts(popcount(rows), members.n)) return;
    account(total(flags(rows).on ? row_hash_ : 0), members.hash);
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n);
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
    }
  }
  void found_in_leaf(u32 rows, const Members& members, u32 joined) {
    if (!limits_.accepts(popcount(rows), members.n + popcount(joined))) return;
    account(total(flags(rows).on ? row_hash_ : 0), members.hash + total(flags(joined).on ? leaf_hash_ : 0));
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n + popcount(joined));
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
      output_.selected(leaf_, joined);
    }
  }
  void found(const u32* rows, u32 n, const Members& members) {
    if (!limits_.accepts(n, members.n)) return;
    account(row_hashes(rows, n), members.hash);
    if constexpr (kWrites) {
      output_.head(root_, n, members.n);
      output_.list(rows, n);
      output_.list(members.ids, members.n);
    }
  }
  /// The biclique of one row and all its columns.
  void one_row(u32 row) {
    const u32* columns = run_.row_columns + run_.row_start[row];
    const u32 n = run_.row_degree(row);
    u64 hash = 0;
    if (run_.column_hashes)
      for (u32 i = lane_id(); i < n; i += kLanes) hash += run_.column_hashes[columns[i]];
    account(row_hashes(&row, 1), total(hash));
    output_.head(columns[0], 1, n);
    output_.selected(row, 1);
    output_.list(columns, n);
  }
  void finish() {
    tally_.publish();
    if (lane_id() == 0) atomicAdd(&run_.counters->digest, digest_);
    if constexpr (kWrites) output_.close();
  }

 private:
  const Run& run_;
  const Limits limits_;
  WarpTally tally_;
  WarpOutput output_;
  u64 row_hash_ = 0, leaf_hash_ = 0, digest_ = 0;
  u32 row_ = 0, leaf_ = 0, root_ = 0;

  /// The sum of a 64-bit word of every lane, in three pieces of 22 bits that cannot overflow.
  static u64 total(u64 x) {
    const u32 mask = (1u << 22) - 1;
    const u64 low = sum(Lanes{static_cast<u32>(x) & mask}), middle = sum(Lanes{static_cast<u32>(x >> 22) & mask});
    return low + (middle << 22) + (static_cast<u64>(sum(Lanes{static_cast<u32>(x >> 44)})) << 44);
  }
  u64 row_hashes(const u32* rows, u32 n) const {
    u64 hash = 0;
    if (run_.row_hashes)
      for (u32 i = lane_id(); i < n; i += kLanes) hash += run_.row_hashes[rows[i]];
    return total(hash);
  }
  void account(u64 rows, u64 columns) {
    tally_.add();
    if (run_.row_hashes) digest_ += run_.hash_of(rows, columns);
  }
};

/// What a warp has to do besides its open search.
struct Duty {
  Task task = {};
  u32 held = false, tasks_left = true;  // a task taken and not begun; more tasks to come
};

/// What a warp keeps between two launches.
template <class Search>
class Parking {
 public:
  Parking(const Run& run, u64 warp) : words_(run.parked + warp * kWords) {}

  void save(Search& search, const Slab& slab, u32 open, const Duty& duty) const {
    u32* to = words_;
    const auto keep = [&to](const auto& field) {
      static_assert(sizeof(field) % 4 == 0, "fields are whole words");
      u32 words[sizeof(field) / 4];
      memcpy(words, &field, sizeof(field));
      for (u32 i = 0; i < sizeof(field) / 4; ++i) put(to++, words[i]);
    };
    keep(1u);
    keep(open);
    keep(duty);
    keep(slab.mark());
    search.each_field(keep);
  }
  /// Returns whether a search is open.
  bool restore(Search& search, Slab& slab, Duty& duty) const {
    const u32* from = words_;
    const auto take = [&from](auto& field) {
      u32 words[sizeof(field) / 4];
      for (u32 i = 0; i < sizeof(field) / 4; ++i) words[i] = *from++;
      memcpy(&field, words, sizeof(field));
    };
    u32 saved, open;
    u64 used;
    take(saved);
    if (!saved) return false;
    take(open);
    take(duty);
    take(used);
    if (open) {
      slab.release(used);
      search.each_field(take);
    }
    return open;
  }

 private:
  static constexpr u32 kWords = 64;  // cuda.py reserves as many
  u32* const words_;
};

/// Takes the next task; false where none is left.
inline bool take_task(const Run& run, Task& task) {
  u64 t = 0;
  if (lane_id() == 0) t = volatile_load(&run.counters->stop) == kEnd ? ~0ull : atomicAdd(&run.counters->next_task, 1ull);
  t = __shfl_sync(~0u, t, 0);
  if (t >= run.counters->n_tasks) return false;
  task = run.tasks[t];
  return true;
}

/// Writes what a task itself stands for: the biclique of a row, or, with the first task of a root, that of the root. False
/// where there is no room.
template <class Sink>
inline bool write_own(const Run& run, const Task& task, Sink& sink) {
  if (task.subtree == kOneRow) {
    if (!sink.room(1, run.row_degree(task.from))) return false;
    sink.one_row(task.from);
  } else if (task.from == 0) {
    const Subtree& tree = run.subtrees[task.subtree];
    const u32 n_rows = run.column_degree(tree.root);
    if (!sink.room(n_rows, tree.members.n)) return false;
    sink.root(tree.root);
    sink.found(run.column_rows + run.column_start[tree.root], n_rows, tree.members);
  }
  return true;
}

template <class Sink>
inline void search(const Run& run) {
  const u64 warp = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  Slab slab(run.workspace + warp * run.workspace_words, run.workspace_words);
  WarpCrew crew(run);
  Sink sink(run, crew);
  using Search = MaximalBicliques<Sink, WarpCrew, Slab>;
  Search search(run.limits(), crew, sink, slab);
  Duty duty;
  bool open = false;
  if constexpr (Sink::kBounded) open = Parking<Search>(run, warp).restore(search, slab, duty);
  const long long start = clock64();
  long long waited = 0;
  for (;;) {
    u32 filled = 0;
    if (open) {
      filled = search.resume();
    } else {
      Subtree tree;
      if (duty.tasks_left) {
        if (!duty.held && !take_task(run, duty.task)) {
          duty.tasks_left = false;
          crew.done();
          continue;
        }
        duty.held = true;
        if constexpr (Sink::kBounded)
          if (!write_own(run, duty.task, sink)) break;
        duty.held = false;
        if (duty.task.subtree == kOneRow) continue;
        tree = run.subtrees[duty.task.subtree];
        if (tree.wide) {
          tree.from = duty.task.from;
          tree.to = duty.task.to;
        }
        if (Sink::kBounded && !tree.wide && !tree.n_candidates) continue;
      } else {
        const long long before = clock64();
        const Subtree* given = crew.take();
        waited += clock64() - before;
        if (!given) break;
        tree = *given;
      }
      slab.release(0);
      filled = search.open(tree);
    }
    search.run(filled);
    open = Sink::kBounded && search.parked();
    if (open) break;
    if (!duty.tasks_left) crew.done();
  }
  if constexpr (Sink::kBounded) Parking<Search>(run, warp).save(search, slab, open, duty);
  sink.finish();
  if (lane_id() != 0) return;
  atomicAdd(&run.counters->nodes, search.nodes);
  atomicAdd(&run.counters->dropped, search.dropped);
  atomicAdd(&run.counters->busy, static_cast<u64>(clock64() - start - waited));
}

#ifndef BICLIQ_WARPS
#define BICLIQ_WARPS 4  // warps a block
#endif
#ifndef BICLIQ_BLOCKS
#define BICLIQ_BLOCKS 3  // blocks a multiprocessor
#endif


// Half a minute compiles all three searches: where only one is asked for, only that is compiled.
#if !defined(BICLIQ_SEARCH) || BICLIQ_SEARCH == 0
extern "C" __global__ void __launch_bounds__(32 * BICLIQ_WARPS, BICLIQ_BLOCKS) search_count(const Run* run) {
  search<WarpCount>(*run);
}
#endif
#if !defined(BICLIQ_SEARCH) || BICLIQ_SEARCH == 1
extern "C" __global__ void __launch_bounds__(32 * BICLIQ_WARPS, BICLIQ_BLOCKS) search_members(const Run* run) {
  search<WarpMembers<false>>(*run);
}
#endif
#if !defined(BICLIQ_SEARCH) || BICLIQ_SEARCH == 2
extern "C" __global__ void __launch_bounds__(32 * BICLIQ_WARPS, BICLIQ_BLOCKS) search_bicliques(const Run* run) {
  search<WarpMembers<true>>(*run);
}
#endif

// ---- from records to lists --------------------------------------------------------------------------

/// How many records, rows and columns each chunk holds, in three arrays one after the other; a thread a chunk.
extern "C" __global__ void measure_chunks(const Run* run, u64* sizes, u64 n_chunks) {
  const u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n_chunks) return;
  const u32 *at = run->output + run->chunks[i].start, *end = at + run->chunks[i].words;
  u64 records = 0, rows = 0, columns = 0;
  for (; at < end; at += 3 + at[1] + at[2]) {
    ++records;
    rows += at[1];
    columns += at[2];
  }
  sizes[i] = records;
  sizes[n_chunks + i] = rows;
  sizes[2 * n_chunks + i] = columns;
}

/// Writes the records of each chunk as lists, where `ends` (as measured, added up) says that the chunk's end; a warp a
/// chunk. An id comes with the number of its biclique above it, so that one sort puts every list in order.
extern "C" __global__ void unpack_chunks(const Run* run, const u64* sizes, const u64* ends, u64 n_chunks, i32* roots, i32* row_ends,
                                         i32* column_ends, u64* rows, u64* columns) {
  const u64 i = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  if (i >= n_chunks) return;
  const u32 *at = run->output + run->chunks[i].start, *end = at + run->chunks[i].words;
  u64 number = ends[i] - sizes[i], row = ends[n_chunks + i] - sizes[n_chunks + i], column = ends[2 * n_chunks + i] - sizes[2 * n_chunks + i];
  for (; at < end; ++number) {
    const u32 n_rows = at[1], n_columns = at[2];
    if (lane_id() == 0) {
      roots[number] = run->column_ids[at[0]];
      row_ends[number] = static_cast<i32>(row + n_rows);
      column_ends[number] = static_cast<i32>(column + n_columns);
    }
    at += 3;
    for (u32 k = lane_id(); k < n_rows; k += kLanes) rows[row + k] = number << 32 | static_cast<u32>(run->row_ids[at[k]]);
    at += n_rows;
    for (u32 k = lane_id(); k < n_columns; k += kLanes) columns[column + k] = number << 32 | static_cast<u32>(run->column_ids[at[k]]);
    at += n_columns;
    row += n_rows;
    column += n_columns;
  }
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
