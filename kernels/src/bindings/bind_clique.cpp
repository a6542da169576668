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
  nb::dict seconds = named("order", t.order, "heuristic", t.heuristic, "search", t.search);
  if (t.collect > 0) seconds["collect"] = t.collect;
  return named("members", numpy_of(std::move(members)), "size", run.size(), "proven", run.proven(), "nodes", run.nodes(), "degeneracy",
               run.degeneracy(), "seconds", seconds);
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

/// What the CUDA driver asks before it launches. A plan that is not complete has the best so far.
auto* plan(const Wide& indptr, const Values& indices, u32 lower_bound) {
  return begin_pass<CliquePlan>(indptr, indices, [=](CliquePlan& found, const Rows& rows, const Check& check) { found.make(rows, lower_bound, check); });
}
nb::dict plan_of(CliquePlan& plan) {
  Cores& cores = plan.cores;
  return named("is_complete", plan.is_complete, "best", plan.best, "first_root", plan.first_root, "stride", plan.stride, "degeneracy", cores.degeneracy,
               "order_seconds", plan.order_seconds, "heuristic_seconds", plan.heuristic_seconds, "ids", numpy_of(std::move(cores.id)),
               "start", numpy_of(std::move(cores.start)), "later", numpy_of(std::move(cores.later)), "colours_behind", numpy_of(std::move(plan.behind)),
               "members", numpy_of(std::move(plan.members)), "whole", numpy_of(std::move(plan.whole)), "rows", numpy_of(std::move(plan.rows)));
}

}  // namespace

void bind_clique(nb::module_& module) {
  bind_pass<CliquePlan>(module, "CliquePlan", &plan_of);
  module.def("plan_cliques", &plan, "indptr"_a, "indices"_a, "lower_bound"_a);
  bind_task<CliqueRun>(module, "CliqueSearch")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "lower_bound"_a, "all"_a, "threads"_a, "recolour"_a, "refute"_a)
      .def("result", &result);
  bind_task<Projection>(module, "OneMode")
      .def("__init__", &begin_of_rows<Projection, u32, bool, u32, u32>, "indptr"_a, "indices"_a, "n_right"_a, "of_right"_a, "min_shared"_a, "threads"_a)
      .def("result", [](Task<Projection>& task) {
        Projection& made = task.ended();
        return arrays_of(std::move(made.indptr), std::move(made.indices));
      });
  module.def("undirected_fault", [](const Wide& indptr, const Values& indices) {
    const Rows rows = rows_of(indptr, indices);
    return without_lock([&] { return undirected_fault(rows, hear_interrupts); });
  }, "indptr"_a, "indices"_a);
  module.attr("UNDIRECTED") = kUndirected;
  module.attr("NOT_SYMMETRIC") = kNotSymmetric;
}

}  // namespace bicliq
