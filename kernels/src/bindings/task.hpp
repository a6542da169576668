// task.hpp: a kernel at work, as Python has it.
//
// A task holds the arrays that its threads read, for as long as they may read them. Python waits
// for it without the interpreter's lock, and ends it when an exception comes. What it came to is
// told by one `result`, which waits: nobody reads what threads still write. To destroy a task ends
// its threads, and frees what they found, without the lock: they may be waiting for it.
#pragma once

#include "bindings/bindings.hpp"
#include "lanes/workers.hpp"

#include <memory>
#include <tuple>
#include <utility>

namespace bicliq {

/// What Python gave, held.
using Kept = std::shared_ptr<const void>;
template <class... T>
Kept keep(const T&... given) {
  return std::make_shared<const std::tuple<T...>>(given...);
}

/// `Kernel` has `wait(seconds)` and `end()`, as a `Run` has.
template <class Kernel>
class Task {
 public:
  /// `make` returns the kernel, which begins at once.
  template <class Make>
  Task(Kept kept, Make make) : kept_(std::move(kept)), kernel_(std::move(make)) {}

  /// Waits at most so long; true when the kernel has ended. Rethrows what ended it.
  bool wait(double seconds) {
    return without_lock([&] { return kernel_->wait(seconds); });
  }
  /// Ends the kernel early; returns when all of its threads have ended.
  void stop() {
    is_stopped_ = true;
    without_lock([&] { kernel_->end(); });
  }
  /// The kernel when it has ended. Rethrows what ended it, unless it was stopped.
  Kernel& ended() {
    while (!is_stopped_ && !wait(kHearSeconds))
      if (PyErr_CheckSignals() != 0) {
        stop();
        throw nb::python_error();
      }
    return *kernel_;
  }
  /// The kernel at work: for what it tells meanwhile.
  Kernel& at_work() { return *kernel_; }

 private:
  static constexpr double kHearSeconds = 0.05;

  const Kept kept_;
  bool is_stopped_ = false;
  const Apart<Kernel> kernel_;  // its threads end before what they read goes
};

template <class Kernel>
nb::class_<Task<Kernel>> bind_task(nb::module_& module, const char* name) {
  return nb::class_<Task<Kernel>>(module, name)
      .def("wait", &Task<Kernel>::wait, "seconds"_a)
      .def("stop", &Task<Kernel>::stop);
}

/// One that says how many of its roots it has done.
template <class Kernel>
nb::class_<Task<Kernel>> bind_search(nb::module_& module, const char* name) {
  return bind_task<Kernel>(module, name)
      .def_prop_ro("n_roots", [](Task<Kernel>& task) { return task.at_work().n_roots(); })
      .def_prop_ro("roots_done", [](Task<Kernel>& task) { return task.at_work().roots_done(); });
}

/// Ends a pass, by an exception, where its run was stopped.
struct Check {
  const Run* run;
  void operator()() const { run->check(); }
};
/// Begins a kernel that takes rows, and what else was given.
template <class Kernel, class... Given>
void begin_of_rows(Task<Kernel>* at, const Wide& indptr, const Values& indices, Given... given) {
  const Rows rows = rows_of(indptr, indices);
  new (at) Task<Kernel>(keep(indptr, indices), [&] { return std::make_unique<Kernel>(rows, given...); });
}

/// A kernel that is one function, on a thread of its own: `make(found, check)`.
template <class Found>
class Pass {
 public:
  template <class Make>
  explicit Pass(Make make) {
    run_.begin([this, make] { make(found, Check{&run_}); });
  }
  ~Pass() { end(); }
  bool wait(double seconds) { return run_.wait(seconds); }
  void end() { run_.end(); }
  Found found{};

 private:
  Run run_;
};

/// Tells a task that is a pass, as f(found): what it holds may be handed over, once.
template <class Found, class F>
void bind_pass(nb::module_& module, const char* name, F f) {
  bind_task<Pass<Found>>(module, name).def("result", [f](Task<Pass<Found>>& task) { return f(task.ended().found); });
}
/// A pass over rows, `make(found, rows, check)`, which reads `more` besides.
template <class Found, class Entries, class Make, class... More>
auto* begin_pass(const Wide& indptr, const Entries& indices, Make make, const More&... more) {
  const Rows rows = rows_of(indptr, indices);
  return new Task<Pass<Found>>(keep(indptr, indices, more...), [&] {
    return std::make_unique<Pass<Found>>([=](Found& found, const Check& check) { make(found, rows, check); });
  });
}

}  // namespace bicliq
