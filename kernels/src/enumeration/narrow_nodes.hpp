// narrow_nodes.hpp: nodes of at most 32 rows: lists of one-word masks, 32 columns at a time (98 % of all nodes).
//
// At most 32 candidates and 32 befores are a leaf, which holds all of them in registers.
#pragma once

#include "enumeration/search_state.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template <class Self, class Sink, class Crew, class Memory>
class NarrowNodes : public SearchState<Self, Sink, Crew, Memory> {
  using Base = SearchState<Self, Sink, Crew, Memory>;

 protected:
  using Base::Base;
  using typename Base::Mark;
  using typename Base::Parcel;
  using Base::crew_, Base::dropped, Base::head_words, Base::join, Base::leave_to, Base::low_bits, Base::members_, Base::memory_,
      Base::nodes, Base::parcel_head, Base::promising, Base::room, Base::rows_needed_, Base::self, Base::sink_, Base::ticks_;

  struct NarrowLevel {
    u32 *candidates, *ids, *befores;  // one mask a column over the rows of the subtree
    u32 n_candidates, n_befores, next, end, n_members;  // candidates from `next` to `end` are still to be tried here
    u64 members_hash;
    Mark mark;
  };

  NarrowLevel* narrow_ = nullptr;  // the open levels, and the next one being filled
  u32* subtree_rows_ = nullptr;    // rows of the graph that the bits of the masks stand for
  u32 n_narrow_ = 0, n_subtree_rows_ = 0;

  template <class F>
  void each_field(F&& f) {
    Base::each_field(f);
    f(narrow_);
    f(subtree_rows_);
    f(n_narrow_);
    f(n_subtree_rows_);
    f(parked_leaf_);
  }
  bool narrow_room() { return room(kLanes, narrow_[n_narrow_ - 1].n_members + narrow_[n_narrow_ - 1].n_candidates); }
  bool parked_in_leaf() const { return parked_leaf_ != 0; }
  void forget_leaf() { parked_leaf_ = 0; }

  static constexpr usize kLevelWords = (kLanes + 1) * Base::template words_of<NarrowLevel>();
  static constexpr usize narrow_words() { return kLevelWords + 4 * kLanes; }
  void take_narrow_levels() { narrow_ = reinterpret_cast<NarrowLevel*>(memory_.take(narrow_words())); }

  /// Hands a share of the shallowest open level to the crew; false where none has anything to give.
  bool give_narrow() {
    BICLIQ_ROLL
    for (u32 i = 0; i < n_narrow_; ++i)
      if (narrow_[i].next < narrow_[i].end) return give_narrow(narrow_[i]);
    return parked_in_leaf() && give_leaf(narrow_[n_narrow_]);
  }

  /// Makes the root of a subtree the node to be opened; returns its rows.
  u32 start_narrow(const Subtree& tree) {
    NarrowLevel& level = narrow_[0];
    level.mark = memory_.mark();
    level.n_candidates = tree.n_candidates;
    level.end = tree.to;
    level.n_befores = tree.n_befores;
    level.candidates = tree.candidates;
    level.ids = tree.ids;
    level.befores = tree.befores;
    subtree_rows_ = tree.rows;
    n_subtree_rows_ = tree.n_rows;
    sink_.rows(tree.rows, tree.n_rows);
    return tree.n_rows;
  }

  /// Makes narrow_[n_narrow_] the current node (its lists are filled), or searches it at once as a leaf, which may be parked.
  void open_narrow(u32 n_rows) {
    NarrowLevel& level = narrow_[n_narrow_];
    if (!parked_in_leaf()) drop_dominated(level);
    const bool worth = parked_in_leaf() || (level.end && promising(n_rows, members_.n + level.n_candidates));
    if (worth && level.n_candidates <= kLanes && level.n_befores <= kLanes && level.end == level.n_candidates) {
      leaf(level);
      if (parked_in_leaf()) return;
    } else if (worth) {
      level.next = 0;
      level.n_members = members_.n;
      level.members_hash = members_.hash;
      ++n_narrow_;
      return;
    }
    memory_.release(level.mark);
  }

  u32 step_narrow(NarrowLevel& level) {
    const u32 n = level.end;
    u32 x = level.next;
    for (; x < n; x += kLanes) {
      const u32 alive = ballot(nonzero(load(level.candidates + x, first_lanes(n - x))));
      if (!alive) continue;
      x += first_set(alive);
      break;
    }
    if (x >= n) {
      memory_.release(level.mark);
      --n_narrow_;
      return 0;
    }
    level.next = x + 1;
    leave_to(level.n_members, level.members_hash);
    return narrow_child(level, x);
  }

  static bool covers(const u32* columns, u32 n, Lanes rows) {
    for (u32 i = 0; i < n; i += kLanes)
      if (ballot(((load(columns + i, first_lanes(n - i)) & rows) == rows))) return true;
    return false;
  }

  /// The child of candidate x of a narrow node; returns its rows where it is to be opened.
  u32 narrow_child(NarrowLevel& from, u32 x) {
    const u32 bits = from.candidates[x];
    const Lanes rows = splat(bits);
    ++nodes;
    ticks_ += kLeafNodesAStep + (from.n_befores + from.n_candidates) / 128;
    if (covers(from.befores, from.n_befores, rows) || covers(from.candidates, x, rows)) {
      ++dropped;
      put(from.candidates + x, 0);  // a before covers x: it forbids all that x would
      return 0;
    }
    if (!memory_.fits(2 * usize{from.n_candidates} + from.n_befores + 256)) {
      self().overflow();
      return 0;
    }
    join(from.ids[x]);
    NarrowLevel& child = narrow_[n_narrow_];
    child.mark = memory_.mark();
    child.candidates = memory_.take(from.n_candidates - x);
    child.ids = memory_.take(Sink::kMembers ? from.n_candidates - x : 0);
    u32 wanted = 0;
    const u32 n = split_candidates(from, x, bits, child, wanted);
    sink_.found(bits, members_);
    if (!n || !promising(popcount(bits), members_.n + n)) {
      memory_.release(child.mark);
      return 0;
    }
    child.n_candidates = child.end = n;
    child.befores = memory_.take(from.n_befores + x);
    u32 n_befores = restrict_befores(from.befores, from.n_befores, wanted, child.befores);
    n_befores += restrict_befores(from.candidates, x, wanted, child.befores + n_befores);
    child.n_befores = n_befores;
    return popcount(bits);
  }

  /// The candidates after x over the rows of x: members of R, candidates of the child, or done with. Returns
  /// the child's; `wanted` gets the rows that they have.
  u32 split_candidates(NarrowLevel& from, u32 x, u32 bits, NarrowLevel& child, u32& wanted) {
    const Lanes rows = splat(bits);
    u32* candidates = from.candidates;
    const u32 end = from.n_candidates;
    u32 n = 0;
    Lanes reach = splat(0);
    for (u32 i = x + 1; i < end; i += kLanes) {
      const Flags real = first_lanes(end - i);
      const Lanes masks = load(candidates + i, real), inside = masks & rows;
      const Flags full = inside == rows, kept = at_least(inside, rows_needed_) & ~full;
      store(candidates + i, splat(0), (inside == masks) & real);  // inside N(x): done with
      if constexpr (Sink::kMembers) {
        const Lanes ids = load(from.ids + i, real);
        for (u32 left = ballot(full); left; left &= left - 1) join(lane(ids, first_set(left)));
        compact(child.ids + n, ids, kept);
      }
      reach = reach | select(kept, inside, splat(0));
      n += compact(child.candidates + n, inside, kept);
    }
    wanted = any_bits(reach);
    return n;
  }

  /// Copies the columns with at least rows_needed_ of the wanted rows, reduced to those.
  u32 restrict_befores(const u32* from, u32 n, u32 wanted, u32* to) const {
    const Lanes rows = splat(wanted);
    u32 kept = 0;
    for (u32 i = 0; i < n; i += kLanes) {
      const Lanes masks = load(from + i, first_lanes(n - i)) & rows;
      kept += compact(to + kept, masks, at_least(masks, rows_needed_));
    }
    return kept;
  }

 private:
  static constexpr u32 kFewCandidates = 6;
  static constexpr u32 kRegisterBefores = 128;  // befores that the dominance filter holds in registers
  static constexpr u32 kKept = 64;              // befores that the filter keeps at most in its passes over memory

  // ---- dominated columns --------------------------------------------------------------------------

  /// Drops befores inside other befores, and candidates inside befores; the largest befores come first.
  void drop_dominated(NarrowLevel& level) {
    if (!level.n_befores || !level.n_candidates) return;
    if (level.n_candidates <= kFewCandidates && level.n_befores <= kLanes) return;  // searched sooner than filtered
    u32* befores = level.befores;
    u32 kept = 0;
    if (level.n_befores > kRegisterBefores) kept = thin_out(befores, level.n_befores);
    if (level.n_befores - kept <= 32)
      kept += keep_largest<1>(befores + kept, level.n_befores - kept);
    else if (level.n_befores - kept <= 64)
      kept += keep_largest<2>(befores + kept, level.n_befores - kept);
    else if (level.n_befores - kept <= kRegisterBefores)
      kept += keep_largest<4>(befores + kept, level.n_befores - kept);
    else
      kept = level.n_befores;
    level.n_befores = kept;
    drop_covered_candidates(level);
  }

  /// Moves up to kKept largest befores to the front and drops all inside them; returns how many it moved. The
  /// level's number of befores is brought up to date.
  u32 thin_out(u32* befores, u32& n) {
    u32 kept = 0;
    while (n - kept > kRegisterBefores && kept < kKept) {
      Lanes best = splat(0), best_count = splat(0);
      BICLIQ_ROLL
      for (u32 i = kept; i < n; i += kLanes) {
        const Lanes masks = load(befores + i, first_lanes(n - i)), counts = popcounts(masks);
        const Flags larger = counts > best_count;
        best = select(larger, masks, best);
        best_count = select(larger, counts, best_count);
      }
      const u32 most = largest(best_count);
      const u32 mask = lane(best, first_set(ballot(best_count == splat(most))));
      const Lanes cover = splat(mask);
      u32 to = kept;
      BICLIQ_ROLL
      for (u32 i = kept; i < n; i += kLanes) {
        const Lanes masks = load(befores + i, first_lanes(n - i));
        to += compact(befores + to, masks, nonzero(without(masks, cover)));
      }
      // One place is free: the mask itself was dropped.
      put(befores + to, befores[kept]);
      put(befores + kept++, mask);
      n = to + 1;
    }
    return kept;
  }

  /// The same in registers, for at most 32 K befores, to the end.
  template <u32 K>
  u32 keep_largest(u32* befores, u32 n) const {
    Lanes masks[K], keys[K];
    BICLIQ_UNROLL
    for (u32 k = 0; k < K; ++k) {
      masks[k] = load(befores + 32 * k, first_lanes(n > 32 * k ? n - 32 * k : 0));
      keys[k] = select(nonzero(masks[k]), shift_left(popcounts(masks[k]), 8) | (lane_numbers() + splat(32 * k)), splat(0));
    }
    u32 kept = 0;
    for (;;) {
      Lanes best = keys[0];
      BICLIQ_UNROLL
      for (u32 k = 1; k < K; ++k) best = select(keys[k] > best, keys[k], best);
      const u32 key = largest(best);
      if (!key) return kept;
      const u32 at = key & 0xff;
      u32 mask = 0;
      BICLIQ_UNROLL
      for (u32 k = 0; k < K; ++k)
        if (k == at / 32) mask = lane(masks[k], at % 32);
      put(befores + kept++, mask);
      const Lanes cover = splat(mask);
      BICLIQ_UNROLL
      for (u32 k = 0; k < K; ++k) keys[k] = select(nonzero(without(masks[k], cover)), keys[k], splat(0));
    }
  }

  void drop_covered_candidates(NarrowLevel& level) const {
    u32 to = 0, end = 0;
    BICLIQ_ROLL
    for (u32 i = 0; i < level.n_candidates; i += kLanes) {
      const Flags real = first_lanes(level.n_candidates - i);
      const Lanes masks = load(level.candidates + i, real);
      Flags kept = nonzero(masks);
      for (u32 b = 0; b < level.n_befores; ++b) kept = kept & nonzero(without(masks, splat(level.befores[b])));
      if (i < level.end) end = to + popcount(ballot(kept) & low_bits(level.end - i));
      if constexpr (Sink::kMembers) compact(level.ids + to, load(level.ids + i, real), kept);
      to += compact(level.candidates + to, masks, kept);
    }
    level.n_candidates = to;
    level.end = end;
  }

  // ---- leaves -------------------------------------------------------------------------------------

  /// Open levels of a leaf: rows, candidates to try, candidates tried, candidates that joined R.
  struct LeafStack {
    LaneStack rows, todo, tried, joined;
    u32 depth = 0;
  };
  struct LeafState {
    u32 rows, todo, tried, joined;
  };
  u32 parked_leaf_ = 0;  // open levels of a leaf that was left, the current one last; they lie behind the narrow levels

  u32* leaf_words() const { return reinterpret_cast<u32*>(narrow_) + kLevelWords; }
  void park_leaf(LeafStack& open, const LeafState& at) {
    push(open, at);
    parked_leaf_ = open.depth;
    u32* words = leaf_words();
    open.rows.save(words);
    open.todo.save(words + kLanes);
    open.tried.save(words + 2 * kLanes);
    if constexpr (Sink::kMembers) open.joined.save(words + 3 * kLanes);
  }
  LeafState unpark_leaf(LeafStack& open) {
    const u32* words = leaf_words();
    open.rows.restore(words);
    open.todo.restore(words + kLanes);
    open.tried.restore(words + 2 * kLanes);
    if constexpr (Sink::kMembers) open.joined.restore(words + 3 * kLanes);
    open.depth = parked_leaf_;
    parked_leaf_ = 0;
    return pop(open);
  }

  /// At most 32 candidates and 32 befores: one of each a lane, the state of a node in four words. Left, and parked, where
  /// the sink has no room or somebody waits for work.
  void leaf(const NarrowLevel& level) {
    LeafStack open;
    const Flags real = first_lanes(level.n_candidates);
    const Lanes candidates = load(level.candidates, real);
    const Lanes befores = load(level.befores, first_lanes(level.n_befores));
    if constexpr (Sink::kMembers) sink_.leaf(level.ids, level.n_candidates);
    LeafState at = {~0u, ballot(nonzero(candidates)), 0, 0};
    if (parked_leaf_) at = unpark_leaf(open);
    for (;;) {
      if (!at.todo) {
        if (!open.depth) return;
        at = pop(open);
        continue;
      }
      if (!room(kLanes, members_.n + level.n_candidates) || (++ticks_ >= kNodesAPoll && self().called())) return park_leaf(open, at);
      ++nodes;
      const u32 x = first_set(at.todo);
      at.todo &= at.todo - 1;
      const u32 bits = lane(candidates, x) & at.rows;
      const Lanes rows = splat(bits), inside = candidates & rows;
      const u32 full = ballot(inside == rows);
      const u32 escapes = ballot(meets(candidates, splat(at.rows & ~bits)));
      const u32 after = at.todo;
      at.todo &= escapes;
      if ((full & at.tried) || ballot((befores & rows) == rows)) {
        ++dropped;
        continue;
      }
      const u32 joined = at.joined | 1u << x | (full & after);
      if constexpr (Sink::kMembers)
        sink_.found_in_leaf(bits, members_, joined);
      else
        sink_.found(bits, members_);
      const u32 next = after & ~full & ballot(at_least(inside, rows_needed_));
      const u32 tried = at.tried;
      at.tried |= 1u << x;
      if (next && promising(popcount(bits), members_.n + popcount(joined) + popcount(next))) {
        if (at.todo) push(open, at);
        at = {bits, next, tried, joined};
      }
    }
  }

  static void push(LeafStack& open, const LeafState& at) {
    open.rows.put(open.depth, at.rows);
    open.todo.put(open.depth, at.todo);
    open.tried.put(open.depth, at.tried);
    if constexpr (Sink::kMembers) open.joined.put(open.depth, at.joined);
    ++open.depth;
  }
  static LeafState pop(LeafStack& open) {
    const u32 i = --open.depth;
    return {open.rows.get(i), open.todo.get(i), open.tried.get(i), Sink::kMembers ? open.joined.get(i) : 0};
  }

  // ---- giving work away ---------------------------------------------------------------------------

  /// The taker tries the last candidates of a level, and those before them are its befores; the level keeps all for its closures.
  bool give_narrow(NarrowLevel& level) {
    const u32 next = level.end - (level.end - level.next + kShares - 1) / kShares, n = level.n_candidates - next;
    Parcel parcel = crew_.parcel(2 * padded(n) + padded(usize{level.n_befores} + next) + padded(kLanes) + head_words(level.n_members));
    if (!parcel) return false;
    Subtree tree = parcel_head(parcel, level.n_members, level.members_hash);
    tree.candidates = parcel.take(n);
    tree.ids = parcel.take(n);
    tree.befores = parcel.take(usize{level.n_befores} + next);
    tree.to = copy_alive(level, next, level.end, tree.candidates, tree.ids);
    tree.n_candidates = tree.to + copy_alive(level, level.end, level.n_candidates, tree.candidates + tree.to, tree.ids + tree.to);
    const u32 *befores = level.befores;
    u32* to = tree.befores;
    each_item(level.n_befores, [=](u32 i) { to[i] = befores[i]; });
    tree.n_befores = level.n_befores + copy_alive(level, 0, next, tree.befores + level.n_befores, nullptr);
    send_narrow(static_cast<Parcel&&>(parcel), tree);
    level.end = next;
    return true;
  }

  /// Copies the candidates in a range that are not done with (ids may be null).
  static u32 copy_alive(const NarrowLevel& level, u32 first, u32 end, u32* masks_to, u32* ids_to) {
    u32 n = 0;
    BICLIQ_ROLL
    for (u32 i = first; i < end; i += kLanes) {
      const Flags real = first_lanes(end - i);
      const Lanes masks = load(level.candidates + i, real);
      if constexpr (Sink::kMembers)
        if (ids_to) compact(ids_to + n, load(level.ids + i, real), nonzero(masks));
      n += compact(masks_to + n, masks, nonzero(masks));
    }
    return n;
  }

  /// Gives away the shallowest level of the parked leaf that waits with candidates.
  bool give_leaf(const NarrowLevel& level) {
    const u32* words = leaf_words();
    u32 i = 0;
    while (i + 1 < parked_leaf_ && !words[kLanes + i]) ++i;
    if (i + 1 == parked_leaf_) return false;
    const u32 todo = words[kLanes + i], tried = words[2 * kLanes + i], joined = Sink::kMembers ? words[3 * kLanes + i] : 0;
    Parcel parcel = crew_.parcel(5 * padded(2 * kLanes) + head_words(members_.n + kLanes));
    if (!parcel) return false;
    const u32 n_members = members_.n;
    const u64 hash = members_.hash;
    if constexpr (Sink::kMembers)
      BICLIQ_ROLL
      for (u32 bits = joined; bits; bits &= bits - 1) join(level.ids[first_set(bits)]);
    Subtree tree = parcel_head(parcel, members_.n, members_.hash);
    leave_to(n_members, hash);
    const Lanes rows = splat(words[i]), masks = load(level.candidates, first_lanes(level.n_candidates)) & rows,
                befores = load(level.befores, first_lanes(level.n_befores)) & rows;
    tree.candidates = parcel.take(kLanes);
    tree.ids = parcel.take(kLanes);
    tree.befores = parcel.take(2 * kLanes);
    if constexpr (Sink::kMembers) compact(tree.ids, load(level.ids, first_lanes(level.n_candidates)), flags(todo));
    tree.n_candidates = tree.to = compact(tree.candidates, masks, flags(todo));
    tree.n_befores = compact(tree.befores, befores, at_least(befores, rows_needed_));
    tree.n_befores += compact(tree.befores + tree.n_befores, masks, flags(tried));
    send_narrow(static_cast<Parcel&&>(parcel), tree);
    put(leaf_words() + kLanes + i, 0);
    return true;
  }

  void send_narrow(Parcel&& parcel, Subtree& tree) {
    u32* rows = parcel.take(kLanes);
    const u32* own = subtree_rows_;
    each_item(n_subtree_rows_, [=](u32 i) { rows[i] = own[i]; });
    tree.rows = rows;
    tree.n_rows = n_subtree_rows_;
    if (tree.to) crew_.give(static_cast<Parcel&&>(parcel), tree);
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
