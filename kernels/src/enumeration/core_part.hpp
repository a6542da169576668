// core_part.hpp: the part of a graph that can hold bicliques of least sizes, as a graph of its own.
//
// Left vertices need `least_left` neighbours, right ones `least_right`; whoever has fewer is left
// out, again and again until nothing changes or little is gained. Bicliques of these sizes, and
// which of them are maximal, stay what they are. O(edges that are left) a round.
#pragma once

#include "graphs/passes.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

struct CorePart {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<u32> left, right;  // numbers of the vertices in the graph that it is a part of

  u32 n_left() const { return static_cast<u32>(left.size()); }
  u32 n_right() const { return static_cast<u32>(right.size()); }
  /// The same with the numbers of the graph that its own graph is a part of.
  void number_by(const CorePart& whole) {
    for (u32& u : left) u = whole.left[u];
    for (u32& v : right) v = whole.right[v];
  }
};

/// How many vertices of a side have at least so many neighbours.
class Degrees {
 public:
  explicit Degrees(const std::vector<u32>& degrees) {
    for (u32 d : degrees) largest_ = std::max(largest_, d);
    n_.assign(usize{largest_} + 2, 0);
    for (u32 d : degrees) ++n_[d];
    for (u32 d = largest_; d-- > 0;) n_[d] += n_[d + 1];
  }
  u32 largest() const { return largest_; }
  u32 at_least(u32 degree) const { return degree > largest_ ? 0 : n_[degree]; }

 private:
  u32 largest_ = 0;
  std::vector<u32> n_;
};

inline std::vector<u32> left_degrees(const std::int64_t* indptr, u32 n_left) {
  std::vector<u32> degrees(n_left);
  for (u32 u = 0; u < n_left; ++u) degrees[u] = static_cast<u32>(indptr[u + 1] - indptr[u]);
  return degrees;
}
inline std::vector<u32> right_degrees(const std::int64_t* indptr, const std::int32_t* indices, u32 n_left, u32 n_right) {
  std::vector<u32> degrees(n_right, 0);
  for (std::int64_t e = 0; e < indptr[n_left]; ++e) ++degrees[static_cast<u32>(indices[e])];
  return degrees;
}

/// `left` are the degrees of the left vertices; `check` may end it by an exception.
template <class Check>
CorePart core_part(const std::int64_t* indptr, const std::int32_t* indices, const std::vector<u32>& left, u32 n_right,
                   u32 least_left, u32 least_right, const Check& check) {
  constexpr u32 kMostRounds = 16;
  CorePart part;
  std::vector<u32> right(n_right, 0);  // degrees
  const auto stays = [&](u32 v) { return right[v] && right[v] >= least_right; };
  for (u32 u = 0; u < left.size(); ++u) {
    if (!left[u] || left[u] < least_left) continue;
    part.left.push_back(u);
    for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) ++right[static_cast<u32>(indices[e])];
  }
  usize before = part.left.size() + 1;
  for (u32 round = 0; round < kMostRounds && part.left.size() < before; ++round) {
    check();
    before = part.left.size();
    usize kept = 0;
    for (u32 u : part.left) {
      u32 degree = 0;
      for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) degree += stays(static_cast<u32>(indices[e]));
      if (degree && degree >= least_left)
        part.left[kept++] = u;
      else
        for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) --right[static_cast<u32>(indices[e])];
    }
    part.left.resize(kept);
  }
  std::vector<u32> number(right.size());
  for (u32 v = 0; v < right.size(); ++v) {
    number[v] = part.n_right();
    if (stays(v)) part.right.push_back(v);
  }
  part.indptr.assign(1, 0);
  for (u32 u : part.left) {
    for (std::int64_t e = indptr[u]; e < indptr[u + 1]; ++e) {
      const u32 v = static_cast<u32>(indices[e]);
      if (stays(v)) part.indices.push_back(static_cast<std::int32_t>(number[v]));
    }
    part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
  }
  return part;
}

}  // namespace bicliq
