// bind_clique_device.cpp: the host's part of a device search for a maximum clique, and that search itself on threads.
//
// `CliquePlan` is what the CUDA driver asks before it launches. `run_clique_groups` runs the kernels of clique.cu with a
// thread for each group of 32 lanes, on the same memory that a launch would get: the tests drive the whole search with it.
#include "bindings/bindings.hpp"
#include "clique/clique_plan.hpp"
#include "clique/warp_clique.hpp"
#include "clique/warp_roots.hpp"
#include "lanes/workers.hpp"

#include <stdexcept>
#include <thread>

namespace bicliq {
inline namespace BICLIQ_ISA {

void rest(u32) { std::this_thread::yield(); }

namespace {

/// A view of an array that the owner keeps.
template <class T>
nb::object view_of(std::vector<T>& values, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, owner));
}

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

void bind_clique_device(nb::module_& module) {
  nb::class_<CliquePlan>(module, "CliquePlan")
      .def("__init__",
           [](CliquePlan* plan, Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 lower_bound) {
             const nb::gil_scoped_release release;
             new (plan) CliquePlan({indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1)}, lower_bound);
           })
      .def_ro("best", &CliquePlan::best)
      .def_ro("first_root", &CliquePlan::first_root)
      .def_ro("stride", &CliquePlan::stride)
      .def_ro("order_seconds", &CliquePlan::order_seconds)
      .def_ro("heuristic_seconds", &CliquePlan::heuristic_seconds)
      .def_prop_ro("degeneracy", [](const CliquePlan& plan) { return plan.cores.degeneracy; })
      .def_prop_ro("ids", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).cores.id, self); })
      .def_prop_ro("start", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).cores.start, self); })
      .def_prop_ro("later", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).cores.later, self); })
      .def_prop_ro("colours_behind", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).behind, self); })
      .def_prop_ro("members", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).members, self); })
      .def_prop_ro("whole", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).whole, self); })
      .def_prop_ro("rows", [](nb::handle self) { return view_of(nb::cast<CliquePlan&>(self).rows, self); });
  module.def("run_clique_groups", &run_clique_groups);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
