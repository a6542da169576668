// bind_grouping.cpp: the grouping of roots for Python: arrays in, order and partitions out.
#include "bindings/bindings.hpp"
#include "graphs/grouping.hpp"

#include <nanobind/ndarray.h>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;

Output to_numpy(std::vector<std::int32_t>&& values) {
  auto* held = new std::vector<std::int32_t>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<std::int32_t>*>(p); });
  return Output(held->data(), {held->size()}, owner);
}

nb::tuple group_roots(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices,
                      const Input<std::int64_t>& row_bytes, const Input<std::int64_t>& cost, std::int32_t partitions) {
  std::vector<std::int32_t> order, partition;
  {
    const nb::gil_scoped_release release;
    const RootRows roots{indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), static_cast<u32>(row_bytes.size())};
    Grouping grouping(roots, row_bytes.data(), cost.data());
    const auto wanted = std::min<u64>(static_cast<u64>(partitions), grouping.n_roots());
    grouping.run(static_cast<std::int32_t>(wanted), order, partition);
  }
  return nb::make_tuple(to_numpy(std::move(order)), to_numpy(std::move(partition)));
}

}  // namespace

void bind_grouping(nb::module_& module) { module.def("group_roots", &group_roots); }

}  // namespace BICLIQ_ISA
}  // namespace bicliq
