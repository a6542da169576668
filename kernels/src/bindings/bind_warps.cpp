// bind_warps.cpp: the device search for a maximum clique, on threads of this machine: a module of
// its own, for tests.
//
// `run_clique_groups` runs the kernels of clique.cu with a thread for each group of 32 lanes, on
// the same memory that a launch would get: the tests drive the whole search with it.
#include "clique/warp_clique.hpp"
#include "clique/warp_roots.hpp"
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

/// `launch` is the address of a `CliqueLaunch`; width 0 builds roots.
void run_clique_groups(usize launch, u32 n_groups, u32 width) {
  if (width > 4) throw std::invalid_argument("on a CPU sets have at most 4 words a lane");
  const nb::gil_scoped_release release;
  const auto& run = *reinterpret_cast<const CliqueLaunch*>(launch);
  Run groups;
  groups.begin([&] { groups.together(n_groups, [&](u32 i) { width ? search_group(run, i, width) : build_roots(run, i); }); });
  while (!groups.wait(1.0)) {}
}

}  // namespace
}  // namespace BICLIQ_ISA
}  // namespace bicliq

NB_MODULE(_cpu_warps, module) { module.def("run_clique_groups", &bicliq::run_clique_groups); }
