// tall_nodes.hpp: nodes of more than 32 rows and few columns, as lists of masks of several words.
//
// As in a narrow node a lane owns a column, whose mask now has a word for every 32 rows (`depth` of
// them). Masks are stored word by word, so that 32 lanes read the same word of 32 columns. Whether
// a column has all of L' is decided after a word or two for nearly every column. The masks of a
// child are squeezed together (the rows that none of its candidates has are dropped) when that
// saves a fourth of the words. A child of few candidates takes the masks of its parent as they are,
// and remembers which rows count: of fimi-chess's nodes at 1,000 rows half have one candidate, and
// to make masks for those of up to eight took half of the time. Tables of few columns and many rows
// spend their time here: of fimi-chess's nodes, four in five are tall.
//
// Cost of a node: a pass over the words of its columns. Memory: these words, for every node on the
// path that has its own.
#pragma once

#include "search/merged_rows.hpp"
#include "search/narrow_nodes.hpp"
#include "search/row_selection.hpp"

namespace bicliq {

template <class Self, class Sink, class Workers, class Memory>
class TallNodes : public NarrowNodes<Self, Sink, Workers, Memory> {
  using Base = NarrowNodes<Self, Sink, Workers, Memory>;

 protected:
  using Base::Base;
  using Base::bits_below, Base::copy, Base::workers_, Base::dropped, Base::members_words, Base::join,
      Base::reset_members, Base::members_, Base::memory_, Base::narrow_, Base::next_bit, Base::nodes,
      Base::n_subtree_rows_, Base::begin_given, Base::promising, Base::room, Base::rows_needed_, Base::self,
      Base::sink_, Base::subtree_rows_, Base::since_poll_;
  using typename Base::Block;
  using typename Base::Mark;
  using typename Base::NarrowLevel;

  struct TallLevel {
    TallLevel* parent;
    u32 *candidates, *excluded;  // [depth][stride]: word k of a column is its rows 32 k … 32 k + 31
    u32* alive;                  // candidates that are not done with, one bit each
    u32* ids;
    const u32* rows;     // those of the masks that are its own; null: all
    const u32* row_ids;  // numbers of the rows in the graph
    Merged merged;       // rows, whose places are those of row_ids; or none
    u32 depth, n_candidates, n_excluded, candidate_stride, excluded_stride;
    u32 next;       // the first candidate that may still have to be tried
    u32 n_members;  // R, as it was when the node was opened
    u64 members_hash;
    Mark mark;
  };

  TallLevel* tall_ = nullptr;
  u32 *row_list_ = nullptr, *order_ = nullptr;  // scratch: a number a row

  template <class F>
  void each_field(F&& f) {
    Base::each_field(f);
    f(tall_);
    f(row_list_);
    f(order_);
  }
  bool tall_room() { return room(32 * tall_->depth, tall_->n_members + tall_->n_candidates); }

  static usize tall_words(u32 depth, u32 n_candidates, u32 n_excluded) {
    return usize{depth} * (tall_stride(n_candidates) + tall_stride(n_excluded) + 40) + 3 * padded(n_candidates) + 1024;
  }

  void take_row_scratch(u32 n_rows) {
    row_list_ = memory_.take(n_rows);
    order_ = memory_.take(n_rows);
    subtree_rows_ = memory_.take(kLanes);
  }

  /// Makes the root of a subtree the current node.
  void start_tall(const Subtree& tree) {
    take_row_scratch(tree.merged ? tree.merged->n_rows : tree.n_rows);
    TallLevel& level = push_tall(memory_.mark());
    level.candidates = tree.candidates;
    level.excluded = tree.excluded;
    level.ids = tree.ids;
    level.row_ids = tree.rows;
    level.merged = tree.merged ? *tree.merged : Merged();
    open_tall(level, words_for(tree.n_rows), tree.n_candidates, tree.n_excluded, tall_stride(tree.n_candidates),
              tree.excluded_stride);
  }

  TallLevel& push_tall(Mark mark) {
    TallLevel* level = reinterpret_cast<TallLevel*>(memory_.take(Base::template words_of<TallLevel>()));
    level->parent = tall_;
    level->mark = mark;
    level->rows = nullptr;
    tall_ = level;
    return *level;
  }

  /// Completes a level whose lists are filled: every candidate is alive.
  void open_tall(TallLevel& level, u32 depth, u32 n_candidates, u32 n_excluded, u32 candidate_stride,
                 u32 excluded_stride) {
    level.depth = depth;
    level.n_candidates = n_candidates;
    level.n_excluded = n_excluded;
    level.candidate_stride = candidate_stride;
    level.excluded_stride = excluded_stride;
    level.next = 0;
    level.n_members = members_.n;
    level.members_hash = members_.hash;
    u32* alive = memory_.take(words_for(n_candidates));
    each_item(words_for(n_candidates), [=](u32 w) { alive[w] = Base::low_bits(n_candidates - 32 * w); });
    level.alive = alive;
  }

  /// Tries the next candidate of a level, or closes it.
  Next step_tall(TallLevel& level) {
    const u32 x = next_bit(level.alive, level.next, level.n_candidates);
    if (x == level.n_candidates) {
      tall_ = level.parent;
      memory_.release(level.mark);
      return Next::kStep;
    }
    level.next = x + 1;
    reset_members(level.n_members, level.members_hash);
    return tall_child(level, x);
  }

  /// Gives away the rest of the shallowest open level; false where none has anything to give.
  bool give_tall() {
    TallLevel* top = nullptr;
    for (TallLevel* level = tall_; level; level = level->parent)
      if (next_bit(level->alive, level->next, level->n_candidates) < level->n_candidates) top = level;
    return top && give_tall(*top);
  }

 private:
  /// Makes the child for candidate x the current tall node, or fills narrow_[0] with it.
  Next tall_child(TallLevel& level, u32 x) {
    if (!memory_.fits(tall_words(level.depth, level.n_candidates, level.n_excluded + level.n_candidates))) {
      self().overflow();
      return Next::kStep;
    }
    ++nodes;
    since_poll_ += kNodesAStep + level.depth * (words_for(level.n_candidates) + words_for(level.n_excluded)) / 8;
    const Mark mark = memory_.mark();
    u32* rows = memory_.take(level.depth);
    const u32 n = rows_of(level, x, rows);
    if (excluded_covers(level, x, rows)) {
      ++dropped;
      // x need not exclude anything later: the column that has all its rows does
      put(level.alive + x / 32, level.alive[x / 32] & ~(1u << x % 32));
      memory_.release(mark);
      return Next::kStep;
    }
    join(level.ids[x]);
    u32* kept = memory_.take(words_for(level.n_candidates));
    u32 n_open = split_candidates(level, x, rows, kept);
    report(level, rows, n);
    if (!n_open || !promising(n, members_.n + n_open) || !aim(level, rows, n, kept, n_open)) {
      memory_.release(mark);
      return Next::kStep;
    }
    return open_child(level, x, rows, kept, n_open, mark);
  }

  /// Drops the child's candidates that are in nothing the sink wants; false where none is.
  bool aim([[maybe_unused]] const TallLevel& level, [[maybe_unused]] const u32* rows, [[maybe_unused]] u32 n,
           [[maybe_unused]] u32* kept, u32& n_open) {
    if constexpr (Sink::wants_best) {
      const u32 n_words = words_for(level.n_candidates);
      u32* counts = memory_.take(32 * usize{n_words});
      for (u32 w = 0; w < n_words; ++w) {
        Lanes sum = splat(0);
        for (u32 k = 0; kept[w] && k < level.depth; ++k)
          sum = sum + popcounts(load(level.candidates + usize{k} * level.candidate_stride + 32 * w) & splat(rows[k]));
        store(counts + 32 * w, sum);
      }
      const auto each = [&](auto add) {
        for (u32 w = 0; w < n_words; ++w)
          for (u32 bits = kept[w]; bits; bits &= bits - 1) {
            const u32 y = 32 * w + first_set(bits);
            add(counts[y], level.ids[y]);
          }
      };
      const auto each_pair = [&](u32 least, auto pair) {
        for (u32 w = 0; w < n_words; ++w)
          for (u32 left = kept[w]; left; left &= left - 1) {
            const u32 y = 32 * w + first_set(left);
            if (counts[y] < least) continue;
            for (u32 k = 0, before = 0; k < level.depth; before += popcount(rows[k++]))
              for (u32 bits = level.candidates[usize{k} * level.candidate_stride + y] & rows[k]; bits; bits &= bits - 1)
                pair(before + popcount(rows[k] & ((bits & (0 - bits)) - 1)), level.ids[y]);
          }
      };
      const u32 least = sink_.aim_wide(order_, n, members_, each, each_pair);
      if (!least) return false;
      n_open = 0;
      for (u32 w = 0; w < n_words; ++w) {
        kept[w] &= ballot(load(counts + 32 * w) >= splat(least));
        n_open += popcount(kept[w]);
      }
    }
    return n_open != 0;
  }

  /// Writes L' = L ∩ N(x); returns the number of its rows.
  BICLIQ_CALL static u32 rows_of(const TallLevel& level, u32 x, u32* rows) {
    u32 n = 0;
    if (const u32* const shifts = level.merged.shifts) {  // of a dozen words, one at a time is faster
      for (u32 k = 0; k < level.depth; ++k) {
        const u32 word = level.candidates[usize{k} * level.candidate_stride + x] & (level.rows ? level.rows[k] : ~0u);
        put(rows + k, word);
        n += popcount(word) << shifts[k];
      }
      return n;
    }
    for (u32 k = 0; k < level.depth; k += kLanes) {
      const u32 n_words = level.depth - k < kLanes ? level.depth - k : kLanes;
      Lanes words = load_apart(level.candidates + usize{k} * level.candidate_stride + x, level.candidate_stride, n_words);
      if (level.rows) words = words & load(level.rows + k, first_lanes(n_words));
      n += sum(popcounts(words));
      store(rows + k, words, first_lanes(n_words));
    }
    return n;
  }

  /// Has an excluded column, or a candidate tried before x, all rows of L'? Nearly every column
  /// lacks one in the first words.
  static bool excluded_covers(const TallLevel& level, u32 x, const u32* rows) {
    for (u32 w = 0; w < words_for(level.n_excluded); ++w)
      if (has_all(level.excluded + 32 * w, level.excluded_stride, first_lanes(level.n_excluded - 32 * w), rows,
                  level.depth))
        return true;
    for (u32 w = 0; w <= x / 32; ++w)
      if (has_all(level.candidates + 32 * w, level.candidate_stride, flags(level.alive[w] & bits_below(w, x)), rows,
                  level.depth))
        return true;
    return false;
  }
  /// Has one of 32 columns all of some rows?
  BICLIQ_CALL static bool has_all(const u32* columns, u32 stride, Flags real, const u32* rows, u32 depth) {
    Lanes lacks = select(real, splat(0), splat(~0u));
    for (u32 k = 0; k < depth; ++k) {
      lacks = lacks | without(splat(rows[k]), load(columns + usize{k} * stride));
      if (ballot(nonzero(lacks)) == ~0u) return false;
    }
    return true;
  }

  /// Divides the candidates after x: those that have all of L' join R, those with enough of its
  /// rows are the child's (their bits in `kept`; their number is returned), and those that have no
  /// others are done with at this node.
  u32 split_candidates(TallLevel& level, u32 x, const u32* rows, u32* kept) {
    u32 n = 0;
    for (u32 w = 0; w < words_for(level.n_candidates); ++w) {
      const u32 after = level.alive[w] & ~bits_below(w, x + 1);
      put(kept + w, 0);
      if (!after) continue;
      const u32* column = level.candidates + 32 * w;
      Lanes lacks = splat(0), outside = splat(0), counts = splat(0);
      for (u32 k = 0; k < level.depth; ++k, column += level.candidate_stride) {
        const Lanes mask = load(column), own = splat(rows[k]);
        lacks = lacks | without(own, mask);
        outside = outside | without(level.rows ? mask & splat(level.rows[k]) : mask, own);
        counts = counts + weighed(popcounts(mask & own), level.merged.shifts, k);
      }
      const u32 full = after & ~ballot(nonzero(lacks)), inside = after & ~ballot(nonzero(outside));
      if (inside) put(level.alive + w, level.alive[w] & ~inside);  // all their rows are in N(x): done with
      for (u32 bits = Sink::wants_members ? full : 0; bits; bits &= bits - 1) join(level.ids[32 * w + first_set(bits)]);
      const u32 open = after & ~full & ballot(counts >= splat(rows_needed_));
      put(kept + w, open);
      n += popcount(open);
    }
    return n;
  }

  void report(const TallLevel& level, const u32* rows, u32 n) {
    if constexpr (kMergesRows && Sink::sums_rows)
      if (level.merged.shifts) {
        u64 sum = 0;
        each_bit(level, rows, [&](u32 bit, u32) { sum += level.merged.sums[bit]; });
        sink_.found_sum(sum, n, members_, [&] { return name_merged(level, rows, order_), order_; });
        return;
      }
    if constexpr (Sink::wants_rows) {
      name_rows(level, rows, order_);
      sink_.found(order_, n, members_);
    } else {
      sink_.found(nullptr, n, members_);
    }
  }
  /// Writes the numbers in the graph of a set of rows.
  void name_rows(const TallLevel& level, const u32* rows, u32* to) {
    if (level.merged.shifts) return name_merged(level, rows, to);
    const u32 n = list_bits(row_list_, level.depth, [=](u32 k) { return rows[k]; });
    const u32 *list = row_list_, *ids = level.row_ids;
    each_item(n, [=](u32 i) { to[i] = ids[list[i]]; });
  }

  /// The same of merged rows: by ascending places, as others are.
  void name_merged(const TallLevel& level, const u32* rows, u32* to) {
    u32* seen = row_list_;
    const Merged& merged = level.merged;
    const u32 *ids = level.row_ids, n_words = words_for(merged.n_rows);
    each_item(n_words, [=](u32 k) { seen[k] = 0; });
    each_bit(level, rows, [&](u32 bit, u32 n) {
      const u32* places = merged.places + merged.starts[bit];
      for (u32 i = 0; i < n; ++i) seen[places[i] / 32] |= 1u << places[i] % 32;
    });
    const u32 n = list_bits(to, n_words, [=](u32 k) { return seen[k]; });
    each_item(n, [=](u32 i) { to[i] = ids[to[i]]; });
  }
  /// f(bit, rows): for the bits of a set of merged rows, with the number of rows each stands for.
  template <class F>
  static void each_bit(const TallLevel& level, const u32* rows, F f) {
    for (u32 k = 0; k < level.depth; ++k)
      for (u32 bits = rows[k]; bits; bits &= bits - 1) f(level.merged.bits[32 * k + first_set(bits)], 1u << level.merged.shifts[k]);
  }

  /// The same, once it is known which candidates the child has.
  Next open_child(TallLevel& from, u32 x, const u32* rows, const u32* kept, u32 n_open, Mark mark) {
    if (n_open <= kSharesMasks) return open_in_place(from, x, rows, kept, mark);
    u32* wanted = memory_.take(from.depth);
    RowSelection s = {wanted, from.merged.shifts, from.depth, reach_of(from, rows, kept, wanted)};
    const u32 least_depth = s.packed_depth();
    const bool squeezed = 4 * least_depth <= 3 * from.depth;
    if (squeezed) s.plan_moves(memory_);
    if (!s.shifts && s.n_rows <= kLanes) return open_narrow_child(from, x, s, kept, n_open, mark);
    const u32 depth = squeezed ? least_depth : from.depth;
    u32 n_tried = 0;
    for (u32 w = 0; w <= x / 32; ++w) n_tried += popcount(from.alive[w] & bits_below(w, x));
    const u32 candidate_stride = tall_stride(n_open), excluded_stride = tall_stride(from.n_excluded + n_tried);
    TallLevel& level = push_tall(mark);
    level.row_ids = from.row_ids;
    level.merged = from.merged;
    if (squeezed && s.shifts) {
      level.merged = s.template pack<Sink::wants_rows>(from.merged, depth, memory_);
    } else if (squeezed && Sink::wants_rows) {
      u32* ids = memory_.take(32 * usize{depth});
      name_rows(from, wanted, ids);
      level.row_ids = ids;
    }
    level.candidates = memory_.take(usize{depth} * candidate_stride);
    level.excluded = memory_.take(usize{depth} * excluded_stride);
    level.ids = memory_.take(Sink::wants_members ? n_open : 0);
    fill_candidates(from, s, kept, level.candidates, candidate_stride, level.ids);
    const u32 n_excluded = fill_excluded(from, x, s, level.excluded, excluded_stride);
    open_tall(level, depth, n_open, n_excluded, candidate_stride, excluded_stride);
    return Next::kStep;
  }

  /// The same with the masks of its parent, in which the candidates before x that are alive were
  /// tried.
  Next open_in_place(TallLevel& from, u32 x, const u32* rows, const u32* kept, Mark mark) {
    const u32 n_words = words_for(from.n_candidates), *before = from.alive;
    u32* alive = memory_.take(n_words);
    each_item(n_words, [=](u32 w) { alive[w] = (before[w] & bits_below(w, x)) | kept[w]; });
    TallLevel& level = push_tall(mark);
    level = from;
    level.parent = &from;
    level.mark = mark;
    level.rows = rows;
    level.alive = alive;
    level.next = x + 1;
    level.n_members = members_.n;
    level.members_hash = members_.hash;
    return Next::kStep;
  }

  Next open_narrow_child(TallLevel& from, u32 x, const RowSelection& s, const u32* kept, u32 n_open, Mark mark) {
    NarrowLevel& level = narrow_[0];
    level.mark = mark;
    level.candidates = memory_.take(n_open);
    level.ids = memory_.take(Sink::wants_members ? n_open : 0);
    level.excluded = memory_.take(usize{from.n_excluded} + x);
    level.n_candidates = level.end = n_open;
    fill_candidates(from, s, kept, level.candidates, 0, level.ids);
    level.n_excluded = fill_excluded(from, x, s, level.excluded, 0);
    if constexpr (Sink::wants_rows) name_rows(from, s.wanted, subtree_rows_);  // else who gave the tree named none
    n_subtree_rows_ = s.n_rows;
    sink_.rows(subtree_rows_, s.n_rows);
    return open_narrow_of(s.n_rows);
  }

  /// Sets `wanted` to the rows of L' that an open candidate has; returns their number.
  BICLIQ_CALL static u32 reach_of(const TallLevel& level, const u32* rows, const u32* kept, u32* wanted) {
    u32 n = 0;
    for (u32 k = 0; k < level.depth; ++k) {
      Lanes reach = splat(0);
      for (u32 w = 0; w < words_for(level.n_candidates); ++w)
        if (kept[w])
          reach = reach |
                  select(flags(kept[w]), load(level.candidates + usize{k} * level.candidate_stride + 32 * w), splat(0));
      const u32 bits = any_bits(reach) & rows[k];
      put(wanted + k, bits);
      n += popcount(bits);
    }
    return n;
  }

  /// Writes the child's candidates.
  void fill_candidates(const TallLevel& from, const RowSelection& s, const u32* kept, u32* to, u32 stride, u32* ids) {
    u32 n = 0;
    for (u32 w = 0; w < words_for(from.n_candidates); ++w) {
      if (!kept[w]) continue;
      s.put_columns(from.candidates + 32 * w, from.candidate_stride, flags(kept[w]), to + n, stride);
      if constexpr (Sink::wants_members) compact(ids + n, load(from.ids + 32 * w), flags(kept[w]));
      n += popcount(kept[w]);
    }
  }

  /// Writes the child's excluded columns: those of this node, and the candidates tried before x,
  /// that have enough of the wanted rows. Returns their number.
  u32 fill_excluded(const TallLevel& from, u32 x, const RowSelection& s, u32* to, u32 stride) {
    u32 n = 0;
    for (u32 w = 0; w < words_for(from.n_excluded); ++w)
      n += put_excluded(from.excluded + 32 * w, from.excluded_stride, first_lanes(from.n_excluded - 32 * w), s, to + n,
                        stride);
    for (u32 w = 0; w <= x / 32; ++w)
      n += put_excluded(from.candidates + 32 * w, from.candidate_stride, flags(from.alive[w] & bits_below(w, x)), s,
                        to + n, stride);
    return n;
  }
  u32 put_excluded(const u32* columns, u32 columns_stride, Flags real, const RowSelection& s, u32* to, u32 stride) {
    if (!ballot(real)) return 0;
    const Flags kept = real & (s.count(columns, columns_stride) >= splat(rows_needed_));
    return s.put_columns(columns, columns_stride, kept, to, stride);
  }

  // ---- giving work away -------------------------------------------------------------------------

  /// All that is left to try; whoever takes it counts the candidates before as excluded.
  bool give_tall(TallLevel& level) {
    const u32 depth = level.depth, next = level.next;
    u32 n_open = 0, n_tried = 0;
    for (u32 w = 0; w < words_for(level.n_candidates); ++w) {
      n_open += popcount(level.alive[w] & ~bits_below(w, next));
      n_tried += popcount(level.alive[w] & bits_below(w, next));
    }
    const u32 candidate_stride = tall_stride(n_open), excluded_stride = tall_stride(level.n_excluded + n_tried);
    const u32 n_ids = level.merged.shifts ? level.merged.n_rows : 32 * depth;
    const usize words = usize{depth} * (usize{candidate_stride} + excluded_stride) + n_ids + merged_words(level);
    if (!memory_.fits(usize{depth} + 2 * padded(words_for(level.n_candidates)) + 128)) return false;
    Block block = workers_.block(words + padded(n_open) + 4 * padded(1) + members_words(level.n_members));
    if (!block) return false;
    const Mark mark = memory_.mark();
    u32 *all = memory_.take(depth), *rest = memory_.take(words_for(level.n_candidates));
    const u32* alive = level.alive;
    const u32* own = level.rows;
    each_item(depth, [=](u32 k) { all[k] = own ? own[k] : ~0u; });
    each_item(words_for(level.n_candidates), [=](u32 w) { rest[w] = alive[w] & ~bits_below(w, next); });
    const RowSelection s = {all, level.merged.shifts, depth, 32 * depth};
    Subtree tree = begin_given(block, level.n_members, level.members_hash);
    tree.n_rows = 32 * depth;
    tree.n_candidates = n_open;
    tree.candidates = block.take(usize{depth} * candidate_stride);
    tree.excluded = block.take(usize{depth} * excluded_stride);
    tree.ids = block.take(n_open);
    if constexpr (Sink::wants_rows) tree.rows = copy(block, level.row_ids, n_ids);
    if (level.merged.shifts) tree.merged = give_merged(level, block);
    fill_candidates(level, s, rest, tree.candidates, candidate_stride, tree.ids);
    tree.n_excluded = fill_excluded(level, next, s, tree.excluded, excluded_stride);
    tree.excluded_stride = excluded_stride;
    memory_.release(mark);
    workers_.give(static_cast<Block&&>(block), tree);
    level.next = level.n_candidates;
    return true;
  }

  /// Words of a block that `give_merged` takes.
  static usize merged_words(const TallLevel& level) {
    const Merged& m = level.merged;
    if (!m.shifts) return 0;
    const usize names = Sink::wants_rows ? padded(32 * usize{level.depth}) + 4 * padded(m.n_bits) + padded(m.n_rows) : 0;
    return padded(Base::template words_of<Merged>()) + padded(level.depth) + names;
  }
  static const Merged* give_merged(const TallLevel& level, Block& block) {
    const Merged& m = level.merged;
    Merged to = m;
    to.shifts = copy(block, m.shifts, level.depth);
    if constexpr (Sink::wants_rows) {
      to.bits = copy(block, m.bits, 32 * level.depth);
      to.starts = copy(block, m.starts, m.n_bits);
      to.places = copy(block, m.places, m.n_rows);
      if constexpr (Sink::sums_rows) to.sums = reinterpret_cast<u64*>(copy(block, reinterpret_cast<u32*>(m.sums), 2 * m.n_bits));
    }
    return reinterpret_cast<const Merged*>(copy(block, reinterpret_cast<const u32*>(&to), Base::template words_of<Merged>()));
  }
};

}  // namespace bicliq
