// components.hpp: which vertices of a bipartite graph are connected.
//
// What it does: gives each vertex the number of the first vertex that it is connected with, left
// before right. Input: rows of the left side, in any order. Method: a forest in which every vertex
// hangs below a smaller one; an edge joins the two trees of its ends, and halves the ways up that
// it takes. Rows are visited in their order, so the trees that remain stay flat. Cost: about one
// step up an edge, and 4 bytes a vertex. Papers: Tarjan, van Leeuwen, Worst-case analysis of set
// union algorithms, 1984 (path halving); Patwary, Blair, Manne, Experiments on union-find
// algorithms for the disjoint-set data structure, 2010 (linking by index).
#pragma once

#include "graphs/csr.hpp"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace bicliq {

class Forest {
 public:
  explicit Forest(std::size_t n) : above_(n) { std::iota(above_.begin(), above_.end(), 0u); }

  u32 top(u32 v) {
    while (above_[v] != v) v = above_[v] = above_[above_[v]];
    return v;
  }
  /// Joins two trees, given by their tops; returns the top of both.
  u32 join(u32 a, u32 b) {
    const u32 least = a < b ? a : b;
    above_[a] = above_[b] = least;
    return least;
  }
  std::vector<u32> take() { return std::move(above_); }

 private:
  std::vector<u32> above_;
};

/// The first vertex of each vertex's component; right vertices follow the left ones, and there are
/// less than 2^32 of both. `check` is called now and then, and may end it by an exception.
template <class Check>
std::vector<u32> first_of_component(const Rows& rows, u32 n_right, const Check& check) {
  const u32 n_left = static_cast<u32>(rows.n), n = n_left + n_right;
  Forest forest(n);
  each_vertex(n_left, check, [&](u32 u) {
    u32 top = forest.top(u);
    for (std::int32_t v : rows[static_cast<std::int32_t>(u)]) {
      const u32 other = forest.top(n_left + static_cast<u32>(v));
      if (other != top) top = forest.join(top, other);
    }
  });
  std::vector<u32> found = forest.take();
  each_vertex(n, check, [&](u32 v) { found[v] = found[found[v]]; });  // smaller ones are done
  return found;
}

}  // namespace bicliq
