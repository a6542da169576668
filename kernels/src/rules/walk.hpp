// walk.hpp: all itemsets, or all minimal generators, one after the other.
//
// What it finds: every itemset that lies in a closed set, or of these the minimal generators: sets
// that no smaller set but the empty one has the closure of. Input: closed sets. Method: depth
// first; a set X has with it the closed sets that hold X, the first of which is its closure. These
// are read once to find every item that X can be extended by, with the closed sets of each
// extension ("occurrence deliver", Uno et al. 2004); items come rarest first, so lists shrink fast.
// A set has a smaller generator where it does without one of its items; generators are closed
// downwards, so nothing lies below a set that is none. Cost: O(items of the closed sets that hold
// X) a set X, and for generators a look for each item. Memory: the lists along one path.
#pragma once

#include "rules/closed_sets.hpp"

#include <vector>

namespace bicliq {

/// What a walk visits.
struct WalkLimits {
  bool generators = false;
  std::size_t max_items = ~std::size_t{0};
  std::vector<u32> with;    // sets that can have these as well: items, ascending
  std::vector<u32> without; // no set has one of these
  void (*hear)() = [] {};   // called now and then; it may throw
};

class Walk {
 public:
  Walk(const ClosedSets& closed, WalkLimits limits) : closed_(closed), limits_(std::move(limits)), count_(closed.n_items(), 0), barred_(closed.n_items(), 0) {
    for (const u32 item : limits_.without) barred_[item] = 1;
    Node& root = node(0);
    for (u32 item = 0; item < closed_.n_items(); ++item)
      if (closed_.with(item).size() && !barred_[item]) root.children.push_back({item, closed_.with(item)});
  }

  /// Goes on to the next set; false: that was the last one.
  bool next() {
    while (true) {
      if (++steps_ % kHear == 0) limits_.hear();
      Node& top = nodes_[set_.size()];
      if (top.next == top.children.size() || set_.size() == limits_.max_items) {
        if (set_.empty()) return false;
        set_.pop_back();
        continue;
      }
      const Child child = top.children[top.next++];
      set_.push_back(child.item);
      if (!is_wanted(child.sets)) {
        set_.pop_back();
        continue;
      }
      closure_ = *child.sets.first;
      open(child);
      return true;
    }
  }
  Numbers set() const { return {set_.data(), set_.data() + set_.size()}; }
  u32 closure() const { return closure_; }

 private:
  struct Child {
    u32 item;
    Numbers sets;
  };
  struct Node {
    std::vector<u32> sets;
    std::vector<Child> children;
    std::size_t next = 0;
  };

  Node& node(std::size_t depth) {
    if (nodes_.size() <= depth) nodes_.resize(depth + 1);
    nodes_[depth].children.clear();
    nodes_[depth].next = 0;
    return nodes_[depth];
  }

  bool is_wanted(Numbers sets) {
    if (limits_.generators && !is_generator(*sets.first)) return false;
    if (limits_.with.empty()) return true;
    other_.clear();
    std::set_union(set_.begin(), set_.end(), limits_.with.begin(), limits_.with.end(), std::back_inserter(other_));
    return closed_.closure({other_.data(), other_.data() + other_.size()}) < closed_.size();
  }
  /// Of several items: none can be left out without another support.
  bool is_generator(u32 closure) {
    for (std::size_t left_out = 0; left_out < set_.size() && set_.size() > 1; ++left_out) {
      other_.clear();
      for (std::size_t i = 0; i < set_.size(); ++i)
        if (i != left_out) other_.push_back(set_[i]);
      if (closed_.support(closed_.first({other_.data(), other_.data() + other_.size()}, 0, closure)) == closed_.support(closure)) return false;
    }
    return true;
  }

  /// Finds what the set can be extended by: items after its last one, and for generators none that
  /// its closure has.
  void open(const Child& child) {
    Node& to = node(set_.size());
    if (set_.size() == limits_.max_items) return;
    const Numbers own = closed_.items(closure_);
    if (limits_.generators)
      for (const u32 item : own) ++barred_[item];
    std::size_t n = 0;
    met_.clear();
    each_item(child, [&](u32, u32 item) {
      if (!count_[item]++) met_.push_back(item);
      ++n;
    });
    std::sort(met_.begin(), met_.end());
    if (to.sets.size() < n) to.sets.resize(n);
    u32* at = to.sets.data();
    for (const u32 item : met_) {
      to.children.push_back({item, {at, at + count_[item]}});
      at += count_[item];
      count_[item] = static_cast<u32>(to.children.size() - 1);  // whose list is filled next
      to.children.back().sets.last = to.children.back().sets.first;
    }
    each_item(child, [&](u32 set, u32 item) {
      const u32*& last = to.children[count_[item]].sets.last;
      to.sets[static_cast<std::size_t>(last++ - to.sets.data())] = set;
    });
    for (const u32 item : met_) count_[item] = 0;
    if (limits_.generators)
      for (const u32 item : own) --barred_[item];
  }
  template <class Visit>
  void each_item(const Child& child, const Visit& visit) const {
    for (const u32 set : child.sets) {
      const Numbers items = closed_.items(set);
      for (const u32* item = std::upper_bound(items.first, items.last, child.item); item < items.last; ++item)
        if (!barred_[*item]) visit(set, *item);
    }
  }

  static constexpr std::size_t kHear = 1024;
  const ClosedSets& closed_;
  const WalkLimits limits_;
  std::size_t steps_ = 0;
  std::vector<Node> nodes_;
  std::vector<u32> set_, count_, met_, other_;
  std::vector<unsigned char> barred_;
  u32 closure_ = 0;
};

}  // namespace bicliq
