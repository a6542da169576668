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
#include "search/matrix_limit.hpp"
#include "search/subtree.hpp"
#include "graphs/graph.hpp"
#include "lanes/workspace.hpp"

#include <algorithm>
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

}  // namespace bicliq
