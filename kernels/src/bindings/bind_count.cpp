// bind_count.cpp: (p,q)-biclique counting for Python: a count that runs on threads of its own and is waited for.
#include "bindings/bindings.hpp"
#include "counting/butterfly.hpp"
#include "counting/estimate.hpp"
#include "counting/stars.hpp"
#include "counting/count_team.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

nb::tuple wide_number(const Total& x) {
  return nb::make_tuple(static_cast<u64>(x.value >> 64), static_cast<u64>(x.value), x.too_large);
}

template <class T>
nb::object numpy_of(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}
/// (high halves, low halves)
nb::tuple numpy_of(const std::vector<u128>& values) {
  std::vector<u64> high(values.size()), low(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    high[i] = static_cast<u64>(values[i] >> 64);
    low[i] = static_cast<u64>(values[i]);
  }
  return nb::make_tuple(numpy_of(std::move(high)), numpy_of(std::move(low)));
}

/// The places, in `side`, of given vertices in ascending order of places; those outside the core hold nothing and are left out.
std::vector<u32> places_of(const CountSide& side, const Input<std::int32_t>& vertices) {
  std::vector<u32> places;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const auto v = static_cast<u32>(vertices.data()[i]);
    const auto at = std::lower_bound(side.vertex.begin(), side.vertex.end(), v);
    if (at != side.vertex.end() && *at == v) places.push_back(static_cast<u32>(at - side.vertex.begin()));
  }
  std::sort(places.begin(), places.end());
  return places;
}

u32 estimate_threads(std::size_t edges, u32 allowed) { return edges < kEdgesWorthThreads ? 1 : std::min(allowed, kMostHelpers); }

/// A search of any kind, under way.
struct Running {
  virtual ~Running() = default;
  virtual bool wait(double seconds) = 0;
  virtual void stop() = 0;
  virtual u64 roots_done() const = 0;
  virtual u64 n_roots() const = 0;
};

template <class Search>
struct RunningTeam : Running {
  template <class Make>
  RunningTeam(std::vector<u32> roots, u32 threads, std::unique_ptr<Helpers> helpers, Make make) {
    std::vector<std::unique_ptr<Search>> members;
    for (u32 i = 0; i < threads; ++i) members.push_back(make());
    team = std::make_unique<Team<Search>>(std::move(members), std::move(roots), std::move(helpers));
  }
  bool wait(double seconds) override { return team->wait(seconds); }
  void stop() override {
    team->stop();
    while (!team->wait(1.0)) {}
  }
  u64 roots_done() const override { return team->roots_done(); }
  u64 n_roots() const override { return team->n_roots(); }
  template <class F>
  auto sum(F of) const {
    decltype(of(*team->members()[0])) out{};
    for (const auto& member : team->members()) out += of(*member);
    return out;
  }
  std::unique_ptr<Team<Search>> team;
};

/// What is counted: one (p,q); the same of every vertex; all up to (p,q).
enum class Asked { one, of_vertices, all };

class Count {
 public:
  Count(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, u32 p, u32 q, int asked, int method,
        int side, bool some_roots, const Input<std::int32_t>& roots, u32 threads, u32 tree_optional)
      : asked_(static_cast<Asked>(asked)), p_(p), q_(q), n_left_(static_cast<u32>(indptr.size() - 1)), n_right_(n_right),
        threads_(threads), trees_(tree_optional ? std::make_unique<TreeQueue>(tree_optional) : nullptr) {
    const nb::gil_scoped_release release;
    const auto start = Clock::now();
    helpers_ = std::make_unique<Helpers>(estimate_threads(indices.size(), threads));
    const auto wanted = static_cast<RootSide>(side);
    const u32 least_p = asked_ == Asked::all ? std::min(p, 2u) : p, least_q = asked_ == Asked::all ? std::min(q, 2u) : q;
    const bool keep_left = some_roots && wanted == RootSide::left, keep_right = some_roots && wanted == RootSide::right;
    graph_ = prepare_core(indptr.data(), indices.data(), n_left_, n_right, least_p, least_q, keep_left, keep_right);
    prepare_seconds_ = since(start);
    choice_ = choose(graph_, {{least_p, least_q}, {p, q}}, asked_ == Asked::one ? static_cast<Method>(method) : Method::pivot, wanted, *helpers_);
    estimate_seconds_ = since(start) - prepare_seconds_;
    if (asked_ == Asked::all) stars_ = count_stars(star_times(indptr, indices, some_roots, roots), on_left(p, q), on_left(q, p));
    start_search(chosen(root_side(), some_roots, roots));
    started_ = Clock::now();
  }

  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    const bool ended = running_->wait(seconds);
    if (ended && search_seconds_ == 0) search_seconds_ = since(started_);
    return ended;
  }
  void stop() {
    const nb::gil_scoped_release release;
    running_->stop();
  }
  nb::tuple count() const { return wide_number(total()); }
  u64 work() const {
    const auto of = [](const auto& search) { return search.work; };
    return levels_ ? levels_->sum(of) : one_ ? one_->sum(of) : vertices_ ? vertices_->sum(of) : all_->sum(of);
  }
  /// (of left vertices, of right vertices), each (high halves, low halves)
  nb::tuple of_vertices() const {
    std::vector<u128> left(n_left_, 0), right(n_right_, 0);
    for (const auto& member : vertices_->team->members())
      for (u32 a : {0u, 1u}) {
        const bool is_left = (a == 0) == choice_.on_left;
        const std::vector<u32>& vertex = is_left ? graph_.left.vertex : graph_.right.vertex;
        for (std::size_t i = 0; i < vertex.size(); ++i) (is_left ? left : right)[vertex[i]] += member->sums.of_vertex[a][i];
      }
    return nb::make_tuple(numpy_of(left), numpy_of(right));
  }
  /// Trees that a device is to count, `kTreeWords` words each (trees.hpp); once the search has ended, until there are none.
  nb::object take_trees(bool ended) {
    TreeParcel parcel = trees_->take();
    if (ended)
      for (const auto& member : all_->team->members())
        if (parcel.empty()) parcel = member->sums.giver.take();
    return numpy_of(std::move(parcel));
  }
  /// Every (p, q, high, low, too large) up to the largest ones.
  nb::list table() {
    for (const auto& member : all_->team->members()) member->sums.flush();
    nb::list rows;
    for (u32 p = 1; p <= p_; ++p)
      for (u32 q = 1; q <= q_; ++q) {
        const u32 a = choice_.on_left ? p : q, b = choice_.on_left ? q : p;
        Total sum = b == 1 ? stars_.of_rows[a] : a == 1 ? stars_.of_roots[b] : Total{};
        if (a > 1 && b > 1)
          for (const auto& member : all_->team->members()) sum.add(member->sums.of(a, b));
        rows.append(nb::make_tuple(p, q, static_cast<u64>(sum.value >> 64), static_cast<u64>(sum.value), sum.too_large));
      }
    return rows;
  }
  bool is_on_left() const { return choice_.on_left; }
  bool is_pivot() const { return choice_.method == Method::pivot; }
  u64 roots_done() const { return running_->roots_done(); }
  u64 n_roots() const { return running_->n_roots(); }
  std::vector<double> seconds() const { return {prepare_seconds_, estimate_seconds_, search_seconds_}; }

 private:
  const CountSide& root_side() const { return choice_.on_left ? graph_.left : graph_.right; }
  const CountSide& row_side() const { return choice_.on_left ? graph_.right : graph_.left; }
  u32 on_left(u32 if_left, u32 otherwise) const { return choice_.on_left ? if_left : otherwise; }

  StarTimes star_times(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, bool some_roots,
                       const Input<std::int32_t>& roots) const {
    if (some_roots) {
      const CountGraph whole =
          prepare_core(indptr.data(), indices.data(), n_left_, n_right_, 1, 1, choice_.on_left, !choice_.on_left);
      const CountSide& of = choice_.on_left ? whole.left : whole.right;
      return times_of_some(of, choice_.on_left ? whole.right : whole.left, chosen(of, true, roots));
    }
    std::vector<u32> left(n_left_), right(n_right_, 0);
    for (u32 u = 0; u < n_left_; ++u) left[u] = static_cast<u32>(indptr.data()[u + 1] - indptr.data()[u]);
    for (std::size_t e = 0; e < indices.size(); ++e) ++right[static_cast<u32>(indices.data()[e])];
    return choice_.on_left ? times_of_all(left, right) : times_of_all(right, left);
  }
  static std::vector<u32> chosen(const CountSide& side, bool some_roots, const Input<std::int32_t>& roots) {
    if (some_roots) return places_of(side, roots);
    std::vector<u32> all(side.n);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  void start_search(std::vector<u32> roots) {
    const u32 p = on_left(p_, q_), q = on_left(q_, p_);
    if (asked_ == Asked::of_vertices) {
      vertices_ = start<Pivot<EachVertex>>(std::move(roots), [&] {
        return std::make_unique<Pivot<EachVertex>>(root_side(), row_side(), SizeRange{{p, q}, {p, q}},
                                                   EachVertex(p, q, root_side().n, row_side().n));
      });
    } else if (asked_ == Asked::all) {
      all_ = start<Pivot<AllSizes>>(std::move(roots), [&] {
        return std::make_unique<Pivot<AllSizes>>(root_side(), row_side(), SizeRange{{2, 2}, {p, q}}, AllSizes(p, q, trees_.get()));
      });
    } else if (choice_.method == Method::pivot) {
      one_ = start<Pivot<OneSize>>(std::move(roots), [&] {
        return std::make_unique<Pivot<OneSize>>(root_side(), row_side(), SizeRange{{p, q}, {p, q}}, OneSize(p, q));
      });
    } else {
      table_ = std::make_unique<ChooseTable>(root_side().largest_degree(), q);
      levels_ = start<Levels>(std::move(roots), [&] { return std::make_unique<Levels>(root_side(), row_side(), p, *table_); });
    }
  }
  template <class Search, class Make>
  RunningTeam<Search>* start(std::vector<u32> roots, Make make) {
    auto team = std::make_unique<RunningTeam<Search>>(std::move(roots), threads_, std::move(helpers_), make);
    RunningTeam<Search>* const out = team.get();
    running_ = std::move(team);
    return out;
  }
  Total total() const {
    Total sum;
    const auto add = [&](const auto& members, auto of) {
      for (const auto& member : members) sum.add(of(*member));
    };
    if (levels_) add(levels_->team->members(), [](const auto& search) { return search.total; });
    if (one_) add(one_->team->members(), [](const auto& search) { return search.sums.total; });
    if (vertices_) add(vertices_->team->members(), [](const auto& search) { return search.sums.total; });
    return sum;
  }

  const Asked asked_;
  const u32 p_, q_, n_left_, n_right_, threads_;
  CountGraph graph_;
  Choice choice_{Method::levels, true};
  Stars stars_;
  const std::unique_ptr<TreeQueue> trees_;
  std::unique_ptr<ChooseTable> table_;
  RunningTeam<Levels>* levels_ = nullptr;
  RunningTeam<Pivot<OneSize>>* one_ = nullptr;
  RunningTeam<Pivot<EachVertex>>* vertices_ = nullptr;
  RunningTeam<Pivot<AllSizes>>* all_ = nullptr;
  std::unique_ptr<Running> running_;  // one of these
  std::unique_ptr<Helpers> helpers_;  // of the estimate, then threads of the search
  Clock::time_point started_;
  double prepare_seconds_ = 0, estimate_seconds_ = 0, search_seconds_ = 0;
};

class ButterflyCount {
 public:
  ButterflyCount(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool parts, u32 threads) {
    const nb::gil_scoped_release release;
    const auto start = Clock::now();
    graph_ = std::make_unique<RankedGraph>(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right);
    if (parts) counts_ = std::make_unique<ButterflyCounts>(*graph_);
    prepare_seconds_ = since(start);
    std::vector<u32> roots(graph_->n());
    std::iota(roots.begin(), roots.end(), 0u);
    running_ = std::make_unique<RunningTeam<Butterflies>>(
        std::move(roots), threads, std::make_unique<Helpers>(1), [&] { return std::make_unique<Butterflies>(*graph_, counts_.get()); });
    started_ = Clock::now();
  }
  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    const bool ended = running_->wait(seconds);
    if (ended && search_seconds_ == 0) search_seconds_ = since(started_);
    return ended;
  }
  void stop() {
    const nb::gil_scoped_release release;
    running_->stop();
  }
  nb::tuple count() const {
    return wide_number({running_->sum([](const Butterflies& search) { return search.total; }), false});
  }
  bool parts_fit() const { return graph_->parts_fit(); }
  nb::object of_vertices() { return numpy_of(std::move(counts_->of_vertex)); }
  nb::object of_edges() { return numpy_of(std::move(counts_->of_edge)); }
  u64 roots_done() const { return running_->roots_done(); }
  u64 n_roots() const { return running_->n_roots(); }
  std::vector<double> seconds() const { return {prepare_seconds_, 0, search_seconds_}; }

 private:
  std::unique_ptr<RankedGraph> graph_;
  std::unique_ptr<ButterflyCounts> counts_;
  std::unique_ptr<RunningTeam<Butterflies>> running_;
  Clock::time_point started_;
  double prepare_seconds_ = 0, search_seconds_ = 0;
};

/// (is the search by pivots?, are the roots on the left?) as a count would choose them.
nb::tuple choose_count(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, u32 p, u32 q, int method,
                       int side, u32 threads) {
  Choice choice;
  {
    const nb::gil_scoped_release release;
    Helpers helpers(estimate_threads(indices.size(), threads));
    const CountGraph graph =
        prepare_core(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right, p, q, false, false);
    choice = choose(graph, {{p, q}, {p, q}}, static_cast<Method>(method), static_cast<RootSide>(side), helpers);
  }
  return nb::make_tuple(choice.method == Method::pivot, choice.on_left);
}

/// Adds up exactly, as trees.cu does.
struct HostCells {
  explicit HostCells(const CellShape& shape) : sums(shape.cells(), 0), width_(static_cast<u32>(shape.width())) {
    for (u32 n = 0; n <= kMostOptional; ++n)
      for (u32 k = 0; k <= n; ++k) choose_[n][k] = k == 0 || k == n ? 1 : choose_[n - 1][k - 1] + choose_[n - 1][k];
  }
  void add(u64 row, u32 first, u32 n, bool negative) {
    for (u32 k = 0; k <= n && first + k < width_; ++k) sums[row + first + k] += negative ? 0 - choose_[n][k] : choose_[n][k];
  }
  std::vector<u128> sums;

 private:
  const u32 width_;
  u128 choose_[kMostOptional + 1][kMostOptional + 1] = {};
};

/// The cells of some trees, (high halves, low halves) modulo 2^128: what the device does, in lanes of this machine.
nb::tuple count_trees(const Input<u32>& trees, u32 most_roots, u32 most_rows, u32 optional) {
  const CellShape shape = {{most_roots, most_rows}, {2, 2}, optional};
  HostCells cells(shape);
  TreeSearch<HostCells> search(shape, cells);
  for (std::size_t at = 0; at + kTreeWords <= trees.size(); at += kTreeWords) search.search(trees.data() + at);
  return numpy_of(cells.sums);
}

}  // namespace

void bind_count(nb::module_& module) {
  nb::class_<Count>(module, "Count")
      .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, u32, u32, int, int, int, bool,
                    const Input<std::int32_t>&, u32, u32>())
      .def("wait", &Count::wait)
      .def("stop", &Count::stop)
      .def("of_vertices", &Count::of_vertices)
      .def("take_trees", &Count::take_trees)
      .def("table", &Count::table)
      .def_prop_ro("count", &Count::count)
      .def_prop_ro("work", &Count::work)
      .def_prop_ro("on_left", &Count::is_on_left)
      .def_prop_ro("is_pivot", &Count::is_pivot)
      .def_prop_ro("roots_done", &Count::roots_done)
      .def_prop_ro("n_roots", &Count::n_roots)
      .def_prop_ro("seconds", &Count::seconds);
  nb::class_<ButterflyCount>(module, "ButterflyCount")
      .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, bool, u32>())
      .def("wait", &ButterflyCount::wait)
      .def("stop", &ButterflyCount::stop)
      .def("of_vertices", &ButterflyCount::of_vertices)
      .def("of_edges", &ButterflyCount::of_edges)
      .def_prop_ro("parts_fit", &ButterflyCount::parts_fit)
      .def_prop_ro("count", &ButterflyCount::count)
      .def_prop_ro("roots_done", &ButterflyCount::roots_done)
      .def_prop_ro("n_roots", &ButterflyCount::n_roots)
      .def_prop_ro("seconds", &ButterflyCount::seconds);
  module.def("choose_count", &choose_count);
  module.def("count_trees", &count_trees);
  module.attr("TREE_WORDS") = kTreeWords;
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
