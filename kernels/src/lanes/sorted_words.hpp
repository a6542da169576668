// sorted_words.hpp: pairs of numbers as words, which sort as pairs do, and bisection.
//
// For single threads, of a device and of the host.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

inline u32 low_half(u64 word) { return static_cast<u32>(word); }
inline u32 high_half(u64 word) { return static_cast<u32>(word >> 32); }
inline u64 word_of(u32 high, u32 low) { return static_cast<u64>(high) << 32 | low; }

/// The number from `low` to before `high` from which on something holds; `high` where it holds for
/// none.
template <class Number, class F>
inline Number first_where(Number low, Number high, F holds) {
  while (low < high) {
    const Number middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
/// How many of n ascending values are smaller than x.
template <class Value>
inline u64 n_below(const Value* values, u64 n, Value x) {
  return first_where(u64{0}, n, [=](u64 i) { return !(values[i] < x); });
}
/// The row of an entry of a CSR matrix.
inline u32 row_of(const i64* start, u64 n_rows, u64 entry) { return static_cast<u32>(n_below(start, n_rows + 1, static_cast<i64>(entry) + 1) - 1); }

}  // namespace bicliq
