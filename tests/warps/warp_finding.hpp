// warp_finding.hpp: the search of a GPU for the best bicliques, on threads of this machine, for
// tests.
//
// The nodes are those of a GPU (lists of masks of one word, bit matrices), bounded as a warp does
// it (node_bounds.hpp), from the roots that the host has left (`Finding::open`). What is kept, and
// when what is wanted rises, are as `WarpBest` has it; its list is under a lock of this machine.
#pragma once

#include "search/mbe.hpp"
#include "search/node_bounds.hpp"
#include "search/roots.hpp"
#include "best/scores.hpp"

#include <atomic>
#include <functional>
#include <mutex>

namespace bicliq::best {

struct WarpFindRequest {
  Graph graph;
  Scores scores;
  std::vector<u32> roots;
  usize k;
  i64 least;
  u32 threads;
};
struct WarpAnswer {
  i64 value;
  std::vector<u32> rows, columns;
};

class WarpFinding {
 public:
  explicit WarpFinding(const WarpFindRequest& request) : r_(request), least_(request.least) {}

  /// All that reached what was wanted when it was found.
  std::vector<WarpAnswer> search() {
    crew_.begin([this] { crew_.search(r_.threads, r_.roots.size(), [this](u32) { work(); }); });
    while (!crew_.wait(1.0)) {}
    return std::move(found_);
  }
  u64 nodes() const { return nodes_; }

 private:
  class Sink : public SinkBase {
   public:
    static constexpr bool bounds_by_size = true, bounds_by_weight = true;
    explicit Sink(WarpFinding& all)
        : all_(all), s_(all.r_.scores), row_terms_(unsigned_of(s_.row_terms)), column_terms_(unsigned_of(s_.column_terms)) {}

    u64 column_hash(u32 c) const { return s_.by_size() ? 0 : column_terms_[c]; }
    void rows(const u32* rows, u32 n) {
      std::copy(rows, rows + n, rows_);
      if (!s_.by_size()) of_rows_ = load_terms(row_terms_, load(rows_), first_lanes(n));
    }
    void leaf(const Members&, const u32* ids, u32 n) {
      std::copy(ids, ids + n, leaf_);
      if (!s_.by_size()) of_leaf_ = load_terms(column_terms_, load(leaf_), first_lanes(n));
    }
    bool hopeful(u64 n_rows, u64 n_columns) const { return s_.most(n_rows, n_columns) >= least(); }
    bool narrow_reaches(u32 rows, const u32* ids, u32 n, const Members& members) const {
      return bounds().narrow(least(), of_rows_, rows, ids, n, members);
    }
    bool leaf_reaches(u32 rows, u32 next, const Members& members, u32 joined) const {
      return bounds().leaf(least(), of_rows_, rows, of_leaf_, next, members, joined);
    }
    bool wide_reaches(const u32* rows, u32 n, const u32* open, u32 n_words, const u32* ids, const Members& members) const {
      return bounds().wide(least(), rows, n, open, n_words, ids, members);
    }

    void found(u32 rows, const Members& members) { found_in_leaf(rows, members, 0); }
    void found_in_leaf(u32 rows, const Members& members, u32 joined) {
      std::vector<u32> row_list, columns(members.ids, members.ids + members.n);
      for (u32 bits = rows; bits; bits &= bits - 1) row_list.push_back(rows_[first_set(bits)]);
      for (u32 bits = joined; bits; bits &= bits - 1) columns.push_back(leaf_[first_set(bits)]);
      consider(std::move(row_list), std::move(columns));
    }
    void found(const u32* rows, u32 n, const Members& members) {
      consider({rows, rows + n}, {members.ids, members.ids + members.n});
    }
    void single_row(u32 row, const u32* columns, u32 n) { consider({row}, {columns, columns + n}); }

   private:
    static const u64* unsigned_of(const std::vector<i64>& terms) { return reinterpret_cast<const u64*>(terms.data()); }
    i64 least() const { return all_.least_.load(std::memory_order_relaxed); }
    NodeBounds bounds() const { return {s_, row_terms_, column_terms_}; }
    void consider(std::vector<u32> rows, std::vector<u32> columns) {
      i64 row_sum = 0, column_sum = 0;
      if (!s_.by_size()) {
        for (u32 r : rows) row_sum += s_.row_terms[r];
        for (u32 c : columns) column_sum += s_.column_terms[c];
      }
      const i64 value = s_.value(rows.size(), columns.size(), row_sum, column_sum);
      if (value >= least() && s_.sizes.accepts(rows.size(), columns.size())) all_.note({value, std::move(rows), std::move(columns)});
    }

    WarpFinding& all_;
    const Scores& s_;
    const u64 *row_terms_, *column_terms_;
    LaneTerms of_rows_, of_leaf_;
    u32 rows_[kLanes] = {}, leaf_[kLanes] = {};
  };

  void note(WarpAnswer answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_.push_back(answer.value);
    std::push_heap(values_.begin(), values_.end(), std::greater<>());
    if (values_.size() > r_.k) {
      std::pop_heap(values_.begin(), values_.end(), std::greater<>());
      values_.pop_back();
    }
    if (values_.size() == r_.k && r_.scores.objective != Objective::surprise) least_ = std::max(least_.load(), values_.front());
    found_.push_back(std::move(answer));
  }
  void work() {
    const Limits& limits = r_.scores.sizes;
    Workspace memory;
    Sink sink(*this);
    MaximalBicliques<Sink, Crew, Workspace> search(limits, crew_, sink, memory);
    Roots<Sink> roots(r_.graph, limits, crew_, sink);
    while (const auto place = crew_.next_root()) {
      if (roots.open(r_.roots[*place])) search.search(roots.tree());
      crew_.root_done();
    }
    while (const auto node = crew_.take()) search.search(node->tree);
    const std::lock_guard<std::mutex> lock(mutex_);
    nodes_ += search.nodes;
  }

  const WarpFindRequest& r_;
  std::atomic<i64> least_;
  std::mutex mutex_;
  std::vector<i64> values_;  // the k best, the least of them first
  std::vector<WarpAnswer> found_;
  u64 nodes_ = 0;
  Crew crew_;  // last: its threads use all that is above
};

}  // namespace bicliq::best
