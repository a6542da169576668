// bind_clique_plan.cpp: the host's part of a device search for a maximum clique: what the CUDA
// driver asks before it launches.
#include "bindings/task.hpp"
#include "clique/clique_plan.hpp"

namespace bicliq {
namespace {

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

void begin(Task<Planning>* at, const Wide& indptr, const Values& indices, u32 lower_bound) {
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<Planning>(keep(indptr, indices), [&] { return std::make_unique<Planning>(rows, lower_bound); });
}
/// The plan, as the driver reads it: handed over, once. Where it is not complete, the best so far.
nb::dict result(Task<Planning>& task) {
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

void bind_clique_plan(nb::module_& module) {
  bind_task<Planning>(module, "CliquePlanning")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "lower_bound"_a)
      .def("result", &result);
}

}  // namespace bicliq
