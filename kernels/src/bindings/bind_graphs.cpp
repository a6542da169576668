// bind_graphs.cpp: graphs as rows, for Python: made, checked, looked up and changed in the thread
// that asks; reduced, turned, connected and cut by tasks that hand what they made over, once.
#include "bindings/task.hpp"
#include "estimate/rewiring.hpp"
#include "graphs/peeling.hpp"
#include "graphs/grouping.hpp"
#include "graphs/path_sample.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace bicliq {
namespace {

/// Where each ascending row of n begins, and where the last one ends, of the rows of all entries;
/// None where these do not ascend.
nb::object row_starts(const Values& of, std::size_t n) {
  std::vector<i64> start = without_lock([&] { return starts_of(of.data(), of.size(), n, hear_interrupts); });
  return start.empty() ? nb::none() : numpy_of(std::move(start));
}
/// How many times each number below n stands in a list.
nb::object occurrences(const Values& of, std::size_t n) {
  std::vector<i64> found;
  without_lock([&] {
    found.resize(n);
    each_edge(of.size(), hear_interrupts, [&](u64 i) {
      const auto id = static_cast<std::size_t>(of.data()[i]);
      if (id >= n) throw std::invalid_argument("a number is beyond those there are");
      ++found[id];
    });
  });
  return numpy_of(std::move(found));
}
i64 row_fault(const Wide& indptr, const Values& indices, i64 n_right) {
  const Rows rows = rows_of(indptr, indices);
  return without_lock([&] { return first_fault(rows, n_right, hear_interrupts); });
}

/// (places, there) of edges among those of the rows.
nb::object find_edges(const Wide& indptr, const Values& indices, const Values& left, const Values& right) {
  if (left.size() != right.size()) throw std::invalid_argument("left and right differ in length");
  const Rows rows = rows_of(indptr, indices);
  std::vector<i64> places;
  std::vector<std::uint8_t> there;
  without_lock([&] {
    places.resize(left.size()), there.resize(left.size());
    pass(left.size(), kLookedUpACheck, hear_interrupts, [&](u64 i) {
      const EdgePlace place = place_of(rows, left.data()[i], right.data()[i]);
      places[i] = place.at, there[i] = place.there;
    });
  });
  return arrays_of(std::move(places), std::move(there));
}

/// (indptr, indices, weights) after edges changed.
nb::object change_rows(const Wide& indptr, const Values& indices, const std::optional<Input<double>>& weight, const Values& left,
                       const Values& right, const Input<std::uint8_t>& there, const std::optional<Input<double>>& new_weight, std::size_t n_left) {
  const std::size_t n = left.size();
  if (right.size() != n || there.size() != n || (new_weight && new_weight->size() != n) || (weight && weight->size() != indices.size()) ||
      weight.has_value() != new_weight.has_value())
    throw std::invalid_argument("the arrays of edges that change differ in length");
  const Rows rows = rows_of(indptr, indices);
  const EdgeChanges changes{left.data(), right.data(), there.data(), new_weight ? new_weight->data() : nullptr, n};
  WeightedRows found = without_lock([&] { return changed_rows(rows, weight ? weight->data() : nullptr, changes, n_left, hear_interrupts); });
  return arrays_of(std::move(found.rows.start), std::move(found.rows.row), std::move(found.weight));
}

/// The entries of the rows where edges are drawn by lot and degrees stay.
nb::object rewire(const Wide& indptr, const Values& indices, u64 seed, u32 passes) {
  const Rows rows = rows_of(indptr, indices);
  return numpy_of(without_lock([&] { return rewired(rows, seed, passes, hear_interrupts); }));
}

/// Paths of two edges from either side; holds references to the arrays.
class Paths {
 public:
  Paths(const Wide& indptr, const Values& indices, u32 n_right)
      : Paths(indptr, indices, without_lock([&, rows = rows_of(indptr, indices)] { return other_degrees(rows, n_right, hear_interrupts); })) {}
  Paths(const Wide& indptr, const Values& indices, std::vector<u32> right_degrees)
      : indptr_(indptr), indices_(indices), sample_(rows_of(indptr, indices), std::move(right_degrees)) {}
  const PathSample& sample() const { return sample_; }
  nb::tuple crowd(bool from_left, u32 others, u32 own, u32 n, u64 seed) {
    const Crowd found = without_lock([&] { return sample_.crowd(from_left, others, own, n, seed); });
    return nb::make_tuple(found.opened, found.once, found.twice, found.far);
  }

 private:
  const Wide indptr_;
  const Values indices_;
  PathSample sample_;
};

using Written = nb::ndarray<i32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Groups {
  std::vector<i32> order, partition;
};
struct Components {
  std::vector<u32> first;
};

auto* group_roots(const Wide& indptr, const Values& indices, const Wide& row_bytes, const Wide& cost, i32 partitions) {
  if (cost.size() != rows_of(indptr, indices).n) throw std::invalid_argument("there is not a cost for each root");
  return begin_pass<Groups>(indptr, indices, [=, n_rows = row_bytes.size(), bytes = row_bytes.data(), costs = cost.data()](Groups& found, const Rows& roots, const Check& check) {
    Grouping grouping(roots, n_rows, bytes, costs, check);
    const auto wanted = std::min<u64>(static_cast<u64>(partitions), grouping.n_roots());
    grouping.run(static_cast<i32>(wanted), found.order, found.partition, check);
  }, row_bytes, cost);
}
auto* cut(const Wide& indptr, const Values& indices, const Wide& row_bytes, const Values& sequence, const Wide& cuts, i64 budget) {
  const auto make = [n_rows = row_bytes.size(), bytes = row_bytes.data(), order = sequence.data(), n = sequence.size(), at = cuts.data(),
                     n_cuts = cuts.size(), budget](RootCuts& found, const Rows& roots, const Check& check) {
    found = cut_roots(roots, n_rows, bytes, order, n, at, n_cuts, budget, check);
  };
  return begin_pass<RootCuts>(indptr, indices, make, row_bytes, sequence, cuts);
}
auto* transpose(const Wide& indptr, const Values& indices, std::size_t n_right, const std::optional<Values>& order) {
  const auto make = [n_right, is_some = order.has_value(), some = order ? order->data() : nullptr, n = order ? order->size() : 0](OwnRows& found, const Rows& rows, const Check& check) {
    found = is_some ? transposed_in_order(rows, n_right, some, n, check) : transposed(rows, n_right, check);
  };
  return begin_pass<OwnRows>(indptr, indices, make, order);
}
/// A core, written over the rows of its graph.
auto* peel_rows(const Wide& indptr, const Written& indices, u32 n_right, i64 least_left, i64 least_right) {
  return begin_pass<Peeled>(indptr, indices, [=, to = indices.data()](Peeled& found, const Rows& rows, const Check& check) {
    std::vector<u32> degree = other_degrees(rows, n_right, check);
    found = peel(rows, to, degree, least_left, least_right, check);
  });
}
/// A core, its vertices numbered anew.
auto* find_core(const Wide& indptr, const Values& indices, u32 n_right, i64 least_left, i64 least_right) {
  return begin_pass<Core>(indptr, indices, [=](Core& found, const Rows& rows, const Check& check) {
    found = core_of(rows, n_right, least_left, least_right, check);
  });
}
/// (indptr, indices, numbers of left vertices and of right ones, paths); None: it is its own core.
nb::object told(Core core) {
  if (core.is_whole) return nb::none();
  nb::object indptr = numpy_of(std::move(core.rows.start)), indices = numpy_of(std::move(core.rows.row));
  Paths paths(nb::cast<Wide>(indptr), nb::cast<Values>(indices), std::move(core.right_degrees));
  return nb::make_tuple(indptr, indices, numpy_of(std::move(core.left)), numpy_of(std::move(core.right)), std::move(paths));
}
auto* count_two_steps(const Wide& indptr, const Values& indices, u32 n_right) {
  return begin_pass<PathCounts>(indptr, indices, [=](PathCounts& found, const Rows& rows, const Check& check) { found = count_paths(rows, n_right, check); });
}
/// The first vertex of each vertex's component.
auto* connect(const Wide& indptr, const Values& indices, u32 n_right) {
  return begin_pass<Components>(indptr, indices, [=](Components& found, const Rows& rows, const Check& check) { found.first = first_of_component(rows, n_right, check); });
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("row_starts", &row_starts, "left"_a, "n_left"_a);
  module.def("occurrences", &occurrences, "of"_a, "n"_a);
  module.def("row_fault", &row_fault, "indptr"_a, "indices"_a, "n_right"_a);
  module.def("find_edges", &find_edges, "indptr"_a, "indices"_a, "left"_a, "right"_a);
  module.def("change_rows", &change_rows, "indptr"_a, "indices"_a, "weight"_a.none(), "left"_a, "right"_a, "there"_a, "new_weight"_a.none(),
             "n_left"_a);
  module.def("rewire", &rewire, "indptr"_a, "indices"_a, "seed"_a, "passes"_a);
  nb::class_<Paths>(module, "Paths")
      .def(nb::init<const Wide&, const Values&, u32>(), "indptr"_a, "indices"_a, "n_right"_a)
      .def_prop_ro("from_left", [](const Paths& p) { return p.sample().from_left(); })
      .def_prop_ro("from_right", [](const Paths& p) { return p.sample().from_right(); })
      .def("crowd", &Paths::crowd, "from_left"_a, "others"_a, "own"_a, "n"_a, "seed"_a);
  bind_pass<Groups>(module, "RootGrouping", [](Groups& g) { return arrays_of(std::move(g.order), std::move(g.partition)); });
  bind_pass<RootCuts>(module, "RootCutting", [](RootCuts& c) { return arrays_of(std::move(c.start), std::move(c.bytes)); });
  bind_pass<OwnRows>(module, "Transposition", [](OwnRows& r) { return arrays_of(std::move(r.start), std::move(r.row)); });
  bind_pass<Peeled>(module, "Peeling", [](Peeled& p) { return nb::make_tuple(numpy_of(std::move(p.start)), p.rounds); });
  bind_pass<Core>(module, "CoreFinding", [](Core& c) { return told(std::move(c)); });
  bind_pass<PathCounts>(module, "PathCounting", [](PathCounts& p) { return arrays_of(std::move(p.left), std::move(p.right)); });
  bind_pass<Components>(module, "Connecting", [](Components& c) { return numpy_of(std::move(c.first)); });
  module.def("group_roots", &group_roots, "indptr"_a, "indices"_a, "row_bytes"_a, "cost"_a, "partitions"_a);
  module.def("cut_roots", &cut, "indptr"_a, "indices"_a, "row_bytes"_a, "sequence"_a, "cuts"_a, "budget"_a);
  module.def("transpose", &transpose, "indptr"_a, "indices"_a, "n_right"_a, "order"_a.none());
  module.def("peel", &peel_rows, "indptr"_a, "indices"_a, "n_right"_a, "least_left"_a, "least_right"_a);
  module.def("find_core", &find_core, "indptr"_a, "indices"_a, "n_right"_a, "least_left"_a, "least_right"_a);
  module.def("count_paths", &count_two_steps, "indptr"_a, "indices"_a, "n_right"_a);
  module.def("connect", &connect, "indptr"_a, "indices"_a, "n_right"_a);
}

}  // namespace bicliq
