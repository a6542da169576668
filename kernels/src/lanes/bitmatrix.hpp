// bitmatrix.hpp: the bit matrix of a node with more than 32 rows.
//
// Its rows are the vertices of L; its columns the vertices within two steps of the root: *excluded*
// ones, which may only forbid a biclique, and *candidates*. It is held twice. Row by row (words of
// excluded columns, then words of candidates): there the columns that a set of rows have in common
// are an AND, and the columns that any of them has an OR. And, for candidates, column by column (a
// bit a row, stored so that 32 lanes read the same word of 32 columns): there L ∩ N(x) is one AND.
// `fill_columns` makes the second from the first.
//
// Memory: d·(e + 2·c)/8 bytes for d rows, e excluded columns and c candidates.
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

inline u32 words_for(u32 bits) { return (bits + 31) / 32; }
/// The n lowest bits of a word, all 32 of them for more.
inline u32 low_bits(u32 n) { return n >= 32 ? ~0u : (1u << n) - 1; }
/// Which bits of a word, given its number in a bit set, stand for elements before x.
inline u32 bits_below(u32 word, u32 x) {
  if (word < x / 32) return ~0u;
  return word == x / 32 ? (1u << x % 32) - 1 : 0;
}
/// The first element of a bit set from `from` on, or `end`.
inline u32 next_bit(const u32* words, u32 from, u32 end) {
  for (u32 x = from; x < end; x = (x / 32 + 1) * 32)
    if (const u32 rest = words[x / 32] >> x % 32) {
      x += first_set(rest);
      return x < end ? x : end;
    }
  return end;
}

struct BitMatrix {
  u32 n_rows = 0, n_excluded = 0, n_candidates = 0;
  u32 excluded_words = 0, candidate_words = 0;
  u32 shared = false;      // whether others may read it until the search ends
  u32* rows = nullptr;     // [n_rows][excluded_words + candidate_words]
  u32* columns = nullptr;  // [words_for(n_rows)][candidate_words * 32]
  u32* counts = nullptr;   // [candidate_words * 32]: how many rows each candidate has
  u32* row_ids = nullptr;  // [n_rows]: numbers of the rows in the graph
  u32* ids = nullptr;      // [candidate_words * 32]: numbers of the candidates in the graph

  u32 stride() const { return excluded_words + candidate_words; }
  u32 column_stride() const { return candidate_words * 32; }
  u32* row(u32 r) const { return rows + static_cast<usize>(r) * stride(); }

  static usize row_words(u32 excluded, u32 candidates) { return usize{words_for(excluded)} + words_for(candidates); }
  /// Words of the rows of such a matrix, 32 rows at a time: below 2^32 the searches, which keep
  /// where a row begins in 32 bits (smaller_matrix.hpp), can work on it. Those made from it are
  /// smaller.
  static usize all_words(u32 rows, u32 excluded, u32 candidates) {
    return 32 * usize{words_for(rows)} * row_words(excluded, candidates);
  }
  static bool can_search(u32 rows, u32 excluded, u32 candidates) { return !(all_words(rows, excluded, candidates) >> 32); }

  /// Takes memory for rows and ids.
  template <class Memory>
  void shape(Memory& memory, u32 d, u32 excluded, u32 candidates) {
    n_rows = d;
    n_excluded = excluded;
    n_candidates = candidates;
    excluded_words = words_for(excluded);
    candidate_words = words_for(candidates);
    shared = false;
    rows = memory.take(static_cast<usize>(d) * stride());
    row_ids = memory.take(d);
    ids = memory.take(column_stride());
  }

  /// Makes the columns and the counts from the rows.
  template <class Memory>
  void fill_columns(Memory& memory) {
    columns = memory.take(static_cast<usize>(words_for(n_rows)) * column_stride());
    counts = memory.take(column_stride());
    transpose_rows(*this);
  }

 private:
  BICLIQ_CALL static void transpose_rows(const BitMatrix& m) {
    const u32 depth = words_for(m.n_rows);
    BICLIQ_ROLL
    for (u32 w = 0; w < m.candidate_words; ++w) {
      Lanes count = splat(0);
      BICLIQ_ROLL
      for (u32 k = 0; k < depth; ++k) {
        const u32 n = m.n_rows - 32 * k < 32 ? m.n_rows - 32 * k : 32;
        const Lanes bits = column_masks_apart(m.row(32 * k) + m.excluded_words + w, m.stride(), n);
        write(m.columns + static_cast<usize>(k) * m.column_stride() + 32 * w, bits);
        count = count + popcounts(bits);
      }
      write(m.counts + 32 * w, count);
    }
    settle();
  }
};

/// The bits of `word` at the set places of `places`, side by side (PEXT).
inline u32 compress_bits(u32 word, u32 places) {
#if defined(__BMI2__)
  return _pext_u32(word, places);
#else
  u32 out = 0;
  BICLIQ_ROLL
  for (u32 to = 1; places; places &= places - 1, to <<= 1)
    if (word & places & (0u - places)) out |= to;
  return out;
#endif
}

/// Writes groups of bits one after the other into a row of words.
class BitWriter {
 public:
  explicit BitWriter(u32* to) : to_(to) {}
  void put(u32 bits, u32 n) {
    pending_ |= static_cast<u64>(bits) << held_;
    held_ += n;
    if (held_ >= 32) {
      *to_++ = static_cast<u32>(pending_);
      pending_ >>= 32;
      held_ -= 32;
    }
  }
  void end() {
    if (held_) *to_ = static_cast<u32>(pending_);
  }

 private:
  u32* to_;
  u64 pending_ = 0;
  u32 held_ = 0;
};

}  // namespace bicliq
