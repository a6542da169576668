// tuning.hpp: how the search is laid out on this machine; numbers that were measured, not derived.
//
// - kMostGiven: subtrees that a warp gives away at most in one go.
// - kShares: a worker that gives hands over one of so many shares of its shallowest open level.
// - kNodesAPoll: nodes of a leaf between two looks at whether other workers wait.
// - kNodesAStep: nodes of a leaf that take as long as a step of another narrow node, at least.
// - kTallNodes: whether nodes of few columns and many rows are lists of masks (tall_nodes.hpp).
// - kSharesMasks: candidates up to which a tall node has the masks of its parent.
// - kLargestPlan: words of a matrix that may be looked at in order to make a smaller one.
// - kFilters: excluded columns, the largest, that others and candidates are compared with.
// - kRowsAColumnWord: rows that are transposed in the time in which `count_rows` reads a word.
//
// On a GPU kernels/cuda/search_program.py sets the first ones, so that a benchmark can compare
// layouts. On a CPU a test can leave out tall nodes, as on a GPU.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

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
constexpr u32 kNodesAPoll = BICLIQ_POLL, kNodesAStep = 8;
constexpr bool kTallNodes = BICLIQ_TALL;  // they slow all other nodes: more code than the cache holds
constexpr bool kMergesRows = false;
constexpr u32 kSharesMasks = 8;
constexpr usize kLargestPlan = usize{1} << 18;
constexpr u32 kRowsAColumnWord = 4;
constexpr u32 kFilters = ~0u;  // all of them: a comparison costs a warp little
#else
constexpr u32 kShares = 2;
constexpr u32 kNodesAPoll = 64, kNodesAStep = 2;
#ifndef BICLIQ_TALL
#define BICLIQ_TALL 1
#endif
constexpr bool kTallNodes = BICLIQ_TALL, kMergesRows = kTallNodes;
constexpr u32 kSharesMasks = 8;
constexpr usize kLargestPlan = usize{1} << 12;
constexpr u32 kRowsAColumnWord = 1;
constexpr u32 kFilters = 8;
#endif

}  // namespace bicliq
