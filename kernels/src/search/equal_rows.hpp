// equal_rows.hpp: rows of bits, of which those that are equal in some columns become one.
//
// Input: rows, each with a weight, and the columns that tell them apart. Output: one row for each
// set of equal ones, with their weights' sum and the other columns that all of them have. Why that
// is enough: no node tells equal rows apart, so it has all of them or none; and another column
// covers a node only if it has all of the node's rows.
//
// Cost: the words of a row, read twice. Memory: 8 to 16 bytes a row, besides the rows.
#pragma once

#include "lanes/lanes.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

class EqualRows {
 public:
  /// At most `most_rows` rows of `stride` words are told apart by the columns of `open`, all in
  /// words from `first` on. Those that differ are laid into `rows`, their weights into `weights`.
  void begin(u32 stride, u32 first, const u32* open, usize most_rows, u32* rows, u32* weights) {
    stride_ = stride, first_ = first, open_ = open, rows_ = rows, weights_ = weights;
    n_ = 0;
    usize size = 64;
    while (size < 2 * most_rows) size *= 2;
    slots_.assign(size, kFree);
  }
  /// Adds a row, or as many equal ones as its weight says. One without any column of `open` is
  /// left out: it is in no node.
  void add(const u32* row, u32 weight) {
    u64 sum = 0;
    u32 some = 0;
    for (u32 w = first_; w < stride_; ++w) {
      some |= row[w] & open_[w];
      sum = (sum ^ (row[w] & open_[w])) * 0x9e3779b97f4a7c15ull, sum ^= sum >> 32;
    }
    if (!some) return;
    const usize mask = slots_.size() - 1;
    usize at = static_cast<usize>(sum) & mask;
    while (slots_[at] != kFree && differ(row, to(slots_[at]))) at = (at + 1) & mask;
    if (slots_[at] == kFree) {
      slots_[at] = n_;
      weights_[n_] = weight;
      std::copy(row, row + stride_, to(n_++));
    } else {
      u32* const merged = to(slots_[at]);
      for (u32 w = 0; w < stride_; ++w) merged[w] &= row[w];
      weights_[slots_[at]] += weight;
    }
  }
  u32 size() const { return n_; }

 private:
  static constexpr u32 kFree = ~0u;
  u32 stride_ = 0, first_ = 0, n_ = 0;
  const u32* open_ = nullptr;
  u32 *rows_ = nullptr, *weights_ = nullptr;
  std::vector<u32> slots_;

  u32* to(u32 i) const { return rows_ + usize{i} * stride_; }
  bool differ(const u32* a, const u32* b) const {
    u32 bits = 0;
    for (u32 w = first_; w < stride_; ++w) bits |= (a[w] ^ b[w]) & open_[w];
    return bits != 0;
  }
};

}  // namespace bicliq
