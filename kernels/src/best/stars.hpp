// stars.hpp: maximal bicliques of a vertex and all its neighbours.
//
// What it finds: of the vertices of one side those whose stars promise most, and with each the
// vertices that have all its neighbours as well. In graphs with hubs many of the best answers are
// such stars, and they are had before anything is searched.
//
// Cost: a step a vertex, and the neighbours of the few that are looked at.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/types.hpp"

#include <functional>
#include <utility>

namespace bicliq::best {

/// What all of some vertices have, ascending; there is such a neighbour.
inline Ids all_have(const Rows& rows, const Ids& vertices) {
  const auto fewer = [&](std::int32_t a, std::int32_t b) { return rows[a].size() < rows[b].size(); };
  const Span shortest = rows[*std::min_element(vertices.begin(), vertices.end(), fewer)];
  Ids all(shortest.begin(), shortest.end());
  for (std::int32_t vertex : vertices) {
    if (all.size() == 1) break;
    const Span around = rows[vertex];
    all.erase(std::remove_if(all.begin(), all.end(), [&](std::int32_t v) { return !around.has(v); }), all.end());
  }
  return all;
}

/// Calls f(centres, leaves) for up to n stars; `promises` holds what each vertex of the centres'
/// side promises.
template <class F>
void each_star(const Rows& centres, const Rows& leaves, const std::vector<i64>& promises, usize n, const F& f) {
  std::vector<std::pair<i64, std::int32_t>> order;
  for (usize v = 0; v < promises.size(); ++v) order.push_back({promises[v], static_cast<std::int32_t>(v)});
  n = std::min(n, order.size());
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(), std::greater<>());
  for (usize i = 0; i < n; ++i) {
    const Span own = centres[order[i].second];
    if (!own.size()) continue;
    Ids ends(own.begin(), own.end());
    f(all_have(leaves, ends), ends);
  }
}

/// Stars of both sides: calls f(left, right) for up to n of each.
template <class F>
void each_star_of_both(const Rows& left, const std::vector<i64>& left_promises, const Rows& right,
                       const std::vector<i64>& right_promises, usize n, const F& f) {
  each_star(left, right, left_promises, n, f);
  each_star(right, left, right_promises, n, [&f](const Ids& centres, const Ids& leaves) { f(leaves, centres); });
}

}  // namespace bicliq::best
