// check_lists.hpp: lists of ids looked at once: what they hash to, and whether they are ascending.
//
// Cost: O(ids).
#pragma once

#include "lanes/hash.hpp"

#include <stdexcept>

namespace bicliq {

/// A side's list column, and the 64-bit hash of each label; without hashes, an id is its own.
struct SideLists {
  const i32 *offsets, *ids;
  const u64* label_hashes;
  std::size_t n_labels;
  u64 seed;

  /// The sum of a list's hashes; `ascending` becomes false where it is not strictly so.
  u64 sum(std::size_t list, bool& ascending) const {
    u64 sum = 0;
    bool falls = false;
    for (i32 at = offsets[list], end = offsets[list + 1], first = at; at < end; ++at) {
      const u32 id = static_cast<u32>(ids[at]);
      if (label_hashes && id >= n_labels) throw std::invalid_argument("a biclique holds an id that no vertex of the graph has");
      sum += vertex_hash(label_hashes ? label_hashes[id] : static_cast<u64>(static_cast<std::int64_t>(ids[at])), seed);
      falls |= at > first && ids[at] <= ids[at - 1];
    }
    ascending &= !falls;
    return sum;
  }
};

/// What is found of some bicliques.
struct ListCheck {
  u64 digest = 0;
  u64 n_unordered = 0;  // bicliques with a side that is not ascending
};

inline ListCheck check_lists(const SideLists& left, const SideLists& right, std::size_t n) {
  ListCheck found;
  for (std::size_t i = 0; i < n; ++i) {
    bool ascending = true;
    const u64 left_sum = left.sum(i, ascending);
    found.digest += biclique_hash(left_sum, right.sum(i, ascending));
    found.n_unordered += !ascending;
  }
  return found;
}

}  // namespace bicliq
