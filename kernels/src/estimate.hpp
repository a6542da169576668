// estimate.hpp: which side should hold the roots of a count by levels.
//
// Some roots of each side are drawn in proportion to their paths of length two and their degree, and of each some steps
// are searched for real with a bound on their work; each stands for its share. The sample is drawn again, larger and
// with a larger bound, until one side is clearly better or the sample has cost a twelfth of what the count will.
#pragma once

#include "pq.hpp"

#include <cmath>
#include <numeric>

namespace bicliq {
inline namespace BICLIQ_ISA {

struct WorkEstimate {
  double registers = 0;
  u64 spent = 0;  // registers of the sample itself
  bool cut_short = false;
};

/// So many roots, a few steps of each, at most so many registers a step; so many times as much work is clearly more.
struct SampleSize {
  u32 roots;
  u64 bound;
  double clearly;
};
constexpr SampleSize kSamples[] = {{24, 20'000, 6}, {100, 50'000, 3}, {400, 200'000, 1.5}, {1600, 1'000'000, 1}};
constexpr u32 kStepsARoot = 4;
constexpr double kWorthSpending = 0.08, kNextSample = 4;  // share of the count; cost of the next sample by that of this

/// Running sum over the roots of paths of length two to any vertex, times the degree: the weights of the sample.
inline std::vector<u64> paths_of_two(const CountSide& roots, const CountSide& rows) {
  std::vector<u64> sum(static_cast<std::size_t>(roots.n) + 1, 0);
  for (u32 v = 0; v < roots.n; ++v) {
    u64 paths = 1;
    for (const u32* r = roots.begin(v); r != roots.end(v); ++r) paths += rows.degree(*r);
    sum[v + 1] = sum[v] + paths * (1 + roots.degree(v));
  }
  return sum;
}

/// Estimated work of a count with its roots on this side, in registers touched.
class SideEstimate {
 public:
  SideEstimate(const CountSide& roots, const CountSide& rows, u32 p, u32 q)
      : n_(roots.n), weights_(paths_of_two(roots, rows)), table_(roots.largest_degree(), q), levels_(roots, rows, p, table_) {}

  WorkEstimate draw(SampleSize size) {
    WorkEstimate estimate;
    if (n_ == 0) return estimate;
    const double all = static_cast<double>(weights_.back());
    for (u32 k = 0; k < size.roots; ++k) {
      const auto place = static_cast<u64>((k + 0.5) / size.roots * all);
      const auto v = static_cast<u32>(std::upper_bound(weights_.begin(), weights_.end(), place) - weights_.begin() - 1);
      estimate.registers += work_below(v, k, size.bound, estimate) / static_cast<double>(weights_[v + 1] - weights_[v]);
    }
    estimate.registers *= all / size.roots;
    return estimate;
  }

 private:
  /// Estimated work below one root, from steps at equal distances; which ones depends on `turn`.
  double work_below(u32 v, u32 turn, u64 bound, WorkEstimate& estimate) {
    constexpr double golden = 0.6180339887498949;
    levels_.work = 0;
    levels_.work_limit = ~u64{0};
    const u32 n = levels_.open(v), drawn = std::min(n, kStepsARoot);
    const u64 opening = levels_.work;
    const double shift = n == drawn ? 0 : turn * golden - std::floor(turn * golden);
    for (u32 k = 0; k < drawn; ++k) {
      const u64 before = levels_.work;
      levels_.work_limit = before + bound;
      levels_.step(levels_, static_cast<u32>((k + shift) * n / drawn));
      estimate.cut_short |= levels_.work > levels_.work_limit;
    }
    estimate.spent += levels_.work;
    const double a_step = drawn == 0 ? 0 : static_cast<double>(levels_.work - opening) / drawn;
    return static_cast<double>(opening) + a_step * n;
  }
  const u32 n_;
  const std::vector<u64> weights_;
  const ChooseTable table_;
  Levels levels_;
};

/// Is the left side the better one for the roots of a count by levels?
inline bool left_is_better(const CountGraph& g, u32 p, u32 q) {
  if (p == 1 || q == 1) return p == 1;
  SideEstimate left_side(g.left, g.right, p, q), right_side(g.right, g.left, q, p);
  bool left_wins = true;
  for (const SampleSize size : kSamples) {
    const WorkEstimate left = left_side.draw(size), right = right_side.draw(size);
    left_wins = left.registers <= right.registers;
    const WorkEstimate &better = left_wins ? left : right, &worse = left_wins ? right : left;
    if (!better.cut_short && worse.registers > size.clearly * better.registers) break;
    if (static_cast<double>(left.spent + right.spent) * kNextSample > kWorthSpending * better.registers) break;
  }
  return left_wins;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
