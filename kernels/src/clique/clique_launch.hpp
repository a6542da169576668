// clique_launch.hpp: what the groups of a device search for a maximum clique share: graphs, tasks, memory, counters.
//
// The driver (cuda_clique.py) fills a `CliqueLaunch` and reads the counters, so the fields and their order are those of
// its lists of names. 64-bit fields only.
#pragma once

#include "lanes/shared_words.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

constexpr u32 kNoRoot = ~0u, kWholeTree = ~0u;

/// A local graph: its rows of strangers, then the numbers of its vertices, in the arena. With a root that is in every clique.
struct CliqueTree {
  u64 at;  // in the arena
  u32 n, stride, root, pad;
  const u32* ids(const u32* arena) const { return arena + at + static_cast<u64>(n) * stride; }
};
/// All of a tree, or what begins with one of its vertices and goes on with those before it.
struct CliqueTask {
  u32 tree, vertex;
};

/// The first eight words lie in one line of memory, which every group reads at every node.
struct CliqueCounters {
  u64 head, tail;  // of the queue: tickets taken, parts given
  u32 best, outside, stop, pad;  // sizes of the largest clique known here and elsewhere; nonzero: everybody ends
  u64 pending;                   // tasks and given parts that are not done
  u64 next_task, next_root, n_trees, arena_used, arena_full, nodes, given;
};

struct CliqueLaunch {
  const u64* start;  // adjacency to later vertices in degeneracy order
  const u32 *later, *roots;
  u32 *scratch, *arena;
  CliqueTree* trees;
  const CliqueTask* tasks;
  u32 *turns, *slots;      // the queue
  u32 *stacks, *classes;   // a piece for every group
  u32* records;            // the best clique of every group: size, members
  CliqueCounters* counters;
  u64 n_roots, n_tasks, arena_words, scratch_words, slot_capacity, slot_words, most_levels, stack_words, class_words, near_words, small_levels;
  u64 recolour, refute;
};
static_assert(sizeof(CliqueTree) == 24 && sizeof(CliqueCounters) == 12 * 8 && sizeof(CliqueLaunch) == 26 * 8, "cuda_clique.py lists the fields");

}  // namespace BICLIQ_ISA
}  // namespace bicliq
