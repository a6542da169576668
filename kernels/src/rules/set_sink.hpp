// set_sink.hpp: closed itemsets as a search finds them: the columns of each biclique, and how many
// rows it has. Rows are baskets, and none is named.
#pragma once

#include "rules/closed_sets.hpp"
#include "search/enumeration.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace bicliq {

/// What all threads of a search find.
class SetCollector {
 public:
  void add(FoundSets sets) {
    const std::lock_guard<std::mutex> lock(mutex_);
    found_.push_back(std::move(sets));
  }
  ClosedSets closed(u32 n_items) const {
    std::vector<SetLists> lists;
    for (const FoundSets& some : found_) lists.push_back(some.view());
    return ClosedSets(lists, n_items);
  }

 private:
  std::mutex mutex_;
  std::vector<FoundSets> found_;
};

class SetSink : public SinkBase {
 public:
  static constexpr bool wants_rows = false;

  SetSink(const std::vector<i32>& item_of_column, Tally tally, SetCollector& to) : item_of_column_(item_of_column), tally_(tally), to_(to) {}

  template <class M>
  void leaf(const M&, const u32* ids, u32) {
    leaf_ids_ = ids;
  }
  template <class M>
  void found(u32 rows, const M& members) {
    put(members.ids, members.n);
    close(popcount(rows));
  }
  template <class M>
  void found(const u32*, u32 n, const M& members) {
    put(members.ids, members.n);
    close(n);
  }
  template <class M>
  void found_in_leaf(u32 rows, const M& members, u32 joined) {
    put(members.ids, members.n);
    for (; joined; joined &= joined - 1) put(leaf_ids_ + first_set(joined), 1);
    close(popcount(rows));
  }
  void single_row(u32, const u32* columns, u32 n) {
    put(columns, n);
    close(1);
  }
  void finish() {
    tally_.publish();
    to_.add(std::exchange(found_, {}));
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // items side by side

  void put(const u32* columns, u32 n) {
    for (u32 i = 0; i < n; ++i) found_.items.push_back(item_of_column_[columns[i]]);
  }
  /// Ends the set that was put.
  void close(u32 support) {
    std::sort(found_.items.begin() + found_.offsets.back(), found_.items.end());
    found_.offsets.push_back(static_cast<i32>(found_.items.size()));
    found_.support.push_back(static_cast<i32>(support));
    tally_.add();
    if (found_.items.size() > kMost) to_.add(std::exchange(found_, {}));
  }

  const std::vector<i32>& item_of_column_;
  Tally tally_;
  SetCollector& to_;
  FoundSets found_;
  const u32* leaf_ids_ = nullptr;
};

/// What a worker of such a search does.
void search_sets(SetCollector& to, Enumeration& of);

}  // namespace bicliq
