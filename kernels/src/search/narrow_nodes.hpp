// narrow_nodes.hpp: nodes of at most 32 rows, as lists of masks of one word.
//
// A column is a mask over the rows of its subtree (32 at most), and a group of lanes works on 32
// columns at a time. Nearly all nodes are narrow, as docs/methods.md tells. A node with at most
// 32 candidates and 32 excluded columns is searched to its end as a *leaf*, which holds all of them
// in registers.
//
// Cost of a node: a pass over its candidates and its excluded columns. Memory: a word a column and
// node on the path, and one for the number of a candidate where members of R are wanted.
#pragma once

#include "search/search_state.hpp"

namespace bicliq {

template <class Self, class Sink, class Workers, class Memory>
class NarrowNodes : public SearchState<Self, Sink, Workers, Memory> {
  using Base = SearchState<Self, Sink, Workers, Memory>;

 protected:
  using Base::Base;
  using Base::workers_, Base::dropped, Base::members_words, Base::join, Base::reset_members,
      Base::members_, Base::memory_, Base::nodes, Base::begin_given, Base::promising, Base::room, Base::rows_needed_,
      Base::self, Base::sink_, Base::since_poll_;
  using typename Base::Block;
  using typename Base::Mark;

  struct NarrowLevel {
    u32 *candidates, *ids, *excluded;  // a mask a column over the rows of the subtree; 0: a candidate that is done with
    u32 n_candidates, n_excluded;
    u32 next, end;  // candidates that are still to be tried here
    u32 n_members;  // R, as it was when the node was opened
    u64 members_hash;
    Mark mark;  // memory is released to here when the node is done
  };

  NarrowLevel* narrow_ = nullptr;  // the open nodes, and behind them the one that is being filled
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

  /// Gives away a share of the shallowest open level; false where none has anything to give.
  bool give_narrow() {
    BICLIQ_ROLL
    for (u32 i = 0; i < n_narrow_; ++i)
      if (narrow_[i].next < narrow_[i].end) return give_narrow(narrow_[i]);
    return parked_in_leaf() && give_leaf(narrow_[n_narrow_]);
  }

  /// Makes the root of a subtree the node that is opened next.
  Next start_narrow(const Subtree& tree) {
    NarrowLevel& level = narrow_[0];
    level.mark = memory_.mark();
    level.n_candidates = tree.n_candidates;
    level.end = tree.to;
    level.n_excluded = tree.n_excluded;
    level.candidates = tree.candidates;
    level.ids = tree.ids;
    level.excluded = tree.excluded;
    subtree_rows_ = tree.rows;
    n_subtree_rows_ = tree.n_rows;
    sink_.rows(tree.rows, tree.n_rows);
    return open_narrow_of(tree.n_rows);
  }

  /// Makes narrow_[n_narrow_], whose lists are filled, the current node; or searches it at once as
  /// a leaf, which may park; or goes on with such a leaf.
  void open_narrow(Next next) {
    NarrowLevel& level = narrow_[n_narrow_];
    if constexpr (Sink::wants_best)
      if (!parked_in_leaf() && !sink_.aim(level.candidates, level.ids, level.n_candidates, level.end, members_))
        return memory_.release(level.mark);
    if (!parked_in_leaf()) drop_dominated(level);
    const bool searched =
        parked_in_leaf() || (level.end && promising(static_cast<u32>(next), members_.n + level.n_candidates));
    if (searched && level.n_candidates <= kLanes && level.n_excluded <= kLanes && level.end == level.n_candidates) {
      leaf(level);
      if (parked_in_leaf()) return;
    } else if (searched) {
      level.next = 0;
      level.n_members = members_.n;
      level.members_hash = members_.hash;
      ++n_narrow_;
      return;
    }
    memory_.release(level.mark);
  }

  /// Tries the next candidate of a level, or closes it.
  Next step_narrow(NarrowLevel& level) {
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
      return Next::kStep;
    }
    level.next = x + 1;
    reset_members(level.n_members, level.members_hash);
    return narrow_child(level, x);
  }

  /// Has one of n columns all of these rows?
  static bool covers(const u32* columns, u32 n, Lanes rows) {
    for (u32 i = 0; i < n; i += kLanes)
      if (ballot(((load(columns + i, first_lanes(n - i)) & rows) == rows))) return true;
    return false;
  }

  /// Fills narrow_[n_narrow_] with the child for candidate x.
  Next narrow_child(NarrowLevel& from, u32 x) {
    const u32 bits = from.candidates[x];
    const Lanes rows = splat(bits);
    ++nodes;
    since_poll_ += kNodesAStep + (from.n_excluded + from.n_candidates) / 128;
    if (covers(from.excluded, from.n_excluded, rows) || covers(from.candidates, x, rows)) {
      ++dropped;
      put(from.candidates + x, 0);  // x need not exclude anything later: the column that has all its rows does
      return Next::kStep;
    }
    if (!memory_.fits(2 * usize{from.n_candidates} + from.n_excluded + 256)) {
      self().overflow();
      return Next::kStep;
    }
    join(from.ids[x]);
    NarrowLevel& child = narrow_[n_narrow_];
    child.mark = memory_.mark();
    child.candidates = memory_.take(from.n_candidates - x);
    child.ids = memory_.take(Sink::wants_members ? from.n_candidates - x : 0);
    u32 wanted = 0;
    const u32 n = split_candidates(from, x, bits, child, wanted);
    sink_.found(bits, members_);
    bool opens = n && promising(popcount(bits), members_.n + n);
    if constexpr (Sink::bounds_by_weight) opens = opens && sink_.narrow_reaches(wanted, child.ids, n, members_);
    if (!opens) {
      memory_.release(child.mark);
      return Next::kStep;
    }
    child.n_candidates = child.end = n;
    child.excluded = memory_.take(from.n_excluded + x);
    u32 n_excluded = restrict_excluded(from.excluded, from.n_excluded, wanted, child.excluded);
    n_excluded += restrict_excluded(from.candidates, x, wanted, child.excluded + n_excluded);
    child.n_excluded = n_excluded;
    return open_narrow_of(popcount(bits));
  }

  /// Divides the candidates after x, cut down to the rows of x: those that have all of them join R,
  /// those with enough of them are the child's, and those that have no others are done with at this
  /// node. Returns the number of the child's; `wanted` gets the rows that these have.
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
      store(candidates + i, splat(0), (inside == masks) & real);  // all its rows are in N(x): done with
      if constexpr (Sink::wants_members) {
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

  /// Copies the columns that have enough of the wanted rows, cut down to these; returns their
  /// number.
  u32 restrict_excluded(const u32* from, u32 n, u32 wanted, u32* to) const {
    const Lanes rows = splat(wanted);
    u32 kept = 0;
    for (u32 i = 0; i < n; i += kLanes) {
      const Lanes masks = load(from + i, first_lanes(n - i)) & rows;
      kept += compact(to + kept, masks, at_least(masks, rows_needed_));
    }
    return kept;
  }

 private:
  static constexpr u32 kFewCandidates = 6;        // with at most 32 excluded columns: searched sooner than filtered
  static constexpr u32 kRegisterExcluded = 128;  // excluded columns that the filter can hold in registers
  static constexpr u32 kMostPasses = 64;         // over excluded columns in memory
  static constexpr u32 kBlockBits = 26;          // of a key that says which 32 columns; before them a number of rows

  // ---- dominated columns ------------------------------------------------------------------------

  /// Drops what changes no answer: excluded columns whose rows one of the `kFilters` largest has,
  /// and candidates whose rows one of these has. The largest are left first, by falling size.
  void drop_dominated(NarrowLevel& level) {
    if (!level.n_excluded || !level.n_candidates) return;
    if (level.n_candidates <= kFewCandidates && level.n_excluded <= kLanes) return;
    u32* excluded = level.excluded;
    u32 kept = 0;
    if (level.n_excluded > kRegisterExcluded) kept = thin_out(excluded, level.n_excluded);
    if (level.n_excluded - kept <= 32)
      kept += keep_largest<1>(excluded + kept, level.n_excluded - kept);
    else if (level.n_excluded - kept <= 64)
      kept += keep_largest<2>(excluded + kept, level.n_excluded - kept);
    else if (level.n_excluded - kept <= kRegisterExcluded)
      kept += keep_largest<4>(excluded + kept, level.n_excluded - kept);
    else
      kept = level.n_excluded;
    level.n_excluded = kept;
    drop_covered_candidates(level);
  }

  /// Moves the largest excluded column to the front and drops those whose rows it has, again and
  /// again, until few enough are left; returns how many it moved, and brings `n` up to date.
  u32 thin_out(u32* excluded, u32& n) {
    u32 kept = 0;
    while (n - kept > kRegisterExcluded && kept < kMostPasses) {
      Lanes best = splat(0);
      BICLIQ_ROLL
      for (u32 i = kept, block = 0; i < n; i += kLanes, ++block)
        best = larger(best, shift_left(popcounts(load(excluded + i, first_lanes(n - i))), kBlockBits) | splat(block));
      const u32 key = largest(best), block = key & low_bits(kBlockBits);
      const u32 mask = excluded[kept + kLanes * block + first_set(ballot(best == splat(key)))];
      const Lanes cover = splat(mask);
      u32 to = kept;
      BICLIQ_ROLL
      for (u32 i = kept; i < n; i += kLanes) {
        const Lanes masks = load(excluded + i, first_lanes(n - i));
        to += compact(excluded + to, masks, nonzero(without(masks, cover)));
      }
      // The mask itself was dropped as well, so one place is free.
      put(excluded + to, excluded[kept]);
      put(excluded + kept++, mask);
      n = to + 1;
    }
    return kept;
  }

  /// The same for the largest few, in registers, for at most 32·K excluded columns; returns how
  /// many are left.
  template <u32 K>
  u32 keep_largest(u32* excluded, u32 n) const {
    Lanes masks[K], keys[K];
    BICLIQ_UNROLL
    for (u32 k = 0; k < K; ++k) {
      masks[k] = load(excluded + 32 * k, first_lanes(n > 32 * k ? n - 32 * k : 0));
      keys[k] = keep_where(masks[k], shift_left(popcounts(masks[k]), 8) | (lane_numbers() + splat(32 * k)));
    }
    u32 kept = 0;
    for (;;) {
      Lanes best = keys[0];
      BICLIQ_UNROLL
      for (u32 k = 1; k < K; ++k) best = larger(best, keys[k]);
      const u32 key = largest(best);
      if (!key) return kept;
      if (kFilters < 32 * K && kept == kFilters) {
        BICLIQ_UNROLL
        for (u32 k = 0; k < K; ++k) kept += compact(excluded + kept, masks[k], nonzero(keys[k]));
        return kept;
      }
      const u32 mask = lane(masks, key & 0xff);
      put(excluded + kept++, mask);
      const Lanes cover = splat(mask);
      BICLIQ_UNROLL
      for (u32 k = 0; k < K; ++k) keys[k] = keep_where(without(masks[k], cover), keys[k]);
    }
  }

  /// Drops the candidates that are done with, and those whose rows a large excluded column has.
  void drop_covered_candidates(NarrowLevel& level) const {
    const u32 n_filters = level.n_excluded < kFilters ? level.n_excluded : kFilters;
    u32 to = 0, end = 0;
    BICLIQ_ROLL
    for (u32 i = 0; i < level.n_candidates; i += kLanes) {
      const Flags real = first_lanes(level.n_candidates - i);
      const Lanes masks = load(level.candidates + i, real);
      Flags kept = nonzero(masks);
      for (u32 b = 0; b < n_filters; ++b) kept = kept & nonzero(without(masks, splat(level.excluded[b])));
      if (i < level.end) end = to + popcount(ballot(kept) & low_bits(level.end - i));
      if constexpr (Sink::wants_members) compact(level.ids + to, load(level.ids + i, real), kept);
      to += compact(level.candidates + to, masks, kept);
    }
    level.n_candidates = to;
    level.end = end;
  }

  // ---- leaves -----------------------------------------------------------------------------------

  /// A node of a leaf: its rows; and of the leaf's candidates those to be tried, those tried
  /// before, and those that joined R.
  struct LeafState {
    u32 rows, todo, tried, joined;
  };
  /// Its open nodes, a word of each a level.
  struct LeafStack {
    LaneStack rows, todo, tried, joined;
    u32 depth = 0;
  };
  u32 parked_leaf_ = 0;  // levels of the parked leaf, the current one last; its stack is saved behind the narrow levels

  u32* leaf_words() const { return reinterpret_cast<u32*>(narrow_) + kLevelWords; }
  void park_leaf(LeafStack& open, const LeafState& at) {
    push(open, at);
    parked_leaf_ = open.depth;
    u32* words = leaf_words();
    open.rows.save(words);
    open.todo.save(words + kLanes);
    open.tried.save(words + 2 * kLanes);
    if constexpr (Sink::wants_members) open.joined.save(words + 3 * kLanes);
  }
  LeafState unpark_leaf(LeafStack& open) {
    const u32* words = leaf_words();
    open.rows.restore(words);
    open.todo.restore(words + kLanes);
    open.tried.restore(words + 2 * kLanes);
    if constexpr (Sink::wants_members) open.joined.restore(words + 3 * kLanes);
    open.depth = parked_leaf_;
    parked_leaf_ = 0;
    return pop(open);
  }

  /// Searches below a node of at most 32 candidates and 32 excluded columns: a lane holds one of
  /// each, and a node of the leaf is four words. It parks where the sink has no room or a worker
  /// waits.
  void leaf(const NarrowLevel& level) {
    LeafStack open;
    const Flags real = first_lanes(level.n_candidates);
    const Lanes candidates = load(level.candidates, real);
    const Lanes excluded = load(level.excluded, first_lanes(level.n_excluded));
    if constexpr (Sink::wants_members) sink_.leaf(members_, level.ids, level.n_candidates);
    LeafState at = {~0u, ballot(nonzero(candidates)), 0, 0};
    if (parked_leaf_) at = unpark_leaf(open);
    for (;;) {
      if (!at.todo) {
        if (!open.depth) return;
        at = pop(open);
        continue;
      }
      if (!room(kLanes, members_.n + level.n_candidates) || (++since_poll_ >= kNodesAPoll && self().poll()))
        return park_leaf(open, at);
      ++nodes;
      const u32 x = first_set(at.todo);
      at.todo &= at.todo - 1;
      const u32 bits = lane(candidates, x) & at.rows;
      const Lanes rows = splat(bits), inside = candidates & rows;
      const u32 full = ballot(inside == rows);
      const u32 escapes = ballot(meets(candidates, splat(at.rows & ~bits)));
      const u32 after = at.todo;
      at.todo &= escapes;
      if ((full & at.tried) || ballot((excluded & rows) == rows)) {
        ++dropped;
        continue;
      }
      const u32 joined = at.joined | 1u << x | (full & after);
      if constexpr (Sink::wants_members)
        sink_.found_in_leaf(bits, members_, joined);
      else
        sink_.found(bits, members_);
      u32 next = after & ~full & ballot(at_least(inside, rows_needed_));
      const u32 tried = at.tried;
      at.tried |= 1u << x;
      if (next && promising(popcount(bits), members_.n + popcount(joined) + popcount(next))) {
        if constexpr (Sink::wants_best)
          if (!(next = sink_.aim_leaf(bits, inside, next, members_, joined))) continue;
        if constexpr (Sink::bounds_by_weight)
          if (!sink_.leaf_reaches(any_bits(select(flags(next), inside, splat(0))), next, members_, joined)) continue;
        if (at.todo) push(open, at);
        at = {bits, next, tried, joined};
      }
    }
  }

  static void push(LeafStack& open, const LeafState& at) {
    open.rows.put(open.depth, at.rows);
    open.todo.put(open.depth, at.todo);
    open.tried.put(open.depth, at.tried);
    if constexpr (Sink::wants_members) open.joined.put(open.depth, at.joined);
    ++open.depth;
  }
  static LeafState pop(LeafStack& open) {
    const u32 i = --open.depth;
    return {open.rows.get(i), open.todo.get(i), open.tried.get(i), Sink::wants_members ? open.joined.get(i) : 0};
  }

  // ---- giving work away -------------------------------------------------------------------------

  /// Whoever takes it tries the last candidates of the level, and counts those before them as
  /// excluded. The level itself keeps all of them, for the closures of the candidates that it still
  /// tries.
  bool give_narrow(NarrowLevel& level) {
    const u32 next = level.end - (level.end - level.next + kShares - 1) / kShares, n = level.n_candidates - next;
    Block block = workers_.block(2 * padded(n) + padded(usize{level.n_excluded} + next) + padded(kLanes) +
                                 members_words(level.n_members));
    if (!block) return false;
    Subtree tree = begin_given(block, level.n_members, level.members_hash);
    tree.candidates = block.take(n);
    tree.ids = block.take(n);
    tree.excluded = block.take(usize{level.n_excluded} + next);
    tree.to = copy_alive(level, next, level.end, tree.candidates, tree.ids);
    tree.n_candidates =
        tree.to + copy_alive(level, level.end, level.n_candidates, tree.candidates + tree.to, tree.ids + tree.to);
    const u32 *excluded = level.excluded;
    u32* to = tree.excluded;
    each_item(level.n_excluded, [=](u32 i) { to[i] = excluded[i]; });
    tree.n_excluded = level.n_excluded + copy_alive(level, 0, next, tree.excluded + level.n_excluded, nullptr);
    send_narrow(static_cast<Block&&>(block), tree);
    level.end = next;
    return true;
  }

  /// Copies the candidates in a range that are not done with; returns their number. `ids_to` may be
  /// null.
  static u32 copy_alive(const NarrowLevel& level, u32 first, u32 end, u32* masks_to, u32* ids_to) {
    u32 n = 0;
    BICLIQ_ROLL
    for (u32 i = first; i < end; i += kLanes) {
      const Flags real = first_lanes(end - i);
      const Lanes masks = load(level.candidates + i, real);
      if constexpr (Sink::wants_members)
        if (ids_to) compact(ids_to + n, load(level.ids + i, real), nonzero(masks));
      n += compact(masks_to + n, masks, nonzero(masks));
    }
    return n;
  }

  /// Gives away all that is left to try at the shallowest open level of the parked leaf.
  bool give_leaf(const NarrowLevel& level) {
    const u32* words = leaf_words();
    u32 i = 0;
    while (i + 1 < parked_leaf_ && !words[kLanes + i]) ++i;
    if (i + 1 == parked_leaf_) return false;
    const u32 todo = words[kLanes + i], tried = words[2 * kLanes + i],
              joined = Sink::wants_members ? words[3 * kLanes + i] : 0;
    Block block = workers_.block(5 * padded(2 * kLanes) + members_words(members_.n + kLanes));
    if (!block) return false;
    const u32 n_members = members_.n;
    const u64 hash = members_.hash;
    if constexpr (Sink::wants_members)
      BICLIQ_ROLL
      for (u32 bits = joined; bits; bits &= bits - 1) join(level.ids[first_set(bits)]);
    Subtree tree = begin_given(block, members_.n, members_.hash);
    reset_members(n_members, hash);
    const Lanes rows = splat(words[i]), masks = load(level.candidates, first_lanes(level.n_candidates)) & rows,
                excluded = load(level.excluded, first_lanes(level.n_excluded)) & rows;
    tree.candidates = block.take(kLanes);
    tree.ids = block.take(kLanes);
    tree.excluded = block.take(2 * kLanes);
    if constexpr (Sink::wants_members) compact(tree.ids, load(level.ids, first_lanes(level.n_candidates)), flags(todo));
    tree.n_candidates = tree.to = compact(tree.candidates, masks, flags(todo));
    tree.n_excluded = compact(tree.excluded, excluded, at_least(excluded, rows_needed_));
    tree.n_excluded += compact(tree.excluded + tree.n_excluded, masks, flags(tried));
    send_narrow(static_cast<Block&&>(block), tree);
    put(leaf_words() + kLanes + i, 0);
    return true;
  }

  /// Adds the rows that its masks are over, and gives the subtree away if it has a candidate to
  /// try.
  void send_narrow(Block&& block, Subtree& tree) {
    u32* rows = block.take(kLanes);
    const u32* own = subtree_rows_;
    each_item(n_subtree_rows_, [=](u32 i) { rows[i] = own[i]; });
    tree.rows = rows;
    tree.n_rows = n_subtree_rows_;
    if (tree.to) workers_.give(static_cast<Block&&>(block), tree);
  }
};

}  // namespace bicliq
