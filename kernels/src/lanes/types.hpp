// types.hpp: integers under names that a host compiler, nvcc and NVRTC all know, and macros that
// say what a device compiler writes out (loops, functions) and what it does not.
#pragma once

#if defined(__CUDACC_RTC__)
namespace bicliq {
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
using usize = unsigned long long;
}  // namespace bicliq
// Where a member lies: NVRTC before CUDA 13.4 lacks the builtin; its own word is in all versions.
#define BICLIQ_PLACE(Struct, member) __INTADDR__(&((Struct*)0)->member)
#define BICLIQ_UNROLL _Pragma("unroll")
#define BICLIQ_UNROLL_8 _Pragma("unroll 8")
#define BICLIQ_ROLL _Pragma("unroll 1")  // a loop that is rarely run, or long: a device compiler writes all others out
#define BICLIQ_CALL __noinline__  // called, not copied to where it is used: a device compiler copies all else
#else
#include <cstddef>
#include <cstdint>
namespace bicliq {
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using usize = std::size_t;
}  // namespace bicliq
#define BICLIQ_PLACE(Struct, member) __builtin_offsetof(Struct, member)
#define BICLIQ_UNROLL
#define BICLIQ_UNROLL_8
#define BICLIQ_ROLL
#define BICLIQ_CALL
#define BICLIQ_INLINE __attribute__((always_inline)) inline
#endif
