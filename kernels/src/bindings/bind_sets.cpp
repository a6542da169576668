// bind_sets.cpp: sets of bicliques for Python: which rows are in one, and what changes leave.
#include "bindings/bindings.hpp"
#include "changes/net_changes.hpp"
#include "output/biclique_set.hpp"
#include "output/row_group.hpp"

#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

namespace bicliq {
namespace {

void check_lengths(std::size_t n, const Values& n_left, const Values& n_right, const Values& root) {
  if (n_left.size() != n || n_right.size() != n || root.size() != n)
    throw std::invalid_argument("n_left, n_right and root differ in length");
}

/// Rows of both sides, or of the smaller ones: calls `visit` with a side, both sizes and the root.
struct BothSides {
  const Values &left_offsets, &left, &right_offsets, &right, &root;
  std::size_t size() const { return root.size(); }
  void check_all() const {
    check_lists(left_offsets, left, size());
    check_lists(right_offsets, right, size());
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const i32 *l = left_offsets.data(), *r = right_offsets.data();
    for (std::size_t i = 0; i < size(); ++i) {
      const i32 n_left = l[i + 1] - l[i], n_right = r[i + 1] - r[i];
      const bool is_left = left_is_smaller(n_left, n_right);
      const i32* const first = is_left ? left.data() + l[i] : right.data() + r[i];
      visit(i, BicliqueSet::Side{first, first + std::min(n_left, n_right), is_left}, n_left, n_right, root.data()[i]);
    }
  }
};
struct SmallerSidesOnly {
  const Values &offsets, &ids, &n_left, &n_right, &root;
  std::size_t size() const { return root.size(); }
  void check_all() const {
    check_lists(offsets, ids, size());
    check_lengths(size(), n_left, n_right, root);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const i32* const at = offsets.data();
    for (std::size_t i = 0; i < size(); ++i)
      visit(i, BicliqueSet::Side{ids.data() + at[i], ids.data() + at[i + 1], left_is_smaller(n_left.data()[i], n_right.data()[i])},
            n_left.data()[i], n_right.data()[i], root.data()[i]);
  }
};

/// Some rows on their way through a set: what each look begins with is asked of memory for all of
/// them, and only then looked at (a third of the time).
class Looks {
 public:
  struct Look {
    std::size_t row;
    BicliqueSet::Side side;
    u64 hash;
    i32 n_left, n_right, root;
  };
  template <class RowsOf, class Wanted, class Use>
  static void each(const RowsOf& rows, const BicliqueSet& set, const Wanted& wanted, const Use& use) {
    std::vector<Look> waiting;
    waiting.reserve(kTogether);
    const auto look = [&] {
      for (const Look& one : waiting) use(one);
      waiting.clear();
    };
    rows.each([&](std::size_t i, const BicliqueSet::Side& side, i32 n_left, i32 n_right, i32 root) {
      if (!wanted(n_left, n_right, root)) return;
      waiting.push_back({i, side, BicliqueSet::hash_of(side), n_left, n_right, root});
      set.fetch(waiting.back().hash);
      if (waiting.size() == kTogether) look();
    });
    look();
  }

 private:
  static constexpr std::size_t kTogether = 32;
};

template <class RowsOf>
void add(BicliqueSet& to, const RowsOf& rows) {
  rows.check_all();
  const nb::gil_scoped_release release;
  to.reserve(rows.size());
  Looks::each(rows, to, [](i32, i32, i32) { return true; },
              [&](const Looks::Look& one) { to.add(one.side, one.hash, one.n_left, one.n_right, one.root); });
}
template <class RowsOf>
nb::object holds(const BicliqueSet& set, const RowsOf& rows) {
  rows.check_all();
  std::vector<std::uint8_t> found(rows.size(), 0);
  {
    const nb::gil_scoped_release release;
    Looks::each(rows, set, [&](i32 n_left, i32 n_right, i32 root) { return set.may_hold(n_left, n_right, root); },
                [&](const Looks::Look& one) { found[one.row] = set.holds(one.side, one.hash); });
  }
  return numpy_of(std::move(found));
}
nb::object may_hold(const BicliqueSet& set, const Values& n_left, const Values& n_right, const Values& root) {
  check_lengths(root.size(), n_left, n_right, root);
  std::vector<std::uint8_t> found(root.size());
  without_lock([&] {
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = set.may_hold(n_left.data()[i], n_right.data()[i], root.data()[i]);
  });
  return numpy_of(std::move(found));
}

/// The lists that have a flag. Where one follows another, both are copied at once: of the rows that
/// a reader meets, nearly all have one.
nb::tuple kept_lists(const Values& offsets, const Values& ids, const Input<std::uint8_t>& kept) {
  const std::size_t n = kept.size();
  check_lists(offsets, ids, n);
  std::vector<i32> to_offsets, to_ids;
  {
    const nb::gil_scoped_release release;
    const i32* const at = offsets.data();
    const std::uint8_t* const flags = kept.data();
    std::size_t n_kept = 0, n_ids = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (flags[i]) ++n_kept, n_ids += static_cast<std::size_t>(at[i + 1] - at[i]);
    to_offsets.reserve(n_kept + 1), to_ids.reserve(n_ids);
    to_offsets.push_back(0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t first = i;
      const i32 shift = static_cast<i32>(to_ids.size()) - at[first];
      for (; i < n && flags[i]; ++i) to_offsets.push_back(at[i + 1] + shift);
      to_ids.insert(to_ids.end(), ids.data() + at[first], ids.data() + at[i]);
    }
  }
  return nb::make_tuple(numpy_of(std::move(to_offsets)), numpy_of(std::move(to_ids)));
}

/// Changes, one batch after the other; the arrays are kept until they were summed up.
class Net {
 public:
  void add(const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right, std::int32_t sign) {
    const std::size_t n = checked_batch(left_offsets, left, right_offsets, right);
    kept_.emplace_back(left_offsets, left, right_offsets, right);
    const nb::gil_scoped_release release;
    net_.add(n, sign, [&](std::size_t i) { return std::pair(list_of(left_offsets, left, i), list_of(right_offsets, right, i)); });
  }
  /// A flag a row of each batch.
  nb::list take() {
    nb::list found;
    for (std::vector<std::uint8_t>& each : without_lock([&] { return net_.take(); })) found.append(numpy_of(std::move(each)));
    return found;
  }

 private:
  std::vector<std::tuple<Values, Values, Values, Values>> kept_;
  NetChanges net_;
};

}  // namespace

void bind_sets(nb::module_& module) {
  nb::class_<BicliqueSet>(module, "BicliqueSet")
      .def(nb::init<>())
      .def("__len__", &BicliqueSet::size)
      .def("reserve", [](BicliqueSet& set, std::size_t n) { without_lock([&] { set.reserve(n); }); }, "n"_a)
      .def("may_hold", &may_hold, "n_left"_a, "n_right"_a, "root"_a)
      .def("add", [](BicliqueSet& to, const Values& lo, const Values& l, const Values& ro, const Values& r, const Values& root) { add(to, BothSides{lo, l, ro, r, root}); },
           "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "root"_a)
      .def("holds", [](const BicliqueSet& set, const Values& lo, const Values& l, const Values& ro, const Values& r, const Values& root) { return holds(set, BothSides{lo, l, ro, r, root}); },
           "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "root"_a)
      .def("add_smaller", [](BicliqueSet& to, const Values& o, const Values& ids, const Values& nl, const Values& nr, const Values& root) { add(to, SmallerSidesOnly{o, ids, nl, nr, root}); },
           "offsets"_a, "smaller"_a, "n_left"_a, "n_right"_a, "root"_a)
      .def("holds_smaller", [](const BicliqueSet& set, const Values& o, const Values& ids, const Values& nl, const Values& nr, const Values& root) { return holds(set, SmallerSidesOnly{o, ids, nl, nr, root}); },
           "offsets"_a, "smaller"_a, "n_left"_a, "n_right"_a, "root"_a);
  module.def("kept_lists", &kept_lists, "offsets"_a, "ids"_a, "kept"_a);
  nb::class_<Net>(module, "NetChanges")
      .def(nb::init<>())
      .def("add", &Net::add, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "sign"_a)
      .def("take", &Net::take);
}

}  // namespace bicliq
