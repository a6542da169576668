// bind_enumeration.cpp: the enumeration for Python, as a session that is asked for batches.
#include "bindings/batches.hpp"
#include "bindings/row_groups.hpp"
#include "bindings/settler.hpp"
#include "search/enumeration.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

template <class To, class From>
std::vector<To> copy_of(const Input<From>& values) {
  return std::vector<To>(values.data(), values.data() + values.size());
}

ListColumn column_of(const IdLists& lists) {
  if (lists.holds_places()) return {lists.offsets().data(), nullptr, lists.places(), &lists.entries};
  return {lists.offsets().data(), lists.ids()};
}

/// The row group that a worker makes next.
class WorkersRowGroup : public OpenRowGroup {
 public:
  explicit WorkersRowGroup(const RowGroupMaker& maker) : maker_(maker), encoder_(maker.encoder()) {}
  void add(const Batch& piece) override {
    maker_.add(*encoder_, column_of(piece.left), column_of(piece.right), piece.root.data(), piece.size());
  }
  std::shared_ptr<RowGroup> finish() override { return maker_.finish(*encoder_); }

 private:
  const RowGroupMaker& maker_;
  const std::unique_ptr<RowGroupEncoder> encoder_;
};

/// Holds references to the arrays for as long as the threads read them.
class Session {
 public:
  Session(Input<std::int64_t> indptr, Input<std::int32_t> indices, u32 n_right, bool columns_are_left, bool some_roots,
          const Input<std::int32_t>& roots, const Input<std::int32_t>& order, const Input<std::int32_t>& left_ids,
          const Input<std::int32_t>& right_ids, const Input<u64>& left_hashes, const Input<u64>& right_hashes, int mode, u32 min_left,
          u32 min_right, u64 min_edges, u64 max_bicliques, u32 threads, u64 batch_bicliques, u64 batch_ids, std::optional<nb::object> taker)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), taker_(std::move(taker)) {
    Settings settings;
    settings.mode = static_cast<Mode>(mode);
    settings.limits = {columns_are_left ? min_right : min_left, columns_are_left ? min_left : min_right, min_edges};
    settings.max_bicliques = max_bicliques;
    settings.threads = threads;
    settings.batch_bicliques = batch_bicliques;
    settings.batch_ids = batch_ids;
    if (taker_ && nb::isinstance<Settler>(*taker_)) {
      settings.changes = &nb::inst_ptr<Settler>(*taker_)->task();
    } else if (taker_) {
      const RowGroupMaker* maker = nb::inst_ptr<RowGroupMaker>(*taker_);
      settings.places = maker->takes_places();
      settings.encoder = [maker] { return std::make_unique<WorkersRowGroup>(*maker); };
    }
    const auto n_left = static_cast<u32>(indptr_.size() - 1);
    Request request{indptr_.data(), indices_.data(), n_left, n_right, columns_are_left, some_roots, copy_of<u32>(roots), copy_of<u32>(order), {}, {}, {}, {}};
    if (settings.needs_members()) {
      request.left_ids = copy_of<std::int32_t>(left_ids);
      request.right_ids = copy_of<std::int32_t>(right_ids);
      request.left_hashes = copy_of<u64>(left_hashes);
      request.right_hashes = copy_of<u64>(right_hashes);
    }
    run_ = std::make_unique<Enumeration>(std::move(request), settings);
  }

  /// Its threads may be waiting for Python's lock.
  ~Session() { stop(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A batch as five arrays, or where a layout takes them, a row group.
  nb::object next(double seconds) {
    Delivery found;
    {
      const nb::gil_scoped_release release;
      found = run_->next(seconds);
    }
    if (found.group) return python_of(found.group);
    return found.batch ? python_of(std::move(found.batch), run_->pool()) : nb::none();
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
  bool ended() {
    const nb::gil_scoped_release release;
    return run_->ended();
  }
  const Enumeration& run() const { return *run_; }

 private:
  const Input<std::int64_t> indptr_;
  const Input<std::int32_t> indices_;
  const std::optional<nb::object> taker_;
  std::unique_ptr<Enumeration> run_;
};

}  // namespace

void bind_enumeration(nb::module_& module) {
  nb::class_<Session>(module, "Session")
      .def(nb::init<Input<std::int64_t>, Input<std::int32_t>, u32, bool, bool, const Input<std::int32_t>&,
                    const Input<std::int32_t>&, const Input<std::int32_t>&, const Input<std::int32_t>&, const Input<u64>&,
                    const Input<u64>&, int, u32, u32, u64, u64, u32, u64, u64, std::optional<nb::object>>())
      .def("next", &Session::next)
      .def("wait", &Session::wait)
      .def("stop", &Session::stop)
      .def_prop_ro("ended", &Session::ended)
      .def_prop_ro("found", [](const Session& s) { return s.run().found(); })
      .def_prop_ro("roots_done", [](const Session& s) { return s.run().roots_done(); })
      .def_prop_ro("n_roots", [](const Session& s) { return s.run().n_roots(); })
      .def_prop_ro("digest", [](const Session& s) { return s.run().digest(); })
      .def_prop_ro("nodes", [](const Session& s) { return s.run().nodes(); })
      .def_prop_ro("dropped", [](const Session& s) { return s.run().dropped(); })
      .def_prop_ro("workspace_bytes", [](const Session& s) { return s.run().workspace_bytes(); })
      .def_prop_ro("search_seconds", [](const Session& s) { return s.run().search_seconds(); })
      .def_prop_ro("prepare_seconds", [](const Session& s) { return s.run().prepare_seconds(); })
      .def_prop_ro("busy_seconds", [](const Session& s) { return s.run().busy_seconds(); });
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
