// bind_grouping.cpp: how a graph is reduced, turned and cut, for Python: its cores, the rows of the
// other side, paths of two edges, the grouping of roots, and where a sequence of them is cut.
#include "bindings/bindings.hpp"
#include "graphs/components.hpp"
#include "graphs/grouping.hpp"
#include "graphs/peeling.hpp"
#include "graphs/rows.hpp"
#include "lanes/workers.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

using Wide = Input<std::int64_t>;
using Values = Input<std::int32_t>;
using Written = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

/// One pass or several over the rows of a graph, on a thread of its own: what it makes is handed
/// over, once.
template <class Found>
class Passes {
 public:
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_.wait(seconds);
  }
  void stop() {
    const nb::gil_scoped_release release;
    run_.end();
  }

 protected:
  template <class F>
  void begin(F make) {
    run_.begin([this, make] { found_ = make([this] { run_.check(); }); });
  }
  Found found_;

 private:
  Run run_;
};

/// A sequence of roots that is cut at given places and within a budget.
class RootCutting : public Passes<RootCuts> {
 public:
  RootCutting(Wide indptr, Values indices, Wide row_bytes, Values sequence, Wide cuts, std::int64_t budget)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), row_bytes_(std::move(row_bytes)), sequence_(std::move(sequence)),
        cuts_(std::move(cuts)) {
    begin([this, budget](const auto& check) {
      const RootRows roots{indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), static_cast<u32>(row_bytes_.size())};
      return cut_roots(roots, row_bytes_.data(), sequence_.data(), sequence_.size(), cuts_.data(), cuts_.size(), budget, check);
    });
  }
  ~RootCutting() { stop(); }
  /// (starts, bytes)
  nb::object take() { return nb::make_tuple(numpy_of(std::move(found_.start)), numpy_of(std::move(found_.bytes))); }

 private:
  const Wide indptr_;
  const Values indices_;
  const Wide row_bytes_;
  const Values sequence_;
  const Wide cuts_;
};

/// The rows of the other side.
class Transposition : public Passes<OwnRows> {
 public:
  Transposition(Wide indptr, Values indices, std::size_t n, std::optional<Values> order)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), order_(std::move(order)) {
    begin([this, n](const auto& check) {
      const Rows rows{indptr_.data(), indices_.data(), indptr_.size() - 1};
      return transposed_in_order(rows, n, order_ ? order_->data() : nullptr, order_ ? order_->size() : rows.size(), check);
    });
  }
  ~Transposition() { stop(); }
  /// (indptr, indices)
  nb::object take() { return nb::make_tuple(numpy_of(std::move(found_.start)), numpy_of(std::move(found_.row))); }

 private:
  const Wide indptr_;
  const Values indices_;
  const std::optional<Values> order_;
};

/// A core, written over the rows of its graph.
class Peeling : public Passes<Peeled> {
 public:
  Peeling(Wide indptr, Written indices, u32 n_right, std::int64_t least_left, std::int64_t least_right)
      : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    begin([this, n_right, least_left, least_right](const auto& check) {
      return peel({indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), n_right}, least_left, least_right, check);
    });
  }
  ~Peeling() { stop(); }
  /// (indptr, rounds)
  nb::object take() { return nb::make_tuple(numpy_of(std::move(found_.start)), found_.rounds); }

 private:
  const Wide indptr_;
  const Written indices_;
};

/// Paths of two edges from each vertex.
class PathCounting : public Passes<PathCounts> {
 public:
  PathCounting(Wide indptr, Values indices, u32 n_right) : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    begin([this, n_right](const auto& check) {
      return count_paths(indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), n_right, check);
    });
  }
  ~PathCounting() { stop(); }
  /// (left, right)
  nb::object take() { return nb::make_tuple(numpy_of(std::move(found_.left)), numpy_of(std::move(found_.right))); }

 private:
  const Wide indptr_;
  const Values indices_;
};

/// The first vertex of each vertex's component.
class Connecting : public Passes<std::vector<u32>> {
 public:
  Connecting(Wide indptr, Values indices, u32 n_right) : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    begin([this, n_right](const auto& check) {
      return first_of_component(indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), n_right, check);
    });
  }
  ~Connecting() { stop(); }
  nb::object take() { return numpy_of(std::move(found_)); }

 private:
  const Wide indptr_;
  const Values indices_;
};

/// The class with the methods that a run has for Python.
template <class Work>
nb::class_<Work> bind_run(nb::module_& module, const char* name) {
  return nb::class_<Work>(module, name).def("wait", &Work::wait).def("stop", &Work::stop).def("take", &Work::take);
}

}  // namespace

void bind_grouping(nb::module_& module) {
  bind_run<RootGrouping>(module, "RootGrouping").def(nb::init<Wide, Values, Wide, Wide, std::int32_t>());
  bind_run<RootCutting>(module, "RootCutting").def(nb::init<Wide, Values, Wide, Values, Wide, std::int64_t>());
  bind_run<Transposition>(module, "Transposition")
      .def(nb::init<Wide, Values, std::size_t, std::optional<Values>>(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  bind_run<Peeling>(module, "Peeling").def(nb::init<Wide, Written, u32, std::int64_t, std::int64_t>());
  bind_run<Connecting>(module, "Connecting").def(nb::init<Wide, Values, u32>());
  bind_run<PathCounting>(module, "PathCounting").def(nb::init<Wide, Values, u32>());
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
