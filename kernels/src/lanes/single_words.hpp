// single_words.hpp: words of memory that many threads change at the same time, each for itself.
//
// What shared_words.hpp does once for a group of lanes, these functions do for a single thread: on
// a GPU one of a warp, which need not wait for the others, and on a CPU one of a test.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

#if defined(__CUDACC_RTC__)

__device__ inline u64 read_alone(const u64* p) { return *static_cast<const volatile u64*>(p); }
/// Adds to a word, and returns what it was.
__device__ inline u64 add_alone(u64* p, u64 x) { return atomicAdd(p, x); }
/// Puts x in the place of `expected`; returns what was there, which is `expected` if it did.
__device__ inline u64 replace_alone(u64* p, u64 expected, u64 x) { return atomicCAS(p, expected, x); }

#else

inline u64 read_alone(const u64* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline u64 add_alone(u64* p, u64 x) { return __atomic_fetch_add(p, x, __ATOMIC_RELAXED); }
inline u64 replace_alone(u64* p, u64 expected, u64 x) {
  __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

#endif

}  // namespace bicliq
