// lanes.hpp: what a group of 32 lanes is on this machine. The only file that knows; hence its length: the same functions for
// a GPU, AVX-512, AVX2 and plain vectors.
//
// A search is written once, for a group of 32 lanes that hold one 32-bit word each. On a GPU the
// group is a warp and a value is a register; on a CPU it is 1,024 bits of SIMD registers: two of
// AVX-512, or four of AVX2, or whatever the compiler makes of a 256-bit vector type elsewhere.
// A `Flags` is a predicate of every lane, a `Lanes` a word of every lane; everything else in a
// search is uniform (one value for the whole group).
//
// The file is compiled once for each instruction set (BICLIQ_ISA names it), and every copy lives in
// a namespace of its own, so that one extension can hold all of them and choose when it loads.
#pragma once

#include "lanes/types.hpp"

#if !defined(__CUDACC_RTC__)
#include <algorithm>
#endif

#if defined(__x86_64__) && !defined(__CUDACC_RTC__)
#include <immintrin.h>
#endif

#ifndef BICLIQ_ISA
#define BICLIQ_ISA portable
#endif

namespace bicliq {
inline namespace BICLIQ_ISA {

constexpr u32 kLanes = 32;

#if defined(__CUDACC_RTC__)  // a lane is a thread of a warp: one register a value
__device__ inline u32 lane_id() { return threadIdx.x & 31; }
__device__ inline u32 popcount(u32 x) { return __popc(x); }
__device__ inline u32 first_set(u32 x) { return __ffs(x) - 1; }

struct Flags {
  bool on;
};
__device__ inline Flags operator&(Flags a, Flags b) { return {a.on && b.on}; }
__device__ inline Flags operator|(Flags a, Flags b) { return {a.on || b.on}; }
__device__ inline Flags operator~(Flags a) { return {!a.on}; }
__device__ inline u32 ballot(Flags a) { return __ballot_sync(~0u, a.on); }
__device__ inline Flags flags(u32 bits) { return {(bits >> lane_id() & 1) != 0}; }
__device__ inline Flags first_lanes(u32 n) { return {lane_id() < n}; }

struct Lanes {
  u32 v;
};
__device__ inline Lanes splat(u32 x) { return {x}; }
__device__ inline Lanes operator&(Lanes a, Lanes b) { return {a.v & b.v}; }
__device__ inline Lanes operator|(Lanes a, Lanes b) { return {a.v | b.v}; }
__device__ inline Lanes operator^(Lanes a, Lanes b) { return {a.v ^ b.v}; }
__device__ inline Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
__device__ inline Lanes without(Lanes a, Lanes b) { return {a.v & ~b.v}; }
__device__ inline Flags operator==(Lanes a, Lanes b) { return {a.v == b.v}; }
__device__ inline Flags operator>=(Lanes a, Lanes b) { return {a.v >= b.v}; }
__device__ inline Flags operator>(Lanes a, Lanes b) { return {a.v > b.v}; }
__device__ inline Flags meets(Lanes a, Lanes b) { return {(a.v & b.v) != 0}; }
__device__ inline Flags nonzero(Lanes a) { return {a.v != 0}; }
__device__ inline Lanes select(Flags f, Lanes yes, Lanes no) { return {f.on ? yes.v : no.v}; }
__device__ inline Lanes set_bits(Lanes a, Flags f, Lanes bit) { return {f.on ? a.v | bit.v : a.v}; }
__device__ inline Flags at_least(Lanes a, u32 n) { return {static_cast<u32>(__popc(a.v)) >= n}; }
__device__ inline Lanes popcounts(Lanes a) { return {static_cast<u32>(__popc(a.v))}; }
__device__ inline Lanes load(const u32* p, Flags f) { return {f.on ? p[lane_id()] : 0u}; }
__device__ inline Lanes load(const u32* p) { return {p[lane_id()]}; }
// Lanes read what others wrote and write what others read: a barrier on both sides of every store.
__device__ inline void store(u32* p, Lanes a, Flags f) {
  __syncwarp();
  if (f.on) p[lane_id()] = a.v;
  __syncwarp();
}
__device__ inline void store(u32* p, Lanes a) { store(p, a, Flags{true}); }
/// Without barriers, for a row of stores that `settle` ends.
__device__ inline void write(u32* p, Lanes a) { p[lane_id()] = a.v; }
__device__ inline void settle() { __syncwarp(); }
__device__ inline u32 compact(u32* p, Lanes a, Flags f) {
  const u32 bits = ballot(f);
  __syncwarp();
  if (f.on) p[__popc(bits & ((1u << lane_id()) - 1))] = a.v;
  __syncwarp();
  return __popc(bits);
}
__device__ inline void put(u32* p, u32 x) {
  __syncwarp();
  if (lane_id() == 0) *p = x;
  __syncwarp();
}
#if __CUDA_ARCH__ >= 800
__device__ inline u32 any_bits(Lanes a) { return __reduce_or_sync(~0u, a.v); }
__device__ inline u32 largest(Lanes a) { return __reduce_max_sync(~0u, a.v); }
__device__ inline u32 sum(Lanes a) { return __reduce_add_sync(~0u, a.v); }
#else
template <class F>
__device__ inline u32 reduce(u32 x, F f) {
  for (u32 step = 16; step; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
__device__ inline u32 any_bits(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x | y; });
}
__device__ inline u32 largest(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x > y ? x : y; });
}
__device__ inline u32 sum(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x + y; });
}
#endif
__device__ inline u32 lane(Lanes a, u32 i) { return __shfl_sync(~0u, a.v, i); }
__device__ inline Lanes lane_numbers() { return {lane_id()}; }
__device__ inline Lanes shift_left(Lanes a, u32 n) { return {a.v << n}; }
__device__ inline Lanes shift_right(Lanes a, u32 n) { return {a.v >> n}; }
/// Words that lie `distance` apart, in the first n lanes.
__device__ inline Lanes load_apart(const u32* p, usize distance, u32 n) { return {lane_id() < n ? p[lane_id() * distance] : 0u}; }

struct LaneStack {
  u32 own = 0;
  __device__ void put(u32 i, u32 x) { own = lane_id() == i ? x : own; }
  __device__ u32 get(u32 i) const { return __shfl_sync(~0u, own, i); }
  __device__ void save(u32* to) const { store(to, Lanes{own}); }
  __device__ void restore(const u32* from) { own = from[lane_id()]; }
};

template <class F>
__device__ inline void each_item(u32 n, F f) {
  __syncwarp();
  BICLIQ_ROLL
  for (u32 i = lane_id(); i < n; i += kLanes) f(i);
  __syncwarp();
}

/// Copies n words between two pieces of memory, and up to three behind them; sixteen reads are on their way at a time.
__device__ inline void copy_piece(u32* to, const u32* from, u32 n) {
  const uint4* source = reinterpret_cast<const uint4*>(from);
  uint4* target = reinterpret_cast<uint4*>(to);
  const u32 quads = (n + 3) / 4;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = lane_id(); first < quads; first += 4 * kLanes) {
    uint4 quad[4];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k)
      if (first + k * kLanes < quads) quad[k] = source[first + k * kLanes];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k)
      if (first + k * kLanes < quads) target[first + k * kLanes] = quad[k];
  }
  __syncwarp();
}

template <class F>
__device__ inline u32 list_bits(u32* to, u32 n_words, F word) {
  u32 n = 0;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = 0; first < n_words; first += kLanes) {
    const u32 k = first + lane_id();
    u32 bits = k < n_words ? word(k) : 0;
    const u32 own = __popc(bits);
    u32 upto = own;
    for (u32 step = 1; step < kLanes; step *= 2) {
      const u32 below = __shfl_up_sync(~0u, upto, step);
      if (lane_id() >= step) upto += below;
    }
    BICLIQ_ROLL
    for (u32 at = n + upto - own; bits; bits &= bits - 1) to[at++] = 32 * k + first_set(bits);
    n += __shfl_sync(~0u, upto, kLanes - 1);
  }
  __syncwarp();
  return n;
}

template <class F>
__device__ inline u32 list_if(u32* to, u32 n, F keep) {
  u32 kept = 0;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = 0; first < n; first += kLanes) {
    const u32 i = first + lane_id();
    kept += compact(to + kept, Lanes{i}, Flags{i < n && keep(i)});
  }
  return kept;
}

struct RowFold {
  Lanes all, any, two;
};
/// Fewer than 17 words leave lanes idle: then several rows are read at once, and folded at the end.
__device__ inline RowFold fold_rows(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const u32 width = n_words > 16 ? 32 : n_words > 8 ? 16 : n_words > 4 ? 8 : n_words > 2 ? 4 : n_words > 1 ? 2 : 1;
  const u32 word = lane_id() & (width - 1), rows_at_once = kLanes / width;
  const bool real = word < n_words;
  u32 all = ~0u, any = 0, two = 0;
  BICLIQ_UNROLL_8
  for (u32 i = lane_id() / width; i < n; i += rows_at_once) {
    const u32 bits = real ? base[starts[i] + word] : 0u;
    two |= any & bits;
    any |= bits;
    all &= bits;
  }
  __syncwarp();
  for (u32 step = width; step < kLanes; step *= 2) {
    const u32 other = __shfl_xor_sync(~0u, any, step);
    two |= __shfl_xor_sync(~0u, two, step) | (any & other);
    any |= other;
    all &= __shfl_xor_sync(~0u, all, step);
  }
  const bool own = lane_id() < n_words;
  return {{own ? all : 0}, {own ? any : 0}, {own ? two : 0}};
}
__device__ inline bool share_column(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const u32 width = n_words > 16 ? 32 : n_words > 8 ? 16 : n_words > 4 ? 8 : n_words > 2 ? 4 : n_words > 1 ? 2 : 1;
  const u32 word = lane_id() & (width - 1), rows_at_once = kLanes / width, step_rows = 4 * rows_at_once;
  const bool real = word < n_words;
  u32 all = real ? ~0u : 0u;
  for (u32 first = lane_id() / width;; first += step_rows) {
    u32 bits[4];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k) {
      const u32 i = first + k * rows_at_once;
      bits[k] = real && i < n ? base[starts[i] + word] : ~0u;
    }
    all &= bits[0] & bits[1] & bits[2] & bits[3];
    if (first - lane_id() / width + step_rows >= n) break;
    if (!__any_sync(~0u, all != 0)) return false;
  }
  for (u32 step = width; step < kLanes; step *= 2) all &= __shfl_xor_sync(~0u, all, step);
  return __any_sync(~0u, all != 0);
}
/// For 32 columns, one bit a row: how many of the set rows each has.
__device__ inline Lanes count_rows(const u32* words, usize distance, const u32* rows, u32 depth) {
  u32 count = 0;
  BICLIQ_UNROLL_8
  for (u32 k = 0; k < depth; ++k) count += __popc(words[k * distance + lane_id()] & rows[k]);
  __syncwarp();
  return {count};
}

/// Lane i holds row i of a 32 x 32 bit matrix; afterwards column i (five exchanges).
__device__ inline u32 transpose(u32 x) {
  u32 mask = 0x0000ffffu;
  BICLIQ_UNROLL
  for (u32 step = 16; step; step /= 2, mask ^= mask << step) {
    const u32 other = __shfl_xor_sync(~0u, x, step);
    x = lane_id() & step ? (x & ~mask) | (other >> step & mask) : (x & mask) | (other << step & ~mask);
  }
  return x;
}
__device__ inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  return {transpose(wanted >> lane_id() & 1 ? base[starts[lane_id()]] : 0)};
}
__device__ inline Lanes column_masks_apart(const u32* word, usize distance, u32 n) {
  return {transpose(lane_id() < n ? word[lane_id() * distance] : 0)};
}
#else

inline u32 popcount(u32 x) { return static_cast<u32>(__builtin_popcount(x)); }
inline u32 popcount64(u64 x) { return static_cast<u32>(__builtin_popcountll(x)); }
/// Index of the lowest set bit of a word that is not zero.
inline u32 first_set(u32 x) { return static_cast<u32>(__builtin_ctz(x)); }

/// A predicate of every lane.
struct Flags {
  u32 bits;
};
inline Flags operator&(Flags a, Flags b) { return {a.bits & b.bits}; }
inline Flags operator|(Flags a, Flags b) { return {a.bits | b.bits}; }
inline Flags operator~(Flags a) { return {~a.bits}; }
/// The predicate as a uniform word: bit i is lane i.
inline u32 ballot(Flags a) { return a.bits; }
inline Flags flags(u32 bits) { return {bits}; }
/// True in the first n lanes (all of them where n is 32 or more).
inline Flags first_lanes(u32 n) { return {n >= kLanes ? ~0u : (1u << n) - 1}; }

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VPOPCNTDQ__)

/// A 32-bit word of every lane.
struct Lanes {
  __m512i lo, hi;
};
inline __mmask16 low_half(Flags f) { return static_cast<__mmask16>(f.bits); }
inline __mmask16 high_half(Flags f) { return static_cast<__mmask16>(f.bits >> 16); }
inline Flags join(__mmask16 lo, __mmask16 hi) { return {static_cast<u32>(lo) | static_cast<u32>(hi) << 16}; }

inline Lanes splat(u32 x) {
  const __m512i v = _mm512_set1_epi32(static_cast<int>(x));
  return {v, v};
}
inline Lanes operator&(Lanes a, Lanes b) { return {_mm512_and_si512(a.lo, b.lo), _mm512_and_si512(a.hi, b.hi)}; }
inline Lanes operator|(Lanes a, Lanes b) { return {_mm512_or_si512(a.lo, b.lo), _mm512_or_si512(a.hi, b.hi)}; }
inline Lanes operator^(Lanes a, Lanes b) { return {_mm512_xor_si512(a.lo, b.lo), _mm512_xor_si512(a.hi, b.hi)}; }
inline Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_epi32(a.lo, b.lo), _mm512_add_epi32(a.hi, b.hi)}; }
/// a & ~b
inline Lanes without(Lanes a, Lanes b) {
  return {_mm512_andnot_si512(b.lo, a.lo), _mm512_andnot_si512(b.hi, a.hi)};
}
inline Flags operator==(Lanes a, Lanes b) {
  return join(_mm512_cmpeq_epi32_mask(a.lo, b.lo), _mm512_cmpeq_epi32_mask(a.hi, b.hi));
}
inline Flags operator>=(Lanes a, Lanes b) {
  return join(_mm512_cmpge_epu32_mask(a.lo, b.lo), _mm512_cmpge_epu32_mask(a.hi, b.hi));
}
inline Flags operator>(Lanes a, Lanes b) {
  return join(_mm512_cmpgt_epu32_mask(a.lo, b.lo), _mm512_cmpgt_epu32_mask(a.hi, b.hi));
}
/// Lanes whose words share a bit.
inline Flags meets(Lanes a, Lanes b) {
  return join(_mm512_test_epi32_mask(a.lo, b.lo), _mm512_test_epi32_mask(a.hi, b.hi));
}
/// Lanes that hold any of the bits of x.
inline Flags nonzero(Lanes a) { return meets(a, a); }
inline Lanes select(Flags f, Lanes yes, Lanes no) {
  return {_mm512_mask_mov_epi32(no.lo, low_half(f), yes.lo), _mm512_mask_mov_epi32(no.hi, high_half(f), yes.hi)};
}
/// a, with the bits of `bit` set in the flagged lanes.
inline Lanes set_bits(Lanes a, Flags f, Lanes bit) {
  return {_mm512_mask_or_epi32(a.lo, low_half(f), a.lo, bit.lo), _mm512_mask_or_epi32(a.hi, high_half(f), a.hi, bit.hi)};
}
inline Lanes popcounts(Lanes a) { return {_mm512_popcnt_epi32(a.lo), _mm512_popcnt_epi32(a.hi)}; }
/// Lanes that hold at least n bits.
inline Flags at_least(Lanes a, u32 n) { return popcounts(a) >= splat(n); }
inline Lanes load(const u32* p, Flags f) {
  return {_mm512_maskz_loadu_epi32(low_half(f), p), _mm512_maskz_loadu_epi32(high_half(f), p + 16)};
}
inline Lanes load(const u32* p) { return {_mm512_loadu_si512(p), _mm512_loadu_si512(p + 16)}; }
inline void store(u32* p, Lanes a, Flags f) {
  _mm512_mask_storeu_epi32(p, low_half(f), a.lo);
  _mm512_mask_storeu_epi32(p + 16, high_half(f), a.hi);
}
inline void store(u32* p, Lanes a) {
  _mm512_storeu_si512(p, a.lo);
  _mm512_storeu_si512(p + 16, a.hi);
}
/// Writes the flagged lanes side by side from p on (up to 32 words of p are overwritten); returns their number.
inline u32 compact(u32* p, Lanes a, Flags f) {
  const u32 low = popcount(f.bits & 0xffff);
  _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(low_half(f), a.lo));
  _mm512_storeu_si512(p + low, _mm512_maskz_compress_epi32(high_half(f), a.hi));
  return popcount(f.bits);
}
inline u32 any_bits(Lanes a) { return static_cast<u32>(_mm512_reduce_or_epi32(_mm512_or_si512(a.lo, a.hi))); }
inline u32 largest(Lanes a) { return static_cast<u32>(_mm512_reduce_max_epu32(_mm512_max_epu32(a.lo, a.hi))); }
inline u32 lane(Lanes a, u32 i) {
  const __m512i half = i < 16 ? a.lo : a.hi;
  return static_cast<u32>(
      _mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_permutexvar_epi32(_mm512_set1_epi32(static_cast<int>(i & 15)), half))));
}
inline Lanes lane_numbers() {
  const __m512i lo = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return {lo, _mm512_add_epi32(lo, _mm512_set1_epi32(16))};
}
inline Lanes shift_left(Lanes a, u32 n) {
  return {_mm512_slli_epi32(a.lo, n), _mm512_slli_epi32(a.hi, n)};
}
inline Lanes shift_right(Lanes a, u32 n) {
  return {_mm512_srli_epi32(a.lo, n), _mm512_srli_epi32(a.hi, n)};
}
inline u32 sum(Lanes a) { return static_cast<u32>(_mm512_reduce_add_epi32(_mm512_add_epi32(a.lo, a.hi))); }
/// Sum of the 64-bit words p[i] over the set bits i of a word.
inline u64 sum_selected(const u64* p, u32 bits) {
  __m512i sum = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(bits), p);
  sum = _mm512_add_epi64(sum, _mm512_maskz_loadu_epi64(static_cast<__mmask8>(bits >> 8), p + 8));
  if (bits >> 16) {
    sum = _mm512_add_epi64(sum, _mm512_maskz_loadu_epi64(static_cast<__mmask8>(bits >> 16), p + 16));
    sum = _mm512_add_epi64(sum, _mm512_maskz_loadu_epi64(static_cast<__mmask8>(bits >> 24), p + 24));
  }
  return static_cast<u64>(_mm512_reduce_add_epi64(sum));
}

/// The words of a table of 32 at the places that the lanes name (0…31).
inline Lanes lookup(const u32* table, Lanes place) {
  const __m512i lo = _mm512_loadu_si512(table), hi = _mm512_loadu_si512(table + 16);
  return {_mm512_permutex2var_epi32(lo, place.lo, hi), _mm512_permutex2var_epi32(lo, place.hi, hi)};
}
/// a in the flagged lanes, zero in the others.
inline Lanes only(Flags f, Lanes a) {
  return {_mm512_maskz_mov_epi32(low_half(f), a.lo), _mm512_maskz_mov_epi32(high_half(f), a.hi)};
}
/// Sum of all lanes, in 64 bits.
inline u64 sum_of(Lanes a) {
  const __m512i low = _mm512_set1_epi64(0xffffffff);
  const __m512i even = _mm512_add_epi64(_mm512_and_si512(a.lo, low), _mm512_and_si512(a.hi, low));
  const __m512i odd = _mm512_add_epi64(_mm512_srli_epi64(a.lo, 32), _mm512_srli_epi64(a.hi, 32));
  return static_cast<u64>(_mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)));
}

#else  // four 256-bit vectors: AVX2 registers where there are any, plain code elsewhere

typedef u32 Vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int Vec8i __attribute__((vector_size(32)));
struct Lanes {
  Vec8 v[4];
};

#if !defined(__AVX2__)
BICLIQ_INLINE u32 sign_bits(Vec8i mask) {
  u32 bits = 0;
  for (int i = 0; i < 8; ++i) bits |= (static_cast<u32>(mask[i]) >> 31) << i;
  return bits;
}
#endif
BICLIQ_INLINE Vec8 splat8(u32 x) { return Vec8{x, x, x, x, x, x, x, x}; }
BICLIQ_INLINE Vec8 byte_mask(u32 bits) {
  const Vec8 bit = {1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<Vec8>((splat8(bits) & bit) == bit);
}
template <class F>
BICLIQ_INLINE Lanes each(F f) {
  Lanes out;
  for (int i = 0; i < 4; ++i) out.v[i] = f(i);  // one call, so that it is copied in: 128 bytes are no argument to pass
  return out;
}
template <class F>
BICLIQ_INLINE Flags every(F f) {
  Vec8i mask[4];
  for (int i = 0; i < 4; ++i) mask[i] = f(i);
#if defined(__AVX2__)
  const __m256i low = _mm256_packs_epi32(reinterpret_cast<__m256i>(mask[0]), reinterpret_cast<__m256i>(mask[1]));
  const __m256i high = _mm256_packs_epi32(reinterpret_cast<__m256i>(mask[2]), reinterpret_cast<__m256i>(mask[3]));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packing works in halves of a register
  return {static_cast<u32>(_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order)))};
#else
  return {sign_bits(mask[0]) | sign_bits(mask[1]) << 8 | sign_bits(mask[2]) << 16 | sign_bits(mask[3]) << 24};
#endif
}
BICLIQ_INLINE Lanes splat(u32 x) {
  return each([&](int) { return splat8(x); });
}
BICLIQ_INLINE Lanes operator&(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] & b.v[i]; });
}
BICLIQ_INLINE Lanes operator|(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] | b.v[i]; });
}
BICLIQ_INLINE Lanes operator^(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] ^ b.v[i]; });
}
BICLIQ_INLINE Lanes operator+(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] + b.v[i]; });
}
BICLIQ_INLINE Lanes without(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] & ~b.v[i]; });
}
BICLIQ_INLINE Flags operator==(Lanes a, Lanes b) {
  return every([&](int i) { return reinterpret_cast<Vec8i>(a.v[i] == b.v[i]); });
}
BICLIQ_INLINE Flags operator>=(Lanes a, Lanes b) {
  return every([&](int i) { return reinterpret_cast<Vec8i>(a.v[i] >= b.v[i]); });
}
BICLIQ_INLINE Flags operator>(Lanes a, Lanes b) {
  return every([&](int i) { return reinterpret_cast<Vec8i>(a.v[i] > b.v[i]); });
}
BICLIQ_INLINE Flags meets(Lanes a, Lanes b) {
  return every([&](int i) { return reinterpret_cast<Vec8i>((a.v[i] & b.v[i]) != splat8(0)); });
}
BICLIQ_INLINE Flags nonzero(Lanes a) { return meets(a, a); }
BICLIQ_INLINE Lanes select(Flags f, Lanes yes, Lanes no) {
  return each([&](int i) {
    const Vec8 m = byte_mask(f.bits >> (8 * i) & 0xff);
    return (yes.v[i] & m) | (no.v[i] & ~m);
  });
}
BICLIQ_INLINE Lanes set_bits(Lanes a, Flags f, Lanes bit) {
  return each([&](int i) { return a.v[i] | (bit.v[i] & byte_mask(f.bits >> (8 * i) & 0xff)); });
}
BICLIQ_INLINE Lanes popcounts(Lanes a) {
  return each([&](int i) {
    Vec8 x = a.v[i];
    x = x - ((x >> 1) & splat8(0x55555555));
    x = (x & splat8(0x33333333)) + ((x >> 2) & splat8(0x33333333));
    x = (x + (x >> 4)) & splat8(0x0f0f0f0f);
#if defined(__AVX2__)  // a multiplication of words takes ten cycles
    const __m256i pairs = _mm256_maddubs_epi16(reinterpret_cast<__m256i>(x), _mm256_set1_epi8(1));
    return reinterpret_cast<Vec8>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
    return (x * splat8(0x01010101)) >> 24;
#endif
  });
}
/// Lanes that hold at least n bits; two, the usual number, need no count.
BICLIQ_INLINE Flags at_least(Lanes a, u32 n) {
  if (n == 2) return every([&](int i) { return reinterpret_cast<Vec8i>((a.v[i] & (a.v[i] - splat8(1))) != splat8(0)); });
  return popcounts(a) >= splat(n);
}
BICLIQ_INLINE Lanes load(const u32* p) {
  return each([&](int i) { return *reinterpret_cast<const Vec8*>(p + 8 * i); });
}
BICLIQ_INLINE Lanes load(const u32* p, Flags f) {
  if (f.bits == ~0u) return load(p);
  return each([&](int i) {
    const u32 bits = f.bits >> (8 * i) & 0xff;
#if defined(__AVX2__)
    return reinterpret_cast<Vec8>(
        _mm256_maskload_epi32(reinterpret_cast<const int*>(p + 8 * i), reinterpret_cast<__m256i>(byte_mask(bits))));
#else
    Vec8 x = {};
    for (int j = 0; j < 8; ++j)
      if (bits >> j & 1) x[j] = p[8 * i + j];
    return x;
#endif
  });
}
BICLIQ_INLINE void store(u32* p, Lanes a) {
  for (int i = 0; i < 4; ++i) *reinterpret_cast<Vec8*>(p + 8 * i) = a.v[i];
}
BICLIQ_INLINE void store(u32* p, Lanes a, Flags f) {
  if (f.bits == ~0u) return store(p, a);
  for (int i = 0; i < 4; ++i) {
    const u32 bits = f.bits >> (8 * i) & 0xff;
#if defined(__AVX2__)
    _mm256_maskstore_epi32(reinterpret_cast<int*>(p + 8 * i), reinterpret_cast<__m256i>(byte_mask(bits)),
                           reinterpret_cast<__m256i>(a.v[i]));
#else
    for (int j = 0; j < 8; ++j)
      if (bits >> j & 1) p[8 * i + j] = a.v[i][j];
#endif
  }
}
#if defined(__AVX2__)
/// For each byte, the places of its set bits, as the index vector of a permutation (eight bytes each).
struct CompactTable {
  u64 places[256];
  constexpr CompactTable() : places() {
    for (u32 bits = 0; bits < 256; ++bits) {
      u64 packed = 0;
      int to = 0;
      for (u32 i = 0; i < 8; ++i)
        if (bits >> i & 1) packed |= static_cast<u64>(i) << (8 * to++);
      places[bits] = packed;
    }
  }
};
inline constexpr CompactTable kCompactTable;
#endif
BICLIQ_INLINE u32 compact(u32* p, Lanes a, Flags f) {
  u32* to = p;
  for (int i = 0; i < 4; ++i) {
    const u32 bits = f.bits >> (8 * i) & 0xff;
#if defined(__AVX2__)
    const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kCompactTable.places[bits])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(a.v[i]), places));
    to += popcount(bits);
#else
    for (u32 left = bits; left; left &= left - 1) *to++ = a.v[i][first_set(left)];
#endif
  }
  return popcount(f.bits);
}
BICLIQ_INLINE u32 any_bits(Lanes a) {
  const Vec8 x = a.v[0] | a.v[1] | a.v[2] | a.v[3];
  return x[0] | x[1] | x[2] | x[3] | x[4] | x[5] | x[6] | x[7];
}
BICLIQ_INLINE u32 largest(Lanes a) {
  u32 best = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) best = a.v[i][j] > best ? a.v[i][j] : best;
  return best;
}
BICLIQ_INLINE u32 lane(const Lanes& a, u32 i) { return a.v[i >> 3][i & 7]; }
BICLIQ_INLINE Lanes lane_numbers() {
  const Vec8 first = {0, 1, 2, 3, 4, 5, 6, 7};
  return each([&](int i) { return first + splat8(8 * static_cast<u32>(i)); });
}
BICLIQ_INLINE Lanes shift_left(Lanes a, u32 n) {
  return each([&](int i) { return a.v[i] << splat8(n); });
}
BICLIQ_INLINE Lanes shift_right(Lanes a, u32 n) {
  return each([&](int i) { return a.v[i] >> splat8(n); });
}
BICLIQ_INLINE u32 sum(Lanes a) {
  const Vec8 x = a.v[0] + a.v[1] + a.v[2] + a.v[3];
  return x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}
BICLIQ_INLINE u64 sum_selected(const u64* p, u32 bits) {
  u64 sum = 0;
  for (; bits; bits &= bits - 1) sum += p[first_set(bits)];
  return sum;
}

BICLIQ_INLINE Lanes lookup(const u32* table, Lanes place) {
#if defined(__AVX2__)
  return each([&](int i) {
    return reinterpret_cast<Vec8>(
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), reinterpret_cast<__m256i>(place.v[i]), 4));
  });
#else
  Lanes out;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) out.v[i][j] = table[place.v[i][j]];
  return out;
#endif
}
BICLIQ_INLINE Lanes only(Flags f, Lanes a) { return select(f, a, splat(0)); }
BICLIQ_INLINE u64 sum_of(const Lanes& a) {
  u64 sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) sum += a.v[i][j];
  return sum;
}

#endif

// ---- what a warp does in parallel and a core in a loop, one form for all host lanes ------------------

/// One word a depth: the open levels of a leaf.
struct LaneStack {
  u32 words[kLanes];
  void put(u32 i, u32 x) { words[i] = x; }
  u32 get(u32 i) const { return words[i]; }
  void save(u32* to) const { each([=](u32 i) { to[i] = words[i]; }); }
  void restore(const u32* from) { each([=](u32 i) { words[i] = from[i]; }); }

 private:
  template <class F>
  static void each(F f) {
    for (u32 i = 0; i < kLanes; ++i) f(i);
  }
};
/// Stores of a device that need no barrier between them, until `settle`.
inline void write(u32* p, Lanes a) { store(p, a); }
inline void settle() {}
/// Words that lie `distance` apart, in the first n lanes.
inline Lanes load_apart(const u32* p, usize distance, u32 n) {
  alignas(64) u32 words[kLanes] = {};
  for (u32 i = 0; i < n; ++i) words[i] = p[i * distance];
  return load(words);
}
/// Writes one word for the whole group.
inline void put(u32* p, u32 x) { *p = x; }

/// f(i) for all i < n, in any order; f must not use the group.
template <class F>
inline void each_item(u32 n, F f) {
  for (u32 i = 0; i < n; ++i) f(i);
}

/// Copies n words between two pieces of memory.
inline void copy_piece(u32* to, const u32* from, u32 n) { std::copy(from, from + n, to); }

/// Writes the numbers of the set bits of word(0), word(1), … side by side; returns how many.
template <class F>
inline u32 list_bits(u32* to, u32 n_words, F word) {
  u32 n = 0;
  for (u32 k = 0; k < n_words; ++k)
    for (u32 bits = word(k); bits; bits &= bits - 1) to[n++] = 32 * k + first_set(bits);
  return n;
}

/// Writes the numbers i < n for which keep(i) holds side by side; returns how many.
template <class F>
inline u32 list_if(u32* to, u32 n, F keep) {
  u32 kept = 0;
  for (u32 i = 0; i < n; ++i)
    if (keep(i)) to[kept++] = i;
  return kept;
}

/// The words of some rows, 32 words at a time: what all of them have, what any has, what at least two have.
struct RowFold {
  Lanes all, any, two;
};
/// Rows start at base[starts[i]], i < n; only the first n_words words (at most 32) are there.
inline RowFold fold_rows(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const Flags real = first_lanes(n_words);
  RowFold f = {splat(~0u), splat(0), splat(0)};
  for (u32 i = 0; i < n; ++i) {
    const Lanes bits = load(base + starts[i], real);
    f.two = f.two | (f.any & bits);
    f.any = f.any | bits;
    f.all = f.all & bits;
  }
  return f;
}
/// For 32 columns, one bit a row: how many of the set rows each has.
inline Lanes count_rows(const u32* words, usize distance, const u32* rows, u32 depth) {
  Lanes counts = splat(0);
  for (u32 k = 0; k < depth; ++k, words += distance)
    if (rows[k]) counts = counts + popcounts(load(words) & splat(rows[k]));
  return counts;
}

/// Has any column all of n >= 1 rows?
inline bool share_column(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const Flags real = first_lanes(n_words);
  Lanes all = load(base + starts[0], real);
  for (u32 i = 1; i < n; ++i) {
    all = all & load(base + starts[i], real);
    if (i % 8 == 7 && !ballot(nonzero(all))) return false;
  }
  return ballot(nonzero(all)) != 0;
}
/// The masks of the 32 columns in one word of up to 32 rows: bit i is row i, for the rows in `wanted`.
inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  Lanes masks = splat(0);
  for (; wanted; wanted &= wanted - 1)
    masks = set_bits(masks, flags(base[starts[first_set(wanted)]]), splat(wanted & (0u - wanted)));
  return masks;
}
/// The same for n rows that follow each other at a distance.
inline Lanes column_masks_apart(const u32* word, usize distance, u32 n) {
  Lanes masks = splat(0), bit = splat(1);
  for (u32 r = 0; r < n; ++r, word += distance, bit = bit + bit) masks = set_bits(masks, flags(*word), bit);
  return masks;
}

#endif  // host lanes

}  // namespace BICLIQ_ISA
}  // namespace bicliq
