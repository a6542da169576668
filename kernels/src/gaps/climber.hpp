// climber.hpp: betters a group one member at a time; what cannot be bettered is an answer.
//
// Method: the neighbours of the members are counted on both sides, with what their edges gain. A
// vertex that is joined to all members of the other side is added at once; each other one that is
// joined to some member, or to none, is tried as one more, and each member that misses something as
// one less. The best addition is taken, the first of equal ones, until there is none. Cost: the
// edges of the members for every step. A vertex without an edge is never a member.
#pragma once

#include "gaps/gap_groups.hpp"
#include "graphs/csr.hpp"

namespace bicliq::gaps {

class Climber {
 public:
  Climber(const Rows& left, const Rows& right, const Wanted& wanted) : wanted_(wanted), sides_{Side(left), Side(right)} {
    if (wanted.sums)
      for (u32 side : {0u, 1u}) sides_[side].begin_sums(wanted.sums->gains[side].data());
  }

  /// Is it as it was asked for, its gaps too?
  bool fits(const Ids& left, const Ids& right) {
    weigh(left, right);
    return !left.empty() && !right.empty() && wanted_.sizes.accepts(left.size(), right.size()) &&
           left.size() * right.size() - missing_ >= wanted_.sizes.min_edges && missing_ <= wanted_.total &&
           most_of_a_member() <= wanted_.each && has_members();
  }
  /// After `weigh` or `fits`: can it be bettered by one member more or less?
  bool can_be_bettered() const { return addition().side != kNone || removal().side != kNone; }
  /// Betters a group that has no more gaps than it may until it cannot be bettered, and tells it;
  /// or the last one of many that went round in a circle.
  Group climb(Ids left, Ids right) {
    weigh(left, right);
    for (u32 i = 0; i < kMostSteps; ++i, weigh(left, right)) {
      Step step = addition();
      const bool adds = step.side != kNone;
      if (!adds) step = removal();
      if (step.side == kNone) break;
      Ids& members = step.side == 0 ? left : right;
      const auto at = std::lower_bound(members.begin(), members.end(), step.vertex);
      if (adds)
        members.insert(at, step.vertex);
      else
        members.erase(at);
    }
    return group(left, right);
  }
  /// The same where one vertex of a side may not be added.
  Group climb_without(u32 side, i32 vertex, Ids left, Ids right) {
    banned_ = {side, vertex};
    Group group = climb(std::move(left), std::move(right));
    banned_ = {};
    return group;
  }
  /// After `weigh` or `fits`.
  Group group(const Ids& left, const Ids& right) const { return {value(left.size(), right.size(), missing_, sum_), missing_, left, right}; }
  /// Counts what the members of each side have of the other one.
  void weigh(const Ids& left, const Ids& right) {
    sides_[0].begin(left);
    sides_[1].begin(right);
    sides_[0].count(sides_[1]);
    sides_[1].count(sides_[0]);
    missing_ = static_cast<u32>(left.size() * right.size());
    for (i32 v : right) missing_ -= sides_[1].joined[static_cast<usize>(v)];
    sum_ = 0;
    if (!wanted_.sums) return;
    for (i32 v : right) sum_ += sum_of(1, v);
    for (i32 u : left) sum_ += weight(0, u);
  }

 private:
  static constexpr u32 kNone = 2, kMostSteps = 1 << 16;
  struct Step {
    u32 side = kNone;
    i32 vertex = 0;
  };
  struct Side {
    explicit Side(const Rows& of) : rows(of), joined(of.size(), 0), is_member(of.size(), 0) {}
    void begin_sums(const i64* of) {
      gains = of;
      gained.assign(rows.size(), 0);
    }
    void begin(const Ids& ids) {
      for (i32 v : members) is_member[static_cast<usize>(v)] = 0;
      for (i32 v : touched) {
        joined[static_cast<usize>(v)] = 0;
        if (gains) gained[static_cast<usize>(v)] = 0;
      }
      touched.clear();
      members = ids;
      for (i32 v : members) is_member[static_cast<usize>(v)] = 1;
    }
    /// How many members of this side each vertex of the other one is joined to, and for what gain.
    void count(Side& other) const {
      for (i32 v : members)
        for (auto e = rows.start[v]; e < rows.start[v + 1]; ++e) {
          const i32 w = rows.row[e];
          if (other.joined[static_cast<usize>(w)]++ == 0) other.touched.push_back(w);
          if (gains) other.gained[static_cast<usize>(w)] += gains[e];
        }
    }
    Rows rows;
    const i64* gains = nullptr;  // by entry of the rows
    std::vector<u32> joined;  // by vertex: members of the other side that it is joined to
    std::vector<i64> gained;  // by vertex: what these edges gain
    std::vector<char> is_member;
    Ids members, touched;
  };

  i64 value(u64 left, u64 right, u64 missing, i64 sum) const { return wanted_.value(left, right, missing, sum); }
  i64 value_now() const { return value(sides_[0].members.size(), sides_[1].members.size(), missing_, sum_); }
  /// With so many members of a side, and this one's sum and gaps more, or less.
  i64 value_with(u32 side, i32 v, bool adds) const {
    const u64 own = sides_[side].members.size() + adds - !adds, others = sides_[1 - side].members.size();
    const u64 missing = adds ? missing_ + gaps_of(side, v) : missing_ - gaps_of(side, v);
    const i64 more = wanted_.sums ? sum_of(side, v) : 0, sum = adds ? sum_ + more : sum_ - more;
    return side == 0 ? value(own, others, missing, sum) : value(others, own, missing, sum);
  }
  i64 weight(u32 side, i32 v) const {
    const auto& weights = wanted_.sums->weights[side];
    return weights.empty() ? 0 : weights[static_cast<usize>(v)];
  }
  /// Of a vertex with the members of the other side, and its weight.
  i64 sum_of(u32 side, i32 v) const {
    i64 sum = sides_[side].gained[static_cast<usize>(v)] + weight(side, v);
    if (!wanted_.sums->is_surprise() || !gaps_of(side, v)) return sum;
    const Span row = sides_[side].rows[v];
    for (i32 other : sides_[1 - side].members)
      if (!row.has(other)) sum -= wanted_.sums->loss(side, v, other);
    return sum;
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
  bool has_members() const {
    for (u32 side : {0u, 1u})
      for (i32 v : wanted_.members[side])
        if (!sides_[side].is_member[static_cast<usize>(v)]) return false;
    return true;
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
    i64 most = value_now();
    bool lacks_none = false;
    for (u32 side : {0u, 1u}) {
      const Side& own = sides_[side];
      const usize others = sides_[1 - side].members.size();
      const auto consider = [&](i32 v) {
        if (own.is_member[static_cast<usize>(v)] || lacks_none || !may_join(side, v)) return;
        const i64 worth = value_with(side, v, true);
        lacks_none = gaps_of(side, v) == 0;
        if (!lacks_none && (worth < most || (worth == most && (best.side != side || v > best.vertex)))) return;
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
    const i64 worth = value_now();
    for (u32 side : {0u, 1u}) {
      const usize n = sides_[side].members.size();
      if (n <= std::max(side == 0 ? wanted_.sizes.min_rows : wanted_.sizes.min_columns, 1u)) continue;
      for (i32 v : sides_[side].members)
        if (gaps_of(side, v) && value_with(side, v, false) >= worth && !wanted_.is_member(side, v)) return {side, v};
    }
    return {};
  }

  const Wanted wanted_;
  Side sides_[2];
  u32 missing_ = 0;
  i64 sum_ = 0;
  Step banned_;
};

}  // namespace bicliq::gaps
