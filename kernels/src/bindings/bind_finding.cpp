// bind_finding.cpp: the best maximal bicliques for Python, by an objective or by weights of edges.
#include "bindings/row_groups.hpp"
#include "best/edge_finding.hpp"
#include "best/finding.hpp"
#include "graphs/path_sample.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

std::vector<i64> copy_of(const Input<std::int64_t>& terms) { return {terms.data(), terms.data() + terms.size()}; }

/// Sizes in terms of rows and columns.
Sizes sizes_of(bool columns_are_left, u32 min_left, u32 min_right, u64 min_edges, u32 max_left, u32 max_right) {
  if (columns_are_left) return {min_right, min_left, min_edges, max_right, max_left};
  return {min_left, min_right, min_edges, max_left, max_right};
}

/// Holds references to the arrays for as long as the threads read them.
template <class Run>
class Session {
 public:
  Session(Input<std::int64_t> indptr, Input<std::int32_t> indices, Input<std::int64_t> weights)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), weights_(std::move(weights)) {}

  bool wait(double seconds) {
    const nb::gil_scoped_release release;
    return run_->wait(seconds);
  }
  /// Returns when all threads have ended.
  void stop() {
    const nb::gil_scoped_release release;
    run_->end();
  }
  /// The answers as (value, left, right).
  nb::list answers() const { return tuples(run_->answers()); }
  /// The same of what is known while the threads work.
  nb::list so_far(u64 known) const { return tuples(run_->so_far(known)); }
  const Run& run() const { return *run_; }

 protected:
  nb::list tuples(const std::vector<Answer>& answers) const {
    nb::list list;
    for (const Answer& a : answers) list.append(nb::make_tuple(run_->value(a), numpy_of(a.left), numpy_of(a.right)));
    return list;
  }
  u32 n_left() const { return static_cast<u32>(indptr_.size() - 1); }

  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  const Input<std::int64_t> weights_;
  std::unique_ptr<Run> run_;
};

using Covered = std::vector<std::pair<std::vector<i32>, std::vector<i32>>>;

class FindSession : public Session<Finding> {
 public:
  /// `terms` of weight: of both sides alone; of surprise all that it is made of.
  FindSession(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool columns_are_left, int objective,
              u64 k, i64 least, const SurpriseArrays& terms, const Covered& covered, u32 min_left, u32 min_right, u64 min_edges, u32 max_left, u32 max_right,
              u32 threads, bool only_opens)
      : Session(indptr, indices, std::get<0>(terms)), terms_(terms) {
    const auto& [left, right, left_costs, right_costs, correction, lowest, shift] = terms_;
    const Correction corrects{correction.data(), lowest, static_cast<u32>(correction.size()), shift};
    FindRequest request{indptr_.data(), indices_.data(), n_left(), n_right, columns_are_left,
                        {copy_of(left), copy_of(right), copy_of(left_costs), copy_of(right_costs), corrects, covered},
                        k, least, threads, only_opens};
    run_ = std::make_unique<Finding>(std::move(request), static_cast<Objective>(objective),
                                     sizes_of(columns_are_left, min_left, min_right, min_edges, max_left, max_right));
  }
  ~FindSession() { run_.reset(); }  // its threads read the terms

 private:
  const SurpriseArrays terms_;
};

class EdgeFindSession : public Session<EdgeFinding> {
 public:
  EdgeFindSession(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool columns_are_left,
                  const Input<std::int64_t>& weights, bool cover, u64 k, i64 least, u32 min_left, u32 min_right, u64 min_edges,
                  u32 max_left, u32 max_right, u32 threads)
      : Session(indptr, indices, weights) {
    run_ = std::make_unique<EdgeFinding>(
        EdgeFindRequest{indptr_.data(), indices_.data(), weights_.data(), n_left(), n_right, columns_are_left, cover, k, least,
                        sizes_of(columns_are_left, min_left, min_right, min_edges, max_left, max_right), threads});
  }
};

template <class S, class Class>
void define(Class session) {
  session.def("wait", &S::wait)
      .def("stop", &S::stop)
      .def("answers", &S::answers)
      .def("so_far", &S::so_far)
      .def_prop_ro("n_roots", [](const S& s) { return s.run().n_roots(); })
      .def_prop_ro("roots_done", [](const S& s) { return s.run().roots_done(); })
      .def_prop_ro("proven", [](const S& s) { return s.run().proven(); })
      .def_prop_ro("nodes", [](const S& s) { return s.run().nodes(); })
      .def_prop_ro("roots", [](const S& s) { return s.run().roots_opened(); })
      .def_prop_ro("prepare_seconds", [](const S& s) { return s.run().prepare_seconds(); })
      .def_prop_ro("search_seconds", [](const S& s) { return s.run().search_seconds(); });
}

/// Paths of two edges from either side; holds references to the arrays.
class Paths {
 public:
  Paths(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 n_right) : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    const nb::gil_scoped_release release;
    sample_ = std::make_unique<PathSample>(Rows{indptr_.data(), indices_.data(), indptr_.size() - 1}, n_right);
  }
  const PathSample& sample() const { return *sample_; }
  double crowded(bool from_left, u32 n, u32 many, u64 seed) {
    const nb::gil_scoped_release release;
    return sample_->crowded(from_left, n, many, seed);
  }

 private:
  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  std::unique_ptr<PathSample> sample_;
};

}  // namespace

void bind_finding(nb::module_& module) {
  nb::class_<Paths>(module, "Paths")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32>())
      .def_prop_ro("from_left", [](const Paths& p) { return p.sample().from_left(); })
      .def_prop_ro("from_right", [](const Paths& p) { return p.sample().from_right(); })
      .def("crowded", &Paths::crowded);
  define<FindSession>(
      nb::class_<FindSession>(module, "FindSession")
          .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, bool, int, u64, i64, const SurpriseArrays&, const Covered&, u32, u32, u64, u32, u32,
                        u32, bool>())
          .def_prop_ro("least", [](const FindSession& s) { return s.run().least(); })
          .def_prop_ro("open_roots", [](const FindSession& s) { return numpy_of(s.run().roots()); }));
  define<EdgeFindSession>(nb::class_<EdgeFindSession>(module, "EdgeFindSession")
                              .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, bool,
                                            const Input<std::int64_t>&, bool, u64, i64, u32, u32, u64, u32, u32, u32>()));
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
