// bind_count.cpp: (p,q)-biclique counting for Python: a count by levels that runs and is waited for, and butterflies.
#include "bindings.hpp"
#include "butterfly.hpp"
#include "estimate.hpp"
#include "team.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

nb::object wide_number(u128 x) {
  return nb::make_tuple(static_cast<u64>(x >> 64), static_cast<u64>(x), x == kTooLarge);
}

/// The places, in `side`, of given vertices; those outside the core hold nothing and are left out.
std::vector<u32> places_of(const CountSide& side, const Input<std::int32_t>& vertices) {
  std::vector<u32> places;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const auto v = static_cast<u32>(vertices.data()[i]);
    const auto at = std::lower_bound(side.vertex.begin(), side.vertex.end(), v);
    if (at != side.vertex.end() && *at == v) places.push_back(static_cast<u32>(at - side.vertex.begin()));
  }
  return places;
}

enum class Roots { chosen_here, left, right };

class LevelCount {
 public:
  LevelCount(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, u32 p, u32 q, int side,
             bool some_roots, const Input<std::int32_t>& roots, u32 threads) {
    const nb::gil_scoped_release release;
    const auto start = Clock::now();
    const auto wanted = static_cast<Roots>(side);
    graph_ = prepare_core(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right, p, q,
                          some_roots && wanted == Roots::left, some_roots && wanted == Roots::right);
    prepare_seconds_ = since(start);
    on_left_ = wanted == Roots::left || (wanted == Roots::chosen_here && left_is_better(graph_, p, q));
    estimate_seconds_ = since(start) - prepare_seconds_;
    const CountSide &side_of_roots = on_left_ ? graph_.left : graph_.right, &rows = on_left_ ? graph_.right : graph_.left;
    table_ = std::make_unique<ChooseTable>(side_of_roots.largest_degree(), on_left_ ? q : p);
    std::vector<u32> chosen = some_roots ? places_of(side_of_roots, roots) : std::vector<u32>(side_of_roots.n);
    if (!some_roots) std::iota(chosen.begin(), chosen.end(), 0u);
    std::vector<std::unique_ptr<Levels>> members;
    for (u32 i = 0; i < threads; ++i) members.push_back(std::make_unique<Levels>(side_of_roots, rows, on_left_ ? p : q, *table_));
    team_ = std::make_unique<Team<Levels>>(std::move(members), std::move(chosen));
    started_ = Clock::now();
  }

  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    const bool ended = team_->wait(seconds);
    if (ended && search_seconds_ == 0) search_seconds_ = since(started_);
    return ended;
  }
  void stop() {
    const nb::gil_scoped_release release;
    team_->stop();
    while (!team_->wait(1.0)) {}
  }
  nb::object count() const {
    Total sum;
    for (const auto& member : team_->members()) sum.add(member->total.value);
    return wide_number(sum.value);
  }
  u64 work() const {
    u64 sum = 0;
    for (const auto& member : team_->members()) sum += member->work;
    return sum;
  }
  bool on_left() const { return on_left_; }
  u64 roots_done() const { return team_->roots_done(); }
  u64 n_roots() const { return team_->n_roots(); }
  double prepare_seconds() const { return prepare_seconds_; }
  double estimate_seconds() const { return estimate_seconds_; }
  double search_seconds() const { return search_seconds_; }

 private:
  CountGraph graph_;
  std::unique_ptr<ChooseTable> table_;
  std::unique_ptr<Team<Levels>> team_;
  bool on_left_ = false;
  Clock::time_point started_;
  double prepare_seconds_ = 0, estimate_seconds_ = 0, search_seconds_ = 0;
};

nb::object numpy_of(std::vector<u64> values) {
  auto* held = new std::vector<u64>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<u64>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, u64, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

/// (count, of each vertex, of each edge); the last two are empty unless asked for.
nb::object count_butterflies(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool parts) {
  u128 total = 0;
  std::vector<u64> of_vertex, of_edge;
  {
    const nb::gil_scoped_release release;
    Butterflies search(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right);
    total = search.count(parts);
    of_vertex = std::move(search.of_vertex);
    of_edge = std::move(search.of_edge);
  }
  return nb::make_tuple(wide_number(total), numpy_of(std::move(of_vertex)), numpy_of(std::move(of_edge)));
}

}  // namespace

void bind_count(nb::module_& module) {
  nb::class_<LevelCount>(module, "LevelCount")
      .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, u32, u32, int, bool,
                    const Input<std::int32_t>&, u32>())
      .def("wait", &LevelCount::wait)
      .def("stop", &LevelCount::stop)
      .def_prop_ro("count", &LevelCount::count)
      .def_prop_ro("work", &LevelCount::work)
      .def_prop_ro("on_left", &LevelCount::on_left)
      .def_prop_ro("roots_done", &LevelCount::roots_done)
      .def_prop_ro("n_roots", &LevelCount::n_roots)
      .def_prop_ro("prepare_seconds", &LevelCount::prepare_seconds)
      .def_prop_ro("estimate_seconds", &LevelCount::estimate_seconds)
      .def_prop_ro("search_seconds", &LevelCount::search_seconds);
  module.def("count_butterflies", &count_butterflies);
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
