// count128.hpp: exact sums of binomial coefficients and of their products.
//
// Terms have 128 bits, and sums 192, which is more than 2^63 of the largest terms. A term of 2^128
// or more is `kTooLarge`, and goes to no sum: it is kept by its factors (`LargeTerms`), and Python
// works it out. None is 2^128 - 1 itself, which `kTooLarge` is: its prime factor 67,280,421,310,721
// divides no binomial coefficient of n < 2^32.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace bicliq {

using u128 = unsigned __int128;
constexpr u128 kTooLarge = ~static_cast<u128>(0);  // stands for any term of 2^128 or more

/// a·b, or `kTooLarge`.
inline u128 checked_product(u128 a, u128 b) {
  u128 out;
  return __builtin_mul_overflow(a, b, &out) ? kTooLarge : out;
}

/// c·n/k, which must be whole, without forming c·n; n and k fit in 32 bits.
inline u128 scale_exactly(u128 c, std::uint64_t n, std::uint64_t k) {
  if (c == kTooLarge) return kTooLarge;
  const u128 whole = checked_product(c / k, n), rest = c % k * n / k;
  return whole == kTooLarge || whole > kTooLarge - rest ? kTooLarge : whole + rest;
}

/// A sum of either sign, in 192 bits.
struct Total {
  u128 low = 0;
  std::int64_t high = 0;
  void add(u128 x) { high += __builtin_add_overflow(low, x, &low); }
  void subtract(u128 x) { high -= __builtin_sub_overflow(low, x, &low); }
  void add(const Total& other) {
    add(other.low);
    high += other.high;
  }
};

/// Terms that do not fit in 128 bits, by four numbers that say what they are, and how many times
/// each of them is to be added.
class LargeTerms {
 public:
  using Key = std::array<std::uint32_t, 4>;
  void add(const Key& key, std::int64_t times) { times_[key] += times; }
  void add(const LargeTerms& other) {
    for (const auto& [key, times] : other.times_) add(key, times);
  }
  const std::map<Key, std::int64_t>& times() const { return times_; }

 private:
  std::map<Key, std::int64_t> times_;
};

/// C(n, k) for one k and every n up to a largest one.
inline std::vector<u128> binomial_column(std::uint32_t largest_n, std::uint32_t k) {
  std::vector<u128> column(static_cast<std::size_t>(largest_n) + 1, 0);
  if (k > largest_n) return column;
  column[k] = 1;
  for (std::uint64_t n = static_cast<std::uint64_t>(k) + 1; n <= largest_n; ++n)
    column[n] = scale_exactly(column[n - 1], n, n - k);
  return column;
}

/// C(n, k), or `kTooLarge`.
inline u128 binomial(std::uint32_t n, std::uint32_t k) {
  if (k > n) return 0;
  if (k > n - k) k = n - k;
  u128 c = 1;
  for (std::uint32_t i = 0; i < k && c != kTooLarge; ++i) c = scale_exactly(c, n - i, std::uint64_t{i} + 1);
  return c;
}

/// C(n, k) for one n and every k below `count`; none of them may be too large.
inline void binomial_row(std::uint32_t n, std::uint32_t count, std::vector<u128>& row) {
  row.assign(count, 0);
  u128 c = 1;
  for (std::uint32_t k = 0; k < count && k <= n; ++k) {
    row[k] = c;
    if (k < n) c = scale_exactly(c, n - k, std::uint64_t{k} + 1);
  }
}

/// C(n, k) for whatever n and k come up, from columns that grow as they are asked for.
class Binomials {
 public:
  /// `kTooLarge` from 2^128 on.
  u128 operator()(u32 n, u32 k) {
    if (k > n) return 0;
    if (k > kKept) return binomial(n, k);
    if (columns_.size() <= k) columns_.resize(k + 1);
    std::vector<u128>& column = columns_[k];
    if (column.size() <= n) column = binomial_column(std::max(2 * n, 63u), k);
    return column[n];
  }

 private:
  static constexpr u32 kKept = 256;  // longer columns are not worth their memory
  std::vector<std::vector<u128>> columns_;
};

}  // namespace bicliq
