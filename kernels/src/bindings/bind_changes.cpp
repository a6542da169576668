// bind_changes.cpp: edges that change, for Python: the rows of a graph with them, and the bicliques
// that come and go: subgraphs out, bicliques in.
#include "bindings/bindings.hpp"
#include "enumeration/changes.hpp"
#include "enumeration/found_changes.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

using Values = Input<std::int32_t>;
using Wide = Input<std::int64_t>;

Rows rows_of(const Wide& start, const Values& row) { return {start.data(), row.data(), start.size() - 1}; }

/// Where each ascending row of n begins, and where the last one ends, of the rows of all entries.
nb::object row_starts(const Values& of, std::size_t n) {
  std::vector<std::int64_t> start(n + 1, 0);
  std::size_t row = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto own = static_cast<std::size_t>(of.data()[i]);
    if (own == row) continue;
    if (of.data()[i] < 0 || own < row || own >= n) return nb::none();
    while (row < own) start[++row] = static_cast<std::int64_t>(i);
  }
  while (row < n) start[++row] = static_cast<std::int64_t>(of.size());
  return numpy_of(std::move(start));
}

std::int64_t row_fault(const Wide& start, const Values& row, std::int64_t n_columns) { return first_fault(rows_of(start, row), n_columns); }

/// (places, there) of edges among those of the rows.
nb::object find_edges(const Wide& start, const Values& row, const Values& left, const Values& right) {
  const Rows rows = rows_of(start, row);
  std::vector<std::int64_t> places(left.size());
  std::vector<std::uint8_t> there(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const EdgePlace place = place_of(rows, left.data()[i], right.data()[i]);
    places[i] = place.at, there[i] = place.there;
  }
  return nb::make_tuple(numpy_of(std::move(places)), numpy_of(std::move(there)));
}

/// (indptr, indices, weights) after edges changed.
nb::object change_rows(const Wide& start, const Values& row, const std::optional<Input<double>>& weight, const Values& left,
                       const Values& right, const Input<std::uint8_t>& there, const std::optional<Input<double>>& weights, std::size_t n) {
  const EdgeChanges changes{left.data(), right.data(), there.data(), weights ? weights->data() : nullptr, left.size()};
  WeightedRows found = changed_rows(rows_of(start, row), weight ? weight->data() : nullptr, changes, n);
  return nb::make_tuple(numpy_of(std::move(found.rows.start)), numpy_of(std::move(found.rows.row)), numpy_of(std::move(found.weight)));
}

/// Four arrays of each part.
nb::list arrays(std::vector<Lists> parts) {
  nb::list found;
  for (Lists& lists : parts)
    found.append(nb::make_tuple(numpy_of(std::move(lists.left_offsets)), numpy_of(std::move(lists.left)),
                                numpy_of(std::move(lists.right_offsets)), numpy_of(std::move(lists.right))));
  return found;
}

/// What appeared and what vanished, in parts; they are handed over, once.
nb::object take(FoundChanges& found) { return nb::make_tuple(arrays(found.take_appeared()), arrays(found.take_vanished())); }

/// Adds what was found elsewhere, four arrays each. What vanished may be here already.
void add(FoundChanges& to, const Wide& left_offsets, const Values& left, const Wide& right_offsets, const Values& right,
         const Wide& old_left_offsets, const Values& old_left, const Wide& old_right_offsets, const Values& old_right) {
  const nb::gil_scoped_release release;
  const auto each = [](const Wide& l_offsets, const Values& l, const Wide& r_offsets, const Values& r, const auto& visit) {
    const auto list = [](const Wide& offsets, const Values& of, std::size_t i) { return Span{of.data() + offsets.data()[i], of.data() + offsets.data()[i + 1]}; };
    for (std::size_t i = 0; i + 1 < l_offsets.size(); ++i) visit(list(l_offsets, l, i), list(r_offsets, r, i));
  };
  Lists appeared;
  each(left_offsets, left, right_offsets, right, [&](Span l, Span r) { appeared.add(l.first, l.size(), r.first, r.size()); });
  to.appear(std::move(appeared));
  each(old_left_offsets, old_left, old_right_offsets, old_right, [&](Span l, Span r) { to.vanish(l, r, hash_of(l, r)); });
}

/// The changes of a graph; threads may share it.
class ChangeSearch {
 public:
  ChangeSearch(const Input<std::int64_t>& indptr, const Values& indices, u32 n_right, const Input<std::int64_t>& fresh_indptr,
               const Values& fresh, std::int64_t min_left, std::int64_t min_right, std::int64_t min_edges)
      : indptr_(indptr), indices_(indices), fresh_indptr_(fresh_indptr), fresh_(fresh), least_{min_left, min_right, min_edges},
        graph_(rows_of(indptr, indices), n_right, rows_of(fresh_indptr, fresh)) {}

  std::size_t n_changes() const { return graph_.n_changes(); }
  nb::object costs() const { return numpy_of(graph_.costs()); }

  /// (indptr, indices, left, right, left_change, left_start, right_start) of the subgraphs of some
  /// changes.
  nb::object neighbourhoods(std::size_t first, std::size_t last) const {
    Neighbourhoods found;
    {
      const nb::gil_scoped_release release;
      found = graph_.neighbourhoods(first, last);
    }
    return nb::make_tuple(numpy_of(std::move(found.indptr)), numpy_of(std::move(found.indices)), numpy_of(std::move(found.left)),
                          numpy_of(std::move(found.right)), numpy_of(std::move(found.left_change)),
                          numpy_of(std::move(found.left_start)), numpy_of(std::move(found.right_start)));
  }

  /// Takes bicliques of the subgraphs from `first` on, in their numbers, and adds what they change
  /// to `to`; `order` are the places of those to take, change by change.
  void settle(FoundChanges& to, const Wide& order, const Wide& left_offsets, const Values& left, const Wide& right_offsets, const Values& right,
              const Values& left_of, const Values& right_of, const Values& change_of, const Wide& left_start, const Wide& right_start,
              std::int32_t first) {
    const nb::gil_scoped_release release;
    Lists appeared;
    Remains remains(graph_, least_);
    Ids l, r, l_places, r_places;
    std::int32_t change = -1;
    const auto change_at = [&](std::size_t k) { return change_of.data()[left.data()[left_offsets.data()[order.data()[k]]]]; };
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::int64_t i = order.data()[k];
      const std::int32_t own = change_at(k);
      if (own != change) {
        change = own;
        std::size_t n = 1;
        while (k + n < order.size() && change_at(k + n) == own) ++n;
        remains.change(change, n, side(left_of, left_start, change - first), side(right_of, right_start, change - first));
      }
      mapped(left_offsets, left, i, left_of, left_start.data()[change - first], l, l_places);
      mapped(right_offsets, right, i, right_of, right_start.data()[change - first], r, r_places);
      remains.take(span_of(l), span_of(r), span_of(l_places), span_of(r_places), appeared, to);
    }
    to.appear(std::move(appeared));
  }

 private:
  static Span side(const Values& vertices, const Wide& start, std::int32_t number) {
    return {vertices.data() + start.data()[number], vertices.data() + start.data()[number + 1]};
  }
  /// The vertices of a list, and their places in the side of its subgraph, which begins at `start`.
  static void mapped(const Wide& offsets, const Values& ids, std::int64_t i, const Values& of, std::int64_t start, Ids& to, Ids& places) {
    const std::int32_t *member = ids.data() + offsets.data()[i], *last = ids.data() + offsets.data()[i + 1];
    to.resize(static_cast<std::size_t>(last - member)), places.resize(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) {
      to[k] = of.data()[member[k]];
      places[k] = static_cast<std::int32_t>(member[k] - start);
    }
  }

  const Input<std::int64_t> indptr_;  // kept as long as the graph looks at them
  const Values indices_;
  const Wide fresh_indptr_;
  const Values fresh_;
  const Remains::Least least_;
  const ChangedGraph graph_;
};

}  // namespace

void bind_changes(nb::module_& module) {
  module.def("row_starts", &row_starts);
  module.def("row_fault", &row_fault);
  module.def("find_edges", &find_edges);
  module.def("change_rows", &change_rows, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  nb::class_<ChangeSearch>(module, "ChangeSearch")
      .def(nb::init<const Input<std::int64_t>&, const Values&, u32, const Input<std::int64_t>&, const Values&, std::int64_t,
                    std::int64_t, std::int64_t>())
      .def_prop_ro("n_changes", &ChangeSearch::n_changes)
      .def("costs", &ChangeSearch::costs)
      .def("neighbourhoods", &ChangeSearch::neighbourhoods)
      .def("settle", &ChangeSearch::settle);
  nb::class_<FoundChanges>(module, "FoundChanges").def(nb::init<>()).def("add", &add).def("take", &take);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
