// row_writer.hpp: bicliques of subgraphs written as rows of smaller sides.
//
// What it makes: a row of each biclique, its root, and its part of the digest. A biclique may be
// written without one of its members, as those that vanish are. Input: members as numbers of the
// subgraphs, the vertices that these stand for, and of each vertex the hash of its label and its
// place in the order of roots. Why: a biclique is mapped, hashed, looked through for the root and
// cut down while its members are at hand, instead of as two lists in memory, one pass after the
// other. Cost: O(members) for each, and for a remainder of it what is written.
#pragma once

#include "changes/packed_rows.hpp"
#include "graphs/rows.hpp"
#include "lanes/hash.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace bicliq {

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
