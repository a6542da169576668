// bind_lattice.cpp: concepts for Python, in batches, and the edges between them.
#include "bindings/bindings.hpp"
#include "bindings/task.hpp"
#include "lattice/concepts.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>
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
  for (u32 number = 0; number < concepts.size(); ++number)
    sizes.push_back(static_cast<i32>(concepts.list(left ? Concepts::left : Concepts::right, number).size()));
  return numpy_of(std::move(sizes));
}

/// Covers, with what they read.
class CoverStream {
 public:
  CoverStream(Held concepts, bool left, const Wide& start, const Values& row, u32 n_others, u32 least)
      : concepts_(std::move(concepts)), kept_(keep(start, row)), covers_([&] {
          return std::make_unique<Covers>(*concepts_, left ? Concepts::left : Concepts::right, rows_of(start, row), n_others, least);
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

}  // namespace

void bind_lattice(nb::module_& module) {
  nb::class_<Concepts>(module, "Concepts")
      .def(nb::init<>())
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
      .def("number", [](Concepts& concepts) { without_lock([&] { concepts.number(); }); })
      .def("lists", &lists_of, "first"_a, "last"_a)
      .def("sizes", &sizes_of, "left"_a);
  nb::class_<CoverStream>(module, "CoverStream")
      .def(nb::init<Held, bool, const Wide&, const Values&, u32, u32>(), "concepts"_a, "left"_a, "start"_a, "row"_a, "n_others"_a, "least"_a)
      .def("next", &CoverStream::next);
}

}  // namespace bicliq
