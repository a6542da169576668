// clique_team.hpp: a maximum clique of a whole graph, by a team of threads.
//
// What: core numbers and order, a first clique (first_clique.hpp), then the search: over one local graph where the core
// that is left is small and dense, else over the neighbourhoods of roots, from the densest core outwards, but for those
// that have too few colours behind them. With `all`, a second search collects every clique of the size that the first has proven.
//
// Threads: roots come from a counter, shared branches from a queue; the search has ended when every worker waits.
#pragma once

#include "clique/first_clique.hpp"
#include "clique/search_order.hpp"
#include "clique/worker.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>

namespace bicliq {
inline namespace BICLIQ_ISA {

struct CliqueSettings {
  u32 threads = 1;
  u32 lower_bound = 0;  // only cliques larger than this are looked for
  bool all = false;
  Bounds bounds;
};

struct CliqueSeconds {
  double order = 0, heuristic = 0, search = 0, collect = 0;
};

class CliqueRun {
 public:
  CliqueRun(Adjacency graph, CliqueSettings settings)
      : graph_(graph), settings_(settings), incumbent_(settings.lower_bound),
        around_{incumbent_, settings.bounds, [this] { return hungry(); }, [this](std::unique_ptr<Job> job) { give(std::move(job)); },
                stopped_},
        main_([this] { guarded([this] { run(); }); }) {}
  ~CliqueRun() {
    stop();
    main_.join();
  }
  CliqueRun(const CliqueRun&) = delete;
  CliqueRun& operator=(const CliqueRun&) = delete;

  /// Waits at most so long; true when the run has ended. Rethrows what ended it.
  bool wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended; });
    if (ended && error_) std::rethrow_exception(error_);
    return ended;
  }
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }

  bool proven() const { return !stopped_; }
  /// Of the best clique; 0 if none is larger than the lower bound.
  u32 size() const { return cliques().empty() ? 0 : static_cast<u32>(cliques()[0].size()); }
  const std::vector<std::vector<u32>>& cliques() const { return all_proven_ || !collecting_ ? incumbent_.cliques() : first_; }
  u64 nodes() const { return nodes_; }
  u32 degeneracy() const { return cores_.degeneracy; }
  const CliqueSeconds& seconds() const { return seconds_; }
  u64 roots_searched() const { return searched_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr u32 kWholeGraph = 16384;  // vertices of a core that may be one local graph
  static constexpr double kDense = 0.1;

  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ended = true;
    ended_.notify_all();
  }
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    stop();
  }
  template <class F>
  static double timed(F f) {
    const auto start = Clock::now();
    f();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void run() {
    seconds_.order = timed([this] { cores_ = find_cores(graph_); });
    seconds_.heuristic = timed([this] { start_greedily(); });
    seconds_.search = timed([this] { search(); });
    if (!settings_.all || stopped_) return;
    first_ = incumbent_.cliques();
    if (first_.empty()) return;
    collecting_ = true;
    incumbent_.collect(incumbent_.size());
    seconds_.collect = timed([this] { search(); });
    all_proven_ = !stopped_;
  }

  // ---- a first clique -----------------------------------------------------------------------------------------

  void start_greedily() {
    if (graph_.n && settings_.lower_bound == 0) incumbent_.offer({cores_.id.back()});
    const auto keep = [this](std::vector<u32> places) {
      for (u32& p : places) p = cores_.id[p];
      incumbent_.offer(std::move(places));
    };
    FirstCliques(cores_, incumbent_.size(), keep, [this] { return stopped_.load(); }).find();
  }

  // ---- local graphs -------------------------------------------------------------------------------------------

  /// What the larger clique below a root can use, the densest core first.
  std::vector<u32> neighbourhood(Neighbourhood& around, u32 root) const {
    std::vector<u32> found = around.filter(root, incumbent_.size() + 1);
    std::sort(found.begin(), found.end(), std::greater<u32>());
    return found;
  }
  std::vector<u32> ids_of(const std::vector<u32>& places) const {
    std::vector<u32> ids;
    for (u32 p : places) ids.push_back(cores_.id[p]);
    return ids;
  }

  // ---- the search ---------------------------------------------------------------------------------------------

  void search() {
    first_root_ = cores_.first_of_core(incumbent_.size());
    const u32 left = cores_.n() - first_root_;
    if (left <= incumbent_.size()) return;
    whole_ = left <= kWholeGraph && cores_.density(first_root_) >= kDense;
    next_root_ = cores_.n();
    waiting_ = 0;
    done_ = false;
    if (whole_)
      give_whole();
    else
      colours_behind_ = colours_behind(cores_, first_root_);
    std::vector<std::thread> threads;
    for (u32 i = 1; i < settings_.threads; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& t : threads) t.join();
  }
  struct WholeGraph : Job {
    std::function<void(Worker&)> begin;
    void run(Worker& worker) override { begin(worker); }
  };
  void give_whole() {
    auto job = std::make_unique<WholeGraph>();
    job->begin = [this](Worker& worker) {
      const std::vector<u32> places = cores_.places_from(first_root_);
      Neighbourhood around(cores_);
      const LocalRows rows(around, places);
      const std::vector<u32> ids = ids_of(places), order = search_order(rows, ids, incumbent_.size());
      if (order.empty()) return;
      std::vector<u32> ordered;
      for (u32 v : order) ordered.push_back(ids[v]);
      worker.search({std::move(ordered), rows.in_order(order), {}, {}});
    };
    give(std::move(job));
  }
  void work() {
    Worker worker(around_);
    try {
      if (!whole_) search_roots(worker);
      while (const std::unique_ptr<Job> job = take()) job->run(worker);
    } catch (...) {
      fail(std::current_exception());
    }
    nodes_ += worker.nodes;
  }
  void search_roots(Worker& worker) {
    Neighbourhood around(cores_);
    while (!stopped_) {
      const i64 root = --next_root_;
      if (root < static_cast<i64>(first_root_) || cores_.number[static_cast<usize>(root)] < incumbent_.size()) return;
      const u32 p = static_cast<u32>(root);
      if (colours_behind_[p] < incumbent_.size()) continue;
      const std::vector<u32> found = neighbourhood(around, p);
      if (found.empty()) {
        if (incumbent_.size() == 0) incumbent_.offer({cores_.id[p]});
        continue;
      }
      ++searched_;
      worker.search({ids_of(found), LocalRows(around, found), {cores_.id[p]}, {}});
    }
  }

  // ---- the queue ----------------------------------------------------------------------------------------------

  bool hungry() const { return waiting_.load(std::memory_order_relaxed) > queued_.load(std::memory_order_relaxed); }
  void give(std::unique_ptr<Job> job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(job));
      queued_ = static_cast<i64>(queue_.size());
    }
    wake_.notify_one();
  }
  /// Waits for a job; nothing when all workers wait, or the run was stopped.
  std::unique_ptr<Job> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting_;
    if (queue_.empty() && waiting_ == static_cast<i64>(settings_.threads)) {
      done_ = true;
      wake_.notify_all();
    }
    wake_.wait(lock, [&] { return !queue_.empty() || done_ || stopped_; });
    if (queue_.empty() || stopped_) return nullptr;
    std::unique_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    queued_ = static_cast<i64>(queue_.size());
    --waiting_;
    return job;
  }

  const Adjacency graph_;
  const CliqueSettings settings_;
  Incumbent incumbent_;
  Surroundings around_;
  Cores cores_;
  CliqueSeconds seconds_;
  std::vector<std::vector<u32>> first_;  // what the first search found, while the second collects
  bool collecting_ = false, all_proven_ = false, whole_ = false, done_ = false, ended = false;
  u32 first_root_ = 0;
  std::vector<u32> colours_behind_;  // of each root
  std::atomic<i64> next_root_{0}, waiting_{0}, queued_{0};
  std::atomic<u64> nodes_{0}, searched_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::exception_ptr error_;
  std::thread main_;  // last: it uses all that is above
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
