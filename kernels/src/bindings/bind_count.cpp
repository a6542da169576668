// bind_count.cpp: (p,q)-biclique counting for Python: a count that runs on threads of its own and
// is waited for.
#include "bindings/task.hpp"
#include "counting/butterfly.hpp"
#include "counting/estimate.hpp"
#include "counting/open_roots.hpp"
#include "counting/stars.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <thread>
#include <variant>

namespace bicliq {
namespace {

/// (high, middle, low), of 64 bits each; the number is high · 2^128 + middle · 2^64 + low.
nb::tuple whole_number(const Total& x) {
  return nb::make_tuple(x.high, static_cast<u64>(x.low >> 64), static_cast<u64>(x.low));
}
/// Tuples of the four numbers of each term, and how many times it is to be added.
nb::list list_of(const LargeTerms& large) {
  nb::list terms;
  for (const auto& [key, times] : large.times()) terms.append(nb::make_tuple(key[0], key[1], key[2], key[3], times));
  return terms;
}

/// (high halves, low halves)
nb::tuple halves_of(const std::vector<u128>& values) {
  std::vector<u64> high, low;
  without_lock([&] {
    high.resize(values.size()), low.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      high[i] = static_cast<u64>(values[i] >> 64);
      low[i] = static_cast<u64>(values[i]);
    }
  });
  return arrays_of(std::move(high), std::move(low));
}

/// The places, in `side`, of given vertices in ascending order of places; those outside the core
/// hold nothing and are left out.
std::vector<u32> places_of(const CountSide& side, const std::vector<u32>& vertices) {
  std::vector<u32> places;
  for (const u32 v : vertices) {
    const auto at = std::lower_bound(side.vertex.begin(), side.vertex.end(), v);
    if (at != side.vertex.end() && *at == v) places.push_back(static_cast<u32>(at - side.vertex.begin()));
  }
  std::sort(places.begin(), places.end());
  return places;
}

template <class Search>
using Members = std::vector<std::unique_ptr<Search>>;

/// What every count is.
class Counting {
 public:
  bool wait(double seconds) { return workers_.wait(seconds); }
  void end() { workers_.end(); }
  u64 roots_done() const { return workers_.roots_done(); }
  u64 n_roots() const { return workers_.n_roots(); }
  nb::dict seconds() const {
    return named("prepare", prepare_seconds_, "estimate", estimate_seconds_, "search", search_seconds_);
  }

 protected:
  Counting(const Rows& rows, u32 n_right, u32 threads)
      : rows_(rows), n_right_(n_right), threads_(threads) {}

  /// A search by a member for each thread, made of the same arguments.
  template <class Search, class... Given>
  void search(Members<Search>& members, const std::vector<u32>& roots, const Given&... given) {
    const Stopwatch watch(search_seconds_);
    for (u32 i = 0; i < threads_; ++i) members.push_back(std::make_unique<Search>(given...));
    OpenRoots<Search>(workers_, members, roots).search();
  }

  const Rows rows_;
  const u32 n_right_, threads_;
  double prepare_seconds_ = 0, estimate_seconds_ = 0, search_seconds_ = 0;
  CountWorkers workers_;
};

/// What is counted: one (p,q); the same of every vertex; all up to (p,q); or nothing, where only
/// the choice of a search is asked for.
enum class Asked { one, of_vertices, all, choice };

class Count : public Counting {
 public:
  Count(const Rows& rows, u32 n_right, u32 p, u32 q, Asked asked, Method method, RootSide side, const std::optional<Values>& roots,
        u32 threads, u32 tree_optional, bool on_card)
      : Counting(rows, n_right, threads), asked_(asked), method_(method), side_(side), p_(p), q_(q), some_roots_(roots.has_value()),
        roots_(roots ? copy_of<u32>(*roots) : std::vector<u32>()), on_card_(on_card), may_search_(!on_card), trees_(tree_optional ? std::make_unique<TreeQueue>(tree_optional) : nullptr) {
    workers_.begin([this] { run(); });
  }
  ~Count() { end(); }

  /// Waits at most so long; true when search and side have been chosen.
  bool wait_for_choice(double seconds) {
    for (double waited = 0; !is_chosen_ && waited < seconds; waited += kPoll)
      if (workers_.wait(kPoll)) break;
    return is_chosen_;
  }
  Asked asked() const { return asked_; }
  nb::tuple count() const {
    Total sum;
    each_single([&](const Total& total, const LargeTerms&) { sum.add(total); });
    return whole_number(sum);
  }
  /// Terms of the count, (n, k, m, l, times): times · C(n, k) · C(m, l) is to be added to it.
  nb::list large_terms() const {
    LargeTerms all;
    each_single([&](const Total&, const LargeTerms& large) { all.add(large); });
    return list_of(all);
  }
  u64 work() const {
    u64 sum = 0;
    std::visit([&](const auto& members) {
      for (const auto& member : members) sum += member->work;
    }, members_);
    return sum;
  }
  /// (of left vertices, of right vertices), each (high halves, low halves)
  nb::tuple of_vertices() const {
    std::vector<u128> left, right;
    without_lock([&] {
      left.assign(rows_.n, 0), right.assign(n_right_, 0);
      for (const auto& member : std::get<Members<Pivot<EachVertex>>>(members_))
        for (u32 a : {0u, 1u}) {
          const bool is_left = (a == 0) == choice_.on_left;
          const std::vector<u32>& vertex = is_left ? graph_.left.vertex : graph_.right.vertex;
          for (std::size_t i = 0; i < vertex.size(); ++i) (is_left ? left : right)[vertex[i]] += member->sums.of_vertex[a][i];
        }
    });
    return nb::make_tuple(halves_of(left), halves_of(right));
  }
  /// Trees that a device is to count, `kTreeWords` words each (trees.hpp); once the search has
  /// ended, until there are none.
  nb::object take_trees(bool ended) {
    TreeParcel parcel = trees_->take();
    if (ended)
      for (const auto& member : of_all())
        if (parcel.empty()) parcel = member->sums.giver.take();
    return numpy_of(std::move(parcel));
  }
  /// Every (p, q, high, middle, low) up to the largest ones.
  nb::list table() {
    for (const auto& member : of_all()) member->sums.flush();
    nb::list rows;
    for (u32 p = 1; p <= p_; ++p)
      for (u32 q = 1; q <= q_; ++q) {
        const u32 a = choice_.on_left ? p : q, b = choice_.on_left ? q : p;
        Total sum = b == 1 ? stars_.of_rows[a] : a == 1 ? stars_.of_roots[b] : Total{};
        if (a > 1 && b > 1)
          for (const auto& member : of_all()) sum.add(member->sums.of(a, b));
        rows.append(nb::make_tuple(p, q) + whole_number(sum));
      }
    return rows;
  }
  /// What the table lacks: terms of (1, q) and of (p, 1) on the side of the roots, and leaves
  /// (held, optional, held, optional).
  nb::tuple large_terms_of_table() const {
    LargeTerms leaves;
    for (const auto& member : of_all()) leaves.add(member->sums.large);
    return nb::make_tuple(list_of(stars_.large_of_roots), list_of(stars_.large_of_rows), list_of(leaves));
  }
  /// Beside a card, the search waits for this when it has been chosen.
  void go_on() { may_search_ = true; }
  const Choice& choice() const { return choice_; }
  /// The core, as it is once there is a choice.
  const CountGraph& graph() const { return graph_; }

 private:
  static constexpr double kPoll = 1e-3;

  void run() {
    const auto check = [this] { workers_.check(); };
    const u32 least_p = asked_ == Asked::all ? std::min(p_, 2u) : p_, least_q = asked_ == Asked::all ? std::min(q_, 2u) : q_;
    if (rows_.n_edges() >= kEdgesWorthThreads) workers_.grow(std::min(threads_, kMostEstimating));
    {
      const Stopwatch watch(prepare_seconds_);
      const bool keep_left = some_roots_ && side_ == RootSide::left, keep_right = some_roots_ && side_ == RootSide::right;
      graph_ = prepare_core(rows_, n_right_, least_p, least_q, keep_left, keep_right, check);
    }
    {
      const Stopwatch watch(estimate_seconds_);
      const Method method = asked_ == Asked::of_vertices || asked_ == Asked::all ? Method::pivot : method_;
      const Costs& costs = on_card_ && asked_ == Asked::choice ? kOfACard : kOfACore;
      choice_ = choose(graph_, {{least_p, least_q}, {p_, q_}}, method, side_, costs, workers_);
      is_chosen_ = true;
    }
    if (asked_ == Asked::choice) return;
    for (; !may_search_; check()) std::this_thread::sleep_for(std::chrono::duration<double>(kPoll));
    if (asked_ == Asked::all) stars_ = count_stars(star_times(check), on_left(p_, q_), on_left(q_, p_));
    search_roots(chosen(root_side()));
  }
  const CountSide& root_side() const { return choice_.on_left ? graph_.left : graph_.right; }
  const CountSide& row_side() const { return choice_.on_left ? graph_.right : graph_.left; }
  u32 on_left(u32 if_left, u32 otherwise) const { return choice_.on_left ? if_left : otherwise; }

  template <class Check>
  StarTimes star_times(const Check& check) const {
    if (some_roots_) {
      const CountGraph whole =
          prepare_core(rows_, n_right_, 1, 1, choice_.on_left, !choice_.on_left, check);
      const CountSide& of = choice_.on_left ? whole.left : whole.right;
      return times_of_some(of, choice_.on_left ? whole.right : whole.left, chosen(of));
    }
    const std::vector<u32> left = degrees(rows_), right = other_degrees(rows_, n_right_, check);
    return choice_.on_left ? times_of_all(left, right) : times_of_all(right, left);
  }
  std::vector<u32> chosen(const CountSide& side) const {
    if (some_roots_) return places_of(side, roots_);
    std::vector<u32> all(side.n);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  void search_roots(const std::vector<u32>& roots) {
    const u32 p = on_left(p_, q_), q = on_left(q_, p_);
    const CountSide &root = root_side(), &row = row_side();
    const SizeRange one{{p, q}, {p, q}};
    if (asked_ == Asked::of_vertices) {
      search(members_.emplace<Members<Pivot<EachVertex>>>(), roots, workers_, root, row, one, EachVertex(p, q, root.n, row.n));
    } else if (asked_ == Asked::all) {
      const SizeRange all{{2, 2}, {p, q}};
      search(members_.emplace<Members<Pivot<AllSizes>>>(), roots, workers_, root, row, all, AllSizes(p, q, trees_.get()));
    } else if (choice_.method == Method::pivot) {
      search(members_.emplace<Members<Pivot<OneSize>>>(), roots, workers_, root, row, one, OneSize(p, q));
    } else {
      table_ = std::make_unique<ChooseTable>(root.largest_degree(), q);
      search(members_.emplace<Members<Levels>>(), roots, workers_, root, row, p, *table_);
    }
  }
  /// f(total, large terms) for each worker of a search for one (p,q).
  template <class F>
  void each_single(F f) const {
    std::visit([&](const auto& members) {
      for (const auto& member : members)
        if constexpr (std::is_same_v<decltype(*member), Levels&>)
          f(member->total, member->large);
        else if constexpr (!std::is_same_v<decltype(*member), Pivot<AllSizes>&>)
          f(member->sums.total, member->sums.large);
    }, members_);
  }
  const Members<Pivot<AllSizes>>& of_all() const { return std::get<Members<Pivot<AllSizes>>>(members_); }

  const Asked asked_;
  const Method method_;
  const RootSide side_;
  const u32 p_, q_;
  const bool some_roots_;
  const std::vector<u32> roots_;
  const bool on_card_;  // where only a choice is asked for, it is a card's
  std::atomic<bool> may_search_;
  CountGraph graph_;
  Choice choice_{Method::levels, true, 0};
  std::atomic<bool> is_chosen_{false};
  Stars stars_;
  const std::unique_ptr<TreeQueue> trees_;
  std::unique_ptr<ChooseTable> table_;
  std::variant<Members<Levels>, Members<Pivot<OneSize>>, Members<Pivot<EachVertex>>, Members<Pivot<AllSizes>>> members_;  // a worker each
};

class ButterflyCount : public Counting {
 public:
  ButterflyCount(const Rows& rows, u32 n_right, bool parts, u32 threads) : Counting(rows, n_right, threads), parts_(parts) {
    workers_.begin([this] { run(); });
  }
  ~ButterflyCount() { end(); }

  nb::tuple count() const {
    Total sum;
    for (const auto& member : members_) sum.add(member->total);
    return whole_number(sum);
  }
  /// Of each vertex and each edge; null where only their sum was asked for. Handed over, once.
  ButterflyCounts* parts() const { return counts_.get(); }

 private:
  void run() {
    {
      const Stopwatch watch(prepare_seconds_);
      graph_ = std::make_unique<RankedGraph>(rows_, n_right_, [this] { workers_.check(); });
      if (parts_ && !graph_->parts_fit())
        throw CapacityError("this graph is so large that butterflies of a vertex may not fit in 64 bits; count them all together");
      if (parts_) counts_ = std::make_unique<ButterflyCounts>(*graph_);
    }
    std::vector<u32> roots(graph_->n());
    std::iota(roots.begin(), roots.end(), 0u);
    search(members_, roots, *graph_, counts_.get());
  }

  const bool parts_;
  std::unique_ptr<RankedGraph> graph_;
  std::unique_ptr<ButterflyCounts> counts_;
  Members<Butterflies> members_;
};

/// C(n, k) of all n up to the largest one, for k from 0 on, as leaf_sum.hpp has them.
nb::object binomial_words(u32 largest_n, u32 largest_k) {
  std::vector<u64> words;
  without_lock([&] {
    words.reserve(2 * (u64{largest_n} + 1) * (u64{largest_k} + 1));
    for (u32 k = 0; k <= largest_k; ++k)
      for (u128 x : binomial_column(largest_n, k)) {
        words.push_back(static_cast<u64>(x));
        words.push_back(static_cast<u64>(x >> 64));
      }
  });
  return numpy_of(std::move(words));
}

/// (is by pivots, roots on the left, estimated work)
nb::tuple choice(Task<Count>& task) {
  const Choice& made = task.at_work().choice();
  return nb::make_tuple(made.method == Method::pivot, made.on_left, made.work);
}
/// What a card reads of the core, the roots on one side: where the list of each root begins, and
/// the rows in it; the same of rows; vertices of roots and of rows; each root's paths of two edges.
nb::object card_graph(Task<Count>& task, bool on_left) {
  const CountGraph& graph = task.at_work().graph();
  const CountSide &root = on_left ? graph.left : graph.right, &row = on_left ? graph.right : graph.left;
  std::vector<u64> paths(root.n, 0);
  without_lock([&] {
    for (u32 v = 0; v < root.n; ++v)
      for (const u32* r = root.begin(v); r != root.end(v); ++r) paths[v] += row.degree(*r);
  });
  const auto copied = [](const auto& values) { return numpy_of(without_lock([&] { return values; })); };
  return nb::make_tuple(copied(root.start), copied(root.row), copied(row.start), copied(row.row), copied(root.vertex), copied(row.vertex),
                        numpy_of(std::move(paths)));
}

nb::dict result(Task<Count>& task) {
  Count& count = task.ended();
  const Choice& made = count.choice();
  nb::dict found = named("on_left", made.on_left, "is_pivot", made.method == Method::pivot, "work", count.work(), "seconds", count.seconds());
  if (count.asked() == Asked::all)
    put(found, "table", count.table(), "large_terms_of_table", count.large_terms_of_table());
  else
    put(found, "count", count.count(), "large_terms", count.large_terms());
  if (count.asked() == Asked::of_vertices) found["of_vertices"] = count.of_vertices();
  return found;
}

/// C(n, k) of all n up to the largest one, in low and high halves; all ones for what does not fit.
nb::object choices(u32 largest_n, u32 k) {
  std::vector<u64> low, high;
  without_lock([&] {
    for (const u128 x : binomial_column(largest_n, k)) low.push_back(static_cast<u64>(x)), high.push_back(static_cast<u64>(x >> 64));
  });
  return arrays_of(std::move(low), std::move(high));
}

nb::dict butterflies(Task<ButterflyCount>& task) {
  const ButterflyCount& count = task.ended();
  nb::dict found = named("count", count.count(), "seconds", count.seconds());
  if (ButterflyCounts* const parts = count.parts())
    put(found, "of_vertices", numpy_of(std::move(parts->of_vertex)), "of_edges", numpy_of(std::move(parts->of_edge)));
  return found;
}

}  // namespace

void bind_count(nb::module_& module) {
  nb::enum_<Asked>(module, "Asked")
      .value("one", Asked::one)
      .value("of_vertices", Asked::of_vertices)
      .value("all", Asked::all)
      .value("choice", Asked::choice);
  nb::enum_<Method>(module, "Method").value("auto", Method::chosen_here).value("levels", Method::levels).value("pivot", Method::pivot);
  nb::enum_<RootSide>(module, "RootSide").value("auto", RootSide::chosen_here).value("left", RootSide::left).value("right", RootSide::right);
  bind_search<Count>(module, "Count")
      .def("__init__", &begin_of_rows<Count, u32, u32, u32, Asked, Method, RootSide, std::optional<Values>, u32, u32, bool>, "indptr"_a, "indices"_a, "n_right"_a, "p"_a, "q"_a, "asked"_a, "method"_a, "side"_a, "roots"_a.none(), "threads"_a,
           "tree_optional"_a, "on_card"_a)
      .def("wait_for_choice", [](Task<Count>& task, double seconds) { return without_lock([&] { return task.at_work().wait_for_choice(seconds); }); },
           "seconds"_a)
      .def("take_trees", [](Task<Count>& task, bool ended) { return (ended ? task.ended() : task.at_work()).take_trees(ended); }, "ended"_a)
      .def_prop_ro("choice", &choice)
      .def("go_on", [](Task<Count>& task) { task.at_work().go_on(); })
      .def("card_graph", &card_graph, "on_left"_a)
      .def("result", &result);
  bind_search<ButterflyCount>(module, "ButterflyCount")
      .def("__init__", &begin_of_rows<ButterflyCount, u32, bool, u32>, "indptr"_a, "indices"_a, "n_right"_a, "parts"_a, "threads"_a)
      .def("result", &butterflies);
  module.def("choices", &choices, "largest_n"_a, "k"_a);
  module.def("binomial_words", &binomial_words, "largest_n"_a, "largest_k"_a);
  module.attr("TREE_WORDS") = kTreeWords;
}

}  // namespace bicliq
