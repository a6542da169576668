// check_lists.hpp: lists of ids looked at once: what they hash to, and whether they are ascending.
//
// Cost: O(ids). A hash takes longer than reading it from a table that fits in a cache, so the
// hashes of small ids are computed once.
#pragma once

#include "lanes/hash.hpp"

#include <vector>

namespace bicliq {

class ListHashes {
 public:
  /// Hashes of the vertices of one side.
  explicit ListHashes(u64 seed) : seed_(seed), small_(kSmall) {
    for (u32 id = 0; id < kSmall; ++id) small_[id] = vertex_hash(id, seed);
  }
  /// The sum of a list's hashes; `ascending` becomes false where it is not strictly so.
  u64 sum(const i32* ids, std::size_t n, bool& ascending) const {
    u64 sum = 0;
    bool falls = false;
    for (std::size_t i = 0; i < n; ++i) {
      sum += static_cast<u32>(ids[i]) < kSmall ? small_[static_cast<u32>(ids[i])] : vertex_hash(ids[i], seed_);
      falls |= i > 0 && ids[i] <= ids[i - 1];
    }
    ascending &= !falls;
    return sum;
  }

 private:
  static constexpr u32 kSmall = 1 << 14;
  const u64 seed_;
  std::vector<u64> small_;
};

/// What is found of some bicliques.
struct ListCheck {
  u64 digest = 0;
  u64 n_unordered = 0;  // bicliques with a side that is not ascending
};

inline ListCheck check_lists(const i32* left_offsets, const i32* left, const i32* right_offsets, const i32* right, std::size_t n) {
  static const ListHashes left_hashes(kLeftSeed), right_hashes(kRightSeed);
  ListCheck found;
  for (std::size_t i = 0; i < n; ++i) {
    bool ascending = true;
    const auto side = [&](const ListHashes& hashes, const i32* offsets, const i32* ids) {
      return hashes.sum(ids + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]), ascending);
    };
    const u64 left_sum = side(left_hashes, left_offsets, left);
    found.digest += biclique_hash(left_sum, side(right_hashes, right_offsets, right));
    found.n_unordered += !ascending;
  }
  return found;
}

}  // namespace bicliq
