// warp_queue.hpp: parts of a clique search that busy groups give to idle ones.
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
#pragma once

#include "clique/clique_launch.hpp"

namespace bicliq {

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
