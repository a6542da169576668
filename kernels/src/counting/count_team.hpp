// count_team.hpp: the threads of a count. Roots are taken from a common counter, the largest first; a worker that finds none
// left takes steps of the roots that others still have open, so one heavy root keeps every worker busy.
//
// A worker takes the steps of its own root without a word to the others, one load each, until one of them has none
// left. An open root is read by all and written by none until its owner has seen the last helper leave.
#pragma once

#include "lanes/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace bicliq {

/// `Search` has `open(root)`, the number of independent steps below a root, `step(owner, i)`, and `halt()`, called by another
/// thread, after which a step ends soon and its sums are worth nothing.
template <class Search>
class Team {
 public:
  /// Helpers that are there already become its threads, as far as they go.
  Team(std::vector<std::unique_ptr<Search>> members, std::vector<std::uint32_t> roots, std::unique_ptr<Helpers> helpers)
      : members_(std::move(members)), roots_(std::move(roots)), open_(members_.size()), active_(members_.size()),
        running_(members_.size()), helpers_(std::move(helpers)) {
    const std::size_t helped = helpers_->workers() - 1;
    helpers_->leave_with([this](std::uint32_t k) { work(k); });
    for (std::size_t k = helped; k < members_.size(); ++k) threads_.emplace_back([this, k] { work(k); });
  }
  ~Team() {
    stop();
    for (std::thread& t : threads_) t.join();
    helpers_.reset();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Waits at most so long; true when all workers have ended. Rethrows what ended a worker.
  bool wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return running_ == 0; });
    if (running_ == 0 && error_) std::rethrow_exception(error_);
    return running_ == 0;
  }
  void stop() {
    stopped_ = true;
    for (const auto& member : members_) member->halt();
  }
  std::uint64_t roots_done() const {
    const std::uint64_t taken = std::min<std::uint64_t>(next_, roots_.size());
    return taken - std::min<std::uint64_t>(taken, active_);
  }
  std::uint64_t n_roots() const { return roots_.size(); }
  const std::vector<std::unique_ptr<Search>>& members() const { return members_; }

 private:
  struct alignas(kLineBytes) OpenRoot {
    std::atomic<std::uint32_t> next{0}, n{0}, helpers{0};
    std::atomic<bool> open{false};
  };

  void work(std::size_t k) {
    try {
      for (std::uint64_t i; !stopped_ && (i = next_.fetch_add(1)) < roots_.size();) search_root(k, roots_[roots_.size() - 1 - i]);
      --active_;
      while (!stopped_ && active_ > 0)
        if (!help(k)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stopped_ = true;
      open_[k].open = false;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--running_ == 0) ended_.notify_all();
  }
  void search_root(std::size_t k, std::uint32_t root) {
    Search& mine = *members_[k];
    const std::uint32_t n = mine.open(root);
    for (std::uint32_t i = 0; i < n && !stopped_; ++i) {
      if (active_ < members_.size() && n - i >= kWorthSharing) return share_steps(k, i, n);
      mine.step(mine, i);
    }
  }
  /// The steps of k's root from `first` on, with those who have no root of their own.
  void share_steps(std::size_t k, std::uint32_t first, std::uint32_t n) {
    OpenRoot& root = open_[k];
    root.next = first;
    root.n = n;
    root.open = true;
    take_steps(*members_[k], *members_[k], root);
    root.open = false;
    while (root.helpers > 0) std::this_thread::yield();
  }
  void take_steps(Search& worker, const Search& owner, OpenRoot& root) {
    for (std::uint32_t i; !stopped_ && (i = root.next.fetch_add(1)) < root.n;) worker.step(owner, i);
  }
  bool help(std::size_t k) {
    bool helped = false;
    for (std::size_t j = 0; j < members_.size(); ++j) {
      if (!open_[j].open) continue;
      ++open_[j].helpers;
      const Guard guard{open_[j].helpers};
      if (open_[j].open && open_[j].next < open_[j].n) {
        take_steps(*members_[k], *members_[j], open_[j]);
        helped = true;
      }
    }
    return helped;
  }
  struct Guard {
    std::atomic<std::uint32_t>& count;
    ~Guard() { --count; }
  };

  static constexpr std::uint32_t kWorthSharing = 8;  // steps; below it the announcement costs more than it brings

  std::vector<std::unique_ptr<Search>> members_;
  const std::vector<std::uint32_t> roots_;
  std::vector<OpenRoot> open_;
  alignas(kLineBytes) std::atomic<std::uint64_t> next_{0};  // written for every root
  alignas(kLineBytes) std::atomic<std::size_t> active_;     // read for every step, written when a worker has no root left
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Helpers> helpers_;
};

}  // namespace bicliq
