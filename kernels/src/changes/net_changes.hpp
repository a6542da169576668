// net_changes.hpp: what several changes change together.
//
// Input: bicliques that came (+1) or went (-1), batch after batch, in the order in which they did.
// One comes and goes by turns, so its comings less its goings are -1, 0 or 1. What is told: of each
// row, whether it is the first of a biclique whose sum is not 0. Equal ones are found by a hash and
// compared list by list. Cost: O(ids), and a read or two for each row. Memory: a byte a row, and
// some 70 bytes for each different biclique; the lists stay where they are.
#pragma once

#include "changes/found_changes.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bicliq {

class NetChanges {
 public:
  /// Rows of a batch; `side(i)` are the two sides of the i-th, which must stay where they are.
  template <class Sides>
  void add(std::size_t n, std::int32_t sign, const Sides& sides) {
    counts_.emplace_back(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const auto [left, right] = sides(i);
      Entry& one = entry(left, right);
      if (!one.batch) one.batch = static_cast<u32>(counts_.size()), one.row = static_cast<u32>(i);
      one.net += sign;
    }
  }
  /// Of each row of each batch: is it kept?
  std::vector<std::vector<std::uint8_t>> take() {
    for (const Entry& one : entries_)
      if (one.net) counts_[one.batch - 1][one.row] = 1;
    return std::exchange(counts_, {});
  }

 private:
  struct Entry {
    u64 hash;
    Span left, right;
    u32 batch, row;  // the first one's; batches count from 1
    std::int32_t net;
  };
  static bool same(Span a, Span b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }

  Entry& entry(Span left, Span right) {
    if (2 * (entries_.size() + 1) > places_.size()) grow();
    const u64 hash = hash_of(left, right);
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at]; at = (at + 1) & (places_.size() - 1)) {
      Entry& one = entries_[places_[at] - 1];
      if (one.hash == hash && same(one.left, left) && same(one.right, right)) return one;
    }
    entries_.push_back({hash, left, right, 0, 0, 0});
    places_[at] = static_cast<u32>(entries_.size());
    return entries_.back();
  }
  void grow() {
    places_.assign(std::max<std::size_t>(2 * places_.size(), 64), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = entries_[i].hash & (places_.size() - 1);
      while (places_[at]) at = (at + 1) & (places_.size() - 1);
      places_[at] = static_cast<u32>(i + 1);
    }
  }

  std::vector<Entry> entries_;
  std::vector<u32> places_;  // one more than the number of an entry; 0: nothing is there
  std::vector<std::vector<std::uint8_t>> counts_;
};

}  // namespace bicliq
