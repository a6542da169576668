// dictionary.hpp: the few different numbers that a column of a row group has, each with its place.
//
// Bicliques are found root by root, so 65,536 of them that follow each other have some tens to some
// thousands of vertices on a side, in graphs of hundreds of thousands (docs/methods.md). As places
// among these their ids are 8 or 16 bits, in which a codec finds the same repetitions in a half or
// a quarter of the bytes. So it is with sizes and roots.
//
// Cost: two passes over the numbers, which find and mark them, one over their range, eight at a
// time, and one that looks their places up. Memory: three bytes for each number of the range, which
// is bounded by how many numbers there are.
#pragma once

#include "lanes/types.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace bicliq {

// ---- Numbers of up to 16 bits side by side, without gaps, the lowest bits first.
//
// Eight numbers of w bits fill w bytes. They are put together and taken apart as two words of 64
// bits, four numbers in each.
//
// Reference: Apache Parquet format, Encodings.md (RLE, bit-packing hybrid).

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

/// The smallest and the largest of some values; 0 without one.
template <class T>
std::array<T, 2> range_of(const T* values, std::size_t n) {
  T least = n ? values[0] : T{0}, most = least;
  for (std::size_t i = 0; i < n; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  return {least, most};
}

class Dictionary {
 public:
  static constexpr u32 kMost = 65536;  // entries: places have 16 bits

  /// The different ones of some numbers, ascending. None where there are too many, or where they
  /// lie so far apart that looking for them costs more than they save.
  const std::vector<i32>& of(const i32* values, std::size_t n) {
    entries_.clear();
    const auto [least, most] = range_of(values, n);
    const u64 span = static_cast<u64>(i64{most} - least) + 1;
    if (!n || span > kSpanAValue * n + kLeastSpan) return entries_;
    least_ = static_cast<u32>(least);
    mark(values, n, static_cast<std::size_t>(span));
    list(static_cast<std::size_t>(span));
    return entries_;
  }
  /// The places of these numbers. A copy of where they are told: who writes bytes may write
  /// anywhere, as far as the compiler knows.
  struct Places {
    const std::uint16_t* of;
    u32 least;
    std::uint16_t operator()(i32 value) const { return of[static_cast<u32>(value) - least]; }
  };
  Places places() const { return {place_.data(), least_}; }

 private:
  static constexpr u64 kSpanAValue = 4, kLeastSpan = 4096;

  void mark(const i32* values, std::size_t n, std::size_t span) {
    seen_.assign((span + 7) / 8 * 8, 0);
    unsigned char* const seen = seen_.data();
    const u32 least = least_;
    for (std::size_t i = 0; i < n; ++i) seen[static_cast<u32>(values[i]) - least] = 1;
  }
  void list(std::size_t span) {
    if (place_.size() < span) place_.resize(span);
    for (std::size_t i = 0; i < span; i += 8) {
      u64 word;
      std::memcpy(&word, seen_.data() + i, 8);
      for (; word; word &= word - 1) {
        const std::size_t at = i + static_cast<std::size_t>(__builtin_ctzll(word)) / 8;
        place_[at] = static_cast<std::uint16_t>(entries_.size());
        entries_.push_back(static_cast<i32>(static_cast<u32>(at) + least_));
      }
      if (entries_.size() > kMost) return entries_.clear();
    }
  }

  std::vector<i32> entries_;
  std::vector<unsigned char> seen_;   // of each number of the range: is it there?
  std::vector<std::uint16_t> place_;  // of those that are
  u32 least_ = 0;                     // differences are taken modulo 2^32
};

}  // namespace bicliq
