// outside.hpp: what the vertices of one side of a subgraph reach, in it and beyond it.
//
// What it answers, for a set of these members: is there a vertex outside that all are adjacent to
// without a new edge (then what is left of a biclique is not maximal before these edges); how many
// inside are; and may there be one outside that is, by new edges (then somebody else may find what
// is left, too)? Input: the rows of the members, and which of their edges are new. Method: a row of
// bits for each member, of the vertices inside, then of those outside that two members or more
// reach, those that most of them reach first: who is adjacent to k members is among the first
// words. There, words of the two members that reach least are compared first, and most end there.
// (On gowalla some 80 words for 6 members: one vertex after the other, each looked up in the rows
// of bits, took six times as long.) Cost: the edges of the members once; then the words of a row
// for two members, and seldom more. One object takes one subgraph after the other, in the same
// memory.
#pragma once

#include "changes/found_changes.hpp"
#include "graphs/rows.hpp"
#include "lanes/bitset.hpp"
#include "lanes/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bicliq {

/// Rows nearly all of which are empty: a bit of each says so, since where rows begin takes 64 times
/// the memory, and is seldom in the cache.
class FewRows {
 public:
  explicit FewRows(const Rows& rows) : rows_(rows), filled_(rows.size() / 64 + 1, 0) {
    for (std::size_t v = 0; v < rows.size(); ++v)
      if (rows.start[v] != rows.start[v + 1]) filled_[v / 64] |= std::uint64_t{1} << v % 64;
  }
  Span operator[](std::int32_t v) const {
    const auto at = static_cast<std::size_t>(v);
    return filled_[at / 64] >> at % 64 & 1 ? rows_[v] : Span{nullptr, nullptr};
  }
  std::size_t size() const { return rows_.size(); }
  std::size_t n_edges() const { return rows_.n_edges(); }
  /// The number of an entry of a row among all.
  std::size_t number(const std::int32_t& entry) const { return static_cast<std::size_t>(&entry - rows_.row); }

 private:
  const Rows rows_;
  std::vector<std::uint64_t> filled_;
};

/// Members of a side of a subgraph, told by their numbers; the first of the side has the number
/// `base`.
struct Places {
  Span members;
  std::int32_t base;
};

class Outside {
 public:
  /// For n bicliques of the subgraph; not usable where these are too few to be worth it. Degrees in
  /// it are given where all members are adjacent to the other end of the change: one whose degree
  /// is 1 is then in no biclique but the one of all members, and is not read. (Of YouTube's members
  /// these are six in seven.) `across` are the rows of the other side, of the ends of new edges at
  /// least. `seen` holds a zero for every vertex of the other side, and `own` one for every vertex
  /// of the members' side; they do so again afterwards.
  void fill(std::size_t n_bicliques, Span members, const std::int32_t* degrees, Span inside, const Rows& rows, const FewRows& fresh,
            const Rows& across, Zeros<std::int32_t>& seen, Zeros<std::int32_t>& own) {
    const std::size_t entries = choose_read(members, degrees, rows);
    usable_ = entries <= kEntriesABiclique * n_bicliques;
    if (!usable_) return;
    for (std::size_t i = 0; i < inside.size(); ++i) seen[static_cast<std::size_t>(inside.first[i])] = -1 - static_cast<std::int32_t>(i);
    find_new(fresh, across, seen, own);
    const Touched touched = read_ends(entries, rows, fresh, seen);
    inside_words_ = words_of(inside.size());
    const std::int32_t n = order_by_members(touched.n_shared, seen);
    words_ = inside_words_ + words_of(static_cast<std::size_t>(n) + 1);
    usable_ = words_ * n_rows() <= kMostWords;
    if (usable_) set_bits(seen);
    for (std::size_t i = 0; i < touched.n; ++i) seen[static_cast<std::size_t>(touched_.data()[i])] = 0;
    for (std::int32_t x : inside) seen[static_cast<std::size_t>(x)] = 0;
  }
  bool usable() const { return usable_; }

  // ---- the rows of bits, for who looks at many sets that have most members in common ------------

  static constexpr u32 kBlock = 8;  // words that are compared at once
  using Block = Bits<kBlock>;
  static Block block_at(const u64* words) {
    Block found;
    std::memcpy(&found, words, sizeof(found));
    return found;
  }
  /// The vertices outside that a member reaches and others do, too: how many, and their bits; those
  /// that n members reach are in the first `words_for(n)` words.
  u32 n_shared(std::size_t place) const { return n_shared_[row_[place]]; }
  const u64* shared(std::size_t place) const { return bits(row_[place]) + inside_words_; }
  std::size_t words_for(std::size_t n_members) const { return reached_by_[std::min(n_members, kMostCounted)]; }
  /// Does it reach any vertex outside?
  bool reaches_any(std::size_t place) const { return reaches_any_[row_[place]] != 0; }
  /// The vertices outside that it may reach by a new edge.
  const u64* anew(std::size_t place) const { return new_bits_.data() + row_[place] * new_words_; }
  std::size_t words_anew() const { return new_words_; }

  // ---- one set after the other ------------------------------------------------------------------

  /// Is a vertex outside adjacent to all of these members but one (its place), by edges that are
  /// not new? There are two members or more.
  bool reached_by_all(Places all, std::int32_t left_out) {
    if (rows_.size() < all.members.size()) rows_.resize(2 * all.members.size());
    const u64** const rows = rows_.data();
    // How many a member reaches, and its place in rows; the two that reach least, without a branch.
    u64 least = ~u64{0}, second = ~u64{0};
    std::size_t n_rows = 0;
    for (const std::int32_t member : all.members) {
      const std::int32_t m = member - all.base;
      const auto place = static_cast<std::size_t>(m);
      const u64 own = m == left_out ? ~u64{0} : u64{n_shared(place)} << 32 | n_rows;
      rows[n_rows] = shared(place);
      n_rows += m != left_out;
      second = std::min(second, std::max(least, own));
      least = std::min(least, own);
    }
    if (n_rows == 1) return reaches_any_[static_cast<std::size_t>(rows[0] - bits_.data()) / words_] != 0;
    if (least >> 32 == 0) return false;
    const u64 *one = rows[static_cast<u32>(least)], *other = rows[static_cast<u32>(second)];
    const std::size_t end = words_for(n_rows);
    for (std::size_t at = 0; at < end; at += kBlock) {
      Block both = block_at(one + at) & block_at(other + at);
      for (std::size_t i = 0; i < n_rows && !empty(both); ++i) both = both & block_at(rows[i] + at);
      if (!empty(both)) return true;
    }
    return false;
  }

  /// How many vertices inside are adjacent to all of these members by edges that are not new?
  std::size_t n_inside(Span members) const {
    std::size_t found = 0;
    for (std::size_t at = 0; at < inside_words_; at += kBlock) {
      Block all = Block::first_n(64 * kBlock);
      for (const std::int32_t m : members) all = all & block_at(bits(row_[static_cast<std::size_t>(m)]) + at);
      found += count(all);
    }
    return found;
  }

  /// May a vertex outside be adjacent to all of these members but one, by a new edge at least?
  bool may_be_reached_anew(Places all, std::int32_t left_out) const {
    for (std::size_t at = 0; at < new_words_; ++at) {
      u64 common = ~u64{0};
      for (const std::int32_t member : all.members) {
        const std::int32_t m = member - all.base;
        if (m != left_out) common &= anew(static_cast<std::size_t>(m))[at];
      }
      if (common) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 22;  // 32 MB
  static constexpr std::size_t kMostCounted = 64;                // members of a vertex that are told apart
  static constexpr std::size_t kEntriesABiclique = 256;  // read here in the time of one look into the rows

  static std::size_t words_of(std::size_t n) { return (n + 64 * kBlock - 1) / (64 * kBlock) * kBlock; }
  /// Of the members that are read, each has a row of bits; the first row, which stays empty, is of
  /// all others.
  std::size_t n_rows() const { return read_.size() + 1; }
  const u64* bits(std::size_t row) const { return bits_.data() + row * words_; }

  /// Says which members are read, and how many entries these have.
  std::size_t choose_read(Span members, const std::int32_t* degrees, const Rows& rows) {
    std::size_t entries = 0;
    read_.clear(), row_.assign(members.size(), 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (degrees && degrees[i] <= 1) continue;
      read_.push_back(members.first[i]);
      row_[i] = static_cast<u32>(read_.size());
      entries += rows[members.first[i]].size();
    }
    return entries;
  }

  /// How many outside vertices are reached, and by two members or more.
  struct Touched {
    std::size_t n, n_shared;
  };
  /// Reads the ends of edges that are not new, and counts in `seen` how often each outside vertex
  /// is one. No branch depends on whether one was seen before.
  Touched read_ends(std::size_t n, const Rows& rows, const FewRows& fresh, Zeros<std::int32_t>& seen) {
    std::int32_t *const ends = ends_.room(n), *const touched_now = touched_.room(n + 1), *const shared = shared_.room(n + 1);
    std::size_t n_ends = 0;
    Touched touched{0, 0};
    const auto read = [&](const std::int32_t* from, const std::int32_t* to) {
      for (; from != to; ++from) {
        const std::int32_t x = *from;
        std::int32_t& count = seen[static_cast<std::size_t>(x)];
        ends[n_ends++] = x;
        touched_now[touched.n] = x;
        touched.n += count == 0;
        shared[touched.n_shared] = x;
        touched.n_shared += count == 1;
        count += count >= 0;
      }
    };
    start_.assign(1, 0);
    for (const std::int32_t member : read_) {
      const Span row = rows[member];
      const std::int32_t* from = row.first;
      for (const std::int32_t x : fresh[member]) {
        const std::int32_t* const at = std::lower_bound(from, row.last, x);
        read(from, at);
        from = at + 1;
      }
      read(from, row.last);
      start_.push_back(n_ends);
    }
    return touched;
  }
  /// Where the bit of a vertex is that one member alone reaches: the first beyond those inside; it
  /// is cleared again.
  std::int32_t unshared() const { return static_cast<std::int32_t>(64 * inside_words_); }
  /// Gives the vertices that two members or more reach their bits, those that most of them reach
  /// first: a set of many members is compared with these alone. Takes their numbers of members in
  /// `place`, and leaves their bits there. Says how many there are.
  std::int32_t order_by_members(std::size_t n_shared, Zeros<std::int32_t>& place) {
    std::array<std::int32_t, kMostCounted + 1> next{};  // of each number of members: how many vertices have more
    const auto counted = [](std::int32_t members) { return std::min(static_cast<std::size_t>(members), kMostCounted); };
    for (std::size_t i = 0; i < n_shared; ++i) ++next[counted(place[static_cast<std::size_t>(shared_.data()[i])])];
    std::int32_t n = 0;
    for (std::size_t members = kMostCounted; members > 1; --members) {
      const std::int32_t own = std::exchange(next[members], n);
      n += own;
      reached_by_[members] = n ? words_of(static_cast<std::size_t>(n) + 1) : 0;
    }
    for (std::size_t i = 0; i < n_shared; ++i) {
      std::int32_t& own = place[static_cast<std::size_t>(shared_.data()[i])];
      own = unshared() + ++next[counted(own)];
    }
    return n;
  }
  /// `place` has the bit of a shared vertex, 1 for another outside, and -1 - i for the i-th inside.
  void set_bits(const Zeros<std::int32_t>& place) {
    bits_.assign(words_ * n_rows(), 0);
    reaches_any_.assign(n_rows(), 0), n_shared_.assign(n_rows(), 0);
    const std::int32_t unshared = this->unshared();
    for (std::size_t i = 1; i < n_rows(); ++i) {
      u64* const row = bits_.data() + i * words_;
      u32 n_shared = 0;
      for (std::size_t k = start_[i - 1]; k < start_[i]; ++k) {
        const std::int32_t own = place[static_cast<std::size_t>(ends_.data()[k])];
        const std::int32_t bit = own < 0 ? -1 - own : std::max(own, unshared);
        row[bit >> 6] |= u64{1} << (bit & 63);
        n_shared += bit > unshared;
      }
      u64& first_beyond = row[inside_words_];
      reaches_any_[i] = n_shared != 0 || (first_beyond & 1) != 0;
      first_beyond &= ~u64{1};
      n_shared_[i] = n_shared;
    }
  }

  /// The outside vertices that a member has a new edge to, a thousandth of its edges as a rule, and
  /// all members that these are adjacent to.
  void find_new(const FewRows& fresh, const Rows& across, const Zeros<std::int32_t>& seen, Zeros<std::int32_t>& own) {
    Ids& ends = new_ends_;
    ends.clear();
    for (const std::int32_t member : read_)
      for (std::int32_t x : fresh[member])
        if (seen[static_cast<std::size_t>(x)] >= 0) ends.push_back(x);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    new_words_ = (ends.size() + 63) / 64;
    new_bits_.assign(new_words_ * n_rows(), 0);
    if (ends.empty()) return;
    for (std::size_t i = 0; i < read_.size(); ++i) own[static_cast<std::size_t>(read_[i])] = static_cast<std::int32_t>(i + 1);
    for (std::size_t i = 0; i < ends.size(); ++i)  // of who is no member, in the first row
      for (std::int32_t m : across[ends[i]]) new_bits_[static_cast<std::size_t>(own[static_cast<std::size_t>(m)]) * new_words_ + i / 64] |= u64{1} << i % 64;
    std::fill_n(new_bits_.begin(), new_words_, 0);
    for (const std::int32_t member : read_) own[static_cast<std::size_t>(member)] = 0;
  }

  std::array<std::size_t, kMostCounted + 1> reached_by_{};  // words that hold the vertices which so many members reach
  Ids read_;                       // the members that are read
  std::vector<u32> row_;           // of bits, of each member
  std::vector<char> reaches_any_;  // of each row: is any vertex outside reached?
  std::vector<u32> n_shared_;      // outside vertices that are, and by others too
  std::vector<u64> bits_, new_bits_;
  std::vector<const u64*> rows_;
  Ids new_ends_;
  Growing<std::int32_t> touched_, shared_, ends_;  // room that only grows; of ends_, those of each member that is read from its start on
  std::vector<std::size_t> start_;
  std::size_t words_ = 0, inside_words_ = 0, new_words_ = 0;
  bool usable_ = false;
};

}  // namespace bicliq
