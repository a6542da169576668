// change_side.hpp: one side of bicliques that a change makes and that are found side by side.
//
// What it answers: of members that all of them have, and of those of up to 32 others, a lane each,
// that one of them has: the sum of their hashes, their root, their list by ascending ids, all of it
// with the end of the change or without it; and what vanishes: do they, without that end, reach a
// vertex outside of the subgraph (outside.hpp)? Input: their numbers in the subgraph; a biclique is
// then told by a word, one bit a lane. Why: a leaf or a subtree of the search has some ten to
// thirty bicliques, whose members are looked up once. Cost: O(members) for each leaf or subtree;
// for a biclique a few words of lanes, and the blocks in which the two of its members that reach
// least meet, or in which all members that a leaf has in common do.
#pragma once

#include "changes/found_changes.hpp"
#include "search/leaf_order.hpp"
#include "changes/packed_rows.hpp"
#include "changes/remains.hpp"
#include "graphs/rows.hpp"
#include "lanes/lanes.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

class ChangeSide {
 public:
  /// The vertices of the graph's side, and which of them the numbers stand for.
  ChangeSide(const RowVertices& vertices, const i32* of) : vertices_(vertices), of_(of) {}

  /// The change whose bicliques come next: the number of its end, and the first one of the side.
  void begin(i32 own, i32 base, const Outside& beyond, const std::vector<char>& fresh) {
    own_ = own, base_ = base, beyond_ = &beyond, fresh_ = &fresh;
    own_vertex_ = of_[own], own_hash_ = vertices_.hash(own_vertex_);
  }
  /// The members of the bicliques that come next; `number` says what they are in the subgraph.
  template <class Number>
  void take(const u32* members, u32 n_members, const u32* lanes, u32 n_lanes, Number number) {
    n_members_ = n_members, n_lanes_ = n_lanes, is_ordered_ = false;
    own_lane_ = lanes_to_end_ = lanes_inside_ = 0, members_new_ = 0;
    members_hash_ = 0, first_ = first_other_ = kNone;
    member_vertices_.clear(), others_.clear();
    for (u32 i = 0; i < n_members; ++i) take_member(number(members[i]));
    for (u32 i = 0; i < n_lanes; ++i) take_lane(i, number(lanes[i]));
    if (vertices_.places)
      for (u32 i = n_lanes; i < kLanes; ++i) late_[i] = 0;
    others_.empty() ? order_by_reach() : fold_others();
  }

  // ---- a biclique that has some of the lanes ----------------------------------------------------

  u32 without_own(u32 lanes) const { return lanes & ~own_lane_; }
  u32 size(u32 lanes) const { return n_members_ + popcount(lanes); }
  u64 hash(u32 lanes) const { return members_hash_ + sum_selected(hashes_, lanes); }
  u64 own_hash() const { return own_hash_; }
  i32 own_vertex() const { return own_vertex_; }
  /// Has one of them another new edge, to the other end of the change?
  bool joined_end(u32 lanes) const { return (members_new_ & Remains::kToEnd) || (lanes & lanes_to_end_); }
  /// Does `test` hold for one of the places that have a new edge to somebody else?
  template <class Test>
  bool any_inside(u32 lanes, Test test) const {
    for (u32 bits = lanes & lanes_inside_; bits; bits &= bits - 1)
      if (test(place_[first_set(bits)])) return true;
    if (!(members_new_ & Remains::kInside)) return false;
    return std::any_of(others_.begin(), others_.end(), [&](std::size_t place) { return (*fresh_)[place] & Remains::kInside && test(place); });
  }
  /// The first of them in the order of roots; with `others`, the end of the change left out.
  i32 root(u32 lanes, bool others) const {
    const u64 of_members = others ? first_other_ : first_;
    if (others) lanes = without_own(lanes);
    const Lanes late = load(late_);
    const u32 latest = largest(select(flags(lanes), late, splat(0)));
    if (~latest >= of_members >> 32) return static_cast<i32>(of_members);
    return static_cast<i32>(vertex_[first_set(ballot(late == splat(latest)) & lanes)]);
  }
  /// Writes them by ascending ids.
  void put(u32 lanes, bool others, Growing<i32>& to) {
    if (!is_ordered_) order();
    for (std::size_t w = 0; w < order_.n_words(); ++w) {
      const u32 selected = order_.selected(w, lanes) & ~(others ? own_in_order_[w] : 0);
      to.add(compact_selected(reinterpret_cast<u32*>(to.room(kLanes)), order_.numbers(w).wide, selected));
    }
  }
  /// Is a vertex outside adjacent to all of them but the end of the change, by edges that are not
  /// new? There is another one.
  bool reached(u32 lanes) const {
    lanes = without_own(lanes);
    if (!others_.empty()) return lanes ? block_of_others_meets(lanes) : others_are_reached_;
    const u32 ranks = by_reach_(lanes);
    if ((ranks & (ranks - 1)) == 0) return reaches_any_ & ranks;
    if (first_sharing_ > first_set(ranks)) return false;
    return pair_meets(ranks, beyond_->words_for(popcount(ranks)));
  }
  /// May one be, by a new edge at least?
  bool may_be_reached_anew(u32 lanes) const {
    for (std::size_t at = 0; at < beyond_->words_anew(); ++at) {
      u64 common = ~u64{0};
      for (const std::size_t place : others_) common &= beyond_->anew(place)[at];
      for (u32 bits = without_own(lanes); bits && common; bits &= bits - 1) common &= beyond_->anew(place_[first_set(bits)])[at];
      if (common) return true;
    }
    return false;
  }

 private:
  static constexpr u64 kNone = ~u64{0};
  using Block = Outside::Block;

  void take_member(i32 number) {
    const i32 vertex = of_[number];
    member_vertices_.push_back(static_cast<u32>(vertex));
    members_hash_ += vertices_.hash(vertex);
    if (vertices_.places) first_ = std::min(first_, vertices_.place(vertex));
    if (number == own_) return;
    if (vertices_.places) first_other_ = std::min(first_other_, vertices_.place(vertex));
    others_.push_back(static_cast<std::size_t>(number - base_));
    members_new_ |= (*fresh_)[others_.back()];
  }
  void take_lane(u32 i, i32 number) {
    const i32 vertex = of_[number];
    vertex_[i] = static_cast<u32>(vertex);
    hashes_[i] = vertices_.hash(vertex);
    if (vertices_.places) late_[i] = ~static_cast<u32>(vertices_.places[vertex]);
    place_[i] = static_cast<u32>(number - base_);
    own_lane_ |= u32{number == own_} << i;
    const char fresh = (*fresh_)[place_[i]];
    lanes_to_end_ |= u32{(fresh & Remains::kToEnd) != 0} << i;
    lanes_inside_ |= u32{(fresh & Remains::kInside) != 0} << i;
  }

  void order() {
    is_ordered_ = true;
    const auto vertex = [this](u32 i) { return i < n_members_ ? member_vertices_[i] : vertex_[i - n_members_]; };
    order_.order(n_members_, n_lanes_, vertex, vertex);
    own_in_order_.assign(order_.n_words(), 0);
    for (u32 w = 0; w < order_.n_words(); ++w)
      own_in_order_[w] = ballot((load(order_.numbers(w).wide) == splat(static_cast<u32>(own_vertex_))) & first_lanes(n_members_ + n_lanes_ - kLanes * w));
  }

  // ---- where no other member is common: the two that reach least are compared first -------------

  void order_by_reach() {
    u32 keys[kLanes] = {};
    for (u32 i = 0; i < n_lanes_; ++i) keys[i] = std::min(beyond_->n_shared(place_[i]), kMostKey) << 5 | i;
    by_reach_.clear();
    reaches_any_ = 0, first_sharing_ = 0;
    each_place(keys, n_lanes_, [&](u32 i, u32 rank) {
      by_reach_.set(rank, i);
      by_rank_[rank] = beyond_->shared(place_[i]);
      reaches_any_ |= u32{beyond_->reaches_any(place_[i])} << rank;
      first_sharing_ += keys[i] >> 5 == 0;
    });
  }
  bool pair_meets(u32 ranks, std::size_t end) const {
    const u64* const one = by_rank_[first_set(ranks)];
    const u32 rest = ranks & (ranks - 1);
    const u64* const other = by_rank_[first_set(rest)];
    for (std::size_t at = 0; at < end; at += Outside::kBlock) {
      Block both = Outside::block_at(one + at) & Outside::block_at(other + at);
      for (u32 bits = rest & (rest - 1); bits && !empty(both); bits &= bits - 1) both = both & Outside::block_at(by_rank_[first_set(bits)] + at);
      if (!empty(both)) return true;
    }
    return false;
  }

  // ---- where some are: what they all reach is known ---------------------------------------------

  void fold_others() {
    blocks_.clear(), block_starts_.clear();
    const std::size_t end = beyond_->words_for(std::max<std::size_t>(others_.size(), 2));
    for (std::size_t at = 0; at < end; at += Outside::kBlock) {
      Block all = Outside::block_at(beyond_->shared(others_[0]) + at);
      for (std::size_t i = 1; i < others_.size() && !empty(all); ++i) all = all & Outside::block_at(beyond_->shared(others_[i]) + at);
      if (!empty(all)) blocks_.push_back(all), block_starts_.push_back(at);
    }
    others_are_reached_ = others_.size() == 1 ? beyond_->reaches_any(others_[0]) : !blocks_.empty();
  }
  bool block_of_others_meets(u32 lanes) const {
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      Block all = blocks_[k];
      for (u32 bits = lanes; bits && !empty(all); bits &= bits - 1) all = all & Outside::block_at(beyond_->shared(place_[first_set(bits)]) + block_starts_[k]);
      if (!empty(all)) return true;
    }
    return false;
  }

  static constexpr u32 kMostKey = (1u << 27) - 1;
  const RowVertices vertices_;
  const i32* const of_;
  i32 own_ = 0, base_ = 0, own_vertex_ = 0;  // the end of the change: its number, and the vertex
  u64 own_hash_ = 0;
  const Outside* beyond_ = nullptr;
  const std::vector<char>* fresh_ = nullptr;

  u32 n_members_ = 0, n_lanes_ = 0;
  std::vector<u32> member_vertices_;
  std::vector<std::size_t> others_;  // places of members that are not the end of the change
  u64 members_hash_ = 0, first_ = kNone, first_other_ = kNone;
  char members_new_ = 0;
  bool others_are_reached_ = false;
  std::vector<Block> blocks_;  // what all others reach, and at which word it is
  std::vector<std::size_t> block_starts_;

  u32 own_lane_ = 0, lanes_to_end_ = 0, lanes_inside_ = 0;
  u32 vertex_[kLanes] = {}, place_[kLanes] = {};
  u32 late_[kLanes] = {};  // the later in the order of roots, the less; 0: not there
  u64 hashes_[kLanes] = {};
  BitOrder by_reach_;  // lanes by how much they reach, the least first: their ranks
  const u64* by_rank_[kLanes] = {};
  u32 reaches_any_ = 0, first_sharing_ = 0;  // by rank: who reaches any, the first who shares one

  bool is_ordered_ = false;
  LeafOrder order_;
  std::vector<u32> own_in_order_;
};

}  // namespace bicliq
