// list_groups.hpp: bicliques, cut into row groups and made ready for them.
//
// What it does: gives each biclique its root, the member that comes first in an order of its side;
// sorts them by the partition of their roots, where such are wanted; cuts them into groups; and
// makes of each group what a row group is laid out of: lists in 32-bit offsets. Input: two list
// columns, for each vertex of one side its place in the order, and its partition. Cost: a look at
// the place of each member of that side, and a copy of the lists that are sorted; lists that stay
// in their order are looked at where they lie. Memory: eight or twelve bytes a biclique.
#pragma once

#include "graphs/rows.hpp"
#include "lanes/types.hpp"
#include "output/list_column.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace bicliq {

/// Lists that somebody else keeps, and where each begins and the last one ends.
struct WideLists {
  const std::int64_t* offsets;
  const std::int32_t* ids;
  Span operator[](std::size_t i) const { return {ids + offsets[i], ids + offsets[i + 1]}; }
};

/// Some of them as a column; those that had to be copied are kept here.
class SomeLists {
 public:
  SomeLists(const WideLists& lists, const std::int64_t* rows, std::size_t first, std::size_t n) {
    offsets_.reserve(n + 1);
    offsets_.push_back(0);
    std::int64_t end = 0;
    for (std::size_t i = 0; i < n; ++i) {
      end += static_cast<std::int64_t>(lists[rows ? static_cast<std::size_t>(rows[first + i]) : first + i].size());
      offsets_.push_back(static_cast<std::int32_t>(end));  // a group is cut before that is too large
    }
    ids_ = lists.ids + lists.offsets[first];
    if (!rows) return;
    own_.reserve(static_cast<std::size_t>(end));
    for (std::size_t i = 0; i < n; ++i) {
      const Span list = lists[static_cast<std::size_t>(rows[first + i])];
      own_.insert(own_.end(), list.begin(), list.end());
    }
    ids_ = own_.data();
  }
  ListColumn column() const { return {offsets_.data(), ids_}; }

 private:
  Ids offsets_, own_;
  const std::int32_t* ids_;
};

class ListGroups {
 public:
  /// A group of bicliques: their partition, and their places from `first` to before `last`.
  struct Group {
    std::int64_t partition;
    std::size_t first, last;
  };

  /// `place` and `partition` are those of the n_vertices vertices of the left side, or of the
  /// right one; without partitions (null) all are of partition 0, and stay in their order. A group
  /// has more than most_ids ids only where one biclique has.
  ListGroups(const WideLists& left, const WideLists& right, std::size_t n, bool of_left, const std::int32_t* place,
             const std::int32_t* partition, std::size_t n_vertices, std::size_t most_rows, std::int64_t most_ids)
      : left_(left), right_(right), root_(n) {
    const WideLists& members = of_left ? left : right;
    check(members, n, n_vertices);
    for (std::size_t i = 0; i < n; ++i) root_[i] = first_of(members[i], place);
    if (partition) sort(partition);
    cut(partition, most_rows, most_ids);
  }
  const std::vector<Group>& groups() const { return groups_; }

  /// Calls `use` with the columns of a group, and the roots.
  template <class Use>
  void with(const Group& group, const Use& use) const {
    const std::size_t n = group.last - group.first;
    const std::int64_t* rows = rows_.empty() ? nullptr : rows_.data();
    const SomeLists left(left_, rows, group.first, n), right(right_, rows, group.first, n);
    if (!rows) return use(left.column(), right.column(), root_.data() + group.first, n);
    Ids roots(n);
    for (std::size_t i = 0; i < n; ++i) roots[i] = root_[row(group.first + i)];
    use(left.column(), right.column(), roots.data(), n);
  }

 private:
  /// Each id must have a place, as each look at one takes for granted.
  static void check(const WideLists& members, std::size_t n, std::size_t n_vertices) {
    u32 most = 0;  // an id below 0 is larger than any other
    for (std::int64_t i = members.offsets[0]; i < members.offsets[n]; ++i) most = std::max(most, static_cast<u32>(members.ids[i]));
    if (members.offsets[n] > members.offsets[0] && most >= n_vertices)
      throw std::invalid_argument("a biclique holds an id that no vertex of the graph has");
  }
  /// The member with the least place, without a branch that depends on it.
  static std::int32_t first_of(Span members, const std::int32_t* place) {
    if (members.size() == 0) throw std::invalid_argument("a biclique has an empty side");
    u64 found = ~u64{0};
    for (const std::int32_t v : members) found = std::min(found, u64{static_cast<u32>(place[v])} << 32 | static_cast<u32>(v));
    return static_cast<std::int32_t>(found);
  }
  std::size_t row(std::size_t at) const { return rows_.empty() ? at : static_cast<std::size_t>(rows_[at]); }

  /// By partition; those of one stay in their order.
  void sort(const std::int32_t* partition) {
    const auto of = [&](std::size_t i) { return static_cast<std::size_t>(partition[root_[i]]); };
    std::vector<std::size_t> start;
    for (std::size_t i = 0; i < root_.size(); ++i) {
      if (of(i) + 2 > start.size()) start.resize(of(i) + 2, 0);
      ++start[of(i) + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    rows_.resize(root_.size());
    for (std::size_t i = 0; i < root_.size(); ++i) rows_[start[of(i)]++] = static_cast<std::int64_t>(i);
  }
  void cut(const std::int32_t* partition, std::size_t most_rows, std::int64_t most_ids) {
    std::int64_t ids = 0;
    for (std::size_t at = 0; at < root_.size(); ++at) {
      const std::size_t i = row(at);
      const auto own = static_cast<std::int64_t>(left_[i].size() + right_[i].size());
      const std::int64_t number = partition ? partition[root_[i]] : 0;
      if (at == 0 || number != groups_.back().partition || at - groups_.back().first == most_rows || ids + own > most_ids) {
        groups_.push_back({number, at, at});
        ids = 0;
      }
      groups_.back().last = at + 1;
      ids += own;
    }
  }

  const WideLists left_, right_;
  Ids root_;
  std::vector<std::int64_t> rows_;  // in their order; empty: as they stand
  std::vector<Group> groups_;
};

}  // namespace bicliq
