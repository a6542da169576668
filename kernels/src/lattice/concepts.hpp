// concepts.hpp: the concepts of a context, numbered, and which cover which.
//
// What it finds: the cover edges of the lattice. Input: all maximal bicliques of the context, or
// all with so many left vertices; the two concepts with an empty side are added here. They are
// numbered by falling extent, then by intent, so 0 is the top. Method: of a concept with the list X
// on one side, each vertex c of the other side that is not in the concept gives X ∩ c′, as bits
// over X; the inclusion-maximal ones of these are the neighbours (Lindig 2000), found by falling
// size; a hash of its list tells each one's number, and the list itself is compared. With extents
// for X these are the lower covers, with intents the upper ones: either gives all edges, and the
// side with fewer steps is taken. Bits are set one by one along the rows of X, or, of a long X in a
// context whose columns fit memory as bits, ANDed by words. Cost: an edge of the context that ends
// in X a step, and some words a pair of c and neighbour. Memory: 4 bytes an id of either side and
// 40 a concept.
// Reference: tests/reference/concepts.py.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/rows.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace bicliq {

class Concepts {
 public:
  enum Side { left = 0, right = 1 };

  void add(Span extent, Span intent) { put(left, extent), put(right, intent); }
  /// No more come: numbers them.
  void number() {
    order_.resize(start_[left].size() - 1);
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](u32 a, u32 b) {
      const Span x = given(left, a), y = given(left, b), s = given(right, a), t = given(right, b);
      return x.size() != y.size() ? x.size() > y.size() : std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end());
    });
  }
  u32 size() const { return static_cast<u32>(order_.size()); }
  Span list(Side side, u32 number) const { return given(side, order_[number]); }

 private:
  Span given(Side side, u32 i) const { return {ids_[side].data() + start_[side][i], ids_[side].data() + start_[side][i + 1]}; }
  void put(Side side, Span ids) {
    ids_[side].insert(ids_[side].end(), ids.begin(), ids.end());
    start_[side].push_back(ids_[side].size());
  }

  std::vector<u64> start_[2]{{0}, {0}};
  std::vector<i32> ids_[2];
  std::vector<u32> order_;
};

class Covers {
 public:
  /// `rows` are those of the side's vertices, `n_others` how many the other side has. Neighbours of
  /// fewer than `least` are not among the concepts.
  Covers(const Concepts& concepts, Concepts::Side side, Rows rows, u32 n_others, u32 least)
      : concepts_(concepts), side_(side), rows_(rows), n_others_(n_others), least_(least), place_(n_others, kFree) {
    lay_columns();
    std::size_t room = 16;
    while (room < 2 * static_cast<std::size_t>(concepts_.size())) room *= 2;
    table_.assign(room, kFree);
    hash_.reserve(concepts_.size());
    for (u32 number = 0; number < concepts_.size(); ++number) {
      u64 hash = 0;
      for (const i32 id : list(number)) hash += hash_of(id);
      hash_.push_back(hash);
      std::size_t at = mix(hash) & (room - 1);
      while (table_[at] != kFree) at = (at + 1) & (room - 1);
      table_[at] = number;
    }
  }

  /// Edges from concepts to their neighbours, and of each concept how large the largest one is.
  struct Batch {
    std::vector<i32> from, to, largest;
  };
  /// Goes on with some concepts; none come after the last.
  Batch next() {
    Batch batch;
    for (u64 until = steps_ + kSteps; next_ < concepts_.size() && steps_ < until; ++next_) add_neighbours(batch);
    return batch;
  }

 private:
  static constexpr u32 kFree = ~u32{0}, kBarred = kFree - 1;
  static constexpr u64 kSteps = u64{1} << 26, kColumnBytes = u64{1} << 26;  // some 50 ms; of columns as bits
  struct Candidate {
    u32 size, place;
  };

  Span list(u32 number) const { return concepts_.list(side_, number); }
  static u64 hash_of(i32 id) { return mix(static_cast<u64>(id) + kLeftSeed); }

  void lay_columns() {
    const u64 words = (rows_.size() + 63) / 64;
    if (words * 8 > kColumnBytes / std::max<u64>(n_others_, 1)) return;
    column_words_ = words;
    columns_.assign(words * n_others_, 0);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      for (const i32 c : rows_[static_cast<i32>(row)]) columns_[static_cast<u64>(c) * words + row / 64] |= u64{1} << row % 64;
  }

  void add_neighbours(Batch& batch) {
    const Span own = list(next_), others = concepts_.list(side_ == Concepts::left ? Concepts::right : Concepts::left, next_);
    batch.largest.push_back(0);
    steps_ += own.size() + others.size() + 64;
    if (!own.size() || others.size() == n_others_) return;
    for (const i32 c : others) place_[static_cast<u32>(c)] = kBarred;
    meet(own);
    for (const i32 c : others) place_[static_cast<u32>(c)] = kFree;
    const auto size_of = [&](u32 place) {
      u32 n = 0;
      for (u32 w = 0; w < words_; ++w) n += static_cast<u32>(__builtin_popcountll(bits(place)[w]));
      return n;
    };
    candidates_.clear();
    for (u32 place = 0; place < met_; ++place) candidates_.push_back({size_of(place), place});
    std::sort(candidates_.begin(), candidates_.end(), [](Candidate a, Candidate b) { return a.size > b.size; });
    kept_.clear();
    for (const Candidate each : candidates_) {
      if (each.size < least_ || !each.size) break;
      if (std::none_of(kept_.begin(), kept_.end(), [&](u32 kept) { return lies_in(each.place, kept); })) kept_.push_back(each.place);
    }
    steps_ += met_ * kept_.size() * words_;
    if (!candidates_.empty()) batch.largest.back() = static_cast<i32>(candidates_[0].size);
    const std::size_t first = batch.to.size();
    for (const u32 place : kept_) batch.to.push_back(static_cast<i32>(number_of(own, place)));
    if ((candidates_.empty() || !candidates_[0].size) && !least_) batch.to.push_back(static_cast<i32>(number_of(own, kFree)));
    std::sort(batch.to.begin() + static_cast<std::ptrdiff_t>(first), batch.to.end());
    batch.from.resize(batch.to.size(), static_cast<i32>(next_));
  }

  /// Finds X ∩ c′ of each c that is not barred: some words of `bits_` each.
  void meet(Span own) {
    u64 ends = 0;
    for (const i32 x : own) ends += rows_[x].size();
    met_ = 0;
    word_.clear();
    if (column_words_ && ends > own.size() + column_words_ / 4 * n_others_) meet_by_words(own);
    else meet_by_bits(own);
    steps_ += ends;
  }
  void meet_by_bits(Span own) {
    words_ = static_cast<u32>((own.size() + 63) / 64);
    others_.clear();
    u32 at = 0;
    for (const i32 x : own) {
      for (const i32 c : rows_[x]) {
        u32& place = place_[static_cast<u32>(c)];
        if (place == kBarred) continue;
        if (place == kFree) {
          place = met_++;
          others_.push_back(static_cast<u32>(c));
          if (bits_.size() < u64{met_} * words_) bits_.resize(2 * u64{met_} * words_);
          std::fill_n(bits(place), words_, u64{0});
        }
        bits(place)[at / 64] |= u64{1} << at % 64;
      }
      ++at;
    }
    for (const u32 c : others_) place_[c] = kFree;
  }
  void meet_by_words(Span own) {
    own_.clear();
    for (const i32 x : own) {
      if (word_.empty() || word_.back() != static_cast<u32>(x) / 64) word_.push_back(static_cast<u32>(x) / 64), own_.push_back(0);
      own_.back() |= u64{1} << static_cast<u32>(x) % 64;
    }
    words_ = static_cast<u32>(word_.size());
    bits_.resize(std::max<std::size_t>(bits_.size(), std::size_t{words_} * n_others_));
    for (u32 c = 0; c < n_others_; ++c) {
      if (place_[c] == kBarred) continue;
      const u64* const column = columns_.data() + c * column_words_;
      u64* const to = bits(met_);
      u64 any = 0;
      for (u32 w = 0; w < words_; ++w) any |= to[w] = own_[w] & column[word_[w]];
      met_ += any != 0;
    }
  }

  u64* bits(u32 place) { return bits_.data() + u64{place} * words_; }
  bool lies_in(u32 a, u32 b) {
    const u64 *x = bits(a), *y = bits(b);
    for (u32 w = 0; w < words_; ++w)
      if (x[w] & ~y[w]) return false;
    return true;
  }
  /// The number of the concept whose list has these bits; `kFree`: of the empty one.
  u32 number_of(Span own, u32 place) {
    found_.clear();
    u64 hash = 0;
    for (u32 w = 0; place != kFree && w < words_; ++w)
      for (u64 word = bits(place)[w]; word; word &= word - 1) {
        const u32 bit = static_cast<u32>(__builtin_ctzll(word));
        found_.push_back(word_.empty() ? own.begin()[w * 64 + bit] : static_cast<i32>(word_[w] * 64 + bit));
        hash += hash_of(found_.back());
      }
    steps_ += found_.size();
    for (std::size_t at = mix(hash) & (table_.size() - 1); table_[at] != kFree; at = (at + 1) & (table_.size() - 1)) {
      const u32 number = table_[at];
      if (hash_[number] != hash) continue;
      const Span known = list(number);
      if (std::equal(known.begin(), known.end(), found_.begin(), found_.end())) return number;
    }
    throw std::invalid_argument("a concept of the context is not among the bicliques that were given");
  }

  const Concepts& concepts_;
  const Concepts::Side side_;
  const Rows rows_;
  const u32 n_others_, least_;
  u32 next_ = 0, met_ = 0, words_ = 0;
  u64 steps_ = 0, column_words_ = 0;
  std::vector<u64> columns_, hash_, bits_, own_;
  std::vector<u32> table_, place_, others_, word_, kept_;
  std::vector<i32> found_;
  std::vector<Candidate> candidates_;
};

}  // namespace bicliq
