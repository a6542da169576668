// bitset.hpp: a set of at most 64·W vertices, its width known to the compiler.
//
// Up to 512 vertices are one register of AVX-512; an operation on such a set is one instruction.
// Wider sets are rows of such chunks. The width is a power of two from 2 words on.
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

inline u32 first_bit(u64 x) { return static_cast<u32>(__builtin_ctzll(x)); }
inline u32 last_bit(u64 x) { return 63 - static_cast<u32>(__builtin_clzll(x)); }

template <u32 W>
struct Bits {
  static constexpr u32 kChunkWords = W < 8 ? W : 8, kChunks = W / kChunkWords;
  typedef u64 Chunk __attribute__((vector_size(8 * kChunkWords), may_alias));
  Chunk chunk[kChunks];

  static Bits none() {
    Bits out;
    for (u32 i = 0; i < kChunks; ++i) out.chunk[i] = Chunk{};
    return out;
  }
  static Bits first_n(u32 n) {
    Bits out = none();
    for (u32 i = 0; i < n / 64; ++i) out.words()[i] = ~u64{0};
    if (n % 64) out.words()[n / 64] = (u64{1} << n % 64) - 1;
    return out;
  }
  u64* words() { return reinterpret_cast<u64*>(chunk); }
  const u64* words() const { return reinterpret_cast<const u64*>(chunk); }
  void add(u32 v) { words()[v / 64] |= u64{1} << v % 64; }
  void remove(u32 v) { words()[v / 64] &= ~(u64{1} << v % 64); }
  bool has(u32 v) const { return words()[v / 64] >> v % 64 & 1; }
};

template <u32 W>
inline Bits<W> operator&(const Bits<W>& a, const Bits<W>& b) {
  Bits<W> out;
  for (u32 i = 0; i < Bits<W>::kChunks; ++i) out.chunk[i] = a.chunk[i] & b.chunk[i];
  return out;
}
template <u32 W>
inline Bits<W> without(const Bits<W>& a, const Bits<W>& b) {
  Bits<W> out;
  for (u32 i = 0; i < Bits<W>::kChunks; ++i) out.chunk[i] = a.chunk[i] & ~b.chunk[i];
  return out;
}

/// Which words of a chunk are not zero, one bit a word.
template <class Chunk>
inline u32 nonzero_words(const Chunk& c) {
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
  if constexpr (sizeof(Chunk) == 64) return _mm512_test_epi64_mask((__m512i)c, (__m512i)c);
  if constexpr (sizeof(Chunk) == 32) return _mm256_test_epi64_mask((__m256i)c, (__m256i)c);
  if constexpr (sizeof(Chunk) == 16) return _mm_test_epi64_mask((__m128i)c, (__m128i)c);
#else
  u32 bits = 0;
  for (u32 i = 0; i < sizeof(Chunk) / 8; ++i) bits |= u32{c[i] != 0} << i;
  return bits;
#endif
}
/// Word i of a chunk; with AVX-512 by way of a register, which is shorter than by way of memory.
template <class Chunk>
inline u64 word_of(const Chunk& c, u32 i) {
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
  if constexpr (sizeof(Chunk) == 64)
    return static_cast<u64>(_mm_cvtsi128_si64(_mm512_castsi512_si128(_mm512_maskz_compress_epi64(static_cast<__mmask8>(1u << i), (__m512i)c))));
#endif
#if defined(__AVX512VL__)
  if constexpr (sizeof(Chunk) == 32)
    return static_cast<u64>(_mm_cvtsi128_si64(_mm256_castsi256_si128(_mm256_maskz_compress_epi64(static_cast<__mmask8>(1u << i), (__m256i)c))));
#endif
  return c[i];
}
/// Sets word i of a chunk; with AVX-512 in the register, since a chunk that is read after a store
/// of one word waits.
template <class Chunk>
inline void set_word(Chunk& c, u32 i, u64 word) {
#if defined(__AVX512VL__)
  const auto at = static_cast<__mmask8>(1u << i);
  const auto value = static_cast<long long>(word);
  if constexpr (sizeof(Chunk) == 64) c = (Chunk)_mm512_mask_set1_epi64((__m512i)c, at, value);
  if constexpr (sizeof(Chunk) == 32) c = (Chunk)_mm256_mask_set1_epi64((__m256i)c, at, value);
  if constexpr (sizeof(Chunk) == 16) c = (Chunk)_mm_mask_set1_epi64((__m128i)c, at, value);
#else
  c[i] = word;
#endif
}

template <u32 W>
inline bool empty(const Bits<W>& a) {
  auto any = a.chunk[0];
  for (u32 i = 1; i < Bits<W>::kChunks; ++i) any |= a.chunk[i];
  return nonzero_words(any) == 0;
}
template <u32 W>
inline u32 count(const Bits<W>& a) {
  u64 n = 0;
  for (u32 i = 0; i < W; ++i) n += static_cast<u64>(__builtin_popcountll(a.words()[i]));
  return static_cast<u32>(n);
}
/// The largest vertex of a set that is not empty.
template <u32 W>
inline u32 last(const Bits<W>& a) {
  for (u32 i = Bits<W>::kChunks; i-- > 0;)
    if (const u32 words = nonzero_words(a.chunk[i])) {
      const u32 j = 31 - static_cast<u32>(__builtin_clz(words));
      return 64 * (Bits<W>::kChunkWords * i + j) + last_bit(word_of(a.chunk[i], j));
    }
  return 64 * W;
}

/// 0, 1, or 2 for more than one member; without a branch, since what comes cannot be foreseen.
template <u32 W>
inline u32 none_one_more(const Bits<W>& a) {
  auto any = a.chunk[0], twice = any ^ any;
  for (u32 i = 1; i < Bits<W>::kChunks; ++i) {
    twice |= any & a.chunk[i];
    any |= a.chunk[i];
  }
  twice |= any & (any - 1);
  const u32 words = nonzero_words(any);
  return (words != 0) + (((words & (words - 1)) | nonzero_words(twice)) != 0);
}

/// The bits of a word under a mask, side by side.
inline u64 pack_bits(u64 word, u64 mask) {
#if defined(__BMI2__)
  return _pext_u64(word, mask);
#else
  u64 out = 0;
  for (u32 i = 0; mask; mask &= mask - 1, ++i) out |= (word >> first_bit(mask) & 1) << i;
  return out;
#endif
}
/// The members of a set, renumbered by their rank in another; `out` is zero, and has a word for
/// every 64 members of that one.
template <u32 W>
inline void ranks_in(const Bits<W>& set, const Bits<W>& among, u64* out) {
  u64 word = 0;
  u32 filled = 0;  // bits of the word
  for (u32 i = 0; i < W; ++i) {
    const u64 mask = among.words()[i];
    if (!mask) continue;
    const u64 packed = pack_bits(set.words()[i], mask);
    const u32 before = filled;
    word |= packed << before;
    filled += static_cast<u32>(__builtin_popcountll(mask));
    if (filled < 64) continue;
    *out++ = word;
    filled -= 64;
    word = before ? packed >> (64 - before) : 0;
  }
  if (filled) *out = word;
}

/// f(v) for the members, ascending.
template <u32 W, class F>
inline void each_member(const Bits<W>& a, F f) {
  for (u32 i = 0; i < Bits<W>::kChunks; ++i)
    for (u32 words = nonzero_words(a.chunk[i]); words; words &= words - 1) {
      const u32 j = first_bit(words);
      for (u64 word = word_of(a.chunk[i], j); word; word &= word - 1) f(64 * (Bits<W>::kChunkWords * i + j) + first_bit(word));
    }
}

}  // namespace bicliq
