// powers.hpp: what a guess of the work below a node should be, learnt from the round before.
//
// A guess is the number of paths of two edges below a node, to some power. Draws in proportion to
// guesses g of sizes f have a variance in proportion to sum(g) · sum(f² / g); so each power is
// judged by that, with both sums estimated from what was drawn, and the least power within a tenth
// of the best is taken: too small a power costs draws, one that is too large overlooks what is
// rare.
//
// Paper: Hansen and Hurwitz, On the theory of sampling from finite populations, 1943.
#pragma once

#include "lanes/types.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace bicliq {

constexpr std::array<double, 8> kPowers = {1, 1.5, 2, 2.5, 3, 4, 6, 8};
using PowerSums = std::array<double, kPowers.size()>;

/// Adds how much a number of paths weighs, to each power. Paths are scaled, so that no power
/// overflows.
inline void add_powers(PowerSums& sums, double paths, double scale, double times) {
  const double logarithm = std::log(paths / scale);
  for (std::size_t k = 0; k < kPowers.size(); ++k) sums[k] += times * std::exp(kPowers[k] * logarithm);
}

/// The variances that the powers would have had, summed over populations.
class PowerChoice {
 public:
  void add(const PowerSums& guesses, const PowerSums& squares) {
    for (std::size_t k = 0; k < kPowers.size(); ++k) variance_[k] += guesses[k] * squares[k];
  }
  /// The power to take from now on; `otherwise` where nothing was seen.
  double best(double otherwise) const {
    double least = variance_[0];
    for (double v : variance_) least = v < least ? v : least;
    if (!(least > 0)) return otherwise;
    for (std::size_t k = 0; k < kPowers.size(); ++k)
      if (variance_[k] <= kClose * least) return kPowers[k];
    return otherwise;
  }

 private:
  static constexpr double kClose = 1.1;
  PowerSums variance_{};
};

}  // namespace bicliq
