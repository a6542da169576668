// warp_clique.hpp: the search for a maximum clique by groups of 32 lanes, on a GPU's warps or a CPU's threads.
//
// What: `search_cliques` is what one group does: take tasks from a counter, the largest first, then parts of the search from those that
// are still busy, until all is done.
//
// Method: the branch and bound of clique.hpp. The candidates and branches of the deepest level are in registers, those of
// the levels above on a stack in memory, two sets each; the depth of a clique bounds the stack. The size of the largest clique
// that anybody knows is read at every node, with the counters of the queue, in one access; when groups wait, half of the
// branches of the shallowest open level are given away. Who finds a larger clique raises the size with one atomic
// operation and writes the members into a record of its own: the last to raise it has the record that counts.
//
// Papers: San Segundo et al. 2011; the bounds are in warp_colouring.hpp.
#pragma once

#include "warp_colouring.hpp"
#include "warp_queue.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template <u32 W>
class WarpClique {
 public:
  using Set = WarpSet<W>;
  WarpClique(const CliqueLaunch& run, u32 group, u32* near)
      : run_(run), queue_(run), colouring_({near, static_cast<u32>(run.near_words), run.classes + run.class_words * group}, run.recolour, run.refute),
        prefix_(run.stacks + run.stack_words * group), vertices_(prefix_ + run.most_levels), levels_(vertices_ + run.most_levels),
        record_(run.records + (run.most_levels + 1) * group) {}

  u64 nodes = 0, given = 0;

  /// Begins a task; `work` runs it.
  void start(const CliqueTask& task) {
    open(task.tree);
    n_prefix_ = 0;
    if (run_.trees[tree_].root != kNoRoot) put(prefix_ + n_prefix_++, run_.trees[tree_].root);
    const u32 n = run_.trees[tree_].n;
    if (task.vertex == kWholeTree) {
      candidates_ = first_vertices<W>(n);
    } else {
      put(prefix_ + n_prefix_++, ids_[task.vertex]);
      candidates_ = colouring_.neighbours(first_vertices<W>(task.vertex), task.vertex);
    }
    branches_ = no_vertex<W>();
    best_of_level_ = kNotYet;
  }
  /// Begins a given part.
  void resume(u64 ticket) {
    const u32* slot = queue_.slot(ticket);
    const Lanes head = load_fresh(slot, first_lanes(2));
    open(lane(head, 0));
    n_prefix_ = lane(head, 1);
    for (u32 i = 0; i < n_prefix_; i += kLanes)
      store(prefix_ + i, load_fresh(slot + 2 + i, first_lanes(n_prefix_ - i)), first_lanes(n_prefix_ - i));
    const u32* sets = slot + 2 + run_.most_levels;
    candidates_ = load_fresh_set<W>(sets, graph_.extent);
    branches_ = load_fresh_set<W>(sets + graph_.stride, graph_.extent);
    best_of_level_ = lane(load_fresh(sets + 2 * graph_.stride, first_lanes(1)), 0);
    queue_.taken(ticket);
  }

  /// Searches what was begun to its end.
  void work() {
    while (look_around()) {
      const bool again = best_of_level_ != best_;  // branches are to be chosen; also after the best clique has grown
      if (hungry_ && best_of_level_ != kNotYet) share();
      Set of = candidates_;
      u32 size = n_prefix_ + depth_;
      if (!again) {
        const u32 v = last(branches_);
        if (v == kNoVertex) {
          if (!ascend()) return;
          continue;
        }
        remove(branches_, v);
        remove(candidates_, v);
        of = colouring_.neighbours(candidates_, v);
        ++size;
        const u32 n = count(of);
        if (size + n <= best_) continue;
        put(vertices_ + depth_, v);
        nodes += n != 0;
      }
      if (!any(of) && size > best_) offer(size);
      const Set branches = colouring_.branching(of, best_ > size ? best_ - size : 0);
      if (!again) {
        if (!any(branches)) continue;
        save();
        ++depth_;
        candidates_ = of;
      }
      if (!again || best_of_level_ == kNotYet || count(branches) < count(branches_)) branches_ = branches;
      best_of_level_ = best_;
    }
  }

 private:
  static constexpr u32 kNotYet = ~0u;  // the branches of a level have not been chosen
  static constexpr u32 kWorthGiving = 16;  // candidates of a level

  void open(u32 tree) {
    tree_ = tree;
    const CliqueTree& of = run_.trees[tree];
    graph_ = StrangerRows<W>(run_.arena + of.at, of.n, of.stride);
    ids_ = of.ids(run_.arena);
    colouring_.attach(graph_);
    depth_ = shallow_ = 0;
  }

  /// Reads what all groups share; false when everybody ends.
  bool look_around() {
    const Line line(reinterpret_cast<const u32*>(run_.counters));
    const u32 here = line.get(4), outside = line.get(5);
    best_ = here > outside ? here : outside;
    hungry_ = static_cast<i32>(line.get(0) - line.get(2)) > 0;
    return line.get(6) == 0;
  }

  // ---- levels

  u32* level(u32 i) const { return levels_ + static_cast<usize>(i) * (2 * graph_.stride + 1); }
  void save() const {
    u32* to = level(depth_);
    store_set(to, candidates_, graph_.extent);
    store_set(to + graph_.stride, branches_, graph_.extent);
    put(to + 2 * graph_.stride, best_of_level_);
  }
  void restore() {
    const u32* from = level(depth_);
    candidates_ = load_set<W>(from, graph_.extent);
    branches_ = load_set<W>(from + graph_.stride, graph_.extent);
    best_of_level_ = from[2 * graph_.stride];
  }
  bool ascend() {
    if (depth_ == 0) return false;
    --depth_;
    if (shallow_ > depth_) shallow_ = depth_;
    restore();
    return true;
  }

  // ---- what others hear of

  /// Gives away half of the branches of the shallowest level that has two: the last ones, whose candidates are all others.
  void share() {
    save();
    for (; shallow_ <= depth_; ++shallow_) {
      u32* const from = level(shallow_);
      Set candidates = load_set<W>(from, graph_.extent), branches = load_set<W>(from + graph_.stride, graph_.extent);
      const u32 n = count(branches);
      if (n < 2 || count(candidates) < kWorthGiving) continue;
      Set kept = branches;
      for (u32 left = n / 2; left; --left) remove(kept, last(kept));
      branches = without(branches, kept);
      give(candidates, branches, from[2 * graph_.stride]);
      candidates = without(candidates, branches);
      store_set(from, candidates, graph_.extent);
      store_set(from + graph_.stride, kept, graph_.extent);
      if (shallow_ < depth_) return;
      candidates_ = candidates;
      branches_ = kept;
      return;
    }
  }
  void give(const Set& candidates, const Set& branches, u32 best_of_level) {
    const u64 ticket = queue_.begin();
    u32* const slot = queue_.slot(ticket);
    put(slot, tree_);
    put(slot + 1, n_prefix_ + shallow_);
    write_clique(slot + 2, n_prefix_ + shallow_);
    u32* const sets = slot + 2 + run_.most_levels;
    store_set(sets, candidates, graph_.extent);
    store_set(sets + graph_.stride, branches, graph_.extent);
    put(sets + 2 * graph_.stride, best_of_level);
    queue_.give(ticket);
    ++given;
  }
  void write_clique(u32* to, u32 size) const {
    const u32 *prefix = prefix_, *vertices = vertices_, *ids = ids_;
    const u32 n = n_prefix_;
    each_item(size, [=](u32 i) { to[i] = i < n ? prefix[i] : ids[vertices[i - n]]; });
  }
  void offer(u32 size) {
    if (fetch_max(&run_.counters->best, size) >= size) return;
    put(record_, size);
    write_clique(record_ + 1, size);
  }

  const CliqueLaunch& run_;
  const WarpQueue queue_;
  WarpColouring<W> colouring_;
  u32 *const prefix_, *const vertices_, *const levels_, *const record_;
  StrangerRows<W> graph_;
  const u32* ids_ = nullptr;
  Set candidates_, branches_;
  u32 best_of_level_ = kNotYet, best_ = 0, tree_ = 0, n_prefix_ = 0, depth_ = 0, shallow_ = 0;
  bool hungry_ = false;
};

/// What one group does; `near` is its piece of fast memory.
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
    search.work();  // in one place: a device compiler copies it to where it is called
    queue.done();
  }
  fetch_add(&run.counters->nodes, search.nodes);
  fetch_add(&run.counters->given, search.given);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
