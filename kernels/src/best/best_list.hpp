// best_list.hpp: the best bicliques that any worker has found so far.
//
// They are ordered by value, then by edges, then by their left vertices (the list that is smaller
// at the first difference). No two bicliques are equal in all three, so that the best k are one
// set, whoever finds them, in whatever order. `least` is what another one must reach: the value of
// the k-th, once there are k. Searches read it very often, and it only rises.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>
#include <vector>

namespace bicliq::best {

struct Answer {
  i64 value = 0;
  std::vector<i32> left, right;  // ascending

  u64 edges() const { return u64{left.size()} * right.size(); }
  bool before(const Answer& other) const {
    if (value != other.value) return value > other.value;
    if (edges() != other.edges()) return edges() > other.edges();
    return left < other.left;
  }
};

class BestList {
 public:
  BestList(usize k, i64 least) : k_(k), first_least_(least), least_(least) {}

  i64 least() const { return least_.load(std::memory_order_relaxed); }
  void offer(Answer answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (answer.value < least()) return;
    const auto place = std::lower_bound(answers_.begin(), answers_.end(), answer,
                                        [](const Answer& a, const Answer& b) { return a.before(b); });
    if (place != answers_.end() && place->left == answer.left) return;  // a greedy answer, found again
    answers_.insert(place, std::move(answer));
    if (answers_.size() > k_) answers_.pop_back();
    if (answers_.size() == k_) least_.store(std::max(least(), answers_.back().value), std::memory_order_relaxed);
  }
  /// Begins again, with nothing.
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.clear();
    least_ = first_least_;
  }
  /// It is known that k answers reach so much, before they are found.
  void expect(i64 least) { least_.store(std::max(this->least(), least), std::memory_order_relaxed); }
  const std::vector<Answer>& answers() const { return answers_; }
  /// The best so far, while workers go on; nothing where there is none.
  std::vector<Answer> first() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {answers_.begin(), answers_.begin() + !answers_.empty()};
  }

 private:
  const usize k_;
  const i64 first_least_;
  mutable std::mutex mutex_;
  std::vector<Answer> answers_;
  std::atomic<i64> least_;
};

}  // namespace bicliq::best
