// transversals.hpp: the minimal sets that meet every set of a family.
//
// What it finds: minimal transversals, one after the other: minimal generators and premises are
// such. Input: sets of numbers below n, as words of bits. Method: MMCS (Murakami, Uno 2014): a set
// that is not met yet, of the fewest candidates, is met by each of these in turn; what is chosen
// stays critical for some set, so nothing is found twice and nothing that is not minimal. Cost:
// the sets of the family times their words a node. Memory: that of the family, and one path.
// Reference: tests/reference/concepts.py.
#pragma once

#include "lanes/growing.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

/// Sets of numbers below n, a few words each.
struct Family {
  explicit Family(u32 n) : n(n), words((n + 63) / 64 + (n == 0)) {}
  u32 n, words;
  Growing<u64> bits;
  std::size_t size() const { return bits.size() / words; }
  u64* operator[](std::size_t i) { return bits.data() + i * words; }
  const u64* operator[](std::size_t i) const { return bits.data() + i * words; }
  u64* grow() {
    u64* const set = bits.room(words);
    std::fill_n(set, words, u64{0});
    bits.add(words);
    return set;
  }
  void add(const u64* set) {
    std::copy_n(set, words, bits.room(words));
    bits.add(words);
  }
  static bool has(const u64* set, u32 v) { return set[v / 64] >> v % 64 & 1; }
  static void put(u64* set, u32 v) { set[v / 64] |= u64{1} << v % 64; }
  bool lies_in(const u64* a, const u64* b) const {
    for (u32 w = 0; w < words; ++w)
      if (a[w] & ~b[w]) return false;
    return true;
  }
  /// What is not in a set.
  void complement(const u64* set, u64* to) const {
    for (u32 w = 0; w < words; ++w) to[w] = ~set[w];
    to[words - 1] &= n ? ~u64{0} >> (words * 64 - n) : 0;
  }
  u32 size_of(const u64* set) const {
    u32 size = 0;
    for (u32 w = 0; w < words; ++w) size += static_cast<u32>(__builtin_popcountll(set[w]));
    return size;
  }
  template <class F>
  void each(const u64* set, const F& f) const {
    for (u32 w = 0; w < words; ++w)
      for (u64 word = set[w]; word; word &= word - 1) f(w * 64 + static_cast<u32>(__builtin_ctzll(word)));
  }
};

/// `found(numbers)` takes each transversal, in the order of their choice; `check` may throw.
template <class Found, class Check>
class Transversals {
 public:
  Transversals(const Family& family, const Found& found, const Check& check)
      : family_(family), found_(found), check_(check), of_(family.n), hits_(family.size(), 0), owner_(family.size()), critical_(family.n, 0), candidates_(family.words, 0) {
    for (u32 e = 0; e < family.size(); ++e)
      family.each(family[e], [&](u32 v) { of_[v].push_back(e), Family::put(candidates_.data(), v); });
  }
  void run() {
    check_();
    const std::size_t none = family_.size();
    std::size_t least = none;
    u32 fewest = ~u32{0};
    for (std::size_t e = 0; e < family_.size() && fewest; ++e) {
      if (hits_[e]) continue;
      u32 n = 0;
      for (u32 w = 0; w < family_.words; ++w) n += static_cast<u32>(__builtin_popcountll(family_[e][w] & candidates_[w]));
      if (n < fewest) fewest = n, least = e;
    }
    if (least == none) {
      found_(chosen_);
      return;
    }
    std::vector<u32> choices;
    family_.each(family_[least], [&](u32 v) {
      if (Family::has(candidates_.data(), v)) choices.push_back(v);
    });
    for (const u32 v : choices) candidates_[v / 64] &= ~(u64{1} << v % 64);
    for (const u32 v : choices) {
      if (choose(v)) {
        run();
        Family::put(candidates_.data(), v);
      }
      give_back(v);
    }
    for (const u32 v : choices) Family::put(candidates_.data(), v);
  }

 private:
  /// False: one that was chosen before is needed no more.
  bool choose(u32 v) {
    bool needed = true;
    chosen_.push_back(v);
    for (const u32 e : of_[v])
      if (hits_[e]++ == 0) owner_[e] = v, ++critical_[v];
      else if (hits_[e] == 2) needed &= --critical_[owner_[e]] > 0;
    return needed;
  }
  void give_back(u32 v) {
    for (const u32 e : of_[v])
      if (--hits_[e] == 0) --critical_[v];
      else if (hits_[e] == 1) ++critical_[owner_[e]];
    chosen_.pop_back();
  }

  const Family& family_;
  const Found& found_;
  const Check& check_;
  std::vector<std::vector<u32>> of_;
  std::vector<u32> hits_, owner_, critical_, chosen_;
  std::vector<u64> candidates_;
};

template <class Found, class Check>
void each_transversal(const Family& family, const Found& found, const Check& check) {
  Transversals<Found, Check>(family, found, check).run();
}

}  // namespace bicliq
