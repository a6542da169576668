// bind_clique.cpp: maximum cliques, one-mode projections, and whether a graph is undirected, for
// Python.
#include "bindings/task.hpp"
#include "clique/clique_plan.hpp"
#include "clique/clique_team.hpp"
#include "graphs/projection.hpp"

namespace bicliq {
namespace {

void begin(Task<CliqueRun>* at, const Wide& indptr, const Values& indices, u32 lower_bound, bool all, u32 threads, bool recolour, bool refute) {
  CliqueSettings settings;
  settings.threads = threads;
  settings.lower_bound = lower_bound;
  settings.all = all;
  settings.bounds.recolour = recolour;
  settings.bounds.refute = refute;
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<CliqueRun>(keep(indptr, indices), [&] {
    return std::make_unique<CliqueRun>(rows, settings);
  });
}
/// Cliques stand one after the other; each has `size` members.
nb::dict result(Task<CliqueRun>& task) {
  const CliqueRun& run = task.ended();
  std::vector<i32> members;
  without_lock([&] {
    for (const auto& clique : run.cliques()) members.insert(members.end(), clique.begin(), clique.end());
  });
  const CliqueSeconds& t = run.seconds();
  nb::dict seconds, found;
  seconds["order"] = t.order;
  seconds["heuristic"] = t.heuristic;
  seconds["search"] = t.search;
  if (t.collect > 0) seconds["collect"] = t.collect;
  found["members"] = numpy_of(std::move(members));
  found["size"] = run.size();
  found["proven"] = run.proven();
  found["nodes"] = run.nodes();
  found["degeneracy"] = run.degeneracy();
  found["seconds"] = seconds;
  return found;
}

void begin_projection(Task<Projection>* at, const Wide& indptr, const Values& indices, u32 n_right, bool of_right, u32 min_shared, u32 threads) {
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<Projection>(keep(indptr, indices), [&] {
    return std::make_unique<Projection>(rows, n_right, of_right, min_shared, threads);
  });
}

constexpr i64 kUndirected = -1, kNotSymmetric = -2;

/// kUndirected; or kNotSymmetric, where (u, v) is not met by (v, u); or a vertex that is in its own
/// row. A vertex meets those behind it, so when its turn comes all those before it must have been
/// met.
template <class Check>
i64 undirected_fault(const Rows& rows, const Check& check) {
  const i64* ends = rows.start + 1;
  std::vector<i64> next(rows.start, rows.start + rows.n);
  i64 fault = kUndirected;
  each_vertex(static_cast<u32>(rows.n), check, [&](u32 place) {
    const auto u = static_cast<i32>(place);
    for (i64 e = next[place]; e < ends[place] && fault == kUndirected; ++e) {
      const i32 v = rows.row[e];
      if (v == u)
        fault = u;
      else if (v < u || next[v] == ends[v] || rows.row[next[v]] != u)
        fault = kNotSymmetric;
      else
        ++next[v];
    }
  });
  return fault;
}

// ---- the host's part of a search on devices: what the CUDA driver asks before it launches

class Planning {
 public:
  Planning(const Rows& rows, u32 lower_bound) {
    run_.begin([=] { plan.make(rows, lower_bound, Check{&run_}); });
  }
  ~Planning() { end(); }
  bool wait(double seconds) { return run_.wait(seconds); }
  void end() { run_.end(); }
  CliquePlan plan;

 private:
  Run run_;
};

void begin_plan(Task<Planning>* at, const Wide& indptr, const Values& indices, u32 lower_bound) {
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<Planning>(keep(indptr, indices), [&] { return std::make_unique<Planning>(rows, lower_bound); });
}
/// The plan, as the driver reads it: handed over, once. Where it is not complete, the best so far.
nb::dict plan_of(Task<Planning>& task) {
  CliquePlan& plan = task.ended().plan;
  nb::dict found;
  found["is_complete"] = plan.is_complete;
  found["best"] = plan.best;
  found["first_root"] = plan.first_root;
  found["stride"] = plan.stride;
  found["degeneracy"] = plan.cores.degeneracy;
  found["order_seconds"] = plan.order_seconds;
  found["heuristic_seconds"] = plan.heuristic_seconds;
  found["ids"] = numpy_of(std::move(plan.cores.id));
  found["start"] = numpy_of(std::move(plan.cores.start));
  found["later"] = numpy_of(std::move(plan.cores.later));
  found["colours_behind"] = numpy_of(std::move(plan.behind));
  found["members"] = numpy_of(std::move(plan.members));
  found["whole"] = numpy_of(std::move(plan.whole));
  found["rows"] = numpy_of(std::move(plan.rows));
  return found;
}

}  // namespace

void bind_clique(nb::module_& module) {
  bind_task<Planning>(module, "CliquePlanning")
      .def("__init__", &begin_plan, "indptr"_a, "indices"_a, "lower_bound"_a)
      .def("result", &plan_of);
  bind_task<CliqueRun>(module, "CliqueSearch")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "lower_bound"_a, "all"_a, "threads"_a, "recolour"_a, "refute"_a)
      .def("result", &result);
  bind_task<Projection>(module, "OneMode")
      .def("__init__", &begin_projection, "indptr"_a, "indices"_a, "n_right"_a, "of_right"_a, "min_shared"_a, "threads"_a)
      .def("result", [](Task<Projection>& task) {
        Projection& made = task.ended();
        return nb::make_tuple(numpy_of(std::move(made.indptr)), numpy_of(std::move(made.indices)));
      });
  module.def("undirected_fault", [](const Wide& indptr, const Values& indices) {
    const Rows rows = rows_of(indptr, indices);
    return without_lock([&] { return undirected_fault(rows, hear_interrupts); });
  }, "indptr"_a, "indices"_a);
  module.attr("UNDIRECTED") = kUndirected;
  module.attr("NOT_SYMMETRIC") = kNotSymmetric;
}

}  // namespace bicliq
