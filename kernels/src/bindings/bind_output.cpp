// bind_output.cpp: row groups of bicliques made, and read ones checked, without Python's lock.
#include "bindings/bindings.hpp"
#include "output/check_lists.hpp"
#include "output/row_group.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

/// Compresses by a function of Python, from bytes to bytes, for machines without the library.
Compress function_of_python(nb::handle function) {
  return [function](const Bytes& from, Bytes& to) {
    const nb::gil_scoped_acquire acquire;
    const nb::bytes packed = nb::cast<nb::bytes>(function(nb::bytes(from.data(), from.size())));
    to.put(packed.c_str(), packed.size());
  };
}

/// The first place of `offsets` that is before its predecessor or beyond the ids tells of a batch
/// that is none.
void check(const Input<i32>& offsets, const Input<i32>& ids, std::size_t n) {
  const i32* at = offsets.data();
  bool sound = offsets.size() && offsets.size() == n + 1 && at[0] >= 0 && static_cast<std::size_t>(at[n]) <= ids.size();
  for (std::size_t i = 0; sound && i < n; ++i) sound = at[i] <= at[i + 1];
  if (!sound) throw std::invalid_argument("the offsets of a batch do not fit its ids and its roots");
}

nb::object encode(const Input<i32>& left_offsets, const Input<i32>& left, const Input<i32>& right_offsets, const Input<i32>& right,
                  const Input<i32>& root, u32 codec, int level, nb::object compress) {
  const std::size_t n = root.size();
  check(left_offsets, left, n);
  check(right_offsets, right, n);
  std::unique_ptr<RowGroup> group;
  {
    const nb::gil_scoped_release release;
    const Codec which = static_cast<Codec>(codec);
    group = std::make_unique<RowGroup>(ListColumn{left_offsets.data(), left.data()}, ListColumn{right_offsets.data(), right.data()},
                                       root.data(), n, compress.is_none() ? library_of(which, level) : function_of_python(compress));
  }
  nb::list columns;
  for (const ColumnChunk& c : group->columns())
    columns.append(nb::make_tuple(c.begin, c.data, c.end, c.n_values, c.uncompressed, c.n_pages, c.least, c.most));
  RowGroup* held = group.release();
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<RowGroup*>(p); });
  using Raw = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(held->bytes().data());
  return nb::make_tuple(nb::cast(Raw(bytes, {held->bytes().size()}, owner)), columns);
}

using Hashes = std::optional<Input<u64>>;

SideLists side_of(const Input<i32>& offsets, const Input<i32>& ids, const Hashes& hashes, u64 seed) {
  return {offsets.data(), ids.data(), hashes ? hashes->data() : nullptr, hashes ? hashes->size() : 0, seed};
}

/// The digest of a batch, and how many of its bicliques have a side that is not ascending.
nb::object check_batch(const Input<i32>& left_offsets, const Input<i32>& left, const Input<i32>& right_offsets,
                       const Input<i32>& right, const Hashes& left_hashes, const Hashes& right_hashes) {
  const std::size_t n = left_offsets.size() - 1;
  check(left_offsets, left, n);
  check(right_offsets, right, n);
  ListCheck found;
  {
    const nb::gil_scoped_release release;
    found = check_lists(side_of(left_offsets, left, left_hashes, kLeftSeed), side_of(right_offsets, right, right_hashes, kRightSeed), n);
  }
  return nb::make_tuple(found.digest, found.n_unordered);
}

}  // namespace

void bind_output(nb::module_& module) {
  module.def("encode_bicliques", &encode, nb::arg("left_offsets"), nb::arg("left"), nb::arg("right_offsets"), nb::arg("right"),
             nb::arg("root"), nb::arg("codec"), nb::arg("level"), nb::arg("compress").none());
  module.def("check_bicliques", &check_batch, nb::arg("left_offsets"), nb::arg("left"), nb::arg("right_offsets"), nb::arg("right"),
             nb::arg("left_hashes") = nb::none(), nb::arg("right_hashes") = nb::none());
  module.def("has_library", [](u32 codec) { return has_library(static_cast<Codec>(codec)); });
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
