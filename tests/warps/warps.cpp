// warps.cpp: searches of a device on threads of this machine: a module of its own, for tests.
//
// `run_clique_groups` and `run_pivot_groups` run the kernels of clique.cu and of pivots.cu with a
// thread for each group of 32 lanes, on the same memory that a launch would get: the tests drive
// the whole search with them. `run_butterfly_threads`, `run_butterfly_step` and `run_list_step` do
// that with single threads, many to one of this machine, `count_trees` does what trees.cu does.
// `find_best` is the search for the best (warp_finding.hpp).
#include "clique/warp_clique.hpp"
#include "clique/warp_roots.hpp"
#include "bindings/bindings.hpp"
#include "counting/butterfly_lists.hpp"
#include "counting/butterfly_paths.hpp"
#include "counting/count128.hpp"
#include "counting/pivot_waves.hpp"
#include "lanes/workers.hpp"
#include "search/device/search_lists.hpp"
#include "warp_finding.hpp"

#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace bicliq {

using namespace best;

void rest(u32) { std::this_thread::yield(); }

namespace {

void search_group(const CliqueLaunch& run, u32 group, u32 width) {
  std::vector<u32> near(run.near_words + kLanes);
  if (width == 1) return search_cliques<1>(run, group, near.data());
  if (width == 2) return search_cliques<2>(run, group, near.data());
  search_cliques<4>(run, group, near.data());
}

/// f(group) on a thread for each group.
template <class F>
void run_groups(u32 n_groups, F f) {
  const nb::gil_scoped_release release;
  Run groups;
  groups.begin([&] { groups.together(n_groups, f); });
  while (!groups.wait(1.0)) {}
}

/// `launch` is the address of a `CliqueLaunch`; width 0 builds roots.
void run_clique_groups(usize launch, u32 n_groups, u32 width) {
  if (width > 4) throw std::invalid_argument("on a CPU sets have at most 4 words a lane");
  const auto& run = *reinterpret_cast<const CliqueLaunch*>(launch);
  run_groups(n_groups, [&](u32 i) { width ? search_group(run, i, width) : build_roots(run, i); });
}

template <class Sum>
void run_pivots(const PivotLaunch& run, u32 n_groups, u32 from) {
  run_groups(n_groups, [&](u32 i) {
    PivotWaves<Sum> waves(run, i);
    from < 2 ? waves.search(from) : waves.open_all();
  });
}

/// `launch` is the address of a `PivotLaunch`, `from` the buffer of the wave; 2 opens the grids.
void run_pivot_groups(usize launch, u32 n_groups, u32 from, bool of_vertices) {
  const auto& run = *reinterpret_cast<const PivotLaunch*>(launch);
  of_vertices ? run_pivots<VertexSum>(run, n_groups, from) : run_pivots<LeafSum>(run, n_groups, from);
}

/// f(thread) for many threads of a device, on three of this machine.
template <class F>
void run_threads(u64 n_threads, F f) {
  constexpr u32 kHere = 3;
  run_groups(kHere, [&](u32 first) {
    for (u64 i = first; i < n_threads; i += kHere) f(i);
  });
}

/// `launch` is the address of a `ButterflyRun`.
void run_butterfly_threads(usize launch, u64 batch, u64 n_threads, bool edge_shares) {
  const auto& run = *reinterpret_cast<const ButterflyRun*>(launch);
  run_threads(n_threads, [&](u64 i) {
    ButterflyPaths paths(run, batch);
    edge_shares ? paths.share(i, n_threads) : paths.count(i, n_threads);
  });
}

/// `launch` is the address of a `ButterflyLists`, or of a `SearchLists`.
template <class Steps, class Lists, class Step>
void run_step(usize launch, u32 step, u64 n_threads) {
  const auto& lists = *reinterpret_cast<const Lists*>(launch);
  run_threads(n_threads, [&](u64 i) { Steps(lists).take(static_cast<Step>(step), i, n_threads); });
}

/// Adds up exactly, as trees.cu does.
struct HostCells {
  static constexpr bool kOfVertices = false;
  explicit HostCells(const CellShape& shape) : sums(shape.cells(), 0), shape_(shape) {
    for (u32 n = 0; n <= kMostOptional; ++n)
      for (u32 k = 0; k <= n; ++k) choose_[n][k] = k == 0 || k == n ? 1 : choose_[n - 1][k - 1] + choose_[n - 1][k];
  }
  void add(const Held& s, bool negative) {
    const u64 row = shape_.row(s.held[0], s.optional[0]);
    const u32 first = s.held[1], n = s.optional[1];
    for (u32 k = 0; k <= n && first + k < shape_.width(); ++k) sums[row + first + k] += negative ? 0 - choose_[n][k] : choose_[n][k];
  }
  std::vector<u128> sums;

 private:
  const CellShape shape_;
  u128 choose_[kMostOptional + 1][kMostOptional + 1] = {};
};

/// The cells of some trees, (high halves, low halves) modulo 2^128: what the device does, in lanes
/// of this machine.
nb::tuple count_trees(const Input<u32>& trees, u32 most_roots, u32 most_rows, u32 optional) {
  HostCells cells({{most_roots, most_rows}, optional});
  TreeSearch<HostCells> search({{2, 2}, {most_roots, most_rows}}, cells);
  without_lock([&] {
    for (std::size_t at = 0; at + kTreeWords <= trees.size(); at += kTreeWords) search.search(trees.data() + at);
  });
  std::vector<u64> halves[2];
  for (const u128 sum : cells.sums) halves[0].push_back(static_cast<u64>(sum >> 64)), halves[1].push_back(static_cast<u64>(sum));
  return arrays_of(std::move(halves[0]), std::move(halves[1]));
}

/// (what has been found as (value, rows, columns), nodes); `terms` are those of rows and of columns
/// by their numbers in the input, `roots` places in the search order, `sizes` in rows and columns.
nb::object find_best(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool columns_are_left,
                     int objective, u64 k, i64 least, const Input<std::int64_t>& row_terms, const Input<std::int64_t>& column_terms,
                     const Input<std::int64_t>& row_costs, const Input<std::int64_t>& column_costs, std::tuple<i64, i64> charges,
                     std::tuple<u32, u32, u64, u32, u32> sizes, const Input<u32>& roots, u32 threads) {
  WarpFindRequest request{prepare(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right, columns_are_left, {}, [] {}),
                          {}, {roots.data(), roots.data() + roots.size()}, k, least, threads};
  const auto& [min_rows, min_columns, min_edges, max_rows, max_columns] = sizes;
  request.scores.objective = static_cast<Objective>(objective);
  request.scores.sizes = {{min_rows, min_columns, min_edges}, max_rows, max_columns};
  if (!request.scores.by_size()) {
    request.scores.row_terms.assign(row_terms.data(), row_terms.data() + row_terms.size());
    request.scores.column_terms.assign(column_terms.data(), column_terms.data() + column_terms.size());
    request.scores.close();
    if (request.scores.objective == Objective::surprise)
      request.scores.row_cost = row_costs.data(), request.scores.column_cost = column_costs.data();
    std::tie(request.scores.row_charge, request.scores.column_charge) = charges;
  }
  WarpFinding finding(request);
  std::vector<WarpAnswer> found;
  {
    const nb::gil_scoped_release release;
    found = finding.search();
  }
  nb::list answers;
  for (WarpAnswer& answer : found) {
    for (u32& column : answer.columns) column = request.graph.vertex_of_column[column];
    answers.append(nb::make_tuple(answer.value, numpy_of(std::move(answer.rows)), numpy_of(std::move(answer.columns))));
  }
  return nb::make_tuple(answers, finding.nodes());
}

}  // namespace
}  // namespace bicliq

NB_MODULE(_cpu_warps, module) {
  using namespace nb::literals;
  module.def("run_clique_groups", &bicliq::run_clique_groups, "launch"_a, "n_groups"_a, "width"_a);
  module.def("run_pivot_groups", &bicliq::run_pivot_groups, "launch"_a, "n_groups"_a, "from"_a, "of_vertices"_a);
  module.def("run_butterfly_threads", &bicliq::run_butterfly_threads, "launch"_a, "batch"_a, "n_threads"_a, "edge_shares"_a);
  module.def("run_butterfly_step", &bicliq::run_step<bicliq::ButterflySteps, bicliq::ButterflyLists, bicliq::ButterflyStep>, "launch"_a, "step"_a,
             "n_threads"_a);
  module.def("run_list_step", &bicliq::run_step<bicliq::ListSteps, bicliq::SearchLists, bicliq::ListStep>, "launch"_a, "step"_a, "n_threads"_a);
  module.def("count_trees", &bicliq::count_trees, "trees"_a, "most_roots"_a, "most_rows"_a, "optional"_a);
  module.def("find_best", &bicliq::find_best, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "objective"_a, "k"_a, "least"_a, "row_terms"_a,
             "column_terms"_a, "row_costs"_a, "column_costs"_a, "charges"_a, "sizes"_a, "roots"_a, "threads"_a);
}
