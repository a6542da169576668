// warp_clique.hpp: the search for a maximum clique by groups of 32 lanes, a GPU's warps or a CPU's
// threads.
//
// What it finds: `search_cliques` is what one group does: it takes tasks from a counter, the
// largest first, then parts of the search from groups that are still busy, until all is done. The
// largest clique is in the record of the group that raised the size last.
//
// Input: a `CliqueLaunch` (clique_launch.hpp), its trees built by warp_roots.hpp or on the host.
//
// Method: the branch and bound of clique.hpp. The candidates and branches of the current level are
// in registers; those of the levels above are on a stack in memory. A level with few candidates
// gets a matrix of its own, and all below it is searched there (warp_small.hpp). At every node the
// group reads, in one access, the size of the largest clique that anybody knows, and whether others
// wait; if so, it gives away half of the branches of its shallowest open level. A group that finds
// a larger clique raises the size by an atomic operation, and writes the members into a record of
// its own.
//
// Cost: exponential in the worst case. Memory of a group: two sets for every member that a clique
// can have.
//
// Papers: San Segundo et al. 2011; the bounds are in warp_colouring.hpp.
#pragma once

#include "clique/warp_small.hpp"
#include "clique/clique_launch.hpp"

namespace bicliq {

/// The nodes on the path to the one at hand: its own candidates and branches in registers, and
/// those of the levels above it in memory.
template <u32 W>
struct OpenLevels {
  using Set = WarpSet<W>;
  static constexpr u32 kNotYet = ~0u;  // the branches of a level have not been chosen

  u32* memory = nullptr;
  Extent extent;
  u32 stride = 0;
  u32 first = 0;       // members of the clique, of the same tree, that were chosen above these levels
  u32 depth = 0;       // levels in memory
  u32 shallow = 0;     // no level above this one has branches to give
  u32 best = kNotYet;  // size of the largest clique that was known when the branches were chosen
  Set candidates, branches;

  u32* level(u32 i) const { return memory + static_cast<usize>(i) * level_words(stride); }
  /// Starts with no level in memory, below so many chosen members.
  void begin(u32 taken) {
    first = taken;
    depth = shallow = 0;
  }
  void save() const {
    u32* to = level(depth);
    store_set(to, candidates, extent);
    store_set(to + stride, branches, extent);
    put(to + 2 * stride, best);
  }
  void restore() {
    const u32* from = level(depth);
    candidates = load_set<W>(from, extent);
    branches = load_set<W>(from + stride, extent);
    best = from[2 * stride];
  }
  /// Goes back to the level above; false where there is none.
  bool ascend() {
    if (depth == 0) return false;
    --depth;
    if (shallow > depth) shallow = depth;
    restore();
    return true;
  }
};

/// The levels below one with few candidates, in a matrix of their own (warp_small.hpp).
struct FewLevels : OpenLevels<1> {};

template <u32 W>
class WarpClique {
 public:
  using Set = WarpSet<W>;
  WarpClique(const CliqueLaunch& run, u32 group, u32* near)
      : run_(run),
        queue_(run),
        colouring_({near, static_cast<u32>(run.near_words), run.classes + run.class_words * group}, run.recolour,
                   run.refute),
        small_colouring_(near, run.recolour, run.refute),
        prefix_(run.stacks + run.stack_words * group),
        vertices_(prefix_ + run.most_levels),
        record_(run.records + (run.most_levels + 1) * group) {
    few_.memory = vertices_ + run.most_levels;
    few_.extent = {kSmallWords};
    few_.stride = kSmallStride;
    all_.memory = few_.memory + (run.near_words >= kSmallNearWords ? run.small_levels * level_words(kSmallStride) : 0);
  }

  u64 nodes = 0, given = 0;

  /// Begins a task; `work` searches it.
  void start(const CliqueTask& task) {
    open(task.tree);
    n_prefix_ = 0;
    if (run_.trees[tree_].root != kNoRoot) put(prefix_ + n_prefix_++, run_.trees[tree_].root);
    const u32 n = run_.trees[tree_].n;
    if (task.vertex == kWholeTree) {
      all_.candidates = first_vertices<W>(n);
    } else {
      put(prefix_ + n_prefix_++, ids_[task.vertex]);
      all_.candidates = colouring_.neighbours(first_vertices<W>(task.vertex), task.vertex);
    }
    all_.branches = no_vertex<W>();
    all_.best = kNotYet;
  }
  /// Begins a part that another group gave away.
  void resume(u64 ticket) {
    const u32* slot = queue_.slot(ticket);
    const Lanes head = load_fresh(slot, first_lanes(2));
    open(lane(head, 0));
    n_prefix_ = lane(head, 1);
    for (u32 i = 0; i < n_prefix_; i += kLanes)
      store(prefix_ + i, load_fresh(slot + 2 + i, first_lanes(n_prefix_ - i)), first_lanes(n_prefix_ - i));
    const u32* sets = slot + 2 + run_.most_levels;
    all_.candidates = load_fresh_set<W>(sets, graph_.extent);
    all_.branches = load_fresh_set<W>(sets + graph_.stride, graph_.extent);
    all_.best = lane(load_fresh(sets + 2 * graph_.stride, first_lanes(1)), 0);
    queue_.taken(ticket);
  }

  /// Searches what was begun, to its end.
  void work() {
    bool chosen = all_.best != kNotYet;
    for (;;) {
      if (chosen && is_few()) {
        project();
        search(few_, small_colouring_);
        within_few_ = false;
        if (!all_.ascend()) return;
      }
      if (!search(all_, colouring_)) return;
      chosen = true;
    }
  }

 private:
  static constexpr u32 kNotYet = OpenLevels<W>::kNotYet;
  static constexpr u32 kWorthGiving = 16;  // candidates of a level, at least

  void open(u32 tree) {
    tree_ = tree;
    const CliqueTree& of = run_.trees[tree];
    graph_ = NonNeighbours<W>(run_.arena + of.at, of.n, of.stride);
    ids_ = of.ids(run_.arena);
    colouring_.attach(graph_);
    all_.extent = graph_.extent;
    all_.stride = graph_.stride;
    all_.begin(0);
  }

  /// Searches the open levels to their end; true where it stops before, at a level that has few
  /// candidates.
  template <class Levels, class Bounds>
  bool search(Levels& at, Bounds& bounds) {
    while (look_around()) {
      // Whether to choose the branches of this level, for the first time or with a better bound.
      const bool again = at.best != best_;
      if (others_wait_ && at.best != kNotYet) share(at);
      auto of = at.candidates;
      u32 size = n_prefix_ + at.first + at.depth;
      if (!again) {
        const u32 v = last(at.branches);
        if (v == kNoVertex) {
          if (!at.ascend()) return false;
          continue;
        }
        remove(at.branches, v);
        remove(at.candidates, v);
        of = bounds.neighbours(at.candidates, v);
        ++size;
        const u32 n = count(of);
        if (size + n <= best_) continue;
        put(vertices_ + at.first + at.depth, name(at, v));
        nodes += n != 0;
      }
      if (!any(of) && size > best_) offer(size);
      const auto branches = bounds.branching(of, best_ > size ? best_ - size : 0);
      if (!again) {
        if (!any(branches)) continue;
        at.save();
        ++at.depth;
        at.candidates = of;
      }
      if (!again || at.best == kNotYet || count(branches) < count(at.branches)) at.branches = branches;
      at.best = best_;
      if (goes_on_with_few(at)) return true;
    }
    return false;
  }

  // ---- few candidates: a matrix of their own

  bool is_few() const {
    const u32 size = n_prefix_ + all_.depth;
    return run_.near_words >= kSmallNearWords && all_.best <= size + kLanes && count(all_.candidates) <= kSmallVertices;
  }
  bool goes_on_with_few(const OpenLevels<W>&) const { return is_few(); }
  bool goes_on_with_few(const FewLevels&) const { return false; }
  /// Goes on below the level at hand, in the matrix of its candidates.
  void project() {
    all_.save();
    const u32* const level = all_.level(all_.depth);
    small_colouring_.project(run_.arena + run_.trees[tree_].at, graph_.stride, level, graph_.extent.words);
    few_.candidates = small_colouring_.projected(level);
    few_.branches = small_colouring_.projected(level + graph_.stride);
    few_.best = all_.best;
    few_.begin(all_.depth);
    within_few_ = true;
  }
  /// The number of a vertex, and the numbers of a set, in the tree.
  u32 name(const OpenLevels<W>&, u32 v) const { return v; }
  u32 name(const FewLevels&, u32 v) const { return small_colouring_.name(v); }
  const Set& in_tree(const OpenLevels<W>&, const Set& set) const { return set; }
  Set in_tree(const FewLevels&, const WarpSet<1>& set) const {
    Set out = no_vertex<W>();
    each_while(set, [&](u32 v) {
      add(out, small_colouring_.name(v));
      return true;
    });
    return out;
  }

  /// Reads what all groups share; false when all are to end.
  bool look_around() {
    const Line line(reinterpret_cast<const u32*>(run_.counters));
    const u32 here = line.get(kBest), outside = line.get(kOutside);
    best_ = here > outside ? here : outside;
    others_wait_ = static_cast<i32>(line.get(kHead) - line.get(kTail)) > 0;
    return line.get(kStop) == 0;
  }

  // ---- what is given to others, and told them

  /// Gives away half of the branches of the shallowest level that has two: those that would be
  /// tried first, so the part has all candidates of the level, and what stays here lacks these
  /// branches.
  template <class Levels>
  void share(Levels& at) {
    at.save();
    if (!within_few_ || !give_from(all_, all_.depth)) give_from(at, at.depth + 1);
    at.restore();
  }
  /// The same, of the first n levels in memory; says whether anything was given.
  template <class Levels>
  bool give_from(Levels& at, u32 n_levels) {
    for (; at.shallow < n_levels; ++at.shallow) {
      u32* const from = at.level(at.shallow);
      auto candidates = load_words_of(at, from), branches = load_words_of(at, from + at.stride);
      const u32 n = count(branches);
      if (n < 2 || count(candidates) < kWorthGiving) continue;
      auto kept = branches;
      for (u32 left = n / 2; left; --left) remove(kept, last(kept));
      branches = without(branches, kept);
      give(in_tree(at, candidates), in_tree(at, branches), from[2 * at.stride], at.first + at.shallow);
      store_set(from, without(candidates, branches), at.extent);
      store_set(from + at.stride, kept, at.extent);
      return true;
    }
    return false;
  }
  template <u32 V>
  static WarpSet<V> load_words_of(const OpenLevels<V>& at, const u32* from) {
    return load_set<V>(from, at.extent);
  }
  void give(const Set& candidates, const Set& branches, u32 best, u32 n_vertices) {
    const u64 ticket = queue_.begin();
    u32* const slot = queue_.slot(ticket);
    put(slot, tree_);
    put(slot + 1, n_prefix_ + n_vertices);
    write_clique(slot + 2, n_prefix_ + n_vertices);
    u32* const sets = slot + 2 + run_.most_levels;
    store_set(sets, candidates, graph_.extent);
    store_set(sets + graph_.stride, branches, graph_.extent);
    put(sets + 2 * graph_.stride, best);
    queue_.give(ticket);
    ++given;
  }
  /// Writes the clique so far, by numbers in the graph.
  void write_clique(u32* to, u32 size) const {
    const u32 *prefix = prefix_, *vertices = vertices_, *ids = ids_;
    const u32 n = n_prefix_;
    each_item(size, [=](u32 i) { to[i] = i < n ? prefix[i] : ids[vertices[i - n]]; });
  }
  /// Records the clique so far, if none as large is known to this device.
  void offer(u32 size) {
    if (fetch_max(&run_.counters->best, size) >= size) return;
    put(record_, size);
    write_clique(record_ + 1, size);
  }

  const CliqueLaunch& run_;
  const WarpQueue queue_;
  WarpColouring<W> colouring_;
  SmallColouring small_colouring_;
  u32* const prefix_;    // the clique above the part at hand, by numbers in the graph
  u32* const vertices_;  // and the members chosen since, by numbers in the tree
  u32* const record_;
  NonNeighbours<W> graph_;
  const u32* ids_ = nullptr;
  OpenLevels<W> all_;
  FewLevels few_;
  u32 best_ = 0, tree_ = 0, n_prefix_ = 0;
  bool others_wait_ = false, within_few_ = false;
};

/// What a group does: tasks first, then parts that are given away; `near` is its piece of fast
/// memory.
template <u32 W>
inline void search_cliques(const CliqueLaunch& run, u32 group, u32* near) {
  WarpClique<W> search(run, group, near);
  const WarpQueue queue(run);
  bool tasks_left = true;
  for (;;) {
    if (tasks_left) {
      const u64 t = read(&run.counters->stop) ? run.n_tasks : fetch_add(&run.counters->next_task, 1);
      tasks_left = t < run.n_tasks;
      if (!tasks_left) continue;
      search.start(run.tasks[t]);
    } else {
      const u64 ticket = queue.take();
      if (ticket == WarpQueue::kNothing) break;
      search.resume(ticket);
    }
    search.work();  // called in one place, since a device compiler copies it there
    queue.done();
  }
  fetch_add(&run.counters->nodes, search.nodes);
  fetch_add(&run.counters->given, search.given);
}

}  // namespace bicliq
