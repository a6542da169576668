// rewiring.hpp: a random table in which every vertex has as many edges as in a given one.
//
// Method: in a pass all rows are paired by lot. What both rows of a pair have stays; the rest is
// dealt out by lot, so that each row keeps its length and each column its rows. After a few passes
// nothing but the degrees is left. Cost: a step an edge and a pass.
//
// Papers: Strona et al., Nature Communications 2014 (curveball); Carstens, Hamann et al., ESA 2018
// (all rows at once).
#pragma once

#include "estimate/thinning.hpp"
#include "graphs/rows.hpp"

#include <numeric>

namespace bicliq {

/// The entries of the rows after so many passes; `check` may end it by an exception.
template <class Check>
Ids rewired(const Rows& rows, u64 seed, u32 passes, const Check& check) {
  Ids row(rows.row, rows.row + rows.n_edges()), a, b;
  Random random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.draw() * static_cast<double>(n)); };
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr std::size_t kRowsACheck = 1 << 12;  // a power of two
  for (u32 pass = 0; pass < passes; ++pass) {
    for (std::size_t i = order.size(); i > 1; --i) {
      if (i % kRowsACheck == 0) check();
      std::swap(order[i - 1], order[below(i)]);
    }
    for (std::size_t i = 1; i < order.size(); i += 2) {
      if (i % kRowsACheck == 1) check();
      std::int32_t *const first = row.data() + rows.start[order[i - 1]], *const first_end = row.data() + rows.start[order[i - 1] + 1];
      std::int32_t *const second = row.data() + rows.start[order[i]], *const second_end = row.data() + rows.start[order[i] + 1];
      const std::int32_t *x = first, *y = second;
      std::size_t common = 0;
      while (x != first_end && y != second_end) {
        common += *x == *y;
        const bool forward = *x <= *y, other = *y <= *x;
        x += forward, y += other;
      }
      std::size_t wanted = static_cast<std::size_t>(first_end - first) - common;
      std::size_t left = wanted + static_cast<std::size_t>(second_end - second) - common;
      if (!wanted || wanted == left) continue;
      a.clear(), b.clear();
      for (x = first, y = second; x != first_end || y != second_end;) {
        if (x != first_end && y != second_end && *x == *y) {
          a.push_back(*x++), b.push_back(*y++);
          continue;
        }
        const std::int32_t next = y == second_end || (x != first_end && *x < *y) ? *x++ : *y++;
        const bool to_first = below(left--) < wanted;
        wanted -= to_first;
        (to_first ? a : b).push_back(next);
      }
      std::copy(a.begin(), a.end(), first);
      std::copy(b.begin(), b.end(), second);
    }
  }
  return row;
}

}  // namespace bicliq
