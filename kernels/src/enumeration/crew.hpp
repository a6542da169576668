// crew.hpp: the workers of one search and the work that they hand to each other.
//
// Roots are taken from a common counter. A worker that finds none waits here; a busy worker looks now and
// then whether somebody waits (`wanted`, two relaxed loads) and gives away half of its shallowest open
// level as a `GivenNode`, which holds all that its search needs. The search has ended when every worker waits.
#pragma once

#include "lanes/pieces.hpp"
#include "enumeration/subtree.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

namespace bicliq {

inline namespace BICLIQ_ISA {

/// A block of memory of its own, for a subtree that is given away.
struct Parcel : Pieces {
  struct Free {
    void operator()(u32* p) const { std::free(p); }
  };
  std::unique_ptr<u32[], Free> block;
  explicit operator bool() const { return block != nullptr; }
};
struct GivenNode {
  Subtree tree;
  Parcel parcel;
};

class Crew {
 public:
  Crew(u32 n_workers, u64 n_roots) : n_workers_(n_workers), n_roots_(n_roots) {}

  /// The next root's place in the order, or nothing when all have been taken.
  std::optional<u64> next_root() {
    if (stopped()) return std::nullopt;
    const u64 i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_roots_) return std::nullopt;
    return i;
  }
  void root_done() { done_.fetch_add(1, std::memory_order_relaxed); }
  u64 roots_done() const { return done_.load(std::memory_order_relaxed); }

  /// Subtrees that a busy worker should give away now.
  u32 wanted() const { return waiting_.load(std::memory_order_relaxed) > queued_.load(std::memory_order_relaxed); }

  static constexpr bool kKeepsGiven = false;  // a parcel is freed when its subtree is done
  using Block = Parcel;
  Block block(usize words) const {
    Block block;
    block.block.reset(static_cast<u32*>(std::aligned_alloc(64, padded(words) * sizeof(u32))));
    if (!block.block) throw std::bad_alloc();
    block.next = block.block.get();
    return block;
  }
  /// Called where a fixed workspace does not suffice; a worker on a CPU has one that grows.
  void overflow() const {}

  void give(Parcel&& parcel, const Subtree& tree) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back({tree, std::move(parcel)});
      queued_.store(static_cast<i64>(queue_.size()), std::memory_order_relaxed);
    }
    wake_.notify_one();
  }

  /// Waits for a given node; nothing when the search has ended.
  std::optional<GivenNode> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    if (waiting_.load(std::memory_order_relaxed) == n_workers_ && queue_.empty()) finish(lock);
    wake_.wait(lock, [&] { return !queue_.empty() || ended_ || stopped(); });
    if (queue_.empty() || stopped()) return std::nullopt;
    GivenNode node = std::move(queue_.front());
    queue_.pop_front();
    queued_.store(static_cast<i64>(queue_.size()), std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return node;
  }

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_.store(true, std::memory_order_relaxed);
    }
    wake_.notify_all();
  }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  void finish(std::unique_lock<std::mutex>& lock) {
    ended_ = true;
    lock.unlock();
    wake_.notify_all();
    lock.lock();
  }

  const i64 n_workers_;
  const u64 n_roots_;
  std::atomic<u64> next_{0}, done_{0};
  std::atomic<i64> waiting_{0}, queued_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<GivenNode> queue_;
  bool ended_ = false;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
