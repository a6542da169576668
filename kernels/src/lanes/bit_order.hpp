// bit_order.hpp: the bits of a word brought into another order, on a CPU.
//
// With AVX2 in four instructions, whatever the order: each place of the new word names a byte of
// the old one and a bit of it.
#pragma once

#include "lanes/types.hpp"

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bicliq {

class BitOrder {
 public:
  /// All places are empty.
  void clear() {
    std::memset(byte_, kNone, sizeof byte_);
    std::memset(mask_, 1, sizeof mask_);
  }
  /// Bit `from` of a word comes to bit `to`.
  void set(u32 to, u32 from) {
    byte_[to] = static_cast<std::uint8_t>(from / 8);
    mask_[to] = static_cast<std::uint8_t>(1u << from % 8);
  }
  u32 operator()(u32 word) const {
#if defined(__AVX2__)
    const __m256i byte = _mm256_load_si256(reinterpret_cast<const __m256i*>(byte_));
    const __m256i mask = _mm256_load_si256(reinterpret_cast<const __m256i*>(mask_));
    const __m256i named = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), byte);
    return static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(named, mask), mask)));
#else
    u32 ordered = 0;
    for (u32 i = 0; i < 32; ++i)
      if (byte_[i] != kNone && word >> 8 * byte_[i] & mask_[i]) ordered |= 1u << i;
    return ordered;
#endif
  }

 private:
  static constexpr std::uint8_t kNone = 0x80;  // what makes a shuffle write zero
  alignas(32) std::uint8_t byte_[32];
  alignas(32) std::uint8_t mask_[32];
};

}  // namespace bicliq
