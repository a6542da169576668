// bindings.hpp: what the bindings of the searches share. One file binds one search.
#pragma once

#include "lanes/lanes.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace bicliq {
inline namespace BICLIQ_ISA {

void bind_enumeration(nb::module_& module);
void bind_count(nb::module_& module);
void bind_grouping(nb::module_& module);
void bind_clique(nb::module_& module);
void bind_clique_plan(nb::module_& module);

}  // namespace BICLIQ_ISA
}  // namespace bicliq
