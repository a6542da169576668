// bind_estimate.cpp: the estimate of a search for Python.
#include "bindings/bindings.hpp"
#include "estimate/sampled_search.hpp"

#include <nanobind/stl/vector.h>

#include <memory>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

/// Holds references to the arrays for as long as its thread reads them.
class Estimate {
 public:
  Estimate(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 n_right, bool columns_are_left, std::vector<u32> left_steps,
           std::vector<u32> right_steps, u64 min_edges, u64 work, double share, u64 node_work, u64 first_nodes, u64 seed, u32 threads)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), n_right_(n_right), columns_are_left_(columns_are_left),
        settings_({{columns_are_left ? right_steps[0] : left_steps[0], columns_are_left ? left_steps[0] : right_steps[0], min_edges},
                   columns_are_left ? right_steps : left_steps,
                   columns_are_left ? left_steps : right_steps,
                   work,
                   share,
                   node_work,
                   first_nodes,
                   seed,
                   threads}),
        search_(settings_, crew_) {
    crew_.begin([this] { run(); });
  }
  /// Another estimate, of the graph as one that has ended has laid it out.
  Estimate(const Estimate& before, u64 work, double share, u64 seed)
      : indptr_(before.indptr_), indices_(before.indices_), n_right_(before.n_right_), columns_are_left_(before.columns_are_left_),
        settings_(with(before.settings_, work, share, seed)), graph_(before.graph_), prepare_seconds_(before.prepare_seconds_),
        search_(settings_, crew_) {
    crew_.begin([this] { run(); });
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return crew_.wait(seconds);
  }
  void stop() {
    const nb::gil_scoped_release release;
    crew_.end();
  }
  ~Estimate() { crew_.end(); }
  const SampledSearch& search() const { return search_; }
  double prepare_seconds() const { return prepare_seconds_; }

 private:
  static SampleSettings with(SampleSettings settings, u64 work, double share, u64 seed) {
    settings.work = work;
    settings.share = share;
    settings.seed = seed;
    return settings;
  }
  void run() {
    if (!graph_) lay_out();
    search_.run(*graph_);
  }
  void lay_out() {
    const auto check = [this] { crew_.check(); };
    const CoreTime start;
    graph_ = std::make_shared<const Graph>(prepare(indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), n_right_,
                                                   columns_are_left_, {}, check));
    prepare_seconds_ = start.passed();
  }

  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  const u32 n_right_;
  const bool columns_are_left_;
  const SampleSettings settings_;
  std::shared_ptr<const Graph> graph_;
  double prepare_seconds_ = 0;
  Crew crew_;
  SampledSearch search_;
};

}  // namespace

void bind_estimate(nb::module_& module) {
  nb::class_<Sums>(module, "SampledSums")
      .def_prop_ro("found", [](const Sums& s) { return s.found; })
      .def_prop_ro("ids", [](const Sums& s) { return s.ids; })
      .def_prop_ro("nodes", [](const Sums& s) { return s.cost.nodes(); })
      .def_prop_ro("root_seconds", [](const Sums& s) { return s.cost.seconds; })
      .def_prop_ro("seconds", [](const Sums& s) { return s.cost.all_seconds(); });
  nb::class_<Estimate>(module, "Estimate")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32, bool, std::vector<u32>, std::vector<u32>, u64, u64, double, u64,
                    u64, u64, u32>())
      .def(nb::init<const Estimate&, u64, double, u64>())
      .def("wait", &Estimate::wait)
      .def("stop", &Estimate::stop)
      .def_prop_ro("batches", [](const Estimate& e) { return e.search().batches; })
      .def_prop_ro("work", [](const Estimate& e) { return e.search().work; })
      .def_prop_ro("exact", [](const Estimate& e) { return e.search().exact; })
      .def_prop_ro("prepare_seconds", &Estimate::prepare_seconds);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
