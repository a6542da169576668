// gap_finding.hpp: the best groups with gaps of a graph, by branch and bound.
//
// What it finds: of all L × R of wanted sizes with at most so many missing pairs, in all and of one
// member, the k best by edges, vertices, balance, weight or surprise that cannot be bettered by one
// member more or less (gap_groups.hpp). Input: rows of the left side, and groups to begin with.
//
// Method: the groups to begin with and the stars of the largest vertices, bettered one member at a
// time (climber.hpp), say what is wanted. The search then goes from range to range of numbers of
// mates, the members of the side of which a group has fewer, first the left side, then the right
// one. What is wanted says how many others so many mates need; the range is searched in the core
// that is left of the graph where mates have so many neighbours, and others so many, less the gaps
// of a member; root by root (root_search.hpp). Cost: O(edges) a range, and the search.
//
// Papers: Lyu et al., VLDB 2020, "Maximum biclique search at billion scale" (ranges of sizes, each
// with its core); Chen et al., Computers & Operations Research 127, 2021, "Computing maximum
// k-defective cliques in massive graphs".
#pragma once

#include "gaps/root_search.hpp"
#include "lanes/sorted_words.hpp"

#include <memory>

namespace bicliq::gaps {

struct GapRequest {
  Rows left;
  u32 n_right;
  Wanted wanted;
  Sums sums;  // of which only the gains of left rows are set; used by weight and by surprise
  usize k;
  i64 least;  // what an answer must be worth
  std::vector<std::pair<Ids, Ids>> first;
  u32 threads;
};

class GapFinding {
 public:
  explicit GapFinding(GapRequest request) : r_(std::move(request)), best_(r_.k, r_.least) {
    crew_.begin([this] { run(); });
  }
  ~GapFinding() { end(); }
  GapFinding(const GapFinding&) = delete;
  GapFinding& operator=(const GapFinding&) = delete;

  bool wait(double seconds) { return crew_.wait(seconds); }
  void end() { crew_.end(); }
  std::vector<Group> so_far() const { return best_.first(); }
  /// Of the range that is searched now.
  u64 n_roots() const { return crew_.n_roots(); }
  u64 roots_done() const { return crew_.roots_done(); }

  // ---- once it has ended ----------------------------------------------------------------------

  const std::vector<Group>& groups() const { return best_.all(); }
  bool proven() const { return proven_; }
  u64 nodes() const { return nodes_; }
  u64 roots_opened() const { return roots_opened_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }

 private:
  static constexpr usize kStars = 64;   // of each side, a group that is wanted
  static constexpr usize kTries = 64;   // of variations, a group that is wanted
  static constexpr u32 kRangeShare = 4;  // a range ends a quarter above where it begins

  void run() {
    {
      const Stopwatch watch(prepare_seconds_);
      turned_ = transposed(r_.left, r_.n_right, [this] { crew_.check(); });
      sides_[0] = r_.left, sides_[1] = turned_.view();
      if (r_.wanted.objective >= Objective::weight) r_.wanted.sums = &turn_gains();
      for (u32 i = 0; i < r_.threads; ++i) climbers_.push_back(std::make_unique<Climber>(sides_[0], sides_[1], r_.wanted));
      for (auto& [left, right] : r_.first) begin_with(left, right);
      if (!r_.wanted.has_members() && !r_.sums.is_surprise())
        for (u32 side : {0u, 1u}) begin_with_stars(side);
      vary();
    }
    const Stopwatch watch(search_seconds_);
    for (u32 side : {0u, 1u}) search_by_mates(side);
    proven_ = !crew_.stopped();
  }

  /// The gains of edges in the order of the right rows, too.
  const Sums& turn_gains() {
    std::vector<std::int64_t> at(turned_.start.begin(), turned_.start.end() - 1);
    r_.sums.gains[1].resize(r_.sums.gains[0].size());
    for (usize e = 0; e < r_.sums.gains[0].size(); ++e)
      r_.sums.gains[1][static_cast<usize>(at[static_cast<usize>(r_.left.row[e])]++)] = r_.sums.gains[0][e];
    return r_.sums;
  }

  void begin_with(const Ids& left, const Ids& right) {
    crew_.check();
    Climber& climber = *climbers_[0];
    if (left.empty() || right.empty()) return;
    const Group group = climber.climb(left, right);
    if (climber.fits(group.left, group.right) && !climber.can_be_bettered()) best_.offer(group);
  }
  /// The largest vertices of a side with all their neighbours.
  void begin_with_stars(u32 side) {
    std::vector<u32> order = ascending_degree(degrees(sides_[side]));
    const usize n = std::min(order.size(), kStars + r_.k);
    for (usize i = 1; i <= n; ++i) {
      const i32 centre = static_cast<i32>(order[order.size() - i]);
      const Span row = sides_[side][centre];
      const Ids own{centre}, others(row.begin(), row.end());
      side == 0 ? begin_with(own, others) : begin_with(others, own);
    }
  }

  /// Until there are as many as are wanted: what those that there are become without one of their
  /// members.
  void vary() {
    usize tries = kTries * r_.k;
    for (usize n = 0; n != best_.all().size() && best_.all().size() < r_.k;) {
      n = best_.all().size();
      for (const Group& group : std::vector<Group>(best_.all()))
        for (u32 side : {0u, 1u})
          for (i32 v : side == 0 ? group.left : group.right) {
            if (best_.all().size() == r_.k || tries-- == 0) return;
            Ids left = group.left, right = group.right;
            Ids& members = side == 0 ? left : right;
            members.erase(std::lower_bound(members.begin(), members.end(), v));
            if (members.empty()) continue;
            const Group other = climbers_[0]->climb_without(side, v, std::move(left), std::move(right));
            begin_with(other.left, other.right);
          }
    }
  }

  // ---- ranges -----------------------------------------------------------------------------------

  /// A graph, or what another range has left of it.
  struct Part {
    u32 side;  // of the mates
    Rows mates, others;
    const i64* gains;                         // of the entries of mates; none by sizes
    const std::vector<u32>*mate_ids, *other_ids;  // in the graph; none: numbers are ids

    u32 mate(u32 v) const { return mate_ids ? (*mate_ids)[v] : v; }
    u32 other(u32 v) const { return other_ids ? (*other_ids)[v] : v; }
  };
  Sizes sizes_of(u32 side) const { return side == 0 ? r_.wanted.sizes : r_.wanted.sizes.turned(); }

  /// From few mates on, since these need the most others; by balance from many on, for the same
  /// reason. What is in no range is left out before.
  void search_by_mates(u32 side) {
    const Sums* sums = r_.wanted.sums;
    const Part graph{side, sides_[side], sides_[1 - side], sums ? sums->gains[side].data() : nullptr, nullptr, nullptr};
    std::vector<Range> ranges = ranges_of(graph);
    if (ranges.empty()) return;
    Range all = ranges.front();
    for (const Range& range : ranges)
      all.min_others = std::min(all.min_others, std::max(range.min_others, needed(range.max_mates, static_cast<u32>(graph.others.size()))));
    if (!fill_core(all, graph)) return;
    const Part part{side, all.mates.view(), all.others.view(), all.gains.data(), &all.mate_ids, &all.other_ids};
    const bool from_many = r_.wanted.objective == Objective::balanced;
    std::vector<Range> later;
    for (Range& range : ranges)
      if (from_many && can_hold(range.min_mates, part))
        later.push_back(std::move(range));
      else if (from_many || (!search_range(range, part) && !can_hold(range.min_mates, part)))
        break;  // nothing of so many on both sides
    for (; !later.empty(); later.pop_back()) search_range(later.back(), part);
  }
  std::vector<Range> ranges_of(const Part& part) const {
    const Sizes sizes = sizes_of(part.side);
    const u32 n_mates = static_cast<u32>(part.mates.size()), n_others = static_cast<u32>(part.others.size());
    const u32 end = std::min({sizes.max_rows, n_mates, n_others - std::min(n_others, part.side)});
    std::vector<Range> ranges;
    for (u32 from = std::max(sizes.min_rows, 1u); from <= end; from = ranges.back().max_mates + 1) {
      Range range;
      range.mates_are_left = part.side == 0;
      range.more_others = part.side == 1;
      range.min_mates = from, range.max_mates = std::min(end, from + from / kRangeShare);
      range.min_others = std::max(sizes.min_columns, range.others_needed_by_side(from));
      ranges.push_back(std::move(range));
    }
    return ranges;
  }
  /// False where nothing can be in it.
  bool search_range(Range& range, const Part& part) {
    const u32 n_others = static_cast<u32>(part.others.size());
    range.min_others = std::max(range.min_others, needed(range.max_mates, n_others));
    if (range.min_others > n_others || !fill_core(range, part)) return false;
    search(range);
    return true;
  }
  /// Others without which nothing of so many mates is wanted.
  u32 needed(u32 mates, u32 n_others) const {
    if (r_.wanted.sums) return 1;  // each root has bounds of its own
    return first_where(1u, n_others + 1, [&](u32 n) {
      return r_.wanted.value(mates, n, 0) >= best_.least() && u64{mates} * n >= r_.wanted.sizes.min_edges;
    });
  }
  /// Is there anything of at least so many mates and as many others?
  bool can_hold(u32 mates, const Part& part) {
    Range range;
    range.min_mates = range.max_mates = range.min_others = mates;
    return fill_core(range, part);
  }

  /// Leaves out whoever has too few neighbours, again and again; false where nobody is left.
  bool fill_core(Range& range, const Part& part) {
    const Rows mates = part.mates, others = part.others;
    std::vector<u32> mate_degree = degrees(mates), other_degree = degrees(others);
    const Sizes sizes = sizes_of(part.side);
    const u32 least_mate = neighbours_needed(range.min_others, range.min_mates > std::max(sizes.min_rows, 1u));
    const u32 least_other = neighbours_needed(range.min_mates, range.min_others > std::max(sizes.min_columns, 1u));
    std::vector<std::pair<u32, bool>> gone;  // a vertex, and whether it is a mate
    const auto look = [&](u32 v, bool is_mate) {
      const u32 degree = (is_mate ? mate_degree : other_degree)[v];
      const bool has_edges = degree || part.mate_ids;  // in the graph: in a part all have
      if (!has_edges || degree < (is_mate ? least_mate : least_other)) gone.push_back({v, is_mate});
    };
    for (u32 v = 0; v < mates.size(); ++v) look(v, true);
    for (u32 v = 0; v < others.size(); ++v) look(v, false);
    std::vector<char> mate_goes(mates.size(), 0), other_goes(others.size(), 0);
    for (const auto& [v, is_mate] : gone) (is_mate ? mate_goes : other_goes)[v] = 1;
    for (usize i = 0; i < gone.size(); ++i) {
      const auto [v, is_mate] = gone[i];
      if (i % 4096 == 0) crew_.check();
      auto& degree = is_mate ? other_degree : mate_degree;
      auto& goes = is_mate ? other_goes : mate_goes;
      for (i32 w : (is_mate ? mates : others)[static_cast<i32>(v)])
        if (--degree[static_cast<usize>(w)] < (is_mate ? least_other : least_mate) && !goes[static_cast<usize>(w)]) {
          goes[static_cast<usize>(w)] = 1;
          gone.push_back({static_cast<u32>(w), !is_mate});
        }
    }
    std::vector<u32> left, others_left;  // numbers in the part
    for (u32 v : ascending_degree(mate_degree))
      if (!mate_goes[v]) left.push_back(v);
    for (u32 v = 0; v < others.size(); ++v)
      if (!other_goes[v]) others_left.push_back(v);
    if (left.size() < range.min_mates || others_left.size() < range.min_others) return false;
    sort_mates(left, part);
    number(range, part, left, others_left);
    return range.n_members == r_.wanted.members[part.side].size() && range.other_members.size() == r_.wanted.members[1 - part.side].size();
  }
  /// Those that all answers have first; by surprise then by ascending chance.
  void sort_mates(std::vector<u32>& mates, const Part& part) const {
    if (r_.wanted.sums && r_.wanted.sums->is_surprise()) {
      const auto& terms = r_.wanted.sums->terms[part.side];
      std::stable_sort(mates.begin(), mates.end(), [&](u32 a, u32 b) { return terms[part.mate(a)] > terms[part.mate(b)]; });
    }
    std::stable_partition(mates.begin(), mates.end(), [&](u32 v) { return r_.wanted.is_member(part.side, static_cast<i32>(part.mate(v))); });
  }
  /// Neighbours that a member needs among so many. One without any is mostly of use only where
  /// there would be too few of them.
  u32 neighbours_needed(u32 members, bool are_more_than_asked) const {
    const u32 gaps = r_.wanted.each;
    return members > gaps ? members - gaps : !r_.wanted.may_lack_all() && !r_.wanted.has_members() && are_more_than_asked;
  }
  void number(Range& range, const Part& part, const std::vector<u32>& mates, const std::vector<u32>& others) {
    std::vector<i32> place(part.others.size(), -1);
    for (u32 v : others) {
      place[v] = static_cast<i32>(range.other_ids.size());
      range.other_ids.push_back(part.other(v));
      if (r_.wanted.is_member(1 - part.side, static_cast<i32>(part.other(v)))) range.other_members.push_back(place[v]);
    }
    range.mates.start.assign(1, 0);
    for (u32 u : mates) {
      range.mate_ids.push_back(part.mate(u));
      range.n_members += r_.wanted.is_member(part.side, static_cast<i32>(part.mate(u)));
      for (auto e = part.mates.start[u]; e < part.mates.start[u + 1]; ++e) {
        const i32 v = place[static_cast<usize>(part.mates.row[e])];
        if (v < 0) continue;
        range.mates.row.push_back(v);
        if (r_.wanted.sums) range.gains.push_back(part.gains[e]);
      }
      range.mates.start.push_back(static_cast<std::int64_t>(range.mates.row.size()));
    }
    range.others = transposed(range.mates.view(), range.other_ids.size(), [this] { crew_.check(); });
  }

  /// Roots that many others follow come last: the last ones have the most edges.
  void search(const Range& range) {
    if (range.n_members > range.max_mates) return;
    const u64 n = range.n_members ? 1 : range.mate_ids.size() - range.min_mates + 1;
    roots_opened_ += n;
    crew_.search(r_.threads, n, [&](u32 worker) {
      RootSearch search(range, r_.wanted, best_, *climbers_[worker], crew_);
      while (const auto place = crew_.next_root()) {
        search.search(static_cast<u32>(n - 1 - *place));
        crew_.root_done();
      }
      const std::lock_guard<std::mutex> lock(nodes_mutex_);
      nodes_ += search.nodes;
    });
  }

  GapRequest r_;
  BestGroups best_;
  OwnRows turned_;
  Rows sides_[2] = {};
  std::vector<std::unique_ptr<Climber>> climbers_;
  bool proven_ = false;
  std::mutex nodes_mutex_;
  u64 nodes_ = 0, roots_opened_ = 0;
  double prepare_seconds_ = 0, search_seconds_ = 0;
  Workers<int> crew_;  // last: its threads use all that is above
};

}  // namespace bicliq::gaps
