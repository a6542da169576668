// count128.hpp: counts of 128 bits that know when they have overflowed, and binomial coefficients in them.
//
// Terms are binomials of n < 2^32 and their products, with `kTooLarge` for all that do not fit. None is 2^128 - 1 itself: its
// prime factor 67,280,421,310,721 divides no such binomial. Sums can be, and keep a flag of their own.
#pragma once

#include <cstdint>
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

/// A sum that stays too large once it is.
struct Total {
  u128 value = 0;
  bool too_large = false;
  void add(u128 x) { too_large |= __builtin_add_overflow(value, x, &value) || x == kTooLarge; }
  void add(const Total& other) {
    too_large |= __builtin_add_overflow(value, other.value, &value) || other.too_large;
  }
  void add_product(u128 a, u128 b) { add(checked_product(a, b)); }
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

/// C(n, k) for one n and every k below `count`.
inline void binomial_row(std::uint32_t n, std::uint32_t count, std::vector<u128>& row) {
  row.assign(count, 0);
  u128 c = 1;
  for (std::uint32_t k = 0; k < count && k <= n; ++k) {
    row[k] = c;
    if (k < n) c = scale_exactly(c, n - k, static_cast<std::uint64_t>(k) + 1);
  }
}

}  // namespace bicliq
