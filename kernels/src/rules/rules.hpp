// rules.hpp: association rules from closed sets, some at a time.
//
// What it finds: non-redundant rules (Bastide et al. 2000), G -> C \ G for each minimal generator G
// and each closed set C that holds it: the closure of G, whose rules are exact, or a larger one; or
// all rules A -> B, of every split of every itemset. Confidence is support(C) / support(G), so of a
// generator the rules that reach one are those with closed sets of a range of numbers; of an
// itemset confidence falls as items go from A to B, and splits below it are not made. Either is a
// cursor that goes on where it stopped: what is held does not grow with the number of rules, only
// with that of generators. Cost: a look in the closed sets a rule, and one or two for supports.
// Reference: tests/reference/itemsets.py.
#pragma once

#include "rules/walk.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

struct RuleLimits {
  double min_confidence = 0;
  std::size_t max_items = ~std::size_t{0};  // of a rule
  std::vector<u32> antecedent, consequent;  // items that the sides must have, ascending
  void (*hear)() = [] {};                   // as of a walk
  std::vector<u32> both() const {
    std::vector<u32> all;
    std::set_union(antecedent.begin(), antecedent.end(), consequent.begin(), consequent.end(), std::back_inserter(all));
    return all;
  }
};

/// A confidence that is reached but for rounding is reached: who wants to know divides again.
inline double with_room(double confidence) { return confidence * (1 - 1e-9); }
inline bool holds(Numbers all, const std::vector<u32>& some) { return std::includes(all.begin(), all.end(), some.begin(), some.end()); }

/// Rules in the layout of Arrow: lists of item ids, ascending, and the supports of both sides.
struct RuleBatch {
  std::vector<i32> antecedent_offsets{0}, antecedents, consequent_offsets{0}, consequents;
  std::vector<i32> support, antecedent_support, consequent_support;
  std::size_t size() const { return support.size(); }
  /// A rule of antecedent `from`, whose items are all but `to`.
  void add(const ClosedSets& closed, Numbers from, Numbers to, i32 both, i32 of_from, i32 of_to) {
    put(closed, from, antecedents, antecedent_offsets);
    put(closed, to, consequents, consequent_offsets);
    support.push_back(both), antecedent_support.push_back(of_from), consequent_support.push_back(of_to);
  }
  static void put(const ClosedSets& closed, Numbers items, std::vector<i32>& ids, std::vector<i32>& offsets) {
    const auto first = static_cast<std::ptrdiff_t>(ids.size());
    for (const u32 item : items) ids.push_back(closed.id(item));
    std::sort(ids.begin() + first, ids.end());
    offsets.push_back(static_cast<i32>(ids.size()));
  }
};

class NonRedundantRules {
 public:
  NonRedundantRules(const ClosedSets& closed, RuleLimits limits) : closed_(closed), limits_(std::move(limits)) {
    WalkLimits walk{true, limits_.max_items, limits_.both(), limits_.consequent, limits_.hear};
    std::vector<u32> closures;
    std::vector<u64> start{0};
    std::vector<u32> items;
    for (Walk at(closed_, std::move(walk)); at.next();) {
      if (!holds(at.set(), limits_.antecedent)) continue;
      items.insert(items.end(), at.set().begin(), at.set().end());
      start.push_back(items.size());
      closures.push_back(at.closure());
    }
    group(closures, start, items);
  }

  /// Adds rules until there are `n`, or no more.
  void fill(RuleBatch& batch, std::size_t n) {
    while (batch.size() < n && closure_ < closed_.size()) {
      if (++steps_ % kHear == 0) limits_.hear();
      if (of_closure_[closure_] == of_closure_[closure_ + 1]) {
        ++closure_, set_ = closure_;
        continue;
      }
      if (set_ == closure_) begin_closure();
      if (set_ < end_) add_all(batch);
      if (set_ < end_) set_ = closed_.first(sought(), set_ + 1, end_);
      if (set_ >= end_) ++closure_, set_ = closure_;
    }
  }
  bool ended() const { return closure_ >= closed_.size(); }

 private:
  /// Generators of one closure lie together.
  void group(const std::vector<u32>& closures, const std::vector<u64>& start, const std::vector<u32>& items) {
    of_closure_.assign(closed_.size() + 1, 0);
    for (const u32 closure : closures) ++of_closure_[closure + 1];
    std::partial_sum(of_closure_.begin(), of_closure_.end(), of_closure_.begin());
    std::vector<u32> order(closures.size());
    std::vector<u32> next(of_closure_.begin(), of_closure_.end());
    for (u32 i = 0; i < closures.size(); ++i) order[next[closures[i]]++] = i;
    for (const u32 i : order) {
      items_.insert(items_.end(), items.begin() + static_cast<std::ptrdiff_t>(start[i]), items.begin() + static_cast<std::ptrdiff_t>(start[i + 1]));
      start_.push_back(items_.size());
    }
  }
  Numbers sought() const { return {sought_.data(), sought_.data() + sought_.size()}; }
  /// Which closed sets come with this closure: those that hold it and what consequents must have.
  void begin_closure() {
    const Numbers own = closed_.items(closure_);
    sought_.clear();
    std::set_union(own.begin(), own.end(), limits_.consequent.begin(), limits_.consequent.end(), std::back_inserter(sought_));
    end_ = closed_.below(with_room(limits_.min_confidence) * closed_.support(closure_));
    set_ = closed_.first(sought(), closure_, end_);
  }
  void add_all(RuleBatch& batch) {
    const Numbers all = closed_.items(set_);
    if (all.size() > limits_.max_items) return;
    for (u32 i = of_closure_[closure_]; i < of_closure_[closure_ + 1]; ++i) {
      const Numbers from{items_.data() + start_[i], items_.data() + start_[i + 1]};
      rest_.clear();
      std::set_difference(all.begin(), all.end(), from.begin(), from.end(), std::back_inserter(rest_));
      if (rest_.empty()) continue;
      const Numbers to{rest_.data(), rest_.data() + rest_.size()};
      batch.add(closed_, from, to, closed_.support(set_), closed_.support(closure_), closed_.support(closed_.first(to, 0, set_)));
    }
  }

  const ClosedSets& closed_;
  const RuleLimits limits_;
  std::vector<u32> items_, of_closure_, sought_, rest_;
  std::vector<u64> start_{0};
  static constexpr std::size_t kHear = 1024;
  std::size_t steps_ = 0;
  u32 closure_ = 0, set_ = 0, end_ = 0;  // set_ == closure_: this closure has not begun
};

class AllRules {
 public:
  AllRules(const ClosedSets& closed, RuleLimits limits)
      : closed_(closed), limits_(std::move(limits)), walk_(closed, {false, limits_.max_items, limits_.both(), {}, limits_.hear}) {}

  void fill(RuleBatch& batch, std::size_t n) {
    while (batch.size() < n && !ended_) {
      if (++steps_ % kHear == 0) limits_.hear();
      if (in_set_) in_set_ = next_split();
      else begin_set();
      if (in_set_) goes_on_ = add(batch);
    }
  }
  bool ended() const { return ended_; }

 private:
  void begin_set() {
    ended_ = !walk_.next();
    in_set_ = !ended_ && walk_.set().size() > 1 && holds(walk_.set(), limits_.antecedent) && holds(walk_.set(), limits_.consequent);
    free_.clear();
    chosen_.clear();
    if (!in_set_) return;
    for (const u32 item : walk_.set())
      if (!has(limits_.antecedent, item) && !has(limits_.consequent, item)) free_.push_back(item);
  }
  static bool has(const std::vector<u32>& items, u32 item) { return std::binary_search(items.begin(), items.end(), item); }

  /// The next choice of free items for the consequent: one more, if that may give a rule.
  bool next_split() {
    if (!goes_on_ && chosen_.empty()) return false;
    std::size_t at = goes_on_ ? (chosen_.empty() ? 0 : chosen_.back() + 1) : given_up();
    while (at == free_.size()) {
      if (chosen_.empty()) return false;
      at = given_up();
    }
    chosen_.push_back(at);
    return true;
  }
  std::size_t given_up() {
    const std::size_t at = chosen_.back() + 1;
    chosen_.pop_back();
    return at;
  }
  /// Adds the rule of this choice, if it is one; can one with more items in the consequent be?
  bool add(RuleBatch& batch) {
    to_ = limits_.consequent;
    for (const std::size_t i : chosen_) to_.push_back(free_[i]);
    std::sort(to_.begin(), to_.end());
    from_.clear();
    std::set_difference(walk_.set().begin(), walk_.set().end(), to_.begin(), to_.end(), std::back_inserter(from_));
    if (from_.empty()) return false;
    if (to_.empty()) return true;
    const Numbers from{from_.data(), from_.data() + from_.size()}, to{to_.data(), to_.data() + to_.size()};
    const i32 both = closed_.support(walk_.closure()), of_from = closed_.support(closed_.first(from, 0, walk_.closure()));
    if (both < with_room(limits_.min_confidence) * of_from) return false;
    batch.add(closed_, from, to, both, of_from, closed_.support(closed_.first(to, 0, walk_.closure())));
    return true;
  }

  const ClosedSets& closed_;
  const RuleLimits limits_;
  Walk walk_;
  std::vector<u32> free_, from_, to_;
  std::vector<std::size_t> chosen_;
  static constexpr std::size_t kHear = 1024;
  std::size_t steps_ = 0;
  bool in_set_ = false, goes_on_ = false, ended_ = false;
};

}  // namespace bicliq
