// binomials.hpp: C(n, k) for whatever n and k come up, from columns that grow as they are asked
// for.
#pragma once

#include "counting/count128.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

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
