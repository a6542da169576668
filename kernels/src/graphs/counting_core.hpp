// counting_core.hpp: the part of a bipartite graph that can hold a (p,q)-biclique, ready for
// counting on either side.
//
// A left vertex needs q neighbours and a right vertex p; whoever has fewer leaves (peeling.hpp),
// until a pass removes less than a fiftieth of the edges (the rest is harmless: fewer vertices is a
// matter of speed, not of exactness). Then both sides are numbered by ascending degree, unless the
// order of a side is prescribed, and both adjacencies are gathered. Either side can then hold the
// roots without further work. Time O(edges) a pass, memory 8 bytes an edge.
#pragma once

#include "graphs/peeling.hpp"

#include <numeric>
#include <utility>

namespace bicliq {

struct CountSide : Csr<u64, u32> {
  std::uint32_t n = 0;
  std::vector<std::uint32_t> vertex;  // number in the input

  std::uint32_t degree(std::uint32_t v) const { return static_cast<std::uint32_t>(start[v + 1] - start[v]); }
  const std::uint32_t* begin(std::uint32_t v) const { return row.data() + start[v]; }
  const std::uint32_t* end(std::uint32_t v) const { return row.data() + start[v + 1]; }
  std::uint32_t largest_degree() const {
    std::uint32_t most = 0;
    for (std::uint32_t v = 0; v < n; ++v) most = std::max(most, degree(v));
    return most;
  }
};

struct CountGraph {
  CountSide left, right;
};

/// Numbers 0…n - 1 by ascending degree, or in their order; those without neighbours are left out.
inline std::vector<u32> order_of(const std::vector<u32>& degree, bool keep_order) {
  std::vector<u32> order;
  if (keep_order) {
    order.resize(degree.size());
    std::iota(order.begin(), order.end(), 0u);
  } else {
    order = ascending_degree(degree);
  }
  order.erase(std::remove_if(order.begin(), order.end(), [&](u32 v) { return degree[v] == 0; }), order.end());
  return order;
}

/// The core of a CSR matrix of the left side, both sides numbered as counting wants them. `check`
/// is called now and then, and may end it by an exception.
template <class Check>
CountGraph prepare_core(const Rows& rows, u32 n_right, u32 p, u32 q, bool keep_left_order, bool keep_right_order, const Check& check) {
  constexpr std::int64_t kLittle = 50;
  std::vector<std::int32_t> row(rows.n_edges());
  const Peeled core = peel(rows, row.data(), n_right, q, p, kLittle, check);
  const Rows left{core.start.data(), row.data(), rows.n};
  CountGraph g;
  g.left.vertex = order_of(degrees(left), keep_left_order);
  g.right.vertex = order_of(other_degrees(left, n_right, check), keep_right_order);
  const auto count = [](CountSide& side, Csr<u64, u32> rows) {
    side.n = static_cast<u32>(side.vertex.size());
    side.start = std::move(rows.start), side.row = std::move(rows.row);
  };
  std::vector<u32> place(n_right);
  for (u32 c = 0; c < g.right.vertex.size(); ++c) place[g.right.vertex[c]] = c;
  count(g.right, gathered<u64, u32>(g.right.vertex.size(), [&](const auto& tell) {
    each_vertex(static_cast<u32>(g.left.vertex.size()), check, [&](u32 r) {
      for (std::int32_t v : left[static_cast<std::int32_t>(g.left.vertex[r])]) tell(place[static_cast<u32>(v)], r);
    });
  }));
  row = {};
  count(g.left, gathered<u64, u32>(g.left.vertex.size(), [&](const auto& tell) {
    each_vertex(g.right.n, check, [&](u32 c) {
      for (const u32* r = g.right.begin(c); r != g.right.end(c); ++r) tell(*r, c);
    });
  }));
  return g;
}

}  // namespace bicliq
