// vector_lanes.hpp: a word of every lane is four vectors of 256 bits: registers of AVX2 where there
// are any, what the compiler makes of them elsewhere. Included by host_lanes.hpp.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bicliq {

typedef u32 Vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int Vec8i __attribute__((vector_size(32)));
typedef u32 Vec4 __attribute__((vector_size(16)));
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
/// All bits of those of lanes 8i … 8i + 7 that are flagged.
BICLIQ_INLINE Vec8 mask_of(Flags f, int i) {
  const Vec8 first = {1, 2, 4, 8, 16, 32, 64, 128}, bit = first << splat8(8 * static_cast<u32>(i));
  return reinterpret_cast<Vec8>((splat8(f.bits) & bit) == bit);
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
  return ~every([&](int i) { return reinterpret_cast<Vec8i>((a.v[i] & b.v[i]) == splat8(0)); });  // there is no !=
}
BICLIQ_INLINE Flags nonzero(Lanes a) { return meets(a, a); }
BICLIQ_INLINE Lanes select(Flags f, Lanes yes, Lanes no) {
  return each([&](int i) {
    const Vec8 m = mask_of(f, i);
    return (yes.v[i] & m) | (no.v[i] & ~m);
  });
}
/// Without a predicate in between: packing flags and taking them apart again costs more than all
/// else.
BICLIQ_INLINE Lanes keep_where(Lanes test, Lanes a) {
  return each([&](int i) { return a.v[i] & ~reinterpret_cast<Vec8>(test.v[i] == splat8(0)); });
}
BICLIQ_INLINE Lanes larger(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
BICLIQ_INLINE Lanes set_bits(Lanes a, Flags f, Lanes bit) {
  return each([&](int i) { return a.v[i] | (bit.v[i] & mask_of(f, i)); });
}
BICLIQ_INLINE Lanes popcounts(Lanes a) {
  return each([&](int i) {
#if defined(__AVX2__)  // four bits are looked up, 9 % less for the closed sets of chess at 2,000: a multiplication of words takes ten cycles
    const __m256i of_four = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i x = reinterpret_cast<__m256i>(a.v[i]), low = _mm256_set1_epi8(15);
    const __m256i bytes = _mm256_add_epi8(_mm256_shuffle_epi8(of_four, _mm256_and_si256(x, low)),
                                          _mm256_shuffle_epi8(of_four, _mm256_and_si256(_mm256_srli_epi32(x, 4), low)));
    return reinterpret_cast<Vec8>(_mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)), _mm256_set1_epi16(1)));
#else
    Vec8 x = a.v[i];
    x = x - ((x >> 1) & splat8(0x55555555));
    x = (x & splat8(0x33333333)) + ((x >> 2) & splat8(0x33333333));
    x = (x + (x >> 4)) & splat8(0x0f0f0f0f);
    return (x * splat8(0x01010101)) >> 24;
#endif
  });
}
/// Lanes that hold at least n bits; two, the usual number, need no count.
BICLIQ_INLINE Flags at_least(Lanes a, u32 n) {
  if (n == 2)
    return ~every([&](int i) { return reinterpret_cast<Vec8i>((a.v[i] & (a.v[i] - splat8(1))) == splat8(0)); });
  return popcounts(a) >= splat(n);
}
BICLIQ_INLINE Lanes load(const u32* p) {
  return each([&](int i) { return *reinterpret_cast<const Vec8*>(p + 8 * i); });
}
BICLIQ_INLINE Lanes load(const u32* p, Flags f) {
  if (f.bits == ~0u) return load(p);
  return each([&](int i) {
#if defined(__AVX2__)
    return reinterpret_cast<Vec8>(
        _mm256_maskload_epi32(reinterpret_cast<const int*>(p + 8 * i), reinterpret_cast<__m256i>(mask_of(f, i))));
#else
    const u32 bits = f.bits >> (8 * i) & 0xff;
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
#if defined(__AVX2__)
    _mm256_maskstore_epi32(reinterpret_cast<int*>(p + 8 * i), reinterpret_cast<__m256i>(mask_of(f, i)),
                           reinterpret_cast<__m256i>(a.v[i]));
#else
    const u32 bits = f.bits >> (8 * i) & 0xff;
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
/// The same for half-words, as what a shuffle of bytes takes.
struct CompactHalvesTable {
  std::uint8_t bytes[256][16];
  constexpr CompactHalvesTable() : bytes() {
    for (u32 bits = 0; bits < 256; ++bits) {
      int to = 0;
      for (u32 i = 0; i < 8; ++i)
        if (bits >> i & 1)
          for (u32 byte = 0; byte < 2; ++byte) bytes[bits][to++] = static_cast<std::uint8_t>(2 * i + byte);
    }
  }
};
alignas(16) inline constexpr CompactHalvesTable kCompactHalvesTable;
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
#if defined(__AVX2__)
/// Those of eight words, or of eight half-words, whose bits are set.
inline void put_selected(u32* to, const u32* p, u32 bits) {
  const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kCompactTable.places[bits])));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), places));
}
inline void put_selected(std::uint16_t* to, const std::uint16_t* p, u32 bits) {
  const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(kCompactHalvesTable.bytes[bits]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), bytes));
}
#endif
/// Sixteen words or half-words, and the other sixteen where some are asked for: going on until no
/// bit is left would take a branch that nobody could predict.
template <class T>
BICLIQ_INLINE u32 compact_selected(T* to, const T* p, u32 bits) {
#if defined(__AVX2__)
  const auto put = [&](u32 i) {
    const u32 some = bits >> 8 * i & 0xff;
    put_selected(to, p + 8 * i, some);
    to += popcount(some);
  };
  put(0);
  put(1);
  if (bits >> 16) {
    put(2);
    put(3);
  }
#else
  for (u32 left = bits; left; left &= left - 1) *to++ = p[first_set(left)];
#endif
  return popcount(bits);
}
/// What f makes of all eight words, two at a time.
template <class F>
BICLIQ_INLINE u32 across(Vec8 x, F f) {
#if defined(__AVX2__)
  const __m256i all = reinterpret_cast<__m256i>(x);
  const auto both = [&](__m128i a, __m128i b) { return reinterpret_cast<__m128i>(f(reinterpret_cast<Vec4>(a), reinterpret_cast<Vec4>(b))); };
  const __m128i four = both(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  const __m128i two = both(four, _mm_shuffle_epi32(four, 0x4e));
  return static_cast<u32>(_mm_cvtsi128_si32(both(two, _mm_shuffle_epi32(two, 0xb1))));
#else
  u32 y = x[0];
  for (int j = 1; j < 8; ++j) y = f(y, static_cast<u32>(x[j]));
  return y;
#endif
}
BICLIQ_INLINE u32 any_bits(Lanes a) {
  return across(a.v[0] | a.v[1] | a.v[2] | a.v[3], [](auto x, auto y) { return x | y; });
}
BICLIQ_INLINE u32 largest(Lanes a) {
  const auto most = [](auto x, auto y) { return x > y ? x : y; };
  return across(most(most(a.v[0], a.v[1]), most(a.v[2], a.v[3])), most);
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
  return across(a.v[0] + a.v[1] + a.v[2] + a.v[3], [](auto x, auto y) { return x + y; });
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
/// Without a branch at each bit, which nobody could predict. Few words have one in the upper half.
BICLIQ_INLINE u64 sum_selected(const u64* p, u32 bits) {
#if defined(__AVX2__)
  __m256i sum = _mm256_setzero_si256();
  const auto add = [&](u32 i) {
    const auto* mask = reinterpret_cast<const __m256i*>(kFourMasks.words[bits >> 4 * i & 15]);
    sum = _mm256_add_epi64(sum, _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 4 * i)), _mm256_load_si256(mask)));
  };
  for (u32 i = 0; i < 4; ++i) add(i);
  if (bits >> 16)
    for (u32 i = 4; i < 8; ++i) add(i);
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
#if defined(__AVX2__)
/// A bit of each of eight bytes.
inline constexpr u64 kBitOfBytes[8] = {0x0101010101010101, 0x0202020202020202, 0x0404040404040404, 0x0808080808080808,
                                       0x1010101010101010, 0x2020202020202020, 0x4040404040404040, 0x8080808080808080};
/// The masks of the 32 columns in one word of up to 32 rows: bit i is row i, for the rows in
/// `wanted`. Eight rows give each column a byte, all 32 of them one register, in an order that
/// unpacking makes one of words.
inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  const __m256i byte = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  const __m256i bit = _mm256_set_m128i(_mm_set1_epi32(static_cast<int>(0x80402010)), _mm_set1_epi32(0x08040201));
  __m256i eight[4];
  for (u32 g = 0; g < 4; ++g) {
    __m256i masks = _mm256_setzero_si256();
    for (u32 rows = wanted >> 8 * g & 0xff; rows; rows &= rows - 1) {
      const u32 r = first_set(rows), word = base[starts[8 * g + r]];
      const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), byte), bit);
      const __m256i row = _mm256_set1_epi64x(static_cast<long long>(kBitOfBytes[r]));
      masks = _mm256_or_si256(masks, _mm256_and_si256(_mm256_cmpeq_epi8(own, bit), row));
    }
    eight[g] = masks;
  }
  const __m256i low[2] = {_mm256_unpacklo_epi8(eight[0], eight[1]), _mm256_unpacklo_epi8(eight[2], eight[3])};
  const __m256i high[2] = {_mm256_unpackhi_epi8(eight[0], eight[1]), _mm256_unpackhi_epi8(eight[2], eight[3])};
  const auto lanes = [](__m256i x) { return reinterpret_cast<Vec8>(x); };
  return {{lanes(_mm256_unpacklo_epi16(low[0], low[1])), lanes(_mm256_unpackhi_epi16(low[0], low[1])),
           lanes(_mm256_unpacklo_epi16(high[0], high[1])), lanes(_mm256_unpackhi_epi16(high[0], high[1]))}};
}
#else
inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  Lanes masks = splat(0);
  for (; wanted; wanted &= wanted - 1)
    masks = set_bits(masks, flags(base[starts[first_set(wanted)]]), splat(wanted & (0u - wanted)));
  return masks;
}
#endif

}  // namespace bicliq
