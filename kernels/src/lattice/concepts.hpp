// concepts.hpp: the concepts of a context, numbered, and which cover which.
//
// What it finds: the cover edges of the lattice. Input: all maximal bicliques of the context, or
// all with so many left vertices; the two concepts with an empty side are added here. They are
// numbered by falling extent, then by intent, so 0 is the top. Method: of a concept with the list X
// on one side, each vertex c of the other side that is not in the concept gives X ∩ c′, as bits
// over X; the inclusion-maximal ones of these are the neighbours (Lindig 2000), found by falling
// size. The other side of a neighbour is the concept's and all c that give the same bits: one that
// gave more would be maximal instead. A hash of it tells the number, and its vertices confirm it.
// With extents for X these are the lower covers, with intents the upper ones: either gives all
// edges, and the side with fewer steps is taken. Bits are set one by one along the rows of X, or,
// of a long X in a context whose columns fit memory as bits, ANDed by words. Cost: an edge of the
// context that ends in X a step, and some words a pair of c and neighbour. Memory: 4 bytes an id of
// either side and 60 a concept.
// Reference: tests/reference/concepts.py.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/rows.hpp"
#include "lanes/growing.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

namespace bicliq {

class Concepts {
 public:
  enum Side { left = 0, right = 1 };

  void add(Span extent, Span intent) { put(left, extent), put(right, intent); }
  /// No more come: numbers them. To be stopped midway leaves all as it was.
  template <class Check>
  void number(const Check& check) {
    u32 looks = 0;
    struct Key {
      u32 missing, first, at;  // of all objects; the first attribute, 0 for none, which is first as well
    };
    std::vector<Key> order;
    order.reserve(size());
    for (u32 at = 0; at < size(); ++at) order.push_back({~lists_[left][at].size, lists_[right][at].size ? static_cast<u32>(*list(right, at).begin()) : 0, at});
    std::sort(order.begin(), order.end(), [&](const Key& a, const Key& b) {
      if (++looks % kLooksACheck == 0) check();
      if (a.missing != b.missing) return a.missing < b.missing;
      if (a.first != b.first) return a.first < b.first;
      const Span s = list(right, a.at), t = list(right, b.at);
      return std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end());
    });
    for (auto& lists : lists_) {
      std::vector<List> numbered;
      numbered.reserve(order.size());
      for (const Key& key : order) numbered.push_back(lists[key.at]);
      lists = std::move(numbered);
    }
  }
  u32 size() const { return static_cast<u32>(lists_[left].size()); }
  Span list(Side side, u32 number) const {
    const List& at = lists_[side][number];
    return {at.first, at.first + at.size};
  }
  void fetch_lists(u32 number) const { __builtin_prefetch(&lists_[left][number]), __builtin_prefetch(&lists_[right][number]); }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  static constexpr u32 kLooksACheck = 1 << 16;
  struct List {
    const i32* first;
    u32 size;
  };
  /// Lists lie in blocks, which never move: one array that grows would take three times as much.
  void put(Side side, Span ids) {
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < ids.size()) {
      blocks_.emplace_back();
      blocks_.back().reserve(std::max(kBlock, ids.size()));
    }
    std::vector<i32>& block = blocks_.back();
    lists_[side].push_back({block.data() + block.size(), static_cast<u32>(ids.size())});
    block.insert(block.end(), ids.begin(), ids.end());
  }

  std::vector<std::vector<i32>> blocks_;
  std::vector<List> lists_[2];
};

class Covers {
 public:
  /// `rows` are those of the side's vertices, `n_others` how many the other side has. Neighbours of
  /// fewer than `least` are not among the concepts. `hear` is called now and then, and may throw.
  Covers(const Concepts& concepts, Concepts::Side side, Rows rows, u32 n_others, u32 least, void (*hear)())
      : concepts_(concepts), side_(side), rows_(rows), n_others_(n_others), least_(least), hear_(hear), place_(n_others, kFree) {
    lay_columns();
    for (u64 id = 0; id < n_others_; ++id) hash_of_.push_back(mix(id + kLeftSeed)), hash_of_all_ += hash_of_.back();
    std::size_t room = 16;
    while (room < 2 * static_cast<std::size_t>(concepts_.size())) room *= 2;
    table_.assign(room, {0, kFree});
    each_vertex(concepts_.size(), hear_, [&](u32 number) {
      const u64 hash = hash_of(concepts_.list(other_side(), number));
      std::size_t at = slot_of(hash);
      while (table_[at].number != kFree) at = (at + 1) & (room - 1);
      table_[at] = {tag_of(hash), number};
    });
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
  static constexpr std::size_t kUnheard = 1 << 18;
  /// A neighbour: what its bits are the same as, how many vertices of the other side it has, and
  /// the hash of these.
  struct Kept {
    u32 size, place, n_others;
    u64 hash;
    std::size_t slot = 0;
  };
  struct Slot {
    u32 tag, number;
  };

  Span list(u32 number) const { return concepts_.list(side_, number); }
  Concepts::Side other_side() const { return side_ == Concepts::left ? Concepts::right : Concepts::left; }
  u64 hash_of(Span others) const {
    u64 hash = 0;
    for (const i32 c : others) hash += hash_of_[static_cast<u32>(c)];
    return hash;
  }

  void lay_columns() {
    const u64 words = (rows_.size() + 63) / 64;
    if (words * 8 > kColumnBytes / std::max<u64>(n_others_, 1)) return;
    column_words_ = words;
    columns_.assign(words * n_others_, 0);
    each_vertex(static_cast<u32>(rows_.size()), hear_, [&](u32 row) {
      for (const i32 c : rows_[static_cast<i32>(row)]) columns_[static_cast<u64>(c) * words + row / 64] |= u64{1} << row % 64;
    });
  }

  void add_neighbours(Batch& batch) {
    const Span own = list(next_), others = concepts_.list(other_side(), next_);
    batch.largest.push_back(0);
    steps_ += own.size() + others.size() + 64;
    if (!own.size() || others.size() == n_others_) return;
    for (const i32 c : others) place_[static_cast<u32>(c)] = kBarred;
    meet(own);
    const auto size_of = [&](u32 place) {
      u32 n = 0;
      for (u32 w = 0; w < words_; ++w) n += static_cast<u32>(__builtin_popcountll(bits(place)[w]));
      return n;
    };
    candidates_.clear();
    for (u32 place = 0; place < met_; ++place) candidates_.push_back(u64{size_of(place)} << 32 | place);
    std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
    keep_maximal(others);
    steps_ += met_ * kept_.size() * words_;
    const u32 largest = candidates_.empty() ? 0 : static_cast<u32>(candidates_[0] >> 32);
    batch.largest.back() = static_cast<i32>(largest);
    const std::size_t first = batch.to.size();
    if (!largest && !least_) kept_.push_back({0, kFree, n_others_, hash_of_all_});
    number_kept(batch.to);
    for (const i32 c : others) place_[static_cast<u32>(c)] = kFree;
    for (const u32 c : others_) place_[c] = kFree;
    std::sort(batch.to.begin() + static_cast<std::ptrdiff_t>(first), batch.to.end());
    batch.from.resize(batch.to.size(), static_cast<i32>(next_));
  }

  /// Of the candidates those that lie in no other; each is kept once, with all that are the same.
  void keep_maximal(Span others) {
    const u64 own_hash = hash_of(others);
    kept_.clear();
    kept_of_.assign(met_, kFree);
    for (const u64 each : candidates_) {
      const u32 size = static_cast<u32>(each >> 32), place = static_cast<u32>(each);
      if (size < least_ || !size) break;
      took(kept_.size() + words_);
      auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return lies_in(place, kept.place); });
      if (at == kept_.end()) at = kept_.insert(at, {size, place, static_cast<u32>(others.size()), own_hash});
      if (at->size != size) continue;
      at->hash += hash_of_[others_[place]];
      ++at->n_others;
      kept_of_[place] = at->place;
    }
  }

  /// Finds X ∩ c′ of each c that is not barred: some words of `bits_` each.
  void meet(Span own) {
    u64 ends = 0;
    for (const i32 x : own) ends += rows_[x].size();
    met_ = 0;
    word_.clear();
    others_.clear();
    if (column_words_ && ends > own.size() + column_words_ / 4 * n_others_) meet_by_words(own);
    else meet_by_bits(own);
    steps_ += ends;
  }
  void meet_by_bits(Span own) {
    words_ = static_cast<u32>((own.size() + 63) / 64);
    u32 at = 0;
    for (const i32 x : own) {
      for (const i32 c : rows_[x]) {
        u32& place = place_[static_cast<u32>(c)];
        if (place == kBarred) continue;
        if (place == kFree) {
          place = met_++;
          others_.push_back(static_cast<u32>(c));
          if (const u64 needed = u64{met_} * words_; bits_.capacity() < needed) bits_.reserve(2 * needed);
          std::fill_n(bits(place), words_, u64{0});
          took(words_);
        }
        bits(place)[at / 64] |= u64{1} << at % 64;
      }
      ++at;
    }
  }
  void meet_by_words(Span own) {
    own_.clear();
    for (const i32 x : own) {
      if (word_.empty() || word_.back() != static_cast<u32>(x) / 64) word_.push_back(static_cast<u32>(x) / 64), own_.push_back(0);
      own_.back() |= u64{1} << static_cast<u32>(x) % 64;
    }
    words_ = static_cast<u32>(word_.size());
    bits_.reserve(std::size_t{words_} * n_others_);
    for (u32 c = 0; c < n_others_; ++c) {
      if (place_[c] == kBarred) continue;
      took(words_);
      const u64* const column = columns_.data() + c * column_words_;
      u64* const to = bits(met_);
      u64 any = 0;
      for (u32 w = 0; w < words_; ++w) any |= to[w] = own_[w] & column[word_[w]];
      if (!any) continue;
      place_[c] = met_++;
      others_.push_back(c);
    }
  }

  void took(std::size_t steps) {
    if ((unheard_ += steps) < kUnheard) return;
    unheard_ = 0;
    hear_();
  }
  u64* bits(u32 place) { return bits_.data() + u64{place} * words_; }
  bool lies_in(u32 a, u32 b) {
    const u64 *x = bits(a), *y = bits(b);
    for (u32 w = 0; w < words_; ++w)
      if (x[w] & ~y[w]) return false;
    return true;
  }
  /// Writes the numbers of what is kept. Each waits for memory several times: they wait together.
  void number_kept(std::vector<i32>& to) {
    for (const Kept& each : kept_) __builtin_prefetch(&table_[slot_of(each.hash)]);
    for (Kept& each : kept_) {
      each.slot = slot_of(each.hash);
      while (table_[each.slot].number != kFree && table_[each.slot].tag != tag_of(each.hash)) each.slot = (each.slot + 1) & (table_.size() - 1);
      if (table_[each.slot].number != kFree) concepts_.fetch_lists(table_[each.slot].number);
    }
    for (const Kept& each : kept_)
      if (table_[each.slot].number != kFree) __builtin_prefetch(concepts_.list(other_side(), table_[each.slot].number).begin());
    for (const Kept& each : kept_) {
      std::size_t at = each.slot;
      while (table_[at].number != kFree && !(table_[at].tag == tag_of(each.hash) && is_concept(each, table_[at].number)))
        at = (at + 1) & (table_.size() - 1);
      if (table_[at].number == kFree) throw std::invalid_argument("a concept of the context is not among the bicliques that were given");
      to.push_back(static_cast<i32>(table_[at].number));
    }
  }
  std::size_t slot_of(u64 hash) const { return mix(hash) & (table_.size() - 1); }
  static u32 tag_of(u64 hash) { return static_cast<u32>(mix(hash) >> 32); }
  /// Whether what is kept is a concept: it has all of that one's others, no more, and its size.
  bool is_concept(const Kept& kept, u32 number) const {
    const Span others = concepts_.list(other_side(), number);
    if (list(number).size() != kept.size || others.size() != kept.n_others) return false;
    return !kept.size || std::all_of(others.begin(), others.end(), [&](i32 c) {
      const u32 place = place_[static_cast<u32>(c)];
      return place == kBarred || (place != kFree && kept_of_[place] == kept.place);
    });
  }

  const Concepts& concepts_;
  const Concepts::Side side_;
  const Rows rows_;
  const u32 n_others_, least_;
  void (*const hear_)();
  std::size_t unheard_ = 0;
  u32 next_ = 0, met_ = 0, words_ = 0;
  u64 steps_ = 0, column_words_ = 0, hash_of_all_ = 0;
  std::vector<u64> columns_, hash_of_, own_, candidates_;
  Growing<u64> bits_;
  std::vector<Slot> table_;
  std::vector<u32> place_, others_, word_, kept_of_;
  std::vector<Kept> kept_;
};

}  // namespace bicliq
