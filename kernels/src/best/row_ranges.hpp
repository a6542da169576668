// row_ranges.hpp: search in ranges of numbers of rows, each in the part of the graph that can hold
// its answers.
//
// Once something is known to be wanted, an answer with so many rows needs so many columns that
// nearly all of the graph cannot hold it. Many rows come first: they are had by few columns, so
// that good answers are found soon. Each range is half as large as the one before it, and larger
// where it would need no more columns.
#pragma once

#include "best/best_list.hpp"
#include "best/core_parts.hpp"
#include "graphs/objective.hpp"

namespace bicliq::best {

/// The sides of a graph as rows and columns.
struct RowsAndColumns {
  CoreParts& cores;
  bool columns_are_left;

  const DegreeOrder& rows() const { return columns_are_left ? cores.by_right() : cores.by_left(); }
  const DegreeOrder& columns() const { return columns_are_left ? cores.by_left() : cores.by_right(); }
  /// The part that can hold bicliques of these sizes.
  template <class Check>
  CorePart part(const Sizes& sizes, const Check& check) const {
    const u32 of_rows = sizes.min_columns, of_columns = sizes.min_rows;  // neighbours
    return columns_are_left ? cores.part(of_columns, of_rows, check) : cores.part(of_rows, of_columns, check);
  }
  /// Edges of it, at most.
  u64 most_edges(const Sizes& sizes) const {
    return std::min(rows().edges_at_least(sizes.min_columns), columns().edges_at_least(sizes.min_rows));
  }
  /// The same sizes, with no more rows than can be had.
  Sizes had(Sizes sizes) const {
    sizes.max_rows = std::min(columns().largest(), sizes.max_rows);
    return sizes;
  }
};

/// The range of numbers of rows up to `last`, and the columns that are needed there:
/// `needed(fewest, rows)` for an answer of `fewest` to `rows` rows.
template <class Needed>
Sizes range_below(Sizes sizes, u32 last, const Needed& needed) {
  const u32 fewest = std::max(sizes.min_rows, 1u);
  const auto first_below = [fewest](u32 rows) { return std::max(rows / 2 + 1, fewest); };
  const auto columns_below = [&](u32 rows) { return needed(first_below(rows), rows); };
  sizes.max_rows = last;
  sizes.min_columns = columns_below(last);
  sizes.min_rows = first_below(last);
  while (sizes.min_rows > fewest && columns_below(sizes.min_rows - 1) == sizes.min_columns)
    sizes.min_rows = first_below(sizes.min_rows - 1);
  return sizes;
}

/// Searches range after range of the sizes that are asked for. `open(sizes)` makes a range ready,
/// and looks for first answers in it; false where it holds nothing. Where it found better ones, the
/// range is cut again, as it may hold less.
template <class Needed, class Open, class Search>
void search_by_rows(const RowsAndColumns& graph, const Sizes& asked, const BestList& best, const Needed& needed, const Open& open,
                    const Search& search) {
  const DegreeOrder &rows = graph.rows(), &columns = graph.columns();
  u32 last = graph.had(asked).max_rows;
  while (last >= std::max(asked.min_rows, 1u)) {
    const i64 least = best.least();
    const Sizes sizes = range_below(asked, last, needed);
    const bool fits = rows.at_least(sizes.min_columns) >= sizes.min_rows && columns.at_least(sizes.min_rows) >= sizes.min_columns;
    if (fits && open(sizes)) {
      if (best.least() > least) continue;
      search();
    }
    last = sizes.min_rows - 1;
  }
}

/// The same from few rows to many, each range four times as far as the one before: by surprise,
/// answers of few rows are found soon, and those among hubs are hardest to rule out. The range of
/// the best answer that is known comes first, as more like it are near. Where none is known, most
/// roots are opened in every range, and so there are fewer.
template <class Needed, class Open, class Search>
void search_from_few_rows(const RowsAndColumns& graph, const Sizes& asked, const BestList& best, const Needed& needed, const Open& open,
                          const Search& search) {
  const DegreeOrder &rows = graph.rows(), &columns = graph.columns();
  const u32 most = graph.had(asked).max_rows, fewest = std::max(asked.min_rows, 1u);
  const auto search_range = [&](u32 first, u32 last) {
    Sizes sizes = asked;
    sizes.min_rows = first, sizes.max_rows = last;
    for (i64 least = INT64_MAX; least != best.least();) {
      least = best.least();
      sizes.min_columns = needed(first, last);
      const bool fits = rows.at_least(sizes.min_columns) >= first && columns.at_least(first) >= sizes.min_columns;
      if (!fits || !open(sizes)) return;
    }
    search();
  };
  const u64 times = best.first().empty() ? 8 : 4;
  const auto last_from = [most, times](u32 first) { return static_cast<u32>(std::min(times * first - 1, u64{most})); };
  u32 known = fewest;
  for (const Answer& answer : best.first()) {
    const usize n = graph.columns_are_left ? answer.right.size() : answer.left.size();
    while (last_from(known) < n && last_from(known) < most) known = last_from(known) + 1;
  }
  if (known <= most) search_range(known, last_from(known));
  for (u32 first = fewest; first <= most; first = last_from(first) + 1)
    if (first != known) search_range(first, last_from(first));
}

}  // namespace bicliq::best
