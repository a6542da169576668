// stars.hpp: the bicliques with one vertex on a side, (1,q) and (p,1), which need degrees and no search.
//
// A root with d rows has C(d, q) of (1,q). A row has C(later, p - 1) of (p,1) with a given first root, where `later` of its
// roots come after that one. So the sums of some roots add up to those of all. Time O(edges + degrees × sizes).
#pragma once

#include "core.hpp"
#include "wide.hpp"

namespace bicliq {

struct Stars {
  std::vector<Total> of_roots, of_rows;  // [q] of (1,q), [p] of (p,1); p is the size on the root side
};

inline Stars count_stars(const CountSide& roots, const CountSide& rows, const std::vector<std::uint32_t>& chosen, std::uint32_t most_p,
                         std::uint32_t most_q) {
  std::vector<std::uint64_t> degrees(static_cast<std::size_t>(roots.largest_degree()) + 1, 0),
      later(static_cast<std::size_t>(rows.largest_degree()) + 1, 0);
  for (std::uint32_t v : chosen) {
    ++degrees[roots.degree(v)];
    for (const std::uint32_t* r = roots.begin(v); r != roots.end(v); ++r)
      ++later[static_cast<std::size_t>(rows.end(*r) - std::upper_bound(rows.begin(*r), rows.end(*r), v))];
  }
  Stars stars{std::vector<Total>(most_q + 1), std::vector<Total>(most_p + 1)};
  std::vector<u128> row;
  const auto add = [&](const std::vector<std::uint64_t>& times, std::uint32_t shift, std::vector<Total>& sums) {
    for (std::uint32_t n = 0; n < times.size(); ++n) {
      if (!times[n]) continue;
      binomial_row(n, static_cast<std::uint32_t>(sums.size()) - shift, row);
      for (std::uint32_t k = 0; k < row.size(); ++k) sums[k + shift].add_product(row[k], times[n]);
    }
  };
  add(degrees, 0, stars.of_roots);
  add(later, 1, stars.of_rows);
  return stars;
}

}  // namespace bicliq
