// shared_words.hpp: words of memory that several groups of lanes read and write at the same time.
//
// Counters, flags and fences. All lanes of a group call these functions together, and they act once
// for the group: on a GPU its first lane does, and on a CPU a group is a thread. So what is written
// with them (a queue, the size of the best clique) runs on a CPU as it does on a GPU, and is tested
// there.
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

#if defined(__CUDACC_RTC__)

__device__ inline u32 last_set(u32 x) { return 31 - __clz(x); }
__device__ inline u64 fetch_add(u64* p, u64 x) {
  u64 old = 0;
  if (lane_id() == 0) old = atomicAdd(p, x);
  return __shfl_sync(~0u, old, 0);
}
__device__ inline u32 fetch_max(u32* p, u32 x) {
  u32 old = 0;
  if (lane_id() == 0) old = atomicMax(p, x);
  return __shfl_sync(~0u, old, 0);
}
__device__ inline u64 read(const u64* p) {
  u64 x = 0;
  if (lane_id() == 0) x = *static_cast<const volatile u64*>(p);
  return __shfl_sync(~0u, x, 0);
}
__device__ inline u32 read(const u32* p) {
  u32 x = 0;
  if (lane_id() == 0) x = *static_cast<const volatile u32*>(p);
  return __shfl_sync(~0u, x, 0);
}
/// Eight words that lie side by side, read in one access to memory.
struct Line {
  u32 own;
  __device__ explicit Line(const u32* p) : own(lane_id() < 8 ? static_cast<const volatile u32*>(p)[lane_id()] : 0) {}
  __device__ u32 get(u32 i) const { return __shfl_sync(~0u, own, i); }
};
/// A group that sees what this one writes after the fence also sees what it wrote before.
__device__ inline void fence() {
  __threadfence();
  __syncwarp();
}
__device__ inline void publish(u32* p, u32 x) {
  if (lane_id() == 0) *static_cast<volatile u32*>(p) = x;
}
__device__ inline void rest(u32 polls) { __nanosleep(polls < 8 ? 100 : 500); }
// The next two read and write past the first-level cache, which a warp on another multiprocessor
// does not update.
__device__ inline Lanes load_fresh(const u32* p, Flags f) { return {f.on ? __ldcg(p + lane_id()) : 0u}; }
__device__ inline void store_fresh(u32* p, Lanes a, Flags f) {
  if (f.on) __stcg(p + lane_id(), a.v);
}
// Words at a distance, of the lanes that there are where n is more.
__device__ inline Lanes read_apart(const u32* p, u32 distance, u32 n) { return load_apart(p, distance, n); }
__device__ inline void store_apart(u32* p, u32 distance, Lanes a, u32 n) {
  if (lane_id() < n) p[lane_id() * distance] = a.v;
}
/// Rows of words, one after the other at a distance, read one word a lane. Made so that an address
/// takes a single multiplication.
struct WordRows {
  const char* own = nullptr;
  u32 bytes = 0;
  WordRows() = default;
  /// Lanes from `n` on read the same word as lane n - 1.
  __device__ WordRows(const u32* first, u32 distance, u32 n)
      : own(reinterpret_cast<const char*>(first + (lane_id() < n ? lane_id() : n - 1))), bytes(4 * distance) {}
  __device__ const u32* at(u32 i) const { return reinterpret_cast<const u32*>(own + static_cast<u64>(i) * bytes); }
  __device__ Lanes get(u32 i) const { return {*at(i)}; }
  /// The same for rows that nobody writes while a kernel runs, `words` further on.
  __device__ Lanes get_constant(u32 i, u32 words, Flags) const { return {__ldg(at(i) + words)}; }
};
__device__ inline Flags only_lane(u32 j) { return {lane_id() == j}; }
/// A group's piece of the block's shared memory, by its place there: a compiler that knows that
/// memory is shared reads it by faster instructions.
extern __shared__ __align__(16) u32 shared_memory[];
struct NearWords {
  u32 first;
  __device__ explicit NearWords(const u32* p) : first(static_cast<u32>(p - shared_memory)) {}
  __device__ u32* at(u32 i) const { return shared_memory + first + i; }
};
/// Flags the lane whose number is that of the lowest set bit; no lane if there is none. The number
/// that a lane needs for that comes from a shuffle, since a compiler keeps only what it cannot
/// compute again.
struct LowestLane {
  u32 above;
  __device__ LowestLane() : above(__shfl_sync(~0u, kLanes - 1 - lane_id(), lane_id())) {}
  __device__ Flags operator()(u32 bits) const { return {bits << above == 1u << (kLanes - 1)}; }
};
/// Has a row of bits the one that a lane names?
__device__ inline Flags has_bit(const u32* row, Lanes place) { return {(row[place.v / 32] >> place.v % 32 & 1) != 0}; }
/// For which i < n does f(i) hold? One bit each, n at most 32; f must not use the group.
template <class F>
__device__ inline u32 lanes_where(u32 n, F f) {
  return __ballot_sync(~0u, lane_id() < n && f(lane_id()));
}
// For a single lane, on words that other lanes of its group change as well.
__device__ inline void count_one(u32* p) { atomicAdd(p, 1u); }
__device__ inline void clear_bit(u32* row, u32 i) { atomicAnd(row + i / 32, ~(1u << i % 32)); }

// ---- the same for a single thread: on a GPU one of a warp, on a CPU one of a test

__device__ inline u64 read_alone(const u64* p) { return *static_cast<const volatile u64*>(p); }
/// Adds to a word, and returns what it was.
__device__ inline u64 add_alone(u64* p, u64 x) { return atomicAdd(p, x); }
/// Puts x in the place of `expected`; returns what was there, which is `expected` if it did.
__device__ inline u64 replace_alone(u64* p, u64 expected, u64 x) { return atomicCAS(p, expected, x); }

#else

inline u32 last_set(u32 x) { return 31 - static_cast<u32>(__builtin_clz(x)); }
inline u64 fetch_add(u64* p, u64 x) { return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST); }
inline u32 fetch_max(u32* p, u32 x) {
  u32 old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (old < x && !__atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}
inline u64 read(const u64* p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
inline u32 read(const u32* p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
struct Line {
  const u32* from;
  explicit Line(const u32* p) : from(p) {}
  u32 get(u32 i) const { return read(from + i); }
};
inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void publish(u32* p, u32 x) { __atomic_store_n(p, x, __ATOMIC_SEQ_CST); }
void rest(u32 polls);  // lets another thread run; defined where groups are threads (bind_clique_device.cpp)
inline Lanes load_fresh(const u32* p, Flags f) { return load(p, f); }
inline void store_fresh(u32* p, Lanes a, Flags f) { store(p, a, f); }
inline Lanes read_apart(const u32* p, u32 distance, u32 n) { return load_apart(p, distance, n < kLanes ? n : kLanes); }
inline void store_apart(u32* p, u32 distance, Lanes a, u32 n) {
  alignas(64) u32 words[kLanes];
  store(words, a);
  for (u32 i = 0; i < kLanes && i < n; ++i) p[i * distance] = words[i];
}
struct WordRows {
  const u32* first = nullptr;
  u32 distance = 0;
  WordRows() = default;
  WordRows(const u32* first, u32 distance, u32) : first(first), distance(distance) {}
  Lanes get(u32 i) const { return load(first + static_cast<usize>(i) * distance); }
  Lanes get_constant(u32 i, u32 words, Flags real) const {
    return load(first + static_cast<usize>(i) * distance + words, real);
  }
};
inline Flags only_lane(u32 j) { return flags(1u << j); }
struct NearWords {
  u32* first;
  explicit NearWords(u32* p) : first(p) {}
  u32* at(u32 i) const { return first + i; }
};
struct LowestLane {
  LowestLane() {}
  Flags operator()(u32 bits) const { return flags(bits & (0u - bits)); }
};
inline Flags has_bit(const u32* row, Lanes place) {
  alignas(64) u32 places[kLanes];
  store(places, place);
  u32 bits = 0;
  for (u32 i = 0; i < kLanes; ++i) bits |= (row[places[i] / 32] >> places[i] % 32 & 1) << i;
  return flags(bits);
}
template <class F>
inline u32 lanes_where(u32 n, F f) {
  u32 bits = 0;
  for (u32 i = 0; i < kLanes && i < n; ++i) bits |= u32{f(i)} << i;
  return bits;
}
inline void count_one(u32* p) { ++*p; }
inline void clear_bit(u32* row, u32 i) { row[i / 32] &= ~(1u << i % 32); }

// ---- the same for a single thread: on a GPU one of a warp, on a CPU one of a test

inline u64 read_alone(const u64* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline u64 add_alone(u64* p, u64 x) { return __atomic_fetch_add(p, x, __ATOMIC_RELAXED); }
inline u64 replace_alone(u64* p, u64 expected, u64 x) {
  __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

#endif

}  // namespace bicliq
