// omission.hpp: the end of a count, on a matrix of at most 32 × 32 bits: subsets of nearly all of
// its words.
//
// The k-subsets of n words are those that leave n - k out, so a search over what is left out is
// short where k is near n. A running AND of the words that stay, and the ANDs of all suffixes, make
// a subset one AND, one popcount and one table look-up. The same serves columns (words over rows)
// and, transposed, rows (words over columns): a count may end on whichever has fewer subsets.
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

struct SmallBinomials {
  u32 of[33][33] = {};
  constexpr SmallBinomials() {
    for (u32 n = 0; n <= 32; ++n) {
      of[n][0] = 1;
      for (u32 k = 1; k <= n; ++k) of[n][k] = of[n - 1][k - 1] + of[n - 1][k];
    }
  }
};
inline constexpr SmallBinomials kSmallBinomials;

/// C(n, k) for n <= 32.
inline u32 small_binomial(u32 n, u32 k) { return k > n ? 0 : kSmallBinomials.of[n][k]; }

/// Sum over the k-subsets of n words of C(popcount of their AND, least); below C(32, 16)² < 2^60.
class Omission {
 public:
  Omission(const u32* words, u32 n, u32 least) : words_(words), n_(n), least_(least) {
    suffix_[n] = ~0u;
    for (u32 i = n; i-- > 0;) suffix_[i] = suffix_[i + 1] & words[i];
  }
  u64 sum(u32 k) const { return from(0, n_ - k, ~0u); }

 private:
  u64 value(u32 common) const { return small_binomial(popcount(common), least_); }
  /// `omit` of the words from `at` on are left out; `common` is the AND of those before that were
  /// not.
  u64 from(u32 at, u32 omit, u32 common) const {
    if (omit == 0) return value(common & suffix_[at]);
    u64 sum = 0;
    for (u32 i = at; i + omit <= n_ && popcount(common) >= least_; common &= words_[i++])
      sum += omit == 1 ? value(common & suffix_[i + 1]) : from(i + 1, omit - 1, common);
    return sum;
  }
  const u32* words_;
  const u32 n_, least_;
  u32 suffix_[33];
};

}  // namespace bicliq
