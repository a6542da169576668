// row_selection.hpp: the rows that the child of a tall node keeps, and its columns over these.
//
// The bits of the rows that are kept are moved side by side within each word, and words are joined
// where they fit into one; those of merged rows only where a bit stands for as many rows.
//
// Cost: five steps a word of a column. Memory: five words a word, for the moves.
#pragma once

#include "lanes/lanes.hpp"
#include "lanes/pieces.hpp"
#include "search/subtree.hpp"

namespace bicliq {

/// Counts of the bits of word k, as numbers of rows.
inline Lanes weighed(Lanes counts, const u32* shifts, u32 k) { return shifts ? shift_left(counts, shifts[k]) : counts; }

struct RowSelection {
  const u32* wanted;  // [depth]
  const u32* shifts;  // [depth], of merged rows; else null
  u32 depth, n_rows;
  const u32* moves = nullptr;  // [5][depth rounded up to 32]: bits that move 1, 2, 4, 8, 16 places; null: all stay

  /// Words of the wanted rows side by side.
  u32 packed_depth() const {
    if (!shifts) return words_for(n_rows);
    u32 words = 0, n = 0;
    for (u32 k = 0; k < depth; ++k) {
      n += popcount(wanted[k]);
      if (!ends_run(k)) continue;
      words += words_for(n);
      n = 0;
    }
    return words;
  }

  /// Shifts and, where they are wanted, bits of merged rows side by side, as `put_columns` lays
  /// them into so many words.
  template <bool kWantsRows, class Memory>
  Merged pack(const Merged& from, u32 words, Memory& memory) const {
    Merged to = from;
    to.shifts = memory.take(words);
    to.bits = memory.take(kWantsRows ? 32 * usize{words} : 0);
    u32 n_words = 0, n = 0;
    for (u32 k = 0; k < depth; ++k) {
      if constexpr (kWantsRows)
        for (u32 rest = wanted[k]; rest; rest &= rest - 1) to.bits[32 * n_words + n++] = from.bits[32 * k + first_set(rest)];
      else
        n += popcount(wanted[k]);
      if (!ends_run(k)) continue;
      for (u32 w = words_for(n); w; --w) to.shifts[n_words++] = shifts[k];
      n = 0;
    }
    return to;
  }

  /// Which bits of each word move 1, 2, 4, 8 and 16 places towards the lowest, so that the wanted
  /// ones lie side by side (parallel suffix: Warren, Hacker's Delight, 7-4).
  template <class Memory>
  void plan_moves(Memory& memory) {
    u32* planned = memory.take(5 * usize{moves_stride()});
    for (u32 k = 0; k < depth; k += kLanes) {
      Lanes kept = load(wanted + k, first_lanes(depth - k));
      Lanes gaps = shift_left(without(splat(~0u), kept), 1);
      for (u32 i = 0; i < 5; ++i) {
        Lanes odd = gaps;
        for (u32 step = 1; step < 32; step *= 2) odd = odd ^ shift_left(odd, step);
        const Lanes move = odd & kept;
        store(planned + i * moves_stride() + k, move);
        kept = (kept ^ move) | shift_right(move, 1u << i);
        gaps = without(gaps, odd);
      }
    }
    moves = planned;
  }

  /// How many of the rows each of 32 columns has.
  Lanes count(const u32* columns, u32 stride) const {
    Lanes counts = splat(0);
    for (u32 k = 0; k < depth; ++k)
      counts = counts + weighed(popcounts(load(columns + usize{k} * stride) & splat(wanted[k])), shifts, k);
    return counts;
  }

  /// Writes the flagged ones of 32 columns side by side, over these rows; returns their number.
  u32 put_columns(const u32* columns, u32 columns_stride, Flags kept, u32* to, u32 stride) const {
    if (!moves) {
      for (u32 k = 0; k < depth; ++k)
        compact(to + usize{k} * stride, load(columns + usize{k} * columns_stride) & splat(wanted[k]), kept);
      return popcount(ballot(kept));
    }
    Lanes pending = splat(0);
    u32 held = 0, shift = 0;
    for (u32 k = 0; k < depth; ++k) {
      const u32 n = popcount(wanted[k]);
      if (!n) continue;
      if (shifts && shifts[k] != shift) {
        shift = shifts[k];
        if (held) compact(to, pending, kept), to += stride;
        held = 0;
        pending = splat(0);
      }
      const Lanes bits = moved(load(columns + usize{k} * columns_stride) & splat(wanted[k]), k);
      pending = pending | shift_left(bits, held);
      held += n;
      if (held < 32) continue;
      compact(to, pending, kept);
      to += stride;
      held -= 32;
      pending = held ? shift_right(bits, n - held) : splat(0);
    }
    if (held) compact(to, pending, kept);
    return popcount(ballot(kept));
  }

 private:
  u32 moves_stride() const { return 32 * words_for(depth); }
  /// Is word k the last whose bits stand for as many rows as its own?
  bool ends_run(u32 k) const { return k + 1 == depth || shifts[k + 1] != shifts[k]; }
  Lanes moved(Lanes bits, u32 k) const {
    BICLIQ_UNROLL
    for (u32 i = 0; i < 5; ++i) {
      const Lanes moving = bits & splat(moves[i * moves_stride() + k]);
      bits = (bits ^ moving) | shift_right(moving, 1u << i);
    }
    return bits;
  }
};

}  // namespace bicliq
