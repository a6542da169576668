// closed_sets.hpp: closed itemsets as a table of their own, which answers for all itemsets.
//
// What it answers: which is the first closed set that has all of some items? Closed sets are
// numbered by falling support, so the first one that holds X is X's closure, and its support that
// of X (Pasquier et al. 1999): the baskets are needed no more. Further ones, in order, are the
// closed sets that X's closure lies in, and those up to a least support are a range of numbers.
//
// Method: of each item the numbers of the closed sets that have it, ascending. Items are numbered
// by how many these are, the rarest first. Where the rarest of X is in few sets, they are looked at
// one by one, a word of bits before each list; else all items of X have bit sets, which are ANDed
// until one bit is left. Cost: a look is O(sets of the rarest item before the answer), 512 a step
// in bit sets. Memory: 12 bytes an item of a set, and 24 a set.
// Reference: tests/reference/itemsets.py.
#pragma once

#include "graphs/csr.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace bicliq {

/// Items by their numbers here, ascending; or numbers of closed sets.
struct Numbers {
  const u32 *first, *last;
  const u32* begin() const { return first; }
  const u32* end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

/// Itemsets in the layout of Arrow, and in how many baskets each is; of items that somebody keeps.
struct SetLists {
  const i32 *offsets, *items, *support;
  std::size_t n;
};
/// The same, kept here.
struct FoundSets {
  std::vector<i32> offsets{0}, items, support;
  SetLists view() const { return {offsets.data(), items.data(), support.data(), support.size()}; }
};

class ClosedSets {
 public:
  /// Lists of items below `n_items`, each ascending, and in how many baskets each is, in any order.
  ClosedSets(const std::vector<SetLists>& lists, u32 n_items) {
    std::vector<Set> sets = by_support(lists);
    number_items(sets, n_items);
    start_.reserve(sets.size() + 1);
    support_.reserve(sets.size());
    for (const Set& from : sets) {
      const std::size_t first = items_.size();
      for (const i32 item : from.items) items_.push_back(number_[static_cast<u32>(item)]);
      std::sort(items_.begin() + static_cast<std::ptrdiff_t>(first), items_.end());
      support_.push_back(from.support);
      start_.push_back(items_.size());
    }
    fill_places();
  }

  u32 size() const { return static_cast<u32>(support_.size()); }
  u32 n_items() const { return static_cast<u32>(id_.size()); }
  i32 support(u32 set) const { return support_[set]; }
  Numbers items(u32 set) const { return {items_.data() + start_[set], items_.data() + start_[set + 1]}; }
  /// The closed sets that have an item.
  Numbers with(u32 item) const { return {places_.data() + place_start_[item], places_.data() + place_start_[item + 1]}; }
  i32 id(u32 item) const { return id_[item]; }
  u32 number(u32 id) const { return number_[id]; }

  /// The first closed set from `from` to before `to` that has these items, at least one; else `to`.
  u32 first(Numbers x, u32 from, u32 to) const {
    if (from >= to) return to;
    return *x.first >= first_dense_ ? first_by_bits(x, from, to) : first_by_list(x, from, to);
  }
  u32 closure(Numbers x) const { return first(x, 0, size()); }
  /// The first set with less support than `least`; those before it have as much.
  u32 below(double least) const {
    const auto at = std::partition_point(support_.begin(), support_.end(), [&](i32 support) { return support >= least; });
    return static_cast<u32>(at - support_.begin());
  }

 private:
  static constexpr std::size_t kDense = 32, kBlock = 8;  // a bit set from one set in so many; words a step

  struct Set {
    Span items;
    i32 support;
  };
  /// By falling support, then by items.
  static std::vector<Set> by_support(const std::vector<SetLists>& lists) {
    std::vector<Set> sets;
    for (const SetLists& some : lists)
      for (std::size_t i = 0; i < some.n; ++i) sets.push_back({{some.items + some.offsets[i], some.items + some.offsets[i + 1]}, some.support[i]});
    std::sort(sets.begin(), sets.end(), [](const Set& a, const Set& b) {
      if (a.support != b.support) return a.support > b.support;
      return std::lexicographical_compare(a.items.begin(), a.items.end(), b.items.begin(), b.items.end());
    });
    return sets;
  }
  void number_items(const std::vector<Set>& sets, u32 n_items) {
    const std::size_t n = sets.size();
    std::vector<u32> count(n_items, 0);
    for (const Set& set : sets)
      for (const i32 item : set.items) {
        if (item < 0 || static_cast<u32>(item) >= n_items) throw std::invalid_argument("an item is beyond the number of items");
        ++count[static_cast<u32>(item)];
      }
    id_.resize(n_items);
    std::iota(id_.begin(), id_.end(), 0);
    std::sort(id_.begin(), id_.end(), [&](i32 a, i32 b) {
      const u32 in_a = count[static_cast<u32>(a)], in_b = count[static_cast<u32>(b)];
      return in_a != in_b ? in_a < in_b : a < b;
    });
    number_.resize(n_items);
    place_start_.assign(1, 0);
    for (u32 i = 0; i < n_items; ++i) {
      number_[static_cast<u32>(id_[i])] = i;
      place_start_.push_back(place_start_.back() + count[static_cast<u32>(id_[i])]);
    }
    first_dense_ = n_items;
    while (first_dense_ && count[static_cast<u32>(id_[first_dense_ - 1])] * kDense >= n) --first_dense_;
  }
  void fill_places() {
    places_.resize(place_start_.back());
    std::vector<u64> next(place_start_.begin(), place_start_.end());
    words_ = (size() + 64 * kBlock - 1) / (64 * kBlock) * kBlock;
    bits_.assign(words_ * (n_items() - first_dense_), 0);
    sketch_.assign(size(), 0);
    for (u32 set = 0; set < size(); ++set)
      for (const u32 item : items(set)) {
        places_[next[item]++] = set;
        sketch_[set] |= bit_of(item);
        if (item >= first_dense_) bits_[(item - first_dense_) * words_ + set / 64] |= u64{1} << set % 64;
      }
  }
  static u64 bit_of(u32 item) { return u64{1} << item % 64; }

  u32 first_by_list(Numbers x, u32 from, u32 to) const {
    u64 sketch = 0;
    for (const u32 item : x) sketch |= bit_of(item);
    const Numbers sets = with(*x.first);
    const u32* set = from ? std::lower_bound(sets.first, sets.last, from) : sets.first;
    for (; set < sets.last && *set < to; ++set) {
      if ((sketch_[*set] & sketch) != sketch) continue;
      const Numbers all = items(*set);
      if (n_items() <= 64 || std::includes(all.begin(), all.end(), x.begin(), x.end())) return *set;
    }
    return to;
  }
  u32 first_by_bits(Numbers x, u32 from, u32 to) const {
    for (std::size_t at = from / 64 / kBlock * kBlock; at * 64 < to; at += kBlock) {
      std::array<u64, kBlock> all;
      std::copy_n(bits(*x.first) + at, kBlock, all.begin());
      for (const u32* item = x.first + 1; item < x.last; ++item) {
        const u64* const more = bits(*item) + at;
        for (std::size_t i = 0; i < kBlock; ++i) all[i] &= more[i];
      }
      for (std::size_t i = 0; i < kBlock; ++i) {
        const std::size_t base = (at + i) * 64;
        if (base + 64 <= from) continue;
        if (base < from) all[i] &= ~u64{0} << (from - base);
        if (all[i]) return static_cast<u32>(std::min<std::size_t>(base + static_cast<std::size_t>(__builtin_ctzll(all[i])), to));
      }
    }
    return to;
  }
  const u64* bits(u32 item) const { return bits_.data() + (item - first_dense_) * words_; }

  std::vector<i32> id_, support_;
  std::vector<u32> number_, items_, places_;
  std::vector<u64> start_{0}, place_start_, sketch_, bits_;
  std::size_t words_ = 0;
  u32 first_dense_ = 0;
};

}  // namespace bicliq
