// clique_team.hpp: a maximum clique of a whole graph, by a team of threads.
//
// What: core numbers and order, a first clique (first_clique.hpp), then the search: over one local
// graph where the core that is left is small and dense, else over the neighbourhoods of roots, from
// the densest core outwards, but for those that have too few colours behind them. With `all`, a
// second search collects every clique of the size that the first has proven.
//
// Threads: workers.hpp; what a worker hands over is a branch of its tree.
#pragma once

#include "clique/first_clique.hpp"
#include "clique/search_order.hpp"
#include "clique/worker.hpp"

namespace bicliq {

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
  CliqueRun(const Rows& graph, CliqueSettings settings)
      : graph_(graph), settings_(settings), incumbent_(settings.lower_bound), around_{incumbent_, settings.bounds, workers_} {
    workers_.begin([this] { run(); });
  }
  ~CliqueRun() { workers_.end(); }
  CliqueRun(const CliqueRun&) = delete;
  CliqueRun& operator=(const CliqueRun&) = delete;

  /// Waits at most so long; true when the run has ended. Rethrows what ended it.
  bool wait(double seconds) { return workers_.wait(seconds); }
  /// Ends the run with the best clique so far.
  void end() {
    workers_.end();
    workers_.wait(0);
  }

  bool proven() const { return proven_; }
  /// Of the best clique; 0 if none is larger than the lower bound.
  u32 size() const { return cliques().empty() ? 0 : static_cast<u32>(cliques()[0].size()); }
  const std::vector<std::vector<u32>>& cliques() const { return proven_ || !collecting_ ? incumbent_.cliques() : first_; }
  u64 nodes() const { return nodes_; }
  u32 degeneracy() const { return cores_.degeneracy; }
  const CliqueSeconds& seconds() const { return seconds_; }

 private:
  static constexpr u32 kWholeGraph = 16384;  // vertices of a core that may be one local graph
  static constexpr double kDense = 0.1;

  template <class F>
  static void timed(double& seconds, F f) {
    const Stopwatch watch(seconds);
    f();
  }

  void run() {
    if (graph_.n && settings_.lower_bound == 0) incumbent_.offer({0});  // whatever cuts the run off, there is an answer
    timed(seconds_.order, [this] { cores_ = find_cores(graph_, [this] { workers_.check(); }); });
    timed(seconds_.heuristic, [this] { start_greedily(); });
    timed(seconds_.search, [this] { search(); });
    if (settings_.all && incumbent_.cliques().size()) {
      first_ = incumbent_.cliques();
      collecting_ = true;
      incumbent_.collect(incumbent_.size());
      timed(seconds_.collect, [this] { search(); });
    }
    proven_ = true;
  }

  // ---- a first clique ---------------------------------------------------------------------------

  void start_greedily() {
    const auto keep = [this](std::vector<u32> places) {
      for (u32& p : places) p = cores_.id[p];
      incumbent_.offer(std::move(places));
    };
    FirstCliques(cores_, incumbent_.size(), keep, [this] { return workers_.stopped(); }).find();
    workers_.check();
  }

  // ---- local graphs -----------------------------------------------------------------------------

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

  // ---- the search -------------------------------------------------------------------------------

  void search() {
    first_root_ = cores_.first_of_core(incumbent_.size());
    const u32 left = cores_.n() - first_root_;
    if (left <= incumbent_.size()) return;
    const bool is_whole = left <= kWholeGraph && cores_.density(first_root_) >= kDense;
    if (!is_whole) colours_behind_ = colours_behind(cores_, first_root_, [this] { workers_.check(); });
    workers_.search(settings_.threads, is_whole ? 1 : left, [&](u32) { work(is_whole); });
  }
  void work(bool is_whole) {
    struct Counted {
      Worker worker;
      std::atomic<u64>& nodes;
      ~Counted() { nodes += worker.nodes; }
    } counted{Worker(around_), nodes_};
    Worker& worker = counted.worker;
    if (!is_whole)
      search_roots(worker);
    else if (workers_.next_root())
      search_whole(worker);
    while (const auto job = workers_.take()) (*job)->run(worker);
  }
  void search_whole(Worker& worker) {
    const std::vector<u32> places = cores_.places_from(first_root_);
    Neighbourhood around(cores_);
    const LocalRows rows(around, places);
    const std::vector<u32> ids = ids_of(places);
    const std::vector<u32> order = search_order(rows, ids, incumbent_.size(), [this] { workers_.check(); });
    if (order.empty()) return;
    std::vector<u32> ordered;
    for (u32 v : order) ordered.push_back(ids[v]);
    worker.search({std::move(ordered), rows.in_order(order), {}, {}});
  }
  void search_roots(Worker& worker) {
    Neighbourhood around(cores_);
    while (const auto place = workers_.next_root()) {
      const u32 p = cores_.n() - 1 - static_cast<u32>(*place);
      if (cores_.number[p] < incumbent_.size()) return;
      if (colours_behind_[p] < incumbent_.size()) continue;
      const std::vector<u32> found = neighbourhood(around, p);
      if (found.empty()) {
        if (incumbent_.size() == 0) incumbent_.offer({cores_.id[p]});
        continue;
      }
      worker.search({ids_of(found), LocalRows(around, found), {cores_.id[p]}, {}});
    }
  }

  const Rows graph_;
  const CliqueSettings settings_;
  Incumbent incumbent_;
  Surroundings around_;
  Cores cores_;
  CliqueSeconds seconds_;
  std::vector<std::vector<u32>> first_;  // what the first search found, while the second collects
  bool collecting_ = false, proven_ = false;
  u32 first_root_ = 0;
  std::vector<u32> colours_behind_;  // of each root
  std::atomic<u64> nodes_{0};
  CliqueWorkers workers_;  // last: its threads use all that is above
};

}  // namespace bicliq
