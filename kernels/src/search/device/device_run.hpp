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
  i64 largest_pair;

  Worth worth() const {
    return {static_cast<Objective>(objective), {limits(), static_cast<u32>(max_rows), static_cast<u32>(max_columns)}, largest_pair};
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

}  // namespace bicliq
