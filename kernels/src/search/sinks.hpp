// sinks.hpp: what becomes of a biclique that the search has found.
//
// `CountSink` only counts, and `SizedCountSink` those that are large enough on both sides.
// `MemberSink` knows who is in them: it adds to the digest and, where a batch is wanted, writes
// both sides into it by ascending ids: the ids, or their places among those of a row group. No list
// is sorted for that as a rule: rows keep their order on the way down, and a leaf orders its
// columns once (leaf_order.hpp), R and candidates together, when it finds its first biclique.
#pragma once

#include "search/batch.hpp"
#include "search/crew.hpp"
#include "search/leaf_order.hpp"
#include "graphs/limits.hpp"
#include "search/sink.hpp"
#include "lanes/hash.hpp"
#include "lanes/lanes.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace bicliq {


/// Counts found bicliques, tells the others now and then, and stops the crew past the limit.
class Tally {
 public:
  Tally(std::atomic<u64>& shared, u64 limit, Crew& crew)
      : shared_(shared), crew_(crew), limit_(limit), every_(limit < kExact ? 1 : kEvery) {}
  void add() {
    if (++fresh_ >= every_) publish();
  }
  void publish() {
    if (shared_.fetch_add(fresh_, std::memory_order_relaxed) + fresh_ > limit_) crew_.stop();
    fresh_ = 0;
  }
  bool stopped() const { return crew_.stopped(); }

 private:
  static constexpr u64 kEvery = 4096, kExact = 1 << 20;
  std::atomic<u64>& shared_;
  Crew& crew_;
  const u64 limit_, every_;
  u64 fresh_ = 0;
};

class CountSink : public SinkBase {
 public:
  static constexpr bool wants_members = false, wants_ids = false, wants_rows = false;
  explicit CountSink(Tally tally) : tally_(tally) {}
  template <class M>
  void found(u32, const M&) {
    tally_.add();
  }
  template <class M>
  void found(const u32*, u32, const M&) {
    tally_.add();
  }
  void single_row(u32, const u32*, u32) { tally_.add(); }
  void finish() { tally_.publish(); }

 private:
  Tally tally_;
};

/// The same of those that are large enough on both sides.
class SizedCountSink : public SinkOfSizes<SizedCountSink> {
 public:
  SizedCountSink(const Limits& limits, Tally tally) : limits_(limits), tally_(tally) {}
  void add(u32 n_rows, u32 n_columns) {
    if (limits_.accepts(n_rows, n_columns)) tally_.add();
  }
  void finish() { tally_.publish(); }

 private:
  const Limits limits_;
  Tally tally_;
};

/// What a MemberSink has to know of the graph: ids and hashes of rows and columns.
struct Labels {
  std::vector<std::int32_t> row_ids, column_ids;
  std::vector<u64> row_hashes, column_hashes;
  bool columns_are_left = false;
  bool rows_ascend = false;  // a later row has a larger id: then lists of rows are ascending as they are found
};

class MemberSink : public SinkBase {
 public:
  static constexpr bool sums_rows = true;
  using Deliver = std::function<void(std::unique_ptr<Batch>, bool complete)>;

  /// `deliver` is empty where only the digest is wanted. `places`: lists hold places of ids; then
  /// what belongs together, so many bicliques or ids, is delivered in pieces that a core keeps at
  /// hand, the last of which completes it.
  MemberSink(const Labels& labels, const Limits& limits, Tally tally, Deliver deliver, bool places, std::size_t batch_bicliques,
             std::size_t batch_ids, BatchPool& pool)
      : labels_(labels), limits_(limits), tally_(tally), deliver_(std::move(deliver)), most_{batch_bicliques, batch_ids, batch_ids},
        pool_(pool), number_of_row_(labels.row_ids, places), number_of_column_(labels.column_ids, places),
        batch_(deliver_ ? pool.take() : nullptr) {
    if (batch_) begin_piece();
  }

  void root(u32 v) { root_ = v; }
  u64 column_hash(u32 c) const { return labels_.column_hashes[c]; }
  u64 row_hash(u32 r) const { return labels_.row_hashes[r]; }

  /// The rows that the bits of the coming masks stand for.
  void rows(const u32* rows, u32 n) {
    for (u32 i = 0; i < n; ++i) subtree_hashes_[i] = labels_.row_hashes[rows[i]];
    subtree_rows_ = rows;
    n_subtree_rows_ = n;
    rows_are_numbered_ = false;
  }
  /// The columns that the lanes of the coming leaf stand for; `members` are in each of its R.
  template <class M>
  void leaf(const M&, const u32* ids, u32 n) {
    leaf_ids_ = ids;
    n_leaf_ = n;
    leaf_is_ready_ = false;
  }

  /// A biclique of a narrow node: a mask over the rows of its subtree.
  template <class M>
  void found(u32 rows, const M& members) {
    if (!limits_.accepts(popcount(rows), members.n)) return;
    account(sum_selected(subtree_hashes_, rows), members.hash);
    if (!batch_) return;
    make_room(n_subtree_rows_, members.n);
    put_rows(rows);
    put_columns(members.ids, members.n);
    close();
  }
  /// A biclique of a leaf: R is the leaf's and the `joined` lanes.
  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    if (!limits_.accepts(popcount(rows), members.n + popcount(joined))) return;
    if (batch_) make_room(n_subtree_rows_, std::size_t{members.n} + n_leaf_);
    if (!leaf_is_ready_) make_leaf_ready(members);
    account(sum_selected(subtree_hashes_, rows), members.hash + sum_selected(leaf_hashes_, joined));
    if (!batch_) return;
    put_rows(rows);
    put_leaf_columns(joined);
    close();
  }
  /// A biclique of a wide node.
  template <class M>
  void found(const u32* rows, u32 n, const M& members) {
    if (!limits_.accepts(n, members.n)) return;
    u64 hash = 0;
    for (u32 i = 0; i < n; ++i) hash += labels_.row_hashes[rows[i]];
    found_sum(hash, n, members, [=] { return rows; });
  }
  template <class M, class List>
  void found_sum(u64 hash, u32 n, const M& members, const List& list) {
    if (!limits_.accepts(n, members.n)) return;
    account(hash, members.hash);
    if (!batch_) return;
    make_room(n, members.n);
    put_rows(list(), n);
    put_columns(members.ids, members.n);
    close();
  }
  /// The biclique of one row and all its columns.
  void single_row(u32 row, const u32* columns, u32 n) {
    u64 hash = 0;
    for (u32 i = 0; i < n; ++i) hash += labels_.column_hashes[columns[i]];
    account(labels_.row_hashes[row], hash);
    if (!batch_) return;
    make_room(1, n);
    put_rows(&row, 1);
    put_columns(columns, n);
    close();
  }

  void finish() {
    tally_.publish();
    if (batch_ && has_some()) deliver(true);
  }
  u64 digest() const { return digest_; }

 private:
  IdLists& row_list() { return labels_.columns_are_left ? batch_->right : batch_->left; }
  IdLists& column_list() { return labels_.columns_are_left ? batch_->left : batch_->right; }

  static void put_selected(IdLists& list, const LeafNumbers& numbers, u32 bits) {
    if (list.holds_places())
      list.add(compact_selected(list.room<std::uint16_t>(kLanes), numbers.narrow, bits));
    else
      list.add(compact_selected(list.room<u32>(kLanes), numbers.wide, bits));
  }
  /// Hands `put` the room for n numbers, of either kind.
  template <class Put>
  static void put_all(IdLists& list, std::size_t n, Put put) {
    if (list.holds_places())
      put(list.room<std::uint16_t>(n));
    else
      put(list.room<i32>(n));
    list.add(n);
  }
  /// Before the vertices of a biclique are numbered: where there may be too few places left for
  /// them, what they would belong to is complete; where there never are, they are numbered by ids.
  void make_room(std::size_t n_rows, std::size_t n_columns) {
    const auto there_is = [&] { return number_of_row_.has_room(n_rows) && number_of_column_.has_room(n_columns); };
    if (there_is()) return;
    if (has_some()) deliver_and_go_on(true);
    if (there_is()) return;
    number_of_row_.give_ids();
    number_of_column_.give_ids();
    begin_piece();
  }
  /// Rows of the subtree.
  void put_rows(u32 bits) {
    if (!labels_.rows_ascend) {
      for (u32 left = bits; left; left &= left - 1) order_.push_back(subtree_rows_[first_set(left)]);
      return put_sorted(row_list(), labels_.row_ids, number_of_row_);
    }
    if (!rows_are_numbered_) number_rows();
    put_selected(row_list(), subtree_numbers_, bits);
  }
  void number_rows() {
    number_of_row_.put(subtree_rows_, n_subtree_rows_, subtree_numbers_.wide);
    subtree_numbers_.narrow_down();
    rows_are_numbered_ = true;
  }
  void put_rows(const u32* rows, std::size_t n) {
    if (!labels_.rows_ascend) {
      order_.assign(rows, rows + n);
      return put_sorted(row_list(), labels_.row_ids, number_of_row_);
    }
    put_all(row_list(), n, [&](auto* to) { number_of_row_.put(rows, n, to); });
  }
  void put_columns(const u32* columns, std::size_t n) {
    if (n > kLanes) {
      order_.assign(columns, columns + n);
      return put_sorted(column_list(), labels_.column_ids, number_of_column_);
    }
    u32 ids[kLanes] = {};
    for (u32 i = 0; i < n; ++i) ids[i] = id_of(columns[i]);
    put_all(column_list(), n, [&](auto* to) {
      each_place(ids, static_cast<u32>(n), [&](u32 i, u32 place) { put_number(number_of_column_(columns[i]), to + place); });
    });
  }
  template <class T>
  static void put_number(i32 number, T* to) {
    *to = static_cast<T>(number);
  }
  /// The vertices in `order_`, by ascending ids.
  void put_sorted(IdLists& list, const std::vector<i32>& ids, Numbering& number) {
    for (u64& vertex : order_) vertex |= u64{static_cast<u32>(ids[vertex])} << 32;
    if (!std::is_sorted(order_.begin(), order_.end())) std::sort(order_.begin(), order_.end());
    put_all(list, order_.size(), [&](auto* to) {
      for (const u64 vertex : order_) put_number(number(static_cast<u32>(vertex)), to++);
    });
    order_.clear();
  }
  template <class M>
  void make_leaf_ready(const M& members) {
    leaf_is_ready_ = true;
    for (u32 i = 0; i < n_leaf_; ++i) leaf_hashes_[i] = labels_.column_hashes[leaf_ids_[i]];
    if (!batch_) return;
    const u32 n_members = members.n;
    const auto column = [&](u32 i) { return i < n_members ? members.ids[i] : leaf_ids_[i - n_members]; };
    leaf_columns_.order(
        n_members, n_leaf_, [&](u32 i) { return id_of(column(i)); }, [&](u32 i) { return number_of(column(i)); });
    for (std::size_t w = 0; w < leaf_columns_.n_words(); ++w) leaf_columns_.numbers(w).narrow_down();
  }
  u32 id_of(u32 column) const { return static_cast<u32>(labels_.column_ids[column]); }
  u32 number_of(u32 column) { return static_cast<u32>(number_of_column_(column)); }

  /// Writes R and the joined lanes of a leaf, ascending.
  void put_leaf_columns(u32 joined) {
    for (std::size_t w = 0; w < leaf_columns_.n_words(); ++w)
      put_selected(column_list(), leaf_columns_.numbers(w), leaf_columns_.selected(w, joined));
  }
  void account(u64 rows, u64 columns) {
    tally_.add();
    digest_ += labels_.columns_are_left ? biclique_hash(columns, rows) : biclique_hash(rows, columns);
  }
  /// Ends the row of the batch that was just written.
  void close() {
    Batch& b = *batch_;
    b.left.end_list();
    b.right.end_list();
    b.root.push_back(labels_.column_ids[root_]);
    if (b.size() < piece_.bicliques && b.left.size() < piece_.left && b.right.size() < piece_.right) return;
    const Batch::Size done = delivered_ + b.held();
    deliver_and_go_on(done.bicliques >= most_.bicliques || done.left >= most_.left || done.right >= most_.right);
  }
  void deliver_and_go_on(bool complete) {
    const Batch::Size size = batch_->held();
    deliver(complete);
    batch_ = pool_.take();  // after it: as a rule the same one
    begin_piece();
    batch_->reserve(size);
  }
  bool has_some() const { return delivered_.bicliques + batch_->size(); }
  /// Says what the lists of the empty batch hold, and when it is full.
  void begin_piece() {
    row_list().hold(number_of_row_.gives_places());
    column_list().hold(number_of_column_.gives_places());
    const std::size_t pieces = number_of_row_.gives_places() && number_of_column_.gives_places() ? kPieces : 1;
    const auto part = [&](std::size_t most, std::size_t done) { return std::min((most + pieces - 1) / pieces, most - done); };
    piece_ = {part(most_.bicliques, delivered_.bicliques), part(most_.left, delivered_.left), part(most_.right, delivered_.right)};
  }
  void deliver(bool complete) {
    number_of_row_.tell(row_list().entries);
    number_of_column_.tell(column_list().entries);
    delivered_ = complete ? Batch::Size{} : delivered_ + batch_->held();
    deliver_(std::move(batch_), complete);
    if (!complete) return;
    number_of_row_.clear();
    number_of_column_.clear();
    rows_are_numbered_ = leaf_is_ready_ = false;
  }

  const Labels& labels_;
  const Limits limits_;
  Tally tally_;
  Deliver deliver_;
  static constexpr std::size_t kPieces = 4;
  const Batch::Size most_;
  BatchPool& pool_;
  Numbering number_of_row_, number_of_column_;
  std::unique_ptr<Batch> batch_;
  Batch::Size piece_ = {}, delivered_ = {};  // when the batch is full, and what of the same was delivered before it
  u64 digest_ = 0;
  u32 root_ = 0;
  const u32 *subtree_rows_ = nullptr, *leaf_ids_ = nullptr;
  u32 n_subtree_rows_ = 0, n_leaf_ = 0;
  bool rows_are_numbered_ = false, leaf_is_ready_ = false;
  LeafNumbers subtree_numbers_ = {};
  std::vector<u64> order_;  // what is sorted: ids, each above a vertex
  LeafOrder leaf_columns_;
  u64 subtree_hashes_[kLanes] = {}, leaf_hashes_[kLanes] = {};
};

}  // namespace bicliq
