// climber.hpp: betters a group one member at a time; what cannot be bettered is an answer.
//
// Method: the neighbours of the members are counted on both sides; each vertex that is joined to
// some member, or to none, is tried as one more, and each member is tried as one less. The best
// addition is taken, the first of equal ones, until there is none. Cost: the edges of the members
// for every step. A vertex without an edge is never a member.
#pragma once

#include "gaps/gap_groups.hpp"
#include "graphs/csr.hpp"

namespace bicliq::gaps {

class Climber {
 public:
  Climber(const Rows& left, const Rows& right, const Wanted& wanted) : wanted_(wanted), sides_{Side(left), Side(right)} {}

  /// Is it as it was asked for, its gaps too?
  bool fits(const Ids& left, const Ids& right) {
    weigh(left, right);
    return !left.empty() && !right.empty() && wanted_.sizes.accepts(left.size(), right.size()) &&
           left.size() * right.size() - missing_ >= wanted_.sizes.min_edges && missing_ <= wanted_.total && most_of_a_member() <= wanted_.each;
  }
  /// After `weigh` or `fits`: can it be bettered by one member more or less?
  bool can_be_bettered() const { return addition().side != kNone || removal().side != kNone; }
  /// Betters a group that has no more gaps than it may until it cannot be bettered, and tells it.
  Group climb(Ids left, Ids right) {
    for (weigh(left, right);; weigh(left, right)) {
      Step step = addition();
      const bool adds = step.side != kNone;
      if (!adds) step = removal();
      if (step.side == kNone) return group(left, right);
      Ids& members = step.side == 0 ? left : right;
      const auto at = std::lower_bound(members.begin(), members.end(), step.vertex);
      if (adds)
        members.insert(at, step.vertex);
      else
        members.erase(at);
    }
  }
  /// The same where one vertex of a side may not be added.
  Group climb_without(u32 side, i32 vertex, Ids left, Ids right) {
    banned_ = {side, vertex};
    Group group = climb(std::move(left), std::move(right));
    banned_ = {};
    return group;
  }
  /// After `weigh` or `fits`.
  Group group(const Ids& left, const Ids& right) const {
    return {wanted_.value(left.size(), right.size(), missing_), missing_, left, right};
  }
  /// Counts what the members of each side have of the other one.
  void weigh(const Ids& left, const Ids& right) {
    sides_[0].begin(left);
    sides_[1].begin(right);
    sides_[0].count(sides_[1]);
    sides_[1].count(sides_[0]);
    missing_ = static_cast<u32>(left.size() * right.size());
    for (i32 v : right) missing_ -= sides_[1].joined[static_cast<usize>(v)];
  }

 private:
  static constexpr u32 kNone = 2;
  struct Step {
    u32 side = kNone;
    i32 vertex = 0;
  };
  struct Side {
    explicit Side(const Rows& of) : rows(of), joined(of.size(), 0), is_member(of.size(), 0) {}
    void begin(const Ids& ids) {
      for (i32 v : members) is_member[static_cast<usize>(v)] = 0;
      for (i32 v : touched) joined[static_cast<usize>(v)] = 0;
      touched.clear();
      members = ids;
      for (i32 v : members) is_member[static_cast<usize>(v)] = 1;
    }
    /// How many members of this side each vertex of the other one is joined to.
    void count(Side& other) const {
      for (i32 v : members)
        for (i32 w : rows[v])
          if (other.joined[static_cast<usize>(w)]++ == 0) other.touched.push_back(w);
    }
    Rows rows;
    std::vector<u32> joined;  // by vertex: members of the other side that it is joined to
    std::vector<char> is_member;
    Ids members, touched;
  };

  i64 value(u32 side, u64 own, u64 others, u64 missing) const {
    return side == 0 ? wanted_.value(own, others, missing) : wanted_.value(others, own, missing);
  }
  u32 gaps_of(u32 side, i32 v) const {
    return static_cast<u32>(sides_[1 - side].members.size()) - sides_[side].joined[static_cast<usize>(v)];
  }
  u32 most_of_a_member() const {
    u32 most = 0;
    for (u32 side : {0u, 1u})
      for (i32 v : sides_[side].members) most = std::max(most, gaps_of(side, v));
    return most;
  }
  /// May a vertex that is no member become one?
  bool may_join(u32 side, i32 v) const {
    const u32 gaps = gaps_of(side, v);
    if (missing_ + gaps > wanted_.total || gaps > wanted_.each || !sides_[side].rows[v].size()) return false;
    if (side == banned_.side && v == banned_.vertex) return false;
    if (!gaps || wanted_.each == wanted_.total) return true;
    const Span row = sides_[side].rows[v];
    for (i32 other : sides_[1 - side].members)
      if (gaps_of(1 - side, other) == wanted_.each && !row.has(other)) return false;
    return true;
  }
  Step addition() const {
    Step best;
    i64 most = value(0, sides_[0].members.size(), sides_[1].members.size(), missing_);
    for (u32 side : {0u, 1u}) {
      const Side& own = sides_[side];
      const usize n = own.members.size(), others = sides_[1 - side].members.size();
      const auto consider = [&](i32 v) {
        if (own.is_member[static_cast<usize>(v)]) return;
        const i64 worth = value(side, n + 1, others, missing_ + gaps_of(side, v));
        if (worth < most || (worth == most && (best.side != side || v > best.vertex)) || !may_join(side, v)) return;
        most = worth, best = {side, v};
      };
      for (i32 v : own.touched) consider(v);
      if (missing_ + others > wanted_.total || others > wanted_.each) continue;
      for (usize v = 0; v < own.rows.size(); ++v)  // one that is joined to none
        if (!own.joined[v]) consider(static_cast<i32>(v));
    }
    return best;
  }
  Step removal() const {
    const i64 worth = value(0, sides_[0].members.size(), sides_[1].members.size(), missing_);
    for (u32 side : {0u, 1u}) {
      const usize n = sides_[side].members.size(), others = sides_[1 - side].members.size();
      if (n <= std::max(side == 0 ? wanted_.sizes.min_rows : wanted_.sizes.min_columns, 1u)) continue;
      for (i32 v : sides_[side].members)
        if (value(side, n - 1, others, missing_ - gaps_of(side, v)) >= worth) return {side, v};
    }
    return {};
  }

  const Wanted wanted_;
  Side sides_[2];
  u32 missing_ = 0;
  Step banned_;
};

}  // namespace bicliq::gaps
