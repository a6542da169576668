// bind_lattice.cpp: concepts for Python, in batches, the edges between them, and bases.
#include "bindings/bindings.hpp"
#include "bindings/task.hpp"
#include "lattice/concepts.hpp"
#include "lattice/implications.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace bicliq {
namespace {

using Held = std::shared_ptr<Concepts>;

/// Lists of both sides of some concepts, in the layout of Arrow.
nb::object lists_of(const Concepts& concepts, u32 first, u32 last) {
  if (last > concepts.size() || first > last) throw std::invalid_argument("there are not so many concepts");
  std::vector<i32> offsets[2], ids[2];
  without_lock([&] {
    for (const auto side : {Concepts::left, Concepts::right}) {
      offsets[side].push_back(0);
      for (u32 number = first; number < last; ++number) {
        const Span list = concepts.list(side, number);
        ids[side].insert(ids[side].end(), list.begin(), list.end());
        if (ids[side].size() > 0x7fffffff) throw std::length_error("a batch of concepts has more than 2^31 - 1 vertices");
        offsets[side].push_back(static_cast<i32>(ids[side].size()));
      }
    }
  });
  return arrays_of(std::move(offsets[0]), std::move(ids[0]), std::move(offsets[1]), std::move(ids[1]));
}
/// How many vertices of a side each concept has.
nb::object sizes_of(const Concepts& concepts, bool left) {
  std::vector<i32> sizes;
  without_lock([&] {
    for (u32 number = 0; number < concepts.size(); ++number)
      sizes.push_back(static_cast<i32>(concepts.list(left ? Concepts::left : Concepts::right, number).size()));
  });
  return numpy_of(std::move(sizes));
}
/// Ends of edges at the vertices of a side, over all concepts.
u64 steps_of(const Concepts& concepts, bool left, const Wide& start) {
  const nb::gil_scoped_release release;
  u64 n = 0;
  each_vertex(concepts.size(), hear_interrupts, [&](u32 number) {
    for (const i32 id : concepts.list(left ? Concepts::left : Concepts::right, number)) n += static_cast<u64>(start.data()[id + 1] - start.data()[id]);
  });
  return n;
}

/// Covers, with what they read.
class CoverStream {
 public:
  CoverStream(Held concepts, bool left, const Wide& start, const Values& row, u32 n_others, u32 least)
      : concepts_(std::move(concepts)), kept_(keep(start, row)), covers_([&] {
          return std::make_unique<Covers>(*concepts_, left ? Concepts::left : Concepts::right, rows_of(start, row), n_others, least, hear_interrupts);
        }) {}
  /// None at the end.
  nb::object next() {
    Covers::Batch batch = without_lock([&] { return covers_->next(); });
    if (batch.largest.empty()) return nb::none();
    return arrays_of(std::move(batch.from), std::move(batch.to), std::move(batch.largest));
  }

 private:
  const Held concepts_;
  const Kept kept_;
  const Apart<Covers> covers_;
};

/// Asks Python, some fifty times a second and without the lock between, whether to end.
class Patience {
 public:
  struct Ended {};
  explicit Patience(const nb::object& until) : until_(until) {}
  void operator()(u64 done) const {
    if (Clock::now() < next_) return;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!until_.is_none() && nb::cast<bool>(until_(done))) throw Ended();
    next_ = Clock::now() + std::chrono::milliseconds(20);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const nb::object& until_;
  mutable Clock::time_point next_{};
};
/// What `make` returns; nothing where its patience ended.
template <class Make>
auto within(const nb::object& until, const Make& make) -> std::optional<decltype(make(std::declval<const Patience&>()))> {
  const nb::gil_scoped_release release;
  try {
    return make(Patience(until));
  } catch (const Patience::Ended&) {
    return std::nullopt;
  }
}

nb::object basis_of(const Wide& start, const Values& row, u32 n_attributes, bool direct, const nb::object& until) {
  const Rows rows = rows_of(start, row);
  auto found = within(until, [&](const Patience& check) {
    return direct ? direct_basis(rows, n_attributes, check) : CanonicalBasis<Patience>(rows, n_attributes, check).run();
  });
  if (!found) return nb::none();
  return arrays_of(std::move(found->premise_offsets), std::move(found->premises), std::move(found->conclusion_offsets), std::move(found->conclusions), std::move(found->support));
}

nb::object transversals_of(const Values& offsets, const Values& ids, u32 n, const nb::object& until) {
  const std::size_t n_sets = offsets.size() - 1;
  check_lists(offsets, ids, n_sets);
  auto found = within(until, [&](const Patience& check) {
    Family family(n);
    for (std::size_t i = 0; i < n_sets; ++i) {
      u64* const set = family.grow();
      for (const i32 id : list_of(offsets, ids, i)) {
        if (id < 0 || static_cast<u32>(id) >= n) throw std::invalid_argument("a number is beyond those there are");
        Family::put(set, static_cast<u32>(id));
      }
    }
    Growing<i32> starts, numbers;
    starts.push(0);
    each_transversal(family, [&](const std::vector<u32>& chosen) {
      i32* const to = numbers.room(chosen.size());
      std::copy(chosen.begin(), chosen.end(), to);
      std::sort(to, to + chosen.size());
      numbers.add(chosen.size());
      if (numbers.size() > 0x7fffffff) throw std::length_error("transversals have more than 2^31 - 1 numbers");
      starts.push(static_cast<i32>(numbers.size()));
    }, [&] { check(starts.size() - 1); });
    return std::make_pair(std::move(starts), std::move(numbers));
  });
  if (!found) return nb::none();
  return arrays_of(std::move(found->first), std::move(found->second));
}

}  // namespace

void bind_lattice(nb::module_& module) {
  nb::class_<Concepts>(module, "Concepts")
      .def("__len__", &Concepts::size)
      .def(
          "add",
          [](Concepts& to, const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right) {
            const std::size_t n = checked_batch(left_offsets, left, right_offsets, right);
            without_lock([&] {
              for (std::size_t i = 0; i < n; ++i) to.add(list_of(left_offsets, left, i), list_of(right_offsets, right, i));
            });
          },
          "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a)
      .def("number", [](Concepts& concepts) { without_lock([&] { concepts.number(hear_interrupts); }); })
      .def("lists", &lists_of, "first"_a, "last"_a)
      .def("sizes", &sizes_of, "left"_a)
      .def("steps", &steps_of, "left"_a, "start"_a);
  module.def("concepts", [] { return shared_apart(std::make_unique<Concepts>()); });
  nb::class_<CoverStream>(module, "CoverStream")
      .def(nb::init<Held, bool, const Wide&, const Values&, u32, u32>(), "concepts"_a, "left"_a, "start"_a, "row"_a, "n_others"_a, "least"_a)
      .def("next", &CoverStream::next);
  module.def("implications", &basis_of, "start"_a, "row"_a, "n_attributes"_a, "direct"_a, "until"_a.none());
  module.def("minimal_transversals", &transversals_of, "offsets"_a, "ids"_a, "n"_a, "until"_a.none());
}

}  // namespace bicliq
