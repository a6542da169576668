// local_rows.hpp: the adjacency of a local graph as rows of bits, as wide as they need to be.
//
// For what is done once, before a search and where it begins; the search itself has sets of a fixed
// width (bitset.hpp).
#pragma once

#include "graphs/core_numbers.hpp"

namespace bicliq {

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
