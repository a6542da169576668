// clique_launch.hpp: what the groups of a device share in a search for a maximum clique: graphs,
// tasks, memory, counters.
//
// kernels/cuda/clique_program.py describes these structs and sizes again, for the driver, which
// fills a `CliqueLaunch` and reads the counters; a program where the two differ does not compile.
#pragma once

#include "lanes/shared_words.hpp"

namespace bicliq {

constexpr u32 kNoRoot = ~0u, kWholeTree = ~0u;
constexpr u32 kBuildThreads = 256;  // of a block that builds roots

/// A local graph in the arena: for every vertex the row of its non-neighbours, as bits, then the
/// numbers of all vertices. With a root that is in every clique of it, or none.
struct CliqueTree {
  u64 at;  // where it begins in the arena
  u32 n, stride, root, pad;
  const u32* ids(const u32* arena) const { return arena + at + static_cast<u64>(n) * stride; }
};
/// All of a tree, or the cliques of one of its vertices with vertices before it.
struct CliqueTask {
  u32 tree, vertex;
};

/// The first eight words lie in one line of memory, which every group reads at every node
/// (`SharedWord`).
struct CliqueCounters {
  u64 head, tail;                // of the queue: tickets drawn, parts given
  u32 best, outside, stop, pad;  // sizes of the largest clique known to this device and to others; nonzero: all end
  u64 pending;                   // tasks and given parts that are not done
  u64 next_task, next_root, n_trees, arena_used, arena_full, nodes, given;
};
/// Places of 32-bit words in that line; of head and tail the low words.
enum SharedWord : u32 { kHead = 0, kTail = 2, kBest = 4, kOutside = 5, kStop = 6 };
static_assert(BICLIQ_PLACE(CliqueCounters, tail) == 4 * kTail &&
                  BICLIQ_PLACE(CliqueCounters, best) == 4 * kBest &&
                  BICLIQ_PLACE(CliqueCounters, outside) == 4 * kOutside &&
                  BICLIQ_PLACE(CliqueCounters, stop) == 4 * kStop,
              "words of the line");

/// Everything a kernel is told; 64-bit fields only.
struct CliqueLaunch {
  const u64* start;  // adjacency to later vertices in degeneracy order, ascending
  const u32 *later, *roots;
  u32 *scratch, *arena;
  CliqueTree* trees;
  const CliqueTask* tasks;
  u32 *turns, *slots;     // the queue: a flag and a part for each place
  u32 *stacks, *classes;  // a piece for every group
  u32* records;           // the best clique of every group: size, members
  CliqueCounters* counters;
  u64 n_roots, n_tasks, arena_words, scratch_words, slot_capacity, slot_words, most_levels, stack_words, class_words,
      near_words, small_levels;
  u64 recolour, refute;  // which bounds are used besides colouring
};

constexpr u32 kSmallStride = 8;  // words of a set of few vertices (warp_small.hpp) on the stack

/// Words of a level of the stack: candidates, branches, and `OpenLevels::best`.
constexpr u32 level_words(u32 stride) { return 2 * stride + 1; }
/// Words of a part that is given away: tree, size and members of the clique so far, and a level.
constexpr u32 slot_words(u32 stride, u32 levels) { return 2 + levels + level_words(stride); }
/// Words of a stack: the clique so far, before and within the task, and the levels of either kind.
constexpr u32 stack_words(u32 stride, u32 levels, u32 small_levels) {
  return 2 * levels + levels * level_words(stride) + small_levels * level_words(kSmallStride);
}

// ---- Parts of a clique search that busy groups give to idle ones.
//
// What it does: a ring of slots. A group with nothing to do draws a ticket (`take`), and waits for
// the flag of its slot alone. A busy group sees at every node whether more tickets were drawn than
// parts given, and then writes one part into the next slot. The search is over when no task and no
// part is left undone (`done`); the last group wakes those that wait.
//
// Why the ring is large enough: a group gives at most one part for each look that found others
// waiting, so parts are ahead of tickets by less than the number of groups, and a ring of twice as
// many slots never reaches a part that nobody has a ticket for. A slot is used again and again: its
// flag is 2·round when it may be written, and 2·round + 1 when it may be read. Groups need not all
// run at the same time: one that starts late finds what is left.

class WarpQueue {
 public:
  explicit WarpQueue(const CliqueLaunch& run) : run_(run) {}

  /// The ticket of a slot to write a part into, once it is free; `give` sends the part.
  u64 begin() const {
    fetch_add(&run_.counters->pending, 1);
    const u64 ticket = fetch_add(&run_.counters->tail, 1);
    u32* const turn = flag(ticket);
    const u32 mine = 2 * round(ticket);
    for (u32 polls = 1; read(turn) != mine && !stopped(polls); ++polls) rest(polls);
    fence();
    return ticket;
  }
  void give(u64 ticket) const {
    fence();
    publish(flag(ticket), 2 * round(ticket) + 1);
  }
  u32* slot(u64 ticket) const { return run_.slots + ticket % run_.slot_capacity * run_.slot_words; }

  /// Waits for a part; kNothing when the search is over. `taken` frees its slot, once it has been
  /// read.
  u64 take() const {
    const u64 ticket = fetch_add(&run_.counters->head, 1);
    const u32 wanted = 2 * round(ticket) + 1;
    fence();
    if (read(&run_.counters->pending) == 0) return kNothing;  // after the last `done`, which wakes nobody any more
    for (u32 polls = 1;; ++polls) {
      const u32 turn = read(flag(ticket));
      if (turn == wanted) break;
      if (turn == kEnded || stopped(polls)) return kNothing;
      rest(polls);
    }
    fence();
    return ticket;
  }
  void taken(u64 ticket) const {
    fence();
    publish(flag(ticket), 2 * round(ticket) + 2);
  }
  /// To be called when a task or a part is done.
  void done() const {
    fence();
    if (fetch_add(&run_.counters->pending, ~u64{0}) != 1) return;
    fence();
    const u64 head = read(&run_.counters->head);
    for (u64 ticket = read(&run_.counters->tail); ticket < head; ++ticket) publish(flag(ticket), kEnded);
  }

  static constexpr u64 kNothing = ~u64{0};

 private:
  static constexpr u32 kEnded = ~0u, kPollsBetweenStops = 64;
  u32* flag(u64 ticket) const { return run_.turns + ticket % run_.slot_capacity; }
  u32 round(u64 ticket) const { return static_cast<u32>(ticket / run_.slot_capacity); }
  bool stopped(u32 polls) const { return polls % kPollsBetweenStops == 0 && read(&run_.counters->stop); }

  const CliqueLaunch& run_;
};

}  // namespace bicliq
