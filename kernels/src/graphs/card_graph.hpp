// card_graph.hpp: the graph that a search on a card reads.
//
// Input: a `Graph` (graph.hpp), prepared as for a search on the host. What a card reads beside it
// takes one pass over the edges, in search order: so each row meets its columns one after another.
// 4 bytes an edge, 8 a column.
#pragma once

#include "graphs/graph.hpp"

namespace bicliq {

struct CardGraph {
  Graph graph;
  std::vector<u32> places;  // of each edge of a column: the column's place in the row's list
  std::vector<i64> edges_in_two_steps;  // of each column: the edges of its rows
};

template <class Check>
CardGraph for_card(Graph graph, const Check& check) {
  CardGraph of{std::move(graph), {}, {}};
  const Graph& g = of.graph;
  std::vector<u32> next(g.n_rows, 0);
  of.places.reserve(g.column_rows.size()), of.edges_in_two_steps.reserve(g.n_columns);
  each_vertex(g.n_columns, check, [&](u32 c) {
    i64 edges = 0;
    for (u64 e = g.column_start[c]; e < g.column_start[c + 1]; ++e) {
      const u32 row = g.column_rows[e];
      of.places.push_back(next[row]++);
      edges += g.row_degree(row);
    }
    of.edges_in_two_steps.push_back(edges);
  });
  return of;
}

}  // namespace bicliq
