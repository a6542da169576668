// bind_gaps.cpp: the best groups with gaps for Python.
#include "bindings/bindings.hpp"
#include "bindings/task.hpp"
#include "gaps/gap_finding.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

namespace bicliq {

using namespace gaps;

namespace {

using First = std::vector<std::pair<std::vector<i32>, std::vector<i32>>>;

void begin(Task<GapFinding>* at, const Wide& indptr, const Values& indices, u32 n_right, Objective objective, u64 k, u32 missing,
           u32 missing_each, const First& first, u32 min_left, u32 min_right, u64 min_edges, u32 max_left, u32 max_right, u32 threads) {
  const Rows rows = rows_of(indptr, indices);
  const Wanted wanted{objective, {{min_left, min_right, min_edges}, max_left, max_right}, missing, missing_each};
  new (at) Task<GapFinding>(keep(indptr, indices), [&] {
    return std::make_unique<GapFinding>(GapRequest{rows, n_right, wanted, k, first, threads});
  });
}
/// Groups as (left, right).
nb::list pairs(const std::vector<Group>& groups) {
  nb::list list;
  for (const Group& group : groups) list.append(nb::make_tuple(numpy_of(group.left), numpy_of(group.right)));
  return list;
}
nb::dict result(Task<GapFinding>& task) {
  const GapFinding& search = task.ended();
  return named("answers", pairs(search.groups()), "proven", search.proven(), "nodes", search.nodes(), "roots", search.roots_opened(),
               "prepare_seconds", search.prepare_seconds(), "search_seconds", search.search_seconds());
}

}  // namespace

void bind_gaps(nb::module_& module) {
  bind_search<GapFinding>(module, "GapFinding")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "objective"_a, "k"_a, "missing"_a, "missing_each"_a, "first"_a,
           "min_left"_a, "min_right"_a, "min_edges"_a, "max_left"_a, "max_right"_a, "threads"_a)
      .def("result", &result)
      .def("so_far", [](Task<GapFinding>& task) { return pairs(task.at_work().so_far()); });
}

}  // namespace bicliq
