// estimate.hpp: which search a count should take, levels or pivot, and which side should hold its roots.
//
// Some roots of each side are drawn by weights that grow with their paths of length two and their degree, and of each some steps
// are searched for real with a bound on their work; each stands for its share. The sample is drawn again, larger and
// with a larger bound, of the searches that are not clearly worse than another, until one is left or the sample has
// cost about a twelfth of what the count will. Where levels are cheap, pivots are not looked at.
#pragma once

#include "pivot_sums.hpp"
#include "pq.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace bicliq {
inline namespace BICLIQ_ISA {

enum class Method { chosen_here, levels, pivot };
enum class RootSide { chosen_here, left, right };
struct Choice {
  Method method;
  bool on_left;
};

/// In registers that a search by levels touches.
struct WorkEstimate {
  double all = 0, spent = 0;  // of the count; of the sample itself
  bool cut_short = false;
};

/// So many roots, a few steps of each, at most so much work a step; so many times as much work is clearly more. Small samples
/// tend to miss the few steps that hold most of the work by levels, the more of them the deeper: `doubt` a level.
struct SampleSize {
  u32 roots;
  double bound, clearly, doubt;
};
constexpr SampleSize kSamples[] = {{12, 2e3, 20, 0.6}, {64, 2e4, 5, 0.2}, {160, 5e4, 2, 0.15}, {400, 1.5e5, 1.6, 0.05}, {1000, 5e5, 1, 0}};
constexpr u32 kStepsARoot = 4;
constexpr double kBeyondBound = 1.5;   // so much is taken to hide behind bounds that were reached
constexpr double kRegistersANode = 7;  // of a pivot search, by time
constexpr double kCheap = 3e6;         // registers, about 10 ms: pivots could not save what looking at them costs
// Shares of the count that are worth spending, the second while the best estimate is only a lower bound; and the cost of
// the next sample by that of this.
constexpr double kWorthSpending = 0.05, kWorthKnowing = 0.15, kNextSample = 2.5;

/// Running sum of the weights of the sample: paths of length two from a root to later ones times its degree, w, and half of all
/// by w squared, since the work of many levels sits in few roots.
inline std::vector<double> sample_weights(const CountSide& roots, const CountSide& rows) {
  std::vector<double> sum(static_cast<std::size_t>(roots.n) + 1, 0);
  std::vector<u32> passed(rows.n, 0);
  double all = 0, squares = 0;
  for (u32 v = 0; v < roots.n; ++v) {
    u64 paths = 1;
    for (const u32* r = roots.begin(v); r != roots.end(v); ++r) paths += rows.degree(*r) - ++passed[*r];
    const double weight = static_cast<double>(paths) * (1.0 + roots.degree(v));
    sum[v + 1] = weight;
    all += weight;
    squares += weight * weight;
  }
  for (u32 v = 0; v < roots.n; ++v) sum[v + 1] = sum[v] + sum[v + 1] / all + sum[v + 1] * sum[v + 1] / squares;
  return sum;
}

/// One way to count, and what it would cost.
struct Candidate {
  explicit Candidate(Choice c) : choice(c) {}
  virtual ~Candidate() = default;
  /// Stops short of the sample once the estimate is sure to exceed `enough`.
  virtual WorkEstimate draw(SampleSize size, double enough) = 0;
  const Choice choice;
};

/// A root of a sample, the number of its draw, and how many steps of it are searched.
struct Drawn {
  u32 root, turn, steps;
};

/// Draws roots by their weight and adds up what `Way` says of each.
template <class Way>
class Sampled : public Candidate {
 public:
  Sampled(Choice c, const std::vector<double>& weights, std::unique_ptr<Way> way) : Candidate(c), weights_(weights), way_(std::move(way)) {}

  WorkEstimate draw(SampleSize size, double enough) override {
    WorkEstimate estimate;
    const double all = weights_.back(), scale = all / size.roots;
    for (u32 k = 0, times; k < size.roots && estimate.all < enough; k += times) {  // a heavy root is drawn several times on end
      const u32 v = drawn(k, size.roots);
      for (times = 1; k + times < size.roots && drawn(k + times, size.roots) == v;) ++times;
      const Drawn root{v, k, times * kStepsARoot};
      estimate.all += times * scale * way_->work_below(root, size, estimate) / (weights_[v + 1] - weights_[v]);
    }
    return estimate;
  }

 private:
  u32 drawn(u32 k, u32 of) const {
    const double place = (k + 0.5) / of * weights_.back();
    return static_cast<u32>(std::upper_bound(weights_.begin(), weights_.end(), place) - weights_.begin() - 1);
  }
  const std::vector<double>& weights_;
  std::unique_ptr<Way> way_;
};

/// By levels: some steps at equal distances, which ones depends on the turn, each with a bound on its work.
struct LevelsSample {
  Levels search;
  u32 depth;
  double work_below(Drawn d, const SampleSize& size, WorkEstimate& estimate) {
    constexpr double golden = 0.6180339887498949;
    search.work = 0;
    search.work_limit = ~u64{0};
    const u32 n = search.open(d.root), drawn = std::min(n, d.steps);
    const double opening = static_cast<double>(search.work), shift = n == drawn ? 0 : d.turn * golden - std::floor(d.turn * golden);
    for (u32 k = 0; k < drawn; ++k) {
      search.work_limit = search.work + static_cast<u64>(size.bound);
      search.step(search, static_cast<u32>((k + shift) * n / drawn));
      estimate.cut_short |= search.work > search.work_limit;
    }
    const double all = static_cast<double>(search.work);
    estimate.spent += all;
    const double doubt = (1 + size.doubt * depth) * (estimate.cut_short ? kBeyondBound : 1);
    return opening + (drawn ? doubt * (all - opening) * n / drawn : 0);
  }
};

/// By pivots: some random ways down, since the children of one node differ too much.
struct PivotSample {
  Pivot<OneSize> search;
  double work_below(Drawn d, const SampleSize&, WorkEstimate& estimate) {
    search.work = 0;
    const double nodes = search.sampled_nodes(d.root, d.steps / 2);
    estimate.spent += kRegistersANode * static_cast<double>(search.work);
    return kRegistersANode * nodes;
  }
};

/// Everything that the ways to count on one side share.
struct SampledSide {
  SampledSide(const CountSide& roots_, const CountSide& rows_, SizeRange sizes_)
      : roots(roots_), rows(rows_), sizes(sizes_), weights(sample_weights(roots, rows)), table(roots.largest_degree(), sizes.least[1]) {}

  std::unique_ptr<Candidate> sampled(Method method, bool on_left) const {
    const Choice choice{method, on_left};
    if (method == Method::levels) {
      auto way = std::unique_ptr<LevelsSample>(new LevelsSample{{roots, rows, sizes.least[0], table}, sizes.least[0]});
      return std::make_unique<Sampled<LevelsSample>>(choice, weights, std::move(way));
    }
    auto way = std::unique_ptr<PivotSample>(new PivotSample{{roots, rows, sizes, OneSize(sizes.most[0], sizes.most[1])}});
    return std::make_unique<Sampled<PivotSample>>(choice, weights, std::move(way));
  }
  const CountSide &roots, &rows;
  const SizeRange sizes;
  const std::vector<double> weights;
  const ChooseTable table;
};

/// The best of some candidates, by larger and larger samples of those that are not clearly worse than another.
inline Choice best_of(std::vector<std::unique_ptr<Candidate>> candidates) {
  for (const SampleSize& size : kSamples) {
    std::vector<WorkEstimate> estimates;
    double spent = 0, least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i]->choice.method == Method::pivot && least < kCheap && !estimates[0].cut_short) {
        candidates.resize(i);
        break;
      }
      estimates.push_back(candidates[i]->draw(size, size.clearly * least));
      spent += estimates[i].spent;
      if (estimates[i].all >= least) continue;
      least = estimates[i].all;
      std::swap(candidates[0], candidates[i]);
      std::swap(estimates[0], estimates[i]);
    }
    for (std::size_t i = candidates.size(); i-- > 1;)
      if (!estimates[0].cut_short && estimates[i].all >= size.clearly * least)
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
    const double worth = estimates[0].cut_short ? kWorthKnowing : kWorthSpending;
    if (candidates.size() == 1 || (&size != kSamples && spent * kNextSample > worth * least)) break;
  }
  return candidates[0]->choice;
}

/// The search and the side of the roots of a count, as far as they are not prescribed; sizes of the left and right side.
inline Choice choose(const CountGraph& g, SizeRange sizes, Method method, RootSide side) {
  const u32 p = sizes.least[0], q = sizes.least[1];
  if (p == 1 || q == 1 || g.left.n == 0)  // one level is a sum over degrees
    return {method == Method::pivot ? Method::pivot : Method::levels, side == RootSide::chosen_here ? p == 1 : side == RootSide::left};
  if (method != Method::chosen_here && side != RootSide::chosen_here) return {method, side == RootSide::left};
  const SampledSide left(g.left, g.right, sizes), right(g.right, g.left, {{q, p}, {sizes.most[1], sizes.most[0]}});
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const Method one : {Method::levels, Method::pivot}) {  // the one that is mostly better first
    if (method != Method::chosen_here && method != one) continue;
    if (side != RootSide::right) candidates.push_back(left.sampled(one, true));
    if (side != RootSide::left) candidates.push_back(right.sampled(one, false));
  }
  return best_of(std::move(candidates));
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
