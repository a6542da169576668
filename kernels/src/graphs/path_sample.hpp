// path_sample.hpp: paths of two edges between the vertices of either side: how many there are, and
// how much the ends of some of them have in common.
//
// What it finds: for each side the number of paths from its vertices (the way there and back is
// one); and where asked, of a seeded sample of those that have two ends, the shares whose ends have
// at least so many neighbours in common, few or many. Input: ascending rows of the left side,
// without repetition.
//
// Method: a path is drawn by its middle, in proportion to the pairs of its neighbours, then two of
// these. The lists of the right vertices that are needed, as middles or as ends, come from a pass
// over all edges. Cost: a pass over the edges, another one a side that is sampled, and the lists of
// the sample.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq {

class PathSample {
 public:
  template <class Check>
  PathSample(const Rows& left, u32 n_right, const Check& check) : left_(left), right_degrees_(n_right, 0) {
    each_edge(left.n_edges(), check, [this](u64 e) { ++right_degrees_[static_cast<u32>(left_.row[e])]; });
    each_degree(true, [this](u64 d) { from_right_ += d * d; });
    each_degree(false, [this](u64 d) { from_left_ += d * d; });
  }

  u64 from_left() const { return from_left_; }
  u64 from_right() const { return from_right_; }

  /// Of `n` paths between vertices of a side the shares whose ends have at least `few`, and at
  /// least `many`, neighbours in common; `n` is less than `kMost`.
  std::pair<double, double> crowded(bool from_left, u32 n, u32 few, u32 many, u64 seed) {
    const std::vector<Draw> draws = drawn(!from_left, std::min(n, kMost), seed);
    slot_of_.assign(right_degrees_.size(), 0);
    lists_.assign(1, {});
    for (const Draw& draw : draws) {
      if (from_left) want(draw.middle);
      else want(neighbour(draw.middle, draw.first)), want(neighbour(draw.middle, draw.second));
    }
    gather();
    u32 with_few = 0, with_many = 0;
    for (const Draw& draw : draws) {
      const auto end = [&](u32 place) { return from_left ? left_[list_of(draw.middle).begin()[place]] : list_of(neighbour(draw.middle, place)); };
      const u32 shared = shared_by(end(draw.first), end(draw.second), few, many);
      with_few += shared >= few, with_many += shared >= many;
    }
    const double all = std::max(static_cast<double>(draws.size()), 1.0);
    return {with_few / all, with_many / all};
  }

 private:
  static constexpr u32 kMost = 127;  // both ends have a slot, whose number is a byte

  /// A vertex, and the places of two of its neighbours.
  struct Draw {
    u32 middle, first, second;
  };

  u32 neighbour(u32 u, u32 place) const { return static_cast<u32>(left_.row[left_.start[u] + place]); }
  Span list_of(u32 v) const { return span_of(lists_[slot_of_[v]]); }

  /// f(degree) for the vertices of a side.
  template <class F>
  void each_degree(bool of_left, const F& f) const {
    if (of_left)
      for (usize u = 0; u < left_.size(); ++u) f(static_cast<u64>(left_.start[u + 1] - left_.start[u]));
    else
      for (u32 d : right_degrees_) f(u64{d});
  }
  /// n paths whose middles are on a side; none where no vertex of it has two neighbours.
  std::vector<Draw> drawn(bool middle_is_left, u32 n, u64 seed) const {
    const u64 pairs = (middle_is_left ? from_right_ : from_left_) - left_.n_edges();
    const auto random = [&seed](u64 below) { return mix(seed += kLeftSeed) % below; };
    std::vector<Draw> draws;
    if (!pairs) return draws;
    std::vector<u64> places(n);
    for (u64& place : places) place = random(pairs);
    std::sort(places.begin(), places.end());
    u64 upto = 0;
    u32 v = 0;
    each_degree(middle_is_left, [&](u64 d) {
      for (upto += d * (d - (d > 0)); draws.size() < n && places[draws.size()] < upto;) {
        const auto first = static_cast<u32>(random(d)), other = static_cast<u32>(random(d - 1));
        draws.push_back({v, first, other + (other >= first)});
      }
      ++v;
    });
    return draws;
  }
  void want(u32 v) {
    if (slot_of_[v]) return;
    slot_of_[v] = static_cast<std::uint8_t>(lists_.size());
    lists_.emplace_back().reserve(right_degrees_[v]);
  }
  /// Fills the lists that are wanted.
  void gather() {
    if (lists_.size() == 1) return;
    // Without branches on what an edge is, and not row by row: neither can be foretold.
    constexpr usize kBlock = 4096;
    std::vector<usize> found(kBlock);
    std::int32_t u = 0;
    for (usize first = 0, end = left_.n_edges(); first < end; first += kBlock) {
      usize n = 0;
      for (usize e = first; e < std::min(first + kBlock, end); ++e) {
        found[n] = e;
        n += slot_of_[static_cast<u32>(left_.row[e])] != 0;
      }
      for (usize i = 0; i < n; ++i) {
        while (left_.start[u + 1] <= static_cast<std::int64_t>(found[i])) ++u;
        lists_[slot_of_[static_cast<u32>(left_.row[found[i]])]].push_back(u);
      }
    }
  }
  /// How many numbers are in both, up to `many`; or fewer than `few`, where there are no more.
  static u32 shared_by(Span a, Span b, u32 few, u32 many) {
    if (a.size() > b.size()) std::swap(a, b);
    u32 n = 0;
    for (const std::int32_t *x = a.begin(), *y = b.begin(); x != a.end() && n < many && n + (a.end() - x) >= few; ++x) {
      std::ptrdiff_t step = 1;
      while (step < b.end() - y && y[step] <= *x) step *= 2;
      y = std::lower_bound(y, std::min(y + step, b.end()), *x);
      if (y == b.end()) break;
      n += *x == *y;
    }
    return n;
  }

  const Rows left_;
  std::vector<u32> right_degrees_;
  u64 from_left_ = 0, from_right_ = 0;  // paths
  std::vector<std::uint8_t> slot_of_;   // of right vertices: where their lists are
  std::vector<Ids> lists_;              // the first is nobody's
};

}  // namespace bicliq
