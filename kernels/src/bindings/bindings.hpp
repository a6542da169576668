// bindings.hpp: what the bindings of the searches share. One file binds one search.
//
// Every kernel that takes long runs on threads of its own (workers.hpp). Python waits for it, a
// fraction of a second at a time, without the interpreter's lock, and ends it when an exception
// comes: so Ctrl-C is heard at any time.
#pragma once

#include "lanes/lanes.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

namespace nb = nanobind;

namespace bicliq {
inline namespace BICLIQ_ISA {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// An array that owns its values.
template <class T>
nb::object numpy_of(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

void bind_enumeration(nb::module_& module);
void bind_count(nb::module_& module);
void bind_estimate(nb::module_& module);
void bind_grouping(nb::module_& module);
void bind_changes(nb::module_& module);
void bind_finding(nb::module_& module);
void bind_clique(nb::module_& module);
void bind_clique_plan(nb::module_& module);
void bind_output(nb::module_& module);
void bind_sets(nb::module_& module);

}  // namespace BICLIQ_ISA
}  // namespace bicliq
