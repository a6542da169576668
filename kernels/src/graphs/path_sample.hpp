// path_sample.hpp: paths of two edges between the vertices of either side: how many there are, and
// how much the ends of some of them have in common.
//
// What it finds: for each side the number of paths from its vertices (the way there and back is
// one); and where asked, of a seeded sample of those that have two ends, what a search for
// bicliques with least sizes does with them (`Crowd`). Input: ascending rows of the left side,
// without repetition.
//
// Method: a path is drawn by its middle, in proportion to the pairs of its neighbours, then two of
// these. The lists of the right vertices that are needed, as middles or as ends, come from a pass
// over all edges, for both sides at once. Cost: a pass over the edges to sample, and the lists of
// the sample.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bicliq {

/// Shares of paths whose ends share enough, twice and four times that. Each counts as a search goes
/// on with it: where a biclique needs `own` vertices of the side, no root is one of the last
/// own − 1 neighbours of a middle, and neither are those that are taken next.
struct Crowd {
  double opened, once, twice, far;
};

class PathSample {
 public:
  /// `right_degrees`: of the right vertices of these rows, as `other_degrees` has them.
  PathSample(const Rows& left, std::vector<u32> right_degrees) : left_(left), right_degrees_(std::move(right_degrees)) {
    each_degree(true, [this](u64 d) { from_right_ += d * d; });
    each_degree(false, [this](u64 d) { from_left_ += d * d; });
  }

  u64 from_left() const { return from_left_; }
  u64 from_right() const { return from_right_; }

  /// Draws `n` paths, at most `kMost`, from one side or both.
  void draw(bool left_too, bool right_too, u32 n, u64 seed) {
    slot_of_.assign(right_degrees_.size(), 0);
    is_wanted_.assign(right_degrees_.size() / 64 + 1, 0);
    starts_.assign(1, 0);
    for (const bool from_left : {true, false}) {
      if (!(from_left ? left_too : right_too)) continue;
      draws_[from_left] = drawn(!from_left, std::min(n, kMost), seed);
      for (const Draw& draw : draws_[from_left]) {
        if (from_left) want(draw.middle);
        else want(neighbour(draw.middle, draw.first)), want(neighbour(draw.middle, draw.second));
      }
    }
    gather();
    is_end_.assign(std::max<usize>(left_.size(), right_degrees_.size()), 0);
  }
  /// What becomes of the paths drawn from a side where a biclique has at least so many of the other
  /// side's vertices, and of its own.
  Crowd crowded(bool from_left, u32 others, u32 own) {
    const std::vector<Draw>& draws = draws_[from_left];
    const u64 enough = others;
    Crowd found{};
    for (const Draw& draw : draws) {
      const auto end = [&](u32 place) { return from_left ? left_[list_of(draw.middle).begin()[place]] : list_of(neighbour(draw.middle, place)); };
      const u32 n = from_left ? right_degrees_[draw.middle] : left_.degree(draw.middle);
      const double early = n < own ? 0 : (n - own + 1.0) / n;
      const u64 shared = shared_by(end(draw.first), end(draw.second), others, static_cast<u32>(std::min(4 * enough, u64{~0u})));
      found.opened += early * (2 - early);
      found.once += shared >= enough ? early : 0;
      found.twice += shared >= 2 * enough ? early * early : 0;
      found.far += shared >= 4 * enough ? early * early : 0;
    }
    const double all = std::max(static_cast<double>(draws.size()), 1.0);
    return {found.opened / all, found.once / all, found.twice / all, found.far / all};
  }

 private:
  static constexpr u32 kMost = 16'384;  // three lists a path have slots, whose numbers have 16 bits

  /// A vertex, and the places of two of its neighbours.
  struct Draw {
    u32 middle, first, second;
  };

  u32 neighbour(u32 u, u32 place) const { return static_cast<u32>(left_.row[left_.start[u] + place]); }
  Span list_of(u32 v) const { return {members_.data() + starts_[slot_of_[v] - 1], members_.data() + starts_[slot_of_[v]]}; }

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
    slot_of_[v] = static_cast<std::uint16_t>(starts_.size());
    is_wanted_[v / 64] |= u64{1} << v % 64;
    starts_.push_back(starts_.back() + right_degrees_[v]);
  }
  /// Fills the lists that are wanted.
  void gather() {
    if (starts_.size() == 1) return;
    members_.resize(starts_.back());
    std::vector<usize> next(starts_.begin(), starts_.end());
    constexpr usize kBlock = 4096;
    std::vector<u32> found(kBlock);  // places among the edges of a block
    std::int32_t u = 0;
    for (usize first = 0; first < left_.n_edges(); first += kBlock) {
      const std::int32_t* const block = left_.row + first;
      const u32 size = static_cast<u32>(std::min(kBlock, left_.n_edges() - first));
      usize n = 0;
      for (u32 i = 0; i < size; ++i) {  // without a branch on what it is, which cannot be foretold
        const u32 v = static_cast<u32>(block[i]);
        found[n] = i;
        n += is_wanted_[v / 64] >> v % 64 & 1;
      }
      for (usize i = 0; i < n; ++i) {
        while (left_.start[u + 1] <= static_cast<std::int64_t>(first + found[i])) ++u;
        members_[next[slot_of_[static_cast<u32>(block[found[i]])] - 1u]++] = u;
      }
    }
  }
  /// How many numbers are in both, or at least `many`; fewer than `few`, where there are no more.
  u32 shared_by(Span a, Span b, u32 few, u32 many) {
    if (a.size() > b.size()) std::swap(a, b);
    if (a.size() < few) return 0;
    u32 n = 0;
    if (b.size() < kFarLonger * a.size()) {  // a piece at a time, without branches, which cannot be foretold
      for (const std::int32_t *x = a.begin(), *y = b.begin(); x != a.end() && n < many;) {
        const std::int32_t* const x_end = a.end() - x < kPiece ? a.end() : x + kPiece;
        const std::int32_t* const y_end = std::upper_bound(y, b.end(), x_end[-1]);
        for (const std::int32_t* of = y; of != y_end; ++of) is_end_[static_cast<u32>(*of)] = 1;
        for (; x != x_end; ++x) n += is_end_[static_cast<u32>(*x)];
        for (; y != y_end; ++y) is_end_[static_cast<u32>(*y)] = 0;
      }
      return n;
    }
    for (const std::int32_t *x = a.begin(), *y = b.begin(); x != a.end() && n < many && n + (a.end() - x) >= few; ++x) {
      std::ptrdiff_t step = 1;
      while (step < b.end() - y && y[step] <= *x) step *= 2;
      y = std::lower_bound(y, std::min(y + step, b.end()), *x);
      if (y == b.end()) break;
      n += *x == *y;
    }
    return n;
  }

  static constexpr usize kFarLonger = 16;  // so many steps of two lists take as long as to look up one
  static constexpr std::ptrdiff_t kPiece = 256;
  const Rows left_;
  std::vector<u32> right_degrees_;
  u64 from_left_ = 0, from_right_ = 0;  // paths
  std::vector<Draw> draws_[2];
  std::vector<std::uint16_t> slot_of_;  // of right vertices: which list is theirs, from 1 on
  std::vector<u64> is_wanted_;          // a bit for each of them: few enough for the nearest cache
  std::vector<usize> starts_;           // of the lists
  Ids members_;
  std::vector<std::uint8_t> is_end_;    // of either side
};

}  // namespace bicliq
