// packing.hpp: numbers of up to 16 bits side by side, without gaps, the lowest bits first.
//
// Eight numbers of w bits fill w bytes. They are put together and taken apart as two words of 64
// bits, four numbers in each.
//
// Reference: Apache Parquet format, Encodings.md (RLE, bit-packing hybrid).
#pragma once

#include "lanes/types.hpp"

#include <cstddef>
#include <cstring>

namespace bicliq {

constexpr std::size_t kPackSpare = 16;  // bytes that are written behind the last group

/// Bits that tell `n` places apart; at least one.
inline u32 bits_of_places(std::size_t n) {
  u32 bits = 1;
  while (std::size_t{1} << bits < n) ++bits;
  return bits;
}

/// Packs `n` numbers that `number(i)` gives, zeros behind them up to a whole group of eight.
template <class F>
void pack(std::size_t n, u32 width, char* to, F number) {
  const auto group = [&](std::size_t i, u32 some) {
    u64 half[2] = {0, 0};
    for (u32 k = 0; k < some; ++k) half[k / 4] |= u64{number(i + k)} << k % 4 * width;
    const auto both = half[0] | static_cast<unsigned __int128>(half[1]) << 4 * width;
    std::memcpy(to, &both, sizeof both);
    to += width;
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) group(i, 8);
  if (i < n) group(i, static_cast<u32>(n - i));
}

/// Hands `n` packed numbers to `put(i, number)`. Reads no byte behind their last group.
template <class F>
void unpack(const char* from, std::size_t n, u32 width, F put) {
  const u64 mask = (u64{1} << width) - 1;
  const auto group = [&](std::size_t i, u32 some) {
    unsigned __int128 both = 0;
    std::memcpy(&both, from, width);
    const u64 half[2] = {static_cast<u64>(both), static_cast<u64>(both >> 4 * width)};
    for (u32 k = 0; k < some; ++k) put(i + k, static_cast<u32>(half[k / 4] >> k % 4 * width & mask));
    from += width;
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) group(i, 8);
  if (i < n) group(i, static_cast<u32>(n - i));
}

}  // namespace bicliq
