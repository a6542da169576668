// pivot.hpp: (p,q)-bicliques without visiting them: held and optional vertices, and products of
// binomials.
//
// What: for every biclique with a first vertex v on the root side, sizes within `SizeRange`, its
// share of a sum (pivot_sums.hpp): one (p,q), the same for every vertex, or all (p,q) in one pass.
//
// Method: a node has two sets of candidates, one a side, of which any subsets that are complete to
// each other may be added to what is held; its optional vertices are adjacent to all candidates of
// the other side and come or do not. A candidate adjacent to the whole other side becomes optional.
// Otherwise the candidate with fewest non-neighbours is the pivot: bicliques with none of these
// non-neighbours have the pivot optional (one child); the others hold a first one of them, in a
// fixed order (one child each). With one side empty, all is optional: a leaf, a product of
// binomials. Candidates with no neighbour left are settled by the difference of two leaves.
//
// Paths: at most 32 candidates a side: two words of state over two registers of masks, nothing is
// written. (trees.hpp does that without recursion: one count takes 5 % less by it, that of each
// vertex 3 to 8 % more, since there each leaf gives its share to all that it holds.) More: every
// child gets a grid of its own, both ways round, of the candidates that still matter.
//
// Sides are 0 (roots) and 1 (rows) throughout, so that one text serves pivots of either. Cost:
// leaves × a few dozen operations, whatever p and q are. Papers: Pivoter (Jain, Seshadhri, WSDM
// 2020), EPivoter (Ye et al., SIGMOD 2023).
#pragma once

#include "counting/grid.hpp"
#include "counting/local_columns.hpp"
#include "counting/sizes.hpp"
#include "lanes/workers.hpp"

#include <algorithm>

namespace bicliq {

/// The search of one worker.
template <class Sums>
class alignas(kLineBytes) Pivot {
 public:
  using Part = typename Sums::Part;
  Pivot(const Run& run, const CountSide& roots, const CountSide& rows, SizeRange sizes, Sums sums_)
      : sums(std::move(sums_)), run_(run), local_(roots, rows), roots_(roots), sizes_(sizes) {}

  Sums sums;
  u64 work = 0;  // in the time of a node of at most 32 candidates a side, the unit of the estimate

  /// An estimate of the work below v, from so many random ways down.
  double sampled_work(u32 v, u32 ways, u64 seed) {
    ways_.begin(seed, work);
    const u32 n = open(v);
    for (u32 k = 0; n > 0 && k < ways; ++k) {
      ways_.weigh(1.0 / ways, work);
      any_branch(node_);
    }
    return ways_.end(work);
  }

  /// Counts what needs no branching below v; returns the number of independent branches that
  /// remain.
  u32 open(u32 v) {
    memory_.release({});
    sums.end_of_root();
    root_ = v;
    if (roots_.degree(v) < sizes_.least[1]) return 0;
    const u32 n = local_.meet(v, sizes_.least[1]);
    work += kRoot + local_.paths() / kPathsANode;
    if (n + 1 < sizes_.least[0]) {
      local_.forget();
      return 0;
    }
    const Columns columns = local_.fill(memory_);
    work += n / kColumnsANode + local_.paths() / kPathsANode;
    const Held held = {{1, 0}, {0, 0}};
    Part settled{};
    const Grid whole = whole_grid(columns, roots_.degree(v));
    const Grid grid = narrowed(whole, 0, all_bits(n), all_bits(roots_.degree(v)), held, settled);
    if (fits(grid)) {
      settled += count(grid, held);
      sums.hold(0, v, settled);
      return 0;
    }
    sums.hold(0, v, settled);
    node_ = Node{grid, held};
    settled = Part{};
    const bool branches = prepare(node_, settled);
    sums.hold(0, v, settled);
    return branches ? node_.n_missing + 1 : 0;
  }
  void step(const Pivot& owner, u32 i) {
    const Workspace::Mark mark = memory_.mark();
    const Part part = branch(owner.node_, i);
    settle_optional(owner.node_, part);
    sums.hold(0, owner.root_, part);
    memory_.release(mark);
  }

 private:
  // In the time of a node of at most 32 candidates a side (kernels/contracts.py, `work`), by least
  // squares over 186 counts.
  static constexpr u64 kRoot = 4, kGrid = 3, kPathsANode = 25, kColumnsANode = 4, kWordsANode = 4;

  struct Node {
    Grid grid;
    Held held;
    u32* alive[2] = {};     // candidates that are neither optional nor useless
    u32* optional[2] = {};  // those that this node made optional
    u32 pivot_side = 0, pivot = 0;
    u32 *missing = nullptr, n_missing = 0;
    u32 left[2] = {};           // candidates alive
    const u32* counts[2] = {};  // neighbours of each
  };

  static bool fits(const Grid& g) { return g.side[0].n <= kLanes && g.side[1].n <= kLanes; }
  u32 wanted(u32 a, const Held& s) const { return s.wanted(a, sizes_.least); }
  u32* all_bits(u32 n) {
    u32* bits = memory_.take(words_for(n) + 1);
    for (u32 k = 0; k < words_for(n); ++k) bits[k] = low_bits(n - 32 * k);
    return bits;
  }
  Grid whole_grid(const Columns& columns, u32 n_rows) {
    Grid g;
    g.side[0] = {columns.n, columns.words, columns.stride, columns.masks, local_.ids().data()};
    u32* rows = memory_.take(n_rows);
    std::copy(roots_.begin(root_), roots_.end(root_), rows);
    g.side[1] = {n_rows, 0, 0, nullptr, rows};
    return g;
  }

  Part count(const Grid& g, const Held& s) {
    if (!fits(g)) return wide(g, s);
    if constexpr (Sums::kGivesTrees) {
      const u32 n[2] = {g.side[0].n, g.side[1].n};
      if (sums.giver.give(g.side[0].masks, n, s.held, s.optional)) return {};
    }
    return small(g, low_bits(g.side[0].n), low_bits(g.side[1].n), s);
  }

  // ---- more than 32 candidates on a side

  Part wide(const Grid& g, const Held& s) {
    if (stack_is_low())
      throw CapacityError("pivots go deeper in this graph than a thread's stack has room for; raise it (ulimit -s), or take method 'levels'");
    if (run_.stopped()) return {};
    const Workspace::Mark mark = memory_.mark();
    Node node{g, s};
    Part part{};
    if (prepare(node, part)) {
      if (ways_.on())
        any_branch(node);
      else
        for (u32 i = 0; i <= node.n_missing && !run_.stopped(); ++i) {
          const Part below = branch(node, i);
          settle_optional(node, below);
          part += below;
        }
    }
    memory_.release(mark);
    return part;
  }

  /// Settles what needs no branching and chooses the pivot; false where the node is done, its share
  /// then in `part`.
  bool prepare(Node& node, Part& part) {
    work += 1;
    for (u32 a : {0u, 1u}) {
      const u32 n = node.grid.side[a].n;
      node.alive[a] = all_bits(n);
      node.optional[a] = memory_.take(words_for(n) + 1);
      std::memset(node.optional[a], 0, (words_for(n) + 1) * sizeof(u32));
      if (node.held.held[a] == sizes_.most[a]) std::memset(node.alive[a], 0, (words_for(n) + 1) * sizeof(u32));
    }
    u32* left = node.left;
    for (u32 a : {0u, 1u}) node.counts[a] = sort_out(node, a);
    for (u32 a : {0u, 1u}) left[a] = count_bits(node.alive[a], words_for(node.grid.side[a].n));
    for (u32 a : {0u, 1u})
      if (node.held.sure(a) + left[a] < sizes_.least[a]) return false;
    if (left[0] == 0 || left[1] == 0) {
      for (u32 a : {0u, 1u}) {
        node.held.optional[a] += left[a];
        for (u32 k = 0; k < words_for(node.grid.side[a].n); ++k) node.optional[a][k] |= node.alive[a][k];
      }
      part = sums.leaf(node.held);
      settle_optional(node, part);
      return false;
    }
    choose_pivot(node);
    return true;
  }

  /// Drops candidates with too few neighbours and makes those with all of them optional; returns
  /// the numbers of neighbours.
  const u32* sort_out(Node& node, u32 a) {
    const GridSide& side = node.grid.side[a];
    const u32 b = 1 - a, all = count_bits(node.alive[b], side.words), least = wanted(b, node.held);
    u32* counts = memory_.take(side.n + kLanes);
    for (u32 k = 0; k < words_for(side.n); ++k) {
      Lanes count = splat(0);
      for (u32 w = 0; w < side.words; ++w)
        if (node.alive[b][w])
          count = count + popcounts(load(side.masks + static_cast<std::size_t>(w) * side.stride + 32 * k) & splat(node.alive[b][w]));
      store(counts + 32 * k, count);
      node.alive[a][k] &= ballot(count >= splat(least));
      node.optional[a][k] = node.alive[a][k] & ballot(count == splat(all));
      node.alive[a][k] &= ~node.optional[a][k];
    }
    node.held.optional[a] += count_bits(node.optional[a], words_for(side.n));
    return counts;
  }
  static u32 count_bits(const u32* bits, u32 words) {
    u32 n = 0;
    for (u32 k = 0; k < words; ++k) n += popcount(bits[k]);
    return n;
  }

  void choose_pivot(Node& node) {
    const u32 *left = node.left, *const *counts = node.counts;
    u32 fewest = ~0u;
    for (u32 a : {0u, 1u})
      each_bit(node.alive[a], words_for(node.grid.side[a].n), [&](u32 i) {
        const u32 absent = counts[a][i] < left[1 - a] ? left[1 - a] - counts[a][i] : 0;
        if (absent >= fewest) return;
        fewest = absent;
        node.pivot_side = a;
        node.pivot = i;
      });
    const u32 a = node.pivot_side, b = 1 - a;
    node.missing = memory_.take(left[b]);
    each_bit(node.alive[b], words_for(node.grid.side[b].n), [&](u32 j) {
      if (!(node.grid.side[a].word(j / 32, node.pivot) >> (j % 32) & 1)) node.missing[node.n_missing++] = j;
    });
    std::sort(node.missing, node.missing + node.n_missing,
              [&](u32 i, u32 j) { return counts[b][i] != counts[b][j] ? counts[b][i] < counts[b][j] : i < j; });
  }

  /// Child i of a node: a missing candidate is held, or, after the last of them, the pivot is
  /// optional.
  Part branch(const Node& node, u32 i) {
    const Workspace::Mark mark = memory_.mark();
    const u32 a = node.pivot_side, b = 1 - a, words_b = words_for(node.grid.side[b].n), words_a = words_for(node.grid.side[a].n);
    u32* rest = memory_.take(words_b + 1);
    std::copy(node.alive[b], node.alive[b] + words_b, rest);
    for (u32 k = 0; k < std::min(i + 1, node.n_missing); ++k) rest[node.missing[k] / 32] &= ~(1u << (node.missing[k] % 32));
    u32* kept = memory_.take(words_a + 1);
    std::copy(node.alive[a], node.alive[a] + words_a, kept);
    const bool is_held = i < node.n_missing;
    if (is_held)
      for (u32 k = 0; k < words_a; ++k) kept[k] &= node.grid.side[b].word(k, node.missing[i]);
    else
      kept[node.pivot / 32] &= ~(1u << (node.pivot % 32));
    const Held held = is_held ? node.held.with_held(b) : node.held.with_optional(a, 1);
    Part part{};
    const Grid child = narrowed(node.grid, a, kept, rest, held, part);
    part += count(child, held);
    if constexpr (Sums::kOfVertices) {  // else grids have no ids
      if (is_held)
        sums.hold(b, node.grid.side[b].ids[node.missing[i]], part);
      else
        sums.make_optional(a, node.grid.side[a].ids[node.pivot], part);
    }
    memory_.release(mark);
    return part;
  }

  /// One child, drawn in proportion to the candidates that it would have.
  void any_branch(const Node& node) {
    const u32 n = node.n_missing, rest = node.left[1 - node.pivot_side];
    const auto size = [&](u32 i) {
      if (i == n) return static_cast<double>(node.left[node.pivot_side]) * (rest - n + 1);
      return (1.0 + node.counts[1 - node.pivot_side][node.missing[i]]) * (rest - i);
    };
    double all = 0;
    for (u32 i = 0; i <= n; ++i) all += size(i);
    double at = ways_.draw() * all;
    u32 i = 0;
    while (i < n && at >= size(i)) at -= size(i++);
    const double before = ways_.weight();
    ways_.weigh(before * all / size(i), work);
    branch(node, i);
    ways_.weigh(before, work);
  }

  void settle_optional(const Node& node, const Part& part) {
    if constexpr (Sums::kOfVertices)
      for (u32 a : {0u, 1u})
        each_bit(node.optional[a], words_for(node.grid.side[a].n), [&](u32 i) { sums.make_optional(a, node.grid.side[a].ids[i], part); });
  }

  /// The grid of the kept candidates of side a and the rest of the other side, without those that
  /// have no neighbour left: bicliques with one of these are settled here, into `part`.
  Grid narrowed(const Grid& g, u32 a, const u32* kept, const u32* rest, const Held& s, Part& part) {
    const GridSide& from = g.side[a];
    const u32 b = 1 - a, words_b = words_for(g.side[b].n);
    u32* touched = memory_.take(words_b + 1);
    u32* used = memory_.take(words_b + 1);
    std::memset(touched, 0, (words_b + 1) * sizeof(u32));
    u32 n_used = 0;
    for (u32 k = 0; k < words_b; ++k)
      if (rest[k]) used[n_used++] = k;
    const u32 least = std::max(1u, wanted(b, s));
    u32* list = memory_.take(count_bits(kept, words_for(from.n)) + 1);
    u32* alone = memory_.take(count_bits(kept, words_for(from.n)) + 1);
    u32 n = 0, n_alone = 0;
    each_bit(kept, words_for(from.n), [&](u32 i) {
      u32 common = 0;
      for (u32 k = 0; k < n_used; ++k) common += popcount(from.word(used[k], i) & rest[used[k]]);
      if (common >= least) {
        list[n++] = i;
        for (u32 k = 0; k < n_used; ++k) touched[used[k]] |= from.word(used[k], i) & rest[used[k]];
      } else if (common == 0) {
        alone[n_alone++] = i;
      }
    });
    settle_alone(g, s, a, alone, wanted(b, s) ? 0 : n_alone, list, n, part);
    settle_untouched(g, s, b, rest, touched, part);
    work += kGrid + static_cast<u64>(n) * n_used / kWordsANode;
    return compressed(g, a, list, n, touched, used, n_used);
  }
  /// Bicliques with some of the candidates that have no neighbour left: their side is all optional,
  /// the other holds what it has.
  void settle_alone(const Grid& g, const Held& s, u32 a, const u32* alone, u32 n_alone, const u32* list, u32 n, Part& part) {
    if (n_alone == 0 || s.held[a] == sizes_.most[a]) return;
    const auto [more, less] = sums.difference(s.with_optional(a, n + n_alone), s.with_optional(a, n));
    part += more;
    part -= less;
    if constexpr (Sums::kOfVertices) {
      for (u32 k = 0; k < n_alone; ++k) sums.make_optional(a, g.side[a].ids[alone[k]], more);
      Part both = more;
      both -= less;
      for (u32 k = 0; k < n; ++k) sums.make_optional(a, g.side[a].ids[list[k]], both);
    }
  }
  void settle_untouched(const Grid& g, const Held& s, u32 b, const u32* rest, const u32* touched, Part& part) {
    if (wanted(1 - b, s)) return;
    const u32 words = words_for(g.side[b].n);
    u32* alone = memory_.take(32 * words + 1);
    u32* list = memory_.take(32 * words + 1);
    u32 n_alone = 0, n = 0;
    each_bit(rest, words, [&](u32 i) { has_bit(touched, i) ? list[n++] = i : alone[n_alone++] = i; });
    settle_alone(g, s, b, alone, n_alone, list, n, part);
  }
  Grid compressed(const Grid& g, u32 a, const u32* list, u32 n, const u32* touched, const u32* used, u32 n_used) {
    const GridSide& from = g.side[a];
    const u32 b = 1 - a, m = count_bits(touched, words_for(g.side[b].n));
    Grid out;
    u32 *mine = shape(out.side[a], n, m), *other = shape(out.side[b], m, n);
    u32 at = 0;
    for (u32 k = 0; k < n_used; ++k) {
      const u32 x = touched[used[k]];
      if (!x) continue;
      const u32 bits = popcount(x), shift = at % 32;
      u32* to = mine + static_cast<std::size_t>(at / 32) * out.side[a].stride;
      for (u32 i = 0; i < n; ++i) {
        const u64 y = static_cast<u64>(compress_bits(from.word(used[k], list[i]), x)) << shift;
        to[i] |= static_cast<u32>(y);
        if (shift + bits > 32) to[out.side[a].stride + i] |= static_cast<u32>(y >> 32);
      }
      at += bits;
    }
    for (u32 w = 0; w < out.side[a].words; ++w)
      for (u32 i = 0; i < n; ++i)
        each_bit(out.side[a].word(w, i), [&](u32 j) { other[static_cast<std::size_t>(i / 32) * out.side[b].stride + 32 * w + j] |= 1u << (i % 32); });
    if constexpr (Sums::kOfVertices) {
      u32 *ids = memory_.take(n), *others = memory_.take(m), j = 0;
      for (u32 i = 0; i < n; ++i) ids[i] = from.ids[list[i]];
      each_bit(touched, words_for(g.side[b].n), [&](u32 i) { others[j++] = g.side[b].ids[i]; });
      out.side[a].ids = ids;
      out.side[b].ids = others;
    }
    return out;
  }
  u32* shape(GridSide& side, u32 n, u32 of) {
    side.n = n;
    side.words = words_for(of);
    side.stride = (n + 63) / 32 * 32;
    const std::size_t size = static_cast<std::size_t>(side.stride) * side.words + kLanes;
    u32* masks = memory_.take(size);
    std::memset(masks, 0, size * sizeof(u32));
    side.masks = masks;
    return masks;
  }

  // ---- at most 32 candidates a side: sets are words

  Part small(const Grid& g, u32 alive0, u32 alive1, Held s) {
    Part part{};
    work += 1;
    u32 alive[2] = {s.held[0] == sizes_.most[0] ? 0 : alive0, s.held[1] == sizes_.most[1] ? 0 : alive1}, optional[2];
    const Lanes masks[2] = {load(g.side[0].masks), load(g.side[1].masks)};
    for (u32 a : {0u, 1u}) {
      const Lanes neighbours = popcounts(masks[a] & splat(alive[1 - a]));
      alive[a] &= ballot(neighbours >= splat(wanted(1 - a, s)));
      optional[a] = alive[a] & ballot(neighbours == splat(popcount(alive[1 - a])));
      alive[a] &= ~optional[a];
      s.optional[a] += popcount(optional[a]);
    }
    for (u32 a : {0u, 1u})
      if (s.sure(a) + popcount(alive[a]) < sizes_.least[a]) return part;
    for (u32 a : {0u, 1u})
      if (alive[0] && alive[1]) part += isolated(g, alive, a, masks[a], s);
    if (alive[0] && alive[1]) {
      part += branches(g, alive, masks, s);
    } else {
      for (u32 a : {0u, 1u}) s.optional[a] += popcount(alive[a]);
      part += leaf(g, alive, s);
    }
    for (u32 a : {0u, 1u}) make_optional(g, a, optional[a], part);
    return part;
  }
  /// A node without candidates on one side: those of the other are optional in this leaf.
  Part leaf(const Grid& g, const u32* alive, const Held& s) {
    const Part part = sums.leaf(s);
    make_optional(g, 0, alive[0], part);
    make_optional(g, 1, alive[1], part);
    return part;
  }
  Part isolated(const Grid& g, u32* alive, u32 a, Lanes masks, const Held& s) {
    const u32 alone = alive[a] & ~ballot(meets(masks, splat(alive[1 - a])));
    Part part{};
    if (!alone) return part;
    const u32 others = alive[a] & ~alone, n = popcount(others);
    const auto [more, less] = sums.difference(s.with_optional(a, n + popcount(alone)), s.with_optional(a, n));
    part += more;
    part -= less;
    make_optional(g, a, alone, more);
    make_optional(g, a, others, part);
    alive[a] = others;
    return part;
  }
  Part branches(const Grid& g, const u32* alive, const Lanes* masks, const Held& s) {
    u32 best[2];
    for (u32 a : {0u, 1u}) {
      const Lanes neighbours = popcounts(masks[a] & splat(alive[1 - a]));
      best[a] = largest(only(flags(alive[a]), shift_left(neighbours, 5) | lane_numbers()));
    }
    const u32 a = popcount(alive[1]) - best[0] / 32 <= popcount(alive[0]) - best[1] / 32 ? 0 : 1, b = 1 - a, pivot = best[a] % 32;
    const u32 missing = alive[b] & ~g.side[a].masks[pivot];
    if (ways_.on()) {
      any_small_branch(g, a, alive[a], alive[b], missing, pivot, s);
      return {};
    }
    Part part{};
    u32 next[2];
    next[b] = alive[b];
    each_bit(missing, [&](u32 i) {
      next[b] &= ~(1u << i);
      next[a] = alive[a] & g.side[b].masks[i];
      const Part below = small(g, next[0], next[1], s.with_held(b));
      if constexpr (Sums::kOfVertices) sums.hold(b, g.side[b].ids[i], below);
      part += below;
    });
    next[a] = alive[a] & ~(1u << pivot);
    const Part below = small(g, next[0], next[1], s.with_optional(a, 1));
    make_optional(g, a, 1u << pivot, below);
    part += below;
    return part;
  }
  /// One child of a small node, drawn in proportion to the candidates that it would have.
  void any_small_branch(const Grid& g, u32 a, u32 mine, u32 others, u32 missing, u32 pivot, const Held& s) {
    const u32 b = 1 - a;
    u32 rest[2], next[2];
    rest[b] = others;
    double all = 0, drawn = 0;
    Held held = s;
    const auto child = [&](u32 left, const Held& with) {
      rest[a] = left;
      const double size = (1.0 + popcount(left)) * (1.0 + popcount(rest[b]));
      all += size;
      if (ways_.draw() * all >= size) return;
      drawn = size;
      held = with;
      next[0] = rest[0];
      next[1] = rest[1];
    };
    each_bit(missing, [&](u32 i) {
      rest[b] &= ~(1u << i);
      child(mine & g.side[b].masks[i], s.with_held(b));
    });
    child(mine & ~(1u << pivot), s.with_optional(a, 1));
    const double before = ways_.weight();
    ways_.weigh(before * all / drawn, work);
    small(g, next[0], next[1], held);
    ways_.weigh(before, work);
  }
  void make_optional(const Grid& g, u32 a, u32 bits, const Part& part) {
    if constexpr (Sums::kOfVertices) each_bit(bits, [&](u32 i) { sums.make_optional(a, g.side[a].ids[i], part); });
  }

  const Run& run_;
  LocalColumns local_;
  const CountSide& roots_;
  const SizeRange sizes_;
  Workspace memory_;
  u32 root_ = 0;
  Node node_;
  RandomWays ways_;
};

}  // namespace bicliq
