// stars.hpp: the bicliques with one vertex on a side, (1,q) and (p,1), which need degrees and no
// search.
//
// A root with d rows has C(d, q) of (1,q). A row has C(later, p - 1) of (p,1) with a given first
// root, where `later` of its roots come after that one. So the sums of some roots add up to those
// of all, and those of all need degrees only: each number of later roots below a row's degree comes
// up once. Time O(vertices + degrees × sizes); of some roots O(their edges × log). Degrees whose
// largest binomial has no place in 128 bits are left to Python, with how often they come up.
#pragma once

#include "graphs/counting_core.hpp"
#include "counting/count128.hpp"

namespace bicliq {

struct Stars {
  std::vector<Total> of_roots, of_rows;    // [q] of (1,q), [p] of (p,1); p is the size on the root side
  LargeTerms large_of_roots, large_of_rows;  // {n, 0, 0, 0}: C(n, q) more of each (1,q); C(n, p - 1) more of each (p,1)
};

/// By number: roots of this degree; pairs of a row and a root of it that have so many later roots.
struct StarTimes {
  std::vector<std::uint64_t> degrees, later;
};

inline StarTimes times_of_some(const CountSide& roots, const CountSide& rows, const std::vector<std::uint32_t>& chosen) {
  StarTimes times{std::vector<std::uint64_t>(static_cast<std::size_t>(roots.largest_degree()) + 1, 0),
                  std::vector<std::uint64_t>(static_cast<std::size_t>(rows.largest_degree()) + 1, 0)};
  for (std::uint32_t v : chosen) {
    ++times.degrees[roots.degree(v)];
    for (const std::uint32_t* r = roots.begin(v); r != roots.end(v); ++r)
      ++times.later[static_cast<std::size_t>(rows.end(*r) - std::upper_bound(rows.begin(*r), rows.end(*r), v))];
  }
  return times;
}

inline std::vector<std::uint64_t> histogram(const std::vector<std::uint32_t>& values) {
  const std::uint32_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::vector<std::uint64_t> times(static_cast<std::size_t>(most) + 1, 0);
  for (std::uint32_t x : values) ++times[x];
  return times;
}

inline StarTimes times_of_all(const std::vector<std::uint32_t>& root_degrees, const std::vector<std::uint32_t>& row_degrees) {
  StarTimes times{histogram(root_degrees), histogram(row_degrees)};
  std::uint64_t larger = 0;  // rows of more roots
  for (std::size_t n = times.later.size(); n-- > 0;) {
    const std::uint64_t here = times.later[n];
    times.later[n] = larger;
    larger += here;
  }
  return times;
}

inline Stars count_stars(const StarTimes& times, std::uint32_t most_p, std::uint32_t most_q) {
  Stars stars;
  stars.of_roots.resize(std::size_t{most_q} + 1);
  stars.of_rows.resize(std::size_t{most_p} + 1);
  std::vector<u128> row;
  const auto add = [&](const std::vector<std::uint64_t>& of, std::uint32_t shift, std::vector<Total>& sums, LargeTerms& large) {
    const auto count = static_cast<std::uint32_t>(sums.size()) - shift;
    for (std::uint32_t n = 0; n < of.size(); ++n) {
      if (!of[n]) continue;
      if (checked_product(binomial(n, std::min(n / 2, count - 1)), of[n]) == kTooLarge) {
        large.add({n, 0, 0, 0}, static_cast<std::int64_t>(of[n]));
        continue;
      }
      binomial_row(n, count, row);
      for (std::uint32_t k = 0; k < count; ++k) sums[k + shift].add(row[k] * of[n]);
    }
  };
  add(times.degrees, 0, stars.of_roots, stars.large_of_roots);
  add(times.later, 1, stars.of_rows, stars.large_of_rows);
  return stars;
}

}  // namespace bicliq
