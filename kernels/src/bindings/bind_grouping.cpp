// bind_grouping.cpp: how a graph is reduced, turned and cut, for Python: its cores, the rows of the
// other side, paths of two edges, the grouping of roots, and where a sequence of them is cut. Each
// is a task that hands what it made over, once.
#include "bindings/task.hpp"
#include "graphs/components.hpp"
#include "graphs/grouping.hpp"
#include "graphs/peeling.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace bicliq {
namespace {

using Written = nb::ndarray<i32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Groups {
  std::vector<i32> order, partition;
};
struct Components {
  std::vector<u32> first;
};

auto* group_roots(const Wide& indptr, const Values& indices, const Wide& row_bytes, const Wide& cost, i32 partitions) {
  const Rows roots = rows_of(indptr, indices);
  if (cost.size() != indptr.size() - 1) throw std::invalid_argument("there is not a cost for each root");
  return begin_pass(keep(indptr, indices, row_bytes, cost), [=, n_rows = row_bytes.size(), bytes = row_bytes.data(), costs = cost.data()](const Check& check) {
    Groups found;
    Grouping grouping(roots, n_rows, bytes, costs, check);
    const auto wanted = std::min<u64>(static_cast<u64>(partitions), grouping.n_roots());
    grouping.run(static_cast<i32>(wanted), found.order, found.partition, check);
    return found;
  });
}
auto* cut(const Wide& indptr, const Values& indices, const Wide& row_bytes, const Values& sequence, const Wide& cuts, i64 budget) {
  const Rows roots = rows_of(indptr, indices);
  return begin_pass(keep(indptr, indices, row_bytes, sequence, cuts),
                    [=, n_rows = row_bytes.size(), bytes = row_bytes.data(), order = sequence.data(), n = sequence.size(), at = cuts.data(), n_cuts = cuts.size()](const Check& check) {
                      return cut_roots(roots, n_rows, bytes, order, n, at, n_cuts, budget, check);
                    });
}
auto* transpose(const Wide& indptr, const Values& indices, std::size_t n_right, const std::optional<Values>& order) {
  const Rows rows = rows_of(indptr, indices);
  return begin_pass(keep(indptr, indices, order), [=](const Check& check) {
    return order ? transposed_in_order(rows, n_right, order->data(), order->size(), check) : transposed(rows, n_right, check);
  });
}
/// A core, written over the rows of its graph.
auto* peel_rows(const Wide& indptr, const Written& indices, u32 n_right, i64 least_left, i64 least_right) {
  const Rows rows = rows_of(indptr, indices);
  return begin_pass(keep(indptr, indices), [=, to = indices.data()](const Check& check) { return peel(rows, to, n_right, least_left, least_right, check); });
}
auto* count_two_steps(const Wide& indptr, const Values& indices, u32 n_right) {
  const Rows rows = rows_of(indptr, indices);
  return begin_pass(keep(indptr, indices), [=](const Check& check) { return count_paths(rows, n_right, check); });
}
/// The first vertex of each vertex's component.
auto* connect(const Wide& indptr, const Values& indices, u32 n_right) {
  const Rows rows = rows_of(indptr, indices);
  return begin_pass(keep(indptr, indices), [=](const Check& check) {
    return Components{first_of_component(rows, n_right, check)};
  });
}

}  // namespace

void bind_grouping(nb::module_& module) {
  bind_pass<Groups>(module, "RootGrouping", [](Groups& g) { return nb::make_tuple(numpy_of(std::move(g.order)), numpy_of(std::move(g.partition))); });
  bind_pass<RootCuts>(module, "RootCutting", [](RootCuts& c) { return nb::make_tuple(numpy_of(std::move(c.start)), numpy_of(std::move(c.bytes))); });
  bind_pass<OwnRows>(module, "Transposition", [](OwnRows& r) { return nb::make_tuple(numpy_of(std::move(r.start)), numpy_of(std::move(r.row))); });
  bind_pass<Peeled>(module, "Peeling", [](Peeled& p) { return nb::make_tuple(numpy_of(std::move(p.start)), p.rounds); });
  bind_pass<PathCounts>(module, "PathCounting", [](PathCounts& p) { return nb::make_tuple(numpy_of(std::move(p.left)), numpy_of(std::move(p.right))); });
  bind_pass<Components>(module, "Connecting", [](Components& c) { return numpy_of(std::move(c.first)); });
  module.def("group_roots", &group_roots, "indptr"_a, "indices"_a, "row_bytes"_a, "cost"_a, "partitions"_a);
  module.def("cut_roots", &cut, "indptr"_a, "indices"_a, "row_bytes"_a, "sequence"_a, "cuts"_a, "budget"_a);
  module.def("transpose", &transpose, "indptr"_a, "indices"_a, "n_right"_a, "order"_a.none());
  module.def("peel", &peel_rows, "indptr"_a, "indices"_a, "n_right"_a, "least_left"_a, "least_right"_a);
  module.def("count_paths", &count_two_steps, "indptr"_a, "indices"_a, "n_right"_a);
  module.def("connect", &connect, "indptr"_a, "indices"_a, "n_right"_a);
}

}  // namespace bicliq
