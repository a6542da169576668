// bind_finding.cpp: the best maximal bicliques for Python, by an objective or by weights of edges.
#include "bindings/row_groups.hpp"
#include "bindings/task.hpp"
#include "best/edge_finding.hpp"
#include "best/finding.hpp"

namespace bicliq {

using namespace best;

namespace {

using Covered = std::vector<std::pair<std::vector<i32>, std::vector<i32>>>;
using SizesAsked = std::tuple<u32, u32, u64, u32, u32>;  // min_left, min_right, min_edges, max_left, max_right

FindRequest request_of(const Rows& rows, u32 n_right, bool columns_are_left, u64 k, i64 least, const SizesAsked& asked, u32 threads) {
  const auto& [min_left, min_right, min_edges, max_left, max_right] = asked;
  const Sizes sizes{{min_left, min_right, min_edges}, max_left, max_right};  // with left vertices as rows
  return {rows, n_right, columns_are_left, k, least, columns_are_left ? sizes.turned() : sizes, threads};
}
/// `terms` of weight: of both sides alone; of surprise all that it is made of.
void begin(Task<Finding>* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left, u64 k, i64 least, const SizesAsked& sizes,
           u32 threads, Objective objective, const SurpriseArrays& terms, const Covered& covered, bool only_opens) {
  const FindRequest request = request_of(rows_of(indptr, indices), n_right, columns_are_left, k, least, sizes, threads);
  new (at) Task<Finding>(keep(indptr, indices, terms), [&] {
    const auto& [left, right, left_costs, right_costs, correction, lowest, shift] = terms;
    const Correction corrects{correction.data(), lowest, static_cast<u32>(correction.size()), shift};
    VertexTerms own{copy_of<i64>(left), copy_of<i64>(right), copy_of<i64>(left_costs), copy_of<i64>(right_costs), corrects, covered};
    return std::make_unique<Finding>(request, objective, std::move(own), only_opens);
  });
}
void begin_of_edges(Task<EdgeFinding>* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left, u64 k, i64 least,
                    const SizesAsked& sizes, u32 threads, const Wide& weights, bool cover) {
  const FindRequest request = request_of(rows_of(indptr, indices), n_right, columns_are_left, k, least, sizes, threads);
  if (weights.size() != indices.size()) throw std::invalid_argument("there is not a weight for each edge");
  new (at) Task<EdgeFinding>(keep(indptr, indices, weights), [&] { return std::make_unique<EdgeFinding>(request, weights.data(), cover); });
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
/// What a search that only opens has found: what an answer must be worth, the roots left, and by
/// what bicliques are bounded.
nb::dict opened(Task<Finding>& task) {
  const Finding& search = task.ended();
  const Scores& scores = search.scores();
  return named("least", search.least(), "roots", numpy_of(search.roots()), "row_terms", numpy_of(scores.row_terms), "column_terms",
               numpy_of(scores.column_terms), "largest_pair", scores.largest_pair, "row_charge", scores.row_charge, "column_charge",
               scores.column_charge, "own_row_terms", numpy_of(scores.own_row_terms), "own_column_terms", numpy_of(scores.own_column_terms));
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
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "k"_a, "least"_a, "sizes"_a, "threads"_a, "objective"_a,
           "terms"_a, "covered"_a, "only_opens"_a = false)
      .def("opened", &opened);
  bind_finding<EdgeFinding>(module, "EdgeFinding")
      .def("__init__", &begin_of_edges, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "k"_a, "least"_a, "sizes"_a, "threads"_a,
           "weights"_a, "cover"_a);
}

}  // namespace bicliq
