// bind_warps.cpp: searches of a device on threads of this machine: a module of its own, for tests.
//
// `run_clique_groups` and `run_pivot_groups` run the kernels of clique.cu and of pivots.cu with a
// thread for each group of 32 lanes, on the same memory that a launch would get: the tests drive
// the whole search with them.
#include "clique/warp_clique.hpp"
#include "clique/warp_roots.hpp"
#include "counting/pivot_waves.hpp"
#include "lanes/workers.hpp"

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace bicliq {
inline namespace BICLIQ_ISA {

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

}  // namespace
}  // namespace BICLIQ_ISA
}  // namespace bicliq

NB_MODULE(_cpu_warps, module) {
  module.def("run_clique_groups", &bicliq::run_clique_groups);
  module.def("run_pivot_groups", &bicliq::run_pivot_groups);
}
