// core_parts.hpp: the parts of a graph that can hold bicliques of least sizes, as graphs of their
// own.
//
// Left vertices need so many neighbours, right ones so many; whoever has fewer is left out, again
// and again until nothing changes or little is gained. Bicliques of these sizes, and which of them
// are maximal, stay what they are.
//
// The graph is turned round once, and its vertices are sorted by degree: O(edges + vertices). A
// part then begins at the side whose degrees leave fewer edges: O(edges that are left there) a
// round, and a look at the degrees of the other side. (peeling.hpp looks at every edge once.)
#pragma once

#include "graphs/graph.hpp"
#include "graphs/rows.hpp"

namespace bicliq::best {

struct CorePart : OwnRows {
  std::vector<u32> left, right;  // numbers of the vertices in the graph that it is a part of

  u32 n_left() const { return static_cast<u32>(left.size()); }
  u32 n_right() const { return static_cast<u32>(right.size()); }
};

/// Vertices of a side by their degrees.
class DegreeOrder {
 public:
  explicit DegreeOrder(const Rows& rows) : degrees_(rows.size()) {
    for (usize v = 0; v < rows.size(); ++v) degrees_[v] = static_cast<u32>(rows[static_cast<std::int32_t>(v)].size());
    order_ = ascending_degree(degrees_);
    edges_before_.assign(1, 0);
    edges_before_.reserve(order_.size() + 1);
    for (u32 v : order_) edges_before_.push_back(edges_before_.back() + degrees_[v]);
  }
  u32 size() const { return static_cast<u32>(order_.size()); }
  /// All of them by ascending degree, equal ones by their numbers: the search order.
  const std::vector<u32>& all() const { return order_; }
  u32 degree(u32 v) const { return degrees_[v]; }
  u32 largest() const { return order_.empty() ? 0 : degrees_[order_.back()]; }
  /// How many vertices have at least so many neighbours, and how many edges these have.
  u32 at_least(u32 degree) const { return static_cast<u32>(order_.size() - place_of(degree)); }
  u64 edges_at_least(u32 degree) const { return edges_before_.back() - edges_before_[place_of(degree)]; }
  /// Those vertices, ascending.
  std::vector<u32> vertices_at_least(u32 degree) const {
    std::vector<u32> vertices(order_.begin() + static_cast<std::ptrdiff_t>(place_of(degree)), order_.end());
    if (vertices.size() < order_.size() / kFew) {
      std::sort(vertices.begin(), vertices.end());
      return vertices;
    }
    vertices.clear();
    for (u32 v = 0; v < degrees_.size(); ++v)
      if (degrees_[v] >= degree) vertices.push_back(v);
    return vertices;
  }

 private:
  static constexpr usize kFew = 16;  // a sixteenth of the vertices is sorted sooner than found among all

  usize place_of(u32 degree) const {
    const auto fewer = [this](u32 v, u32 d) { return degrees_[v] < d; };
    return static_cast<usize>(std::lower_bound(order_.begin(), order_.end(), degree, fewer) - order_.begin());
  }

  std::vector<u32> degrees_, order_;
  std::vector<u64> edges_before_;  // of the first vertices in that order
};

class CoreParts {
 public:
  /// `left` are the rows of the left side, which the caller keeps. `check` may end it by an
  /// exception.
  template <class Check>
  CoreParts(const Rows& left, u32 n_right, const Check& check)
      : left_(left), turned_(transposed(left, n_right, [](std::int32_t) { return true; }, check)), by_left_(left_),
        by_right_(turned_.view()) {}

  const Rows& left() const { return left_; }
  Rows right() const { return turned_.view(); }
  const DegreeOrder& by_left() const { return by_left_; }
  const DegreeOrder& by_right() const { return by_right_; }

  /// The part for these least numbers of neighbours; empty where no vertex has as many. `check` may
  /// end it by an exception.
  template <class Check>
  CorePart part(u32 least_left, u32 least_right, const Check& check) {
    least_left = std::max(least_left, 1u), least_right = std::max(least_right, 1u);
    std::vector<u32> left, right;
    if (by_left_.edges_at_least(least_left) <= by_right_.edges_at_least(least_right)) {
      left = by_left_.vertices_at_least(least_left);
      right = peel(left_, left, least_left, by_right_.size(), least_right, check);
    } else {
      right = by_right_.vertices_at_least(least_right);
      left = peel(turned_.view(), right, least_right, by_left_.size(), least_left, check);
    }
    return joined(std::move(left), std::move(right));
  }

 private:
  static constexpr std::int32_t kOut = -1;
  static constexpr usize kLittle = 16, kMany = 4096;  // less than a sixteenth of so many is not worth another round

  /// Leaves out of `near` who has too few neighbours of those that are left, again and again until
  /// that leaves out nobody, or little of many; returns who is left of the other side.
  template <class Check>
  std::vector<u32> peel(const Rows& rows, std::vector<u32>& near, u32 least_near, u32 n_far, u32 least_far, const Check& check) {
    degree_.assign(n_far, 0);
    for (u32 v : near)
      for (std::int32_t w : rows[static_cast<std::int32_t>(v)]) ++degree_[static_cast<u32>(w)];
    for (bool again = true; again;) {
      check();
      const usize n = near.size();
      const auto falls = [&](u32 v) {
        const Span row = rows[static_cast<std::int32_t>(v)];
        u32 degree = 0;
        for (std::int32_t w : row) degree += degree_[static_cast<u32>(w)] >= least_far;
        if (degree >= least_near) return false;
        for (std::int32_t w : row) --degree_[static_cast<u32>(w)];
        return true;
      };
      near.erase(std::remove_if(near.begin(), near.end(), falls), near.end());
      again = n - near.size() > (n < kMany ? 0 : n / kLittle);
    }
    std::vector<u32> far;
    for (u32 w = 0; w < n_far; ++w)
      if (degree_[w] >= least_far) far.push_back(w);
    return far;
  }
  CorePart joined(std::vector<u32> left, std::vector<u32> right) {
    CorePart part;
    number_.assign(by_right_.size(), kOut);
    for (usize i = 0; i < right.size(); ++i) number_[right[i]] = static_cast<std::int32_t>(i);
    part.start.reserve(left.size() + 1);
    part.start.push_back(0);
    for (u32 u : left) {
      for (std::int32_t v : left_[static_cast<std::int32_t>(u)])
        if (number_[static_cast<u32>(v)] != kOut) part.row.push_back(number_[static_cast<u32>(v)]);
      part.start.push_back(static_cast<std::int64_t>(part.row.size()));
    }
    part.left = std::move(left);
    part.right = std::move(right);
    return part;
  }

  const Rows left_;
  const OwnRows turned_;
  const DegreeOrder by_left_, by_right_;
  std::vector<u32> degree_;           // of the side that a part does not begin at
  std::vector<std::int32_t> number_;  // of right vertices in a part
};

}  // namespace bicliq::best
