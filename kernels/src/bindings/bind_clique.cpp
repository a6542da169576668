// bind_clique.cpp: maximum cliques and one-mode projections for Python: runs that are waited for.
#include "bindings/bindings.hpp"
#include "clique/clique_team.hpp"
#include "graphs/projection.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

/// Holds references to the arrays for as long as the threads read them.
class CliqueSearch {
 public:
  CliqueSearch(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 lower_bound, bool all, u32 threads, bool recolour,
               bool refute)
      : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    CliqueSettings settings;
    settings.threads = threads;
    settings.lower_bound = lower_bound;
    settings.all = all;
    settings.bounds.recolour = recolour;
    settings.bounds.refute = refute;
    const Adjacency graph{indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1)};
    run_ = std::make_unique<CliqueRun>(graph, settings);
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_->wait(seconds);
  }
  /// Ends the run early; returns when all threads have ended.
  void stop() {
    const nb::gil_scoped_release release;
    run_->end();
  }
  /// All cliques, one after the other; each has `size` members.
  nb::object members() const {
    std::vector<std::int32_t> all;
    for (const auto& clique : run_->cliques()) all.insert(all.end(), clique.begin(), clique.end());
    return numpy_of(std::move(all));
  }
  u64 n_cliques() const { return run_->cliques().size(); }
  const CliqueRun& run() const { return *run_; }

 private:
  Input<std::int64_t> indptr_;
  Input<std::int32_t> indices_;
  std::unique_ptr<CliqueRun> run_;
};

class OneMode {
 public:
  OneMode(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 n_right, bool of_right, u32 min_shared, u32 threads)
      : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    const auto n_left = static_cast<u32>(indptr_.size() - 1);
    run_ = std::make_unique<Projection>(indptr_.data(), indices_.data(), n_left, n_right, of_right, min_shared, threads);
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_->wait(seconds);
  }
  void stop() {
    const nb::gil_scoped_release release;
    run_->end();
  }
  /// (indptr, indices); they are handed over, once.
  nb::object take() { return nb::make_tuple(numpy_of(std::move(run_->indptr)), numpy_of(std::move(run_->indices))); }

 private:
  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  std::unique_ptr<Projection> run_;
};

constexpr i64 kUndirected = -1, kNotSymmetric = -2;

/// Whether a CSR matrix with ascending rows is that of an undirected graph.
class UndirectedCheck {
 public:
  UndirectedCheck(Input<std::int64_t> indptr, Input<std::int32_t> indices) : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    run_.begin([this] { fault_ = find_fault(); });
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_.wait(seconds);
  }
  void stop() {
    const nb::gil_scoped_release release;
    run_.end();
  }
  /// kUndirected; or kNotSymmetric, where (u, v) is not met by (v, u); or a vertex that is in its
  /// own row.
  i64 fault() const { return fault_; }

 private:
  /// A vertex meets those behind it, so when its turn comes all those before it must have been met.
  i64 find_fault() const {
    const i64* ends = indptr_.data() + 1;
    const i32* entries = indices_.data();
    const auto n = static_cast<u32>(indptr_.size() - 1);
    std::vector<i64> next(indptr_.data(), indptr_.data() + n);
    i64 fault = kUndirected;
    each_vertex(n, [&] { run_.check(); }, [&](u32 place) {
      const auto u = static_cast<i32>(place);
      for (i64 e = next[place]; e < ends[place] && fault == kUndirected; ++e) {
        const i32 v = entries[e];
        if (v == u)
          fault = u;
        else if (v < u || next[v] == ends[v] || entries[next[v]] != u)
          fault = kNotSymmetric;
        else
          ++next[v];
      }
    });
    return fault;
  }

  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  i64 fault_ = kUndirected;
  Run run_;  // last: its thread uses all that is above
};

}  // namespace

void bind_clique(nb::module_& module) {
  nb::class_<CliqueSearch>(module, "CliqueSearch")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32, bool, u32, bool, bool>())
      .def("wait", &CliqueSearch::wait)
      .def("stop", &CliqueSearch::stop)
      .def_prop_ro("members", &CliqueSearch::members)
      .def_prop_ro("n_cliques", &CliqueSearch::n_cliques)
      .def_prop_ro("proven", [](const CliqueSearch& s) { return s.run().proven(); })
      .def_prop_ro("nodes", [](const CliqueSearch& s) { return s.run().nodes(); })
      .def_prop_ro("size", [](const CliqueSearch& s) { return s.run().size(); })
      .def_prop_ro("degeneracy", [](const CliqueSearch& s) { return s.run().degeneracy(); })
      .def_prop_ro("roots_searched", [](const CliqueSearch& s) { return s.run().roots_searched(); })
      .def_prop_ro("seconds", [](const CliqueSearch& s) {
        const CliqueSeconds& t = s.run().seconds();
        nb::dict seconds;
        seconds["order"] = t.order;
        seconds["heuristic"] = t.heuristic;
        seconds["search"] = t.search;
        if (t.collect > 0) seconds["collect"] = t.collect;
        return seconds;
      });
  nb::class_<OneMode>(module, "OneMode")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32, bool, u32, u32>())
      .def("wait", &OneMode::wait)
      .def("stop", &OneMode::stop)
      .def("take", &OneMode::take);
  nb::class_<UndirectedCheck>(module, "UndirectedCheck")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>>())
      .def("wait", &UndirectedCheck::wait)
      .def("stop", &UndirectedCheck::stop)
      .def_prop_ro("fault", &UndirectedCheck::fault);
  module.attr("UNDIRECTED") = kUndirected;
  module.attr("NOT_SYMMETRIC") = kNotSymmetric;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
