// tuning.hpp: how the search is laid out on this machine; numbers that were measured, not derived.
//
// On a GPU kernels/cuda/tuning.py sets them (its docstring says what each does), so that a
// benchmark can compare layouts.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

#if defined(__CUDACC_RTC__)
#ifndef BICLIQ_MOST_GIVEN
#define BICLIQ_MOST_GIVEN 4
#endif
#ifndef BICLIQ_SHARES
#define BICLIQ_SHARES 3
#endif
#ifndef BICLIQ_POLL
#define BICLIQ_POLL 32
#endif
#ifndef BICLIQ_TALL
#define BICLIQ_TALL 0
#endif
constexpr u32 kMostGiven = BICLIQ_MOST_GIVEN;
constexpr u32 kShares = BICLIQ_SHARES;
constexpr u32 kNodesAPoll = BICLIQ_POLL;
constexpr bool kTallNodes = BICLIQ_TALL;  // their code slows all other nodes: it crowds the instruction cache
constexpr u32 kNodesAStep = 8;
constexpr usize kLargestPlan = usize{1} << 18;
constexpr u32 kRowsAColumnWord = 4;
#else
constexpr u32 kShares = 2;       // a worker that gives hands over one of so many shares of its shallowest open level
constexpr u32 kNodesAPoll = 64;  // nodes of a leaf between two looks at whether workers wait
constexpr bool kTallNodes = true;
constexpr u32 kNodesAStep = 2;                  // nodes of a leaf that take as long as a step of another narrow node, at least
constexpr usize kLargestPlan = usize{1} << 12;  // words of a matrix that may be looked at in order to make a smaller one
constexpr u32 kRowsAColumnWord = 1;             // rows that are transposed in the time in which `count_rows` reads a word
#endif

}  // namespace BICLIQ_ISA
}  // namespace bicliq
