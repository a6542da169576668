// enumeration.hpp: one enumeration from start to end: its threads, its batches, its progress.
//
// Workers start with the constructor and push full batches into a queue of bounded length, so memory stays
// bounded however many bicliques there are; a consumer that stops early calls `stop`. Roots are searched
// from the last (the vertex of largest degree) to the first, since heavy roots are there.
#pragma once

#include "enumeration/sinks.hpp"
#include "graphs/graph.hpp"

#include <chrono>
#include <exception>
#include <thread>

namespace bicliq {
inline namespace BICLIQ_ISA {

enum class Mode { count, digest, enumerate };

struct Settings {
  Mode mode = Mode::count;
  Limits limits;
  u64 max_bicliques = ~0ull;
  u32 threads = 1;
  std::size_t batch_bicliques = 65536, batch_ids = 1 << 20;

  /// Must the search know both sides of a biclique, or is it enough to count?
  bool needs_members() const {
    return mode != Mode::count || limits.min_columns > 1 || limits.min_edges > std::max(limits.min_rows, 1u);
  }
};

class Enumeration {
 public:
  Enumeration(Graph graph, Labels labels, std::vector<u32> roots, const Settings& settings)
      : graph_(std::move(graph)), labels_(std::move(labels)), roots_(std::move(roots)), settings_(settings),
        crew_(settings.threads, roots_.size()), running_(settings.threads), started_(Clock::now()) {
    for (u32 i = 0; i < settings.threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Enumeration() {
    stop();
    for (std::thread& t : threads_) t.join();
  }
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  /// The next batch; nothing when `seconds` have passed (then `ended()` is false) or the search has ended.
  std::unique_ptr<Batch> next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !batches_.empty() || running_ == 0; });
    if (batches_.empty()) {
      if (running_ == 0 && error_) std::rethrow_exception(error_);
      return nullptr;
    }
    std::unique_ptr<Batch> batch = std::move(batches_.front());
    batches_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return batch;
  }
  bool ended() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return running_ == 0 && batches_.empty();
  }
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      cancelled_ = true;
    }
    crew_.stop();
    changed_.notify_all();
  }

  u64 found() const { return found_.load(std::memory_order_relaxed); }
  u64 roots_done() const { return crew_.roots_done(); }
  u64 n_roots() const { return roots_.size(); }
  u64 digest() const { return digest_; }
  u64 nodes() const { return nodes_; }
  u64 dropped() const { return dropped_; }
  u64 workspace_bytes() const { return workspace_; }
  double seconds() const { return seconds_; }
  const std::vector<double>& busy_seconds() const { return busy_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

  void work() {
    try {
      const Tally tally(found_, settings_.max_bicliques, crew_);
      if (!settings_.needs_members()) {
        CountSink sink(tally);
        search(sink);
      } else {
        MemberSink::Deliver deliver;
        if (settings_.mode == Mode::enumerate) deliver = [this](std::unique_ptr<Batch> b) { this->deliver(std::move(b)); };
        MemberSink sink(labels_, settings_.limits, tally, deliver, settings_.batch_bicliques, settings_.batch_ids);
        search(sink);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      error_ = std::current_exception();
      crew_.stop();
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--running_ == 0) seconds_ = since(started_);
    }
    changed_.notify_all();
  }

  template <class Sink>
  void search(Sink& sink);  // worker_search.hpp

  void deliver(std::unique_ptr<Batch> batch) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ || batches_.size() < 2 * static_cast<std::size_t>(settings_.threads); });
    if (cancelled_) return;
    batches_.push_back(std::move(batch));
    lock.unlock();
    changed_.notify_all();
  }

  const Graph graph_;
  const Labels labels_;
  const std::vector<u32> roots_;
  const Settings settings_;
  Crew crew_;
  std::atomic<u64> found_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> batches_;
  u32 running_;
  bool cancelled_ = false;
  std::exception_ptr error_;
  u64 digest_ = 0, nodes_ = 0, dropped_ = 0, workspace_ = 0;
  double seconds_ = 0;
  std::vector<double> busy_;
  const Clock::time_point started_;
  std::vector<std::thread> threads_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
