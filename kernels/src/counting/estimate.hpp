// estimate.hpp: which search a count should take, levels or pivot, and which side should hold its
// roots.
//
// Roots of each side are drawn by weights that grow with their paths of length two and their
// degree. Below each, a search goes some random ways down (local_columns.hpp), which says what it
// would cost without doing it. Three times as many roots are drawn, again and again, for the
// searches that are not clearly worse than another, until one is left or the next draws would cost
// more than they could save. Where levels are cheap, pivots are not looked at. Threads share the
// draws; what is drawn, and so the choice, does not depend on their number.
#pragma once

#include "counting/pivot_sums.hpp"
#include "counting/pq.hpp"
#include "lanes/workers.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>

namespace bicliq {

enum class Method { chosen_here, levels, pivot };
enum class RootSide { chosen_here, left, right };
struct Choice {
  Method method;
  bool on_left;
  double work = 0;  // estimated, in the unit of `Costs`; 0: it was not asked for
};

// Chosen on ten real and 36 random graphs, each count with eight seeds of the sample
// (docs/results.md).
constexpr u32 kFirstDraws = 16, kTimesMore = 3, kMostDraws = 432;
constexpr double kScatter = 48;          // after n draws, 1 + kScatter / n times the work of another is clearly more
constexpr double kScatterOfOne = 1920;   // where one search is prescribed: nothing else wins where small samples of levels miss most of them
constexpr u32 kWaysOfLevels = 16, kWaysOfPivots = 4;
constexpr double kWorthSpending = 0.1;   // of the count, on the next draws
constexpr double kDoubtALevel = 0.4;     // random ways miss steps that hold much of the work; for each level that the other side has not
constexpr std::size_t kEdgesWorthThreads = 1 << 15;
constexpr u32 kMostEstimating = 16;  // workers that share a list of 16 to 64 draws
constexpr u32 kMostLevels = 64;      // a random way goes down all of them; more vertices than that are a matter for pivots

/// What a machine takes for the two searches, in the time of a register of 32 columns by levels.
struct Costs {
  double node;    // of a node of pivots
  double pivots;  // of a search by pivots, besides its nodes
  double doubt;   // of levels, whose heaviest roots a small sample may miss: so many times the estimate
  double cheap;   // levels that cost so little: pivots could not save what looking at them costs
  double speed;   // of the machine, over that of a core, which draws the sample
};
constexpr Costs kOfACore{12, 0, 1, 3e6, 1};  // cheap: about 10 ms
// Measured on an H200, counts of five graphs (docs/results.md): 0.13 ns a register, 0.9 a node, and
// a millisecond besides. More draws would take longer than most counts do.
constexpr Costs kOfACard{7, 1e7, 3, 8e7, 25};

/// Roots that were drawn, so many times on end.
struct Drawn {
  u32 root, times;
};

/// The roots of one side, to be drawn by weight: paths of length two from a root to later ones
/// times its degree, and half of all by the square of that, since the work of many levels sits in
/// few roots.
class WeightedRoots {
 public:
  WeightedRoots(const CountSide& roots, const CountSide& rows) : sum_(static_cast<std::size_t>(roots.n) + 1, 0) {
    std::vector<u32> passed(rows.n, 0);
    double all = 0, squares = 0;
    for (u32 v = 0; v < roots.n; ++v) {
      u64 paths = 1;
      for (const u32* r = roots.begin(v); r != roots.end(v); ++r) paths += rows.degree(*r) - ++passed[*r];
      const double weight = static_cast<double>(paths) * (1.0 + roots.degree(v));
      sum_[v + 1] = weight;
      all += weight;
      squares += weight * weight;
    }
    for (u32 v = 0; v < roots.n; ++v) sum_[v + 1] = sum_[v] + sum_[v + 1] / all + sum_[v + 1] * sum_[v + 1] / squares;
  }
  double chance(u32 root) const { return (sum_[root + 1] - sum_[root]) / sum_.back(); }

  /// Draws in the middles of n equal shares of the weight; for a third as many, a third of these
  /// middles were the same and are left out.
  std::vector<Drawn> draws(u32 n) const {
    std::vector<Drawn> out;
    for (u32 k = 0; k < n; ++k) {
      if (n > kFirstDraws && k % kTimesMore == 1) continue;
      const auto above = std::upper_bound(sum_.begin(), sum_.end(), (k + 0.5) / n * sum_.back());
      const auto root = static_cast<u32>(above - sum_.begin() - 1);
      if (out.empty() || out.back().root != root) out.push_back({root, 0});
      ++out.back().times;
    }
    return out;
  }

 private:
  std::vector<double> sum_;
};

/// One way to count, and what it would cost, in registers.
class Candidate {
 public:
  Candidate(Choice choice_, const WeightedRoots& roots_, double start) : choice(choice_), roots(roots_), start_(start) {}
  virtual ~Candidate() = default;
  struct Sample {
    double below = 0, spent = 0;  // estimated below the roots, by their chance; of the sample itself
  };
  /// One worker at a time; different workers at once.
  virtual Sample sample(u32 worker, Drawn drawn) = 0;

  void add(const Sample& s) {
    sum_ += s.below;
    spent += s.spent;
  }
  double work() const { return start_ + sum_ / draws; }

  const Choice choice;
  const WeightedRoots& roots;
  u32 draws = 0;
  double spent = 0;

 private:
  const double start_;
  double sum_ = 0;
};

/// `make` gives each worker its own search when it comes by.
template <class Make>
class SearchCandidate : public Candidate {
 public:
  SearchCandidate(Choice c, const WeightedRoots& r, double start, u32 workers, u32 ways, double unit, double doubt, Make make)
      : Candidate(c, r, start), ways_(ways), unit_(unit), doubt_(doubt), make_(std::move(make)), searches_(workers) {}

  Sample sample(u32 worker, Drawn drawn) override {
    auto& search = searches_[worker];
    if (!search) search = make_();
    const u64 before = search->work;
    const u64 seed = static_cast<u64>(draws) << 32 | drawn.root;  // other ways than from the same root before
    double below = 0;
    try {
      below = search->sampled_work(drawn.root, ways_ * drawn.times, seed);
    } catch (const CapacityError&) {  // too deep for this search, and perhaps not for another
      search.reset();
      return {std::numeric_limits<double>::infinity(), 0};
    }
    return {doubt_ * drawn.times * unit_ * below / roots.chance(drawn.root), unit_ * static_cast<double>(search->work - before)};
  }

 private:
  const u32 ways_;
  const double unit_, doubt_;
  const Make make_;
  std::vector<decltype(std::declval<Make>()())> searches_;
};

/// Everything that the ways to count on one side share.
struct SampledSide {
  SampledSide(const CountSide& roots_, const CountSide& rows_, SizeRange sizes_)
      : roots(roots_), rows(rows_), sizes(sizes_), weighted(roots, rows), table(roots.largest_degree(), sizes.least[1]) {}

  /// Searches of the run that the sample belongs to.
  std::unique_ptr<Candidate> candidate(Choice choice, const Costs& costs, const Run& run) const {
    const auto of = [&](u32 ways, double start, double unit, double doubt, auto make) -> std::unique_ptr<Candidate> {
      return std::make_unique<SearchCandidate<decltype(make)>>(choice, weighted, start, run.workers(), ways, unit, doubt, make);
    };
    if (choice.method == Method::pivot)
      return of(kWaysOfPivots, costs.pivots, costs.node, 1,
                [this, &run] { return std::make_unique<Pivot<OneSize>>(run, roots, rows, sizes, OneSize(sizes.most[0], sizes.most[1])); });
    const u32 p = sizes.least[0], q = sizes.least[1];
    return of(kWaysOfLevels, 0, 1, costs.doubt * (1 + kDoubtALevel * (p > q ? p - q : 0)), [this, p, &run] { return std::make_unique<Levels>(run, roots, rows, p, table); });
  }
  const CountSide &roots, &rows;
  const SizeRange sizes;
  const WeightedRoots weighted;
  const ChooseTable table;
};

using Candidates = std::vector<std::unique_ptr<Candidate>>;

inline void sort_by_work(Candidates& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& x, const auto& y) { return x->work() < y->work(); });
}

/// Brings all candidates from a third of n draws, or none, to n, and sorts them.
inline void draw(Candidates& candidates, u32 n, Run& run) {
  struct Task {
    Candidate* candidate;
    Drawn drawn;
    Candidate::Sample sample;
  };
  std::vector<Task> tasks;
  for (const auto& candidate : candidates) {
    candidate->draws = n;
    for (const Drawn& drawn : candidate->roots.draws(n)) tasks.push_back({candidate.get(), drawn, {}});
  }
  run.each(static_cast<u32>(tasks.size()), [&](u32 worker, u32 i) { tasks[i].sample = tasks[i].candidate->sample(worker, tasks[i].drawn); });
  for (const Task& task : tasks) task.candidate->add(task.sample);
  sort_by_work(candidates);
}

/// The best of all that levels and pivots could do.
inline Choice best_of(Candidates candidates, Candidates pivots, double scatter, const Costs& costs, Run& run) {
  u32 n = kFirstDraws;
  draw(candidates, n, run);
  if (candidates.empty() || candidates[0]->work() > costs.cheap) {
    draw(pivots, n, run);
    std::move(pivots.begin(), pivots.end(), std::back_inserter(candidates));
    sort_by_work(candidates);
  }
  while (true) {
    const double least = candidates[0]->work();
    while (candidates.back()->work() > (1 + scatter / n) * least) candidates.pop_back();
    double spent = 0;
    for (const auto& candidate : candidates) spent += candidate->spent;
    if (candidates.size() == 1 || n == kMostDraws || spent * (kTimesMore - 1) > kWorthSpending * least / costs.speed) break;
    draw(candidates, n *= kTimesMore, run);
  }
  Choice best = candidates[0]->choice;
  best.work = candidates[0]->work();
  return best;
}

/// The search and the side of the roots of a count on a machine, as far as they are not prescribed;
/// sizes of the left and right side.
inline Choice choose(const CountGraph& g, SizeRange sizes, Method method, RootSide side, const Costs& costs, Run& run) {
  const u32 p = sizes.least[0], q = sizes.least[1];
  if (p == 1 || q == 1 || g.left.n == 0)  // one level is a sum over degrees
    return {method == Method::pivot ? Method::pivot : Method::levels, side == RootSide::chosen_here ? p == 1 : side == RootSide::left, 0};
  if (method != Method::chosen_here && side != RootSide::chosen_here) return {method, side == RootSide::left, 0};
  if (method == Method::levels && std::min(p, q) > kMostLevels) return {method, p <= q, 0};
  std::unique_ptr<SampledSide> sides[2];
  run.each(2, [&](u32, u32 is_right) {
    if (side == (is_right ? RootSide::left : RootSide::right)) return;
    sides[is_right] = is_right ? std::make_unique<SampledSide>(g.right, g.left, SizeRange{{q, p}, {sizes.most[1], sizes.most[0]}})
                               : std::make_unique<SampledSide>(g.left, g.right, sizes);
  });
  const auto candidates = [&](Method one) {
    Candidates out;
    for (const bool on_left : {true, false})
      if (const auto& sampled = sides[!on_left];
          sampled && (method == Method::chosen_here || method == one) && (one == Method::pivot || sampled->sizes.least[0] <= kMostLevels))
        out.push_back(sampled->candidate({one, on_left, 0}, costs, run));
    return out;
  };
  return best_of(candidates(Method::levels), candidates(Method::pivot), method == Method::chosen_here ? kScatter : kScatterOfOne, costs, run);
}

}  // namespace bicliq
