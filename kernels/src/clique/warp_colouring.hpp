// warp_colouring.hpp: which vertices of a set can begin a clique of more than k vertices; for a
// group of 32 lanes.
//
// What it finds: `branching(P, k)` returns B, a subset of P, such that P without B holds no clique
// of more than k vertices. The bounds are those of colouring.hpp: k greedy colour classes;
// re-colouring, which moves a vertex to another class to make room; refutation, which shows by unit
// propagation that a vertex and some classes hold no clique with a member of each.
//
// Method: a set of vertices is spread over the lanes (`WarpSet`), so that a vertex is coloured
// by one coalesced read of the row of its non-neighbours, an AND and a ballot. To ask all classes
// about a vertex, lane c owns class c: classes are kept word by word, 32 of them side by side, and
// one pass over the words says for 32 classes at once whether none, one or more of its neighbours
// are in each, and which one it is.
//
// What decides: after `kFailures` vertices in a row that found no place, the rest is branched on.
// Beyond 1,024 classes there is colouring only.
//
// Cost: a pass over the words of the classes for every vertex that is asked about. Memory:
// `words_for_groups` a group of lanes, fast memory where it suffices, else slow memory.
//
// Papers: San Segundo et al. 2011 (BBMC); Tomita et al. 2010 (Re-NUMBER); Li, Fang and Xu 2013
// (MaxSAT bounds).
#pragma once

#include "lanes/shared_words.hpp"

namespace bicliq {

// ---- A set of at most 1,024·W vertices, held by a group of 32 lanes: W words a lane.
//
// Vertex v is bit v % 32 of word v / 32; word i is in lane i % 32, the (i / 32)-th of that lane. In
// memory a set is its words in order, and only as many as the graph needs (`Extent`): the lanes
// beyond hold zero.

#if defined(__CUDACC_RTC__)  // what is indexed by a known number stays in registers
#define BICLIQ_EACH_WORD _Pragma("unroll (W <= 8 ? W : 1)")
#else
#define BICLIQ_EACH_WORD
#endif

constexpr u32 kNoVertex = ~0u;

/// The number of the lowest set bit of each lane, where there is one; and that bit alone.
inline Lanes lowest_numbers(Lanes x) { return popcounts(without(x + splat(~0u), x)); }
inline Lanes lowest_bits(Lanes x) { return without(x, x + splat(~0u)); }

template <u32 W>
struct WarpSet {
  Lanes word[W];
};

/// How many words the sets of a graph have in memory.
struct Extent {
  u32 words = 0;
  /// The lanes whose s-th word is among them.
  Flags real(u32 s) const { return first_lanes(words > kLanes * s ? words - kLanes * s : 0); }
};

template <u32 W>
inline WarpSet<W> no_vertex() {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = splat(0);
  return out;
}
template <u32 W>
inline WarpSet<W> load_set(const u32* p, Extent extent) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = load(p + kLanes * s, extent.real(s));
  return out;
}
template <u32 W>
inline WarpSet<W> load_fresh_set(const u32* p, Extent extent) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = load_fresh(p + kLanes * s, extent.real(s));
  return out;
}
template <u32 W>
inline void store_set(u32* p, const WarpSet<W>& a, Extent extent) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) store(p + kLanes * s, a.word[s], extent.real(s));
}

template <u32 W>
inline WarpSet<W> operator&(const WarpSet<W>& a, const WarpSet<W>& b) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = a.word[s] & b.word[s];
  return out;
}
template <u32 W>
inline WarpSet<W> without(const WarpSet<W>& a, const WarpSet<W>& b) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) out.word[s] = without(a.word[s], b.word[s]);
  return out;
}
template <u32 W>
inline bool any(const WarpSet<W>& a) {
  Lanes all = a.word[0];
  BICLIQ_EACH_WORD
  for (u32 s = 1; s < W; ++s) all = all | a.word[s];
  return ballot(nonzero(all)) != 0;
}
template <u32 W>
inline u32 count(const WarpSet<W>& a) {
  Lanes n = popcounts(a.word[0]);
  BICLIQ_EACH_WORD
  for (u32 s = 1; s < W; ++s) n = n + popcounts(a.word[s]);
  return sum(n);
}

/// The bit of v in the lane that holds it.
inline Lanes bit_of(u32 v) { return select(only_lane(v / 32 % kLanes), splat(1u << v % 32), splat(0)); }
template <u32 W>
inline void add(WarpSet<W>& a, u32 v) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) a.word[s] = a.word[s] | bit_of(v);
}
template <u32 W>
inline void remove(WarpSet<W>& a, u32 v) {
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) a.word[s] = without(a.word[s], bit_of(v));
}
template <u32 W>
inline bool has(const WarpSet<W>& a, u32 v) {
  u32 bits = 0;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (v / 1024 == s) bits = lane(a.word[s], v / 32 % kLanes);
  return bits >> v % 32 & 1;
}
/// The largest vertex; kNoVertex of the empty set.
template <u32 W>
inline u32 last(const WarpSet<W>& a) {
  u32 found = kNoVertex;
  BICLIQ_EACH_WORD
  for (u32 s = W; s-- > 0;) {
    if (found != kNoVertex) continue;
    if (const u32 lanes = ballot(nonzero(a.word[s]))) {
      const u32 j = last_set(lanes);
      found = 32 * (kLanes * s + j) + last_set(lane(a.word[s], j));
    }
  }
  return found;
}
/// The vertices before n.
template <u32 W>
inline WarpSet<W> first_vertices(u32 n) {
  WarpSet<W> out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s) {
    const u32 words = n / 32 > kLanes * s ? n / 32 - kLanes * s : 0;
    out.word[s] = select(first_lanes(words), splat(~0u), splat(0));
  }
  if (n % 32 == 0) return out;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    if (n / 1024 == s) out.word[s] = select(only_lane(n / 32 % kLanes), splat((1u << n % 32) - 1), out.word[s]);
  return out;
}
/// f(v) for the members, ascending, until it returns false.
template <u32 W, class F>
inline void each_while(const WarpSet<W>& a, F f) {
  bool going = true;
  BICLIQ_EACH_WORD
  for (u32 s = 0; s < W; ++s)
    for (u32 lanes = ballot(nonzero(a.word[s])); lanes && going; lanes &= lanes - 1) {
      const u32 j = first_set(lanes);
      for (u32 word = lane(a.word[s], j); word && going; word &= word - 1)
        going = f(32 * (kLanes * s + j) + first_set(word));
    }
}

/// A local graph: for each vertex the row of its non-neighbours, without itself. Where a row ends
/// before the lanes do, those beyond read anything; whatever their words are combined with is empty
/// there.
template <u32 W>
struct NonNeighbours {
  WordRows rows;
  Extent extent;
  u32 stride = 0;

  NonNeighbours() = default;
  NonNeighbours(const u32* at, u32 n, u32 stride)
      : rows(at, stride, W == 1 && n <= 32 * kLanes ? (n + 31) / 32 : kLanes), extent{(n + 31) / 32}, stride(stride) {}
  Lanes word(u32 v, u32 s) const { return rows.get_constant(v, kLanes * s, extent.real(s)); }
};

/// Memory for colour classes: fast, if it suffices (a GPU's shared memory), else slow.
struct ClassMemory {
  u32* near;
  u32 near_words;
  u32* far;
};

constexpr u32 kFailures = 12;               // in a row; then the rest is branched on
constexpr u32 kMostClassGroups = kLanes;  // of 32 classes: a set of classes is a word of each lane
constexpr u32 kClassStride = kLanes + 1;    // neither rows nor columns of classes meet in one bank
constexpr u32 words_for_groups(u32 groups, u32 set_words) { return groups * (set_words * kClassStride + 3 * kLanes); }

/// How a vertex that greedy colouring left over is placed; `Classes` are those of a colouring, and
/// `alive` and `open` its sets of vertices and of classes.
template <class Classes>
class Placement {
 protected:
  /// Finds a class for v, or shows that it needs none: with v chosen, unit propagation over the
  /// classes comes to one that is left empty. `alive` are the neighbours of v, `open` the classes
  /// that may be used.
  template <class Vertices, class Open>
  bool place(u32 v, Vertices alive, Open open) {
    Classes& classes = static_cast<Classes&>(*this);
    classes.n_units_ = 0;
    BICLIQ_ROLL
    for (bool first = true;; first = false) {
      const u32 found = classes.look(alive, open);
      if (found != kNoClass) {
        if (first)
          classes.join(found, v);
        else
          classes.explain(found, v);
        return true;
      }
      if (first && classes.make_room(v)) return true;
      if (!classes.refute_ || !classes.force(alive, open)) return false;
    }
  }
  static constexpr u32 kNoClass = ~0u;
};

template <u32 W>
class WarpColouring : private Placement<WarpColouring<W>> {
  using Base = Placement<WarpColouring<W>>;
  friend Base;
  using Base::kNoClass;

 public:
  using Set = WarpSet<W>;
  WarpColouring(ClassMemory memory, bool recolour, bool refute)
      : memory_(memory), recolour_(recolour), refute_(refute) {}
  void attach(const NonNeighbours<W>& graph) { graph_ = graph; }

  /// Vertices of a set such that the others hold no clique of more than k.
  Set branching(const Set& of, u32 k) {
    Set left = of;
    groups_ = (k + kLanes - 1) / kLanes;
    if (recolour_ && groups_ <= kMostClassGroups) {
      const u32 words = words_for_groups(groups_, graph_.extent.words);
      classes_ = words <= memory_.near_words ? memory_.near : memory_.far;
      class_words_ = WordRows(classes_, kClassStride, kLanes);
      singles_ = classes_ + groups_ * graph_.extent.words * kClassStride;
    }
    const bool keep = recolour_ && groups_ <= kMostClassGroups && k >= 2;
    for (u32 c = 0; c < k; ++c) {
      if (!any(left)) return left;
      const Set taken = independent(left);
      left = without(left, taken);
      if (keep) write(c, taken);
    }
    if (!keep || !any(left)) return left;
    settle();
    of_ = of;
    usable_ = first_classes(k);
    Set kept = left;
    u32 failures = 0;
    each_while(left, [&](u32 v) {
      if (Base::place(v, neighbours(of_, v), usable_)) {
        remove(kept, v);
        failures = 0;
        return true;
      }
      return ++failures < kFailures;
    });
    return kept;
  }
  Set neighbours(const Set& among, u32 v) const {
    Set out;
    BICLIQ_EACH_WORD
    for (u32 s = 0; s < W; ++s) out.word[s] = without(among.word[s], graph_.word(v, s));
    return out;
  }

 private:
  /// The greedy independent set that starts with the first vertex.
  Set independent(Set open) const {
    Set taken = no_vertex<W>();
    BICLIQ_EACH_WORD
    for (u32 s = 0; s < W; ++s)
      while (const u32 lanes = ballot(nonzero(open.word[s]))) {
        const u32 j = first_set(lanes), v = 32 * (kLanes * s + j) + lane(lowest_numbers(open.word[s]), j);
        taken.word[s] = set_bits(taken.word[s], only_lane(j), lowest_bits(open.word[s]));
        BICLIQ_EACH_WORD
        for (u32 t = 0; t < W; ++t)
          if (t >= s) open.word[t] = open.word[t] & graph_.word(v, t);
      }
    return taken;
  }

  // ---- classes in memory

  /// The j-th words of 32 classes.
  u32* words_of(u32 group, u32 j) const { return classes_ + (group * graph_.extent.words + j) * kClassStride; }
  void write(u32 c, const Set& members) const {
    BICLIQ_EACH_WORD
    for (u32 s = 0; s < W; ++s)
      if (graph_.extent.words > kLanes * s)
        store_apart(words_of(c / kLanes, kLanes * s) + c % kLanes, kClassStride, members.word[s],
                    graph_.extent.words - kLanes * s);
  }
  Set read_class(u32 c) const {
    Set out;
    BICLIQ_EACH_WORD
    for (u32 s = 0; s < W; ++s) {
      const u32 words = graph_.extent.words;
      out.word[s] = words > kLanes * s
                        ? read_apart(words_of(c / kLanes, kLanes * s) + c % kLanes, kClassStride, words - kLanes * s)
                        : splat(0);
    }
    return out;
  }
  void join(u32 c, u32 v) const {
    u32* word = words_of(c / kLanes, v / 32) + c % kLanes;
    put(word, *word | 1u << v % 32);
  }
  void leave(u32 c, u32 v) const {
    u32* word = words_of(c / kLanes, v / 32) + c % kLanes;
    put(word, *word & ~(1u << v % 32));
  }

  // ---- sets of classes: lane g holds those of group g

  static Lanes first_classes(u32 k) {
    return select(first_lanes(k / kLanes), splat(~0u),
                  select(flags(k / kLanes < kLanes ? 1u << k / kLanes : 0), splat((1u << k % kLanes) - 1), splat(0)));
  }
  static Lanes class_bit(u32 c) { return select(flags(1u << c / kLanes), splat(1u << c % kLanes), splat(0)); }
  static Lanes with_group(Lanes classes, u32 group, u32 bits) {
    return select(flags(1u << group), splat(bits), classes);
  }

  // ---- what `place` asks

  /// The first of some classes without a member that is alive. If there is none, `ones_` gets the
  /// classes with a single one, and `singles_` these members.
  u32 look(const Set& alive, Lanes among) {
    ones_ = splat(0);
    for (u32 g = 0; g < groups_; ++g) {
      const u32 asked = lane(among, g);
      if (!asked) continue;
      Lanes any = splat(0), two = splat(0), at = splat(0);
      each_word(alive, [&](u32 j, u32 bits) {
        const Lanes x = class_words_.get(g * graph_.extent.words + j) & splat(bits);
        two = two | (any & x);
        any = any | x;
        at = select(nonzero(x), splat(32 * j), at);
      });
      if (const u32 none = asked & ~ballot(nonzero(any))) return kLanes * g + first_set(none);
      const Lanes below = any + splat(~0u);  // of a single bit: the bits below it
      two = two | (any & below);
      ones_ = with_group(ones_, g, asked & ~ballot(nonzero(two)));
      store(singles_ + kLanes * g, at + popcounts(below));
    }
    return kNoClass;
  }
  template <class F>
  static void each_word(const Set& a, F f) {
    BICLIQ_EACH_WORD
    for (u32 s = 0; s < W; ++s)
      for (u32 lanes = ballot(nonzero(a.word[s])); lanes; lanes &= lanes - 1) {
        const u32 j = first_set(lanes);
        f(kLanes * s + j, lane(a.word[s], j));
      }
  }

  /// Moves the only neighbour of v in some class to another class, and v there.
  bool make_room(u32 v) {
    for (u32 g = 0; g < groups_; ++g)
      for (u32 ones = lane(ones_, g); ones; ones &= ones - 1) {
        const u32 from = kLanes * g + first_set(ones), other = singles_[from];
        const u32 to = class_without(neighbours(of_, other), from);
        if (to == kNoClass) continue;
        leave(from, other);
        join(to, other);
        join(from, v);
        return true;
      }
    return false;
  }
  /// The first usable class, other than `but`, that has none of some vertices.
  u32 class_without(const Set& vertices, u32 but) const {
    const Lanes among = without(usable_, class_bit(but));
    for (u32 g = 0; g < groups_; ++g) {
      const u32 asked = lane(among, g);
      if (!asked) continue;
      Lanes any = splat(0);
      each_word(vertices,
                [&](u32 j, u32 bits) { any = any | (class_words_.get(g * graph_.extent.words + j) & splat(bits)); });
      if (const u32 none = asked & ~ballot(nonzero(any))) return kLanes * g + first_set(none);
    }
    return kNoClass;
  }

  // ---- refutation

  u32* unit_vertices() const { return singles_ + kLanes * groups_; }
  u32* unit_classes() const { return singles_ + 2 * kLanes * groups_; }

  /// Chooses the member of each class in `ones_` that is the only one alive; false if there is no
  /// such class.
  bool force(Set& alive, Lanes& open) {
    const u32 known = n_units_;
    for (u32 g = 0; g < groups_; ++g)
      for (u32 ones = lane(ones_, g); ones; ones &= ones - 1) {
        const u32 c = kLanes * g + first_set(ones), member = singles_[c];
        if (!has(alive, member)) continue;  // one chosen just now has removed it: the next look finds the class empty
        open = without(open, class_bit(c));
        put(unit_vertices() + n_units_, member);
        put(unit_classes() + n_units_, c);
        ++n_units_;
        alive = neighbours(alive, member);
      }
    return n_units_ > known;
  }
  /// Sets the classes aside from which it follows that class c is empty: no vertex is placed by
  /// them again.
  void explain(u32 c, u32 v) {
    usable_ = without(usable_, class_bit(c));
    Lanes needed = splat(0);
    mark_takers(needed, read_class(c), v, n_units_);
    for (u32 i = n_units_; i-- > 0;) {
      if (!(lane(needed, i / 32) >> i % 32 & 1)) continue;
      const u32 of = unit_classes()[i];
      usable_ = without(usable_, class_bit(of));
      Set others = read_class(of);
      remove(others, unit_vertices()[i]);
      mark_takers(needed, others, v, i);
    }
  }
  /// Marks those of the first n chosen members that removed the neighbours of v among `gone`.
  void mark_takers(Lanes& needed, Set gone, u32 v, u32 n) const {
    gone = neighbours(gone, v);
    for (u32 i = 0; i < n && any(gone); ++i) {
      const Set still = neighbours(gone, unit_vertices()[i]);
      if (any(without(gone, still))) needed = needed | class_bit(i);
      gone = still;
    }
  }

  const ClassMemory memory_;
  const bool recolour_, refute_;
  NonNeighbours<W> graph_;
  WordRows class_words_;
  u32 *classes_ = nullptr, *singles_ = nullptr;
  u32 groups_ = 0, n_units_ = 0;
  Set of_;
  Lanes usable_, ones_;
};

}  // namespace bicliq
