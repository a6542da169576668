// bind_gaps.cpp: the best groups with gaps for Python.
#include "bindings/row_groups.hpp"
#include "bindings/task.hpp"
#include "gaps/gap_finding.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace bicliq {

using namespace gaps;

namespace {

using Groups = std::vector<std::pair<std::vector<i32>, std::vector<i32>>>;
using SizesAsked = std::tuple<u32, u32, u64, u32, u32>;  // min_left, min_right, min_edges, max_left, max_right

/// `gains` of edges, `weights` of both sides, and `terms` and `unit` of surprise: empty, and 0,
/// where the objective has none.
void begin(Task<GapFinding>* at, const Wide& indptr, const Values& indices, u32 n_right, Objective objective, u64 k, i64 least, u32 missing,
           u32 missing_each, const Groups& first, const std::pair<std::vector<i32>, std::vector<i32>>& members, const SizesAsked& asked,
           const Wide& gains, const std::pair<Wide, Wide>& weights, const SurpriseArrays& terms, double unit, u32 threads) {
  const Rows rows = rows_of(indptr, indices);
  const auto& [min_left, min_right, min_edges, max_left, max_right] = asked;
  const Wanted wanted{objective, {{min_left, min_right, min_edges}, max_left, max_right}, missing, missing_each, nullptr, {members.first, members.second}};
  if (objective >= Objective::weight && gains.size() != indices.size()) throw std::invalid_argument("there is not a gain for each edge");
  new (at) Task<GapFinding>(keep(indptr, indices, terms), [&] {
    const auto& [left, right, left_costs, right_costs, correction, lowest, shift] = terms;
    Sums sums{{copy_of<i64>(gains), {}},
              {copy_of<i64>(weights.first), copy_of<i64>(weights.second)},
              {copy_of<i64>(left), copy_of<i64>(right)},
              {copy_of<i64>(left_costs), copy_of<i64>(right_costs)},
              {correction.data(), lowest, static_cast<u32>(correction.size()), shift},
              unit};
    return std::make_unique<GapFinding>(GapRequest{rows, n_right, wanted, std::move(sums), k, least, first, threads});
  });
}
/// Groups as (value, left, right).
nb::list tuples(const std::vector<Group>& groups) {
  nb::list list;
  for (const Group& group : groups) list.append(nb::make_tuple(group.value, numpy_of(group.left), numpy_of(group.right)));
  return list;
}
nb::dict result(Task<GapFinding>& task) {
  const GapFinding& search = task.ended();
  return named("answers", tuples(search.groups()), "proven", search.proven(), "nodes", search.nodes(), "roots", search.roots_opened(),
               "prepare_seconds", search.prepare_seconds(), "search_seconds", search.search_seconds());
}

}  // namespace

void bind_gaps(nb::module_& module) {
  bind_search<GapFinding>(module, "GapFinding")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "objective"_a, "k"_a, "least"_a, "missing"_a,
           "missing_each"_a, "first"_a, "members"_a, "sizes"_a, "gains"_a, "weights"_a, "terms"_a, "unit"_a, "threads"_a)
      .def("result", &result)
      .def("so_far", [](Task<GapFinding>& task) { return tuples(task.at_work().so_far()); });
}

}  // namespace bicliq
