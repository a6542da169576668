// thinning.hpp: few of many weighted items, so that sums over them stay right on average.
//
// An item that is worth more than a threshold is kept as it is. The others are drawn evenly over
// the running sum of what they are worth, with one random number, and those drawn count as much
// more as they were unlikely. The threshold is the one that leaves so many as are wanted. Where all
// fit, all are kept, and nothing is estimated.
//
// Papers: Fearnhead and Clifford, On-line inference for hidden Markov models via particle filters,
// 2003 (which are kept); Madow, On the theory of systematic sampling, 1949.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace bicliq {

/// Random numbers of one batch: SplitMix64.
class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}
  /// Uniform in [0, 1).
  double draw() {
    u64 z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ z >> 31) >> 11) / static_cast<double>(u64{1} << 53);
  }

 private:
  u64 state_;
};

/// The threshold that leaves n items; 0 where no more are worth something.
inline double threshold_for(std::vector<double> worth, std::size_t n) {
  worth.erase(std::remove(worth.begin(), worth.end(), 0.0), worth.end());
  if (worth.size() <= n) return 0;
  double rest = 0;
  for (double w : worth) rest += w;
  std::partial_sort(worth.begin(), worth.begin() + static_cast<std::ptrdiff_t>(n), worth.end(), std::greater<>());
  for (std::size_t kept = 0; kept < n; ++kept) {
    const double threshold = rest / static_cast<double>(n - kept);
    if (worth[kept] < threshold) return threshold;
    rest -= worth[kept];
  }
  return rest;
}

/// Calls keep(item, factor) for the items that are left, in their order: each counts so many times.
template <class Keep>
void thin(const std::vector<double>& worth, double threshold, Random& random, Keep keep) {
  double owed = random.draw();
  for (std::size_t i = 0; i < worth.size(); ++i) {
    if (worth[i] == 0) continue;
    if (worth[i] >= threshold) {
      keep(i, 1.0);
      continue;
    }
    owed += worth[i] / threshold;
    if (owed < 1) continue;
    owed -= 1;
    keep(i, threshold / worth[i]);
  }
}

}  // namespace bicliq
