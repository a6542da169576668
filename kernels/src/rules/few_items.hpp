// few_items.hpp: the itemsets of few items, without the closed sets of many.
//
// What it finds: of the frequent itemsets of at most m items, those of m, and the smaller ones that
// are closed. `ClosedSets` of them answers for all sets of at most m items: each lies in one of its
// support. So where rules and sets are to be small, the closed sets, of which a dense table has
// billions, are not made. Method: depth first; the baskets of a set are read once, to count every
// item beside it ("occurrence deliver", Uno et al. 2004): a later one that is in enough of them
// extends it, one that is in all says that it is not closed. Cost: O(items of the baskets that hold
// X) a set X of fewer than m items. Memory: the baskets along one path, and what is found.
// Reference: tests/reference/itemsets.py.
#pragma once

#include "graphs/csr.hpp"
#include "rules/closed_sets.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <vector>

namespace bicliq {

template <class Hear>
class FewItems {
 public:
  /// `hear` is called now and then, and may throw.
  FewItems(const Rows& baskets, u32 n_items, u32 least, std::size_t most_items, Hear hear)
      : baskets_(baskets), least_(least), most_(most_items), hear_(hear), count_(n_items, 0) {
    std::vector<u32> all(baskets.size());
    std::iota(all.begin(), all.end(), 0u);
    extend(all.data(), all.data() + all.size());
  }
  FoundSets found;

 private:
  struct Child {
    i32 item;
    u32 support;
    std::size_t start;  // of its rows
  };
  static constexpr u32 kNone = ~u32{0};
  /// Finds what extends the set, whose baskets these are, and adds it if nothing is in all of them.
  void extend(const u32* first, const u32* last) {
    const Numbers rows{first, last};
    hear();
    std::vector<i32> met;
    for (const u32 row : rows)
      each_item(row, [&](i32 item) {
        if (!count_[static_cast<u32>(item)]++) met.push_back(item);
      });
    const auto in_all = std::count_if(met.begin(), met.end(), [&](i32 item) { return count_[static_cast<u32>(item)] == rows.size(); });
    if (!set_.empty() && static_cast<std::size_t>(in_all) == set_.size()) add(rows.size());
    std::vector<Child> later;
    std::size_t n = 0;
    for (const i32 item : met) {
      const u32 support = count_[static_cast<u32>(item)];
      if ((set_.empty() || item > set_.back()) && support >= least_) later.push_back({item, support, 0}), n += support;
      count_[static_cast<u32>(item)] = kNone;
    }
    std::sort(later.begin(), later.end(), [](const Child& a, const Child& b) { return a.item < b.item; });
    const bool go_on = set_.size() + 1 < most_;
    const std::vector<u32> lists = go_on ? lists_of(rows, later, n) : std::vector<u32>();
    for (const i32 item : met) count_[static_cast<u32>(item)] = 0;
    for (const Child& child : later) {
      set_.push_back(child.item);
      if (go_on) extend(lists.data() + child.start, lists.data() + child.start + child.support);
      else add(child.support);
      set_.pop_back();
    }
  }
  /// The rows of each child, one list after the other.
  std::vector<u32> lists_of(Numbers rows, std::vector<Child>& children, std::size_t n) {
    std::vector<u32> lists(n);
    std::vector<u32*> next;
    u32* at = lists.data();
    for (Child& child : children) {
      count_[static_cast<u32>(child.item)] = static_cast<u32>(next.size());
      child.start = static_cast<std::size_t>(at - lists.data());
      next.push_back(at);
      at += child.support;
    }
    for (const u32 row : rows)
      each_item(row, [&](i32 item) {
        const u32 child = count_[static_cast<u32>(item)];
        if (child != kNone) *next[child]++ = row;
      });
    return lists;
  }
  template <class Visit>
  void each_item(u32 row, const Visit& visit) {
    hear();
    for (const i32 item : baskets_[static_cast<i32>(row)]) visit(item);
  }
  void hear() {
    if (++steps_ % kHear == 0) hear_();
  }
  void add(std::size_t support) {
    if (found.items.size() > kMost - set_.size()) throw std::bad_alloc();
    found.items.insert(found.items.end(), set_.begin(), set_.end());
    found.offsets.push_back(static_cast<i32>(found.items.size()));
    found.support.push_back(static_cast<i32>(support));
  }

  static constexpr std::size_t kHear = 1 << 12, kMost = std::size_t{1} << 31;
  const Rows baskets_;
  const u32 least_;
  const std::size_t most_;
  Hear hear_;
  std::vector<u32> count_;
  std::vector<i32> set_;
  std::size_t steps_ = 0;
};

}  // namespace bicliq
