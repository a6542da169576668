// peeling.hpp: what is left of a graph when vertices of too few edges are taken away, again and
// again, and the paths of two edges from each vertex.
//
// What it does: writes the rows of a core over those of the graph, in their place. Input: rows of
// the left side, and the least degrees of both sides. Method: passes over the rows that are left,
// each of which drops edges to right vertices that have too few, and rows that then have too few
// themselves, whose edges count no more from that moment on; until a pass drops nothing. Cost: the
// edges that are left, a pass, and 8 bytes a right vertex. Papers: Batagelj and Zaversnik, An O(m)
// algorithm for cores decomposition of networks, 2003 (by one vertex at a time); Ding et al.,
// Efficient fault-tolerant group recommendation using alpha-beta-core, 2017.
#pragma once

#include "graphs/passes.hpp"
#include "lanes/types.hpp"

#include <cstdint>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// Rows that may be written over.
struct MutableRows {
  const std::int64_t* start;
  std::int32_t* row;
  u32 n_left, n_right;
};

struct Peeled {
  std::vector<std::int64_t> start;  // of the rows that are left
  std::int64_t rounds = 0;          // passes that dropped something
};

/// `check` is called now and then, and may end it by an exception.
template <class Check>
Peeled peel(const MutableRows& rows, std::int64_t least_left, std::int64_t least_right, const Check& check) {
  Peeled found{std::vector<std::int64_t>(rows.start, rows.start + rows.n_left + 1), 0};
  std::vector<std::int64_t> degree(rows.n_right, 0);
  each_edge(static_cast<u64>(rows.start[rows.n_left]), check, [&](u64 e) { ++degree[static_cast<u32>(rows.row[e])]; });
  for (bool dropped = true; dropped; found.rounds += dropped) {
    dropped = false;
    std::int64_t begin = 0, end = 0;
    each_vertex(rows.n_left, check, [&](u32 u) {
      const std::int64_t last = found.start[u + std::size_t{1}], first = end;
      for (std::int64_t e = begin; e < last; ++e)
        if (degree[static_cast<u32>(rows.row[e])] >= least_right) rows.row[end++] = rows.row[e];
      if (end - first < least_left) {  // the edges of a row that goes are taken from those that stay
        for (std::int64_t e = first; e < end; ++e) --degree[static_cast<u32>(rows.row[e])];
        end = first;
      }
      dropped |= end - first < last - begin;
      begin = last;
      found.start[u + std::size_t{1}] = end;
    });
  }
  return found;
}

/// For each vertex the sum of the degrees of its neighbours.
struct PathCounts {
  std::vector<std::int64_t> left, right;
};

template <class Check>
PathCounts count_paths(const std::int64_t* start, const std::int32_t* row, u32 n_left, u32 n_right, const Check& check) {
  PathCounts found{std::vector<std::int64_t>(n_left, 0), std::vector<std::int64_t>(n_right, 0)};
  std::vector<std::int32_t> degree(n_right, 0);
  each_edge(static_cast<u64>(start[n_left]), check, [&](u64 e) { ++degree[static_cast<u32>(row[e])]; });
  each_vertex(n_left, check, [&](u32 u) {
    const std::int64_t own = start[u + std::size_t{1}] - start[u];
    std::int64_t sum = 0;
    for (std::int64_t e = start[u]; e < start[u + std::size_t{1}]; ++e) {
      sum += degree[static_cast<u32>(row[e])];
      found.right[static_cast<u32>(row[e])] += own;
    }
    found.left[u] = sum;
  });
  return found;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
