// device_run.hpp: what the kernels of enumeration.cu share: the `Run` that they are told, its
// tasks, counters and output.
//
// kernels/cuda/search_program.py describes these structs and numbers again, for the driver, which
// writes and reads them; a program where the two differ does not compile.
#pragma once

#include "search/mbe.hpp"
#include "graphs/objective.hpp"
#include "lanes/errors.hpp"
#include "lanes/hash.hpp"

namespace bicliq {

constexpr u32 kHeavyThreads = 1024, kLightThreads = 64;  // of a block that builds roots
constexpr u32 kSortThreads = 128;  // of a block that sorts lists
constexpr u32 kScratchWordsAColumn = 4;                  // of such a block, and a word for each row of the largest root
constexpr u32 kParkedWords = 64;  // that a warp keeps between two launches, besides its workspace

/// Some candidates of a subtree; or, as subtree kOneRow, a row whose own biclique is to be written.
struct Task {
  u32 subtree, from, to;
};
constexpr u32 kOneRow = ~0u;

/// Why all warps end: for good, or until the output has been emptied.
enum class Stop : u64 { kEnd = 1, kPark = 2 };

/// State of a place in the queue of subtrees that warps give away.
enum class Slot : u32 { kEmpty = 0, kFilled = 1, kEnded = 2, kTaken = 3 };

/// Counters that all blocks share. Busy warps poll the first three together. Waiting ones do not:
/// there may be thousands, so each polls a flag of its own, in memory that nobody else reads.
struct Counters {
  u64 head;  // tickets that waiting warps have drawn
  u64 tail;  // subtrees that were given away
  u64 stop;  // a `Stop`, or 0
  u64 found, digest, nodes, dropped;
  u64 next_heavy, next_light, next_task;
  u64 arena_used, n_subtrees, n_tasks;
  u64 pending;        // warps that have tasks, and given subtrees that are not done
  u64 failure;        // a `Failure`
  u64 busy, longest;  // cycles that all warps searched together, and the one that did longest
  u64 output_used, n_chunks;
};
enum PolledCounter : u32 { kHead, kTail, kStop, kPolledCounters };
static_assert(BICLIQ_PLACE(Counters, tail) == 8 * kTail && BICLIQ_PLACE(Counters, stop) == 8 * kStop,
              "one lane reads each");

/// A piece of the output that one warp wrote.
struct Chunk {
  u64 start, words;
};

/// What is known of the best bicliques that any warp has found: how many values there are, and what
/// another biclique must reach.
struct Best {
  u64 lock, n;
  i64 least;
};

/// Everything a kernel is told; 64-bit fields only.
struct Run {
  // The graph: the columns of every row and the rows of every column, ascending; and for each edge
  // of a column the place of the column in the row's list.
  const u64 *row_start, *column_start;
  const u32 *row_columns, *column_rows, *places;
  const u64 *row_hashes, *column_hashes;  // null where nothing is digested
  const u32 *is_root, *roots;             // a flag for each column; the roots, those for large blocks first
  // Memory: of the builders of roots; of subtrees, until the search ends; of the search, a piece a
  // warp.
  u32 *scratch, *arena;
  Subtree* subtrees;
  Task* tasks;
  Subtree* slots;
  u32 *slot_states, *workspace;
  Counters* counters;
  u32 *parked, *output;  // null where bicliques are only counted, and so are these three
  Chunk* chunks;
  const i32 *row_ids, *column_ids;
  u64 n_rows, n_columns, n_heavy, n_light, max_degree;
  u64 arena_words, subtree_capacity, task_capacity, slot_capacity, workspace_words;
  u64 min_rows, min_columns, min_edges, columns_are_left, max_bicliques, task_words;
  u64 output_words, chunk_words, max_row_degree;
  // Where the best ones are wanted: the values of those that are known, how many are wanted, and
  // how they are valued; hashes are then terms.
  Best* best;
  i64* best_values;
  u64 n_best, objective, max_rows, max_columns;
  i64 largest_pair, row_charge, column_charge;
  // Of surprise: what a choice of so many rows or columns costs, the terms that values are made of,
  // and what corrects the sum of two.
  const i64 *row_costs, *column_costs, *own_row_terms, *own_column_terms;
  const i32* corrections;
  u64 n_corrections, lowest_corrected, correction_shift;

  Worth worth() const {
    return {static_cast<Objective>(objective), {limits(), static_cast<u32>(max_rows), static_cast<u32>(max_columns)},
            largest_pair, row_costs, column_costs, row_charge, column_charge};
  }
  Correction correction() const {
    return {corrections, static_cast<i64>(lowest_corrected), static_cast<u32>(n_corrections), static_cast<u32>(correction_shift)};
  }
  Limits limits() const { return {static_cast<u32>(min_rows), static_cast<u32>(min_columns), min_edges}; }
  u32 column_degree(u32 c) const { return static_cast<u32>(column_start[c + 1] - column_start[c]); }
  u32 row_degree(u32 r) const { return static_cast<u32>(row_start[r + 1] - row_start[r]); }
  u64 hash_of(u64 rows, u64 columns) const {
    return columns_are_left ? biclique_hash(columns, rows) : biclique_hash(rows, columns);
  }
  void fail(Failure why) const {
    atomicExch(&counters->failure, static_cast<u64>(why));
    atomicExch(&counters->stop, static_cast<u64>(Stop::kEnd));
  }
  /// Reserves words of the arena; null where it is full.
  u32* reserve(u64 words) const {
    const u64 at = atomicAdd(&counters->arena_used, words);
    return at + words <= arena_words ? arena + at : nullptr;
  }
};

inline u64 volatile_load(const u64* p) { return *static_cast<const volatile u64*>(p); }

inline void add_task(const Run& g, const Task& task) {
  const u64 at = atomicAdd(&g.counters->n_tasks, 1ull);
  if (at < g.task_capacity)
    g.tasks[at] = task;
  else
    g.fail(Failure::kTasksFull);
}

// ---- The memory of a warp, and the other warps as it sees them.

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

}  // namespace bicliq
