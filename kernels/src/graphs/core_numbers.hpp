// core_numbers.hpp: core numbers, the degeneracy order of an undirected graph, and what of a root's
// neighbourhood can still hold a larger clique.
//
// Input: a symmetric CSR without self-loops. Method: vertices of least degree are removed first, by
// buckets (Batagelj and Zaversnik 2003). A clique of s vertices lies in the (s - 1)-core, and
// wholly among the first of its vertices in this order and that vertex's later neighbours; so only
// the lists of later neighbours are kept, each no longer than the degeneracy. Linear in vertices
// and edges.
#pragma once

#include "graphs/csr.hpp"

#include <numeric>

namespace bicliq {

/// The graph in degeneracy order: a vertex is its place in that order, so core numbers never fall.
struct Cores {
  std::vector<u32> id, number;  // of each place: the vertex of the input, and its core number
  std::vector<u64> start;
  std::vector<u32> later;  // neighbours of place p that come later: later[start[p] … start[p + 1])
  u32 degeneracy = 0;

  u32 n() const { return static_cast<u32>(id.size()); }
  /// The first place whose core number is at least so much: it and all after it are that core.
  u32 first_of_core(u32 least) const { return static_cast<u32>(std::lower_bound(number.begin(), number.end(), least) - number.begin()); }
  /// All places from one on, the densest core first.
  std::vector<u32> places_from(u32 first) const {
    std::vector<u32> places(n() - first);
    std::iota(places.rbegin(), places.rend(), first);
    return places;
  }
  /// How many of the pairs among these places are edges; there are at least two.
  double density(u32 first) const {
    const double n_left = n() - first;
    return static_cast<double>(later.size() - start[first]) / (n_left * (n_left - 1) / 2);
  }
};

/// `check` is called now and then, and may end it by an exception.
template <class Check>
Cores find_cores(const Rows& graph, const Check& check) {
  const auto n = static_cast<u32>(graph.n);
  Cores cores;
  std::vector<u32> degree = degrees(graph), place(n);
  cores.id.resize(n);
  const u32 largest = n ? *std::max_element(degree.begin(), degree.end()) : 0;
  std::vector<u32> bucket(usize{largest} + 2, 0);  // where the vertices of each degree begin
  for (u32 v = 0; v < n; ++v) ++bucket[degree[v] + 1];
  std::partial_sum(bucket.begin(), bucket.end(), bucket.begin());
  std::vector<u32> next(bucket);
  for (u32 v = 0; v < n; ++v) cores.id[place[v] = next[degree[v]]++] = v;
  each_vertex(n, check, [&](u32 i) {
    const u32 v = cores.id[i];
    for (const i32 other_end : graph[static_cast<i32>(v)]) {
      const u32 w = static_cast<u32>(other_end);
      if (degree[w] <= degree[v]) continue;
      const u32 to = bucket[degree[w]]++, other = cores.id[to];
      std::swap(cores.id[to], cores.id[place[w]]);
      place[other] = place[w];
      place[w] = to;
      --degree[w];
    }
  });
  cores.number.resize(n);
  cores.start.assign(usize{n} + 1, 0);
  for (u32 i = 0; i < n; ++i) cores.number[i] = degree[cores.id[i]];
  if (n) cores.degeneracy = cores.number.back();
  cores.later.reserve(graph.n_edges() / 2);
  each_vertex(n, check, [&](u32 i) {
    const u32 v = cores.id[i];
    for (const i32 w : graph[static_cast<i32>(v)])
      if (const u32 p = place[static_cast<u32>(w)]; p > i) cores.later.push_back(p);
    cores.start[i + 1] = cores.later.size();
  });
  return cores;
}

/// For the places from `first` on: how many colours their later neighbours have, when each place,
/// from the last down, takes the first colour that none of them has. A clique that begins at a
/// place has at most one vertex more. Never above the core number; linear in the edges.
template <class Check>
std::vector<u32> colours_behind(const Cores& cores, u32 first, const Check& check) {
  std::vector<u32> colour(cores.n()), behind(cores.n(), 0), seen_by(usize{cores.degeneracy} + 2, ~0u);
  each_vertex(cores.n() - first, check, [&](u32 i) {
    const u32 p = cores.n() - 1 - i;
    for (u64 e = cores.start[p]; e < cores.start[p + 1]; ++e) {
      u32& by = seen_by[colour[cores.later[e]]];
      behind[p] += by != p;
      by = p;
    }
    while (seen_by[colour[p]] == p) ++colour[p];
  });
  return behind;
}

/// The neighbourhoods of roots, reduced to what a clique of a wanted size can use. One a worker.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Cores& cores) : cores_(cores), local_(cores.n(), kOutside) {}

  /// The later neighbours of a root that have wanted - 2 neighbours among themselves, again and
  /// again until nothing changes; empty where fewer than wanted - 1 are left.
  std::vector<u32> filter(u32 root, u32 wanted) {
    std::vector<u32> found(cores_.later.begin() + static_cast<i64>(cores_.start[root]),
                           cores_.later.begin() + static_cast<i64>(cores_.start[root + 1]));
    while (found.size() + 1 >= wanted) {
      std::vector<u32> degree(found.size(), 0);
      each_edge(found, [&](u32 i, u32 j) { ++degree[i], ++degree[j]; });
      usize kept = 0;
      for (usize i = 0; i < found.size(); ++i)
        if (degree[i] + 2 >= wanted) found[kept++] = found[i];
      if (kept == found.size()) return found;
      found.resize(kept);
    }
    return {};
  }

  /// f(i, j) for the edges within `vertices`, once each.
  template <class F>
  void each_edge(const std::vector<u32>& vertices, F f) {
    for (u32 i = 0; i < vertices.size(); ++i) local_[vertices[i]] = i;
    for (u32 i = 0; i < vertices.size(); ++i)
      for (u64 e = cores_.start[vertices[i]]; e < cores_.start[vertices[i] + 1]; ++e)
        if (const u32 j = local_[cores_.later[e]]; j != kOutside) f(i, j);
    for (u32 v : vertices) local_[v] = kOutside;
  }

 private:
  static constexpr u32 kOutside = ~0u;
  const Cores& cores_;
  std::vector<u32> local_;  // the number of a place in the list at hand
};

}  // namespace bicliq
