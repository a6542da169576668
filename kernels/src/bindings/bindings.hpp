// bindings.hpp: what the bindings share. One file binds one room or two; every argument has a name.
//
// A kernel that takes long is a task (task.hpp). What passes over edges once does so in the thread
// that asks, without the interpreter's lock, and looks now and then whether Python was interrupted.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/lanes.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace bicliq {

using namespace nb::literals;

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = Input<i32>;
using Wide = Input<i64>;

/// Rows that Python gave. What follows takes for granted that their entries lie where starts say.
template <class Entries>
Rows rows_of(const Wide& start, const Entries& row) {
  const std::size_t n = start.size();
  if (!n || start.data()[0] != 0 || start.data()[n - 1] != static_cast<i64>(row.size()))
    throw std::invalid_argument("where rows begin must start with 0 and end with the number of their entries");
  if (n - 1 > 0x7fffffff) throw std::invalid_argument("a side may have at most 2^31 - 1 vertices");
  return {start.data(), row.data(), n - 1};
}
template <class T, class From>
std::vector<T> copy_of(const Input<From>& values) {
  return std::vector<T>(values.data(), values.data() + values.size());
}

/// Lists that Python gave: the first of their offsets that is before its predecessor or beyond the
/// ids tells of a batch that is none.
inline void check_lists(const Values& offsets, const Values& ids, std::size_t n) {
  const i32* at = offsets.data();
  bool sound = offsets.size() && offsets.size() == n + 1 && at[0] >= 0 && static_cast<std::size_t>(at[n]) <= ids.size();
  for (std::size_t i = 0; sound && i < n; ++i) sound = at[i] <= at[i + 1];
  if (!sound) throw std::invalid_argument("the offsets of a batch do not fit its ids and its roots");
}
/// Checks both sides of a batch; how many bicliques it has.
inline std::size_t checked_batch(const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right) {
  const std::size_t n = left_offsets.size() - 1;  // without any offset it is as many as fit nothing
  check_lists(left_offsets, left, n);
  check_lists(right_offsets, right, n);
  return n;
}
inline Span list_of(const Values& offsets, const Values& ids, std::size_t i) { return {ids.data() + offsets.data()[i], ids.data() + offsets.data()[i + 1]}; }

/// What f returns, without the interpreter's lock.
template <class F>
auto without_lock(F f) {
  const nb::gil_scoped_release release;
  return f();
}
/// Something that may be large: it is made and freed without the interpreter's lock.
template <class T>
class Apart {
 public:
  template <class Make>
  explicit Apart(Make make) : held_(without_lock(std::move(make))) {}
  ~Apart() {
    const nb::gil_scoped_release release;
    held_.reset();
  }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  T& operator*() const { return *held_; }
  T* operator->() const { return held_.get(); }

 private:
  std::unique_ptr<T> held_;
};

constexpr std::size_t kMuch = std::size_t{1} << 22;  // bytes, freed in some 0.5 ms

/// An array that owns its values. Much is freed without the interpreter's lock.
template <class Own>
nb::object numpy_of(Own values) {
  using T = typename Own::value_type;
  auto* held = new Own(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept {
    const auto* own = static_cast<Own*>(p);
    if (own->size() * sizeof(T) < kMuch) delete own;
    else without_lock([own] { delete own; });
  });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}
/// Several of them.
template <class... Own>
nb::tuple arrays_of(Own&&... values) {
  return nb::make_tuple(numpy_of(std::forward<Own>(values))...);
}
/// A dictionary of names and what they stand for, by turns.
inline void put(nb::dict&) {}
template <class T, class... Rest>
void put(nb::dict& to, const char* name, T&& value, Rest&&... rest) {
  to[name] = std::forward<T>(value);
  put(to, std::forward<Rest>(rest)...);
}
template <class... T>
nb::dict named(T&&... names_and_values) {
  nb::dict found;
  put(found, std::forward<T>(names_and_values)...);
  return found;
}
/// For passes in the thread that asks, without the lock: ends them where Python was interrupted.
/// May be called often: it looks some fifty times a second.
inline void hear_interrupts() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point next{};
  if (Clock::now() < next) return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  next = Clock::now() + std::chrono::milliseconds(20);
}
/// Something that others hold as well, and that the last of them frees without the lock.
template <class T>
std::shared_ptr<T> shared_apart(std::unique_ptr<T> made) {
  return {made.release(), [](T* held) { without_lock([held] { delete held; }); }};
}

void bind_enumeration(nb::module_& module);
void bind_count(nb::module_& module);
void bind_estimate(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_changes(nb::module_& module);
void bind_finding(nb::module_& module);
void bind_gaps(nb::module_& module);
void bind_clique(nb::module_& module);
void bind_output(nb::module_& module);
void bind_rules(nb::module_& module);
void bind_lattice(nb::module_& module);

}  // namespace bicliq
