// bind_enumeration.cpp: the enumeration for Python, a task that is asked for batches.
#include "bindings/row_groups.hpp"
#include "bindings/task.hpp"
#include "search/enumeration.hpp"

namespace bicliq {
namespace {

using EnumerationTask = Task<Enumeration>;

/// A batch that Python reads; when the last of its arrays is gone, its buffers are used again.
struct HeldBatch {
  std::unique_ptr<Batch> batch;
  std::shared_ptr<BatchPool> pool;
  ~HeldBatch() { pool->give(std::move(batch)); }
};

/// Offsets and ids of the left side and of the right one, and roots.
inline nb::object python_of(std::unique_ptr<Batch> batch, const std::shared_ptr<BatchPool>& pool) {
  using Output = nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>>;
  auto* held = new HeldBatch{std::move(batch), pool};
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<HeldBatch*>(p); });
  const auto array = [&](const std::int32_t* data, std::size_t n) { return nb::cast(Output(data, {n}, owner)); };
  const auto values = [&](const std::vector<std::int32_t>& v) { return array(v.data(), v.size()); };
  const Batch& b = *held->batch;
  return nb::make_tuple(values(b.left.offsets()), array(b.left.ids(), b.left.size()), values(b.right.offsets()),
                        array(b.right.ids(), b.right.size()), values(b.root));
}

void begin(EnumerationTask* at, const Wide& indptr, const Values& indices, u32 n_right, bool columns_are_left,
           const std::optional<Values>& roots, const std::optional<Values>& order, const Values& left_ids, const Values& right_ids,
           const Input<u64>& left_hashes, const Input<u64>& right_hashes, Mode mode, u32 min_left, u32 min_right, u64 min_edges,
           u64 max_bicliques, u32 threads, u64 batch_bicliques, u64 batch_ids, Taker* taker) {
  Settings settings;
  settings.mode = mode;
  settings.limits = {columns_are_left ? min_right : min_left, columns_are_left ? min_left : min_right, min_edges};
  settings.max_bicliques = max_bicliques;
  settings.threads = threads;
  settings.batch_bicliques = batch_bicliques;
  settings.batch_ids = batch_ids;
  if (taker) taker->set(settings);
  const Rows rows = rows_of(indptr, indices);
  new (at) EnumerationTask(keep(indptr, indices), [&] {
    Request request{rows.start, rows.row, static_cast<u32>(rows.n), n_right, columns_are_left, roots.has_value(), {}, {}, {}, {}, {}, {}};
    if (roots) request.roots = copy_of<u32>(*roots);
    if (order) request.order = copy_of<u32>(*order);
    if (settings.needs_members()) {
      request.left_ids = copy_of<i32>(left_ids), request.right_ids = copy_of<i32>(right_ids);
      request.left_hashes = copy_of<u64>(left_hashes), request.right_hashes = copy_of<u64>(right_hashes);
    }
    return std::make_unique<Enumeration>(std::move(request), settings);
  });
}

/// A batch as five arrays, or where a layout takes them, a row group.
nb::object next(EnumerationTask& task, double seconds) {
  Enumeration& search = task.at_work();
  Delivery found = without_lock([&] { return search.next(seconds); });
  if (found.group) return python_of(found.group);
  return found.batch ? python_of(std::move(found.batch), search.pool()) : nb::none();
}

nb::dict result(EnumerationTask& task) {
  const Enumeration& search = task.ended();
  return named("found", search.found(), "digest", search.digest(), "nodes", search.nodes(), "dropped", search.dropped(), "workspace_bytes",
               search.workspace_bytes(), "prepare_seconds", search.prepare_seconds(), "search_seconds", search.search_seconds(), "busy_seconds",
               search.busy_seconds());
}

}  // namespace

void bind_enumeration(nb::module_& module) {
  nb::enum_<Mode>(module, "Mode").value("count", Mode::count).value("digest", Mode::digest).value("enumerate", Mode::enumerate);
  nb::class_<Taker>(module, "Taker");
  bind_search<Enumeration>(module, "Enumeration")
      .def("__init__", &begin, "indptr"_a, "indices"_a, "n_right"_a, "columns_are_left"_a, "roots"_a.none(), "order"_a.none(), "left_ids"_a,
           "right_ids"_a, "left_hashes"_a, "right_hashes"_a, "mode"_a, "min_left"_a, "min_right"_a, "min_edges"_a, "max_bicliques"_a,
           "threads"_a, "batch_bicliques"_a, "batch_ids"_a, "taker"_a.none(), nb::keep_alive<1, 20>())
      .def("next", &next, "seconds"_a)
      .def("result", &result)
      .def_prop_ro("ended", [](EnumerationTask& task) { return without_lock([&] { return task.at_work().ended(); }); })
      .def_prop_ro("found", [](EnumerationTask& task) { return task.at_work().found(); });
}

}  // namespace bicliq
