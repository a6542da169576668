// remains.hpp: what vanishes inside of the bicliques that a change makes, which appear.
//
// What it finds: of each biclique of a subgraph (changes.hpp), whether it counts at this change,
// and its remainders that nothing extends without the new edges. The header of changes.hpp has the
// method, outside.hpp what a subgraph reaches beyond it.
#pragma once

#include "changes/changes.hpp"
#include "changes/found_changes.hpp"
#include "changes/outside.hpp"
#include "graphs/limits.hpp"
#include "graphs/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

namespace bicliq {

/// What appears through one change after the other, and what vanishes inside.
class Remains {
 public:
  /// Of the members of both sides of a subgraph.
  struct Degrees {
    const std::int32_t *left, *right;
  };
  /// `stopped` says whether what takes long is to end.
  Remains(const ChangedGraph& graph, const Limits& limits, std::function<bool()> stopped)
      : g_(graph), limits_(limits), stopped_(std::move(stopped)), seen_left_(g_.n_left()), seen_right_(g_.n_right()) {}

  /// The change whose n bicliques come next, with the sides of its subgraph and, where they are
  /// known, the degrees in it: these stay where they are.
  void change(std::int32_t number, std::size_t n_bicliques, Span left, Span right, Degrees degrees = {nullptr, nullptr}) {
    n_bicliques_ = n_bicliques, degrees_ = degrees;
    if (number == number_) {  // more of them: what is known of the subgraph stays
      is_right_known_ = is_right_known_ && beyond_right_.usable(), is_left_known_ = is_left_known_ && beyond_left_.usable();
      return;
    }
    number_ = number, change_ = g_.changes_[static_cast<std::size_t>(number)];
    left_side_ = left, right_side_ = right;
    left_place_ = place_in(left, change_.left), right_place_ = place_in(right, change_.right);
    is_right_known_ = is_left_known_ = false;
    find_new();
  }

  /// Is the change an edge, and known what its sides reach beyond the subgraph?
  bool sees_beyond() { return is_edge() && beyond_right() && beyond_left(); }
  /// Of a side, then: where the end of the change is, what the side reaches beyond, and what other
  /// new edges of the subgraph each member has: to the other end of the change (`kToEnd`), or to
  /// somebody else (`kInside`; those of the end itself are told by whom they lead to). A biclique
  /// has the change alone if it has none to an end, and no two members that share one inside.
  struct Seen {
    std::int32_t own;
    const Outside& beyond;
    const std::vector<char>& fresh;
  };
  static constexpr char kToEnd = 1, kInside = 2;
  /// Places on the right of the new edges of a left one.
  Span new_of(std::size_t left_place) const { return {new_.data() + new_start_[left_place], new_.data() + new_start_[left_place + 1]}; }
  Seen seen_from_left() const { return {left_place_, beyond_right_, left_new_}; }
  Seen seen_from_right() const { return {right_place_, beyond_left_, right_new_}; }

  /// Adds what vanishes inside of a biclique of the subgraph, if this change is the first one that
  /// it contains; says whether it is, and the biclique appeared. `one` tells its members, as places
  /// and as vertices. What vanishes here alone goes to `gone`, all else to `found`.
  template <class Biclique, class Gone>
  bool take(const Biclique& one, Gone& gone, FoundChanges& found) {
    const Places left = one.left_places, right = one.right_places;
    const std::size_t n_left = left.members.size(), n_right = right.members.size();
    if (!is_alone(left, right)) {
      if (!g_.is_first(number_, one.left, one.right)) return false;
      split_whole(left, right, found);
      return true;
    }
    if (n_left > 1 && limits_.accepts(n_left - 1, n_right)) {
      Outside* const outside = beyond_right(n_left);
      if (!(outside ? outside->reached_by_all(left, left_place_) : is_extended_right(one.left, one.right))) {
        if (outside && !outside->may_be_reached_anew(left, left_place_))
          gone.without_left(one, member(left, left_place_));
        else
          vanish(span_of(without(one.left, change_.left)), one.right, found);
      }
    }
    if (n_right > 1 && limits_.accepts(n_left, n_right - 1)) {
      Outside* const outside = beyond_left(n_right);
      if (!(outside ? outside->reached_by_all(right, right_place_) : is_extended_left(one.left, one.right))) {
        if (outside && !outside->may_be_reached_anew(right, right_place_))
          gone.without_right(one, member(right, right_place_));
        else
          vanish(one.left, span_of(without(one.right, change_.right)), found);
      }
    }
    return true;
  }

 private:
  /// Finds the new edges of the subgraph, as places in its sides. A biclique that has none beside
  /// the change has this change alone: a vertex that has new edges only would add one.
  void find_new() {
    new_start_.assign(1, 0), new_.clear();
    for (std::int32_t u : left_side_) {
      const std::int32_t* at = right_side_.first;
      for (std::int32_t v : g_.fresh_left_[u]) {
        at = std::lower_bound(at, right_side_.last, v);
        if (at == right_side_.last) break;
        if (*at == v) new_.push_back(static_cast<std::int32_t>(at - right_side_.first));
      }
      new_start_.push_back(static_cast<u32>(new_.size()));
    }
    if (is_edge()) mark_new();
  }
  void mark_new() {
    left_new_.assign(left_side_.size(), 0), right_new_.assign(right_side_.size(), 0);
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(left_side_.size()); ++place)
      for (const std::int32_t v : new_of(static_cast<std::size_t>(place))) {
        const bool from_end = place == left_place_, to_end = v == right_place_;
        if (!from_end) left_new_[static_cast<std::size_t>(place)] |= to_end ? kToEnd : kInside;
        if (!to_end) right_new_[static_cast<std::size_t>(v)] |= from_end ? kToEnd : kInside;
      }
  }
  bool is_edge() const { return change_.left >= 0 && change_.right >= 0; }
  bool is_alone(Places left, Places right) const {
    if (!is_edge()) return false;
    if (new_.size() == 1) return true;
    for (const std::int32_t member : left.members) {
      const std::int32_t place = member - left.base;
      for (const std::int32_t v : new_of(static_cast<std::size_t>(place)))
        if ((place != left_place_ || v != right_place_) && right.members.has(v + right.base)) return false;
    }
    return true;
  }
  /// Where a place stands among members.
  static std::size_t member(Places all, std::int32_t place) {
    return static_cast<std::size_t>(std::lower_bound(all.members.first, all.members.last, place + all.base) - all.members.first);
  }
  /// Without the end of the change on that side.
  bool is_extended_right(Span left, Span right) {
    return extends(without(left, change_.left), {right.begin(), right.end()}, g_.by_left_, g_.fresh_left_);
  }
  bool is_extended_left(Span left, Span right) {
    return extends(without(right, change_.right), {left.begin(), left.end()}, g_.by_right_, g_.fresh_right_);
  }
  static void vanish(Span left, Span right, FoundChanges& found) { found.vanish(left, right, hash_of(left, right)); }

  /// What the sides of the subgraph reach beyond it, where that fits into memory.
  Outside* beyond_right() {
    const std::int32_t* const degrees = change_.right >= 0 ? degrees_.left : nullptr;
    if (!is_right_known_) beyond_right_.fill(n_bicliques_, left_side_, degrees, right_side_, g_.by_left_, g_.fresh_left_, g_.by_right_, seen_right_, seen_left_);
    is_right_known_ = true;
    return beyond_right_.usable() ? &beyond_right_ : nullptr;
  }
  Outside* beyond_left() {
    const std::int32_t* const degrees = change_.left >= 0 ? degrees_.right : nullptr;
    if (!is_left_known_) beyond_left_.fill(n_bicliques_, right_side_, degrees, left_side_, g_.by_right_, g_.fresh_right_, g_.by_left_, seen_left_, seen_right_);
    is_left_known_ = true;
    return beyond_left_.usable() ? &beyond_left_ : nullptr;
  }
  /// The same for a biclique of so many members: one of the whole side may have some that were not
  /// read (outside.hpp).
  Outside* beyond_right(std::size_t n_left) { return n_left == left_side_.size() ? nullptr : beyond_right(); }
  Outside* beyond_left(std::size_t n_right) { return n_right == right_side_.size() ? nullptr : beyond_left(); }
  static std::int32_t place_in(Span side, std::int32_t vertex) {
    return static_cast<std::int32_t>(std::lower_bound(side.first, side.last, vertex) - side.first);
  }
  const Ids& without(Span all, std::int32_t one) {
    some_.resize(all.size());
    some_.erase(std::remove_copy(all.begin(), all.end(), some_.begin(), one), some_.end());
    return some_;
  }
  /// Takes one end of each new edge away, and keeps what is maximal in G.
  void split_whole(Places left, Places right, FoundChanges& to) {
    n_left_ = left.members.size(), n_right_ = right.members.size();
    stack_.clear(), out_.clear();
    for (const std::int32_t member : left.members) stack_.push_back(member - left.base);
    for (const std::int32_t member : right.members) stack_.push_back(member - right.base);
    split({0, n_left_}, {n_left_, n_left_ + n_right_}, 0, to);
  }
  /// Places in a side of the subgraph, ascending, from `first` to before `last` of the stack.
  struct Some {
    std::size_t first, last;
    std::size_t size() const { return last - first; }
  };
  Span span_of_some(Some some) const { return {stack_.data() + some.first, stack_.data() + some.last}; }

  /// Left vertices before `settled` have no new edge to the right ones any more. Of one that has,
  /// either the new neighbours go, which is a split of its own, or the vertex does, in a list of
  /// this split's own, whose front moves up. One that is out comes back where its new neighbours go
  /// as well: nothing below is maximal then.
  void split(Some left, Some right, std::size_t settled, FoundChanges& to) {
    if (!limits_.accepts(left.size(), right.size()) || brings_back(right)) return;
    const std::size_t bottom = stack_.size(), n_out = out_.size();
    while (settled < left.size() && limits_.accepts(left.size(), right.size())) {
      const std::int32_t u = stack_[left.first + settled];
      const Span fresh = new_of(static_cast<std::size_t>(u));
      if (fresh.size() == 0 || !meets(fresh, span_of_some(right))) {
        ++settled;
        continue;
      }
      if (stopped_()) return;
      const std::size_t top = stack_.size();
      for (std::size_t i = right.first; i < right.last; ++i)
        if (const std::int32_t v = stack_[i]; !fresh.has(v)) stack_.push_back(v);
      split(left, {top, stack_.size()}, settled + 1, to);
      stack_.resize(top);
      if (out_.size() == n_out) {
        for (std::size_t i = left.first; i < left.last; ++i) stack_.push_back(stack_[i]);
        left = {top, stack_.size()};
      }
      out_.push_back(u);
      const auto front = stack_.begin() + static_cast<std::ptrdiff_t>(left.first);
      std::move_backward(front, front + static_cast<std::ptrdiff_t>(settled), front + static_cast<std::ptrdiff_t>(settled) + 1);
      ++left.first;
    }
    if (limits_.accepts(left.size(), right.size())) keep(left, right, to);
    out_.resize(n_out), stack_.resize(bottom);
  }
  bool brings_back(Some right) const {
    return std::any_of(out_.rbegin(), out_.rend(), [&](std::int32_t u) { return !meets(new_of(static_cast<std::size_t>(u)), span_of_some(right)); });
  }
  void keep(Some left, Some right, FoundChanges& to) {
    if (is_extended(left, right)) return;
    const Ids &l = vertices(left, left_side_, some_left_), &r = vertices(right, right_side_, some_right_);
    vanish(span_of(l), span_of(r), to);
  }
  static bool meets(Span few, Span many) {
    return std::any_of(few.begin(), few.end(), [&](std::int32_t x) { return many.has(x); });
  }
  const Ids& vertices(Some places, Span side, Ids& to) const {
    to.clear();
    for (const std::int32_t place : span_of_some(places)) to.push_back(side.first[place]);
    return to;
  }

  /// Where only one side lost vertices, only the other can be extended: what could come back has a
  /// new edge to somebody who stayed.
  bool is_extended(Some left, Some right) {
    if (left.size() < n_left_) {
      Outside* const outside = beyond_right(n_left_);
      if (outside ? is_reached(*outside, left, right.size())
                  : extends(vertices(left, left_side_, some_left_), vertices(right, right_side_, some_right_), g_.by_left_, g_.fresh_left_))
        return true;
    }
    if (right.size() == n_right_) return false;
    Outside* const outside = beyond_left(n_right_);
    return outside ? is_reached(*outside, right, left.size())
                   : extends(vertices(right, right_side_, some_right_), vertices(left, left_side_, some_left_), g_.by_right_, g_.fresh_right_);
  }
  /// Is a vertex beside the n known ones adjacent in G to all of these members of a side?
  bool is_reached(Outside& outside, Some members, std::size_t n_known) const {
    const Places all{span_of_some(members), 0};
    return outside.n_inside(all.members) > n_known || outside.reached_by_all(all, -1);
  }

  /// Is there a vertex beside `others`, to whom all of `members` are adjacent, that they are in G?
  static bool extends(const Ids& members, const Ids& others, const Rows& rows, const FewRows& fresh) {
    std::int32_t least = members.front();
    for (const std::int32_t m : members) {
      if (rows[m].size() < rows[least].size()) least = m;
      if (rows[least].size() == others.size()) return false;  // adjacent to nobody else
    }
    const Span known = span_of(others);
    for (std::int32_t x : rows[least]) {
      if (known.has(x)) continue;
      const auto adjacent = [&](std::int32_t m) { return (m == least || rows[m].has(x)) && !fresh[m].has(x); };
      if (std::all_of(members.begin(), members.end(), adjacent)) return true;
    }
    return false;
  }

  const ChangedGraph& g_;
  const Limits limits_;  // rows are the left side
  const std::function<bool()> stopped_;
  Zeros<std::int32_t> seen_left_, seen_right_;
  std::int32_t number_ = -1;
  std::size_t n_bicliques_ = 0;
  Degrees degrees_{nullptr, nullptr};
  Change change_{-1, -1};
  std::vector<u32> new_start_;  // of each left vertex of the subgraph, among new_
  Ids new_;
  std::vector<char> left_new_, right_new_;  // beside the change (`Seen`)
  Span left_side_{}, right_side_{};
  std::size_t n_left_ = 0, n_right_ = 0;  // of the biclique that is split
  Ids stack_, out_, some_left_, some_right_;
  Outside beyond_right_, beyond_left_;
  bool is_right_known_ = false, is_left_known_ = false;
  std::int32_t left_place_ = 0, right_place_ = 0;  // of the ends of the change
  Ids some_;
};

}  // namespace bicliq
