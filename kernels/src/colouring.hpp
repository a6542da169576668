// colouring.hpp: which vertices of a set can begin a clique of more than k vertices.
//
// What: given the adjacency of a local graph and a set P of its vertices, `Colouring::branching(P, k)` returns B, a
// subset of P such that P without B holds no clique of more than k vertices. A search needs to branch on B only, and
// for b in B only with the members of B before it; if B is empty the whole node is done.
//
// Method: (1) k colour classes, each the greedy independent set of what is left (BBMC). Whatever is coloured is not in
// B. (2) Re-colouring (Re-NUMBER): a vertex left over enters a class in which it has no neighbour, or one neighbour
// that another class can take. (3) Refutation, as in incremental MaxSAT: vertex v together with some classes is
// inconsistent if no clique takes v and one vertex of each of them. Assume v; a class with one neighbour left forces
// that neighbour (unit propagation), a class with none is the contradiction (the infra-chromatic bound is the case
// of two classes). Then v and those classes hold no more than the classes alone, so v leaves B, and the classes that
// took part are set aside, so that they are counted once.
//
// Cost: a pass over the classes for each vertex left over, an operation on a set being one to a few instructions.
//
// Papers: San Segundo et al. 2011 (BBMC) and 2013 (BBMCR); Tomita et al. 2010 (Re-NUMBER); San Segundo, Nikolaev and
// Batsyn 2015 (infra-chromatic); Li and Quan 2010, Li, Fang and Xu 2013 (MaxSAT, incremental).
#pragma once

#include "bitset.hpp"

#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The adjacency of a local graph as bits. `strangers` is the complement, without the vertex itself.
template <u32 W>
struct LocalGraph {
  std::vector<u32> ids;  // of each vertex, in the whole graph
  std::vector<Bits<W>> neighbours, strangers;

  explicit LocalGraph(std::vector<u32> of) : ids(std::move(of)), neighbours(ids.size(), Bits<W>::none()) {}
  u32 n() const { return static_cast<u32>(ids.size()); }
  void finish() {
    const Bits<W> all = Bits<W>::first_n(n());
    strangers.resize(n());
    for (u32 v = 0; v < n(); ++v) {
      strangers[v] = without(all, neighbours[v]);
      strangers[v].remove(v);
    }
  }
};

/// Which bounds are used; the ablation switches them off.
struct Bounds {
  bool recolour = true, refute = true;
};

/// A set of colour classes.
class Classes {
 public:
  void assign(u32 n, bool all) {
    blocks_.assign((n + 63) / 64, all ? ~u64{0} : 0);
    if (all && n % 64) blocks_.back() = (u64{1} << n % 64) - 1;
  }
  void add(u32 c) { blocks_[c / 64] |= u64{1} << c % 64; }
  void remove(u32 c) { blocks_[c / 64] &= ~(u64{1} << c % 64); }
  u32 n_blocks() const { return static_cast<u32>(blocks_.size()); }
  u64& block(u32 i) { return blocks_[i]; }
  u64 block(u32 i) const { return blocks_[i]; }

 private:
  std::vector<u64> blocks_;
};

template <u32 W>
class Colouring {
 public:
  explicit Colouring(Bounds bounds) : bounds_(bounds) {}
  void attach(const LocalGraph<W>& graph) { graph_ = &graph; }

  Bits<W> branching(const Bits<W>& of, u32 k) {
    Bits<W> left = of;
    if (classes_.size() < k) classes_.resize(k);
    for (u32 c = 0; c < k; ++c) {
      if (empty(left)) return left;
      classes_[c] = take_class(left);
    }
    if (k < 2 || !bounds_.recolour || empty(left)) return left;
    usable_.assign(k, true);
    Bits<W> kept = left;
    u32 failures = 0;
    each_member(left, [&](u32 v) {
      if (failures == kFailures) return;
      if (place(v)) {
        kept.remove(v);
        failures = 0;
      } else {
        ++failures;
      }
    });
    return kept;
  }

 private:
  static constexpr u32 kNoClass = ~0u;
  static constexpr u32 kFailures = 12;  // in a row; then the rest is branched on (a third of the time of sparse projections)
  struct Unit {
    u32 vertex, of;  // a class
  };

  /// Removes from `left` the greedy independent set that starts with its first vertex.
  Bits<W> take_class(Bits<W>& left) const {
    constexpr u32 kPart = Bits<W>::kChunkWords;
    Bits<W> open = left, taken = Bits<W>::none();
    for (u32 i = 0; i < Bits<W>::kChunks; ++i)
      while (const u32 words = nonzero_words(open.chunk[i])) {
        const u32 j = kPart * i + first_bit(words);
        u64 word = word_of(open.chunk[i], j % kPart), members = 0;
        do {
          const u32 b = first_bit(word);
          members |= u64{1} << b;
          const Bits<W>& strangers = graph_->strangers[64 * j + b];
          word &= strangers.words()[j];
          for (u32 c = i; c < Bits<W>::kChunks; ++c) open.chunk[c] &= strangers.chunk[c];
        } while (word);
        taken.words()[j] = members;
      }
    left = without(left, taken);
    return taken;
  }

  /// Finds v a class, or shows that it needs none.
  bool place(u32 v) {
    Bits<W> alive = graph_->neighbours[v];
    const u32 free = look(alive, usable_);
    if (free != kNoClass) return classes_[free].add(v), true;
    for (u32 i = 0; i < usable_.n_blocks(); ++i)
      for (u64 ones = ones_.block(i); ones; ones &= ones - 1)
        if (make_room(64 * i + first_bit(ones), v)) return true;
    return bounds_.refute && refute(v, alive);
  }
  /// The first of some classes without a living member; else notes in ones_ those with a single one.
  u32 look(const Bits<W>& alive, const Classes& among) {
    ones_.assign(64 * among.n_blocks(), false);
    for (u32 i = 0; i < among.n_blocks(); ++i) {
      u64 ones = 0;
      for (u64 left = among.block(i); left; left &= left - 1) {
        const u32 c = first_bit(left), found = none_one_more(classes_[64 * i + c] & alive);
        if (found == 0) return 64 * i + c;
        ones |= u64{found == 1} << c;
      }
      ones_.block(i) = ones;
    }
    return kNoClass;
  }
  /// Moves the one neighbour of v in class a to another class, and v there.
  bool make_room(u32 a, u32 v) {
    const u32 other = last(classes_[a] & graph_->neighbours[v]);
    const Bits<W>& near = graph_->neighbours[other];
    for (u32 i = 0; i < usable_.n_blocks(); ++i)
      for (u64 left = usable_.block(i); left; left &= left - 1) {
        const u32 b = 64 * i + first_bit(left);
        if (b == a || !empty(classes_[b] & near)) continue;
        classes_[a].remove(other);
        classes_[b].add(other);
        classes_[a].add(v);
        return true;
      }
    return false;
  }

  /// Shows that v and some classes contradict each other, and sets those aside. `ones_` holds the first forced classes.
  bool refute(u32 v, Bits<W>& alive) {
    units_.clear();
    open_ = usable_;
    u32 conflict = kNoClass;
    while (conflict == kNoClass) {
      if (!force(alive)) return false;
      conflict = look(alive, open_);
    }
    explain(conflict, v);
    return true;
  }
  /// Takes the single living member of each class in ones_; false if there is no such class.
  bool force(Bits<W>& alive) {
    const usize known = units_.size();
    for (u32 i = 0; i < open_.n_blocks(); ++i) {
      open_.block(i) &= ~ones_.block(i);
      for (u64 ones = ones_.block(i); ones; ones &= ones - 1) {
        const u32 c = 64 * i + first_bit(ones);
        const Bits<W> member = classes_[c] & alive;
        if (empty(member)) {  // taken away by a unit just forced: the next look will find it
          open_.add(c);
          continue;
        }
        units_.push_back({last(member), c});
        alive = alive & graph_->neighbours[units_.back().vertex];
      }
    }
    return units_.size() > known;
  }

  /// Sets aside the classes on which the contradiction in class c rests.
  void explain(u32 c, u32 v) {
    usable_.remove(c);
    needed_.assign(units_.size(), 0);
    mark_takers(classes_[c], v, units_.size());
    for (usize i = units_.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      usable_.remove(units_[i].of);
      Bits<W> others = classes_[units_[i].of];
      others.remove(units_[i].vertex);
      mark_takers(others, v, i);
    }
  }
  /// Marks those of the first n units that took away the neighbours of v among `gone`.
  void mark_takers(Bits<W> gone, u32 v, usize n) {
    gone = gone & graph_->neighbours[v];
    for (usize i = 0; i < n && !empty(gone); ++i) {
      const Bits<W> still = gone & graph_->neighbours[units_[i].vertex];
      needed_[i] |= !empty(without(gone, still));
      gone = still;
    }
  }

  const Bounds bounds_;
  const LocalGraph<W>* graph_ = nullptr;
  std::vector<Bits<W>> classes_;
  Classes usable_, open_, ones_;
  std::vector<Unit> units_;
  std::vector<char> needed_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
