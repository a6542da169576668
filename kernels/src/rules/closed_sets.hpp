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
// in bit sets. Memory: 4 bytes an item of a set and 20 a set; with an index, which is made when it
// is asked for, 16 and 40.
// Reference: tests/reference/itemsets.py.
#pragma once

#include "graphs/csr.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bicliq {

/// Items by their numbers here, ascending; or numbers of closed sets.
struct Numbers {
  const u32 *first, *last;
  const u32* begin() const { return first; }
  const u32* end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

/// Itemsets in the layout of Arrow, and in how many baskets each is.
struct FoundSets {
  std::vector<i32> offsets{0}, items, support;
};

class ClosedSets {
 public:
  /// Lists of items below `n_items`, each ascending, and in how many baskets each is, in any order.
  template <class Check>
  ClosedSets(std::vector<FoundSets> found, u32 n_items, const Check& check) : found_(std::move(found)), n_items_(n_items) {
    std::size_t n = 0;
    for (const FoundSets& some : found_) {
      n += some.support.size();
      for (const i32 item : some.items)
        if (item < 0 || static_cast<u32>(item) >= n_items) throw std::invalid_argument("an item is beyond the number of items");
    }
    sets_.reserve(n);
    for (const FoundSets& some : found_)
      for (std::size_t i = 0; i < some.support.size(); ++i) sets_.push_back({some.items.data() + some.offsets[i], static_cast<u32>(some.offsets[i + 1] - some.offsets[i]), some.support[i]});
    sort_by_support(check);
    support_.reserve(n);
    for (const Set& set : sets_) support_.push_back(set.support);
  }
  /// The ids of a set, which are there without an index.
  Span ids(u32 set) const { return sets_[set].items(); }
  /// Makes what all below is answered by, once; to be called before. One that `check` ended is made
  /// anew.
  template <class Check>
  void index(const Check& check) {
    std::call_once(indexed_, [&] { make_index(check); });
  }

  u32 size() const { return static_cast<u32>(support_.size()); }
  u32 n_items() const { return n_items_; }
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
  static constexpr u32 kLooksACheck = 1 << 16;

  struct Set {
    const i32* first;
    u32 n;
    i32 support;
    Span items() const { return {first, first + n}; }
  };
  /// By falling support, then by items: supports by counting, and what is left by the first items
  /// of each as bits of a word, which nearly always tell.
  template <class Check>
  void sort_by_support(const Check& check) {
    i32 largest = 0;
    u32 looks = 0;
    for (const Set& set : sets_) largest = std::max(largest, set.support);
    std::vector<u64> place(static_cast<std::size_t>(largest) + 2, 0);
    for (const Set& set : sets_) ++place[static_cast<std::size_t>(largest - set.support) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    u32 bits = 1;
    while (bits < 32 && n_items_ >> bits) ++bits;
    std::vector<std::pair<u64, Set>> keyed(sets_.size());
    for (const Set& set : sets_) keyed[place[static_cast<std::size_t>(largest - set.support)]++] = {key_of(set, bits), set};
    auto group = keyed.begin();  // of one support, whose end the places are now
    for (const u64 end : place) {
      const auto last = keyed.begin() + static_cast<std::ptrdiff_t>(end);
      std::sort(group, last, [&](const auto& a, const auto& b) {
        if (++looks % kLooksACheck == 0) check();
        if (a.first != b.first) return a.first < b.first;
        const Span x = a.second.items(), y = b.second.items();
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
      });
      group = last;
    }
    for (std::size_t i = 0; i < sets_.size(); ++i) sets_[i] = keyed[i].second;
  }
  static u64 key_of(const Set& set, u32 bits) {
    u64 key = 0;
    for (u32 i = 0; i < 64 / bits; ++i) key = key << bits | (i < set.n ? static_cast<u64>(set.first[i]) + 1 : 0);
    return key;
  }
  template <class Check>
  void make_index(const Check& check) {
    number_items();
    items_.clear(), start_.assign(1, 0);
    start_.reserve(sets_.size() + 1);
    each_vertex(size(), check, [this](u32 set) {
      const std::size_t first = items_.size();
      for (const i32 item : ids(set)) items_.push_back(number_[static_cast<u32>(item)]);
      std::sort(items_.begin() + static_cast<std::ptrdiff_t>(first), items_.end());
      start_.push_back(items_.size());
    });
    fill_places(check);
  }
  void number_items() {
    const std::size_t n = sets_.size();
    const u32 n_items = n_items_;
    std::vector<u32> count(n_items, 0);
    for (const FoundSets& some : found_)
      for (const i32 item : some.items) ++count[static_cast<u32>(item)];
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
  template <class Check>
  void fill_places(const Check& check) {
    places_.resize(place_start_.back());
    std::vector<u64> next(place_start_.begin(), place_start_.end());
    words_ = (size() + 64 * kBlock - 1) / (64 * kBlock) * kBlock;
    bits_.assign(words_ * (n_items() - first_dense_), 0);
    sketch_.assign(size(), 0);
    each_vertex(size(), check, [&](u32 set) {
      for (const u32 item : items(set)) {
        places_[next[item]++] = set;
        sketch_[set] |= bit_of(item);
        if (item >= first_dense_) bits_[(item - first_dense_) * words_ + set / 64] |= u64{1} << set % 64;
      }
    });
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

  const std::vector<FoundSets> found_;
  const u32 n_items_;
  std::vector<Set> sets_;
  std::vector<i32> support_;
  std::once_flag indexed_;
  std::vector<i32> id_;
  std::vector<u32> number_, items_, places_;
  std::vector<u64> start_, place_start_, sketch_, bits_;
  std::size_t words_ = 0;
  u32 first_dense_ = 0;
};

}  // namespace bicliq
