// bind_rows.cpp: edges as ascending rows, for Python: made, checked, looked up and changed, in the
// thread that asks.
#include "bindings/bindings.hpp"
#include "estimate/rewiring.hpp"

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
  return nb::make_tuple(numpy_of(std::move(places)), numpy_of(std::move(there)));
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
  return nb::make_tuple(numpy_of(std::move(found.rows.start)), numpy_of(std::move(found.rows.row)), numpy_of(std::move(found.weight)));
}

/// The entries of the rows where edges are drawn by lot and degrees stay.
nb::object rewire(const Wide& indptr, const Values& indices, u64 seed, u32 passes) {
  const Rows rows = rows_of(indptr, indices);
  return numpy_of(without_lock([&] { return rewired(rows, seed, passes, hear_interrupts); }));
}

}  // namespace

void bind_rows(nb::module_& module) {
  module.def("row_starts", &row_starts, "left"_a, "n_left"_a);
  module.def("row_fault", &row_fault, "indptr"_a, "indices"_a, "n_right"_a);
  module.def("find_edges", &find_edges, "indptr"_a, "indices"_a, "left"_a, "right"_a);
  module.def("change_rows", &change_rows, "indptr"_a, "indices"_a, "weight"_a.none(), "left"_a, "right"_a, "there"_a, "new_weight"_a.none(),
             "n_left"_a);
  module.def("rewire", &rewire, "indptr"_a, "indices"_a, "seed"_a, "passes"_a);
}

}  // namespace bicliq
