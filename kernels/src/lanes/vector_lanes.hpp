// vector_lanes.hpp: a word of every lane is four vectors of 256 bits: registers of AVX2 where there
// are any, what the compiler makes of them elsewhere. Included by host_lanes.hpp.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bicliq {
inline namespace BICLIQ_ISA {

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
  if (n == 2)
    return every([&](int i) { return reinterpret_cast<Vec8i>((a.v[i] & (a.v[i] - splat8(1))) != splat8(0)); });
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
/// For each byte, the places of its set bits, as the index vector of a permutation (eight bytes
/// each).
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
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(a.v[i]), places));
    to += popcount(bits);
#else
    for (u32 left = bits; left; left &= left - 1) *to++ = a.v[i][first_set(left)];
#endif
  }
  return popcount(f.bits);
}
BICLIQ_INLINE u32 compact_selected(u32* to, const u32* p, u32 bits) {
#if defined(__AVX2__)
  for (u32 left = bits; left; left >>= 8, p += 8) {
    const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kCompactTable.places[left & 0xff])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), places));
    to += popcount(left & 0xff);
  }
#else
  for (u32 left = bits; left; left &= left - 1) *to++ = p[first_set(left)];
#endif
  return popcount(bits);
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
#if defined(__AVX2__)
/// For each four bits, which of four words of 64 bits are loaded: those whose highest bit is set.
struct FourMasks {
  i64 words[16][4];
  constexpr FourMasks() : words() {
    for (u32 bits = 0; bits < 16; ++bits)
      for (u32 i = 0; i < 4; ++i) words[bits][i] = bits >> i & 1 ? -1 : 0;
  }
};
alignas(32) inline constexpr FourMasks kFourMasks;
#endif
/// Without a branch at each bit, which nobody could predict.
BICLIQ_INLINE u64 sum_selected(const u64* p, u32 bits) {
#if defined(__AVX2__)
  __m256i sum = _mm256_setzero_si256();
  for (u32 i = 0; i < 8; ++i) {
    const auto* mask = reinterpret_cast<const __m256i*>(kFourMasks.words[bits >> 4 * i & 15]);
    sum = _mm256_add_epi64(sum, _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 4 * i)), _mm256_load_si256(mask)));
  }
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  return static_cast<u64>(_mm_cvtsi128_si64(two)) + static_cast<u64>(_mm_extract_epi64(two, 1));
#else
  u64 sum = 0;
  for (; bits; bits &= bits - 1) sum += p[first_set(bits)];
  return sum;
#endif
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

}  // namespace BICLIQ_ISA
}  // namespace bicliq
