// clique.hpp: the maximum clique below a local graph.
//
// What: `Search<W>::run` looks below a node (a set of candidates, and the clique that led to it)
// for a clique larger than the best that any worker knows; where all maximum cliques are asked for,
// for every clique of that size.
//
// Method: branch and bound on bits. `Colouring` says on which candidates to branch; each is taken,
// its candidates are those before it that are its neighbours. No recursion in the depth of a
// clique: a level is two sets. In wide sets, what is tied to all candidates, or to all but one, is
// taken first, without a branch (nearly complete graphs). Where the candidates of a child fit half
// the words, they become a local graph of their own, a few times at most, since widths are powers
// of two. A worker looks every so often whether another waits, and gives away the next branch of
// its shallowest open level.
//
// Cost: exponential in the worst case; two sets a level, and the adjacency of each width, 2·n²/8
// bytes.
//
// Papers: San Segundo et al. 2011; Tomita and Kameda 2007; the bounds are in colouring.hpp.
#pragma once

#include "clique/colouring.hpp"
#include "clique/worker.hpp"

namespace bicliq {

template <u32 W>
using Shared = std::shared_ptr<const LocalGraph<W>>;

template <u32 W>
class Search : public WidthSearch {
 public:
  explicit Search(Worker& worker) : worker_(worker), colouring_(worker.around.bounds) {}

  void begin(const Beginning& at) override {
    auto graph = std::make_shared<const LocalGraph<W>>(at.ids, at.rows);
    const Bits<W> candidates = Bits<W>::first_n(graph->n());
    if (at.branches.empty()) return run(std::move(graph), candidates, at.clique);
    Bits<W> branches = Bits<W>::none();
    std::copy(at.branches.begin(), at.branches.end(), branches.words());
    resume(std::move(graph), candidates, branches, at.clique);
  }
  void run(Shared<W> graph, const Bits<W>& candidates, const std::vector<u32>& clique) {
    open(std::move(graph), clique);
    push(candidates);
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

  /// Runs a level whose branches are known.
  void resume(Shared<W> graph, const Bits<W>& candidates, const Bits<W>& branches, const std::vector<u32>& clique) {
    open(std::move(graph), clique);
    levels_.push_back({candidates, branches, best(), 0});
    work();
  }
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
  /// Takes, without a branch, a candidate tied to all others, or to all but one, whose place it can
  /// take in any clique; again and again. Whether the candidates that are left must be searched.
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

/// The candidates become a local graph of their own, for the search over narrower sets.
template <u32 W>
void Search<W>::narrow(const Bits<W>& candidates, const Bits<W>& branches, u32 n) {
  std::vector<u32> vertices, ids;
  vertices.reserve(n);
  ids.reserve(n);
  each_member(candidates, [&](u32 v) {
    vertices.push_back(v);
    ids.push_back(graph_->ids[v]);
  });
  LocalRows rows(n, [&](u32 i, u64* row) { ranks_in(graph_->neighbours[vertices[i]], candidates, row); });
  std::vector<u64> first(rows.words(), 0);
  ranks_in(branches, candidates, first.data());
  worker_.search({std::move(ids), std::move(rows), clique(levels_.size()), std::move(first)});
}

template <u32 W>
struct GivenBranch : Job {
  Shared<W> graph;
  Bits<W> candidates;
  std::vector<u32> clique;
  void run(Worker& worker) override { static_cast<Search<W>&>(worker.search_of(W)).run(graph, candidates, clique); }
};

/// The branch that would be next at the shallowest open level: so workers go through the tree
/// together, in its order, and find what one worker would find about as early.
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

}  // namespace bicliq
