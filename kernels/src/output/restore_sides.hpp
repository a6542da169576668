// restore_sides.hpp: the larger side of bicliques, from the smaller one and the graph.
//
// What it finds: the right side of a maximal biclique is the set of all common neighbours of its
// left side, and the other way round (it is a closure). So of each biclique the smaller side is
// enough; its larger one is the intersection of as many rows of the graph.
//
// Input: the CSR matrix of the left side, rows ascending; lists of the smaller sides, and the
// numbers of vertices of both.
//
// Method: the longest rows are held as bit sets, too. Where all rows of a biclique have at least a
// 32nd of the other side, their sets are intersected, 512 bits at a time. Otherwise the row of
// least degree is narrowed down by the others: by their bit sets, by merging, or by searching in
// those that are much longer. How many ids there will be is known, so rows that come after they are
// reached need not be looked at.
//
// Cost: at most a lookup of each id of the shortest row in all others. Memory: the graph, and for
// the bit sets of each side 64 MiB or once more the graph.
#pragma once

#include "graphs/rows.hpp"
#include "output/row_group.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace bicliq {

/// Adjacency lists of a side, and bit sets of the long ones.
class SideRows {
 public:
  SideRows(OwnRows rows, u32 n_others)
      : starts_(std::move(rows.start)), others_(std::move(rows.row)), n_words_((std::size_t{n_others} + 511) / 512 * kBlock) {
    const std::size_t room = std::max(kBitSetBytes, others_.size() * sizeof(i32)) / sizeof(u64);
    const std::size_t n_sets = n_words_ ? std::min(size(), room / n_words_) : 0;
    std::vector<u32> longest(size());
    std::iota(longest.begin(), longest.end(), 0u);
    const auto end_of_sets = longest.begin() + static_cast<std::ptrdiff_t>(n_sets);
    std::nth_element(longest.begin(), end_of_sets, longest.end(), [this](u32 a, u32 b) { return degree(a) > degree(b); });
    bits_.assign(n_sets * n_words_, 0);
    bits_of_.assign(size(), nullptr);
    u64* bits = bits_.data();
    for (std::size_t i = 0; i < n_sets; ++i) {
      const u32 v = longest[i];
      for (const i32* other = begin(v); other != end(v); ++other) bits[*other / 64] |= u64{1} << *other % 64;
      bits_of_[v] = bits;
      bits += n_words_;
    }
  }
  std::size_t size() const { return starts_.size() - 1; }
  std::size_t degree(u32 v) const { return static_cast<std::size_t>(starts_[v + 1] - starts_[v]); }

  /// Writes the common neighbours of some vertices, the first of which has fewest; returns how many
  /// there are. `to` has room for `most`, and no more are written; `found` is memory to work in.
  std::size_t common(const std::vector<u32>& of, i32* to, std::size_t most, std::vector<i32>& found) const {
    if (degree(of[0]) >= 2 * n_words_ && std::all_of(of.begin(), of.end(), [this](u32 v) { return bits_of_[v]; }))
      return common_bits(of, to, most);
    found.assign(begin(of[0]), end(of[0]));
    std::size_t n = found.size();
    for (std::size_t i = 1; i < of.size() && n > most; ++i) n = narrow(found.data(), n, of[i]);
    if (n <= most) std::copy_n(found.data(), n, to);
    return n;
  }

 private:
  static constexpr std::size_t kBlock = 8, kMuchLonger = 16, kBitSetBytes = std::size_t{64} << 20;
  const i32* begin(u32 v) const { return others_.data() + starts_[v]; }
  const i32* end(u32 v) const { return others_.data() + starts_[v + 1]; }

  /// The same where all of them have bit sets.
  std::size_t common_bits(const std::vector<u32>& of, i32* to, std::size_t most) const {
    std::size_t n = 0;
    for (std::size_t first = 0; first < n_words_; first += kBlock) {
      u64 block[kBlock];
      std::copy_n(bits_of_[of[0]] + first, kBlock, block);
      for (std::size_t i = 1; i < of.size(); ++i) {
        const u64* other = bits_of_[of[i]] + first;
        for (std::size_t w = 0; w < kBlock; ++w) block[w] &= other[w];
      }
      u64 any = 0;
      for (const u64 word : block) any |= word;
      for (std::size_t w = any ? 0 : kBlock; w < kBlock; ++w) {
        u64 word = block[w];
        if (n + static_cast<std::size_t>(__builtin_popcountll(word)) > most) return most + 1;
        for (; word; word &= word - 1) to[n++] = static_cast<i32>(64 * (first + w) + static_cast<std::size_t>(__builtin_ctzll(word)));
      }
    }
    return n;
  }
  /// Keeps those of `n` ascending ids that are neighbours of v; returns how many.
  std::size_t narrow(i32* ids, std::size_t n, u32 v) const {
    if (bits_of_[v]) return keep(ids, n, [bits = bits_of_[v]](i32 id) { return bits[id / 64] >> id % 64 & 1; });
    const i32 *at = begin(v), *const last = end(v);
    if (degree(v) / kMuchLonger > n)
      return keep(ids, n, [&](i32 id) {
        at = std::lower_bound(at, last, id);
        return at != last && *at == id;
      });
    return keep(ids, n, [&](i32 id) {
      while (at != last && *at < id) ++at;
      return at != last && *at == id;
    });
  }
  template <class F>
  static std::size_t keep(i32* ids, std::size_t n, F wanted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const i32 id = ids[i];
      ids[kept] = id;
      kept += wanted(id);
    }
    return kept;
  }

  std::vector<i64> starts_;
  std::vector<i32> others_;
  std::size_t n_words_;  // of a bit set
  std::vector<u64> bits_;
  std::vector<const u64*> bits_of_;  // of each vertex, where it has one
};

class SideRestorer {
 public:
  /// The CSR matrix of the left side.
  template <class Check>
  SideRestorer(const Rows& left, u32 n_right, const Check& check)
      : left_({{left.start, left.start + left.n + 1}, {left.row, left.row + left.n_edges()}}, n_right),
        right_(transposed(left, n_right, check), static_cast<u32>(left.n)) {}

  /// Memory to work in, one of each thread.
  struct Room {
    std::vector<u32> given;
    std::vector<i32> found;
  };
  /// Writes the ids of the larger side of the biclique whose smaller one is given.
  void larger(bool left_is_given, const i32* given, std::size_t n, i32* to, std::size_t n_larger, Room& room) const {
    const SideRows& rows = left_is_given ? left_ : right_;
    room.given.assign(given, given + n);
    for (const u32 v : room.given)
      if (v >= rows.size()) throw std::invalid_argument("a biclique holds an id that no vertex of the graph has");
    const auto shorter = [&rows](u32 a, u32 b) { return rows.degree(a) < rows.degree(b); };
    const auto first = room.given.begin(), shortest = first + static_cast<std::ptrdiff_t>(std::min(n, kShortest));
    std::partial_sort(first, shortest, room.given.end(), shorter);
    if (n && rows.common(room.given, to, n_larger, room.found) == n_larger) return;
    throw std::invalid_argument("a biclique of " + std::to_string(n) + " vertices on its smaller side has not " + std::to_string(n_larger) +
                                " on the other one in this graph");
  }

 private:
  static constexpr std::size_t kShortest = 3;  // rows that come first, in the order of their degrees
  const SideRows left_, right_;
};

}  // namespace bicliq
