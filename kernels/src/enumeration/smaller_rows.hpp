// smaller_rows.hpp: bicliques of subgraphs as rows of a file that holds smaller sides alone.
//
// What it makes: of each biclique the smaller side, both sizes, the root, and the digest of all. A
// biclique may be written without one of its members, as those that vanish are. Input: members as
// numbers of the subgraphs, the vertices that these stand for, and of each vertex the hash of its
// label and its place in the order of roots. Why: a biclique is mapped, hashed, looked through for
// the root and cut down while its members are at hand, instead of as two lists in memory, one pass
// after the other. Cost: O(members) for each, and for a remainder of it what is written.
#pragma once

#include "enumeration/found_changes.hpp"
#include "enumeration/growing.hpp"
#include "graphs/rows.hpp"
#include "lanes/hash.hpp"
#include "lanes/types.hpp"
#include "output/row_group.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

struct SmallerRows {
  Growing<i32> ids, n_left, n_right, root;  // ids of one row after the other
  u64 digest = 0;
  Growing<i32> larger;  // the other sides, as long as they are kept
  bool keeps_larger = false;
  std::size_t size() const { return root.size(); }
  /// How many ids a row has.
  i32 n_ids(std::size_t i) const { return std::min(n_left[i], n_right[i]); }
  void forget_larger() { keeps_larger = false, larger = {}; }
  /// Both sides.
  Lists lists() const {
    Lists found;
    const i32 *smaller = ids.data(), *other = larger.data();
    for (std::size_t i = 0; i < size(); ++i) {
      const Span one{smaller, smaller + n_ids(i)}, rest{other, other + std::max(n_left[i], n_right[i])};
      left_is_smaller(n_left[i], n_right[i]) ? found.add(one, rest) : found.add(rest, one);
      smaller = one.last, other = rest.last;
    }
    return found;
  }
  /// Ends a row whose ids were written.
  void end(i32 left, i32 right, i32 own_root, u64 hash) {
    n_left.push(left), n_right.push(right), root.push(own_root);
    digest += hash;
  }
  void add(const SmallerRows& some) {
    put(some.ids, ids), put(some.n_left, n_left), put(some.n_right, n_right), put(some.root, root);
    digest += some.digest;
  }

 private:
  static void put(const Growing<i32>& from, Growing<i32>& to) {
    std::copy_n(from.data(), from.size(), to.room(from.size()));
    to.add(from.size());
  }
};

/// What a row takes of the vertices of a side, which somebody else keeps: hashes of their labels,
/// which are mixed as they are asked for (of a million vertices a single edge needs a few), and, on
/// the side of the roots, places in the order of these.
struct RowVertices {
  const u64* hashes;
  u64 seed;
  const i32* places;  // null: roots are of the other side
  u64 hash(i32 v) const { return vertex_hash(hashes[v], seed); }
  /// The place, above the vertex.
  u64 place(i32 v) const { return u64{static_cast<u32>(places[v])} << 32 | static_cast<u32>(v); }
};
struct VerticesOfBoth {
  RowVertices left, right;
};

/// Writes one biclique after the other, whole or without a member.
class RowWriter {
 public:
  /// The vertices that the numbers of members stand for; null: themselves.
  RowWriter(const VerticesOfBoth& vertices, const i32* left_of, const i32* right_of) : v_(vertices), left_of_(left_of), right_of_(right_of) {}

  /// The biclique that is written next.
  void take(Span left, Span right) {
    left_ = written(left, left_of_, left_room_), right_ = written(right, right_of_, right_room_);
    left_hash_ = sum(left_, v_.left), right_hash_ = sum(right_, v_.right);
    root_ = first_of(nullptr);
  }
  Span left() const { return left_; }
  Span right() const { return right_; }
  void put(SmallerRows& to) const { put(to, nullptr, nullptr); }
  /// Without a member, told by where it stands among them.
  void put_without_left(SmallerRows& to, std::size_t one) const { put(to, left_.first + one, nullptr); }
  void put_without_right(SmallerRows& to, std::size_t one) const { put(to, nullptr, right_.first + one); }

 private:
  static Span written(Span members, const i32* of, Ids& room) {
    if (!of) return members;
    if (room.size() < members.size()) room.resize(2 * members.size());
    std::transform(members.first, members.last, room.begin(), [of](i32 member) { return of[member]; });
    return {room.data(), room.data() + members.size()};
  }
  static u64 sum(Span side, const RowVertices& vertices) {
    u64 found = 0;
    for (const i32 v : side) found += vertices.hash(v);
    return found;
  }
  /// The vertex with the least place, without a branch that depends on it.
  i32 first_of(const i32* left_out) const {
    const bool in_left = v_.left.places != nullptr;
    const Span all = in_left ? left_ : right_;
    const RowVertices& of = in_left ? v_.left : v_.right;
    u64 found = ~u64{0};
    for (const i32* at = all.first; at != all.last; ++at) found = std::min(found, at == left_out ? ~u64{0} : of.place(*at));
    return static_cast<i32>(found);
  }
  static void put_all(Growing<i32>& to, Span vertices, const i32* left_out, bool wanted) {
    if (!wanted) return;
    i32* at = to.room(vertices.size());
    for (const i32* one = vertices.first; one != vertices.last; ++one) {
      *at = *one;
      at += one != left_out;
    }
    to.add(vertices.size() - (left_out != nullptr));
  }
  void put(SmallerRows& to, const i32* no_left, const i32* no_right) const {
    const auto n_left = static_cast<i32>(left_.size()) - (no_left != nullptr), n_right = static_cast<i32>(right_.size()) - (no_right != nullptr);
    if (n_left < 1 || n_right < 1) throw std::invalid_argument("a biclique has an empty side");
    const bool left_first = left_is_smaller(n_left, n_right);
    put_all(left_first ? to.ids : to.larger, left_, no_left, left_first || to.keeps_larger);
    put_all(left_first ? to.larger : to.ids, right_, no_right, !left_first || to.keeps_larger);
    const u64 left = left_hash_ - (no_left ? v_.left.hash(*no_left) : 0);
    const u64 right = right_hash_ - (no_right ? v_.right.hash(*no_right) : 0);
    const i32* const no_root = v_.left.places ? no_left : no_right;
    to.end(n_left, n_right, no_root && *no_root == root_ ? first_of(no_root) : root_, biclique_hash(left, right));
  }

  const VerticesOfBoth v_;
  const i32 *const left_of_, *const right_of_;
  Ids left_room_, right_room_;
  Span left_{}, right_{};
  u64 left_hash_ = 0, right_hash_ = 0;
  i32 root_ = 0;
};

/// Rows cut into groups, sorted by the partitions of their roots where these are given.
class SmallerGroups {
 public:
  /// A group: its partition, its rows from `first` to before `last` in their order, and where the
  /// ids of the first one begin.
  struct Group {
    std::int64_t partition;
    std::size_t first, last, first_id;
  };
  SmallerGroups(const SmallerRows& rows, const i32* partition, std::size_t n_partitioned, std::size_t most_rows, std::int64_t most_ids)
      : rows_(rows) {
    if (partition) sort(partition, n_partitioned);
    std::int64_t ids = 0;  // of the group
    std::size_t next_id = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const std::size_t i = row(at);
      const std::int64_t own = rows.n_ids(i), number = partition ? partition[rows.root[i]] : 0;
      if (at == 0 || number != groups_.back().partition || at - groups_.back().first == most_rows || ids + own > most_ids) {
        groups_.push_back({number, at, at, next_id});
        ids = 0;
      }
      groups_.back().last = at + 1;
      ids += own;
      next_id += static_cast<std::size_t>(own);
    }
  }
  const std::vector<Group>& groups() const { return groups_; }

  /// Calls `use` with the columns of a group: lists, n_left, n_right, roots, and their number.
  template <class Use>
  void with(const Group& group, const Use& use) const {
    const std::size_t n = group.last - group.first;
    std::vector<i32> offsets{0};
    offsets.reserve(n + 1);
    for (std::size_t at = group.first; at < group.last; ++at) offsets.push_back(offsets.back() + rows_.n_ids(row(at)));
    if (order_.empty()) {
      const auto from = [&](const Growing<i32>& column) { return column.data() + group.first; };
      return use(ListColumn{offsets.data(), rows_.ids.data() + group.first_id}, from(rows_.n_left), from(rows_.n_right), from(rows_.root), n);
    }
    std::vector<i32> ids, n_left(n), n_right(n), root(n);
    ids.reserve(static_cast<std::size_t>(offsets.back()));
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = row(group.first + k);
      const i32* const own = rows_.ids.data() + ids_at_[i];
      ids.insert(ids.end(), own, own + rows_.n_ids(i));
      n_left[k] = rows_.n_left[i], n_right[k] = rows_.n_right[i], root[k] = rows_.root[i];
    }
    use(ListColumn{offsets.data(), ids.data()}, n_left.data(), n_right.data(), root.data(), n);
  }

 private:
  std::size_t row(std::size_t at) const { return order_.empty() ? at : order_[at]; }
  /// By partition; those of one stay in their order, which is none where they all are of one.
  void sort(const i32* partition, std::size_t n_partitioned) {
    std::vector<std::size_t> start;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (static_cast<std::size_t>(rows_.root[i]) >= n_partitioned) throw std::invalid_argument("a root is in no partition");
      const auto of = static_cast<std::size_t>(partition[rows_.root[i]]);
      if (of + 2 > start.size()) start.resize(of + 2, 0);
      ++start[of + 1];
    }
    if (std::count(start.begin(), start.end(), 0) + 1 >= static_cast<std::ptrdiff_t>(start.size())) return;
    std::partial_sum(start.begin(), start.end(), start.begin());
    order_.resize(rows_.size()), ids_at_.resize(rows_.size());
    std::size_t next_id = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      order_[start[static_cast<std::size_t>(partition[rows_.root[i]])]++] = i;
      ids_at_[i] = next_id;
      next_id += static_cast<std::size_t>(rows_.n_ids(i));
    }
  }

  const SmallerRows& rows_;
  std::vector<std::size_t> order_, ids_at_;  // where they are sorted; where the ids of each row begin
  std::vector<Group> groups_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
