// biclique_set.hpp: bicliques that are found again by their smaller sides.
//
// What it answers: is a biclique in a set? A maximal biclique is told by either of its sides, since
// the graph gives the other; so the smaller one is kept, and compared id by id. Who asks with a
// biclique of another state of the graph, where that side has another partner, is told that it is
// there: see `pipeline.store.versions` for why that is what a reader wants. Sizes and root tell
// most bicliques apart before a list is looked at (`may_hold`).
//
// Method: one array of places, open addressing; a place holds the number of a list and bits of its
// hash, so that lists are compared where these agree alone. Before it, a bit for each kind: sizes
// and root. Cost: O(ids) to fill; a look is a read of memory or two, for which the caller may ask
// beforehand. Memory: the ids, and some 40 to 56 bytes a list.
#pragma once

#include "lanes/hash.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bicliq {

class BicliqueSet {
 public:
  /// A side of a biclique, and whether it is the left one.
  struct Side {
    const i32 *first, *last;
    bool is_left;
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };

  std::size_t size() const { return start_.size() - 1; }

  static u64 hash_of(const Side& side) {
    u64 sum = 0;
    for (const i32* id = side.first; id < side.last; ++id) sum += vertex_hash(static_cast<u32>(*id), kLeftSeed);
    return mix(sum ^ (side.is_left ? kLeftSeed : kRightSeed));
  }
  /// Asks memory for what a look with this hash begins with.
  void fetch(u64 hash) const {
    if (size()) __builtin_prefetch(places_.data() + (hash & (places_.size() - 1)));
  }

  void reserve(std::size_t n) {
    if (2 * (size() + n) > places_.size()) grow(2 * (size() + n));
  }
  void add(const Side& side, u64 hash, i32 n_left, i32 n_right, i32 root) {
    reserve(1);
    kinds_.push_back(kind_of(n_left, n_right, root));
    mark(kinds_.back());
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at]; at = (at + 1) & (places_.size() - 1))
      if (is_at(places_[at], hash, side)) return;
    places_[at] = entry(hash, size());
    ids_.insert(ids_.end(), side.first, side.last);
    start_.push_back(ids_.size() << 1 | u64{side.is_left});
  }

  /// Is there one of these sizes and this root? Seldom said where there is none.
  bool may_hold(i32 n_left, i32 n_right, i32 root) const {
    const u64 kind = kind_of(n_left, n_right, root);
    return size() && marks_[kind >> 6 & (marks_.size() - 1)] >> (kind & 63) & 1;
  }

  bool holds(const Side& side, u64 hash) const {
    if (!size()) return false;
    for (std::size_t at = hash & (places_.size() - 1); places_[at]; at = (at + 1) & (places_.size() - 1))
      if (is_at(places_[at], hash, side)) return true;
    return false;
  }

 private:
  static constexpr unsigned kNumberBits = 40;  // of a place; the others are the hash's
  static constexpr std::size_t kFewest = 64;

  static u64 kind_of(i32 n_left, i32 n_right, i32 root) {
    return mix(mix(u64{static_cast<u32>(n_left)} << 32 | static_cast<u32>(n_right)) + static_cast<u32>(root));
  }
  static u64 entry(u64 hash, std::size_t number) { return hash >> kNumberBits << kNumberBits | (number + 1); }

  bool is_at(u64 place, u64 hash, const Side& side) const {
    if ((place ^ hash) >> kNumberBits) return false;
    const std::size_t i = (place & ((u64{1} << kNumberBits) - 1)) - 1;
    const u64 first = start_[i] >> 1, last = start_[i + 1] >> 1;
    return (start_[i + 1] & 1) == u64{side.is_left} && last - first == side.size() &&
           std::equal(side.first, side.last, ids_.begin() + static_cast<std::ptrdiff_t>(first));
  }
  void grow(std::size_t least) {
    std::size_t n = kFewest;
    while (n < least) n *= 2;
    places_.assign(n, 0);
    marks_.assign(n / 8, 0);
    for (std::size_t i = 0; i < size(); ++i) {
      const i32* const ids = ids_.data();
      const u64 hash = hash_of({ids + (start_[i] >> 1), ids + (start_[i + 1] >> 1), (start_[i + 1] & 1) != 0});
      std::size_t at = hash & (n - 1);
      while (places_[at]) at = (at + 1) & (n - 1);
      places_[at] = entry(hash, i);
    }
    for (const u64 kind : kinds_) mark(kind);
  }
  void mark(u64 kind) { marks_[kind >> 6 & (marks_.size() - 1)] |= u64{1} << (kind & 63); }

  std::vector<i32> ids_;
  std::vector<u64> start_{0};  // where the next list begins, above a bit: is this one of the left side?
  std::vector<u64> kinds_, places_, marks_;
};

}  // namespace bicliq
