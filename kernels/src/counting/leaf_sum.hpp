// leaf_sum.hpp: what the leaves of a pivot search on a device add up to, for one (p,q).
//
// A leaf stands for C(optional, p - held) · C(optional, q - held) bicliques. Terms have 128 bits
// and sums 192, so that differences of leaves may pass through large values. A term that does not
// fit raises a flag: every leaf that is added stands for bicliques of the graph, so the count does
// not fit either.
#pragma once

#include "counting/sizes.hpp"
#include "lanes/shared_words.hpp"

namespace bicliq {

struct Words128 {
  u64 low, high;
  constexpr bool fits() const { return (low & high) != ~0ull; }
};
constexpr Words128 kNoFit = {~0ull, ~0ull};  // no product of two binomials (count128.hpp)

#if defined(__CUDACC_RTC__)
__device__ inline u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
#else
inline u64 high_product(u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); }
#endif

/// a·b, or `kNoFit`.
inline Words128 product(Words128 a, Words128 b) {
  if (!a.fits() || !b.fits() || (a.high && b.high)) return kNoFit;
  const Words128 wide = a.high ? a : b;
  const u64 narrow = a.high ? b.low : a.low;
  if (high_product(wide.high, narrow)) return kNoFit;
  const u64 upper = wide.high * narrow, carry = high_product(wide.low, narrow);
  return upper + carry < upper ? kNoFit : Words128{wide.low * narrow, upper + carry};
}

/// C(n, k) of all n up to a largest one, for k from 0 on: low and high words, `kNoFit` from 2^128
/// on.
struct BinomialTable {
  const u64* words;
  u64 width;  // numbers n that it has
  Words128 operator()(u32 n, u32 k) const {
    const u64 at = 2 * (k * width + n);
    return {words[at], words[at + 1]};
  }
};

/// The sum of one group of lanes.
class LeafSum {
 public:
  static constexpr bool kOfVertices = false;
  LeafSum(const SizeRange& sizes, const BinomialTable& choose) : size_{sizes.least[0], sizes.least[1]}, choose_(choose) {}

  u64 low = 0, middle = 0, high = 0;  // in two's complement
  bool too_large = false;

  void add(const Held& s, bool negative) {
    if (s.sure(0) < size_[0] || s.sure(1) < size_[1]) return;
    const Words128 x = product(choose_(s.optional[0], size_[0] - s.held[0]), choose_(s.optional[1], size_[1] - s.held[1]));
    too_large |= !x.fits();
    if (negative)
      subtract(x);
    else
      add(x);
  }
  void add(const LeafSum& other) {
    too_large |= other.too_large;
    high += other.high;
    add(Words128{other.low, other.middle});
  }
  /// Adds the sum to three words of memory.
  void add_to(u64* total) const {
    LeafSum all = *this;
    all.high += read(total + 2);
    all.add(Words128{read(total), read(total + 1)});
    each_item(1, [&](u32) {
      total[0] = all.low;
      total[1] = all.middle;
      total[2] = all.high;
    });
  }

 private:
  void add(Words128 x) {
    low += x.low;
    const u64 carry = low < x.low, upper = middle + x.high;
    high += (upper < middle) + (upper + carry < carry);
    middle = upper + carry;
  }
  void subtract(Words128 x) {
    const u64 borrow = low < x.low, upper = middle - x.high;
    low -= x.low;
    high -= (middle < x.high) + (upper < borrow);
    middle = upper - borrow;
  }

  u32 size_[2];
  BinomialTable choose_;
};

}  // namespace bicliq
