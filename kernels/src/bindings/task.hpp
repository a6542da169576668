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
#include <type_traits>
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

/// Ends a pass, by an exception, where its run was stopped.
struct Check {
  const Run* run;
  void operator()() const { run->check(); }
};
/// A kernel that is one function, on a thread of its own: `make(check)` returns what it found.
template <class Found>
class Pass {
 public:
  template <class Make>
  explicit Pass(Make make) {
    run_.begin([this, make] { found = make(Check{&run_}); });
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
nb::class_<Task<Pass<Found>>> bind_pass(nb::module_& module, const char* name, F f) {
  return bind_task<Pass<Found>>(module, name).def("result", [f](Task<Pass<Found>>& task) { return f(task.ended().found); });
}
template <class Make>
auto* begin_pass(Kept kept, Make make) {
  using Kernel = Pass<std::invoke_result_t<Make, Check>>;
  return new Task<Kernel>(std::move(kept), [&] { return std::make_unique<Kernel>(make); });
}

}  // namespace bicliq
