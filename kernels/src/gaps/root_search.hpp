// root_search.hpp: the groups with gaps whose first member, on the side of which they have fewer,
// is one vertex, the root.
//
// Members of that side are called mates here, those of the other side others. Method: what can be
// with the root is made a bit matrix: mates after it that share enough others with it, and others
// that are joined to enough of these. Mates are chosen one by one; the others that are left stand
// in levels, by how many of the mates chosen so far they miss: a level is a bit set, so that one
// more mate is a few ANDs. At each node the others of level 0 and the best of the higher levels are
// a group. Of each further mate it is known how many others there would be with it at most; sorted
// by that, the s-th of them bounds what s more mates are worth. A mate that misses none of the
// levels is in all groups that are answers: the rest need not go without it.
//
// Cost: a node costs (levels · mates · others / 64) steps.
#pragma once

#include "gaps/climber.hpp"
#include "gaps/root_matrix.hpp"
#include "gaps/sum_bounds.hpp"
#include "lanes/workers.hpp"

#include <numeric>

namespace bicliq::gaps {

class RootSearch {
 public:
  RootSearch(const Range& range, const Wanted& wanted, BestGroups& best, Climber& climber, const Run& run)
      : range_(range), wanted_(wanted), best_(best), climber_(climber), run_(run), m_(range, wanted),
        bounds_(wanted, range.mates_are_left ? 0 : 1) {
    if (wanted.sums) bounds_.begin_range(range.mates.view(), range.gains, range.mate_ids, range.other_ids);
  }

  void search(u32 root) {
    Fewest fewest{range_.min_mates, range_.min_others};
    if (wanted_.sums && !narrow(static_cast<i32>(root), fewest)) return;
    if (!m_.make(static_cast<i32>(root), fewest)) return;
    begin_levels(static_cast<i32>(root));
    chosen_.assign(1, static_cast<i32>(root));
    bits_of_.assign(1, 0);
    std::vector<u32> all(m_.mates.size());
    for (u32 i = 0; i < all.size(); ++i) all[i] = i;
    search_node(0, std::move(all));
  }
  u64 nodes = 0;

 private:
  struct Promise {
    u32 others, mate;  // with this mate at most so many others
    bool misses_none;
  };
  struct Filling {
    u32 others, missing;
  };
  static constexpr i64 kRounded = 8;  // costs are rounded, and so not quite concave

  /// By weight and by surprise: the fewest mates and others with which the root can reach what is
  /// wanted; false where it cannot. Several that are in all answers are not looked at as roots.
  bool narrow(i32 root, Fewest& fewest) {
    if (range_.n_members) return true;
    std::tie(fewest.mates, fewest.others) = bounds_.fewest_of_root(
        static_cast<u32>(root), range_.mates.view()[root], range_.min_mates, range_.max_mates, range_.min_others, range_.more_others, best_.least());
    const auto [mates, others, mate_edges, other_edges] = fewest;
    if (!mates || !wanted_.sums->is_surprise()) return mates > 0;
    const i64 gap = wanted_.sums->least_gap_cost(std::min(u64{mates - 1} * others, u64{mates} * (others - 1)), wanted_.total);
    if (mates > m_.asked_mates()) fewest.mate_edges = std::min(others, bounds_.edges_of_mate(range_.max_mates, gap));
    if (others > m_.asked_others()) fewest.other_edges = std::min(mates, bounds_.edges_of_other(gap));
    return true;
  }
  /// All others stand in the levels 0 and 1, by whether the root misses them.
  void begin_levels(i32 root) {
    n_levels_ = std::min(wanted_.each, wanted_.total) + 1;
    if (levels_.empty()) levels_.emplace_back();
    levels_[0].assign(n_levels_ * m_.n_words, 0);
    u64* zero = levels_[0].data();
    const u64* own = m_.row_of_root();
    std::copy(own, own + m_.n_words, zero);
    if (n_levels_ > 1)
      for (usize i = 0; i < m_.others.size(); ++i)
        if (!has_place(own, static_cast<u32>(i))) zero[m_.n_words + i / 64] |= u64{1} << i % 64;
    if (!wanted_.sums) return;
    bounds_.begin_root(static_cast<u32>(root), m_.others, !range_.n_members);
    std::vector<i64> weights;
    for (i32 v : m_.others) weights.push_back(bounds_.other_weight(static_cast<u32>(v)));
    add_sums(0, root, std::move(weights));
  }
  /// The sums of others that are left with one mate more.
  void add_sums(u32 depth, i32 mate, std::vector<i64> sums) {
    m_.each_entry(mate, [&](u32 place, usize entry) { sums[place] += range_.gains[entry]; });
    if (wanted_.sums->is_surprise()) {
      const u64* own = row_at(depth);
      for (u32 i = 1; i < n_levels_; ++i)
        each_place(level(depth, i), m_.n_words, [&](u32 place) {
          if (!has_place(own, place)) sums[place] -= bounds_.loss(static_cast<u32>(mate), static_cast<u32>(m_.others[place]));
        });
    }
    if (sums_.size() < depth + 1) sums_.resize(depth + 1), prefixes_.resize(depth + 1), more_prefixes_.resize(depth + 1), weight_.resize(depth + 1);
    weight_[depth] = (depth ? weight_[depth - 1] : 0) + bounds_.mate_weight(static_cast<u32>(mate));
    std::vector<i64> left;
    for (u32 i = 0; i < n_levels_; ++i) each_place(level(depth, i), m_.n_words, [&](u32 place) { left.push_back(sums[place]); });
    bounds_.begin_node(left, prefixes_[depth]);
    sums_[depth] = std::move(sums);
  }
  /// The others of the mate that was chosen there.
  const u64* row_at(u32 depth) const { return depth ? m_.row(bits_of_[depth]) : m_.row_of_root(); }

  // ---- the tree ---------------------------------------------------------------------------------

  void search_node(u32 depth, std::vector<u32> mates) {
    ++nodes;
    run_.check();
    const u32 n_mates = depth + 1;
    std::vector<u32> counts(n_levels_);
    for (u32 i = 0; i < n_levels_; ++i) counts[i] = count(level(depth, i));
    if (!has_other_members(depth)) return;
    if (n_mates < range_.n_members) {  // the next one that all answers have
      descend(depth, mates.front());
      search_node(depth + 1, {mates.begin() + 1, mates.end()});
      chosen_.pop_back();
      return;
    }
    if (n_mates >= m_.fewest.mates) take_groups(depth, counts);
    if (n_mates == range_.max_mates || mates.empty()) return;
    std::vector<Promise> promises;
    const u32 most_mates = std::min<u32>(range_.max_mates, n_mates + static_cast<u32>(mates.size()));
    for (u32 mate : mates) {
      const Promise promise = promise_of(depth, counts, mate);
      if (promise.others >= m_.others_needed(n_mates + 1) && (wanted_.sums || reaches(most_mates, promise.others, 0))) promises.push_back(promise);
    }
    std::sort(promises.begin(), promises.end(), [](const Promise& a, const Promise& b) {
      return std::tie(b.misses_none, b.others, a.mate) < std::tie(a.misses_none, a.others, b.mate);
    });
    if (wanted_.sums && !promises.empty()) bound_more(depth, promises);
    for (u32 i = 0; i < promises.size() && is_hopeful(n_mates, counts, promises, i); ++i) {
      descend(depth, promises[i].mate);
      std::vector<u32> rest;
      for (u32 j = i + 1; j < promises.size(); ++j) rest.push_back(promises[j].mate);
      search_node(depth + 1, std::move(rest));
      chosen_.pop_back();
      if (promises[i].misses_none) return;
    }
  }
  bool has_other_members(u32 depth) {
    for (u32 place : m_.member_places) {
      u64 word = 0;
      for (u32 i = 0; i < n_levels_; ++i) word |= level(depth, i)[place / 64];
      if (!(word >> place % 64 & 1)) return false;
    }
    return true;
  }
  u64* level(u32 depth, u32 i) { return levels_[depth].data() + i * m_.n_words; }
  u32 count(const u64* words) const {
    u64 n = 0;
    for (usize i = 0; i < m_.n_words; ++i) n += static_cast<u64>(__builtin_popcountll(words[i]));
    return static_cast<u32>(n);
  }
  u32 count_both(const u64* a, const u64* b) const {
    u64 n = 0;
    for (usize i = 0; i < m_.n_words; ++i) n += static_cast<u64>(__builtin_popcountll(a[i] & b[i]));
    return static_cast<u32>(n);
  }
  Promise promise_of(u32 depth, const std::vector<u32>& counts, u32 mate) {
    with_mate_.resize(n_levels_);
    u32 missed_before = 0, missed = 0;
    for (u32 i = 0; i < n_levels_; ++i) {
      const u32 joined = count_both(level(depth, i), m_.row(mate));
      with_mate_[i] = joined + missed_before;
      missed_before = counts[i] - joined;
      missed += missed_before;
    }
    return {fill(with_mate_, ~0u).others, mate, missed == 0};
  }
  /// As many others as there may be, or so many, with the fewest gaps.
  Filling fill(const std::vector<u32>& counts, u32 wanted) const {
    Filling filling{std::min(counts[0], wanted), 0};
    for (u32 i = 1; i < n_levels_ && filling.others < wanted; ++i) {
      const u32 n = std::min({counts[i], (wanted_.total - filling.missing) / i, wanted - filling.others});
      filling.others += n;
      filling.missing += n * i;
    }
    return filling;
  }
  i64 value(u64 mates, u64 others, u64 missing, i64 sum = 0) const {
    return range_.mates_are_left ? wanted_.value(mates, others, missing, sum) : wanted_.value(others, mates, missing, sum);
  }
  bool reaches(u64 mates, u64 others, u64 missing) const {
    return value(mates, others, missing) >= best_.least() && mates * others - missing >= wanted_.sizes.min_edges;
  }
  /// By weight and by surprise: only those so far.
  bool reaches_sum(u32 n_mates) const {
    const auto& sums = prefixes_[n_mates - 1];
    for (u32 others = m_.others_needed(n_mates); others < sums.size(); ++others)
      if (bounds_.reaches(sums, n_mates, 0, 0, others, weight_[n_mates - 1], best_.least())) return true;
    return false;
  }
  /// What others are worth with the fewest mates in addition that there have to be. One that is
  /// joined to fewer of those that are left has gaps, and few may have some.
  void bound_more(u32 depth, const std::vector<Promise>& promises) {
    const u32 more = fewest_more(depth + 1);
    links_left_.assign(m_.others.size(), 0);
    for (const Promise& promise : promises)
      each_place(m_.row(promise.mate), m_.n_words, [&](u32 place) { ++links_left_[place]; });
    std::vector<i64> whole, gapped;
    for (u32 i = 0; i < n_levels_; ++i)
      each_place(level(depth, i), m_.n_words, [&](u32 place) {
        const u32 joined = std::min(links_left_[place], more), gaps = i + more - joined;
        if (gaps > wanted_.each) return;
        (gaps ? gapped : whole).push_back(sums_[depth][place] + static_cast<i64>(joined) * bounds_.gain(place));
      });
    if (gapped.size() > wanted_.total) {
      std::nth_element(gapped.begin(), gapped.begin() + wanted_.total, gapped.end(), std::greater<>());
      gapped.resize(wanted_.total);
    }
    whole.insert(whole.end(), gapped.begin(), gapped.end());
    bounds_.begin_node(whole, more_prefixes_[depth]);
  }
  u32 fewest_more(u32 n_mates) const { return std::max(n_mates + 1, m_.fewest.mates) - n_mates; }
  /// The same as `is_hopeful`: of the numbers of mates that go with so many others, the ends.
  bool is_hopeful_sum(u32 n_mates, const std::vector<Promise>& promises, u32 i) const {
    const auto& sums = more_prefixes_[n_mates - 1];
    const u32 low = fewest_more(n_mates);
    u32 high = std::min(static_cast<u32>(promises.size()) - i, range_.max_mates - n_mates);
    if (low > high) return false;
    const auto reach = [&](u32 more, u32 others) {
      return bounds_.reaches(sums, n_mates + low, more - low, more, others, weight_[n_mates - 1], best_.least());
    };
    const u32 most = std::min(promises[i + low - 1].others, static_cast<u32>(sums.size()) - 1);
    for (u32 others = m_.others_needed(n_mates + low); others <= most; ++others) {
      while (promises[i + high - 1].others < others) --high;
      u32 mates = high;
      while (range_.others_needed_by_side(n_mates + mates) > others) --mates;
      if (reach(low, others) || reach(mates, others)) return true;
    }
    return false;
  }
  /// Can the mates from the i-th on lead to what is wanted?
  bool is_hopeful(u32 n_mates, const std::vector<u32>& counts, const std::vector<Promise>& promises, u32 i) {
    if (wanted_.sums) return is_hopeful_sum(n_mates, promises, i);
    // Promises are sorted by others behind those that miss none, which have no fewer.
    for (u32 s = 1; i + s <= promises.size() && n_mates + s <= range_.max_mates; ++s) {
      const u32 others = promises[i + s - 1].others;
      if (others < m_.others_needed(n_mates + s)) return false;
      if (n_mates + s >= m_.fewest.mates && reaches(n_mates + s, others, fill(counts, others).missing)) return true;
    }
    return false;
  }
  void descend(u32 depth, u32 mate) {
    if (levels_.size() < depth + 2) levels_.emplace_back();
    levels_[depth + 1].resize(n_levels_ * m_.n_words);
    const u64* own = m_.row(mate);
    for (u32 i = 0; i < n_levels_; ++i) {
      const u64 *from = level(depth, i), *below = i ? level(depth, i - 1) : nullptr;
      u64* to = level(depth + 1, i);
      for (usize w = 0; w < m_.n_words; ++w) to[w] = (from[w] & own[w]) | (below ? below[w] & ~own[w] : 0);
    }
    chosen_.push_back(m_.mates[mate]);
    if (bits_of_.size() < depth + 2) bits_of_.push_back(0);
    bits_of_[depth + 1] = mate;
    if (wanted_.sums) add_sums(depth + 1, chosen_.back(), sums_[depth]);
  }

  // ---- the groups of some mates -----------------------------------------------------------------

  /// An other that misses some of the mates.
  struct Extra {
    u32 place, level;
    i64 worth;
  };
  struct Filled {
    i64 value;
    u32 missing;
  };

  void take_groups(u32 depth, const std::vector<u32>& counts) {
    const u32 n_mates = depth + 1;
    if (wanted_.sums ? !reaches_sum(n_mates) : !reaches_filled(n_mates, counts)) return;
    taken_.clear();
    gaps_of_.assign(n_mates, 0);
    extras_.clear();
    u32 n_others = counts[0], missing = 0;
    i64 sum = wanted_.sums ? sum_without_gaps(depth) : 0;
    for (u32 i = 1; i < n_levels_; ++i)
      for (u32 place : m_.member_places)
        if (has_place(level(depth, i), place)) {
          if (missing + i > wanted_.total || !miss(depth, place, 1)) return;
          taken_.push_back(place);
          sum += sum_of(depth, place);
          ++n_others, missing += i;
        }
    const u32 n_more = std::accumulate(counts.begin() + 1, counts.end(), 0u) - static_cast<u32>(taken_.size());
    const u32 most_others = n_others + std::min(wanted_.total - missing, n_more);
    for (u32 i = 1; i < n_levels_; ++i)
      each_place(level(depth, i), m_.n_words, [&](u32 place) {
        if (may_add(i, n_mates) && !is_taken(place)) add_extra({place, i, worth(depth, place, i, n_others, most_others)}, n_others);
      });
    std::sort(extras_.begin(), extras_.end(), [](const Extra& a, const Extra& b) { return a.place < b.place; });
    after_.assign((extras_.size() + 1) * n_levels_, 0);
    for (usize i = extras_.size(); i-- > 0;) {
      std::copy_n(&after_[(i + 1) * n_levels_], n_levels_, &after_[i * n_levels_]);
      ++after_[i * n_levels_ + extras_[i].level];
    }
    own_best_.clear();
    if (wanted_.sums) {
      fill_best_after(wanted_.total - missing);
      offer_knapsack(depth, n_others, missing, sum);
      own_best_.clear();
    }
    choose(0, depth, n_others, missing, sum);
  }
  bool reaches_filled(u32 n_mates, const std::vector<u32>& counts) const {
    const Filling most = fill_more(counts, n_mates, counts[0], 0);
    return most.others >= m_.others_needed(n_mates) && reaches(n_mates, most.others, most.missing);
  }
  bool is_taken(u32 place) const { return std::find(taken_.begin(), taken_.end(), place) != taken_.end(); }
  i64 sum_of(u32 depth, u32 place) const { return wanted_.sums ? sums_[depth][place] : 0; }
  i64 sum_without_gaps(u32 depth) {
    i64 sum = weight_[depth];
    each_place(level(depth, 0), m_.n_words, [&](u32 place) { sum += sums_[depth][place]; });
    return sum;
  }
  /// What an other adds at most: its choice costs least where they are many, and a gap where pairs
  /// are few.
  i64 worth(u32 depth, u32 place, u32 gaps, u32 n_others, u32 most_others) const {
    if (!wanted_.sums || !wanted_.sums->is_surprise()) return sum_of(depth, place);
    const i64 choice = bounds_.cost_of_others(most_others) - bounds_.cost_of_others(most_others - 1);
    return sum_of(depth, place) - choice - gaps * wanted_.sums->least_gap_cost(u64{n_others} * (depth + 1), wanted_.total) + kRounded;
  }
  /// One that adds nothing would be taken away, unless there are too few others.
  void add_extra(const Extra& extra, u32 n_others) {
    if (!wanted_.sums || extra.worth > 0 || n_others < m_.asked_others()) extras_.push_back(extra);
  }
  /// What the extras from each on add at most with up to so many gaps: a knapsack.
  void fill_best_after(u32 gaps) {
    n_best_ = gaps + 1;
    best_after_.assign((extras_.size() + 1) * n_best_, 0);
    for (usize i = extras_.size(); i-- > 0;) {
      const i64 *without = &best_after_[(i + 1) * n_best_], worth = extras_[i].worth;
      for (u32 n = 0; n <= gaps; ++n)
        best_after_[i * n_best_ + n] = std::max(without[n], n < extras_[i].level ? 0 : without[n - extras_[i].level] + worth);
    }
  }
  i64 best_after(usize i, u32 gaps) const { return best_after_[i * n_best_ + gaps]; }
  /// The extras that would be best if their costs added up: what is wanted rises early.
  void offer_knapsack(u32 depth, u32 n_others, u32 missing, i64 sum) {
    const u32 n_taken = static_cast<u32>(taken_.size());
    for (usize i = 0; i < extras_.size(); ++i) {
      const auto [place, gaps, worth] = extras_[i];
      const u32 left = wanted_.total - missing;
      if (gaps > left || best_after(i, left) == best_after(i + 1, left) || !miss(depth, place, 1)) continue;
      taken_.push_back(place);
      ++n_others, missing += gaps, sum += sum_of(depth, place);
    }
    offer(depth, n_others, missing, sum);
    for (; taken_.size() > n_taken; taken_.pop_back()) miss(depth, taken_.back(), -1);
  }
  /// One that misses all mates mostly adds nothing, unless there are too few others.
  bool may_add(u32 level, u32 n_mates) const { return level < n_mates || m_.may_be_joined_to_none(); }
  /// What the extras from the i-th on can make of so many others, and the gaps that this takes.
  std::pair<Filled, u32> most_with(usize i, u32 n_mates, u32 n_others, u32 missing, i64 sum) const {
    if (!wanted_.sums) {
      const std::vector<u32> left(&after_[i * n_levels_], &after_[i * n_levels_] + n_levels_);
      const Filling most = fill_more(left, n_mates, n_others, missing);
      return {{value(n_mates, most.others, most.missing), most.missing}, most.others};
    }
    const u32 gaps = wanted_.total - missing, more = std::min<u32>(gaps, static_cast<u32>(extras_.size() - i));
    return {{value(n_mates, n_others, missing, sum) + best_after(i, gaps), missing}, n_others + more};
  }
  /// Chooses extras from the i-th on. Sets come in the order of their lists, so that of equal ones
  /// only the first k are of interest.
  void choose(usize i, u32 depth, u32 n_others, u32 missing, i64 sum) {
    const auto [bound, most_others] = most_with(i, depth + 1, n_others, missing, sum);
    if (bound.value < best_.least() || most_others < m_.others_needed(depth + 1)) return;
    if (own_best_.size() == best_.k()) {
      const Filled worst = own_best_.back();
      if (bound.value < worst.value || (bound.value == worst.value && bound.missing >= worst.missing)) return;
    }
    if (i == extras_.size() || most_others == n_others) return offer(depth, n_others, missing, sum);
    run_.check();
    const Extra extra = extras_[i];
    if (missing + extra.level <= wanted_.total && miss(depth, extra.place, 1)) {
      taken_.push_back(extra.place);
      choose(i + 1, depth, n_others + 1, missing + extra.level, sum + sum_of(depth, extra.place));
      taken_.pop_back();
      miss(depth, extra.place, -1);
    }
    choose(i + 1, depth, n_others, missing, sum);
  }
  /// The most that can be added to so many others, each of which has to add to the value.
  Filling fill_more(const std::vector<u32>& counts, u32 n_mates, u32 n_others, u32 missing) const {
    Filling filling{n_others, missing};
    for (u32 i = 1; i < n_levels_; ++i)
      for (u32 n = std::min(counts[i], (wanted_.total - filling.missing) / i); n > 0; --n) {
        const bool adds = value(n_mates, filling.others + 1, filling.missing + i) > value(n_mates, filling.others, filling.missing);
        if (!adds && filling.others >= m_.others_needed(n_mates)) break;
        ++filling.others;
        filling.missing += i;
      }
    return filling;
  }
  /// Counts the gaps that an other makes for the mates, or takes them back; false, and counts
  /// nothing, where a mate would have too many.
  bool miss(u32 depth, u32 place, i32 by) {
    if (wanted_.each == wanted_.total) return true;
    const auto misses = [&](u32 m) { return !has_place(row_at(m), place); };
    if (by > 0)
      for (u32 m = 0; m <= depth; ++m)
        if (gaps_of_[m] == wanted_.each && misses(m)) return false;
    for (u32 m = 0; m <= depth; ++m)
      if (misses(m)) gaps_of_[m] += static_cast<u32>(by);
    return true;
  }
  void offer(u32 depth, u32 n_others, u32 missing, i64 sum) {
    const u32 n_mates = depth + 1;
    if (n_others < m_.others_needed(n_mates) || (!wanted_.sums && !reaches(n_mates, n_others, missing))) return;
    Ids mates, others;
    for (i32 mate : chosen_) mates.push_back(static_cast<i32>(range_.mate_ids[static_cast<usize>(mate)]));
    const auto add = [&](u32 place) { others.push_back(static_cast<i32>(range_.other_ids[static_cast<usize>(m_.others[place])])); };
    each_place(level(depth, 0), m_.n_words, add);
    for (u32 place : taken_) add(place);
    std::sort(mates.begin(), mates.end());
    std::sort(others.begin(), others.end());
    if (!range_.mates_are_left) std::swap(mates, others);
    if (!climber_.fits(mates, others)) return;
    if (climber_.can_be_bettered()) return offer_better(climber_.climb(std::move(mates), std::move(others)));
    const Filled own{value(n_mates, n_others, missing, sum), missing};
    const auto before = [](const Filled& a, const Filled& b) { return std::tie(b.value, a.missing) < std::tie(a.value, b.missing); };
    own_best_.insert(std::upper_bound(own_best_.begin(), own_best_.end(), own, before), own);
    if (own_best_.size() > best_.k()) own_best_.pop_back();
    best_.offer(climber_.group(mates, others));
  }
  void offer_better(const Group& group) {
    if (climber_.fits(group.left, group.right)) best_.offer(group);
  }

  const Range& range_;
  const Wanted wanted_;
  BestGroups& best_;
  Climber& climber_;
  const Run& run_;
  RootMatrix m_;
  u32 n_levels_ = 0;
  std::vector<std::vector<u64>> levels_;  // by depth: [level][word]
  Ids chosen_;
  std::vector<u32> bits_of_;  // by depth: the row of the mate that was chosen there
  std::vector<u32> with_mate_, after_, taken_, gaps_of_;
  std::vector<Extra> extras_;
  std::vector<Filled> own_best_;
  SumBounds bounds_;                    // and what follows: by weight and by surprise
  std::vector<std::vector<i64>> sums_;  // by depth: of the mates so far with each other, by place
  std::vector<std::vector<SumBounds::Wide>> prefixes_, more_prefixes_;  // by depth: of the best others
  std::vector<u32> links_left_;  // by place
  std::vector<i64> weight_;  // by depth: of the mates so far
  std::vector<i64> best_after_;
  u32 n_best_ = 1;
};

}  // namespace bicliq::gaps
