// bind_changes.cpp: edges that change, for Python: the bicliques that come and go. Subgraphs out,
// bicliques in, and the row groups of what was found.
#include "bindings/row_groups.hpp"
#include "bindings/task.hpp"
#include "changes/change_sink.hpp"
#include "changes/changes.hpp"
#include "changes/found_changes.hpp"
#include "changes/packed_rows.hpp"
#include "changes/remains.hpp"
#include "output/list_column.hpp"
#include "search/enumeration.hpp"

#include <optional>
#include <tuple>
#include <utility>

namespace bicliq {
namespace {

/// Four arrays of each part.
nb::list arrays(std::vector<Lists> parts) {
  nb::list found;
  for (Lists& lists : parts)
    found.append(arrays_of(std::move(lists.left_offsets), std::move(lists.left), std::move(lists.right_offsets), std::move(lists.right)));
  return found;
}

/// What appeared and what vanished, in parts; they are handed over, once.
nb::object take(FoundChanges& found) {
  auto [appeared, vanished] = without_lock([&] { return std::pair(found.take_appeared(), found.take_vanished()); });
  return nb::make_tuple(arrays(std::move(appeared)), arrays(std::move(vanished)));
}

/// Adds what was found elsewhere, four arrays each. What vanished may be here already.
void add(FoundChanges& to, const Wide& left_offsets, const Values& left, const Wide& right_offsets, const Values& right,
         const Wide& old_left_offsets, const Values& old_left, const Wide& old_right_offsets, const Values& old_right) {
  const nb::gil_scoped_release release;
  const auto each = [](const Wide& l_offsets, const Values& l, const Wide& r_offsets, const Values& r, const auto& visit) {
    const auto list = [](const Wide& offsets, const Values& of, std::size_t i) { return Span{of.data() + offsets.data()[i], of.data() + offsets.data()[i + 1]}; };
    for (std::size_t i = 0; i + 1 < l_offsets.size(); ++i) visit(list(l_offsets, l, i), list(r_offsets, r, i));
  };
  Lists appeared;
  each(left_offsets, left, right_offsets, right, [&](Span l, Span r) { appeared.add(l, r); });
  to.appear(std::move(appeared));
  each(old_left_offsets, old_left, old_right_offsets, old_right, [&](Span l, Span r) { to.vanish(l, r, hash_of(l, r)); });
}

/// Bicliques of subgraphs, in batches as the search found them, change by change.
class MetBicliques {
 public:
  struct Place {
    u32 batch, row;
  };
  struct Batch {
    const Values left_offsets, left, right_offsets, right;
    Span left_of(u32 row) const { return list_of(left_offsets, left, row); }
    Span right_of(u32 row) const { return list_of(right_offsets, right, row); }
    void fetch_offsets(u32 row) const { __builtin_prefetch(left_offsets.data() + row), __builtin_prefetch(right_offsets.data() + row); }
    void fetch_lists(u32 row) const {
      __builtin_prefetch(left.data() + left_offsets.data()[row]), __builtin_prefetch(right.data() + right_offsets.data()[row]);
    }
  };

  /// Offsets and ids of both sides of each batch; `change_of` is the change of each left vertex.
  MetBicliques(const std::vector<std::tuple<Values, Values, Values, Values>>& batches, const Values& change_of) {
    for (const auto& [left_offsets, left, right_offsets, right] : batches) batches_.push_back({left_offsets, left, right_offsets, right});
    const nb::gil_scoped_release release;
    const auto each = [&](const auto& visit) {
      for (u32 b = 0; b < batches_.size(); ++b)
        for (u32 row = 0; row + 1 < batches_[b].left_offsets.size(); ++row)
          visit(static_cast<std::size_t>(change_of.data()[*batches_[b].left_of(row).first]), Place{b, row});
    };
    each([&](std::size_t change, Place) {
      if (change + 2 > end_.size()) end_.resize(change + 2, 0);
      ++end_[change + 1];
    });
    for (std::size_t change = 1; change < end_.size(); ++change) end_[change] += end_[change - 1];
    order_.resize(end_.empty() ? 0 : end_.back());
    each([&](std::size_t change, Place place) { order_[end_[change]++] = place; });
    for (const Batch& batch : batches_) n_left_ += batch.left.size(), n_right_ += batch.right.size();
  }
  std::size_t size() const { return order_.size(); }
  /// Where the bicliques of a change end.
  std::size_t end_of(std::int32_t change) const { return end_[static_cast<std::size_t>(change)]; }
  const Batch& batch(std::size_t k) const { return batches_[order_[k].batch]; }
  u32 row(std::size_t k) const { return order_[k].row; }
  Span left_of(std::size_t k) const { return batch(k).left_of(row(k)); }
  Span right_of(std::size_t k) const { return batch(k).right_of(row(k)); }

  /// Asks memory for the one that comes next but some: they lie where the search left them.
  void fetch(std::size_t k) const {
    if (k + 2 * kAhead < size()) batch(k + 2 * kAhead).fetch_offsets(row(k + 2 * kAhead));
    if (k + kAhead < size()) batch(k + kAhead).fetch_lists(row(k + kAhead));
  }
  /// Makes room for n of them, of average size.
  void reserve(std::size_t n, Lists& to) const {
    const double share = size() ? static_cast<double>(n) / static_cast<double>(size()) : 0;
    to.reserve(n, static_cast<std::size_t>(share * static_cast<double>(n_left_)), static_cast<std::size_t>(share * static_cast<double>(n_right_)));
  }

 private:
  static constexpr std::size_t kAhead = 8;
  std::vector<Batch> batches_;
  std::vector<Place> order_;
  std::vector<std::size_t> end_;  // of the bicliques of each change, in this order
  std::size_t n_left_ = 0, n_right_ = 0;
};

/// The changes of a graph; threads may share it.
class ChangeSearch {
 public:
  ChangeSearch(const Wide& indptr, const Values& indices, u32 n_right, const Wide& fresh_indptr, const Values& fresh, u32 min_left,
               u32 min_right, u64 min_edges)
      : kept_(keep(indptr, indices, fresh_indptr, fresh)), least_{min_left, min_right, min_edges},
        graph_([n_right, all = rows_of(indptr, indices), some = rows_of(fresh_indptr, fresh)] {
          if (some.n != all.n) throw std::invalid_argument("the new edges are rows of another left side");
          return std::make_unique<const ChangedGraph>(all, n_right, some, hear_interrupts);
        }) {}

  std::size_t n_changes() const { return graph_->n_changes(); }
  nb::object costs() const { return numpy_of(without_lock([&] { return graph_->costs(); })); }
  const ChangedGraph& graph() const { return *graph_; }
  const Limits& least() const { return least_; }

  /// Of the subgraphs of some changes: indptr and indices; the vertices of both sides, the change
  /// of each left one, and where the vertices of each begin on both sides; order and roots of both.
  nb::object neighbourhoods(std::size_t first, std::size_t last) const {
    if (first > last || last > n_changes()) throw std::invalid_argument("there are not so many changes");
    Neighbourhoods found = without_lock([&] { return graph_->neighbourhoods(first, last); });
    const auto search = [](SearchOrder& of) { return arrays_of(std::move(of.order), std::move(of.roots)); };
    return arrays_of(std::move(found.indptr), std::move(found.indices), std::move(found.left), std::move(found.right), std::move(found.left_change),
                     std::move(found.left_start), std::move(found.right_start)) +
           nb::make_tuple(search(found.left_search), search(found.right_search));
  }

  /// Rows of the right side, the new edges as such (starts and entries each), the ends of each
  /// change, and the changes of vertices: what a GPU needs besides the rows of the left side.
  nb::object tables() const {
    Ids left, right, left_changes, right_changes;
    OwnRows rows, fresh;
    without_lock([&] {
      for (std::size_t i = 0; i < graph_->n_changes(); ++i) {
        left.push_back(graph_->change(static_cast<i32>(i)).left);
        right.push_back(graph_->change(static_cast<i32>(i)).right);
      }
      rows = graph_->right_rows(), fresh = graph_->fresh_right_rows();
      left_changes = graph_->left_changes(), right_changes = graph_->right_changes();
    });
    return arrays_of(std::move(rows.start), std::move(rows.row), std::move(fresh.start), std::move(fresh.row), std::move(left), std::move(right),
                     std::move(left_changes), std::move(right_changes));
  }

  /// Takes bicliques of the subgraphs from `first` on, in their numbers, and adds what they change
  /// to `to`: those from `from` to before `until`, in the order of their changes.
  void settle(FoundChanges& to, const MetBicliques& met, std::size_t from, std::size_t until, const Values& left_of, const Values& right_of,
              const Values& change_of, const Wide& left_start, const Wide& right_start, std::int32_t first) const {
    const nb::gil_scoped_release release;
    Lists appeared, gone;
    met.reserve(until - from, appeared), met.reserve(until - from, gone);
    ListsWithout without{gone};
    each(met, from, until, {left_of, right_of, change_of, left_start, right_start, first}, [&to] { return to.stopped(); }, [&](Remains& remains, Places left, Places right) {
      const Settled one{left, right, mapped(left.members, left_of, appeared.left), mapped(right.members, right_of, appeared.right)};
      if (!remains.take(one, without, to)) return;
      appeared.left.add(left.members.size()), appeared.right.add(right.members.size());
      appeared.end_both();
    });
    to.appear(std::move(appeared));
    to.vanish(std::move(gone));
  }

 private:
  /// The subgraphs of the changes from `first` on.
  struct Told {
    const Values &left_of, &right_of, &change_of;
    const Wide &left_start, &right_start;
    std::int32_t first;
  };

  /// Calls `use` with what is left at each change, and the places of each biclique.
  template <class Use>
  void each(const MetBicliques& met, std::size_t from, std::size_t until, const Told& told, const std::function<bool()>& stopped, const Use& use) const {
    Remains remains(*graph_, least_, stopped);
    Places left{}, right{};
    std::size_t next = from;  // where the bicliques of this change end
    for (std::size_t k = from; k < until && !stopped(); ++k) {
      left.members = met.left_of(k), right.members = met.right_of(k);
      if (k == next) {
        const std::int32_t change = told.change_of.data()[*left.members.first], number = change - told.first;
        next = std::min(until, met.end_of(change));
        remains.change(change, next - k, side(told.left_of, told.left_start, number), side(told.right_of, told.right_start, number));
        left.base = static_cast<std::int32_t>(told.left_start.data()[number]);
        right.base = static_cast<std::int32_t>(told.right_start.data()[number]);
      }
      met.fetch(k);
      use(remains, left, right);
    }
  }
  static Span side(const Values& vertices, const Wide& start, std::int32_t number) {
    return {vertices.data() + start.data()[number], vertices.data() + start.data()[number + 1]};
  }
  /// The vertices of a list, written where `to` ends, without counting them in.
  static Span mapped(Span members, const Values& of, Growing<std::int32_t>& to) {
    const std::size_t n = members.size();
    std::int32_t* const vertices = to.room(n);
    for (std::size_t k = 0; k < n; ++k) vertices[k] = of.data()[members.first[k]];
    return {vertices, vertices + n};
  }

  const Kept kept_;  // as long as the graph looks at it
  const Limits least_;
  const Apart<const ChangedGraph> graph_;
};

/// The hashes of both sides, and the places of that of the roots, as Python gave them.
class GraphVertices {
 public:
  GraphVertices(const Input<u64>& left_hashes, const Input<u64>& right_hashes, bool roots_are_left, const Values& place)
      : left_hashes_(left_hashes), right_hashes_(right_hashes), place_(place), roots_are_left_(roots_are_left) {
    if (place.size() < n_roots()) throw std::invalid_argument("a vertex that may be a root has no place");
  }
  std::size_t n_roots() const { return (roots_are_left_ ? left_hashes_ : right_hashes_).size(); }
  VerticesOfBoth both() const {
    const auto places = [this](bool of_roots) { return of_roots ? place_.data() : nullptr; };
    return {{left_hashes_.data(), kLeftSeed, places(roots_are_left_)}, {right_hashes_.data(), kRightSeed, places(!roots_are_left_)}};
  }

 private:
  const Input<u64> left_hashes_, right_hashes_;
  const Values place_;
  const bool roots_are_left_;
};

/// What settles the bicliques of changes; the graph, the vertices and what it adds to live as long.
class Settler : public Taker {
 public:
  Settler(const ChangedGraph& graph, const Limits& least, const GraphVertices& vertices, FoundRows& to, const Wide& row_start, const Values& row,
          const Values& left_of, const Values& right_of, const Wide& left_start, const Wide& right_start, i32 first, std::size_t few)
      : kept_(keep(row_start, row, left_of, right_of, left_start, right_start)),
        task_(graph, least, vertices.both(),
              {row_start.data(), row.data(), left_of.data(), right_of.data(), left_start.data(), right_start.data(), left_start.size(), first}, to, few) {}
  void set(Settings& settings) override {
    settings.worker = [this](Enumeration& of) { search_changes(task_, of); };
  }
  /// Whether few were found, which are then among the others of what was found.
  bool finish() {
    return without_lock([this] { return task_.finish(); });
  }

 private:
  const Kept kept_;
  ChangeTask task_;
};

/// What the threads of a search find as rows, and how these are kept.
class RowCollector {
 public:
  /// Those that appeared, or those that vanished, are kept by partition, a number (0 or more) for
  /// each vertex that may be a root. A layout packs what fills a row group.
  RowCollector(const std::optional<Values>& partition, bool appeared_by_partition, const RowGroupMaker* layout, std::size_t most_rows, std::size_t most_ids)
      : partition_(partition) {
    for (RowOrder* order : {&found_.appeared_order, &found_.gone_order}) {
      order->most_rows = most_rows, order->most_ids = most_ids;
      if (layout) order->lay_out = [layout](const auto&... columns) { return (*layout)(columns...); };
    }
    if (!partition) return;
    RowOrder& order = appeared_by_partition ? found_.appeared_order : found_.gone_order;
    order.partition = partition->data();
    without_lock([&] {
      for (std::size_t i = 0; i < partition->size(); ++i) order.n_partitions = std::max(order.n_partitions, static_cast<std::size_t>(order.partition[i]) + 1);
    });
  }
  FoundRows& found() { return found_; }
  /// Vertices that have a partition, as all that may be a root must, where there are any.
  bool has_partitions_of(std::size_t n_roots) const { return !partition_ || partition_->size() >= n_roots; }

 private:
  const std::optional<Values> partition_;  // kept as long as it is looked at
  FoundRows found_;
};

/// Rows of one kind that all threads found.
class ChangedRows {
 public:
  explicit ChangedRows(const RowOrder& order) : rows(order) {}
  PackedRows rows;
  std::size_t size() const { return rows.size(); }
  u64 digest() const { return rows.digest(); }
  void take(std::vector<PackedRows>& some) {
    for (PackedRows& one : some) rows.add(std::move(one));
    some.clear();
  }
  void take_lists(const std::vector<Lists>& lists, const VerticesOfBoth& vertices) {
    RowWriter writer(vertices, nullptr, nullptr);
    for (const Lists& some : lists)
      for (std::size_t i = 0; i < some.size(); ++i) writer.take(some.left_of(i), some.right_of(i)), writer.put(rows);
  }
};

/// What appeared and what vanished; `vertices` are those of the whole graph.
nb::object take_rows(RowCollector& of, const GraphVertices& vertices) {
  FoundRows& found = of.found();
  ChangedRows appeared(found.appeared_order), gone(found.gone_order);
  {
    const nb::gil_scoped_release release;
    appeared.take(found.appeared), gone.take(found.gone);
    gone.take_lists(found.others.take_vanished(), vertices.both());
  }
  return nb::make_tuple(std::move(appeared), std::move(gone));
}

/// Rows as row groups; threads may share it.
class LaidOutRows {
 public:
  LaidOutRows(const ChangedRows& rows, std::size_t most_rows, std::size_t most_ids)
      : groups_(without_lock([&] { return RowGroups(rows.rows, most_rows, most_ids); })) {}
  nb::list groups() const {
    nb::list found;
    for (const RowGroups::Group& group : groups_.groups()) found.append(nb::make_tuple(group.partition, group.size()));
    return found;
  }
  /// A group, which is packed already or is laid out so.
  nb::object encode(std::size_t number, const RowGroupMaker& layout) const {
    const RowGroups::Group& group = groups_.groups().at(number);
    std::shared_ptr<RowGroup> made = group.packed;
    if (!made) {
      const nb::gil_scoped_release release;
      groups_.with(group, [&](const auto&... columns) { made = layout(columns...); });
    }
    return python_of(made);
  }
  bool is_packed(std::size_t number) const { return groups_.groups().at(number).packed != nullptr; }
  /// The columns of a group that is not packed: offsets, ids, n_left, n_right and roots.
  nb::object columns(std::size_t number) const {
    std::vector<std::vector<i32>> found;
    const RowGroups::Group& group = groups_.groups().at(number);
    without_lock([&] {
      groups_.with(group, [&](const ListColumn& lists, const i32* n_left, const i32* n_right, const i32* root, std::size_t n) {
        found = {{lists.offsets, lists.offsets + n + 1}, {lists.ids, lists.ids + lists.offsets[n]}, {n_left, n_left + n}, {n_right, n_right + n}, {root, root + n}};
      });
    });
    nb::list columns;
    for (std::vector<i32>& column : found) columns.append(numpy_of(std::move(column)));
    return columns;
  }

 private:
  const RowGroups groups_;
};

}  // namespace

void bind_changes(nb::module_& module) {
  nb::class_<MetBicliques>(module, "MetBicliques")
      .def(nb::init<const std::vector<std::tuple<Values, Values, Values, Values>>&, const Values&>(), "batches"_a, "change_of"_a)
      .def("__len__", &MetBicliques::size);
  nb::class_<ChangeSearch>(module, "ChangeSearch")
      .def(nb::init<const Wide&, const Values&, u32, const Wide&, const Values&, i64, i64, i64>(), "indptr"_a, "indices"_a, "n_right"_a,
           "fresh_indptr"_a, "fresh"_a, "min_left"_a, "min_right"_a, "min_edges"_a)
      .def_prop_ro("n_changes", &ChangeSearch::n_changes)
      .def("costs", &ChangeSearch::costs)
      .def("neighbourhoods", &ChangeSearch::neighbourhoods, "first"_a, "last"_a)
      .def("tables", &ChangeSearch::tables)
      .def("settle", &ChangeSearch::settle, "to"_a, "met"_a, "begin"_a, "end"_a, "left_of"_a, "right_of"_a, "change_of"_a, "left_start"_a,
           "right_start"_a, "first"_a);
  nb::class_<GraphVertices>(module, "GraphVertices")
      .def(nb::init<const Input<u64>&, const Input<u64>&, bool, const Values&>(), "left_hashes"_a, "right_hashes"_a, "roots_are_left"_a, "place"_a);
  nb::class_<RowCollector>(module, "RowCollector")
      .def(nb::init<const std::optional<Values>&, bool, const RowGroupMaker*, std::size_t, std::size_t>(), "partition"_a.none(),
           "appeared_by_partition"_a, "layout"_a.none(), "most_rows"_a, "most_ids"_a, nb::keep_alive<1, 4>())
      .def("take", &take_rows, "vertices"_a)
      .def_prop_ro("others", [](RowCollector& found) -> FoundChanges& { return found.found().others; });
  nb::class_<Settler, Taker>(module, "Settler")
      .def("__init__", [](Settler* at, const ChangeSearch& search, const GraphVertices& vertices, RowCollector& to, const Wide& row_start,
                          const Values& row, const Values& left_of, const Values& right_of, const Wide& left_start,
                          const Wide& right_start, i32 first, std::size_t few) {
        if (!to.has_partitions_of(vertices.n_roots())) throw std::invalid_argument("a vertex that may be a root has no partition");
        new (at) Settler(search.graph(), search.least(), vertices, to.found(), row_start, row, left_of, right_of, left_start, right_start, first, few);
      }, "search"_a, "vertices"_a, "to"_a, "row_start"_a, "row"_a, "left_of"_a, "right_of"_a, "left_start"_a, "right_start"_a, "first"_a, "few"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("finish", &Settler::finish);
  nb::class_<ChangedRows>(module, "ChangedRows").def("__len__", &ChangedRows::size).def_prop_ro("digest", &ChangedRows::digest);
  nb::class_<LaidOutRows>(module, "LaidOutRows")
      .def(nb::init<const ChangedRows&, std::size_t, std::size_t>(), "rows"_a, "most_rows"_a, "most_ids"_a, nb::keep_alive<1, 2>())
      .def("groups", &LaidOutRows::groups)
      .def("encode", &LaidOutRows::encode, "number"_a, "layout"_a)
      .def("is_packed", &LaidOutRows::is_packed, "number"_a)
      .def("columns", &LaidOutRows::columns, "number"_a);
  nb::class_<FoundChanges>(module, "FoundChanges")
      .def(nb::init<>())
      .def("add", &add, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "old_left_offsets"_a, "old_left"_a, "old_right_offsets"_a,
           "old_right"_a)
      .def("stop", &FoundChanges::stop)
      .def("take", &take);
}

}  // namespace bicliq
