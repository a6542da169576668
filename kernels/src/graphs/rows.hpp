// rows.hpp: edges as ascending rows: made, checked, looked up, and changed.
//
// What it does: says where rows begin and where they are faulty, where edges stand in them, and
// makes the rows after some edges came and others went. Cost: a bisection an edge that is looked
// up; else one pass over the edges, which copies whole stretches between two changes.
#pragma once

#include "graphs/csr.hpp"

namespace bicliq {

/// Where each ascending row of n begins, and where the last one ends, of the rows of all entries;
/// nothing where these do not ascend, or one is beyond.
template <class Check>
std::vector<std::int64_t> starts_of(const std::int32_t* of, std::size_t n_entries, std::size_t n, const Check& check) {
  std::vector<std::int64_t> start(n + 1, 0);
  std::size_t row = 0;
  bool ascends = true;
  each_piece(n_entries, check, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last && ascends; ++i) {
      const auto own = static_cast<std::size_t>(of[i]);
      if (own == row) continue;
      ascends = of[i] >= 0 && own > row && own < n;
      while (ascends && row < own) start[++row] = static_cast<std::int64_t>(i);
    }
  });
  if (!ascends) return {};
  while (row < n) start[++row] = static_cast<std::int64_t>(n_entries);
  return start;
}

/// Are all entries in 0…n_columns - 1, and the rows ascending? Entries that are not above the one
/// before them are counted, over all rows and where rows begin: the counts must be the same.
template <class Check>
bool is_sound(const Rows& rows, std::int64_t n_columns, const Check& check) {
  const std::int32_t* const row = rows.row;
  std::int32_t least = 0, most = -1;
  std::size_t falls = 0, at_starts = 0;
  each_piece(rows.n_edges(), check, [&](std::size_t first, std::size_t last) {
    std::int32_t low = least, high = most;
    for (std::size_t e = first; e < last; ++e) low = std::min(low, row[e]), high = std::max(high, row[e]);
    std::size_t fallen = 0;
    for (std::size_t e = std::max<std::size_t>(first, 1); e < last; ++e) fallen += row[e] <= row[e - 1];
    least = low, most = high, falls += fallen;
  });
  each_piece(rows.size(), check, [&](std::size_t first, std::size_t last) {
    std::size_t fallen = 0;
    for (std::size_t u = std::max<std::size_t>(first, 1); u < last; ++u) {
      const std::int64_t e = rows.start[u];
      fallen += e > rows.start[u - 1] && e > 0 && e < rows.start[u + 1] && row[e] <= row[e - 1];
    }
    at_starts += fallen;
  });
  return least == 0 && most < n_columns && falls == at_starts;
}

/// Place of the first entry that is outside 0…n_columns - 1, or not above the one before it in its
/// row; -1: there is none.
template <class Check>
std::int64_t first_fault(const Rows& rows, std::int64_t n_columns, const Check& check) {
  if (is_sound(rows, n_columns, check)) return -1;
  for (std::size_t u = 0; u < rows.size(); ++u) {
    std::int64_t before = -1;
    bool sound = true;
    for (std::int64_t e = rows.start[u]; e < rows.start[u + 1]; ++e) {
      sound &= rows.row[e] > before;
      before = rows.row[e];
    }
    if (sound && before < n_columns) continue;
    before = -1;
    for (std::int64_t e = rows.start[u]; e < rows.start[u + 1]; before = rows.row[e++])
      if (rows.row[e] <= before || rows.row[e] >= n_columns) return e;
  }
  return -1;
}

/// Where an edge stands among all, or would stand.
struct EdgePlace {
  std::int64_t at;
  bool there;
};

inline EdgePlace place_of(const Rows& rows, std::int32_t left, std::int32_t right) {
  if (left < 0) return {0, false};
  if (static_cast<std::size_t>(left) >= rows.size()) return {rows.start[rows.n], false};
  const Span row = rows[left];
  const std::int32_t* at = std::lower_bound(row.first, row.last, right);
  return {at - rows.row, at != row.last && *at == right};
}

/// Edges that change, ascending: whether they are there then, and with which weights (or null).
struct EdgeChanges {
  const std::int32_t *left, *right;
  const std::uint8_t* there;
  const double* weight;
  std::size_t n;
};

struct WeightedRows {
  OwnRows rows;
  std::vector<double> weight;
};

constexpr std::uint64_t kLookedUpACheck = 1 << 14;  // edges

/// The rows of n left vertices after some edges changed, with their weights where there are any.
template <class Check>
WeightedRows changed_rows(const Rows& rows, const double* weight, const EdgeChanges& changes, std::size_t n, const Check& check) {
  WeightedRows to;
  to.rows.start.assign(n + 1, 0);
  to.rows.row.reserve(rows.n_edges() + changes.n);
  if (weight) to.weight.reserve(rows.n_edges() + changes.n);
  std::int64_t copied = 0;
  const auto copy_until = [&](std::int64_t end) {
    to.rows.row.insert(to.rows.row.end(), rows.row + copied, rows.row + end);
    if (weight) to.weight.insert(to.weight.end(), weight + copied, weight + end);
    copied = end;
  };
  pass(changes.n, kLookedUpACheck, check, [&](std::uint64_t i) {
    const EdgePlace place = place_of(rows, changes.left[i], changes.right[i]);
    copy_until(place.at);
    copied += place.there;
    if (changes.there[i]) {
      to.rows.row.push_back(changes.right[i]);
      if (weight) to.weight.push_back(changes.weight[i]);
    }
    to.rows.start[static_cast<std::size_t>(changes.left[i]) + 1] += int{changes.there[i] != 0} - int{place.there};
  });
  copy_until(static_cast<std::int64_t>(rows.n_edges()));
  std::int64_t more = 0;  // edges that came less those that went, in the rows before
  for (std::size_t u = 0; u < n; ++u) {
    more += to.rows.start[u + 1];
    to.rows.start[u + 1] = rows.start[std::min(u + 1, rows.n)] + more;
  }
  return to;
}

}  // namespace bicliq
