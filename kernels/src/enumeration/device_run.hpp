// device_run.hpp: what the kernels of enumeration.cu share: the `Run` that they are told, its tasks, counters and output.
#pragma once

#include "lanes/hash.hpp"
#include "enumeration/mbe.hpp"

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
  u64 failure, busy, longest;  // cycles that all warps searched, and the one that did longest
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

inline void add_task(const Run& g, const Task& task) {
  const u64 at = atomicAdd(&g.counters->n_tasks, 1ull);
  if (at < g.task_capacity)
    g.tasks[at] = task;
  else
    g.fail(kTasksFull);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
