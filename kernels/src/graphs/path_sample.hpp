// path_sample.hpp: paths of two edges between the vertices of either side: how many there are, and
// how much the ends of some of them have in common.
//
// What it finds: for each side the number of paths from its vertices (the way there and back is
// one); and where asked, of a seeded sample of those that have two ends, what a search for
// bicliques with least sizes does with them (`Crowd`). Input: ascending rows of the left side,
// without repetition.
//
// Method: from the left side, pairs of random edges that share their right vertex are as likely as
// paths are many, and the ends are rows. From the right side a path is drawn by its middle, in
// proportion to the pairs of its neighbours, then two of these, whose lists come from a pass over
// the edges, or over some blocks of them where many rows are asked for. Cost: for n paths from the
// left side about edges · sqrt(2 n / paths) random edges and n pairs of rows; from the right side
// that pass and n pairs of lists.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <cmath>
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
    for (u32 u = 0; u < left_.n; ++u) from_right_ += u64{left_.degree(u)} * left_.degree(u);
    for (const u32 d : right_degrees_) from_left_ += u64{d} * d;
  }

  u64 from_left() const { return from_left_; }
  u64 from_right() const { return from_right_; }

  /// What becomes of paths from a side where a biclique has at least so many of the other side's
  /// vertices, and of its own. About `n` are drawn, at most `kMost`.
  Crowd crowd(bool from_left, u32 others, u32 own, u32 n, u64 seed) {
    random_ = seed;
    ends_.clear();
    is_end_.assign(std::max<usize>(left_.size(), right_degrees_.size()), 0);
    const u64 pairs = (from_left ? from_left_ : from_right_) - left_.n_edges();
    u64 rows_a_seen = 1;  // so many rows stand behind each that is seen
    if (pairs && from_left) draw_edges(std::min(n, kMost), pairs);
    if (pairs && !from_left) draw_middles(std::min(n, kMost), pairs), rows_a_seen = gather(others);
    const u64 enough = (others + rows_a_seen - 1) / rows_a_seen;

    Crowd found{};
    for (const Ends& ends : ends_) {
      const auto list = [&](u32 end) { return from_left ? left_[static_cast<std::int32_t>(end)] : list_of(end); };
      const double degree = ends.middle_degree, early = degree < own ? 0 : (degree - own + 1) / degree;
      const u64 shared = shared_by(list(ends.first), list(ends.second), static_cast<u32>(enough), static_cast<u32>(std::min(4 * enough, u64{~0u})));
      found.opened += early * (2 - early);
      found.once += shared >= enough ? early : 0;
      found.twice += shared >= 2 * enough ? early * early : 0;
      found.far += shared >= 4 * enough ? early * early : 0;
    }
    const double all = std::max(static_cast<double>(ends_.size()), 1.0);
    return {found.opened / all, found.once / all, found.twice / all, found.far / all};
  }

 private:
  static constexpr u32 kMost = 16'384;  // two lists a path have slots, whose numbers have 16 bits

  struct Ends {
    u32 first, second, middle_degree;
  };

  u64 random(u64 below) { return mix(random_ += kLeftSeed) % below; }
  u32 neighbour(u32 u, u32 place) const { return static_cast<u32>(left_.row[left_.start[u] + place]); }
  /// In which row an edge is.
  u32 row_of(u64 place) const {
    const std::int64_t* at = left_.start;
    for (usize n = left_.n; n > 1; n -= n / 2) at += static_cast<u64>(at[n / 2]) <= place ? n / 2 : 0;  // without a branch
    return static_cast<u32>(at - left_.start);
  }
  Span list_of(u32 v) const { return {members_.data() + starts_[slot_of_[v] - 1u], members_.data() + stops_[slot_of_[v] - 1u]}; }

  /// Paths from left vertices; `pairs` of edges share a right one.
  void draw_edges(u32 n, u64 pairs) {
    const double n_edges = static_cast<double>(left_.n_edges()), wanted = n_edges * std::sqrt(2.0 * n / static_cast<double>(pairs));
    struct Edge {
      u32 left;
      std::int32_t before;  // the last one that has this right vertex, or -1
    };
    std::vector<Edge> edges(static_cast<usize>(std::min(wanted, n_edges / kLeastPass + kFewEdges)));
    std::vector<std::int32_t> last(right_degrees_.size(), -1);
    for (Edge& edge : edges) {
      const u64 place = random(left_.n_edges());
      const u32 v = static_cast<u32>(left_.row[place]);
      edge = {row_of(place), last[v]};
      for (std::int32_t i = edge.before; i >= 0; i = edges[static_cast<u32>(i)].before)
        if (const u32 u = edges[static_cast<u32>(i)].left; u != edge.left) ends_.push_back({u, edge.left, right_degrees_[v]});
      last[v] = static_cast<std::int32_t>(&edge - edges.data());
    }
  }
  /// Paths from right vertices; `pairs` of neighbours of left vertices.
  void draw_middles(u32 n, u64 pairs) {
    slot_of_.assign(right_degrees_.size(), 0);
    is_wanted_.assign(right_degrees_.size() / 64 + 1, 0);
    starts_.assign(1, 0);
    const auto piece = [=](u64 i) { return pairs / n * i + pairs % n * i / n; };  // where the i-th of n begins
    std::vector<u64> places(n);                                                   // one in each
    for (u32 i = 0; i < n; ++i) places[i] = piece(i) + random(std::max(piece(i + u64{1}) - piece(i), u64{1}));
    u64 upto = 0;
    auto place = places.begin();
    for (u32 u = 0; place != places.end(); ++u) {
      const u64 d = left_.degree(u);
      for (upto += d * (d - (d > 0)); place != places.end() && *place < upto; ++place) {
        const auto first = static_cast<u32>(random(d)), other = static_cast<u32>(random(d - 1));
        ends_.push_back({neighbour(u, first), neighbour(u, other + (other >= first)), static_cast<u32>(d)});
        want(ends_.back().first), want(ends_.back().second);
      }
    }
  }
  void want(u32 v) {
    if (slot_of_[v]) return;
    slot_of_[v] = static_cast<std::uint16_t>(starts_.size());
    is_wanted_[v / 64] |= u64{1} << v % 64;
    starts_.push_back(starts_.back() + right_degrees_[v]);
  }
  /// Fills the lists that are wanted from every n-th block of edges, and returns n. It is above one
  /// where many rows are asked for: `kSeen` of them in a part say as much as all of them in all.
  u64 gather(u32 others) {
    const usize n_edges = left_.n_edges(), step = std::clamp<usize>(n_edges / kBlock / kBlocks, 1, std::max(others / kSeen, 1u));
    members_.resize(starts_.back());
    stops_ = starts_;
    u32 found[kBlock];  // places among the edges of a block
    for (usize first = random(step) * kBlock; first < n_edges; first += step * kBlock) {
      const std::int32_t* const block = left_.row + first;
      const u32 size = static_cast<u32>(std::min(kBlock, n_edges - first));
      usize n = 0;
      for (u32 i = 0; i < size; ++i) {  // without a branch on what it is, which cannot be foretold
        const u32 v = static_cast<u32>(block[i]);
        found[n] = i;
        n += is_wanted_[v / 64] >> v % 64 & 1;
      }
      u32 u = row_of(first);
      for (usize i = 0; i < n; ++i) {
        while (left_.start[u + 1] <= static_cast<std::int64_t>(first + found[i])) ++u;
        members_[stops_[slot_of_[static_cast<u32>(block[found[i]])] - 1u]++] = static_cast<std::int32_t>(u);
      }
    }
    return step;
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

  static constexpr double kLeastPass = 16, kFewEdges = 1024;  // a random edge takes as long as so many of a pass
  static constexpr usize kBlock = 1024, kBlocks = 32;  // so many blocks at least are looked at
  static constexpr u32 kSeen = 8;
  static constexpr usize kFarLonger = 16;  // so many steps of two lists take as long as to look up one
  static constexpr std::ptrdiff_t kPiece = 256;
  const Rows left_;
  std::vector<u32> right_degrees_;
  u64 from_left_ = 0, from_right_ = 0;  // paths
  u64 random_ = 0;
  std::vector<Ends> ends_;
  std::vector<std::uint16_t> slot_of_;  // of right vertices: which list is theirs, from 1 on
  std::vector<u64> is_wanted_;          // a bit for each of them: few enough for the nearest cache
  std::vector<usize> starts_, stops_;   // of the lists
  Ids members_;
  std::vector<std::uint8_t> is_end_;    // of either side
};

}  // namespace bicliq
