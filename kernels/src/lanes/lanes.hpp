// lanes.hpp: a group of 32 lanes, which hold one 32-bit word each. All searches are written for
// such a group.
//
// What a group is depends on the machine, and only the files that are included here know it: a warp
// of a GPU, where a word of every lane is a register (warp_lanes.hpp); on a CPU core 1,024 bits of
// SIMD registers, two of AVX-512 (avx512_lanes.hpp) or four of AVX2 (vector_lanes.hpp, which any
// compiler understands). So an enumeration, a search for the best, pivots, trees, butterflies and
// cliques that run on a GPU are also run by the tests on a CPU, and row groups (row_groups.cu),
// whose threads do not need each other, one after the other. Levels (levels.cu) and the judge of
// changes (changes.cu) are written for warps alone: only the tests of a GPU run these.
//
// These files are compiled once for each instruction set, into a module that shows nobody its
// names: one program can hold all of them and choose when it starts.
//
// `Lanes` is a word of every lane, and `Flags` a predicate of every lane; all other values are
// uniform, the same for the whole group. Functions are called by all lanes together. They are:
//
// - Of every lane: a & b, a | b, a ^ b, a + b, without(a, b) = a & ~b, shift_left, shift_right,
//   popcounts; a == b, a >= b, a > b, nonzero(a), meets(a, b): a & b is not 0, at_least(a, n): a
//   has n bits; select(f, yes, no); keep_where(test, a): a where the test is not 0, else 0;
//   larger(a, b); set_bits(a, f, bits): a | bits in flagged lanes; &, | and ~ of flags.
// - To every lane: splat(x), lane_numbers() = 0 … 31, flags(bits), first_lanes(n).
// - From all lanes: ballot(f): bit i is lane i; lane(a, i), any_bits(a): the OR; largest, sum.
// - Memory: load(p), store(p, a), both also of flagged lanes only; load_apart: words at a distance;
//   put(p, x): one word; write: a store without barriers, which `settle` ends; compact(p, a, f):
//   the flagged words side by side, whose number it returns (it may write 32 words); copy_piece.
// - Loops: each_item(n, f): f(i) for i < n, in any lane; list_bits: the numbers of set bits;
//   list_if: the numbers for which a function holds.
// - Bit matrices: fold_rows: which columns all, any, two of some rows have; share_column: has a
//   column all of some rows? count_rows: how many of some rows each column has; column_masks: up to
//   32 rows transposed.
// - Of 64 bits: `LaneTerms`, a number of every lane: load_terms(table, ids, f), masked(a, f),
//   total(a), modulo 2^64; signed: largest(a, f), and add_gains(sum, a, base, f): what is positive
//   of a + base.
// - On a CPU only: sum_selected and sum_of: sums of 64 bits; compact_selected: words or half-words
//   of a table whose bits are set (it may write 32); lookup(table, places); only(f, a).
//
// `LaneStack` holds a word for each of 32 levels. On a GPU loads and stores are separated by
// barriers where needed: what one lane has written others may read.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

constexpr u32 kLanes = 32;
constexpr i64 kLeastTerm = -0x7fffffffffffffff - 1;  // of no lane

}  // namespace bicliq

#if defined(__CUDACC_RTC__)
#include "lanes/warp_lanes.hpp"
#else
#include "lanes/host_lanes.hpp"
#endif
