// packed_rows.hpp: rows of smaller sides by the partitions of their roots, packed as they come.
//
// What it does: keeps the rows of each partition apart, and makes a row group of them as soon as
// these fill one. Why: rows of a million bicliques take 34 MB, in pages that are written for the
// first time and read again when all have been found; row groups take a sixth of it, and are made
// of rows that a core still has at hand. What fills no row group stays as rows, which several
// threads may then lay out (`RowGroups`). Cost: a look at the partition of a row, and the row
// groups. Memory: rows of one row group for each partition that has some.
#pragma once

#include "changes/found_changes.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"
#include "output/list_column.hpp"
#include "output/row_group.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bicliq {

// ---- Bicliques as rows of a file that holds smaller sides alone.
//
// What it keeps: of each biclique the smaller side, both sizes and the root, one after the other as
// the columns of a file have them, and the digest of all. Cost: O(ids).

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
  /// Takes in the rows of another thread.
  void take(SmallerRows&& some) {
    const u64 both = digest + some.digest;
    if (size() == 0) std::swap(*this, some);
    put(some.ids, ids), put(some.n_left, n_left), put(some.n_right, n_right), put(some.root, root);
    digest = both;
  }
  /// Forgets the first rows and their ids, but not their digest.
  void drop(std::size_t n_rows, std::size_t n_ids) {
    ids.drop(n_ids), n_left.drop(n_rows), n_right.drop(n_rows), root.drop(n_rows);
  }

 private:
  static void put(const Growing<i32>& from, Growing<i32>& to) {
    std::copy_n(from.data(), from.size(), to.room(from.size()));
    to.add(from.size());
  }
};

/// Some rows that follow each other, from `first` to before `last`, and where their ids are.
struct RowSpan {
  std::size_t first, last, first_id, n_ids;
  std::size_t size() const { return last - first; }
};

/// Rows cut into spans that have no more rows and ids; one row may have more ids.
inline std::vector<RowSpan> spans_of(const SmallerRows& rows, std::size_t most_rows, std::size_t most_ids) {
  std::vector<RowSpan> spans;
  std::size_t next_id = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto own = static_cast<std::size_t>(rows.n_ids(i));
    if (spans.empty() || spans.back().size() == most_rows || spans.back().n_ids + own > most_ids) spans.push_back({i, i, next_id, 0});
    spans.back().last = i + 1, spans.back().n_ids += own;
    next_id += own;
  }
  return spans;
}

/// Calls `use` with the columns of a span: lists, n_left, n_right, roots, and their number.
template <class Use>
void with_columns(const SmallerRows& rows, const RowSpan& span, const Use& use) {
  std::vector<i32> offsets(span.size() + 1, 0);
  for (std::size_t i = 0; i < span.size(); ++i) offsets[i + 1] = offsets[i] + rows.n_ids(span.first + i);
  const auto from = [&](const Growing<i32>& column) { return column.data() + span.first; };
  use(ListColumn{offsets.data(), rows.ids.data() + span.first_id}, from(rows.n_left), from(rows.n_right), from(rows.root), span.size());
}

/// Makes a row group of columns: smaller sides, n_left, n_right, roots, and their number.
using LayOut = std::function<std::shared_ptr<RowGroup>(const ListColumn&, const i32*, const i32*, const i32*, std::size_t)>;

/// How rows are kept; looked at as long as some are added.
struct RowOrder {
  const i32* partition = nullptr;  // of each vertex that may be a root; null: all are of one
  std::size_t n_partitions = 1;
  LayOut lay_out;  // nothing: rows stay rows
  std::size_t most_rows = 0, most_ids = 0;  // of a row group; one row may have more ids
};

class PackedRows {
 public:
  struct Packed {
    std::size_t partition;
    std::shared_ptr<RowGroup> group;
  };
  explicit PackedRows(const RowOrder& order) : order_(&order), parts_(order.n_partitions) {}
  PackedRows(PackedRows&&) = default;
  PackedRows(const PackedRows&) = delete;

  /// Where the ids of a row with that root are written. `end` then ends the row.
  SmallerRows& of(i32 root) { return parts_[partition_of(root)]; }
  void end(SmallerRows& part, i32 n_left, i32 n_right, i32 root, u64 hash) {
    part.end(n_left, n_right, root, hash);
    if (part.size() >= full_rows_ || part.ids.size() >= full_ids_) pack(part);
  }
  /// Keeps larger sides as well, and packs nothing, until these are to be forgotten.
  void keep_larger() {
    for (SmallerRows& part : parts_) part.keeps_larger = true;
  }
  void forget_larger() {
    if (!parts_.front().keeps_larger) return;
    for (SmallerRows& part : parts_) part.forget_larger();
    if (!order_->lay_out) return;
    full_rows_ = order_->most_rows, full_ids_ = order_->most_ids;
    for (SmallerRows& part : parts_) pack(part);
  }
  /// Hands over both sides of the rows of each partition, where the larger ones are kept.
  template <class Use>
  void each_as_lists(const Use& use) const {
    for (const SmallerRows& part : parts_) use(part.lists());
  }
  /// Takes in what another thread has.
  void add(PackedRows&& some) {
    std::move(some.packed_.begin(), some.packed_.end(), std::back_inserter(packed_));
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].take(std::move(some.parts_[i]));
  }

  std::size_t size() const {
    std::size_t n = 0;
    for (const Packed& one : packed_) n += one.group->n_rows;
    for (const SmallerRows& part : parts_) n += part.size();
    return n;
  }
  u64 digest() const {
    u64 found = 0;
    for (const SmallerRows& part : parts_) found += part.digest;
    return found;
  }
  /// What is packed, and the rows of each partition that are not.
  const std::vector<Packed>& packed() const { return packed_; }
  const std::vector<SmallerRows>& parts() const { return parts_; }

 private:
  std::size_t partition_of(i32 root) const { return order_->partition ? static_cast<std::size_t>(order_->partition[root]) : 0; }
  /// Packs all but the last row group, which may grow; that too where it is full.
  void pack(SmallerRows& part) {
    const std::vector<RowSpan> spans = spans_of(part, order_->most_rows, order_->most_ids);
    const auto number = static_cast<std::size_t>(&part - parts_.data());
    std::size_t rows = 0, ids = 0;
    for (const RowSpan& span : spans) {
      if (span.last == part.size() && span.size() < full_rows_ && span.n_ids < full_ids_) break;
      with_columns(part, span, [&](const auto&... columns) { packed_.push_back({number, order_->lay_out(columns...)}); });
      rows = span.last, ids = span.first_id + span.n_ids;
    }
    part.drop(rows, ids);
  }

  const RowOrder* order_;
  std::vector<SmallerRows> parts_;
  std::vector<Packed> packed_;
  std::size_t full_rows_ = ~std::size_t{0}, full_ids_ = ~std::size_t{0};
};

/// Rows as row groups, by partition; threads may share it.
class RowGroups {
 public:
  /// A row group: one that is packed, or some rows of a partition.
  struct Group {
    std::size_t partition;
    std::shared_ptr<RowGroup> packed;
    RowSpan span;
    std::size_t size() const { return packed ? packed->n_rows : span.size(); }
  };
  RowGroups(const PackedRows& rows, std::size_t most_rows, std::size_t most_ids) : rows_(rows) {
    for (const PackedRows::Packed& one : rows.packed()) groups_.push_back({one.partition, one.group, {}});
    for (std::size_t i = 0; i < rows.parts().size(); ++i)
      for (const RowSpan& span : spans_of(rows.parts()[i], most_rows, most_ids)) groups_.push_back({i, nullptr, span});
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.partition < b.partition; });
  }
  const std::vector<Group>& groups() const { return groups_; }
  /// Calls `use` with the columns of a group that is not packed.
  template <class Use>
  void with(const Group& group, const Use& use) const {
    with_columns(rows_.parts()[group.partition], group.span, use);
  }

 private:
  const PackedRows& rows_;
  std::vector<Group> groups_;
};

// ---- Bicliques of subgraphs written as rows of smaller sides.
//
// What it makes: a row of each biclique, its root, and its part of the digest. A biclique may be
// written without one of its members, as those that vanish are. Input: members as numbers of the
// subgraphs, the vertices that these stand for, and of each vertex the hash of its label and its
// place in the order of roots. Why: a biclique is mapped, hashed, looked through for the root and
// cut down while its members are at hand, instead of as two lists in memory, one pass after the
// other. Cost: O(members) for each, and for a remainder of it what is written.

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
  void put(PackedRows& to) const { put(to, nullptr, nullptr); }
  /// Without a member, told by where it stands among them.
  void put_without_left(PackedRows& to, std::size_t one) const { put(to, left_.first + one, nullptr); }
  void put_without_right(PackedRows& to, std::size_t one) const { put(to, nullptr, right_.first + one); }

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
  void put(PackedRows& rows, const i32* no_left, const i32* no_right) const {
    const auto n_left = static_cast<i32>(left_.size()) - (no_left != nullptr), n_right = static_cast<i32>(right_.size()) - (no_right != nullptr);
    if (n_left < 1 || n_right < 1) throw std::invalid_argument("a biclique has an empty side");
    const i32* const no_root = v_.left.places ? no_left : no_right;
    const i32 root = no_root && *no_root == root_ ? first_of(no_root) : root_;
    SmallerRows& to = rows.of(root);
    const bool left_first = left_is_smaller(n_left, n_right);
    put_all(left_first ? to.ids : to.larger, left_, no_left, left_first || to.keeps_larger);
    put_all(left_first ? to.larger : to.ids, right_, no_right, !left_first || to.keeps_larger);
    const u64 left = left_hash_ - (no_left ? v_.left.hash(*no_left) : 0);
    const u64 right = right_hash_ - (no_right ? v_.right.hash(*no_right) : 0);
    rows.end(to, n_left, n_right, root, biclique_hash(left, right));
  }

  const VerticesOfBoth v_;
  const i32 *const left_of_, *const right_of_;
  Ids left_room_, right_room_;
  Span left_{}, right_{};
  u64 left_hash_ = 0, right_hash_ = 0;
  i32 root_ = 0;
};

}  // namespace bicliq
