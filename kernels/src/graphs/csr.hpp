// csr.hpp: a graph as rows: the view, the owner, and the rows of the other side.
//
// Rows of n vertices are where each begins, and their entries, ascending without repetition. What
// Python gives is seen by `Rows`; what is made here is owned by a `Csr`, whose numbers are as wide
// as its users need. The rows of the other side are gathered by a counting sort (scatter.hpp): two
// passes over the edges.
#pragma once

#include "graphs/passes.hpp"
#include "graphs/scatter.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bicliq {

using Ids = std::vector<std::int32_t>;

/// A sorted list of vertices that somebody else keeps.
struct Span {
  const std::int32_t *first, *last;
  const std::int32_t* begin() const { return first; }
  const std::int32_t* end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
  bool has(std::int32_t v) const { return std::binary_search(first, last, v); }
};

inline Span span_of(const Ids& ids) { return {ids.data(), ids.data() + ids.size()}; }

/// Rows of n vertices that somebody else keeps.
struct Rows {
  const std::int64_t* start;
  const std::int32_t* row;
  std::size_t n;
  Span operator[](std::int32_t v) const { return {row + start[v], row + start[v + 1]}; }
  std::size_t size() const { return n; }
  std::size_t n_edges() const { return static_cast<std::size_t>(start[n]); }
  u32 degree(u32 v) const { return static_cast<u32>(start[v + std::size_t{1}] - start[v]); }
  /// Asks memory for where a row begins, and for its first entries.
  void fetch_start(std::int32_t v) const { __builtin_prefetch(start + v); }
  void fetch(std::int32_t v) const { __builtin_prefetch(row + start[v]); }
};

/// Rows that are kept here.
template <class Start, class Id>
struct Csr {
  std::vector<Start> start;
  std::vector<Id> row;
  Rows view() const { return {start.data(), row.data(), start.size() - 1}; }
};
using OwnRows = Csr<std::int64_t, std::int32_t>;

/// Rows of n keys, of which each has `degree(key)` entries: `each(f)` tells them as f(key, entry),
/// and a row has its own in their order.
template <class Start, class Id, class Degree, class Each>
Csr<Start, Id> gathered(std::size_t n, const Degree& degree, const Each& each) {
  Csr<Start, Id> to{std::vector<Start>(n + 1, 0), {}};
  Start end = 0;
  for (std::size_t key = 0; key < n; ++key) to.start[key + 1] = end, end += static_cast<Start>(degree(key));
  to.row.resize(static_cast<std::size_t>(end));
  {
    Scatter scatter(to.start.data() + 1, n, to.row.data(), to.row.size());  // moves each start on to its row's end
    each([&](u32 key, Id entry) { scatter.add(key, entry); });
  }
  return to;
}

inline std::vector<u32> degrees(const Rows& rows) {
  std::vector<u32> degree(rows.n);
  for (std::size_t v = 0; v < rows.n; ++v) degree[v] = rows.degree(static_cast<u32>(v));
  return degree;
}
/// Those of the n vertices of the other side.
template <class Check>
std::vector<u32> other_degrees(const Rows& rows, std::size_t n, const Check& check) {
  std::vector<u32> degree(n, 0);
  each_edge(rows.n_edges(), check, [&](u64 e) { ++degree[static_cast<u32>(rows.row[e])]; });
  return degree;
}

/// Rows of the n vertices of the other side; `wanted(x)` says whose are made, all others are empty.
/// `check` is called now and then, and may end it by an exception.
template <class Wanted, class Check>
OwnRows transposed(const Rows& rows, std::size_t n, const Wanted& wanted, const Check& check) {
  const std::vector<u32> degree = other_degrees(rows, n, check);
  const auto of = [&](std::size_t x) { return wanted(static_cast<std::int32_t>(x)) ? degree[x] : 0; };
  return gathered<std::int64_t, std::int32_t>(n, of, [&](const auto& tell) {
    each_vertex(static_cast<u32>(rows.size()), check, [&](u32 u) {
      for (std::int32_t x : rows[static_cast<std::int32_t>(u)])
        if (wanted(x)) tell(static_cast<u32>(x), static_cast<std::int32_t>(u));
    });
  });
}
template <class Check>
OwnRows transposed(const Rows& rows, std::size_t n, const Check& check) {
  return transposed(rows, n, [](std::int32_t) { return true; }, check);
}
/// The same, whose entries are the places of rows in an order. A row that is not in it is left out.
template <class Check>
OwnRows transposed_in_order(const Rows& rows, std::size_t n, const std::int32_t* order, std::size_t n_order, const Check& check) {
  const auto each = [&](const auto& tell) {
    each_vertex(static_cast<u32>(n_order), check, [&](u32 i) {
      for (std::int32_t x : rows[order[i]]) tell(static_cast<u32>(x), static_cast<std::int32_t>(i));
    });
  };
  std::vector<u32> degree(n, 0);
  each([&](u32 x, std::int32_t) { ++degree[x]; });
  return gathered<std::int64_t, std::int32_t>(n, [&](std::size_t x) { return degree[x]; }, each);
}

/// Vertices in ascending order of degree, ties by number (a counting sort).
inline std::vector<u32> ascending_degree(const std::vector<u32>& degree) {
  u32 largest = 0;
  for (u32 d : degree) largest = d > largest ? d : largest;
  std::vector<u32> place(std::size_t{largest} + 2, 0), order(degree.size());
  for (u32 d : degree) ++place[std::size_t{d} + 1];
  for (std::size_t d = 1; d < place.size(); ++d) place[d] += place[d - 1];
  for (u32 v = 0; v < degree.size(); ++v) order[place[degree[v]]++] = v;
  return order;
}

}  // namespace bicliq
