// colouring.hpp: which vertices of a set can begin a clique of more than k vertices.
//
// What: given the adjacency of a local graph and a set P of its vertices,
// `Colouring::branching(P, k)` returns B, a subset of P such that P without B holds no clique of
// more than k vertices. A search needs to branch on B only, and for b in B only with the members of
// B before it; if B is empty the whole node is done.
//
// Method: (1) k colour classes, each the greedy independent set of what is left (BBMC). Whatever is
// coloured is not in B. (2) Re-colouring (Re-NUMBER): a vertex left over enters a class in which it
// has no neighbour, or one neighbour that another class can take. (3) Refutation, as in incremental
// MaxSAT: vertex v together with some classes is inconsistent if no clique takes v and one vertex
// of each of them. Assume v; a class with one neighbour left forces that neighbour (unit
// propagation), a class with none is the contradiction (the infra-chromatic bound is the case of
// two classes). Then v and those classes hold no more than the classes alone, so v leaves B, and
// the classes that took part are set aside, so that they are counted once.
//
// Cost: a pass over the classes for each vertex left over. The classes lie eight side by side, so
// that such a pass takes a few instructions for each word of eight classes.
//
// Papers: San Segundo et al. 2011 (BBMC) and 2013 (BBMCR); Tomita et al. 2010 (Re-NUMBER); San
// Segundo, Nikolaev and Batsyn 2015 (infra-chromatic); Li and Quan 2010, Li, Fang and Xu 2013
// (MaxSAT, incremental).
#pragma once

#include "clique/worker.hpp"
#include "lanes/bitset.hpp"

#include <vector>

namespace bicliq {

/// The adjacency of a local graph as bits. `non_neighbours` is the complement, without the vertex
/// itself.
template <u32 W>
struct LocalGraph {
  std::vector<u32> ids;  // of each vertex, in the whole graph
  std::vector<Bits<W>> neighbours, non_neighbours;

  LocalGraph(std::vector<u32> of, const LocalRows& rows)
      : ids(std::move(of)), neighbours(n(), Bits<W>::none()), non_neighbours(n()) {
    const Bits<W> all = Bits<W>::first_n(n());
    for (u32 v = 0; v < n(); ++v) {
      std::copy_n(rows.row(v), rows.words(), neighbours[v].words());
      non_neighbours[v] = without(all, neighbours[v]);
      non_neighbours[v].remove(v);
    }
  }
  u32 n() const { return static_cast<u32>(ids.size()); }
};

/// A choice of colour classes, one bit each.
class ChosenClasses {
 public:
  void resize(u32 n_blocks) {
    if (blocks_.size() < n_blocks) blocks_.resize(n_blocks);
    n_blocks_ = n_blocks;
  }
  void choose_first(u32 n) {
    resize((n + 63) / 64);
    for (u32 i = 0; i < n_blocks_; ++i) blocks_[i] = ~u64{0};
    if (n % 64) blocks_[n_blocks_ - 1] = (u64{1} << n % 64) - 1;
  }
  void copy(const ChosenClasses& other) {
    resize(other.n_blocks_);
    for (u32 i = 0; i < n_blocks_; ++i) blocks_[i] = other.blocks_[i];
  }
  void add(u32 c) { blocks_[c / 64] |= u64{1} << c % 64; }
  void remove(u32 c) { blocks_[c / 64] &= ~(u64{1} << c % 64); }
  u32 n_blocks() const { return n_blocks_; }
  u64& block(u32 i) { return blocks_[i]; }
  u64 block(u32 i) const { return blocks_[i]; }

 private:
  std::vector<u64> blocks_;
  u32 n_blocks_ = 0;
};

/// Colour classes, eight side by side: word w of eight classes is one register of AVX-512. What is
/// asked of every class (does it hold a living vertex, or a single one?) is asked of eight at once.
template <u32 W>
class ClassTable {
 public:
  void reserve(u32 n) {
    if (eights_.size() < (n + 7) / 8) eights_.resize((n + 7) / 8);
  }
  void set(u32 c, const Bits<W>& members) {
    for (u32 w = 0; w < W; ++w) word(c, w) = members.words()[w];
  }
  void set(u32 c, u64 word0, u64 word1) { word(c, 0) = word0, word(c, 1) = word1; }
  Bits<W> get(u32 c) const {
    Bits<W> members;
    for (u32 w = 0; w < W; ++w) members.words()[w] = word(c, w);
    return members;
  }
  void add(u32 c, u32 v) { word(c, v / 64) |= u64{1} << v % 64; }
  void remove(u32 c, u32 v) { word(c, v / 64) &= ~(u64{1} << v % 64); }
  /// The last member of a class that is alive; 64·W if there is none.
  u32 last_in(u32 c, const Bits<W>& alive) const {
    for (u32 w = W; w-- > 0;)
      if (const u64 found = word(c, w) & alive.words()[w]) return 64 * w + last_bit(found);
    return 64 * W;
  }
  /// Of classes 8·i to 8·i + 7: which have no living member, and which have one.
  struct Found {
    u32 none, one;
  };
  Found look(u32 i, const Bits<W>& alive) const {
    Eight any{}, twice{};
    for (u32 w = 0; w < W; ++w) {
      const Eight found = eights_[i].word[w] & alive.words()[w];
      twice |= any & found;
      any |= found;
    }
    twice |= any & (any - 1);
    const u32 some = nonzero_words(any);
    return {~some & 0xFF, some & ~nonzero_words(twice)};
  }

 private:
  typedef u64 Eight __attribute__((vector_size(64), may_alias));
  struct Words {
    Eight word[W];
  };
  u64& word(u32 c, u32 w) { return reinterpret_cast<u64*>(&eights_[c / 8].word[w])[c % 8]; }
  u64 word(u32 c, u32 w) const { return reinterpret_cast<const u64*>(&eights_[c / 8].word[w])[c % 8]; }

  std::vector<Words> eights_;
};

template <u32 W>
class Colouring {
 public:
  explicit Colouring(Bounds bounds) : bounds_(bounds) {}
  void attach(const LocalGraph<W>& graph) { graph_ = &graph; }

  Bits<W> branching(const Bits<W>& of, u32 k) {
    Bits<W> left = of;
    classes_.reserve(k);
    if constexpr (W == 2) {
      colour_without_branches(left, k);
    } else {
      if (kSkipsSingles) several_.choose_first(k);
      for (u32 c = 0; c < k; ++c) {
        if (empty(left)) return left;
        const Bits<W> members = take_class(left);
        classes_.set(c, members);
        if (kSkipsSingles && none_one_more(members) == 1) several_.remove(c);
      }
    }
    if (k < 2 || !bounds_.recolour || empty(left)) return left;
    usable_.choose_first(k);
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
  /// A class is maximal when it is made, so a vertex alone in its class has a neighbour in each
  /// other one, and no room is made by moving it: not tried where a pass over the classes is long.
  static constexpr bool kSkipsSingles = W > 8;
  static constexpr u32 kFailures = 12;  // in a row; then the rest is branched on (a third of the time of sparse projections)
  struct Unit {
    u32 vertex, of;  // a class
  };

  /// Removes k classes from `left`. Whether a class goes on cannot be foreseen, and a sixth of the
  /// time would be spent on branches taken wrongly: so every step takes one vertex, whatever class
  /// it begins or ends.
  void colour_without_branches(Bits<2>& left, u32 k) {
    const Bits<2>* non_neighbours = graph_->non_neighbours.data();
    u64 left0 = left.words()[0], left1 = left.words()[1], open0 = left0, open1 = left1, taken0 = 0, taken1 = 0;
    for (u32 c = 0; c < k && (open0 | open1);) {
      const u64 high = -u64{open0 == 0}, word = open0 | (open1 & high), bit = word & -word;
      const u32 v = first_bit(word) + (high & 64);
      left0 &= ~(bit & ~high);
      left1 &= ~(bit & high);
      taken0 |= bit & ~high;
      taken1 |= bit & high;
      classes_.set(c, taken0, taken1);
      open0 &= non_neighbours[v].words()[0];
      open1 &= non_neighbours[v].words()[1];
      const u64 ended = -u64{(open0 | open1) == 0};
      open0 |= left0 & ended;
      open1 |= left1 & ended;
      taken0 &= ~ended;
      taken1 &= ~ended;
      c += ended & 1;
    }
    left.words()[0] = left0;
    left.words()[1] = left1;
  }

  /// Removes from `left` the greedy independent set that starts with its first vertex.
  Bits<W> take_class(Bits<W>& left) const {
    constexpr u32 kPart = Bits<W>::kChunkWords, kChunks = Bits<W>::kChunks;
    const Bits<W>* non_neighbours = graph_->non_neighbours.data();
    Bits<W> open = left, taken;
    for (u32 i = 0; i < kChunks; ++i) {
      auto chunk = open.chunk[i], part = chunk ^ chunk;  // in registers
      while (const u32 words = nonzero_words(chunk)) {
        const u32 j = first_bit(words);
        u64 word = word_of(chunk, j), members = 0;
        do {
          const u32 b = first_bit(word);
          members |= u64{1} << b;
          const Bits<W>& row = non_neighbours[64 * (kPart * i + j) + b];
          word &= row.words()[kPart * i + j];
          chunk &= row.chunk[i];
          for (u32 c = i + 1; c < kChunks; ++c) open.chunk[c] &= row.chunk[c];
        } while (word);
        set_word(part, j, members);
      }
      taken.chunk[i] = part;
    }
    left = without(left, taken);
    return taken;
  }

  /// Finds v a class, or shows that it needs none.
  bool place(u32 v) {
    Bits<W> alive = graph_->neighbours[v];
    const u32 free = look(alive, usable_);
    if (free != kNoClass) return classes_.add(free, v), true;
    for (u32 i = 0; i < usable_.n_blocks(); ++i)
      for (u64 ones = kSkipsSingles ? ones_.block(i) & several_.block(i) : ones_.block(i); ones; ones &= ones - 1)
        if (make_room(64 * i + first_bit(ones), v)) return true;
    return bounds_.refute && refute(v, alive);
  }
  /// The first of some classes without a living member; else notes in ones_ those with a single
  /// one.
  u32 look(const Bits<W>& alive, const ChosenClasses& among) {
    ones_.resize(among.n_blocks());
    for (u32 i = 0; i < among.n_blocks(); ++i) {
      const u64 asked = among.block(i);
      u64 ones = 0;
      for (u32 j = 0; j < 64 && asked >> j; j += 8) {
        const auto found = classes_.look(8 * i + j / 8, alive);
        if (const u64 none = asked >> j & found.none) return 64 * i + j + first_bit(none);
        ones |= asked & u64{found.one} << j;
      }
      ones_.block(i) = ones;
    }
    return kNoClass;
  }
  /// Moves the one neighbour of v in class a to another class, and v there.
  bool make_room(u32 a, u32 v) {
    const u32 other = classes_.last_in(a, graph_->neighbours[v]);
    const Bits<W>& near = graph_->neighbours[other];
    for (u32 i = 0; i < usable_.n_blocks(); ++i)
      for (u32 j = 0; j < 64 && usable_.block(i) >> j; j += 8) {
        // class a holds `other`, which is no neighbour of itself, so a could seem free
        u64 free = usable_.block(i) >> j & classes_.look(8 * i + j / 8, near).none;
        if (a / 8 == 8 * i + j / 8) free &= ~(u64{1} << a % 8);
        if (!free) continue;
        classes_.remove(a, other);
        classes_.add(64 * i + j + first_bit(free), other);
        classes_.add(a, v);
        return true;
      }
    return false;
  }

  /// Shows that v and some classes contradict each other, and sets those aside. `ones_` holds the
  /// first forced classes.
  bool refute(u32 v, Bits<W>& alive) {
    units_.clear();
    open_.copy(usable_);
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
        const u32 member = classes_.last_in(c, alive);
        if (member == 64 * W) {  // taken away by a unit just forced: the next look will find it
          open_.add(c);
          continue;
        }
        units_.push_back({member, c});
        alive = alive & graph_->neighbours[units_.back().vertex];
      }
    }
    return units_.size() > known;
  }

  /// Sets aside the classes on which the contradiction in class c rests.
  void explain(u32 c, u32 v) {
    usable_.remove(c);
    needed_.assign(units_.size(), 0);
    mark_takers(classes_.get(c), v, units_.size());
    for (usize i = units_.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      usable_.remove(units_[i].of);
      Bits<W> others = classes_.get(units_[i].of);
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
  ClassTable<W> classes_;
  ChosenClasses usable_, open_, ones_, several_;  // several_: had more than one member when made
  std::vector<Unit> units_;
  std::vector<char> needed_;
};

}  // namespace bicliq
