// enumeration.cu: the maximal bicliques of a graph on a GPU. The search is that of mbe.hpp, from
// the same headers as on a CPU, with a warp as the group of 32 lanes.
//
// What it finds: their number and digest (`search_count`, `search_members`), all of them
// (`search_bicliques`), or those that may be among the best of an objective (`search_best`); these
// are written as records, which `measure_chunks` and `unpack_chunks` turn into lists, whose ids
// ascend.
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
#include "search/device/device_roots.hpp"
#include "search/device/device_sinks.hpp"
#include "search/device/search_lists.hpp"

namespace bicliq {

// ---- the search ---------------------------------------------------------------------------------

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
  if constexpr (Sink::may_lack_room) open = Parking<Search>(run, warp).restore(search, memory, tasks);
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
        if constexpr (Sink::may_lack_room)
          if (!write_own(run, tasks.task, sink)) break;
        tasks.held = false;
        if (tasks.task.subtree == kOneRow) continue;
        tree = run.subtrees[tasks.task.subtree];
        if (tree.wide) {
          tree.from = tasks.task.from;
          tree.to = tasks.task.to;
        }
        if (Sink::may_lack_room && !tree.wide && !tree.n_candidates) continue;
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
    open = Sink::may_lack_room && search.parked();
    if (open) break;
    if (!tasks.tasks_left) workers.done();
  }
  if constexpr (Sink::may_lack_room) Parking<Search>(run, warp).save(search, memory, open, tasks);
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

/// Are the rows the smaller side of a biclique? Of equal ones, the left is.
inline bool rows_are_smaller(const Run& run, u32 n_rows, u32 n_columns) {
  return run.columns_are_left ? n_rows < n_columns : n_rows <= n_columns;
}

/// Writes how many records each chunk holds, and how many ids of rows and of columns are written of
/// them, in three arrays one after the other; a thread a chunk. Of smaller sides alone all ids
/// count as those of rows.
extern "C" __global__ void measure_chunks(const Run* run, u64* sizes, u64 n_chunks, u64 smaller_only) {
  const u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n_chunks) return;
  const u32 *at = run->output + run->chunks[i].start, *end = at + run->chunks[i].words;
  u64 records = 0, rows = 0, columns = 0;
  for (; at < end; at += 3 + at[1] + at[2]) {
    ++records;
    rows += smaller_only ? min(at[1], at[2]) : at[1];
    columns += smaller_only ? 0 : at[2];
  }
  sizes[i] = records;
  sizes[n_chunks + i] = rows;
  sizes[2 * n_chunks + i] = columns;
}

/// Writes the ids of a list, ascending where each has a lane; `sort_long_lists` does the others.
inline void put_list(i32* to, const i32* ids, const u32* vertices, u32 n) {
  if (n > kLanes) {
    for (u32 k = lane_id(); k < n; k += kLanes) to[k] = ids[vertices[k]];
    return;
  }
  const i32 own = lane_id() < n ? ids[vertices[lane_id()]] : 0;
  u32 place = 0;
  for (u32 k = 0; k < n; ++k) place += __shfl_sync(~0u, own, k) < own;
  if (lane_id() < n) to[place] = own;
}

/// Writes the records of each chunk as lists; a warp a chunk. `ends` says where those of a chunk
/// end (the measured sizes, added up).
extern "C" __global__ void unpack_chunks(const Run* run, const u64* sizes, const u64* ends, u64 n_chunks, i32* roots,
                                         i32* row_ends, i32* column_ends, i32* rows, i32* columns) {
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
    put_list(rows + row, run->row_ids, at, n_rows);
    at += n_rows;
    put_list(columns + column, run->column_ids, at, n_columns);
    at += n_columns;
    row += n_rows;
    column += n_columns;
  }
}

/// The same of the smaller sides alone: one list of each biclique, and the sizes of both sides.
extern "C" __global__ void unpack_smaller(const Run* run, const u64* sizes, const u64* ends, u64 n_chunks, i32* roots,
                                          i32* list_ends, i32* row_counts, i32* column_counts, i32* lists) {
  const u64 i = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  if (i >= n_chunks) return;
  const u32 *at = run->output + run->chunks[i].start, *end = at + run->chunks[i].words;
  u64 number = ends[i] - sizes[i], first = ends[n_chunks + i] - sizes[n_chunks + i];
  for (; at < end; ++number) {
    const u32 n_rows = at[1], n_columns = at[2], n = min(n_rows, n_columns);
    if (lane_id() == 0) {
      roots[number] = run->column_ids[at[0]];
      list_ends[number] = static_cast<i32>(first + n);
      row_counts[number] = static_cast<i32>(n_rows);
      column_counts[number] = static_cast<i32>(n_columns);
    }
    at += 3;
    const bool rows = rows_are_smaller(*run, n_rows, n_columns);
    put_list(lists + first, rows ? run->row_ids : run->column_ids, rows ? at : at + n_rows, n);
    at += n_rows + n_columns;
    first += n;
  }
}

inline void put_in_order(i32* values, u32 i, u32 j) {
  const i32 a = values[i], b = values[j];
  if (a <= b) return;
  values[i] = b;
  values[j] = a;
}

/// Puts the ids of a list in order; a block. Bitonic: pieces of 2, 4, 8 … are merged, each with its
/// neighbour from the ends inwards, and then at half the distance again and again. What would lie
/// behind the last id counts as larger than all, and stays there. O(n log² n).
inline void sort_list(i32* values, u32 n) {
  u32 padded = 1;
  while (padded < n) padded *= 2;
  for (u32 size = 2; size <= padded; size *= 2) {
    for (u32 distance = size / 2; distance; distance /= 2) {
      const bool inwards = distance == size / 2;
      for (u32 pair = threadIdx.x; pair < padded / 2; pair += blockDim.x) {
        const u32 within = pair % distance, i = pair / distance * 2 * distance + within;
        const u32 j = inwards ? i + 2 * (distance - within) - 1 : i + distance;
        if (j < n) put_in_order(values, i, j);
      }
      __syncthreads();
    }
  }
}

/// Does that to the lists that a warp has not put in order (`put_list`). Of many, a block looks at
/// some together, a thread at each; of few at one, since a long list takes long.
extern "C" __global__ void sort_long_lists(const Run*, const i32* offsets, u64 n_lists, i32* ids) {
  __shared__ u32 long_lists[kSortThreads], n_long;
  const u64 share = (n_lists + gridDim.x - 1) / gridDim.x, together = share < kSortThreads ? share : kSortThreads;
  for (u64 first = blockIdx.x * together; first < n_lists; first += gridDim.x * together) {
    if (threadIdx.x == 0) n_long = 0;
    __syncthreads();
    const u64 own = first + threadIdx.x;
    if (threadIdx.x < together && own < n_lists && offsets[own + 1] - offsets[own] > static_cast<i32>(kLanes)) long_lists[atomicAdd(&n_long, 1u)] = threadIdx.x;
    __syncthreads();
    for (u32 k = 0; k < n_long; ++k) {
      const i32* const at = offsets + first + long_lists[k];
      sort_list(ids + at[0], static_cast<u32>(at[1] - at[0]));
    }
    __syncthreads();
  }
}

/// Takes a step of those that make the lists of the graph.
extern "C" __global__ void lay_out_lists(const SearchLists* lists, ListStep step) {
  const u64 n_threads = static_cast<u64>(gridDim.x) * blockDim.x;
  ListSteps(*lists).take(step, static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x, n_threads);
}

/// Moves subtrees in the queue that warps give away to: the i-th from `moves[n + i]` to `moves[i]`,
/// none of which is where another one comes from; a warp each.
extern "C" __global__ void move_subtrees(const Run* run, const u32* moves, u64 n) {
  const u64 i = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  if (i >= n) return;
  const u32* const from = reinterpret_cast<const u32*>(run->slots + moves[n + i]);
  u32* const to = reinterpret_cast<u32*>(run->slots + moves[i]);
  for (u32 k = lane_id(); k < sizeof(Subtree) / 4; k += kLanes) to[k] = from[k];
}

}  // namespace bicliq
