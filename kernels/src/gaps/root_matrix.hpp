// root_matrix.hpp: what can be in a group with gaps whose first member, on the side of which they
// have fewer, is one vertex, the root; as a bit matrix.
//
// Members of that side are called mates, those of the other side others. Mates come after the root
// and share enough others with it; others are joined to enough of these mates. Either is looked at
// again until nothing falls away.
//
// Cost: the paths of length two from the root, a few times.
#pragma once

#include "gaps/gap_groups.hpp"
#include "graphs/rows.hpp"

#include <algorithm>

namespace bicliq::gaps {

/// Numbers of mates, and at least so many others; the part of the graph that can hold such groups.
struct Range {
  bool mates_are_left = true;
  u32 min_mates, max_mates, min_others;
  bool more_others = false;  // than mates, not as many
  OwnRows mates, others;     // rows of either side, by their numbers here; mates by ascending degree
  std::vector<i64> gains;    // of the entries of mates, by weight and by surprise
  std::vector<u32> mate_ids, other_ids;  // in the graph; others ascending
  u32 n_members = 0;  // the first mates are in every answer, and
  Ids other_members;  // these others, by their numbers here

  u32 others_needed_by_side(u32 mates) const { return mates + more_others; }
};

/// The least that a root's groups have, and edges without which a member would not pay for its
/// choice.
struct Fewest {
  u32 mates = 1, others = 1, mate_edges = 0, other_edges = 0;
};

/// f(place) for the set bits of some words.
template <class F>
void each_place(const u64* words, usize n_words, F f) {
  for (usize i = 0; i < n_words; ++i)
    for (u64 word = words[i]; word; word &= word - 1) f(static_cast<u32>(64 * i) + static_cast<u32>(__builtin_ctzll(word)));
}
inline bool has_place(const u64* words, u32 place) { return words[place / 64] >> place % 64 & 1; }

class RootMatrix {
 public:
  RootMatrix(const Range& range, const Wanted& wanted)
      : range_(range), wanted_(wanted), mate_rows_(range.mates.view()), other_rows_(range.others.view()), shared_(mate_rows_.size(), 0),
        links_(other_rows_.size(), 0), place_(other_rows_.size(), 0) {}

  /// Makes the matrix of a root; false where what can be with it does not suffice.
  bool make(i32 root, const Fewest& of_root) {
    fewest = of_root;
    gather_mates(root);
    const i64 own_least = std::max<i64>(i64{fewest.others} - wanted_.each, fewest.mate_edges);
    for (usize before = ~usize{0}; before != mates.size();) {
      before = mates.size();
      if (before + 1 < fewest.mates || !gather_others(root)) return false;
      const auto lacks = [&](i32 w) {
        i64 n = 0;
        for (i32 v : mate_rows_[w]) n += place_[static_cast<usize>(v)] != 0;
        return n < own_least;
      };
      mates.erase(std::remove_if(mates.begin(), mates.end(), lacks), mates.end());
    }
    std::sort(mates.begin(), mates.end());
    for (u32 i = 1; i < range_.n_members; ++i)
      if (mates.size() < i || mates[i - 1] != static_cast<i32>(i)) return false;
    fill(root);
    return true;
  }

  /// By place in the matrix: numbers in the range.
  Ids mates, others;
  usize n_words = 0;  // of a row
  Fewest fewest;
  std::vector<u32> member_places;  // of the others that all answers have

  const u64* row(u32 i) const { return bits_.data() + i * n_words; }
  const u64* row_of_root() const { return row(static_cast<u32>(mates.size())); }
  /// f(place, entry) for the others of the matrix that a mate has.
  template <class F>
  void each_entry(i32 mate, F f) const {
    for (auto e = mate_rows_.start[mate]; e < mate_rows_.start[mate + 1]; ++e)
      if (const u32 place = place_[static_cast<usize>(mate_rows_.row[e])]) f(place - 1, static_cast<usize>(e));
  }

  u32 others_needed(u32 n_mates) const { return std::max(fewest.others, range_.others_needed_by_side(n_mates)); }
  /// An other without any edge is mostly of use only where there are too few.
  bool may_be_joined_to_none() const { return wanted_.may_lack_all() || fewest.others <= asked_others(); }
  u32 asked_mates() const { return std::max(range_.mates_are_left ? wanted_.sizes.min_rows : wanted_.sizes.min_columns, 1u); }
  u32 asked_others() const { return std::max(range_.mates_are_left ? wanted_.sizes.min_columns : wanted_.sizes.min_rows, 1u); }

 private:
  void gather_mates(i32 root) {
    const i64 least = i64{fewest.others} - std::min<i64>(wanted_.total, i64{2} * wanted_.each);
    mates.clear();
    Ids touched;
    for (i32 v : mate_rows_[root])
      for (const i32 *w = after(other_rows_[v], root), *end = other_rows_[v].end(); w != end; ++w)
        if (shared_[static_cast<usize>(*w)]++ == 0) touched.push_back(*w);
    if (least <= 0) {
      for (usize w = static_cast<usize>(root) + 1; w < mate_rows_.size(); ++w) mates.push_back(static_cast<i32>(w));
    } else {
      for (i32 w : touched)
        if (shared_[static_cast<usize>(w)] >= least) mates.push_back(w);
    }
    for (i32 w : touched) shared_[static_cast<usize>(w)] = 0;
  }
  /// Others that are joined to enough of the mates, each with its place, from 1 on.
  bool gather_others(i32 root) {
    for (i32 v : others) place_[static_cast<usize>(v)] = 0;
    others.clear();
    Ids touched;
    const auto link = [&](i32 mate) {
      for (i32 v : mate_rows_[mate])
        if (links_[static_cast<usize>(v)]++ == 0) touched.push_back(v);
    };
    link(root);
    for (i32 w : mates) link(w);
    const i64 possible = i64{fewest.mates} - wanted_.each, least = std::max<i64>(possible, fewest.other_edges);
    if (least <= 0 && may_be_joined_to_none()) {
      for (usize v = 0; v < other_rows_.size(); ++v) others.push_back(static_cast<i32>(v));
    } else {
      for (i32 v : touched)
        if (links_[static_cast<usize>(v)] >= least) others.push_back(v);
      for (i32 v : range_.other_members)  // which need not pay for their choice
        if (const u32 links = links_[static_cast<usize>(v)]; links >= possible && (!links || links < least)) others.push_back(v);
      std::sort(others.begin(), others.end());
    }
    for (i32 v : touched) links_[static_cast<usize>(v)] = 0;
    for (usize i = 0; i < others.size(); ++i) place_[static_cast<usize>(others[i])] = static_cast<u32>(i) + 1;
    for (i32 v : range_.other_members)
      if (!place_[static_cast<usize>(v)]) return false;
    return others.size() >= others_needed(fewest.mates);
  }
  static const i32* after(Span row, i32 v) { return std::upper_bound(row.begin(), row.end(), v); }

  void fill(i32 root) {
    n_words = (others.size() + 63) / 64;
    bits_.assign((mates.size() + 1) * n_words, 0);
    const auto fill_row = [&](usize i, i32 mate) {
      each_entry(mate, [&](u32 place, usize) { bits_[i * n_words + place / 64] |= u64{1} << place % 64; });
    };
    for (usize i = 0; i < mates.size(); ++i) fill_row(i, mates[i]);
    fill_row(mates.size(), root);
    member_places.clear();
    for (i32 v : range_.other_members) member_places.push_back(place_[static_cast<usize>(v)] - 1);
  }

  const Range& range_;
  const Wanted wanted_;
  const Rows mate_rows_, other_rows_;
  std::vector<u32> shared_, links_, place_;  // by number in the range
  std::vector<u64> bits_;                    // [mate][word], the root last
};

}  // namespace bicliq::gaps
