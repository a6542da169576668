// bind_grouping.cpp: the grouping of roots for Python: arrays in, order and partitions out.
#include "bindings/bindings.hpp"
#include "graphs/grouping.hpp"
#include "lanes/workers.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

/// Holds references to the arrays for as long as its thread reads them.
class RootGrouping {
 public:
  RootGrouping(Input<std::int64_t> indptr, Input<std::int32_t> indices, Input<std::int64_t> row_bytes, Input<std::int64_t> cost,
               std::int32_t partitions)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), row_bytes_(std::move(row_bytes)), cost_(std::move(cost)) {
    run_.begin([this, partitions] { group(partitions); });
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_.wait(seconds);
  }
  void stop() {
    const nb::gil_scoped_release release;
    run_.end();
  }
  /// (order, partition); they are handed over, once.
  nb::object take() { return nb::make_tuple(numpy_of(std::move(order_)), numpy_of(std::move(partition_))); }

 private:
  void group(std::int32_t partitions) {
    const auto check = [this] { run_.check(); };
    const RootRows roots{indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), static_cast<u32>(row_bytes_.size())};
    Grouping grouping(roots, row_bytes_.data(), cost_.data(), check);
    const auto wanted = std::min<u64>(static_cast<u64>(partitions), grouping.n_roots());
    grouping.run(static_cast<std::int32_t>(wanted), order_, partition_, check);
  }

  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  const Input<std::int64_t> row_bytes_, cost_;
  std::vector<std::int32_t> order_, partition_;
  Run run_;  // last: its thread uses all that is above
};

}  // namespace

void bind_grouping(nb::module_& module) {
  nb::class_<RootGrouping>(module, "RootGrouping")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, Input<std::int64_t>, Input<std::int64_t>, std::int32_t>())
      .def("wait", &RootGrouping::wait)
      .def("stop", &RootGrouping::stop)
      .def("take", &RootGrouping::take);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
