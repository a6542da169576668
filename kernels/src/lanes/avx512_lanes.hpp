// avx512_lanes.hpp: a word of every lane is two registers of AVX-512, and flags are its masks.
// Included by host_lanes.hpp.
#pragma once

#include <immintrin.h>

namespace bicliq {

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
/// a in the flagged lanes, zero in the others.
inline Lanes only(Flags f, Lanes a) {
  return {_mm512_maskz_mov_epi32(low_half(f), a.lo), _mm512_maskz_mov_epi32(high_half(f), a.hi)};
}
inline Lanes keep_where(Lanes test, Lanes a) { return only(nonzero(test), a); }
inline Lanes larger(Lanes a, Lanes b) { return {_mm512_max_epu32(a.lo, b.lo), _mm512_max_epu32(a.hi, b.hi)}; }
/// a, with the bits of `bit` set in the flagged lanes.
inline Lanes set_bits(Lanes a, Flags f, Lanes bit) {
  return {_mm512_mask_or_epi32(a.lo, low_half(f), a.lo, bit.lo),
          _mm512_mask_or_epi32(a.hi, high_half(f), a.hi, bit.hi)};
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
/// Writes the flagged lanes side by side from p on (up to 32 words of p are overwritten); returns
/// their number.
inline u32 compact(u32* p, Lanes a, Flags f) {
  const u32 low = popcount(f.bits & 0xffff);
  _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(low_half(f), a.lo));
  _mm512_storeu_si512(p + low, _mm512_maskz_compress_epi32(high_half(f), a.hi));
  return popcount(f.bits);
}
/// The words p[i] of the set bits i of a word, side by side (up to 32 words may be overwritten);
/// returns their number.
inline u32 compact_selected(u32* to, const u32* p, u32 bits) {
  const u32 low = popcount(bits & 0xffff);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), _mm512_loadu_si512(p)));
  if (bits >> 16) _mm512_storeu_si512(to + low, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits >> 16), _mm512_loadu_si512(p + 16)));
  return popcount(bits);
}
/// The same of half-words, all at once.
inline u32 compact_selected(std::uint16_t* to, const std::uint16_t* p, u32 bits) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi16(bits, _mm512_loadu_si512(p)));
  return popcount(bits);
}
inline u32 any_bits(Lanes a) { return static_cast<u32>(_mm512_reduce_or_epi32(_mm512_or_si512(a.lo, a.hi))); }
inline u32 largest(Lanes a) { return static_cast<u32>(_mm512_reduce_max_epu32(_mm512_max_epu32(a.lo, a.hi))); }
inline u32 lane(Lanes a, u32 i) {
  const __m512i half = i < 16 ? a.lo : a.hi;
  return static_cast<u32>(_mm_cvtsi128_si32(
      _mm512_castsi512_si128(_mm512_permutexvar_epi32(_mm512_set1_epi32(static_cast<int>(i & 15)), half))));
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
/// Sum of all lanes, in 64 bits.
inline u64 sum_of(Lanes a) {
  const __m512i low = _mm512_set1_epi64(0xffffffff);
  const __m512i even = _mm512_add_epi64(_mm512_and_si512(a.lo, low), _mm512_and_si512(a.hi, low));
  const __m512i odd = _mm512_add_epi64(_mm512_srli_epi64(a.lo, 32), _mm512_srli_epi64(a.hi, 32));
  return static_cast<u64>(_mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)));
}
/// The masks of the 32 columns in one word of up to 32 rows: bit i is row i, for the rows in
/// `wanted`.
inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  Lanes masks = splat(0);
  for (; wanted; wanted &= wanted - 1)
    masks = set_bits(masks, flags(base[starts[first_set(wanted)]]), splat(wanted & (0u - wanted)));
  return masks;
}

}  // namespace bicliq
