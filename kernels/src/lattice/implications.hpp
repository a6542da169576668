// implications.hpp: what attributes of a context imply, as two bases.
//
// What it finds: the canonical (Duquenne-Guigues) basis, with the fewest implications there can
// be, P -> P'' for each pseudo-intent P; or the canonical direct one, from which a closure follows
// in one pass: A -> m for each minimal A without m whose holders all have m. Input: the rows of
// objects. Method of the first: LinCbO (Janostik, Konecny, Krajca 2020): Close-by-One over the
// sets that are closed under what was found so far, in lectic order, each closed from the
// attributes that are new; objects are handed down. Of the second: A meets what each object
// without m lacks, so they are the minimal transversals of these. Cost: of the first a closure for
// each pair of an intent or pseudo-intent and a later attribute; of the second what transversals
// cost, an attribute at a time. Memory: that of the answer, and some words an object.
// Reference: tests/reference/concepts.py.
#pragma once

#include "graphs/csr.hpp"
#include "lattice/transversals.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace bicliq {

/// Lists of attributes in the layout of Arrow, and how many objects have all of a premise.
struct Implications {
  std::vector<i32> premise_offsets{0}, conclusion_offsets{0}, support;
  Growing<i32> premises, conclusions;
  void add(const Family& sets, const u64* premise, const u64* conclusion, std::size_t holders) {
    sets.each(premise, [&](u32 m) { premises.push(static_cast<i32>(m)); });
    sets.each(conclusion, [&](u32 m) {
      if (!Family::has(premise, m)) conclusions.push(static_cast<i32>(m));
    });
    if (std::max(premises.size(), conclusions.size()) > 0x7fffffff) throw std::length_error("a basis has more than 2^31 - 1 attributes");
    premise_offsets.push_back(static_cast<i32>(premises.size()));
    conclusion_offsets.push_back(static_cast<i32>(conclusions.size()));
    support.push_back(static_cast<i32>(holders));
  }
};

template <class Check>
Family family_of(Rows rows, u32 n_attributes, const Check& check) {
  Family family(n_attributes);
  family.bits.reserve(rows.size() * family.words);  // what has no room is refused at once
  for (std::size_t g = 0; g < rows.size(); ++g) {
    check(0);
    u64* const row = family.grow();
    for (const i32 m : rows[static_cast<i32>(g)]) Family::put(row, static_cast<u32>(m));
  }
  return family;
}

template <class Check>
class CanonicalBasis {
 public:
  CanonicalBasis(Rows rows, u32 n_attributes, const Check& check)
      : objects_(family_of(rows, n_attributes, check)), premises_(n_attributes), conclusions_(n_attributes), with_(n_attributes), check_(check) {}

  Implications run() {
    path_.resize(objects_.n + std::size_t{2});
    path_[0].set.assign(objects_.words, 0);
    path_[0].holders.resize(objects_.size());
    std::iota(path_[0].holders.begin(), path_[0].holders.end(), 0u);
    visit(0, 0);
    return std::move(found_);
  }

 private:
  struct Node {
    std::vector<u64> set;
    std::vector<u32> holders;
  };

  /// The set of this depth is closed under what was found; it goes on by attributes from `first`.
  void visit(std::size_t depth, u32 first) {
    check_(premises_.size());
    u64* const set = path_[depth].set.data();
    const std::vector<u64> intent = shared(path_[depth].holders);
    if (!std::equal(intent.begin(), intent.end(), set)) {
      add(set, intent.data(), path_[depth].holders.size());
      if (has_below(intent.data(), set, first)) return;
      std::copy(intent.begin(), intent.end(), set);
    }
    Node& next = path_[depth + 1];
    next.set.resize(objects_.words);  // of all depths at once they would take more than the objects
    for (u32 m = objects_.n; m-- > first;) {
      if (m % 64 == 0) check_(premises_.size());
      if (Family::has(set, m) || !close(set, m, next.set.data())) continue;
      hand_down(path_[depth], next);
      visit(depth + 1, m + 1);
    }
  }
  std::vector<u64> shared(const std::vector<u32>& holders) const {
    std::vector<u64> all(objects_.words, 0);
    objects_.complement(all.data(), all.data());
    for (const u32 g : holders)
      for (u32 w = 0; w < objects_.words; ++w) all[w] &= objects_[g][w];
    return all;
  }
  void hand_down(const Node& from, Node& to) {
    to.holders.clear();
    for (const u32 g : from.holders)
      if (objects_.lies_in(to.set.data(), objects_[g])) to.holders.push_back(g);
  }
  void add(const u64* premise, const u64* conclusion, std::size_t holders) {
    const u32 number = static_cast<u32>(premises_.size());
    premises_.add(premise);
    conclusions_.add(conclusion);
    objects_.each(premise, [&](u32 m) { with_[m].push_back(number); });
    found_.add(objects_, premise, conclusion, holders);
  }
  /// Has a what b has not, below an attribute?
  bool has_below(const u64* a, const u64* b, u32 below) const {
    for (u32 w = 0; w * 64 < below; ++w) {
      const u64 all = below - w * 64 >= 64 ? ~u64{0} : (u64{1} << (below - w * 64)) - 1;
      if (a[w] & ~b[w] & all) return true;
    }
    return false;
  }
  /// Closes a set with one more attribute; false: one below it comes in, so it was met before.
  bool close(const u64* set, u32 m, u64* to) {
    std::copy(set, set + objects_.words, to);
    Family::put(to, m);
    fresh_.assign(1, m);
    for (std::size_t at = 0; at < fresh_.size(); ++at)
      for (const u32 k : with_[fresh_[at]]) {
        if (++tried_ % 1024 == 0) check_(premises_.size());
        if (!objects_.lies_in(premises_[k], to)) continue;
        if (has_below(conclusions_[k], to, m)) return false;
        const u64* const more = conclusions_[k];
        for (u32 w = 0; w < objects_.words; ++w)
          for (u64 word = more[w] & ~to[w]; word; word &= word - 1) fresh_.push_back(w * 64 + static_cast<u32>(__builtin_ctzll(word)));
        for (u32 w = 0; w < objects_.words; ++w) to[w] |= more[w];
      }
    return true;
  }

  const Family objects_;
  Family premises_, conclusions_;
  std::vector<std::vector<u32>> with_;  // of each attribute the premises that have it
  const Check& check_;
  std::vector<Node> path_;
  std::vector<u32> fresh_;
  u64 tried_ = 0;  // premises
  Implications found_;
};

/// What an object lacks beside m, of those that lack m: the sets of which none holds another.
template <class Check>
Family lacking(const Family& objects, u32 m, const Check& check) {
  std::vector<std::pair<u32, u32>> order;
  for (u32 g = 0; g < objects.size(); ++g)
    if (!Family::has(objects[g], m)) order.push_back({objects.n - objects.size_of(objects[g]), g});
  std::sort(order.begin(), order.end());
  Family kept(objects.n);
  std::vector<u64> set(objects.words);
  for (const auto& [size, g] : order) {
    check();
    objects.complement(objects[g], set.data());
    set[m / 64] &= ~(u64{1} << m % 64);
    bool minimal = true;
    for (std::size_t i = 0; minimal && i < kept.size(); ++i) minimal = !objects.lies_in(kept[i], set.data());
    if (minimal) kept.add(set.data());
  }
  return kept;
}

/// The premises of each attribute, one after the other, put together at the end: millions of small
/// lists would be freed for as long as they took to be found.
template <class Check>
Implications direct_basis(Rows rows, u32 n_attributes, const Check& check) {
  const Family objects = family_of(rows, n_attributes, check);
  struct Implied {
    std::size_t first;
    u32 size, attribute;
  };
  std::vector<u32> numbers;
  std::vector<Implied> implied;
  for (u32 m = 0; m < n_attributes; ++m) {
    const auto attributes_done = [&] { check(m); };
    each_transversal(lacking(objects, m, attributes_done), [&](const std::vector<u32>& premise) {
      implied.push_back({numbers.size(), static_cast<u32>(premise.size()), m});
      numbers.insert(numbers.end(), premise.begin(), premise.end());
      std::sort(numbers.end() - static_cast<std::ptrdiff_t>(premise.size()), numbers.end());
    }, attributes_done);
  }
  const auto first = [&](const Implied& one) { return numbers.begin() + static_cast<std::ptrdiff_t>(one.first); };
  const auto last = [&](const Implied& one) { return first(one) + one.size; };
  std::stable_sort(implied.begin(), implied.end(), [&](const Implied& a, const Implied& b) {
    check(n_attributes);
    return std::lexicographical_compare(first(a), last(a), first(b), last(b));
  });
  Implications found;
  for (auto one = implied.begin(); one != implied.end();) {
    check(n_attributes);
    Family sides(n_attributes);
    sides.grow(), sides.grow();
    std::for_each(first(*one), last(*one), [&](u32 m) { Family::put(sides[0], m); });
    const auto premise = one;
    for (; one != implied.end() && std::equal(first(*one), last(*one), first(*premise), last(*premise)); ++one) Family::put(sides[1], one->attribute);
    std::size_t holders = 0;
    for (std::size_t g = 0; g < objects.size(); ++g) holders += objects.lies_in(sides[0], objects[g]);
    found.add(objects, sides[0], sides[1], holders);
  }
  return found;
}

}  // namespace bicliq
