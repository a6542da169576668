// stars.hpp: maximal bicliques of a vertex and all its neighbours, by surprise.
//
// What it finds: of the vertices of one side those whose neighbours can be worth most, and with
// each the vertices that have all its neighbours as well. In graphs with hubs many of the best
// answers are such stars, and they are had before anything is searched.
//
// Cost: a step a vertex, and the neighbours of the few that are looked at.
#pragma once

#include "graphs/rows.hpp"

#include <functional>
#include <utility>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// A side of the graph: its vertices' neighbours on the other one, and what each vertex adds.
struct Side {
  Rows rows;
  const std::vector<i64>& terms;
};

/// Calls f(centres, leaves, sum of the centres' terms, sum of the leaves') for up to n stars.
template <class F>
void each_star(const Side& centres, const Side& leaves, usize n, const F& f) {
  if (leaves.terms.empty()) return;
  const i64 best_leaf = *std::max_element(leaves.terms.begin(), leaves.terms.end());
  std::vector<std::pair<i64, std::int32_t>> promises;  // in graphs with hubs, the hubs
  for (usize v = 0; v < centres.rows.size(); ++v) {
    const auto centre = static_cast<std::int32_t>(v);
    promises.push_back({static_cast<i64>(centres.rows[centre].size()) * (centres.terms[v] + best_leaf), centre});
  }
  n = std::min(n, promises.size());
  std::nth_element(promises.begin(), promises.begin() + static_cast<std::ptrdiff_t>(n), promises.end(), std::greater<>());
  for (usize i = 0; i < n; ++i) {
    const Span own = centres.rows[promises[i].second];
    if (!own.size()) continue;
    const auto fewer = [&](std::int32_t a, std::int32_t b) { return leaves.rows[a].size() < leaves.rows[b].size(); };
    const Span nearest = leaves.rows[*std::min_element(own.begin(), own.end(), fewer)];
    Ids all(nearest.begin(), nearest.end());
    for (const std::int32_t* leaf = own.begin(); leaf != own.end() && all.size() > 1; ++leaf) {
      const Span around = leaves.rows[*leaf];
      all.erase(std::remove_if(all.begin(), all.end(), [&](std::int32_t v) { return !around.has(v); }), all.end());
    }
    i64 of_centres = 0, of_leaves = 0;
    for (std::int32_t v : all) of_centres += centres.terms[static_cast<usize>(v)];
    for (std::int32_t w : own) of_leaves += leaves.terms[static_cast<usize>(w)];
    f(all, Ids(own.begin(), own.end()), of_centres, of_leaves);
  }
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
