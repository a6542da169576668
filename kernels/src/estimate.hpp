// estimate.hpp: which side should hold the roots of a count by levels.
//
// A few roots of each side, drawn in proportion to their paths of length two and their degree, are searched for real with a bound on
// their work; each stands for its share of these weights. Where the bound cut the cheaper side short its figure says little,
// and the sample is drawn again with a larger bound. The wrong side costs up to a hundred times, a small sample a
// millisecond.
#pragma once

#include "pq.hpp"

#include <numeric>

namespace bicliq {
inline namespace BICLIQ_ISA {

constexpr u32 kSampledRoots = 24;
constexpr u64 kSampledWork = 20'000, kMoreSampledWork = 400'000;  // registers a root, at most

struct WorkEstimate {
  double registers = 0;
  bool cut_short = false;
};

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
inline WorkEstimate levels_work(const CountSide& roots, const CountSide& rows, u32 p, u32 q, u64 bound) {
  WorkEstimate estimate;
  if (roots.n == 0) return estimate;
  const std::vector<u64> paths = paths_of_two(roots, rows);
  const double all = static_cast<double>(paths.back());
  const ChooseTable table(roots.largest_degree(), q);
  Levels levels(roots, rows, p, table);
  double sum = 0;
  for (u32 k = 0; k < kSampledRoots; ++k) {
    const auto place = static_cast<u64>((k + 0.5) / kSampledRoots * all);
    const auto v = static_cast<u32>(std::upper_bound(paths.begin(), paths.end(), place) - paths.begin() - 1);
    levels.work = 0;
    levels.work_limit = bound;
    const u32 n = levels.open(v);
    for (u32 i = 0; i < n && levels.work <= bound; ++i) levels.step(levels, i);
    estimate.cut_short |= levels.work > bound;
    sum += static_cast<double>(levels.work) / static_cast<double>(paths[v + 1] - paths[v]);
  }
  estimate.registers = all * sum / kSampledRoots;
  return estimate;
}

/// Is the left side the better one for the roots of a count by levels?
inline bool left_is_better(const CountGraph& g, u32 p, u32 q) {
  if (p == 1 || q == 1) return p == 1;
  WorkEstimate left, right;
  for (u64 bound : {kSampledWork, kMoreSampledWork}) {
    left = levels_work(g.left, g.right, p, q, bound);
    right = levels_work(g.right, g.left, q, p, bound);
    if (!(left.registers <= right.registers ? left : right).cut_short) break;
  }
  return left.registers <= right.registers;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
