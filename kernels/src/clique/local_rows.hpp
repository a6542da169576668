// local_rows.hpp: the adjacency of a local graph as rows of bits, as wide as they need to be.
//
// For what is done once, before a search and where it begins; the search itself has sets of a fixed
// width (bitset.hpp).
#pragma once

#include "graphs/csr.hpp"

#include <numeric>

namespace bicliq {

// ---- Core numbers, the degeneracy order of an undirected graph, and what of a root's
// neighbourhood can still hold a larger clique.
//
// Input: a symmetric CSR without self-loops. Method: vertices of least degree are removed first, by
// buckets (Batagelj and Zaversnik 2003). A clique of s vertices lies in the (s - 1)-core, and
// wholly among the first of its vertices in this order and that vertex's later neighbours; so only
// the lists of later neighbours are kept, each no longer than the degeneracy. Linear in vertices
// and edges.

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

class LocalRows {
 public:
  LocalRows(Neighbourhood& around, const std::vector<u32>& places)
      : n_(static_cast<u32>(places.size())), words_((n_ + 63) / 64), bits_(usize{n_} * words_, 0) {
    around.each_edge(places, [&](u32 i, u32 j) {
      tie(i, j);
      tie(j, i);
    });
  }
  /// write(v, row) sets the words of v's neighbours, which are zero.
  template <class Write>
  LocalRows(u32 n, Write write) : n_(n), words_((n + 63) / 64), bits_(usize{n} * words_, 0) {
    for (u32 v = 0; v < n; ++v) write(v, row(v));
  }
  /// The same graph with its vertices in another order.
  LocalRows in_order(const std::vector<u32>& order) const {
    std::vector<u32> rank(n_);
    for (u32 i = 0; i < n_; ++i) rank[order[i]] = i;
    return LocalRows(n_, [&](u32 i, u64* row) {
      each_neighbour(order[i], [&](u32 u) { row[rank[u] / 64] |= u64{1} << rank[u] % 64; });
    });
  }
  u32 n() const { return n_; }
  u32 words() const { return words_; }
  const u64* row(u32 v) const { return bits_.data() + usize{v} * words_; }
  bool tied(u32 u, u32 v) const { return row(u)[v / 64] >> v % 64 & 1; }
  u32 degree(u32 v) const {
    return std::accumulate(row(v), row(v) + words_, 0u, [](u32 n, u64 word) { return n + static_cast<u32>(__builtin_popcountll(word)); });
  }
  template <class F>
  void each_neighbour(u32 v, F f) const {
    for (u32 i = 0; i < words_; ++i)
      for (u64 word = row(v)[i]; word; word &= word - 1) f(64 * i + static_cast<u32>(__builtin_ctzll(word)));
  }
  /// f(u) for the vertices that v is not tied to.
  template <class F>
  void each_non_neighbour(u32 v, F f) const {
    for (u32 i = 0; i < words_; ++i) {
      u64 word = ~row(v)[i];
      if (i == v / 64) word &= ~(u64{1} << v % 64);
      if (i + 1 == words_ && n_ % 64) word &= (u64{1} << n_ % 64) - 1;
      for (; word; word &= word - 1) f(64 * i + static_cast<u32>(__builtin_ctzll(word)));
    }
  }

 private:
  u64* row(u32 v) { return bits_.data() + usize{v} * words_; }
  void tie(u32 u, u32 v) { bits_[usize{u} * words_ + v / 64] |= u64{1} << v % 64; }

  u32 n_, words_;
  std::vector<u64> bits_;
};

}  // namespace bicliq
