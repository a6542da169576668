// tree_queue.hpp: trees (trees.hpp) on their way from the workers of a pivot search to a device.
//
// A worker fills a parcel of its own and hands it over when it is full. Parcels that nobody fetches
// are few: a worker that finds the queue full keeps its trees and counts them itself, so that
// neither machine waits for the other.
#pragma once

#include "counting/trees.hpp"

#include <deque>
#include <mutex>
#include <vector>

namespace bicliq {

using TreeParcel = std::vector<u32>;

class TreeQueue {
 public:
  /// Trees may have so many optional vertices a side, candidates included.
  explicit TreeQueue(u32 most_optional) : most_optional_(most_optional) {}
  u32 most_optional() const { return most_optional_; }

  /// False where there is no room: then the parcel stays as it is.
  bool hand_over(TreeParcel& parcel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parcels_.size() >= kMostParcels) return false;
    parcels_.push_back(std::move(parcel));
    parcel = TreeParcel();
    return true;
  }
  /// One parcel; empty where there is none.
  TreeParcel take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parcels_.empty()) return {};
    TreeParcel parcel = std::move(parcels_.front());
    parcels_.pop_front();
    return parcel;
  }

 private:
  static constexpr std::size_t kMostParcels = 32;  // 75 MiB
  const u32 most_optional_;
  std::mutex mutex_;
  std::deque<TreeParcel> parcels_;
};

/// One worker's end of the queue.
class TreeGiver {
 public:
  TreeGiver() = default;
  explicit TreeGiver(TreeQueue* queue) : queue_(queue) {}

  /// `masks` are those of the first side's n[0] candidates. False where this tree must be counted
  /// here.
  bool give(const u32* masks, const u32 n[2], const u32 held[2], const u32 optional[2]) {
    if (!queue_ || n[0] < kWorthGiving || n[1] < kWorthGiving) return false;
    for (u32 a : {0u, 1u})
      if (optional[a] + n[a] > queue_->most_optional()) return false;
    if (parcel_.size() == kParcelTrees * kTreeWords && !queue_->hand_over(parcel_)) return false;
    if (parcel_.empty()) parcel_.reserve(kParcelTrees * kTreeWords);
    const std::size_t at = parcel_.size();
    parcel_.resize(at + kTreeWords, 0);
    parcel_[at] = n[0] | n[1] << 8 | optional[0] << 16 | optional[1] << 24;
    parcel_[at + 1] = held[0];
    parcel_[at + 2] = held[1];
    std::copy(masks, masks + n[0], parcel_.data() + at + kTreeMasks);
    return true;
  }
  /// What is left at the end.
  TreeParcel take() { return std::move(parcel_); }

 private:
  static constexpr u32 kWorthGiving = 4;  // candidates a side
  static constexpr std::size_t kParcelTrees = std::size_t{1} << 14;
  TreeQueue* queue_ = nullptr;
  TreeParcel parcel_;
};

}  // namespace bicliq
