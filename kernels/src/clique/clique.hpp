// clique.hpp: the maximum clique below a local graph.
//
// What: `Search<W>::run` looks below a node (a set of candidates, and the clique that led to it) for a clique larger
// than the best that any worker knows; where all maximum cliques are asked for, for every clique of that size.
//
// Method: branch and bound on bits. `Colouring` says on which candidates to branch; each is taken, its candidates are
// those before it that are its neighbours. No recursion in the depth of a clique: a level is two sets. In wide sets, what
// is tied to all candidates, or to all but one, is taken first, without a branch (nearly complete graphs). Where the
// candidates of a child fit half the words, they become a local graph of their own, a few times at most, since widths
// are powers of two. A worker looks every so often whether another waits, and gives away the next branch of its
// shallowest open level.
//
// Cost: exponential in the worst case; two sets a level, and the adjacency of each width, 2·n²/8 bytes.
//
// Papers: San Segundo et al. 2011; Tomita and Kameda 2007; the bounds are in colouring.hpp.
#pragma once

#include "clique/colouring.hpp"
#include "lanes/workers.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The best clique so far, shared by all workers; with `target`, the list of all cliques of that size.
class Incumbent {
 public:
  explicit Incumbent(u32 size) : size_(size) {}
  u32 size() const { return size_.load(std::memory_order_relaxed); }

  void offer(std::vector<u32> clique) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (target_) {
      if (clique.size() == target_) cliques_.push_back(std::move(clique));
    } else if (clique.size() > size()) {
      size_.store(static_cast<u32>(clique.size()), std::memory_order_relaxed);
      cliques_ = {std::move(clique)};
    }
  }
  /// From now on every clique of this size is kept.
  void collect(u32 target) {
    target_ = target;
    size_ = target - 1;
    cliques_.clear();
  }
  bool collects() const { return target_ != 0; }
  const std::vector<std::vector<u32>>& cliques() const { return cliques_; }

 private:
  std::atomic<u32> size_;
  u32 target_ = 0;
  std::mutex mutex_;
  std::vector<std::vector<u32>> cliques_;
};

class Worker;

/// A part of the search that any worker can do.
struct Job {
  virtual ~Job() = default;
  virtual void run(Worker& worker) = 0;
};
using CliqueWorkers = Workers<std::unique_ptr<Job>>;

/// An open search that can give away a part of its branches.
struct Open {
  virtual ~Open() = default;
  virtual std::unique_ptr<Job> share() = 0;
};

/// What a search asks of those around it.
struct Surroundings {
  Incumbent& incumbent;
  Bounds bounds;
  CliqueWorkers& workers;
};

template <u32 W>
using Shared = std::shared_ptr<const LocalGraph<W>>;

/// The same graph with its vertices in another order.
template <u32 W>
Shared<W> reorder(const LocalGraph<W>& graph, const std::vector<u32>& order) {
  std::vector<u32> ids, rank(graph.n());
  for (u32 v : order) {
    rank[v] = static_cast<u32>(ids.size());
    ids.push_back(graph.ids[v]);
  }
  auto out = std::make_shared<LocalGraph<W>>(std::move(ids));
  for (u32 v : order) each_member(graph.neighbours[v], [&](u32 u) { out->neighbours[rank[v]].add(rank[u]); });
  out->finish();
  return out;
}
/// The subgraph of some vertices, which V words hold, in the order that they have.
template <u32 V, u32 W>
Shared<V> project(const LocalGraph<W>& graph, const Bits<W>& vertices) {
  std::vector<u32> ids;
  each_member(vertices, [&](u32 v) { ids.push_back(graph.ids[v]); });
  auto out = std::make_shared<LocalGraph<V>>(std::move(ids));
  u32 rank = 0;
  each_member(vertices, [&](u32 v) { out->neighbours[rank++] = ranks_in<V>(graph.neighbours[v], vertices); });
  out->finish();
  return out;
}

template <u32 W>
class Search;

/// One worker: a search for each width, opened when needed, and the stack of those that are open.
class Worker {
 public:
  explicit Worker(Surroundings& around) : around(around) {}

  template <u32 W>
  void search(Shared<W> graph, const Bits<W>& candidates, const std::vector<u32>& clique) {
    searcher<W>().run(std::move(graph), candidates, clique);
  }
  template <u32 W>
  Search<W>& searcher();

  void look_around() {
    if (++nodes % kNodesBetweenLooks || !around.workers.wanted()) return;
    for (Open* open : open_searches)
      if (std::unique_ptr<Job> job = open->share()) return around.workers.give(std::move(job));
  }

  Surroundings& around;
  std::vector<Open*> open_searches;  // outermost first
  u64 nodes = 0;

 private:
  static constexpr u64 kNodesBetweenLooks = 64;
  std::unique_ptr<Open> searchers_[11];  // by the logarithm of the width
};

template <u32 W>
class Search : public Open {
 public:
  explicit Search(Worker& worker) : worker_(worker), colouring_(worker.around.bounds) {}

  void run(Shared<W> graph, const Bits<W>& candidates, const std::vector<u32>& clique) {
    open(std::move(graph), clique);
    push(candidates);
    work();
  }
  /// Runs a level whose branches are known.
  void resume(Shared<W> graph, const Bits<W>& candidates, const Bits<W>& branches, const std::vector<u32>& clique) {
    open(std::move(graph), clique);
    levels_.push_back({candidates, branches, best(), 0});
    work();
  }

  std::unique_ptr<Job> share() override;

 private:
  struct Level {
    Bits<W> candidates, branches;
    u32 best;    // when the branches were chosen; kForced: there was no choice
    u32 vertex;  // taken last
  };

  u32 best() const { return worker_.around.incumbent.size(); }
  u32 size() const { return static_cast<u32>(prefix_.size() + levels_.size()) - 1; }

  void open(Shared<W> graph, const std::vector<u32>& clique) {
    graph_ = std::move(graph);
    colouring_.attach(*graph_);
    prefix_ = clique;
    levels_.clear();
  }
  void work() {
    worker_.open_searches.push_back(this);
    while (!levels_.empty() && !worker_.around.workers.stopped()) step();
    worker_.open_searches.pop_back();
  }

  void push(Bits<W> candidates) {
    if (kReduces && !reduce(candidates)) return;
    const u32 known = best(), taken = static_cast<u32>(prefix_.size() + levels_.size());
    const Bits<W> branches = colouring_.branching(candidates, known > taken ? known - taken : 0);
    if (empty(branches)) return;
    const u32 n = count(candidates);
    if (W > kNarrowest && n <= 32 * W) return narrow(candidates, branches, n);
    levels_.push_back({candidates, branches, known, 0});
  }
  /// Takes, without a branch, a candidate tied to all others, or to all but one, whose place it can take in any clique; again
  /// and again. Whether the candidates that are left must be searched.
  bool reduce(Bits<W>& candidates) {
    const bool one_is_enough = !worker_.around.incumbent.collects();
    for (bool again = true; again;) {
      again = false;
      each_member(Bits<W>(candidates), [&](u32 v) {
        const Bits<W> non_neighbours = candidates & graph_->non_neighbours[v];
        const u32 n = none_one_more(non_neighbours);
        if (!candidates.has(v) || n > u32{one_is_enough}) return;
        candidates.remove(v);
        candidates = without(candidates, non_neighbours);
        levels_.push_back({candidates, Bits<W>::none(), kForced, v});
        again |= n > 0;
      });
    }
    const u32 taken = static_cast<u32>(prefix_.size() + levels_.size()), n = count(candidates);
    if (n == 0 && taken > best()) worker_.around.incumbent.offer(clique(levels_.size()));
    return n > 0 && taken + n > best();
  }

  void step() {
    Bits<W> candidates;
    Level& level = levels_.back();
    if (level.best != kForced && level.best != best()) refresh(level, size());
    if (empty(level.branches)) return levels_.pop_back();
    level.vertex = last(level.branches);
    if (!take(levels_.size() - 1, level.vertex, candidates)) return;
    worker_.look_around();
    push(candidates);
  }
  /// Takes a branch of a level; whether the candidates that it leaves must be searched.
  bool take(usize depth, u32 v, Bits<W>& candidates) {
    Level& level = levels_[depth];
    level.branches.remove(v);
    level.candidates.remove(v);
    candidates = level.candidates & graph_->neighbours[v];
    const u32 taken = static_cast<u32>(prefix_.size() + depth) + 1, n = count(candidates);
    if (n == 0 && taken > best()) worker_.around.incumbent.offer(clique(depth, v));
    return n > 0 && taken + n > best();
  }
  /// Chooses the branches of a level again, after the best clique has grown.
  void refresh(Level& level, u32 taken) {
    const u32 known = best();
    level.best = known;
    level.branches = colouring_.branching(level.candidates, known > taken ? known - taken : 0);
  }
  void narrow(const Bits<W>& candidates, const Bits<W>& branches, u32 n);

  /// The clique above a level, with one vertex of that level.
  std::vector<u32> clique(usize depth, u32 v) const {
    std::vector<u32> members = clique(depth);
    members.push_back(graph_->ids[v]);
    return members;
  }
  std::vector<u32> clique(usize depth) const {
    std::vector<u32> members = prefix_;
    for (usize i = 0; i < depth; ++i) members.push_back(graph_->ids[levels_[i].vertex]);
    return members;
  }

  static constexpr u32 kNarrowest = 2, kForced = ~0u;
  static constexpr bool kReduces = W > 4;  // where a colouring takes longer than a look at all rows

  Worker& worker_;
  Colouring<W> colouring_;
  Shared<W> graph_;
  std::vector<u32> prefix_;
  std::vector<Level> levels_;
};

template <u32 W>
Search<W>& Worker::searcher() {
  constexpr u32 place = 31 - __builtin_clz(W);
  if (!searchers_[place]) searchers_[place] = std::make_unique<Search<W>>(*this);
  return static_cast<Search<W>&>(*searchers_[place]);
}

/// Calls f with the narrowest width, as a constant, that holds n vertices: 2, 4, 8, 16, 32, 64, 128, 256 or 1,024 words.
template <class F>
void with_width(u32 n, F f) {
  const auto width = [](auto w) { return w; };
  if (n <= 128) return f(width(std::integral_constant<u32, 2>()));
  if (n <= 256) return f(width(std::integral_constant<u32, 4>()));
  if (n <= 512) return f(width(std::integral_constant<u32, 8>()));
  if (n <= 1024) return f(width(std::integral_constant<u32, 16>()));
  if (n <= 2048) return f(width(std::integral_constant<u32, 32>()));
  if (n <= 4096) return f(width(std::integral_constant<u32, 64>()));
  if (n <= 8192) return f(width(std::integral_constant<u32, 128>()));
  if (n <= 16384) return f(width(std::integral_constant<u32, 256>()));
  return f(width(std::integral_constant<u32, 1024>()));
}
constexpr u32 kWidest = 65536;  // vertices; a degeneracy beyond needs more than 2^31 edges

template <u32 W>
void Search<W>::narrow(const Bits<W>& candidates, const Bits<W>& branches, u32 n) {
  with_width(n, [&](auto width) {
    constexpr u32 V = decltype(width)::value;
    if constexpr (V < W) {
      const Shared<V> graph = project<V>(*graph_, candidates);
      worker_.searcher<V>().resume(graph, Bits<V>::first_n(n), ranks_in<V>(branches, candidates), clique(levels_.size()));
    }
  });
}

template <u32 W>
struct GivenBranch : Job {
  Shared<W> graph;
  Bits<W> candidates;
  std::vector<u32> clique;
  void run(Worker& worker) override { worker.search<W>(graph, candidates, clique); }
};

/// The branch that would be next at the shallowest open level: so workers go through the tree together, in its order,
/// and find what one worker would find about as early.
template <u32 W>
std::unique_ptr<Job> Search<W>::share() {
  for (usize i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    if (level.best == kForced) continue;
    if (level.best != best()) refresh(level, static_cast<u32>(prefix_.size() + i));
    while (!empty(level.branches)) {
      const u32 v = last(level.branches);
      auto job = std::make_unique<GivenBranch<W>>();
      if (!take(i, v, job->candidates)) continue;
      job->graph = graph_;
      job->clique = clique(i, v);
      return job;
    }
  }
  return nullptr;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
