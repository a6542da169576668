// bind_clique_plan.cpp: the host's part of a device search for a maximum clique: what the CUDA
// driver asks before it launches.
#include "bindings/bindings.hpp"
#include "clique/clique_plan.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

/// A view of an array that the owner keeps.
template <class T>
nb::object view_of(std::vector<T>& values, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, owner));
}

}  // namespace

void bind_clique_plan(nb::module_& module) {
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
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
