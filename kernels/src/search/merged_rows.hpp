// merged_rows.hpp: rows of a bit matrix that have the same candidates, as one.
//
// No node below ever tells such rows apart, so a mask needs no bit for each of them. A group of w
// rows gets a bit for each power of two in w, which stands for so many of them; bits of one power
// share words, so to count rows is to shift the count of a word (`shifts`). An excluded column has
// a bit where it has all of its rows: either all or none of them are in a node, and it covers the
// node only if it has all.
//
// Cost: the words of the rows, three times. Memory: a row of words a bit, and some numbers a row.
#pragma once

#include "search/smaller_matrix.hpp"
#include "search/subtree.hpp"

namespace bicliq {

struct MergedRows {
  u32 depth = 0;          // words of a mask
  u32* rows = nullptr;    // [32 · depth][stride of the matrix]: what the rows of a bit have
  Merged bits;

  /// How many rows a bit stands for.
  u32 n_rows_of(u32 bit) const { return (bit + 1 < bits.n_bits ? bits.starts[bit + 1] : bits.n_rows) - bits.starts[bit]; }
};

template <class Memory>
class RowMerger {
 public:
  RowMerger(const BitMatrix& m, MatrixLists lists, u32 n_rows, const u32* open, Memory& memory)
      : m_(m), lists_(lists), open_(open), n_(n_rows), memory_(memory) {
    group_ = memory.take(n_);
    first_ = memory.take(n_);
    weight_ = memory.take(n_);
    sorted_ = memory.take(n_);
  }

  MergedRows merge() {
    group_rows();
    sort_by_group();
    MergedRows to;
    u32 bits[32] = {};
    for (u32 g = 0; g < n_groups_; ++g)
      for (u32 w = weight_[g]; w; w &= w - 1) ++bits[first_set(w)];
    for (u32 n : bits) to.depth += words_for(n);
    to.bits.shifts = memory_.take(to.depth);
    u32 k = 0;
    for (u32 shift = 32; shift-- > 0;)
      for (u32 w = words_for(bits[shift]); w; --w) to.bits.shifts[k++] = shift;
    to.bits.n_rows = n_;
    to.bits.n_bits = 32 * to.depth;
    to.bits.starts = memory_.take(to.bits.n_bits);
    to.bits.places = memory_.take(n_);
    const usize words = 32 * usize{to.depth} * m_.stride();
    to.rows = memory_.take(words);
    for (usize i = 0; i < words; ++i) to.rows[i] = 0;
    fill(to);
    return to;
  }

 private:
  const BitMatrix& m_;
  const MatrixLists lists_;
  const u32* open_;
  const u32 n_;
  Memory& memory_;
  u32 *group_, *first_, *weight_, *sorted_;  // a number a row, or a group; `first_` ends as where its rows begin
  u32 n_groups_ = 0;

  const u32* row(u32 i) const { return m_.rows + lists_.row_starts[i]; }
  const u32* candidates(u32 i) const { return row(i) + m_.excluded_words; }

  void group_rows() {
    u32 size = 64;
    while (size < 2 * n_) size *= 2;
    u32* slots = memory_.take(size);
    for (u32 i = 0; i < size; ++i) slots[i] = ~0u;
    for (u32 i = 0; i < n_; ++i) {
      u32 at = hash(candidates(i)) & (size - 1);
      while (slots[at] != ~0u && !same(candidates(first_[slots[at]]), candidates(i))) at = (at + 1) & (size - 1);
      if (slots[at] == ~0u) {
        slots[at] = n_groups_;
        first_[n_groups_] = i;
        weight_[n_groups_++] = 0;
      }
      ++weight_[group_[i] = slots[at]];
    }
  }
  u32 hash(const u32* words) const {
    u64 sum = 0;
    for (u32 w = 0; w < m_.candidate_words; ++w) sum = (sum ^ (words[w] & open_[w])) * 0x9e3779b97f4a7c15ull, sum ^= sum >> 32;
    return static_cast<u32>(sum);
  }
  bool same(const u32* a, const u32* b) const {
    u32 differ = 0;
    for (u32 w = 0; w < m_.candidate_words; ++w) differ |= (a[w] ^ b[w]) & open_[w];
    return !differ;
  }
  void sort_by_group() {
    u32 sum = 0;
    for (u32 g = 0; g < n_groups_; ++g) {
      first_[g] = sum;
      sum += weight_[g];
    }
    for (u32 i = 0; i < n_; ++i) sorted_[first_[group_[i]]++] = i;
    for (u32 g = 0; g < n_groups_; ++g) first_[g] -= weight_[g];
  }
  void fill(const MergedRows& to) {
    u32* place = to.bits.places;
    for (u32 k = 0; k < to.depth;) {
      const u32 shift = to.bits.shifts[k];
      u32 bit = 32 * k;
      while (k < to.depth && to.bits.shifts[k] == shift) ++k;
      for (u32 g = 0; g < n_groups_; ++g) {
        if (!(weight_[g] >> shift & 1)) continue;
        put_row(sorted_ + first_[g], 1u << shift, to.rows + usize{bit} * m_.stride());
        to.bits.starts[bit++] = static_cast<u32>(place - to.bits.places);
        for (u32 i = 0; i < 1u << shift; ++i) *place++ = sorted_[first_[g]++];
      }
      for (; bit < 32 * k; ++bit) to.bits.starts[bit] = static_cast<u32>(place - to.bits.places);
    }
  }
  /// What n rows have in common, and their open candidates, which are the same.
  void put_row(const u32* places, u32 n, u32* to) const {
    for (u32 w = 0; w < m_.stride(); ++w) to[w] = row(places[0])[w];
    for (u32 i = 1; i < n; ++i)
      for (u32 w = 0; w < m_.stride(); ++w) to[w] &= row(places[i])[w];
  }
};

}  // namespace bicliq
