// search_order.hpp: the order in which a local graph's vertices are coloured and branched on.
//
// What: `search_order` puts those first that shall be coloured first and branched on last. Mostly
// that is densest first: by repeated removal of a vertex with the fewest neighbours left. But where
// greed along that order takes half as many colours again as suffice, and those are at most half as
// many again as the best clique has vertices (Keller's graphs), it is class by class, the largest
// first: then the greed of every node finds what is left of these classes.
//
// Method of the few colours: greed again and again. Vertices that are taken class by class, in
// whatever order the classes are, never need more colours than they had, and often fewer.
//
// Cost: n² steps for the densest; for each colouring of n vertices by k colours n·k steps and n
// rows, until none of `kPatience` in a row has saved a colour. The choices are pseudo-random, the
// same in every run.
//
// Papers: Culberson and Luo 1996 (iterated greedy colouring); Li, Jiang and Manyà 2017 (an order by
// independent sets where that bounds better).
#pragma once

#include "clique/local_rows.hpp"

namespace bicliq {

/// By repeated removal of one with the fewest neighbours left (of several, that of the largest id),
/// the last first.
template <class Check>
std::vector<u32> densest_first(const LocalRows& graph, const std::vector<u32>& ids, const Check& check) {
  const u32 n = graph.n();
  std::vector<u32> order(n), left(n), degree(n);
  std::iota(left.begin(), left.end(), 0u);
  std::sort(left.begin(), left.end(), [&](u32 a, u32 b) { return ids[a] > ids[b]; });
  for (u32 v = 0; v < n; ++v) degree[v] = graph.degree(v);
  for (u32 i = n; i-- > 0;) {
    check();
    const auto least = std::min_element(left.begin(), left.end(), [&](u32 a, u32 b) { return degree[a] < degree[b]; });
    order[i] = *least;
    left.erase(least);
    graph.each_neighbour(order[i], [&](u32 u) { --degree[u]; });
  }
  return order;
}

/// Colour classes by greed along an order, and by greed along those classes.
class ColourClasses {
 public:
  ColourClasses(const LocalRows& graph, const std::vector<u32>& order) : graph_(graph), open_(graph.words()) { colour(order); }

  u32 size() const { return static_cast<u32>(classes_.size()); }
  /// Saves colours until there are no more than `enough`, or patience ends.
  void reduce(u32 enough) {
    for (u32 idle = 1; size() > enough && idle <= kPatience && work_ < kMostWork; ++idle) {
      const u32 before = size();
      rearrange();
      colour(vertices());
      if (size() < before) idle = 0;
    }
  }
  std::vector<u32> largest_first() {
    sort();
    return vertices();
  }

 private:
  using Class = std::vector<u32>;
  static constexpr u32 kPatience = 16;
  static constexpr u64 kMostWork = u64{1} << 24;

  std::vector<u32> vertices() const {
    std::vector<u32> all;
    for (const Class& c : classes_) all.insert(all.end(), c.begin(), c.end());
    return all;
  }
  void colour(std::vector<u32> left) {
    classes_.clear();
    while (!left.empty()) {
      work_ += left.size();
      Class& c = classes_.emplace_back();
      open_.assign(open_.size(), ~u64{0});
      usize kept = 0;
      for (u32 v : left)
        if (open_[v / 64] >> v % 64 & 1)
          join(c, v);
        else
          left[kept++] = v;
      left.resize(kept);
    }
  }
  void join(Class& c, u32 v) {
    c.push_back(v);
    for (u32 i = 0; i < graph_.words(); ++i) open_[i] &= ~graph_.row(v)[i];
    work_ += graph_.words();
  }
  void rearrange() {
    switch (random(3)) {
      case 0: return std::reverse(classes_.begin(), classes_.end());
      case 1: return sort();
      default:
        for (u32 i = size(); i > 1; --i) std::swap(classes_[i - 1], classes_[random(i)]);
    }
  }
  void sort() {
    std::stable_sort(classes_.begin(), classes_.end(), [](const Class& a, const Class& b) { return a.size() > b.size(); });
  }
  u32 random(u32 below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<u32>((state_ >> 32) * below >> 32);
  }

  const LocalRows& graph_;
  std::vector<Class> classes_;
  std::vector<u64> open_;  // what has no neighbour in the class at hand
  u64 work_ = 0, state_ = 0x9E3779B97F4A7C15;
};

/// The order of a graph in which cliques of more than `best` vertices are sought; empty where
/// colours show that there are none. `check` is called now and then, and may end it by an
/// exception.
template <class Check>
std::vector<u32> search_order(const LocalRows& graph, const std::vector<u32>& ids, u32 best, const Check& check) {
  std::vector<u32> order = densest_first(graph, ids, check);
  ColourClasses classes(graph, order);
  const u32 greedy = classes.size();
  classes.reduce(best);
  if (classes.size() <= best) return {};
  const bool better = 3 * classes.size() <= 2 * greedy && 2 * classes.size() <= 3 * best;
  return better ? classes.largest_first() : order;
}

}  // namespace bicliq
