// enumeration.cu: the enumeration of maximal bicliques on a GPU: the search by warps (its roots: device_roots.hpp).
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
// of the queue of given nodes. A busy warp looks every 32 nodes, and after every wide one, whether tickets wait, and hands over a
// third of its shallowest open level: a node of its own in the arena, or, of a wide level, its state above a matrix that
// all share who get a part of it. The search ends when no warp is active and no node pends.
//
// Bicliques themselves: every warp writes records into a piece of one bounded output block; a warp that finds no room for
// what its next step may report parks, with its stack in the workspace, and the launch ends. The host turns the records
// into Arrow lists (`measure_chunks`, `unpack_chunks`), empties the block and launches again: each warp goes on where it was.
//
// Memory: the arena (matrices and lists of all roots, then given nodes) and a fixed workspace a warp; where either
// is too small the run stops with an error number and the host starts again with more.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "enumeration/device_roots.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

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
  static constexpr bool kKeepsGiven = true;  // the arena is not freed before the search ends
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
    if (lane_id() == 0 && volatile_load(&run.counters->tail) + gridDim.x * blockDim.x < run.slot_capacity &&
        volatile_load(&run.counters->arena_used) + words <= run.arena_words)
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
  const u64 busy = static_cast<u64>(clock64() - start - waited);
  atomicAdd(&run.counters->busy, busy);
  atomicMax(&run.counters->longest, busy);
}

#ifndef BICLIQ_WARPS
#define BICLIQ_WARPS 4  // warps a block
#endif
#ifndef BICLIQ_BLOCKS
#define BICLIQ_BLOCKS 4  // blocks a multiprocessor
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
