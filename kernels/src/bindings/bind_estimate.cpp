// bind_estimate.cpp: the estimate of a search for Python.
#include "bindings/task.hpp"
#include "estimate/sampled_search.hpp"

#include <nanobind/stl/vector.h>

namespace bicliq {
namespace {

class Estimate {
 public:
  Estimate(const Rows& rows, u32 n_right, bool columns_are_left, SampleSettings settings)
      : rows_(rows), n_right_(n_right), columns_are_left_(columns_are_left), settings_(std::move(settings)), search(settings_, crew_) {
    crew_.begin([this] { run(); });
  }
  /// Another estimate, of the graph as one that has ended has laid it out.
  Estimate(const Estimate& before, u64 work, double share, u64 seed)
      : rows_(before.rows_), n_right_(before.n_right_), columns_are_left_(before.columns_are_left_),
        settings_(with(before.settings_, work, share, seed)), graph_(before.graph_), short_rows_(before.short_rows_), prepare_seconds(before.prepare_seconds),
        search(settings_, crew_) {
    crew_.begin([this] { run(); });
  }
  ~Estimate() { end(); }
  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }

 private:
  static SampleSettings with(SampleSettings settings, u64 work, double share, u64 seed) {
    settings.work = work;
    settings.share = share;
    settings.seed = seed;
    return settings;
  }
  void run() {
    if (!graph_) lay_out();
    search.run(*graph_, short_rows_.get());
  }
  /// The graph, and what a search has in its place: that takes the seconds which a search does.
  void lay_out() {
    const auto check = [this] { crew_.check(); };
    const CoreTime start;
    short_rows_ = short_rows(rows_, n_right_, columns_are_left_, settings_.limits, false, check);
    if (short_rows_) prepare_seconds = start.passed();
    graph_ = std::make_shared<const Graph>(prepare(rows_.start, rows_.row, static_cast<u32>(rows_.n), n_right_, columns_are_left_, {}, check));
    if (!short_rows_) prepare_seconds = start.passed();
  }

  const Rows rows_;
  const u32 n_right_;
  const bool columns_are_left_;
  const SampleSettings settings_;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const ShortRows> short_rows_;

 public:
  double prepare_seconds = 0;

 private:
  Crew crew_;

 public:
  SampledSearch search;
};

using EstimateTask = Task<Estimate>;

void begin(EstimateTask* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left, const std::vector<u32>& left_steps,
           const std::vector<u32>& right_steps, u64 min_edges, u64 work, double share, u64 node_work, u64 first_nodes, u64 seed, u32 threads) {
  const std::vector<u32>&row_steps = columns_are_left ? right_steps : left_steps, &column_steps = columns_are_left ? left_steps : right_steps;
  if (row_steps.empty() || column_steps.empty()) throw std::invalid_argument("a side has no step, not even the least");
  const SampleSettings settings{{row_steps[0], column_steps[0], min_edges}, row_steps, column_steps, work, share, node_work, first_nodes, seed, threads};
  const Rows rows = rows_of(indptr, indices);
  new (at) EstimateTask(keep(indptr, indices), [&] { return std::make_unique<Estimate>(rows, n_right, columns_are_left, settings); });
}
/// The one before is held: it holds the arrays.
void begin_again(EstimateTask* at, nb::object before, u64 work, double share, u64 seed) {
  const Estimate& laid_out = nb::cast<EstimateTask&>(before).ended();
  new (at) EstimateTask(keep(before), [&] { return std::make_unique<Estimate>(laid_out, work, share, seed); });
}
nb::dict result(EstimateTask& task) {
  const Estimate& ended = task.ended();
  return named("batches", ended.search.batches, "work", ended.search.work, "exact", ended.search.exact, "prepare_seconds", ended.prepare_seconds);
}

}  // namespace

void bind_estimate(nb::module_& module) {
  nb::class_<Sums>(module, "SampledSums")
      .def_prop_ro("found", [](const Sums& s) { return s.found; })
      .def_prop_ro("ids", [](const Sums& s) { return s.ids; })
      .def_prop_ro("nodes", [](const Sums& s) { return s.cost.nodes(); })
      .def_prop_ro("root_seconds", [](const Sums& s) { return s.cost.seconds; })
      .def_prop_ro("seconds", [](const Sums& s) { return s.cost.all_seconds(); });
  bind_task<Estimate>(module, "Estimate")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "left_steps"_a, "right_steps"_a, "min_edges"_a,
           "work"_a, "share"_a, "node_work"_a, "first_nodes"_a, "seed"_a, "threads"_a)
      .def("__init__", &begin_again, "before"_a, "work"_a, "share"_a, "seed"_a)
      .def("result", &result);
}

}  // namespace bicliq
