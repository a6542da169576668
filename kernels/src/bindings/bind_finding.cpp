// bind_finding.cpp: the best maximal bicliques for Python.
#include "bindings/bindings.hpp"
#include "enumeration/finding.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

std::vector<i64> copy_of(const Input<std::int64_t>& terms) { return {terms.data(), terms.data() + terms.size()}; }

/// Holds references to the arrays for as long as the threads read them.
class FindSession {
 public:
  FindSession(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 n_right, bool columns_are_left, int objective, u64 k,
              i64 least, const Input<std::int64_t>& left_terms, const Input<std::int64_t>& right_terms, u32 min_left,
              u32 min_right, u64 min_edges, u32 max_left, u32 max_right, u32 threads)
      : indptr_(std::move(indptr)), indices_(std::move(indices)) {
    Sizes sizes{min_left, min_right, min_edges, max_left, max_right};
    if (columns_are_left) sizes = {min_right, min_left, min_edges, max_right, max_left};
    FindRequest request{indptr_.data(), indices_.data(), static_cast<u32>(indptr_.size() - 1), n_right, columns_are_left,
                        copy_of(left_terms), copy_of(right_terms), k, least, threads};
    run_ = std::make_unique<Finding>(std::move(request), static_cast<Objective>(objective), sizes);
  }

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
  nb::list answers() const {
    nb::list list;
    for (const Answer& a : run_->answers()) list.append(nb::make_tuple(run_->value(a), numpy_of(a.left), numpy_of(a.right)));
    return list;
  }
  const Finding& run() const { return *run_; }

 private:
  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  std::unique_ptr<Finding> run_;
};

}  // namespace

void bind_finding(nb::module_& module) {
  nb::class_<FindSession>(module, "FindSession")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32, bool, int, u64, i64, const Input<std::int64_t>&,
                    const Input<std::int64_t>&, u32, u32, u64, u32, u32, u32>())
      .def("wait", &FindSession::wait)
      .def("stop", &FindSession::stop)
      .def("answers", &FindSession::answers)
      .def_prop_ro("proven", [](const FindSession& s) { return s.run().proven(); })
      .def_prop_ro("nodes", [](const FindSession& s) { return s.run().nodes(); })
      .def_prop_ro("roots", [](const FindSession& s) { return s.run().roots_opened(); })
      .def_prop_ro("prepare_seconds", [](const FindSession& s) { return s.run().prepare_seconds(); })
      .def_prop_ro("search_seconds", [](const FindSession& s) { return s.run().search_seconds(); });
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
