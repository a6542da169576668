// open_node.hpp: a node of the search that is too large to be searched whole, opened one step.
//
// A node is a set of rows, the columns that may still join (candidates, by ascending number of its
// rows) and those that may not (excluded). Its children are what the search would try: one for each
// candidate, with the candidates before it excluded. Any of them can be made without the others,
// straight from the adjacency lists, and be searched by the search itself.
//
// Cost of a child: the edges of its rows, and the columns of its parent.
#pragma once

#include "graphs/limits.hpp"
#include "search/roots.hpp"
#include "search/subtree.hpp"
#include "graphs/graph.hpp"
#include "lanes/memory.hpp"
#include "search/sink.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bicliq {

struct OpenNode {
  u32 root = 0, n = 0, n_rows = 0;  // columns of its biclique, and rows: also those that no candidate has
  std::vector<u32> rows, candidates, excluded;
  std::vector<double> guesses;  // of each child: paths of two edges that its search can take
};

/// Opens nodes for one worker.
class NodeOpener {
 public:
  NodeOpener(const Graph& graph, const Limits& limits)
      : g_(graph), needed_(std::max(limits.min_rows, 2u)), counts_(graph.n_columns, 0), places_(graph.n_columns, 0) {}

  u64 edges = 0;  // looked at so far

  /// The node of a root, all of whose own bicliques have been reported.
  OpenNode root(u32 v) {
    OpenNode node;
    node.root = v;
    node.rows.assign(g_.column_rows.begin() + static_cast<std::ptrdiff_t>(g_.column_start[v]),
                     g_.column_rows.begin() + static_cast<std::ptrdiff_t>(g_.column_start[v + 1]));
    count(node.rows);
    const u32 d = node.n_rows = static_cast<u32>(node.rows.size());
    node.n = 1;
    for (u32 w : touched_) {
      if (w == v || counts_[w] < needed_) continue;
      if (w < v)
        node.excluded.push_back(w);
      else if (counts_[w] == d)
        ++node.n;
      else
        node.candidates.push_back(w);
    }
    std::sort(node.excluded.begin(), node.excluded.end());
    finish(node);
    return node;
  }

  /// The child for a candidate, by its place; false where its bicliques are found elsewhere.
  bool child(const OpenNode& from, u32 place, OpenNode& to) {
    const u32 x = from.candidates[place];
    to = OpenNode();
    to.root = from.root;
    std::set_intersection(from.rows.begin(), from.rows.end(),
                          g_.column_rows.begin() + static_cast<std::ptrdiff_t>(g_.column_start[x]),
                          g_.column_rows.begin() + static_cast<std::ptrdiff_t>(g_.column_start[x + 1]),
                          std::back_inserter(to.rows));
    count(to.rows);
    const u32 d = to.n_rows = static_cast<u32>(to.rows.size());
    const bool found_elsewhere = !exclude(from.excluded.data(), from.excluded.size(), d, to) ||
                                 !exclude(from.candidates.data(), place, d, to);
    to.n = from.n + 1;
    if (!found_elsewhere)
      for (std::size_t i = place + std::size_t{1}; i < from.candidates.size(); ++i) {
        const u32 w = from.candidates[i];
        if (counts_[w] == d)
          ++to.n;
        else if (counts_[w] >= needed_)
          to.candidates.push_back(w);
      }
    if (found_elsewhere)
      forget();
    else
      finish(to);
    return !found_elsewhere;
  }

  /// The same for the search; valid until the workspace is released.
  Subtree subtree(const OpenNode& node, Workspace& memory) {
    Subtree tree;
    tree.root = node.root;
    tree.members.n = node.n;
    tree.wide = node.rows.size() > kLanes;
    tree.to = static_cast<u32>(node.candidates.size());
    if (tree.wide)
      fill_wide(node, tree.matrix, memory);
    else
      fill_narrow(node, tree, memory);
    return tree;
  }

  /// Paths of two edges from each child of a node to what it may choose from, and one.
  void guess(OpenNode& node) {
    node.guesses.assign(node.candidates.size(), 1);
    mark(node.candidates);
    for (u32 r : node.rows) {
      row_places_.clear();
      each_column(r, [&](u32 w) {
        if (places_[w]) row_places_.push_back(places_[w] - 1);
      });
      std::sort(row_places_.begin(), row_places_.end());
      for (std::size_t i = 0; i < row_places_.size(); ++i)
        node.guesses[row_places_[i]] += static_cast<double>(row_places_.size() - 1 - i);
    }
    unmark(node.candidates);
  }

 private:
  template <class F>
  void each_column(u32 row, F f) {
    edges += g_.row_degree(row);
    for (u64 e = g_.row_start[row]; e < g_.row_start[row + std::size_t{1}]; ++e) f(g_.row_columns[e]);
  }
  void count(const std::vector<u32>& rows) {
    for (u32 r : rows)
      each_column(r, [&](u32 w) {
        if (!counts_[w]++) touched_.push_back(w);
      });
  }
  void forget() {
    for (u32 w : touched_) counts_[w] = 0;
    touched_.clear();
  }
  void mark(const std::vector<u32>& columns) {
    for (u32 i = 0; i < columns.size(); ++i) places_[columns[i]] = i + 1;
  }
  void unmark(const std::vector<u32>& columns) {
    for (u32 w : columns) places_[w] = 0;
  }
  /// Excludes columns from a child, or says that one of them has all of its rows.
  bool exclude(const u32* columns, std::size_t n, u32 d, OpenNode& to) const {
    for (std::size_t i = 0; i < n; ++i) {
      if (counts_[columns[i]] == d) return false;
      if (counts_[columns[i]] >= needed_) to.excluded.push_back(columns[i]);
    }
    return true;
  }
  /// Orders the candidates, forgets rows without one, and excluded columns that are left with too
  /// few rows.
  void finish(OpenNode& node) {
    std::sort(node.candidates.begin(), node.candidates.end(),
              [&](u32 a, u32 b) { return counts_[a] != counts_[b] ? counts_[a] < counts_[b] : a < b; });
    forget();
    mark(node.candidates);
    std::vector<u32> kept;
    for (u32 r : node.rows) {
      bool wanted = false;
      each_column(r, [&](u32 w) { wanted |= places_[w] != 0; });
      if (wanted) kept.push_back(r);
    }
    unmark(node.candidates);
    node.rows.swap(kept);
    count(node.rows);
    node.excluded.erase(std::remove_if(node.excluded.begin(), node.excluded.end(), [&](u32 w) { return counts_[w] < needed_; }),
                        node.excluded.end());
    forget();
  }
  void fill_narrow(const OpenNode& node, Subtree& tree, Workspace& memory) {
    tree.n_rows = static_cast<u32>(node.rows.size());
    tree.n_candidates = tree.to;
    tree.n_excluded = static_cast<u32>(node.excluded.size());
    tree.rows = memory.take(kLanes);
    tree.candidates = memory.take(tree.n_candidates);
    tree.ids = memory.take(tree.n_candidates);
    tree.excluded = memory.take(tree.n_excluded);
    std::copy(node.rows.begin(), node.rows.end(), tree.rows);
    std::copy(node.candidates.begin(), node.candidates.end(), tree.ids);
    for (u32 i = 0; i < tree.n_rows; ++i) each_column(node.rows[i], [&](u32 w) { counts_[w] |= 1u << i; });
    for (u32 i = 0; i < tree.n_candidates; ++i) tree.candidates[i] = counts_[node.candidates[i]];
    for (u32 i = 0; i < tree.n_excluded; ++i) tree.excluded[i] = counts_[node.excluded[i]];
    for (u32 r : node.rows) each_column(r, [&](u32 w) { counts_[w] = 0; });
  }
  void fill_wide(const OpenNode& node, BitMatrix& m, Workspace& memory) {
    const auto n_rows = static_cast<u32>(node.rows.size()), n_excluded = static_cast<u32>(node.excluded.size());
    const auto n_candidates = static_cast<u32>(node.candidates.size());
    check_matrix(node.root, n_rows, n_excluded, n_candidates);
    m.shape(memory, n_rows, n_excluded, n_candidates);
    std::copy(node.rows.begin(), node.rows.end(), m.row_ids);
    std::copy(node.candidates.begin(), node.candidates.end(), m.ids);
    std::fill(m.rows, m.rows + usize{m.n_rows} * m.stride(), 0u);
    for (u32 i = 0; i < m.n_excluded; ++i) places_[node.excluded[i]] = i + 1;
    for (u32 i = 0; i < m.n_candidates; ++i) places_[node.candidates[i]] = 32 * m.excluded_words + i + 1;
    for (u32 i = 0; i < m.n_rows; ++i) {
      u32* row = m.row(i);
      each_column(node.rows[i], [&](u32 w) {
        if (const u32 at = places_[w]) row[(at - 1) / 32] |= 1u << (at - 1) % 32;
      });
    }
    unmark(node.excluded);
    unmark(node.candidates);
  }

  const Graph& g_;
  const u32 needed_;
  std::vector<u32> counts_, places_, touched_, row_places_;
};

// ---- What a sampled search keeps of a biclique: the cell of a table of sizes it falls
// in.
//
// The table has a row for each step of thresholds of the rows and a column for each step of those
// of the columns. A biclique counts in the cell of the largest steps that it reaches; how many
// reach a pair of thresholds is then a sum over cells.

/// Thresholds in ascending order; the first is the least that the search is asked for.
struct Steps {
  explicit Steps(std::vector<u32> thresholds) : steps(std::move(thresholds)), place(steps.back() - steps[0] + std::size_t{1}, 0) {
    for (u32 i = 0; i < steps.size(); ++i) std::fill(place.begin() + (steps[i] - steps[0]), place.end(), i);
  }
  u32 size() const { return static_cast<u32>(steps.size()); }
  /// The last step that a size, at least the first step, reaches.
  u32 of(u32 n) const { return place[std::min<std::size_t>(n - steps[0], place.size() - 1)]; }

  const std::vector<u32> steps;
  std::vector<u32> place;
};

/// Bicliques and the ids in their lists, of each cell.
struct CellCounts {
  explicit CellCounts(std::size_t cells = 0) : found(cells, 0), ids(cells, 0) {}
  std::vector<u64> found, ids;
};

class SizeSink : public SinkOfSizes<SizeSink> {
 public:
  SizeSink(const Limits& limits, const Steps& rows, const Steps& columns)
      : sizes(std::size_t{rows.size()} * columns.size()), limits_(limits), rows_(rows), columns_(columns) {}

  CellCounts sizes;

  void clear() {
    std::fill(sizes.found.begin(), sizes.found.end(), 0);
    std::fill(sizes.ids.begin(), sizes.ids.end(), 0);
  }
  void add(u32 n_rows, u32 n_columns) {
    if (!limits_.accepts(n_rows, n_columns)) return;
    const std::size_t cell = std::size_t{rows_.of(n_rows)} * columns_.size() + columns_.of(n_columns);
    ++sizes.found[cell];
    sizes.ids[cell] += u64{n_rows} + n_columns;
  }

 private:
  const Limits limits_;
  const Steps &rows_, &columns_;
};

// ---- What a guess of the work below a node should be, learnt from the round before.
//
// A guess is the number of paths of two edges below a node, to some power. Draws in proportion to
// guesses g of sizes f have a variance in proportion to sum(g) · sum(f² / g); so each power is
// judged by that, with both sums estimated from what was drawn, and the least power within a tenth
// of the best is taken: too small a power costs draws, one that is too large overlooks what is
// rare.
//
// Paper: Hansen and Hurwitz, On the theory of sampling from finite populations, 1943.

constexpr std::array<double, 8> kPowers = {1, 1.5, 2, 2.5, 3, 4, 6, 8};
using PowerSums = std::array<double, kPowers.size()>;

/// Adds how much a number of paths weighs, to each power. Paths are scaled, so that no power
/// overflows.
inline void add_powers(PowerSums& sums, double paths, double scale, double times) {
  const double logarithm = std::log(paths / scale);
  for (std::size_t k = 0; k < kPowers.size(); ++k) sums[k] += times * std::exp(kPowers[k] * logarithm);
}

/// The variances that the powers would have had, summed over populations.
class PowerChoice {
 public:
  void add(const PowerSums& guesses, const PowerSums& squares) {
    for (std::size_t k = 0; k < kPowers.size(); ++k) variance_[k] += guesses[k] * squares[k];
  }
  /// The power to take from now on; `otherwise` where nothing was seen.
  double best(double otherwise) const {
    double least = variance_[0];
    for (double v : variance_) least = v < least ? v : least;
    if (!(least > 0)) return otherwise;
    for (std::size_t k = 0; k < kPowers.size(); ++k)
      if (variance_[k] <= kClose * least) return kPowers[k];
    return otherwise;
  }

 private:
  static constexpr double kClose = 1.1;
  PowerSums variance_{};
};

}  // namespace bicliq
