// sinks.hpp: what becomes of a biclique that the search has found.
//
// `CountSink` only counts. `MemberSink` knows both sides: it applies the thresholds, adds to the
// digest and, where a batch is wanted, writes the ids of both sides into it, ascending. No list is
// sorted for that as a rule: rows keep their order on the way down, and a leaf orders its columns
// once, R and candidates together, so that each of its bicliques selects from them. It does so when
// it finds its first biclique; 32 columns or fewer by counting for each how many are smaller, which
// takes no branch that depends on them.
#pragma once

#include "enumeration/batch.hpp"
#include "enumeration/crew.hpp"
#include "enumeration/limits.hpp"
#include "lanes/bit_order.hpp"
#include "lanes/hash.hpp"
#include "lanes/lanes.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace bicliq {

inline namespace BICLIQ_ISA {

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

 private:
  static constexpr u64 kEvery = 4096, kExact = 1 << 20;
  std::atomic<u64>& shared_;
  Crew& crew_;
  const u64 limit_, every_;
  u64 fresh_ = 0;
};

class CountSink {
 public:
  static constexpr bool kMembers = false, kIds = false, kBounded = false;
  explicit CountSink(Tally tally) : tally_(tally) {}
  void root(u32) {}
  void rows(const u32*, u32) {}
  u64 column_hash(u32) const { return 0; }
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
  u64 digest() const { return 0; }

 private:
  Tally tally_;
};

/// What a MemberSink has to know of the graph: ids and hashes of rows and columns.
struct Labels {
  std::vector<std::int32_t> row_ids, column_ids;
  std::vector<u64> row_hashes, column_hashes;
  bool columns_are_left = false;
  bool rows_ascend = false;  // a later row has a larger id: then lists of rows are ascending as they are found
};

class MemberSink {
 public:
  static constexpr bool kMembers = true, kIds = true, kBounded = false;
  using Deliver = std::function<void(std::unique_ptr<Batch>)>;

  /// `deliver` is empty where only the digest is wanted.
  MemberSink(const Labels& labels, const Limits& limits, Tally tally, Deliver deliver, std::size_t batch_bicliques,
             std::size_t batch_ids, BatchPool& pool)
      : labels_(labels), limits_(limits), tally_(tally), deliver_(std::move(deliver)), batch_bicliques_(batch_bicliques),
        batch_ids_(batch_ids), pool_(pool), batch_(deliver_ ? pool.take() : nullptr) {}

  void root(u32 v) { root_ = v; }
  u64 column_hash(u32 c) const { return labels_.column_hashes[c]; }

  /// The rows that the bits of the coming masks stand for.
  void rows(const u32* rows, u32 n) {
    for (u32 i = 0; i < n; ++i) {
      subtree_rows_[i] = static_cast<u32>(labels_.row_ids[rows[i]]);
      subtree_hashes_[i] = labels_.row_hashes[rows[i]];
    }
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
    put_selected(row_list(), subtree_rows_, rows);
    put(column_list(), labels_.column_ids, members.ids, members.n);
    close();
  }
  /// A biclique of a leaf: R is the leaf's and the `joined` lanes.
  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    if (!limits_.accepts(popcount(rows), members.n + popcount(joined))) return;
    if (!leaf_is_ready_) make_leaf_ready(members);
    account(sum_selected(subtree_hashes_, rows), members.hash + sum_selected(leaf_hashes_, joined));
    if (!batch_) return;
    put_selected(row_list(), subtree_rows_, rows);
    put_leaf_columns(joined);
    close(true);
  }
  /// A biclique of a wide node.
  template <class M>
  void found(const u32* rows, u32 n, const M& members) {
    if (!limits_.accepts(n, members.n)) return;
    u64 hash = 0;
    for (u32 i = 0; i < n; ++i) hash += labels_.row_hashes[rows[i]];
    account(hash, members.hash);
    if (!batch_) return;
    put(row_list(), labels_.row_ids, rows, n);
    put(column_list(), labels_.column_ids, members.ids, members.n);
    close();
  }
  /// The biclique of one row and all its columns.
  void single_row(u32 row, const u32* columns, u32 n) {
    u64 hash = 0;
    for (u32 i = 0; i < n; ++i) hash += labels_.column_hashes[columns[i]];
    account(labels_.row_hashes[row], hash);
    if (!batch_) return;
    put(row_list(), labels_.row_ids, &row, 1);
    put(column_list(), labels_.column_ids, columns, n);
    close();
  }

  void finish() {
    tally_.publish();
    if (batch_ && batch_->size()) deliver_(std::move(batch_));
  }
  u64 digest() const { return digest_; }

 private:
  IdLists& row_list() { return labels_.columns_are_left ? batch_->right : batch_->left; }
  IdLists& column_list() { return labels_.columns_are_left ? batch_->left : batch_->right; }

  static void put(IdLists& list, const std::vector<std::int32_t>& ids, const u32* vertices, std::size_t n) {
    std::int32_t* to = list.room(n);
    for (std::size_t i = 0; i < n; ++i) to[i] = ids[vertices[i]];
    list.add(n);
  }
  static void put_selected(IdLists& list, const u32* ids, u32 bits) {
    list.add(compact_selected(reinterpret_cast<u32*>(list.room(kLanes)), ids, bits));
  }
  template <class M>
  void make_leaf_ready(const M& members) {
    leaf_is_ready_ = true;
    for (u32 i = 0; i < n_leaf_; ++i) leaf_hashes_[i] = labels_.column_hashes[leaf_ids_[i]];
    if (!batch_) return;
    const std::size_t n = std::size_t{members.n} + n_leaf_;
    if (leaf_columns_.size() < n) leaf_columns_.resize((2 * n + kLanes) / kLanes * kLanes);
    u32* const columns = leaf_columns_.data();
    for (u32 i = 0; i < members.n; ++i) columns[i] = id_of(members.ids[i]);
    for (u32 i = 0; i < n_leaf_; ++i) columns[members.n + i] = id_of(leaf_ids_[i]);
    if (n <= kLanes)
      order_few(members.n, static_cast<u32>(n));
    else
      order_many(members.n, n);
  }
  u32 id_of(u32 column) const { return static_cast<u32>(labels_.column_ids[column]); }

  /// Puts the columns of a leaf in the order of their ids; the first `n_members` are those of R.
  void order_few(u32 n_members, u32 n) {
    u32* const columns = leaf_columns_.data();
    const Lanes all = load(columns, first_lanes(n));
    u32 ids[kLanes], always = 0;
    store(ids, all);
    begin_words(1);
    const u32 real = ballot(first_lanes(n));
    for (u32 i = 0; i < n; ++i) {
      const u32 place = popcount(ballot(splat(ids[i]) > all) & real);
      columns[place] = ids[i];
      if (i < n_members)
        always |= 1u << place;
      else
        lanes_[0].set(place, i - n_members);
    }
    always_[0] = always;
  }
  void order_many(u32 n_members, std::size_t n) {
    order_.clear();
    for (u32 i = 0; i < n; ++i) order_.push_back(u64{leaf_columns_[i]} << 32 | i);
    std::sort(order_.begin(), order_.end());
    begin_words((n + kLanes - 1) / kLanes);
    for (u32 k = 0; k < n; ++k) {
      leaf_columns_[k] = static_cast<u32>(order_[k] >> 32);
      const u32 from = static_cast<u32>(order_[k]);
      if (from < n_members)
        always_[k / kLanes] |= 1u << k % kLanes;
      else
        lanes_[k / kLanes].set(k % kLanes, from - n_members);
    }
  }
  void begin_words(std::size_t n) {
    always_.assign(n, 0);
    lanes_.resize(n);
    for (BitOrder& lanes : lanes_) lanes.clear();
  }
  /// Writes R and the joined lanes of a leaf, ascending.
  void put_leaf_columns(u32 joined) {
    for (std::size_t w = 0; w < always_.size(); ++w)
      put_selected(column_list(), leaf_columns_.data() + kLanes * w, always_[w] | lanes_[w](joined));
  }
  void account(u64 rows, u64 columns) {
    tally_.add();
    digest_ += labels_.columns_are_left ? biclique_hash(columns, rows) : biclique_hash(rows, columns);
  }
  /// Ends the row of the batch that was just written; both lists are left in ascending order.
  void close(bool columns_ascend = false) {
    Batch& b = *batch_;
    if (!labels_.rows_ascend) row_list().sort_last();
    if (!columns_ascend) column_list().sort_last();
    b.left.end_list();
    b.right.end_list();
    b.root.push_back(labels_.column_ids[root_]);
    if (b.size() < batch_bicliques_ && b.left.size() < batch_ids_ && b.right.size() < batch_ids_) return;
    deliver_(std::move(batch_));
    batch_ = pool_.take();
  }

  const Labels& labels_;
  const Limits limits_;
  Tally tally_;
  Deliver deliver_;
  const std::size_t batch_bicliques_, batch_ids_;
  BatchPool& pool_;
  std::unique_ptr<Batch> batch_;
  u64 digest_ = 0;
  u32 root_ = 0;
  u32 subtree_rows_[kLanes] = {};
  const u32* leaf_ids_ = nullptr;
  u32 n_leaf_ = 0;
  bool leaf_is_ready_ = false;
  std::vector<u64> order_;         // columns of a leaf: id, then place among R and the lanes
  std::vector<u32> leaf_columns_;  // their ids, ascending
  std::vector<u32> always_;        // of each word of a bit set over these: those of R
  std::vector<BitOrder> lanes_;    // and where the lanes come in it
  u64 subtree_hashes_[kLanes] = {}, leaf_hashes_[kLanes] = {};
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
