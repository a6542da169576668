// grouping.hpp: roots grouped in partitions that share many rows.
//
// What it does: a partition stores the rows (neighbours) of its roots once each, so roots with
// common rows belong together. Each partition grows from the root with the largest rows left,
// always by a root of which the partition already holds the largest share of bytes, until it has
// its share of the cost. Input: rows of the root side and of the other side; bytes of each row;
// cost of each root; the number of partitions, at least 1 and at most the number of roots with a
// row. Every partition gets a root, every root with a row a partition. Method: the share of a root
// only grows while a partition grows. It is kept in 64 levels, each with a stack of the roots that
// have reached it; a root lies on a stack once for each level, and what is out of date is passed
// over. Cost: linear in the edges that the partitions store together, and in the roots. Papers: GBC
// (communication-free partitions, BCPar), which grows a partition by 2-hop neighbours under a
// budget.
#pragma once

#include "graphs/csr.hpp"

namespace bicliq {

class Grouping {
 public:
  /// `check` is called now and then, and may end it by an exception.
  template <class Check>
  Grouping(const Rows& roots, std::size_t n_rows, const std::int64_t* row_bytes, const std::int64_t* cost, const Check& check)
      : roots_(roots), roots_of_(transposed(roots, n_rows, check)), row_bytes_(row_bytes), cost_(cost), bytes_(roots.n, 0),
        shared_(roots.n), level_(roots.n), grown_(roots.n, -1), holds_(n_rows, -1), done_(roots.n, 0) {
    each_vertex(static_cast<u32>(roots.n), check, [&](u32 r) {
      for (auto e = roots.start[r]; e < roots.start[r + 1]; ++e) bytes_[r] += static_cast<u64>(row_bytes[roots.row[e]]);
      if (roots.start[r] < roots.start[r + 1]) seeds_.push_back(r), left_ += cost[r];
    });
    std::stable_sort(seeds_.begin(), seeds_.end(), [&](u32 a, u32 b) { return bytes_[a] > bytes_[b]; });
  }

  /// The roots in their order, and the partition of each.
  template <class Check>
  void run(std::int32_t n_partitions, std::vector<std::int32_t>& order, std::vector<std::int32_t>& partition, const Check& check) {
    u64 waiting = seeds_.size();
    for (std::int32_t p = 0; p < n_partitions; ++p) {
      for (auto& stack : stacks_) stack.clear();
      const bool last = p + 1 == n_partitions;
      const std::int64_t share = left_ / (n_partitions - p);
      std::int64_t spent = 0;
      do {
        check();
        const u32 root = next();
        add(root, p);
        order.push_back(static_cast<std::int32_t>(root));
        partition.push_back(p);
        spent += cost_[root];
        --waiting;
      } while (waiting > static_cast<u64>(n_partitions - p - 1) && (last || spent < share));
      left_ -= spent;
    }
  }

  u64 n_roots() const { return seeds_.size(); }

 private:
  static constexpr u32 kLevels = 64;

  /// The root of which most is there; where nothing is shared, the one with the largest rows.
  u32 next() {
    for (u32 level = kLevels + 1; level-- > 0;)
      while (!stacks_[level].empty()) {
        const u32 root = stacks_[level].back();
        stacks_[level].pop_back();
        if (!done_[root] && level_[root] == level) return root;
      }
    while (done_[seeds_[seed_]]) ++seed_;
    return seeds_[seed_];
  }

  void add(u32 root, std::int32_t p) {
    done_[root] = 1;
    for (auto e = roots_.start[root]; e < roots_.start[root + 1]; ++e) {
      const auto row = roots_.row[e];
      if (holds_[row] == p) continue;
      holds_[row] = p;
      for (const std::int32_t other : roots_of_.view()[row])
        if (!done_[static_cast<u32>(other)]) share(static_cast<u32>(other), static_cast<u64>(row_bytes_[row]), p);
    }
  }

  void share(u32 root, u64 bytes, std::int32_t p) {
    const bool seen = grown_[root] == p;
    shared_[root] = (seen ? shared_[root] : 0) + bytes;
    const u32 level = bytes_[root] ? static_cast<u32>(shared_[root] * kLevels / bytes_[root]) : 0;
    if (seen && level_[root] == level) return;
    grown_[root] = p;
    level_[root] = level;
    stacks_[level].push_back(root);
  }

  const Rows roots_;
  const OwnRows roots_of_;  // of each row
  const std::int64_t *row_bytes_, *cost_;
  std::vector<u64> bytes_, shared_;
  std::vector<u32> level_, seeds_;
  std::vector<std::int32_t> grown_, holds_;  // the partition for which a root's share counts, and which holds a row last
  std::vector<unsigned char> done_;
  std::vector<u32> stacks_[kLevels + 1];
  std::int64_t left_ = 0;
  std::size_t seed_ = 0;
};

/// Where the partitions of a sequence of roots begin, and the bytes of each.
struct RootCuts {
  std::vector<std::int64_t> start, bytes;
};

/// Cuts a sequence of roots at given places, and wherever a partition would outgrow a budget; a
/// single root may exceed it, and then takes along what adds nothing to it. A row counts once a
/// partition: `holds` says which one held it last. Memory: 4 bytes a row beside the input.
template <class Check>
RootCuts cut_roots(const Rows& roots, std::size_t n_rows, const std::int64_t* row_bytes, const std::int32_t* sequence, std::size_t n_sequence,
                   const std::int64_t* cuts, std::size_t n_cuts, std::int64_t budget, const Check& check) {
  RootCuts found;
  std::vector<std::int32_t> holds(n_rows, -1);
  std::int64_t room = 0, size = 0;
  std::size_t next_cut = 0;
  pass(n_sequence, 1 << 10, check, [&](u64 i) {
    const auto begin = roots.start[sequence[i]], end = roots.start[sequence[i] + 1];
    const auto added = [&] {
      const auto partition = static_cast<std::int32_t>(found.start.size());
      std::int64_t bytes = 0;
      for (auto e = begin; e < end; ++e) {
        std::int32_t& holder = holds[static_cast<usize>(roots.row[e])];
        bytes += holder == partition ? 0 : row_bytes[roots.row[e]];
        holder = partition;
      }
      return bytes;
    };
    const bool is_cut = next_cut < n_cuts && cuts[next_cut] == static_cast<std::int64_t>(i);
    next_cut += is_cut;
    if (i && !is_cut) {
      const std::int64_t more = added();  // where that is too much, the partition whose rows these were is over
      if (more <= room - size) {
        size += more;
        return;
      }
    }
    if (i) found.bytes.push_back(size);
    found.start.push_back(static_cast<std::int64_t>(i));
    size = added();
    room = std::max(budget, size);
  });
  if (n_sequence) found.bytes.push_back(size);
  return found;
}

}  // namespace bicliq
