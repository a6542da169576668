// size_sink.hpp: what a sampled search keeps of a biclique: the cell of a table of sizes it falls
// in.
//
// The table has a row for each step of thresholds of the rows and a column for each step of those
// of the columns. A biclique counts in the cell of the largest steps that it reaches; how many
// reach a pair of thresholds is then a sum over cells.
#pragma once

#include "graphs/limits.hpp"
#include "search/sink.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

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

}  // namespace bicliq
