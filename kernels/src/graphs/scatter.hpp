// scatter.hpp: entries put in the places of their keys, in the order in which they come.
//
// What it does: the last pass of a counting sort: value after value is written where the next one
// of its key belongs. Method: written one by one, the entries of a large graph would each miss the
// cache and the table of pages (400 ns an entry on a virtual machine with pages of 4 KiB, 55 so).
// So some of them at a time are first sorted by ranges of keys. Cost: 16 bytes for each of a 64th
// of the entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bicliq {

template <class Place, class Value>
class Scatter {
 public:
  /// `at` holds the next place of each of n keys, and is moved on; `to` has room for all entries.
  Scatter(Place* at, std::size_t n, Value* to, std::size_t n_entries)
      : at_(at), to_(to), shift_(0), most_(n_entries < kFew ? 0 : n_entries / kBlocks) {
    while ((n >> shift_) >= kRanges) ++shift_;
    waiting_.reserve(most_);
    sorted_.resize(most_);
  }
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;
  ~Scatter() { write(); }

  void add(std::uint32_t key, Value value) {
    if (most_ == 0) {
      to_[at_[key]++] = value;
      return;
    }
    waiting_.push_back({key, value});
    if (waiting_.size() == most_) write();
  }

 private:
  static constexpr std::size_t kRanges = 256, kBlocks = 64, kFew = std::size_t{1} << 22;
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
  const std::size_t most_;  // entries that wait; none where they are few
  std::vector<Entry> waiting_, sorted_;
};

}  // namespace bicliq
