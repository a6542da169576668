// gap_groups.hpp: groups with gaps: what one is worth, which are answers, and the best of them.
//
// A group is left and right vertices of which at most `total` pairs are missing, and at most `each`
// of one member. It is an answer if it has all vertices that are joined to the whole other side, as
// a maximal biclique has, no other vertex can be added so that it is worth more, and none that
// misses something taken away so that it is worth as much. They are ordered by value, fewer missing
// pairs, left and then right vertices: the best k are one set, whoever finds them.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/objective.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <tuple>
#include <vector>

namespace bicliq::gaps {

/// What a group is worth where its sizes do not say it (by weight, by surprise), in whole numbers:
/// the gains of its edges, less the losses of its gaps, and the weights of its members, less what
/// their choice costs. A side is 0 for left, 1 for right.
///
/// By surprise m of n pairs that are missing cost ln C(n, m) + ln (m + 1)(m + 2): as the sum of
/// 1 / (m + 1)(m + 2) is 1, exp(-s) bounds the expected number of groups worth s or more, whatever
/// their gaps.
struct Sums {
  std::vector<i64> gains[2];    // of edges, as the rows of a side have them
  std::vector<i64> weights[2];  // of vertices
  std::vector<i64> terms[2], costs[2];  // of vertices, and by number of them: by surprise
  Correction correction;
  double unit = 0;  // nats of 1, by surprise

  bool is_surprise() const { return unit > 0; }
  i64 loss(u32 side, i32 v, i32 other) const {
    return is_surprise() ? correction(terms[side][static_cast<usize>(v)] + terms[1 - side][static_cast<usize>(other)]) : 0;
  }
  i64 cost(u32 side, u64 n) const { return is_surprise() ? costs[side][n] : 0; }
  i64 gap_cost(u64 pairs, u64 missing) const {
    if (!is_surprise()) return 0;
    double nats = std::log(static_cast<double>((missing + 1) * (missing + 2)));
    for (u64 i = 0; i < missing; ++i) nats += std::log(static_cast<double>(pairs - i) / static_cast<double>(i + 1));
    return std::llround(nats / unit);
  }
  /// What one gap more costs at least, of so many pairs or more and at most so many gaps.
  i64 least_gap_cost(u64 pairs, u64 most) const {
    if (pairs < 2 * most) return 0;
    return static_cast<i64>(std::log(static_cast<double>(pairs - most + 1) / static_cast<double>(most)) / unit);
  }
};

struct Wanted {
  Objective objective;
  Sizes sizes;      // rows are left, columns right; edges are those that are there
  u32 total, each;  // missing pairs, each ≤ total
  const Sums* sums = nullptr;  // by weight and by surprise
  Ids members[2] = {};         // of every answer, ascending

  bool has_members() const { return !members[0].empty() || !members[1].empty(); }
  bool is_member(u32 side, i32 v) const { return std::binary_search(members[side].begin(), members[side].end(), v); }
  /// Can a vertex without any edge to the other side make a group better?
  bool may_lack_all() const { return objective == Objective::vertices || objective == Objective::balanced || (sums && !sums->weights[0].empty()); }

  /// What a group of such a sum over pairs and members is worth.
  i64 value(u64 left, u64 right, u64 missing, i64 sum) const {
    if (!sums) return value(left, right, missing);
    return sum - sums->cost(0, left) - sums->cost(1, right) - sums->gap_cost(left * right, missing);
  }
  /// By sizes. Of equal ones, those with more edges are worth more.
  i64 value(u64 left, u64 right, u64 missing) const {
    constexpr u32 kTieBits = 30;
    const u64 edges = left * right - missing;
    if (objective == Objective::edges) return static_cast<i64>(edges);
    const u64 size = objective == Objective::vertices ? left + right : std::min(left, right);
    return static_cast<i64>(size << kTieBits | std::min<u64>(edges, (u64{1} << kTieBits) - 1));
  }
};

struct Group {
  i64 value = 0;
  u32 missing = 0;
  Ids left, right;

  bool before(const Group& o) const {
    return std::tie(o.value, missing, left, right) < std::tie(value, o.missing, o.left, o.right);
  }
};

/// The k best that any worker has found so far.
class BestGroups {
 public:
  BestGroups(usize k, i64 least) : k_(k), least_(least) {}

  /// What another one must be worth; it only rises.
  i64 least() const { return least_.load(std::memory_order_relaxed); }
  void offer(Group group) {
    if (group.value < least()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto place = std::lower_bound(groups_.begin(), groups_.end(), group, [](const Group& a, const Group& b) { return a.before(b); });
    if (place != groups_.end() && !group.before(*place)) return;  // found again
    groups_.insert(place, std::move(group));
    if (groups_.size() > k_) groups_.pop_back();
    if (groups_.size() == k_) least_.store(groups_.back().value, std::memory_order_relaxed);
  }
  usize k() const { return k_; }
  const std::vector<Group>& all() const { return groups_; }
  std::vector<Group> first() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {groups_.begin(), groups_.begin() + !groups_.empty()};
  }

 private:
  const usize k_;
  mutable std::mutex mutex_;
  std::vector<Group> groups_;
  std::atomic<i64> least_;
};

}  // namespace bicliq::gaps
