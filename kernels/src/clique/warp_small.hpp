// warp_small.hpp: the bounds of warp_colouring.hpp for few vertices, in registers: lane c holds all
// of class c.
//
// What it finds: `SmallColouring` makes a matrix of its own, in fast memory, of a set of at most
// 32·V vertices, numbered anew in their order, and says on which of any subset to branch. Nearly
// all nodes of a large search lie below such a set.
//
// Method: a set is one word in each of the first V lanes, and a class V words of one lane. So what
// is asked of all classes takes an instruction or two for each word, and a vertex is coloured by
// asking all classes at once for the first that has no neighbour of it. The classes are the same as
// those that are filled one after the other, but no vertex has to wait for the one before.
//
// Bound: 32 classes; where more are allowed, more is branched on than need be.
//
// Cost: V instructions a question. Memory: `kSmallNearWords` words a group of lanes.
//
// Papers: as in warp_colouring.hpp.
#pragma once

#include "clique/warp_colouring.hpp"

namespace bicliq {

#ifndef BICLIQ_SMALL_WORDS
#define BICLIQ_SMALL_WORDS 5
#endif
constexpr u32 kSmallWords = BICLIQ_SMALL_WORDS, kSmallVertices = 32 * kSmallWords;
constexpr u32 kSmallNearWords = kSmallVertices * (kSmallWords + 1);  // rows, and numbers in the tree

class SmallColouring : private Placement<SmallColouring> {
  friend Placement<SmallColouring>;

 public:
  using Set = WarpSet<1>;
  SmallColouring(u32* near, bool recolour, bool refute) : near_(near), recolour_(recolour), refute_(refute) {}

  /// Makes the matrix of a set of a tree's vertices, given as words in memory. `rows` are the
  /// tree's, of non-neighbours; the rows of the matrix are of neighbours.
  void project(const u32* rows, u32 stride, const u32* members, u32 n_words) {
    const u32 n = list_bits(name_at(0), n_words, [=](u32 k) { return members[k]; });
    BICLIQ_ROLL
    for (u32 i = 0; i < n; ++i) {
      const u32 own = name(i);
      const u32* const non_neighbours = rows + static_cast<usize>(own) * stride;
      Lanes words = splat(0);
      BICLIQ_UNROLL
      for (u32 w = 0; w < kSmallWords; ++w) {
        const u32 bits = lanes_where(n > 32 * w ? n - 32 * w : 0, [&](u32 j) {
          const u32 other = name(32 * w + j);
          return other != own && !(non_neighbours[other / 32] >> other % 32 & 1);
        });
        words = select(only_lane(w), splat(bits), words);
      }
      store_apart(near_.at(i * kSmallWords), 1, words, kSmallWords);
    }
    settle();
    n_ = n;
  }
  /// A subset of these vertices, given as words over the tree's.
  Set projected(const u32* members) const {
    Lanes out = splat(0);
    BICLIQ_ROLL
    for (u32 w = 0; 32 * w < n_; ++w) {
      const u32 bits = lanes_where(n_ - 32 * w, [&](u32 j) {
        const u32 v = name(32 * w + j);
        return (members[v / 32] >> v % 32 & 1) != 0;
      });
      out = select(only_lane(w), splat(bits), out);
    }
    return {{out}};
  }
  /// The number of a vertex in its tree.
  u32 name(u32 v) const { return *name_at(v); }

  Set neighbours(const Set& among, u32 v) const { return {{among.word[0] & load(near_.at(v * kSmallWords))}}; }

  /// Vertices of a set such that the others hold no clique of more than k.
  Set branching(const Set& of, u32 k) {
    colour(of);
    const Flags allowed = first_lanes(k);
    Lanes coloured = splat(0);
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w)
      coloured = select(only_lane(w), splat(any_bits(select(allowed, class_words_[w], splat(0)))), coloured);
    const Set left = {{without(of.word[0], coloured)}};
    if (!recolour_ || k < 2 || !any(left)) return left;
    usable_ = ballot(allowed);
    Set kept = left;
    u32 failures = 0;
    each_while(left, [&](u32 v) {
      if (place(v, row(v), usable_)) {
        remove(kept, v);
        failures = 0;
        return true;
      }
      return ++failures < kFailures;
    });
    return kept;
  }

 private:
  struct alignas(kSmallWords % 4 == 0 ? 16 : kSmallWords % 2 == 0 ? 8 : 4) Row {
    u32 word[kSmallWords];
  };
  u32* name_at(u32 v) const { return near_.at(kSmallVertices * kSmallWords + v); }
  const Row& row(u32 v) const { return *reinterpret_cast<const Row*>(near_.at(v * kSmallWords)); }

  /// Every vertex takes the first class, of 32, that has no neighbour of it.
  void colour(const Set& of) {
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w) class_words_[w] = splat(0);
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w)
      BICLIQ_ROLL
      for (u32 bits = lane(of.word[0], w), bit; bits; bits ^= bit) {
        const u32 i = first_set(bits);
        bit = 1u << i;
        const Row& near = row(32 * w + i);
        Lanes met = splat(0);  // later words are still empty
        BICLIQ_UNROLL
        for (u32 t = 0; t < kSmallWords; ++t)
          if (t <= w) met = met | (class_words_[t] & splat(near.word[t]));
        class_words_[w] = set_bits(class_words_[w], lowest_lane_(ballot(~nonzero(met))), splat(bit));
      }
  }
  /// All bits or none. A word is chosen among registers by masks, and not by its number: a device
  /// compiler would put the registers into memory.
  static u32 all_if(bool chosen) { return 0u - u32{chosen}; }
  /// Puts a vertex into a class, or takes it out.
  void toggle(u32 c, u32 v) {
    const Lanes bit = select(only_lane(c), splat(1u << v % 32), splat(0));
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w) class_words_[w] = class_words_[w] ^ (bit & splat(all_if(v / 32 == w)));
  }
  /// The classes that have none of some vertices.
  u32 classes_without(const Row& vertices) const {
    Lanes met = splat(0);
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w) met = met | (class_words_[w] & splat(vertices.word[w]));
    return ballot(~nonzero(met));
  }

  // ---- what `place` asks

  void join(u32 c, u32 v) { toggle(c, v); }
  /// The first of some classes without a member that is alive. If there is none, `ones_` gets the
  /// classes with a single one, and `singles_` these members.
  u32 look(const Row& alive, u32 among) {
    Lanes any = splat(0), two = splat(0), at = splat(0);
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w) {
      const Lanes x = class_words_[w] & splat(alive.word[w]);
      two = two | (any & x);
      any = any | x;
      at = select(nonzero(x), splat(32 * w), at);
    }
    if (const u32 none = among & ~ballot(nonzero(any))) return first_set(none);
    const Lanes below = any + splat(~0u);  // of a single bit: the bits below it
    ones_ = among & ~ballot(nonzero(two | (any & below)));
    singles_ = at + popcounts(below);
    return kNoClass;
  }
  /// Moves the only neighbour of v in some class to another class, and v there.
  bool make_room(u32 v) {
    BICLIQ_ROLL
    for (u32 ones = ones_; ones; ones &= ones - 1) {
      const u32 from = first_set(ones), other = lane(singles_, from);
      const u32 free = usable_ & ~(1u << from) & classes_without(row(other));
      if (!free) continue;
      toggle(from, other);
      toggle(first_set(free), other);
      toggle(from, v);
      return true;
    }
    return false;
  }

  // ---- refutation

  /// Chooses the member of each class in `ones_` that is the only one alive; false if there is no
  /// such class.
  bool force(Row& alive, u32& open) {
    const u32 known = n_units_;
    BICLIQ_ROLL
    for (u32 ones = ones_; ones; ones &= ones - 1) {
      const u32 c = first_set(ones), member = lane(singles_, c);
      u32 bits = 0;
      BICLIQ_UNROLL
      for (u32 w = 0; w < kSmallWords; ++w) bits |= alive.word[w] & all_if(member / 32 == w);
      if (!(bits >> member % 32 & 1)) continue;  // one chosen just now removed it: the next look finds an empty class
      open &= ~(1u << c);
      unit_vertices_ = select(only_lane(n_units_), splat(member), unit_vertices_);
      unit_classes_ = select(only_lane(n_units_), splat(c), unit_classes_);
      ++n_units_;
      const Row& near = row(member);
      BICLIQ_UNROLL
      for (u32 w = 0; w < kSmallWords; ++w) alive.word[w] &= near.word[w];
    }
    return n_units_ > known;
  }
  /// Sets the classes aside from which it follows that class c is empty: no vertex is placed by
  /// them again.
  void explain(u32 c, u32 v) {
    usable_ &= ~(1u << c);
    u32 needed = takers(c, v, kNoVertex, n_units_);
    BICLIQ_ROLL
    for (u32 i = n_units_; i-- > 0;) {
      if (!(needed >> i & 1)) continue;
      const u32 of = lane(unit_classes_, i);
      usable_ &= ~(1u << of);
      needed |= takers(of, v, lane(unit_vertices_, i), i);
    }
  }
  /// Those of the first n chosen members that removed the neighbours of v in class c, but for one
  /// of these.
  u32 takers(u32 c, u32 v, u32 but, u32 n) const {
    const u32 units = ballot(first_lanes(n));
    u32 found = 0;
    BICLIQ_UNROLL
    for (u32 w = 0; w < kSmallWords; ++w) {
      u32 gone = lane(class_words_[w], c) & row(v).word[w];
      gone &= ~(all_if(but / 32 == w) & 1u << but % 32);
      BICLIQ_ROLL
      for (; gone; gone &= gone - 1) {
        const u32 took = units & ~ballot(has_bit(near_.at((32 * w + first_set(gone)) * kSmallWords), unit_vertices_));
        found |= took & (0u - took);
      }
    }
    return found;
  }

  const NearWords near_;
  const LowestLane lowest_lane_;
  const bool recolour_, refute_;
  u32 n_ = 0, usable_ = 0, ones_ = 0, n_units_ = 0;
  Lanes class_words_[kSmallWords], singles_, unit_vertices_ = splat(0), unit_classes_ = splat(0);
};

}  // namespace bicliq
