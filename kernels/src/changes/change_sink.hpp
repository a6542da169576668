// change_sink.hpp: what bicliques of subgraphs change, settled where the search finds them.
//
// What it does: of each biclique that is found through a change, a row of what appeared, and the
// rows of what vanishes inside it (changes.hpp). Input: the subgraphs side by side, which are
// searched below the ends of their changes. Method: a biclique is a word of rows and one of
// columns, a bit for each that the subtree or the leaf has, so that what rows take of members is
// looked up once for many of them (change_side.hpp). This is for changes that are edges, and for
// bicliques of up to 32 rows that have no other new edge and not all vertices of a side of the
// subgraph: nearly all. Others are listed, and settled one by one; so are those of a subgraph that
// has too few to read what its vertices reach. Written are the smaller sides, and as long as few
// bicliques are met, the larger ones as well: if it stays so, lists are made of them.
#pragma once

#include "changes/change_side.hpp"
#include "changes/found_changes.hpp"
#include "changes/packed_rows.hpp"
#include "changes/remains.hpp"
#include "search/sinks.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace bicliq {

/// The subgraphs of the changes from `first` on: vertices and changes that their numbers stand for,
/// where each begins, and where the rows of left numbers do; the last start is where the last one
/// ends.
struct Subgraphs {
  const std::int64_t* row_start;
  const i32* row;
  const i32 *left_of, *right_of;
  const std::int64_t *left_start, *right_start;
  std::size_t n;
  i32 first;
  Span left_side(i32 change) const { return side(left_of, left_start, change - first); }
  Span right_side(i32 change) const { return side(right_of, right_start, change - first); }
  /// Its edges that have neither end of the change, if this is an edge.
  std::size_t inner_edges(i32 change) const {
    const std::int64_t *left = left_start + (change - first), *right = right_start + (change - first);
    return static_cast<std::size_t>(row_start[left[1]] - row_start[left[0]] - (left[1] - left[0]) - (right[1] - right[0]) + 1);
  }
  /// Of the vertices of both sides, in the subgraph.
  void degrees(i32 change, Ids& left, Ids& right) const {
    const std::int64_t *from = left_start + (change - first), *other = right_start + (change - first);
    left.resize(static_cast<std::size_t>(from[1] - from[0])), right.assign(static_cast<std::size_t>(other[1] - other[0]), 0);
    std::transform(row_start + from[0] + 1, row_start + from[1] + 1, row_start + from[0], left.begin(), [](auto end, auto begin) { return static_cast<i32>(end - begin); });
    for (std::int64_t e = row_start[from[0]]; e < row_start[from[1]]; ++e) ++right[static_cast<std::size_t>(row[e] - other[0])];
  }
  i32 left_base(i32 change) const { return static_cast<i32>(left_start[change - first]); }
  i32 right_base(i32 change) const { return static_cast<i32>(right_start[change - first]); }
  i32 change_of_left(i32 number) const { return change_of(left_start, number); }
  i32 change_of_right(i32 number) const { return change_of(right_start, number); }

 private:
  static Span side(const i32* vertices, const std::int64_t* start, i32 number) { return {vertices + start[number], vertices + start[number + 1]}; }
  i32 change_of(const std::int64_t* start, i32 number) const {
    return first + static_cast<i32>(std::upper_bound(start, start + n, number) - start) - 1;
  }
};

/// A biclique of a subgraph, as places in its sides and as vertices.
struct Settled {
  Places left_places, right_places;
  Span left, right;
};

/// What the threads of a search find, as rows.
struct FoundRows {
  RowOrder appeared_order, gone_order;
  FoundChanges others;  // what vanished and others may find as well, as lists
  std::vector<PackedRows> appeared, gone;
};

/// What is searched, for all threads, and how far they are.
class ChangeTask {
 public:
  /// Rows are made where `few` bicliques or more are met.
  ChangeTask(const ChangedGraph& graph, const Limits& least, const VerticesOfBoth& vertices, const Subgraphs& subgraphs, FoundRows& to,
             std::size_t few)
      : graph(graph), least(least), vertices(vertices), subgraphs(subgraphs), to(to), few_(few) {}

  /// Counts in what a thread met; says whether these are many.
  bool meet(std::size_t n) { return met_.fetch_add(n, std::memory_order_relaxed) + n >= few_; }
  /// Takes what a thread has found.
  void take(PackedRows&& appeared, PackedRows&& gone) {
    const std::lock_guard<std::mutex> lock(mutex_);
    to.appeared.push_back(std::move(appeared)), to.gone.push_back(std::move(gone));
  }
  /// When all threads have ended: makes lists of few, which are then among the `others`, and says
  /// whether it did.
  bool finish() {
    const bool few = met_ < few_;
    for (PackedRows& rows : to.appeared) few ? rows.each_as_lists([this](Lists&& lists) { to.others.appear(std::move(lists)); }) : rows.forget_larger();
    for (PackedRows& rows : to.gone) few ? rows.each_as_lists([this](Lists&& lists) { to.others.vanish(std::move(lists)); }) : rows.forget_larger();
    if (few) to.appeared.clear(), to.gone.clear();
    return few;
  }

  const ChangedGraph& graph;
  const Limits least;
  const VerticesOfBoth vertices;
  const Subgraphs subgraphs;
  FoundRows& to;

 private:
  const std::size_t few_;
  std::atomic<std::size_t> met_{0};
  std::mutex mutex_;
};

class Enumeration;
/// What a worker of an enumeration of subgraphs does (change_search.cpp).
void search_changes(ChangeTask& task, Enumeration& of);

class ChangeSink : public SinkBase {
 public:
  ChangeSink(ChangeTask& task, const Labels& labels, const Limits& limits, Tally tally)
      : task_(task), labels_(labels), limits_(limits), tally_(tally), remains_(task.graph, task.least, [this] { return tally_.stopped(); }),
        writer_(task.vertices, task.subgraphs.left_of, task.subgraphs.right_of), rows_(side(!labels.columns_are_left)), columns_(side(labels.columns_are_left)),
        appeared_(task.to.appeared_order), gone_(task.to.gone_order) {
    appeared_.keep_larger(), gone_.keep_larger();
  }

  void root(u32 column) {
    const Subgraphs& of = task_.subgraphs;
    const i32 number = number_of(column);
    const i32 change = labels_.columns_are_left ? of.change_of_left(number) : of.change_of_right(number);
    if (change == change_) return;
    change_ = change, met_here_ = 0, is_seen_ = false;
  }
  /// The rows that the bits of the coming masks stand for.
  void rows(const u32* rows, u32 n) {
    subtree_rows_ = rows, n_subtree_rows_ = n;
    rows_are_ready_ = false;
  }
  /// The columns that the lanes of the coming leaf stand for.
  template <class M>
  void leaf(const M&, const u32* ids, u32 n) {
    leaf_ids_ = ids, n_leaf_ = n;
    leaf_is_ready_ = false;
  }

  template <class M>
  void found(u32 rows, const M& members) {
    leaf_is_ready_ = false;
    settle(rows, members, 0, 0);
  }
  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    settle(rows, members, joined, n_leaf_);
  }
  template <class M>
  void found(const u32* rows, u32 n, const M& members) {
    if (!meet(n, members.n)) return;
    row_list_.assign(rows, rows + n);
    list_columns(members.ids, members.n);
    settle_lists();
  }
  void single_row(u32 row, const u32* columns, u32 n) {
    if (!meet(1, n)) return;
    row_list_.assign(1, static_cast<i32>(row));
    list_columns(columns, n);
    settle_lists();
  }
  void finish() {
    tally_.publish();
    task_.meet(std::exchange(met_, 0));
    task_.take(std::move(appeared_), std::move(gone_));
  }

 private:
  static constexpr std::size_t kMetAPublish = 1024;
  static constexpr std::size_t kEdgesABiclique = 2;  // inner edges of a subgraph: what to expect of it

  /// What is left out of a biclique.
  enum class Out { nobody, row, column };

  void forget_larger() {
    appeared_.forget_larger(), gone_.forget_larger();
    keeps_larger_ = false;
  }
  i32 number_of(u32 column) const { return labels_.column_ids[column]; }
  ChangeSide side(bool left) const {
    return left ? ChangeSide(task_.vertices.left, task_.subgraphs.left_of) : ChangeSide(task_.vertices.right, task_.subgraphs.right_of);
  }

  /// Counts a biclique, if it is wanted; says whether it is.
  bool meet(u32 n_rows, u32 n_columns) {
    if (!limits_.accepts(n_rows, n_columns)) return false;
    tally_.add();
    if (++met_ >= kMetAPublish && keeps_larger_ && task_.meet(std::exchange(met_, 0))) forget_larger();
    ++met_here_;
    if (!is_seen_ && (met_here_ & (met_here_ - 1)) == 0) look();
    return true;
  }
  /// Reads what the subgraph reaches, where the bicliques that are to be expected are worth it.
  void look() {
    const Subgraphs& of = task_.subgraphs;
    if (met_here_ == 1) of.degrees(change_, left_degrees_, right_degrees_);
    const Span left = of.left_side(change_), right = of.right_side(change_);
    const std::size_t expected = std::max(met_here_, of.inner_edges(change_) / kEdgesABiclique);
    remains_.change(change_, expected, left, right, {left_degrees_.data(), right_degrees_.data()});
    is_seen_ = remains_.sees_beyond();
    if (!is_seen_) return;
    const auto begin = [](ChangeSide& side, const Remains::Seen& seen, i32 base) { side.begin(base + seen.own, base, seen.beyond, seen.fresh); };
    const bool turned = labels_.columns_are_left;
    all_rows_ = static_cast<u32>((turned ? right : left).size()), all_columns_ = static_cast<u32>((turned ? left : right).size());
    begin(turned ? columns_ : rows_, remains_.seen_from_left(), of.left_base(change_));
    begin(turned ? rows_ : columns_, remains_.seen_from_right(), of.right_base(change_));
    rows_are_ready_ = leaf_is_ready_ = false;
  }

  /// A biclique of rows of the subtree, and of members and joined lanes.
  template <class M>
  void settle(u32 rows, const M& members, u32 joined, u32 n_lanes) {
    if (!meet(popcount(rows), members.n + popcount(joined))) return;
    if (is_seen_) {
      if (!rows_are_ready_) rows_.take(nullptr, 0, subtree_rows_, n_subtree_rows_, [](u32 row) { return static_cast<i32>(row); });
      rows_are_ready_ = true;
      if (!leaf_is_ready_) columns_.take(members.ids, members.n, leaf_ids_, n_lanes, [this](u32 column) { return number_of(column); });
      leaf_is_ready_ = true;
      if (is_alone(rows, joined)) return settle_alone(rows, joined);
    }
    row_list_.clear();
    for (u32 bits = rows; bits; bits &= bits - 1) row_list_.push_back(static_cast<i32>(subtree_rows_[first_set(bits)]));
    list_columns(members.ids, members.n);
    for (u32 bits = joined; bits; bits &= bits - 1) column_list_.push_back(number_of(leaf_ids_[first_set(bits)]));
    settle_lists();
  }

  // ---- one without another new edge, and without all vertices of a side -------------------------

  bool is_alone(u32 rows, u32 joined) const {
    if (rows_.size(rows) == all_rows_ || columns_.size(joined) == all_columns_) return false;
    if (rows_.joined_end(rows) || columns_.joined_end(joined)) return false;
    const bool turned = labels_.columns_are_left;
    return turned ? !meet_inside(columns_, joined, rows_, rows) : !meet_inside(rows_, rows, columns_, joined);
  }
  /// Is there a new edge between members that are not ends of the change?
  bool meet_inside(const ChangeSide& left, u32 left_lanes, const ChangeSide& right, u32 right_lanes) const {
    return left.any_inside(left_lanes, [&](std::size_t own) {
      const Span fresh = remains_.new_of(own);
      return right.any_inside(right_lanes, [&](std::size_t other) { return fresh.has(static_cast<i32>(other)); });
    });
  }
  void settle_alone(u32 rows, u32 joined) {
    const u32 n_rows = rows_.size(rows), n_columns = columns_.size(joined);
    const u64 row_hash = rows_.hash(rows), column_hash = columns_.hash(joined);
    const i32 root = roots_are_rows() ? rows_.root(rows, false) : columns_.root(joined, false);
    put(appeared_, rows, joined, Out::nobody, n_rows, n_columns, root, row_hash, column_hash);
    if (n_rows > 1 && limits_.accepts(n_rows - 1, n_columns) && !rows_.reached(rows)) {
      const i32 next = roots_are_rows() && root == rows_.own_vertex() ? rows_.root(rows, true) : root;
      if (!rows_.may_be_reached_anew(rows))
        put(gone_, rows, joined, Out::row, n_rows - 1, n_columns, next, row_hash - rows_.own_hash(), column_hash);
      else
        vanish(rows, joined, Out::row);
    }
    if (n_columns > 1 && limits_.accepts(n_rows, n_columns - 1) && !columns_.reached(joined)) {
      const i32 next = !roots_are_rows() && root == columns_.own_vertex() ? columns_.root(joined, true) : root;
      if (!columns_.may_be_reached_anew(joined))
        put(gone_, rows, joined, Out::column, n_rows, n_columns - 1, next, row_hash, column_hash - columns_.own_hash());
      else
        vanish(rows, joined, Out::column);
    }
  }
  bool roots_are_rows() const { return (task_.vertices.left.places != nullptr) != labels_.columns_are_left; }
  void put(PackedRows& found, u32 rows, u32 joined, Out out, u32 n_rows, u32 n_columns, i32 root, u64 row_hash, u64 column_hash) {
    const bool turned = labels_.columns_are_left;
    const auto n_left = static_cast<i32>(turned ? n_columns : n_rows), n_right = static_cast<i32>(turned ? n_rows : n_columns);
    const bool rows_first = left_is_smaller(n_left, n_right) != turned;
    SmallerRows& to = found.of(root);
    if (rows_first || to.keeps_larger) rows_.put(rows, out == Out::row, rows_first ? to.ids : to.larger);
    if (!rows_first || to.keeps_larger) columns_.put(joined, out == Out::column, rows_first ? to.larger : to.ids);
    found.end(to, n_left, n_right, root, turned ? biclique_hash(column_hash, row_hash) : biclique_hash(row_hash, column_hash));
  }
  /// What others may find as well.
  void vanish(u32 rows, u32 joined, Out out) {
    Growing<i32> row_ids, column_ids;
    rows_.put(rows, out == Out::row, row_ids);
    columns_.put(joined, out == Out::column, column_ids);
    const auto all = [](const Growing<i32>& ids) { return Span{ids.data(), ids.data() + ids.size()}; };
    const Span left = all(labels_.columns_are_left ? column_ids : row_ids), right = all(labels_.columns_are_left ? row_ids : column_ids);
    task_.to.others.vanish(left, right, hash_of(left, right));
  }

  // ---- any other --------------------------------------------------------------------------------

  void list_columns(const u32* columns, u32 n) {
    column_list_.resize(n);
    std::transform(columns, columns + n, column_list_.begin(), [this](u32 column) { return number_of(column); });
  }
  /// The one whose numbers were listed.
  void settle_lists() {
    for (Ids* list : {&row_list_, &column_list_})
      if (!std::is_sorted(list->begin(), list->end())) std::sort(list->begin(), list->end());
    const Ids &left = labels_.columns_are_left ? column_list_ : row_list_, &right = labels_.columns_are_left ? row_list_ : column_list_;
    writer_.take(span_of(left), span_of(right));
    const Settled one{{span_of(left), task_.subgraphs.left_base(change_)}, {span_of(right), task_.subgraphs.right_base(change_)}, writer_.left(), writer_.right()};
    Without without{writer_, gone_};
    if (remains_.take(one, without, task_.to.others)) writer_.put(appeared_);
  }
  struct Without {
    const RowWriter& writer;
    PackedRows& to;
    void without_left(const Settled&, std::size_t member) { writer.put_without_left(to, member); }
    void without_right(const Settled&, std::size_t member) { writer.put_without_right(to, member); }
  };

  ChangeTask& task_;
  const Labels& labels_;
  const Limits limits_;
  Tally tally_;
  Remains remains_;
  RowWriter writer_;
  ChangeSide rows_, columns_;
  PackedRows appeared_, gone_;
  bool keeps_larger_ = true;
  std::size_t met_ = 0, met_here_ = 0;  // bicliques: not counted in yet, and of this change
  i32 change_ = -1;
  bool is_seen_ = false;  // what the sides of this change reach beyond it
  const u32 *subtree_rows_ = nullptr, *leaf_ids_ = nullptr;
  u32 n_subtree_rows_ = 0, n_leaf_ = 0;
  bool rows_are_ready_ = false, leaf_is_ready_ = false;
  u32 all_rows_ = 0, all_columns_ = 0;  // of the subgraph
  Ids row_list_, column_list_, left_degrees_, right_degrees_;
};

}  // namespace bicliq
