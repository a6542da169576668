// crew.hpp: the workers of one search and the work that they hand to each other.
//
// Roots are taken from a common counter. A worker that finds none waits here; a busy worker looks now and
// then whether somebody waits (`hungry`, one relaxed load) and gives away the rest of its shallowest open
// level as a `GivenNode`, which holds all that its search needs. The search has ended when every worker waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace bicliq {

struct GivenNode {
  std::uint32_t root = 0;
  bool wide = false;
  std::uint32_t n_rows = 0, n_before = 0, n_candidates = 0;  // of a wide node's matrix
  std::vector<std::vector<std::uint32_t>> words;
  std::vector<std::uint32_t> members;
  std::uint64_t members_hash = 0;

  /// Lets a bit matrix be written straight into the node.
  struct Memory {
    std::vector<std::vector<std::uint32_t>>& words;
    std::uint32_t* take(std::size_t n) {
      words.emplace_back(n);
      return words.back().data();
    }
  };
};

class Crew {
 public:
  Crew(std::uint32_t n_workers, std::uint64_t n_roots) : n_workers_(n_workers), n_roots_(n_roots) {}

  /// The next root's place in the order, or nothing when all have been taken.
  std::optional<std::uint64_t> next_root() {
    if (stopped()) return std::nullopt;
    const std::uint64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_roots_) return std::nullopt;
    return i;
  }
  void root_done() { done_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t roots_done() const { return done_.load(std::memory_order_relaxed); }

  bool hungry() const { return waiting_.load(std::memory_order_relaxed) > queued_.load(std::memory_order_relaxed); }

  void give(GivenNode node) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(node));
      queued_.store(static_cast<std::int64_t>(queue_.size()), std::memory_order_relaxed);
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
    queued_.store(static_cast<std::int64_t>(queue_.size()), std::memory_order_relaxed);
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

  const std::int64_t n_workers_;
  const std::uint64_t n_roots_;
  std::atomic<std::uint64_t> next_{0}, done_{0};
  std::atomic<std::int64_t> waiting_{0}, queued_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<GivenNode> queue_;
  bool ended_ = false;
};

}  // namespace bicliq
