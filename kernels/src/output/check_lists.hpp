// check_lists.hpp: lists of ids looked at once: what they hash to, and whether they are ascending.
//
// Where there are more ids than labels, each label is mixed once instead of at each id.
//
// Cost: O(ids).
#pragma once

#include "lanes/hash.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace bicliq {

/// A side's list column, and the 64-bit hash of each label; without hashes, an id is its own.
class SideLists {
 public:
  SideLists(const i32* offsets, const i32* ids, std::size_t n_lists, const u64* label_hashes, std::size_t n_labels, u64 seed)
      : offsets_(offsets), ids_(ids), label_hashes_(label_hashes), seed_(seed) {
    if (!label_hashes || !n_lists) return;
    const auto range = std::minmax_element(ids + offsets[0], ids + offsets[n_lists]);
    const std::size_t n = static_cast<std::size_t>(offsets[n_lists] - offsets[0]);
    if (n && (*range.first < 0 || static_cast<std::size_t>(*range.second) >= n_labels))
      throw std::invalid_argument("a biclique holds an id that no vertex of the graph has");
    if (n < n_labels) return;
    mixed_.resize(n_labels);
    std::transform(label_hashes, label_hashes + n_labels, mixed_.begin(), [seed](u64 hash) { return vertex_hash(hash, seed); });
  }
  /// The sum of a list's hashes; `ascending` becomes false where it is not strictly so.
  u64 sum(std::size_t list, bool& ascending) const {
    const i32 *const first = ids_ + offsets_[list], *const last = ids_ + offsets_[list + 1];
    for (const i32* id = first; id < last; ++id) ascending &= id == first || id[-1] < *id;
    if (!mixed_.empty()) return sum_of(first, last, [this](i32 id) { return mixed_[static_cast<u32>(id)]; });
    if (label_hashes_) return sum_of(first, last, [this](i32 id) { return vertex_hash(label_hashes_[id], seed_); });
    return sum_of(first, last, [this](i32 id) { return vertex_hash(static_cast<u64>(std::int64_t{id}), seed_); });
  }

 private:
  template <class F>
  static u64 sum_of(const i32* first, const i32* last, F hash) {
    u64 sum = 0;
    for (; first < last; ++first) sum += hash(*first);
    return sum;
  }
  const i32 *offsets_, *ids_;
  const u64* label_hashes_;
  u64 seed_;
  std::vector<u64> mixed_;  // hashes of vertices
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
