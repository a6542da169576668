// device_workers.hpp: the memory of a warp, and the other warps as it sees them.
#pragma once

#include "search/device/device_run.hpp"

namespace bicliq {

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
