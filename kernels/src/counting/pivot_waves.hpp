// pivot_waves.hpp: one (p,q) by pivots on a device: the search of pivot.hpp, in waves of tasks.
//
// What it finds: the number of complete p×q subgraphs below given roots, exactly (leaf_sum.hpp).
//
// Input: a `PivotLaunch`, written by kernels/cuda/pivots.py, and a *grid* for each root: the later
// vertices of its side (columns, side 0) as masks over its neighbours (rows, side 1), which
// levels.cu has made.
//
// Method: a node is a set of candidates of either side of a grid, as bits, and the numbers of held
// and optional vertices. `open` writes the rows of a grid as masks over its columns and makes the
// node of all. `settle` does for a node what needs no branching. Where at most 32 candidates a side
// are left, it ends as a tree (trees.hpp). Otherwise it is stored, with a task for each of its
// children, and a group of the next wave makes a child from the stored node. So no group waits for
// another, children that end at once are never written, and the memory of a wave is free again when
// the next one has ended: waves write to two buffers in turn.
//
// Children go by the numbers of the candidates, which follow the rows that columns share with the
// root. Counts of neighbours serve the choice of a pivot as they are, though some of those counted
// have gone: any candidate would do.
//
// Cost: a node takes (candidates of one side) × (words with candidates of the other) a side.
// Memory: both masks of every grid, the nodes of two waves.
//
// Compiled for the host, where tests run it on threads, and by NVRTC (pivots.cu).
#pragma once

#include "counting/sizes.hpp"
#include "counting/leaf_sum.hpp"
#include "counting/trees.hpp"
#include "lanes/errors.hpp"

namespace bicliq {

// kernels/cuda/pivots.py describes these structs again, for the driver, which writes and reads
// them; a program where the two differ does not compile.

/// A child of a stored node: a candidate of the side that the pivot is not on is held, or, for
/// `kPivotOptional`, none of the pivot's non-neighbours is.
struct PivotTask {
  u64 node;
  u32 candidate, pad;
};
constexpr u32 kPivotOptional = ~0u;

/// Of the two buffers of waves, where there are two.
struct PivotCounters {
  u64 next_grid;
  u64 failure;    // a `Failure`
  u64 too_large;  // a term has passed 2^128
  u64 work;
  u64 next_task[2], n_tasks[2], node_words[2];
};

/// Everything a kernel is told; 64-bit fields only.
struct PivotLaunch {
  u32* arena;  // masks of the grids
  const CountNode* grids;
  u32* nodes;        // two buffers
  PivotTask* tasks;  // two buffers
  u32* workspace;
  u64* totals;       // three words of each group's sum
  u64* of_vertex[2];  // low and high word of each root's count, and of each row's, where they are wanted
  const u64* binomials;
  PivotCounters* counters;
  u64 n_grids, p, q, binomials_width, node_words, task_capacity, most_columns, most_rows;
};

/// Words that a group needs: those of a tree and of its vertices' sums, and of each side
/// candidates, held and optional ones as bits, the words that hold some candidate, the candidates
/// as a list, and counts.
constexpr u64 pivot_workspace(u64 most_columns, u64 most_rows) {
  return 68 * (words_of(static_cast<u32>(most_columns)) + words_of(static_cast<u32>(most_rows)) + 2) + 5 * kLanes;
}

/// Makes and settles nodes; one group. `Sum` is a `LeafSum`, or a `VertexSum`: then nodes know
/// which vertices they hold, and which are optional.
template <class Sum>
class PivotWaves {
 public:
  PivotWaves(const PivotLaunch& run, u32 group)
      : run_(run),
        total_(run.totals + 3 * static_cast<u64>(group)),
        sizes_(sizes_of(run)),
        sum_(sizes_, {run.binomials, run.binomials_width}) {
    const u32 most[2] = {static_cast<u32>(run.most_columns), static_cast<u32>(run.most_rows)};
    u32* at = run.workspace + group * pivot_workspace(run.most_columns, run.most_rows);
    tree_ = at;
    at += 5 * kLanes;
    for (u32 a = 0; a < 2; ++a) {
      const u32 words = words_of(most[a]) + 1;
      alive_[a] = at;
      used_[a] = at + words;
      list_[a] = at + 2 * words;
      counts_[a] = at + 34 * words;
      held_[a] = at + 66 * words;
      optional_[a] = at + 67 * words;
      at += 68 * words;
    }
  }

  /// All grids, by whoever comes.
  void open_all() {
    to_ = 0;
    for (u64 i; !failed() && (i = fetch_add(&run_.counters->next_grid, 1)) < run_.n_grids;) open(static_cast<u32>(i));
    end();
  }
  /// All tasks of a wave, whose buffer is `from`.
  void search(u32 from) {
    to_ = 1 - from;
    const u64 n = read(&run_.counters->n_tasks[from]);
    for (u64 i; !failed() && (i = fetch_add(&run_.counters->next_task[from], 1)) < n;) {
      const PivotTask task = run_.tasks[from * run_.task_capacity + i];
      child(run_.nodes + from * run_.node_words + task.node, task.candidate);
    }
    end();
  }

 private:
  static constexpr u32 kHeader = 8;  // words of a stored node: grid, held, optional, side and number of the pivot
  static constexpr u32 kTreeCells = 128;  // candidates of one side times those of the other; 1,024: 1.7 to 8 times as long
  static constexpr u32 kNodeWork = 3;  // a node's, besides what it reads; in small nodes

  static constexpr bool kOfVertices = Sum::kOfVertices;

  struct Side {
    u32* masks;
    u32 n, words, stride;
    const u32* ids;  // of vertices only
    u32 word(u32 k, u32 i) const { return masks[static_cast<u64>(k) * stride + i]; }
  };

  static SizeRange sizes_of(const PivotLaunch& run) {
    const u32 p = static_cast<u32>(run.p), q = static_cast<u32>(run.q);
    return {{p, q}, {p, q}};
  }
  Sum empty_sum() const { return Sum(sizes_, {run_.binomials, run_.binomials_width}); }
  bool failed() const { return read(&run_.counters->failure) != 0; }
  void end() {
    sum_.add_to(total_);
    if (sum_.too_large) fetch_add(&run_.counters->too_large, 1);
    fetch_add(&run_.counters->work, work_);
  }

  // ---- from grids and tasks to nodes

  void look_at(u32 grid) {
    const CountNode& g = run_.grids[grid];
    grid_ = grid;
    u32* rows = run_.arena + g.masks + static_cast<u64>(g.words) * g.stride;
    const u32 words = words_of(g.n), *ids = rows + static_cast<u64>(words) * stride_of(g.need);
    side_[0] = {run_.arena + g.masks, g.n, words, g.stride, ids};
    side_[1] = {rows, g.need, g.words, stride_of(g.need), ids + g.n};
  }
  void open(u32 grid) {
    look_at(grid);
    for (u32 k = 0; k < side_[1].words; ++k)
      for (u32 c = 0; c < side_[0].words; ++c) {
        const u32* from = side_[0].masks + static_cast<u64>(k) * side_[0].stride + 32 * c;
        const u32 n = side_[0].n - 32 * c;
        store(side_[1].masks + static_cast<u64>(c) * side_[1].stride + 32 * k,
              column_masks_apart(from, 1, n < kLanes ? n : kLanes));
      }
    for (u32 a = 0; a < 2; ++a) {
      const u32 n = side_[a].n;
      u32* alive = alive_[a];
      each_item(side_[a].words, [=](u32 k) { alive[k] = n - 32 * k < kLanes ? (1u << n % 32) - 1 : ~0u; });
      if constexpr (kOfVertices) {
        clear(held_[a], side_[a].words);
        clear(optional_[a], side_[a].words);
      }
    }
    settle({{1, 0}, {0, 0}});
  }
  void child(const u32* node, u32 candidate) {
    look_at(node[0]);
    Held s = {{node[1], node[2]}, {node[3], node[4]}};
    const u32 a = node[5], b = 1 - a, pivot = node[6];
    const u32* from[2] = {node + kHeader, node + kHeader + side_[0].words};
    if constexpr (kOfVertices) {
      const u32* sets = from[1] + side_[1].words;
      for (u32 c = 0; c < 2; ++c) {
        copy(sets, held_[c], side_[c].words);
        copy(sets + side_[c].words, optional_[c], side_[c].words);
        sets += 2 * side_[c].words;
      }
      u32* grown = candidate == kPivotOptional ? optional_[a] : held_[b];
      const u32 i = candidate == kPivotOptional ? pivot : candidate;
      put(grown + i / 32, grown[i / 32] | 1u << i % 32);
    }
    const Side &mine = side_[a], &other = side_[b];
    const u32 *from_mine = from[a], *from_other = from[b];
    u32 *to_mine = alive_[a], *to_other = alive_[b];
    if (candidate == kPivotOptional) {
      each_item(mine.words, [=](u32 k) { to_mine[k] = from_mine[k] & ~bit_in(pivot, k); });
      each_item(other.words, [=](u32 k) { to_other[k] = from_other[k] & mine.word(k, pivot); });
      ++s.optional[a];
    } else {
      each_item(mine.words, [=](u32 k) { to_mine[k] = from_mine[k] & other.word(k, candidate); });
      each_item(other.words, [=](u32 k) {  // without the non-neighbours of the pivot up to this one
        to_other[k] = from_other[k] & (mine.word(k, pivot) | above(candidate, k));
      });
      ++s.held[b];
    }
    settle(s);
  }
  /// Word k of a set that has one element, or all above one.
  static u32 bit_in(u32 i, u32 k) { return i / 32 == k ? 1u << i % 32 : 0; }
  static u32 above(u32 i, u32 k) { return i / 32 > k ? 0 : i / 32 < k ? ~0u : ~1u << i % 32; }

  // ---- what needs no branching

  void settle(Held s) {
    work_ += kNodeWork;
    for (u32 a = 0; a < 2; ++a) list(a);
    for (u32 a = 0; a < 2; ++a)
      if (s.held[a] == sizes_.most[a]) drop_all(a);
    if (is_narrow()) return tree(s);
    for (u32 a = 0; a < 2; ++a) {
      count(a);
      s.optional[a] += sort_out(a, s.wanted(1 - a, sizes_.least));
    }
    for (u32 a = 0; a < 2; ++a)
      if (s.sure(a) + n_[a] < sizes_.least[a]) return;
    for (u32 a = 0; a < 2; ++a)
      if (n_[0] && n_[1]) settle_isolated(s, a);
    if (!n_[0] || !n_[1]) return leaf(s, true, true, false);
    if (is_narrow()) return tree(s);
    branch(s);
  }
  /// Larger trees than that hold one group up while the others have nothing left to do.
  bool is_narrow() const { return n_[0] <= kLanes && n_[1] <= kLanes && n_[0] * n_[1] <= kTreeCells; }

  /// Lists the candidates of a side and the words that hold them.
  void list(u32 a) {
    const u32* alive = alive_[a];
    n_used_[a] = list_if(used_[a], side_[a].words, [=](u32 k) { return alive[k] != 0; });
    n_[a] = list_bits(list_[a], side_[a].words, [=](u32 k) { return alive[k]; });
  }
  void drop_all(u32 a) {
    clear(alive_[a], side_[a].words);
    n_[a] = n_used_[a] = 0;
  }
  static void clear(u32* words, u32 n) {
    each_item(n, [=](u32 k) { words[k] = 0; });
  }
  static void copy(const u32* from, u32* to, u32 n) {
    each_item(n, [=](u32 k) { to[k] = from[k]; });
  }
  /// Counts the neighbours of each candidate among those of the other side.
  void count(u32 a) {
    const Side& side = side_[a];
    const u32 *alive = alive_[1 - a], *used = used_[1 - a], *candidates = list_[a], n_used = n_used_[1 - a];
    u32* counts = counts_[a];
    work_ += static_cast<u64>(n_[a]) * n_used / 128;
    each_item(n_[a], [=](u32 t) {
      const u32 i = candidates[t];
      u32 found = 0;
      for (u32 u = 0; u < n_used; ++u) found += popcount(side.word(used[u], i) & alive[used[u]]);
      counts[i] = found;
    });
  }
  /// Drops candidates with too few neighbours and takes out those with all of them; returns how
  /// many these were. Lists stay as they are.
  u32 sort_out(u32 a, u32 least) {
    const u32 all = n_[1 - a];
    u32 n_optional = 0;
    n_[a] = 0;
    for (u32 u = 0; u < n_used_[a]; ++u) {
      const u32 k = used_[a][u], bits = alive_[a][k];
      const Lanes found = load(counts_[a] + 32 * k);
      const u32 enough = bits & ballot(found >= splat(least)), optional = enough & ballot(found == splat(all));
      put(alive_[a] + k, enough & ~optional);
      if constexpr (kOfVertices) put(optional_[a] + k, optional_[a][k] | optional);
      n_optional += popcount(optional);
      n_[a] += popcount(enough & ~optional);
    }
    return n_optional;
  }
  /// Bicliques with a candidate that has no neighbour left: the difference of two leaves. Who had
  /// none among more candidates has none now.
  void settle_isolated(const Held& s, u32 a) {
    u32 n = 0;
    for (u32 u = 0; u < n_used_[a]; ++u) n += popcount(with_neighbours(a, u));
    if (n == n_[a]) return;
    leaf(s, a == 0, a == 1, false);
    for (u32 u = 0; u < n_used_[a]; ++u) put(alive_[a] + used_[a][u], with_neighbours(a, u));
    n_[a] = n;
    leaf(s, a == 0, a == 1, true);
  }
  u32 with_neighbours(u32 a, u32 u) const {
    const u32 k = used_[a][u];
    return alive_[a][k] & ballot(nonzero(load(counts_[a] + 32 * k)));
  }

  /// Adds a leaf with all candidates of one side optional, or of both.
  void leaf(const Held& s, bool with_columns, bool with_rows, bool negative) {
    const Held all = s.with_optional(0, with_columns ? n_[0] : 0).with_optional(1, with_rows ? n_[1] : 0);
    if constexpr (kOfVertices) {
      Sum sum = empty_sum();
      const VertexShare share = sum.leaf(all, negative);
      sum_.add(sum.sum);
      credit(share, with_columns ? alive_[0] : nullptr, with_rows ? alive_[1] : nullptr);
    } else {
      sum_.add(all, negative);
    }
  }
  /// Adds a share to what the node holds and has optional, with more optional columns and rows.
  void credit(const VertexShare& share, const u32* columns, const u32* rows) const {
    for (u32 a = 0; a < 2; ++a) {
      const u32 *held = held_[a], *optional = optional_[a], *more = a ? rows : columns, *ids = side_[a].ids;
      u64* counts = run_.of_vertex[a];
      const Words128 all = share.all, of_optional = share.of_optional[a];
      each_item(side_[a].words, [=](u32 k) {
        for (u32 bits = held[k]; bits; bits &= bits - 1)
          add_alone(counts + 2 * static_cast<u64>(ids[32 * k + first_set(bits)]), all);
        for (u32 bits = optional[k] | (more ? more[k] : 0); bits; bits &= bits - 1)
          add_alone(counts + 2 * static_cast<u64>(ids[32 * k + first_set(bits)]), of_optional);
      });
    }
    const u32 root = side_[1].ids[side_[1].n];
    u64* of_root = run_.of_vertex[0] + 2 * static_cast<u64>(root);
    const Words128 all = share.all;
    each_item(1, [=](u32) { add_alone(of_root, all); });
  }

  // ---- what does

  /// At most 32 candidates a side: masks in registers.
  void tree(const Held& s) {
    for (u32 a = 0; a < 2; ++a) list(a);
    const u32 *columns = list_[0], *rows = list_[1], n = n_[0], n_rows = n_[1];
    const Side& side = side_[0];
    u32* masks = tree_;
    each_item(n, [=](u32 i) {
      u32 bits = 0;
      for (u32 j = 0; j < n_rows; ++j) bits |= (side.word(rows[j] / 32, columns[i]) >> rows[j] % 32 & 1) << j;
      masks[i] = bits;
    });
    Sum sum = empty_sum();  // with the search in registers, where members of this class are not
    TreeSearch<Sum> search(sizes_, sum);
    search.search(masks, n, n_rows, s);
    work_ += search.nodes;
    if constexpr (kOfVertices) {
      sum_.add(sum.sum);
      for (u32 a = 0; a < 2; ++a) credit_candidates(a, sum.candidate[a]);
      credit(sum.share, nullptr, nullptr);
    } else {
      sum_.add(sum);
    }
  }
  void credit_candidates(u32 a, const LaneSums& sums) {
    u32* words = tree_ + kLanes;
    for (u32 k = 0; k < 4; ++k) store(words + kLanes * k, sums.word[k]);
    const u32 *candidates = list_[a], *ids = side_[a].ids;
    u64* counts = run_.of_vertex[a];
    each_item(n_[a], [=](u32 i) {
      const auto both = [=](u32 k) { return words[kLanes * k + i] | static_cast<u64>(words[kLanes * (k + 1) + i]) << 32; };
      add_alone(counts + 2 * static_cast<u64>(ids[candidates[i]]), {both(0), both(2)});
    });
  }

  /// The candidate with most neighbours, and how many it has.
  u32 with_most(u32 a, u32& most) const {
    Lanes best = splat(0);
    const auto counts = [&](u32 u) {
      const u32 k = used_[a][u];
      return select(flags(alive_[a][k]), load(counts_[a] + 32 * k), splat(0));
    };
    for (u32 u = 0; u < n_used_[a]; ++u) {
      const Lanes own = counts(u);
      best = select(own > best, own, best);
    }
    most = largest(best);
    u32 u = 0, where;
    while (!(where = ballot(counts(u) == splat(most)) & alive_[a][used_[a][u]])) ++u;
    return 32 * used_[a][u] + first_set(where);
  }
  /// Chooses the pivot, stores the node, and a task for each child.
  void branch(const Held& s) {
    u32 most[2];
    const u32 best[2] = {with_most(0, most[0]), with_most(1, most[1])};
    const u32 a = fewer_absent(most[0], n_[1]) <= fewer_absent(most[1], n_[0]) ? 0 : 1, b = 1 - a, pivot = best[a];
    const Side& mine = side_[a];
    const u32* rest = alive_[b];
    u32* missing = list_[b];
    const u32 n = list_bits(missing, side_[b].words, [=](u32 k) { return rest[k] & ~mine.word(k, pivot); });

    const u32 words[2] = {side_[0].words, side_[1].words}, n_tasks = n + 1;
    const u64 size = kHeader + static_cast<u64>(kOfVertices ? 3 : 1) * (words[0] + words[1]);
    const u64 at = fetch_add(&run_.counters->node_words[to_], size);
    const u64 first = fetch_add(&run_.counters->n_tasks[to_], n_tasks);
    if (at + size > run_.node_words) return fail(Failure::kArenaFull);
    if (first + n_tasks > run_.task_capacity) return fail(Failure::kTasksFull);
    u32* node = run_.nodes + to_ * run_.node_words + at;
    const u32 header[kHeader] = {grid_, s.held[0], s.held[1], s.optional[0], s.optional[1], a, pivot, 0};
    each_item(1, [&](u32) {
      for (u32 k = 0; k < kHeader; ++k) node[k] = header[k];
    });
    const u32 *alive[2] = {alive_[0], alive_[1]};
    each_item(words[0] + words[1], [=](u32 k) { node[kHeader + k] = k < words[0] ? alive[0][k] : alive[1][k - words[0]]; });
    if constexpr (kOfVertices) {
      u32* sets = node + kHeader + words[0] + words[1];
      for (u32 c = 0; c < 2; ++c) {
        copy(held_[c], sets, words[c]);
        copy(optional_[c], sets + words[c], words[c]);
        sets += 2 * words[c];
      }
    }
    PivotTask* tasks = run_.tasks + to_ * run_.task_capacity + first;
    each_item(n_tasks, [=](u32 i) { tasks[i] = {at, i < n ? missing[i] : kPivotOptional, 0}; });
  }
  static u32 fewer_absent(u32 most, u32 others) { return most < others ? others - most : 0; }
  void fail(Failure why) const {
    publish(reinterpret_cast<u32*>(&run_.counters->failure), static_cast<u32>(why));
  }

  const PivotLaunch& run_;
  u64* const total_;
  const SizeRange sizes_;
  LeafSum sum_;
  u32 *tree_, *alive_[2], *used_[2], *list_[2], *counts_[2], *held_[2], *optional_[2];
  u32 to_ = 0, grid_ = 0, n_[2] = {}, n_used_[2] = {};
  Side side_[2] = {};
  u64 work_ = 0;
};

}  // namespace bicliq
