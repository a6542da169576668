// csr.hpp: a graph as rows: the view, the owner, and the rows of the other side.
//
// Rows of n vertices are where each begins, and their entries, ascending without repetition. What
// Python gives is seen by `Rows`; what is made here is owned by a `Csr`, whose numbers are as wide
// as its users need. The rows of the other side are gathered by a counting sort (`Scatter`): two
// passes over the edges.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bicliq {

// ---- Long loops over a graph that look around now and then, so that a run can be stopped
// in the midst of one.
//
// `check` is called every so many steps, a few times in 10 ms, and ends a loop by an exception.

template <class Check, class F>
inline void pass(std::uint64_t n, std::uint64_t steps_a_check, const Check& check, F f) {
  for (std::uint64_t i = 0; i < n;) {
    check();
    for (const std::uint64_t end = n - i < steps_a_check ? n : i + steps_a_check; i < end; ++i) f(i);
  }
}
/// f(first, last) for pieces of n steps.
template <class Check, class F>
inline void each_piece(std::size_t n, const Check& check, F f) {
  constexpr std::size_t kPiece = 1 << 20;
  for (std::size_t i = 0; i < n; i += kPiece) {
    check();
    f(i, n - i < kPiece ? n : i + kPiece);
  }
}
/// f(v) for every vertex, which may look at its edges.
template <class Check, class F>
inline void each_vertex(std::uint32_t n, const Check& check, F f) {
  pass(n, 1 << 12, check, [&](std::uint64_t v) { f(static_cast<std::uint32_t>(v)); });
}
/// f(e) for every edge.
template <class Check, class F>
inline void each_edge(std::uint64_t n, const Check& check, F f) {
  pass(n, 1 << 20, check, f);
}

// ---- Entries put in the places of their keys, in the order in which they come.
//
// What it does: the last pass of a counting sort: value after value is written where the next one
// of its key belongs. Method: written one by one, the entries of a large graph would each miss the
// cache and the table of pages (400 ns an entry on a virtual machine with pages of 4 KiB, 55 so).
// So some of them at a time are first sorted by ranges of keys. Cost: 16 bytes for each of a 64th
// of the entries.

template <class Place, class Value>
class Scatter {
 public:
  /// `at` holds the next place of each of n keys, and is moved on; `to` has room for all entries.
  Scatter(Place* at, std::size_t n, Value* to, std::size_t n_entries) : at_(at), to_(to), shift_(0), most_(n_entries / kBlocks) {
    while ((n >> shift_) >= kRanges) ++shift_;
    waiting_.reserve(most_);
    sorted_.resize(most_);
  }
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;
  ~Scatter() { write(); }

  void add(std::uint32_t key, Value value) {
    waiting_.push_back({key, value});
    if (waiting_.size() == most_) write();
  }

 private:
  static constexpr std::size_t kRanges = 256, kBlocks = 64;
  struct Entry {
    std::uint32_t key;
    Value value;
  };

  void write() {
    std::size_t place[kRanges + 1] = {};
    for (const Entry& entry : waiting_) ++place[(entry.key >> shift_) + 1];
    for (std::size_t range = 0; range < kRanges; ++range) place[range + 1] += place[range];
    for (const Entry& entry : waiting_) sorted_[place[entry.key >> shift_]++] = entry;
    for (std::size_t i = 0; i < waiting_.size(); ++i) to_[at_[sorted_[i].key]++] = sorted_[i].value;
    waiting_.clear();
  }

  Place* at_;
  Value* to_;
  unsigned shift_;
  const std::size_t most_;  // entries that wait
  std::vector<Entry> waiting_, sorted_;
};

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
  Start* const at = to.start.data() + 1;  // moved on to where each row ends
  Id* const row = to.row.data();
  if (constexpr std::size_t kFew = std::size_t{1} << 22; to.row.size() < kFew) {
    each([=](u32 key, Id entry) { row[at[key]++] = entry; });
  } else {
    Scatter scatter(at, n, row, to.row.size());
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
