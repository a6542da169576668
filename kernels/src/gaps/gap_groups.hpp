// gap_groups.hpp: groups with gaps: what one is worth, which are answers, and the best of them.
//
// A group is left and right vertices of which at most `total` pairs are missing, and at most `each`
// of one member. It is an answer if no vertex can be added so that it is worth more, and none taken
// away so that it is worth as much. They are ordered by value, fewer missing pairs, left and then
// right vertices: the best k are one set, whoever finds them.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/objective.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>
#include <vector>

namespace bicliq::gaps {

struct Wanted {
  Objective objective;  // edges, vertices or balanced
  Sizes sizes;          // rows are left, columns right; edges are those that are there
  u32 total, each;      // missing pairs, each ≤ total

  /// Of equal ones, those with more edges are worth more.
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
  explicit BestGroups(usize k) : k_(k) {}

  /// What another one must be worth; it only rises.
  i64 least() const { return least_.load(std::memory_order_relaxed); }
  void offer(Group group) {
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
  std::atomic<i64> least_{INT64_MIN};
};

}  // namespace bicliq::gaps
