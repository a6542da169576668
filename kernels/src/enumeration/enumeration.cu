// enumeration.cu: the maximal bicliques of a graph on a GPU. The search is that of mbe.hpp, from
// the same headers as on a CPU, with a warp as the group of 32 lanes.
//
// What it finds: their number and digest (`search_count`, `search_members`), all of them
// (`search_bicliques`), or those that may be among the best of an objective (`search_best`); these
// are written as records, which `measure_chunks` and `unpack_chunks` turn into lists.
//
// Input: a `Run` (device_run.hpp), written by kernels/cuda/enumeration.py: the graph, the limits,
// and blocks of memory. The kernels of device_roots.hpp have run before.
//
// Method: a task is a narrow root, or a range of the candidates of a wide one; the roots with most
// work come first. Warps stay until the end: they take tasks from a counter, and then wait in a
// queue for subtrees that busy warps give away. A busy warp looks every 32 nodes, and after every
// wide node, whether others wait, and gives away a third of its shallowest open level: a copy of
// the node in the arena, or, of a wide node, a copy of what it holds above its matrix, which all
// share who search a part of it. The search ends when no warp has a task and no subtree is left.
//
// Where bicliques are written, every warp fills pieces (chunks) of one bounded block of memory. A
// warp that finds no room for what its next step may report parks, all others park when they see
// it, and the launch ends. The host turns the records into lists, empties the block and launches
// again; each warp goes on where it was.
//
// Cost: as of mbe.hpp. Memory: the arena (matrices and masks of all roots, then given subtrees),
// and a workspace of fixed size a warp. Where either does not suffice the run fails as a whole, and
// the host repeats it with half of the roots, or larger workspaces.
//
// Papers: those of mbe.hpp; Tzeng, Patney and Owens 2010 (work donation between warps).
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "enumeration/device_roots.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

// ---- the search ---------------------------------------------------------------------------------

/// The memory of a warp: a stack of fixed size (`Workspace` on a CPU).
class WarpWorkspace {
 public:
  using Mark = u64;
  WarpWorkspace(u32* base, u64 words) : base_(base), words_(words) {}
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

/// The other warps, as one of them sees them, and the queue of subtrees that warps give away.
///
/// Who has nothing left to do draws a ticket, and waits for the slot of that number. Who gives a
/// subtree away fills the next slot. So tickets minus filled slots is the number of warps that
/// wait.
class WarpPool {
 public:
  static constexpr bool kKeepsGiven = true;  // the arena is not freed before the search ends
  /// Memory of the arena for a subtree; null where there is none.
  struct Block : Pieces {
    explicit operator bool() const { return next != nullptr; }
  };
  explicit WarpPool(const Run& run) : run_(run) {}

  /// Reads head, tail and stop at once; `wanted` and `parking` then answer from what was read.
  bool stopped() {
    const u64 own = lane_id() < kPolledCounters ? volatile_load(&run_.counters->head + lane_id()) : 0;
    const u64 head = __shfl_sync(~0u, own, kHead), tail = __shfl_sync(~0u, own, kTail);
    const u64 stop = __shfl_sync(~0u, own, kStop);
    const u32 waiting = head > tail ? static_cast<u32>(head - tail) : 0, warps = gridDim.x * blockDim.x / kLanes;
    const u32 share = waiting < warps ? (waiting + warps - waiting - 1) / (warps - waiting) : kMostGiven;
    wanted_ = share < kMostGiven ? share : kMostGiven;
    parking_ = stop == static_cast<u64>(Stop::kPark);
    return stop == static_cast<u64>(Stop::kEnd);
  }
  /// Subtrees that a busy warp should give away now: its share of what all waiting ones want.
  u32 wanted() const { return wanted_; }
  /// Did the last look find that all warps are to park?
  bool parking() const { return parking_; }
  void overflow() const {
    if (lane_id() == 0) run_.fail(Failure::kWorkspaceFull);
  }

  /// Memory for a subtree; null where the arena or the queue is nearly full: then nothing is given
  /// away.
  Block block(u64 words) const {
    Block block;
    block.next = room_for(run_, words);
    return block;
  }
  void give(Block&&, const Subtree& tree) const { publish(run_, tree); }

  /// Waits for a subtree; null when the search has ended.
  const Subtree* take() const {
    u64 slot = 0;
    if (lane_id() == 0) {
      slot = atomicAdd(&run_.counters->head, 1ull);
      if (slot >= run_.slot_capacity || !wait(slot)) slot = ~0ull;
      if (slot != ~0ull) run_.slot_states[slot] = static_cast<u32>(Slot::kTaken);
    }
    slot = __shfl_sync(~0u, slot, 0);
    __threadfence();
    return slot == ~0ull ? nullptr : run_.slots + slot;
  }
  /// To be called when a given subtree is done, and when this warp has found no more tasks. The
  /// last call of all wakes those that wait.
  void done() const { one_less(run_); }

 private:
  const Run& run_;
  u32 wanted_ = 0;
  bool parking_ = false;
  static constexpr u32 kPollsBetweenStops = 64;  // between two looks at whether all are to stop

  static void set(const Run& run, u64 slot, Slot state) {
    *const_cast<volatile u32*>(run.slot_states + slot) = static_cast<u32>(state);
  }

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
      set(run, slot, Slot::kFilled);
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
      set(run, slot, Slot::kEnded);
  }

  /// Waits until a slot is filled; false when the search has ended. Nobody wakes a warp that draws
  /// its ticket after the last `done`: it finds that nothing is pending.
  bool wait(u64 slot) const {
    const volatile u32* state = run_.slot_states + slot;
    __threadfence();
    if (volatile_load(&run_.counters->pending) == 0) return false;
    for (u32 polls = 1;; ++polls) {
      const u32 now = *state;
      if (now) return now == static_cast<u32>(Slot::kFilled);
      if (polls % kPollsBetweenStops == 0 && volatile_load(&run_.counters->stop)) return false;
      __nanosleep(polls < 8 ? 100 : 500);
    }
  }
};

/// Counts bicliques, adds the count to that of all warps now and then, and stops all past the
/// limit.
class WarpTally {
 public:
  explicit WarpTally(const Run& run)
      : run_(run), every_(run.max_bicliques < (1u << 20) ? 1 : 4096) {}
  void add() {
    if (++fresh_ >= every_) publish();
  }
  void publish() {
    if (lane_id() == 0 && atomicAdd(&run_.counters->found, fresh_) + fresh_ > run_.max_bicliques)
      atomicExch(&run_.counters->stop, static_cast<u64>(Stop::kEnd));
    fresh_ = 0;
  }

 private:
  const Run& run_;
  const u64 every_;
  u64 fresh_ = 0;
};

/// A sink that only counts.
class WarpCount {
 public:
  static constexpr bool kMembers = false, kIds = false, kBounded = false;
  WarpCount(const Run& run, const WarpPool&) : tally_(run) {}
  void root(u32) {}
  void rows(const u32*, u32) {}
  void found(u32, const Members&) { tally_.add(); }
  void found(const u32*, u32, const Members&) { tally_.add(); }
  void finish() { tally_.publish(); }

 private:
  WarpTally tally_;
};

/// Writes the records of one warp: root, number of rows, number of columns, rows, columns.
class WarpOutput {
 public:
  WarpOutput(const Run& run, const WarpPool& workers) : run_(run), workers_(workers) {}

  /// Is there room for a record of at most so many rows and columns? If not, all warps are to park.
  bool room(u64 rows, u64 columns) {
    if (workers_.parking()) return false;
    const u64 words = 3 + (rows < run_.max_degree ? rows : run_.max_degree) +
                      (columns < run_.max_row_degree ? columns : run_.max_row_degree);
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
  /// The vertices of some lanes.
  void selected(u32 vertex, u32 lanes) {
    if (lanes >> lane_id() & 1) run_.output[at_ + popcount(lanes & ((1u << lane_id()) - 1))] = vertex;
    at_ += popcount(lanes);
  }
  /// Ends the chunk.
  void close() {
    if (lane_id() == 0 && end_) run_.chunks[number_] = {start_, at_ - start_};
    at_ = end_ = 0;
  }

 private:
  const Run& run_;
  const WarpPool& workers_;
  u64 start_ = 0, at_ = 0, end_ = 0, number_ = 0;  // of the chunk; no chunk: end_ is 0

  bool take_chunk(u64 words) {
    close();
    u64 start = ~0ull, number = 0;
    if (lane_id() == 0 && !volatile_load(&run_.counters->stop)) {
      start = atomicAdd(&run_.counters->output_used, words);
      if (start + words <= run_.output_words) {
        number = atomicAdd(&run_.counters->n_chunks, 1ull);
      } else {
        atomicCAS(&run_.counters->stop, 0ull, static_cast<u64>(Stop::kPark));
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

/// The values of the best bicliques that any warp has found so far: what another one must reach is
/// the least of them, once there are enough.
///
/// Each biclique is found once, so that so many are certainly worth as much. Values enter rarely:
/// of N bicliques in random order k · ln(N / k) do.
class WarpBest {
 public:
  explicit WarpBest(const Run& run) : run_(run), worth_(run.worth()) {}

  /// May one of at most so many rows and columns be wanted?
  bool hopeful(u64 n_rows, u64 n_columns) const { return worth_.most(n_rows, n_columns) >= least(); }
  /// Is a biclique wanted, as far as is known? If so, its value is noted.
  bool wants(u64 n_rows, u64 n_columns, u64 row_terms, u64 column_terms) const {
    const i64 value = worth_.value(n_rows, n_columns, static_cast<i64>(row_terms), static_cast<i64>(column_terms));
    if (value < least() || !worth_.sizes.accept(n_rows, n_columns)) return false;
    if (value > least() || volatile_load(&run_.best->n) < run_.n_best) note(run_, value);
    return true;
  }

 private:
  const Run& run_;
  const Worth worth_;

  struct Place {
    i64 value;
    u64 at;
  };

  i64 least() const { return read(&run_.best->least); }
  static i64 read(const i64* p) { return *static_cast<const volatile i64*>(p); }
  static void write(i64* p, i64 value) { *static_cast<volatile i64*>(p) = value; }

  BICLIQ_CALL static void note(const Run& run, i64 value) {
    Best* best = run.best;
    u32 locked = 0;
    if (lane_id() == 0) locked = lock(run, value);
    if (!__shfl_sync(~0u, locked, 0)) return;
    __threadfence();
    const u64 n = volatile_load(&best->n);
    const Place lowest = find_least(run, n);
    const bool full = n == run.n_best;
    if (!full || value > lowest.value) {
      if (lane_id() == 0) {
        write(run.best_values + (full ? lowest.at : n), value);
        if (!full) *static_cast<volatile u64*>(&best->n) = n + 1;
      }
      __threadfence();
      __syncwarp();
      if (full || n + 1 == run.n_best) {
        const i64 least = find_least(run, run.n_best).value;
        if (lane_id() == 0 && least > read(&best->least)) write(&best->least, least);
      }
    }
    __threadfence();
    __syncwarp();
    if (lane_id() == 0) atomicExch(&best->lock, 0ull);
  }
  /// Waits for its turn; false where others have found enough that is worth more meanwhile. At the
  /// start thousands of warps wait, nearly all of them in vain.
  static bool lock(const Run& run, i64 value) {
    while (atomicCAS(&run.best->lock, 0ull, 1ull)) {
      __nanosleep(100);
      if (volatile_load(&run.best->n) == run.n_best && value <= read(&run.best->least)) return false;
    }
    return true;
  }
  /// The least of n values, and where it is.
  static Place find_least(const Run& run, u64 n) {
    Place found{Worth::kUnbounded, 0};
    BICLIQ_ROLL
    for (u64 i = lane_id(); i < n; i += kLanes)
      if (const i64 value = read(run.best_values + i); value < found.value) found = {value, i};
    BICLIQ_ROLL
    for (u32 step = kLanes / 2; step; step /= 2) {
      const Place other{__shfl_xor_sync(~0u, found.value, step), __shfl_xor_sync(~0u, found.at, step)};
      if (other.value < found.value || (other.value == found.value && other.at < found.at)) found = other;
    }
    return found;
  }
};

/// A sink that adds to the digest, and where asked writes records: of all bicliques, or of those
/// that may be among the best. A lane holds one row of the narrow subtree, and one column of the
/// leaf.
template <bool kWrites, bool kChooses = false>
class WarpMembers {
 public:
  static constexpr bool kMembers = true, kIds = kWrites, kBounded = kWrites, kHopes = kChooses;
  WarpMembers(const Run& run, const WarpPool& workers)
      : run_(run), limits_(run.limits()), tally_(run), output_(run, workers), best_(run) {}
  bool hopeful(u64 n_rows, u64 n_columns) const { return best_.hopeful(n_rows, n_columns); }
  void root(u32 v) { root_ = v; }
  bool room(u64 rows, u64 columns) { return output_.room(rows, columns); }
  u64 column_hash(u32 c) const { return run_.column_hashes ? run_.column_hashes[c] : 0; }
  void rows(const u32* rows, u32 n) {
    row_ = lane_id() < n ? rows[lane_id()] : 0;
    row_hash_ = lane_id() < n && run_.row_hashes ? run_.row_hashes[row_] : 0;
  }
  void leaf(const Members&, const u32* ids, u32 n) {
    leaf_ = lane_id() < n ? ids[lane_id()] : 0;
    leaf_hash_ = lane_id() < n ? column_hash(leaf_) : 0;
  }
  void found(u32 rows, const Members& members) {
    if (!limits_.accepts(popcount(rows), members.n)) return;
    if (!account(popcount(rows), members.n, total(flags(rows).on ? row_hash_ : 0), members.hash)) return;
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n);
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
    }
  }
  void found_in_leaf(u32 rows, const Members& members, u32 joined) {
    if (!limits_.accepts(popcount(rows), members.n + popcount(joined))) return;
    if (!account(popcount(rows), members.n + popcount(joined), total(flags(rows).on ? row_hash_ : 0),
                 members.hash + total(flags(joined).on ? leaf_hash_ : 0)))
      return;
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n + popcount(joined));
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
      output_.selected(leaf_, joined);
    }
  }
  void found(const u32* rows, u32 n, const Members& members) {
    if (!limits_.accepts(n, members.n)) return;
    if (!account(n, members.n, row_hashes(rows, n), members.hash)) return;
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
    if (!account(1, n, row_hashes(&row, 1), total(hash))) return;
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
  WarpBest best_;  // asked where only the best are wanted
  u64 row_hash_ = 0, leaf_hash_ = 0, digest_ = 0;
  u32 row_ = 0, leaf_ = 0, root_ = 0;

  /// The sum of a 64-bit word of every lane, modulo 2^64: in three pieces of 22 bits, whose sums
  /// fit in 32.
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
  /// Counts a biclique, from its sizes and its sums of hashes; false where it is not wanted.
  bool account(u32 n_rows, u32 n_columns, u64 rows, u64 columns) {
    if constexpr (kChooses) {
      if (!best_.wants(n_rows, n_columns, rows, columns)) return false;
    } else if (run_.row_hashes) {
      digest_ += run_.hash_of(rows, columns);
    }
    tally_.add();
    return true;
  }
};

/// Where a warp is with its tasks.
struct TaskState {
  Task task = {};
  u32 held = false;       // whether the task has been taken, but not begun
  u32 tasks_left = true;  // whether there may be more
};

/// What a warp keeps between two launches.
template <class Search>
class Parking {
 public:
  Parking(const Run& run, u64 warp) : words_(run.parked + warp * kParkedWords) {}

  void save(Search& search, const WarpWorkspace& memory, u32 open, const TaskState& tasks) const {
    u32* to = words_;
    const auto keep = [&to](const auto& field) {
      static_assert(sizeof(field) % 4 == 0, "fields are whole words");
      u32 words[sizeof(field) / 4];
      memcpy(words, &field, sizeof(field));
      for (u32 i = 0; i < sizeof(field) / 4; ++i) put(to++, words[i]);
    };
    keep(1u);
    keep(open);
    keep(tasks);
    keep(memory.mark());
    search.each_field(keep);
  }
  /// Returns whether a search is open; nothing is restored in the first launch.
  bool restore(Search& search, WarpWorkspace& memory, TaskState& tasks) const {
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
    take(tasks);
    take(used);
    if (open) {
      memory.release(used);
      search.each_field(take);
    }
    return open;
  }

 private:
  u32* const words_;
};

/// Takes the next task; false where none is left.
inline bool take_task(const Run& run, Task& task) {
  u64 t = 0;
  if (lane_id() == 0)
    t = volatile_load(&run.counters->stop) == static_cast<u64>(Stop::kEnd) ? ~0ull
                                                                           : atomicAdd(&run.counters->next_task, 1ull);
  t = __shfl_sync(~0u, t, 0);
  if (t >= run.counters->n_tasks) return false;
  task = run.tasks[t];
  return true;
}

/// Writes the biclique that a task stands for itself: that of its row, or, with the first task of a
/// root, that of the root. False where there is no room.
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

/// What a warp does: tasks first, then subtrees that are given to it, until none is left or all
/// park.
template <class Sink>
inline void search(const Run& run) {
  const u64 warp = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  WarpWorkspace memory(run.workspace + warp * run.workspace_words, run.workspace_words);
  WarpPool workers(run);
  Sink sink(run, workers);
  using Search = MaximalBicliques<Sink, WarpPool, WarpWorkspace>;
  Search search(run.limits(), workers, sink, memory);
  TaskState tasks;
  bool open = false;
  if constexpr (Sink::kBounded) open = Parking<Search>(run, warp).restore(search, memory, tasks);
  const long long start = clock64();
  long long waited = 0;
  for (;;) {
    Next next = Next::kStep;
    if (open) {
      next = search.resume();
    } else {
      Subtree tree;
      if (tasks.tasks_left) {
        if (!tasks.held && !take_task(run, tasks.task)) {
          tasks.tasks_left = false;
          workers.done();
          continue;
        }
        tasks.held = true;
        if constexpr (Sink::kBounded)
          if (!write_own(run, tasks.task, sink)) break;
        tasks.held = false;
        if (tasks.task.subtree == kOneRow) continue;
        tree = run.subtrees[tasks.task.subtree];
        if (tree.wide) {
          tree.from = tasks.task.from;
          tree.to = tasks.task.to;
        }
        if (Sink::kBounded && !tree.wide && !tree.n_candidates) continue;
      } else {
        const long long before = clock64();
        const Subtree* given = workers.take();
        waited += clock64() - before;
        if (!given) break;
        tree = *given;
      }
      memory.release(0);
      next = search.open(tree);
    }
    search.run(next);
    open = Sink::kBounded && search.parked();
    if (open) break;
    if (!tasks.tasks_left) workers.done();
  }
  if constexpr (Sink::kBounded) Parking<Search>(run, warp).save(search, memory, open, tasks);
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

// All four searches take most of a minute to compile; BICLIQ_SEARCH asks for one of them.
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

#if !defined(BICLIQ_SEARCH) || BICLIQ_SEARCH == 3
extern "C" __global__ void __launch_bounds__(32 * BICLIQ_WARPS, BICLIQ_BLOCKS) search_best(const Run* run) {
  search<WarpMembers<true, true>>(*run);
}
#endif

// ---- from records to lists ----------------------------------------------------------------------

/// Writes how many records, rows and columns each chunk holds, in three arrays one after the other;
/// a thread a chunk.
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

/// Writes the records of each chunk as lists; a warp a chunk. `ends` says where those of a chunk
/// end (the measured sizes, added up). The number of its biclique stands above each id, so that one
/// sort puts every list in order.
extern "C" __global__ void unpack_chunks(const Run* run, const u64* sizes, const u64* ends, u64 n_chunks, i32* roots,
                                         i32* row_ends, i32* column_ends, u64* rows, u64* columns) {
  const u64 i = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  if (i >= n_chunks) return;
  const u32 *at = run->output + run->chunks[i].start, *end = at + run->chunks[i].words;
  u64 number = ends[i] - sizes[i], row = ends[n_chunks + i] - sizes[n_chunks + i],
      column = ends[2 * n_chunks + i] - sizes[2 * n_chunks + i];
  for (; at < end; ++number) {
    const u32 n_rows = at[1], n_columns = at[2];
    if (lane_id() == 0) {
      roots[number] = run->column_ids[at[0]];
      row_ends[number] = static_cast<i32>(row + n_rows);
      column_ends[number] = static_cast<i32>(column + n_columns);
    }
    at += 3;
    for (u32 k = lane_id(); k < n_rows; k += kLanes)
      rows[row + k] = number << 32 | static_cast<u32>(run->row_ids[at[k]]);
    at += n_rows;
    for (u32 k = lane_id(); k < n_columns; k += kLanes)
      columns[column + k] = number << 32 | static_cast<u32>(run->column_ids[at[k]]);
    at += n_columns;
    row += n_rows;
    column += n_columns;
  }
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
