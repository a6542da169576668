// sum_bounds.hpp: what groups with gaps are worth at most, by weight and by surprise.
//
// Mates and others are as in root_search.hpp. Method: with so many mates so far, each other has a
// sum; with one mate more it gains no more than its best edge does. The best of both, b of each,
// bound the sum of b others and s more mates, less what the choice costs; the choice of gaps is
// taken to be free. Costs are concave in the number that is chosen, so that of numbers of mates the
// ends are best.
#pragma once

#include "gaps/gap_groups.hpp"
#include "graphs/csr.hpp"

#include <functional>

namespace bicliq::gaps {

class SumBounds {
 public:
  using Wide = __int128;  // a sum of gains, times a number of mates

  SumBounds(const Wanted& wanted, u32 mates_side) : wanted_(wanted), sums_(wanted.sums), mates_side_(mates_side) {}

  /// The part of the graph that is searched: rows of mates and their gains, and ids in the graph.
  void begin_range(const Rows& mates, const std::vector<i64>& gains, const std::vector<u32>& mate_ids, const std::vector<u32>& other_ids) {
    mate_ids_ = &mate_ids, other_ids_ = &other_ids;
    most_.assign(other_ids.size(), 0);
    for (usize e = 0; e < gains.size(); ++e) most_[static_cast<usize>(mates.row[e])] = std::max(most_[static_cast<usize>(mates.row[e])], gains[e]);
    most_of_all_ = most_;
    const usize few = std::min<usize>(wanted_.each, most_.size());
    std::partial_sort(most_of_all_.begin(), most_of_all_.begin() + static_cast<std::ptrdiff_t>(few), most_of_all_.end(), std::greater<>());
    most_of_all_.resize(few);
    most_weight_ = INT64_MIN;
    for (u32 i = 0; i < mate_ids.size(); ++i) most_weight_ = std::max(most_weight_, mate_weight(i));
    most_other_weight_ = INT64_MIN;
    for (u32 i = 0; i < other_ids.size(); ++i) most_other_weight_ = std::max(most_other_weight_, other_weight(i));
  }
  i64 mate_weight(u32 i) const { return weight(mates_side_, (*mate_ids_)[i]); }
  i64 other_weight(u32 i) const { return weight(1 - mates_side_, (*other_ids_)[i]); }
  i64 loss(u32 mate, u32 other) const {
    return sums_->loss(mates_side_, static_cast<i32>((*mate_ids_)[mate]), static_cast<i32>((*other_ids_)[other]));
  }
  i64 cost_of_mates(u64 n) const { return sums_->cost(mates_side_, n); }
  i64 cost_of_others(u64 n) const { return sums_->cost(1 - mates_side_, n); }

  /// The fewest mates and others with which a root can reach `least`; none where it cannot. Mates
  /// after it have no better chance, by surprise.
  std::pair<u32, u32> fewest_of_root(u32 root, Span row, u32 min_mates, u32 max_mates, u32 min_others, bool more_others, i64 least) {
    gains_.clear();
    sums_of_others_.clear();
    for (i32 v : row) {
      gains_.push_back(gain_at_most(root, static_cast<u32>(v), true));
      sums_of_others_.push_back(other_weight(static_cast<u32>(v)));
    }
    for (i64 gain : most_of_all_) gains_.push_back(gain), sums_of_others_.push_back(most_other_weight_);
    sort_prefixes(gains_, of_gains_);
    sort_prefixes(sums_of_others_, of_sums_);
    const u32 most_others = static_cast<u32>(std::min(gains_.size(), most_.size()));
    max_mates = std::min(max_mates, most_others);
    const auto reaches = [&](u32 mates, u32 others) {
      const Wide weights = mate_weight(root) + Wide{most_weight_} * (mates - 1);
      return of_sums_[others] + Wide{mates} * of_gains_[others] + weights - cost_of_mates(mates) - cost_of_others(others) >= Wide{least} - kRounded;
    };
    u32 others = min_others;
    for (;; ++others) {
      if (others > most_others || min_mates > max_mates) return {0, 0};
      const u32 most = std::min(max_mates, others - std::min<u32>(others, more_others));
      if (most >= min_mates && (reaches(min_mates, others) || reaches(most, others))) break;
    }
    const auto reached = [&](u32 mates) {
      for (u32 n = others; n <= most_others; ++n)
        if (reaches(mates, n)) return true;
      return false;
    };
    u32 low = min_mates, high = max_mates;
    while (low < high && !reached(low)) {
      const u32 middle = low + (high - low) / 2;
      reached(middle) ? high = middle : low = middle + 1;
    }
    return {low, others};
  }

  /// The others that can be with a root, by their places; with `ordered`, mates after it have no
  /// better chance.
  void begin_root(u32 root, const Ids& others, bool ordered) {
    gains_.clear();
    for (i32 v : others) gains_.push_back(gain_at_most(root, static_cast<u32>(v), ordered));
    gain_of_ = gains_;
    sort_prefixes(gains_, of_gains_);
  }
  /// The best sums of others of a node, 0 to all of them together.
  void begin_node(std::vector<i64>& sums, std::vector<Wide>& prefixes) const { sort_prefixes(sums, prefixes); }
  /// What one mate more gains with an other, by its place, at most.
  i64 gain(u32 place) const { return gain_of_[place]; }
  /// Can so many mates be worth so much with that many others? `sums` has all of them but the
  /// gains of the last `open`; `added` have no weight yet.
  bool reaches(const std::vector<Wide>& sums, u32 n_mates, u32 open, u32 added, u32 others, i64 weights, i64 least) const {
    const Wide gained = sums[others] + Wide{open} * of_gains_[others] + weights + (added ? Wide{most_weight_} * added : 0);
    return gained - cost_of_mates(n_mates + u64{open}) - cost_of_others(others) >= Wide{least} - kRounded;
  }
  /// By surprise: the edges without which one of at most so many mates does not pay for its choice
  /// and a gap; the same of an other. Of the root that `fewest_of_root` was told.
  u32 edges_of_mate(u32 most_mates, i64 gap) const {
    const u64 most = std::min<u64>(most_mates, mate_ids_->size());
    return edges_for(cost_of_mates(most) - cost_of_mates(most - 1) + gap);
  }
  u32 edges_of_other(i64 gap) const {
    const u64 most = std::min(of_gains_.size() - 1, most_.size());
    return edges_for(cost_of_others(most) - cost_of_others(most - 1) + gap);
  }

 private:
  static constexpr i64 kRounded = 8;  // costs are rounded, and so not quite concave

  u32 edges_for(i64 cost) const {
    const i64 largest = static_cast<i64>(of_gains_[1]);
    return cost <= kRounded ? 0 : largest <= 0 ? ~0u : static_cast<u32>((cost - kRounded) / largest) + 1;
  }
  i64 weight(u32 side, u32 v) const { return sums_->weights[side].empty() ? 0 : sums_->weights[side][v]; }
  /// What an edge of an other with the root or a mate after it gains at most; a gap gains nothing.
  i64 gain_at_most(u32 root, u32 other, bool ordered) const {
    if (!sums_->is_surprise() || !ordered) return most_[other];
    const i64 x = sums_->terms[mates_side_][(*mate_ids_)[root]] + sums_->terms[1 - mates_side_][(*other_ids_)[other]];
    return std::max<i64>(0, std::min(most_[other], sums_->correction.most(x)));
  }
  static void sort_prefixes(std::vector<i64>& values, std::vector<Wide>& prefixes) {
    std::sort(values.begin(), values.end(), std::greater<>());
    prefixes.assign(1, 0);
    for (i64 value : values) prefixes.push_back(prefixes.back() + value);
  }

  const Wanted& wanted_;
  const Sums* sums_;
  const u32 mates_side_;
  const std::vector<u32>*mate_ids_ = nullptr, *other_ids_ = nullptr;
  std::vector<i64> most_, most_of_all_;  // gains of an edge, by other; the largest of them
  i64 most_weight_ = 0, most_other_weight_ = 0;
  std::vector<i64> gains_, sums_of_others_, gain_of_;
  std::vector<Wide> of_gains_, of_sums_;
};

}  // namespace bicliq::gaps
