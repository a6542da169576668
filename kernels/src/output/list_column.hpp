// list_column.hpp: a column of lists as Arrow lays it out: where each begins, and the ids, or what
// stands for them.
#pragma once

#include "lanes/types.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace bicliq {

struct ListColumn {
  const i32 *offsets, *ids;
  const std::uint16_t* places = nullptr;      // instead of ids,
  const std::vector<i32>* entries = nullptr;  // among these
  i32 length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
  std::vector<i32> lengths(std::size_t n) const {
    std::vector<i32> found(n);
    for (std::size_t i = 0; i < n; ++i) found[i] = length(i);
    return found;
  }
};

// ---- Lists of ids looked at once: what they hash to, and whether they are ascending.
//
// Where there are more ids than labels, each label is mixed once instead of at each id; so it is
// for all row groups of a file together.
//
// Cost: O(ids).

/// The 64-bit hash of each label of a side, mixed once where many lists hold it. Without hashes, an
/// id is its own.
class LabelHashes {
 public:
  /// For lists of these ids.
  LabelHashes(const i32* ids, std::size_t n_ids, const u64* hashes, std::size_t n_labels, u64 seed) : hashes_(hashes), seed_(seed) {
    if (!hashes || !n_ids) return;
    u32 most = 0;  // one below 0 is larger than any other
    for (std::size_t i = 0; i < n_ids; ++i) most = std::max(most, static_cast<u32>(ids[i]));
    if (most >= n_labels)
      throw std::invalid_argument("a biclique holds an id that no vertex of the graph has");
    if (n_ids < n_labels) return;
    mixed_.resize(n_labels);
    std::transform(hashes, hashes + n_labels, mixed_.begin(), [seed](u64 hash) { return vertex_hash(hash, seed); });
  }
  u64 sum(const i32* first, const i32* last) const {
    if (!mixed_.empty()) return sum_of(first, last, [this](i32 id) { return mixed_[static_cast<u32>(id)]; });
    if (hashes_) return sum_of(first, last, [this](i32 id) { return vertex_hash(hashes_[id], seed_); });
    return sum_of(first, last, [this](i32 id) { return vertex_hash(static_cast<u64>(std::int64_t{id}), seed_); });
  }

 private:
  template <class F>
  static u64 sum_of(const i32* first, const i32* last, F hash) {
    u64 sum = 0;
    for (; first < last; ++first) sum += hash(*first);
    return sum;
  }
  const u64* hashes_;
  u64 seed_;
  std::vector<u64> mixed_;
};

/// A side's list column, and the hashes of its ids, which the caller keeps.
class SideLists {
 public:
  SideLists(const i32* offsets, const i32* ids, const LabelHashes& hashes) : offsets_(offsets), ids_(ids), hashes_(hashes) {}
  /// The sum of a list's hashes; `ascending` becomes false where it is not strictly so.
  u64 sum(std::size_t list, bool& ascending) const {
    const i32 *const first = ids_ + offsets_[list], *const last = ids_ + offsets_[list + 1];
    for (const i32* id = first; id < last; ++id) ascending &= id == first || id[-1] < *id;
    return hashes_.sum(first, last);
  }

 private:
  const i32 *offsets_, *ids_;
  const LabelHashes& hashes_;
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
