// bind_finding.cpp: the best maximal bicliques for Python, by an objective or by weights of edges.
#include "bindings/row_groups.hpp"
#include "bindings/task.hpp"
#include "best/edge_finding.hpp"
#include "best/finding.hpp"

namespace bicliq {

using namespace best;

namespace {

/// Sizes in terms of rows and columns.
Sizes sizes_of(bool columns_are_left, u32 min_left, u32 min_right, u64 min_edges, u32 max_left, u32 max_right) {
  if (columns_are_left) return {{min_right, min_left, min_edges}, max_right, max_left};
  return {{min_left, min_right, min_edges}, max_left, max_right};
}

using Covered = std::vector<std::pair<std::vector<i32>, std::vector<i32>>>;

/// `terms` of weight: of both sides alone; of surprise all that it is made of.
void begin(Task<Finding>* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left, Objective objective, u64 k,
           i64 least, const SurpriseArrays& terms, const Covered& covered, u32 min_left, u32 min_right, u64 min_edges, u32 max_left,
           u32 max_right, u32 threads, bool only_opens) {
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<Finding>(keep(indptr, indices, terms), [&] {
    const auto& [left, right, left_costs, right_costs, correction, lowest, shift] = terms;
    const Correction corrects{correction.data(), lowest, static_cast<u32>(correction.size()), shift};
    FindRequest request{rows.start, rows.row, static_cast<u32>(rows.n), n_right, columns_are_left,
                        {copy_of<i64>(left), copy_of<i64>(right), copy_of<i64>(left_costs), copy_of<i64>(right_costs), corrects, covered},
                        k, least, threads, only_opens};
    return std::make_unique<Finding>(std::move(request), objective,
                                     sizes_of(columns_are_left, min_left, min_right, min_edges, max_left, max_right));
  });
}
void begin_of_edges(Task<EdgeFinding>* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left,
                    const Wide& weights, bool cover, u64 k, i64 least, u32 min_left, u32 min_right, u64 min_edges, u32 max_left,
                    u32 max_right, u32 threads) {
  const Rows rows = rows_of(indptr, indices);
  if (weights.size() != indices.size()) throw std::invalid_argument("there is not a weight for each edge");
  new (at) Task<EdgeFinding>(keep(indptr, indices, weights), [&] {
    return std::make_unique<EdgeFinding>(
        EdgeFindRequest{rows.start, rows.row, weights.data(), static_cast<u32>(rows.n), n_right, columns_are_left, cover, k, least,
                        sizes_of(columns_are_left, min_left, min_right, min_edges, max_left, max_right), threads});
  });
}

/// Answers as (value, left, right).
template <class Kernel>
nb::list tuples(const Kernel& search, const std::vector<Answer>& answers) {
  nb::list list;
  for (const Answer& a : answers) list.append(nb::make_tuple(search.value(a), numpy_of(a.left), numpy_of(a.right)));
  return list;
}
template <class Kernel>
nb::dict result(Task<Kernel>& task) {
  const Kernel& search = task.ended();
  return named("answers", tuples(search, search.answers()), "proven", search.proven(), "nodes", search.nodes(), "roots", search.roots_opened(),
               "prepare_seconds", search.prepare_seconds(), "search_seconds", search.search_seconds());
}
/// What a search that only opens has found: what an answer must be worth, and the roots left.
nb::tuple opened(Task<Finding>& task) {
  const Finding& search = task.ended();
  return nb::make_tuple(search.least(), numpy_of(search.roots()));
}

template <class Kernel>
nb::class_<Task<Kernel>> bind_finding(nb::module_& module, const char* name) {
  return bind_search<Kernel>(module, name)
      .def("result", &result<Kernel>)
      .def("so_far", [](Task<Kernel>& task, u64 known) { return tuples(task.at_work(), task.at_work().so_far(known)); }, "known"_a);
}

}  // namespace

void bind_finding(nb::module_& module) {
  nb::enum_<Objective>(module, "Objective")
      .value("edges", Objective::edges)
      .value("vertices", Objective::vertices)
      .value("balanced", Objective::balanced)
      .value("weight", Objective::weight)
      .value("surprise", Objective::surprise);
  bind_finding<Finding>(module, "Finding")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "objective"_a, "k"_a, "least"_a, "terms"_a,
           "covered"_a, "min_left"_a, "min_right"_a, "min_edges"_a, "max_left"_a, "max_right"_a, "threads"_a, "only_opens"_a = false)
      .def("opened", &opened);
  bind_finding<EdgeFinding>(module, "EdgeFinding")
      .def("__init__", &begin_of_edges, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "weights"_a, "cover"_a, "k"_a, "least"_a,
           "min_left"_a, "min_right"_a, "min_edges"_a, "max_left"_a, "max_right"_a, "threads"_a);
}

}  // namespace bicliq
