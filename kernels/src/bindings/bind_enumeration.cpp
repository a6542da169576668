// bind_enumeration.cpp: the enumeration for Python, as a session that is asked for batches.
#include "bindings/bindings.hpp"
#include "enumeration/enumeration.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

namespace bicliq {
inline namespace BICLIQ_ISA {
namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>>;

std::vector<std::int32_t> copy_of(const Input<std::int32_t>& ids) {
  return std::vector<std::int32_t>(ids.data(), ids.data() + ids.size());
}

/// Ids and hashes of rows and columns; `left` and `right` are the ids of the sides.
Labels make_labels(const Graph& graph, const std::vector<std::int32_t>& left, const std::vector<std::int32_t>& right,
                   bool columns_are_left) {
  Labels labels;
  labels.columns_are_left = columns_are_left;
  labels.row_ids = columns_are_left ? right : left;
  const std::vector<std::int32_t>& column_ids = columns_are_left ? left : right;
  const u64 row_seed = columns_are_left ? kRightSeed : kLeftSeed, column_seed = columns_are_left ? kLeftSeed : kRightSeed;
  for (std::int32_t id : labels.row_ids) labels.row_hashes.push_back(vertex_hash(id, row_seed));
  for (u32 v : graph.vertex_of_column) {
    labels.column_ids.push_back(column_ids[v]);
    labels.column_hashes.push_back(vertex_hash(column_ids[v], column_seed));
  }
  return labels;
}

class Session {
 public:
  Session(const Input<std::int64_t>& indptr, const Input<std::int32_t>& indices, u32 n_right, bool columns_are_left,
          bool keep_order, const Input<std::int32_t>& roots, const Input<std::int32_t>& left_ids,
          const Input<std::int32_t>& right_ids, int mode, u32 min_left, u32 min_right, u64 min_edges, u64 max_bicliques,
          u32 threads, u64 batch_bicliques, u64 batch_ids) {
    const nb::gil_scoped_release release;
    const auto start = std::chrono::steady_clock::now();
    Graph graph = prepare(indptr.data(), indices.data(), static_cast<u32>(indptr.size() - 1), n_right, columns_are_left, keep_order);
    Settings settings;
    settings.mode = static_cast<Mode>(mode);
    settings.limits = {columns_are_left ? min_right : min_left, columns_are_left ? min_left : min_right, min_edges};
    settings.max_bicliques = max_bicliques;
    settings.threads = threads;
    settings.batch_bicliques = batch_bicliques;
    settings.batch_ids = batch_ids;
    Labels labels;
    if (settings.needs_members()) labels = make_labels(graph, copy_of(left_ids), copy_of(right_ids), columns_are_left);
    std::vector<u32> chosen(roots.data(), roots.data() + roots.size());
    if (!keep_order) {
      chosen.resize(graph.n_columns);
      for (u32 c = 0; c < graph.n_columns; ++c) chosen[c] = c;
    }
    prepare_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run_ = std::make_unique<Enumeration>(std::move(graph), std::move(labels), std::move(chosen), settings);
  }

  nb::object next(double seconds) {
    std::unique_ptr<Batch> batch;
    {
      const nb::gil_scoped_release release;
      batch = run_->next(seconds);
    }
    if (!batch) return nb::none();
    Batch* held = batch.release();
    const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Batch*>(p); });
    const auto array = [&](const std::int32_t* data, std::size_t n) { return Output(data, {n}, owner); };
    return nb::make_tuple(array(held->left_offsets.data(), held->left_offsets.size()), array(held->left.data(), held->left.size()),
                          array(held->right_offsets.data(), held->right_offsets.size()),
                          array(held->right.data(), held->right.size()), array(held->root.data(), held->root.size()));
  }
  void stop() {
    const nb::gil_scoped_release release;
    run_->stop();
  }
  Enumeration& run() { return *run_; }
  double prepare_seconds() const { return prepare_seconds_; }

 private:
  std::unique_ptr<Enumeration> run_;
  double prepare_seconds_ = 0;
};

}  // namespace

void bind_enumeration(nb::module_& module) {
  nb::class_<Session>(module, "Session")
      .def(nb::init<const Input<std::int64_t>&, const Input<std::int32_t>&, u32, bool, bool, const Input<std::int32_t>&,
                    const Input<std::int32_t>&, const Input<std::int32_t>&, int, u32, u32, u64, u64, u32, u64, u64>())
      .def("next", &Session::next)
      .def("stop", &Session::stop)
      .def_prop_ro("ended", [](Session& s) { return s.run().ended(); })
      .def_prop_ro("found", [](Session& s) { return s.run().found(); })
      .def_prop_ro("roots_done", [](Session& s) { return s.run().roots_done(); })
      .def_prop_ro("n_roots", [](Session& s) { return s.run().n_roots(); })
      .def_prop_ro("digest", [](Session& s) { return s.run().digest(); })
      .def_prop_ro("nodes", [](Session& s) { return s.run().nodes(); })
      .def_prop_ro("dropped", [](Session& s) { return s.run().dropped(); })
      .def_prop_ro("workspace_bytes", [](Session& s) { return s.run().workspace_bytes(); })
      .def_prop_ro("search_seconds", [](Session& s) { return s.run().seconds(); })
      .def_prop_ro("prepare_seconds", &Session::prepare_seconds)
      .def_prop_ro("busy_seconds", [](Session& s) { return s.run().busy_seconds(); });
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
