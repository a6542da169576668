// pq.hpp: the number of complete p×q subgraphs, by levels.
//
// What: the pairs (X, Y) of p vertices of the root side and q of the row side with all p·q edges,
// counted exactly (count128.hpp).
//
// Input: a `CountGraph` (counting_core.hpp) and the side that holds the roots.
//
// Method: every X is found below its first vertex, the root. The later vertices with q rows in
// common with the root are masks over its rows (local_columns.hpp). A node keeps the masks whose
// AND with the chosen vertex has q bits or more, and compresses their rows when they fit in fewer
// words. The last two levels are never entered: the pairs of a list are one AND, one popcount and
// one table of C(·, q) each.
//
// Paths: one word (at most 32 rows, nearly all nodes): 32 columns a step, the table in registers,
// sums in 32 bits for as long as their bound allows. Where little is to be left out of at most 32
// columns, or of their rows, the count ends there (`Omission`); where there are more columns, but
// few subsets of q rows, it ends on these. More words: popcounts added over the words that the
// chosen column has.
//
// Cost: O(p-subsets with q common rows, but for the last level) × columns / 32, at most; memory a
// worker: the masks of a root. The ends take four fifths of that away at p = q = 8, where most
// subsets are of nearly all columns or rows.
//
// Papers: BCL, BCList++ (Yang et al., VLDB J. 2021), whose search this is on bits; GBC (Qiu et al.,
// 2024).
#pragma once

#include "lanes/lanes.hpp"
#include "counting/count128.hpp"
#include "counting/local_columns.hpp"
#include "lanes/workers.hpp"

namespace bicliq {

// ---- The end of a count, on a matrix of at most 32 × 32 bits: subsets of nearly all of
// its words.
//
// The k-subsets of n words are those that leave n - k out, so a search over what is left out is
// short where k is near n. A running AND of the words that stay, and the ANDs of all suffixes, make
// a subset one AND, one popcount and one table look-up. The same serves columns (words over rows)
// and, transposed, rows (words over columns): a count may end on whichever has fewer subsets.

struct SmallBinomials {
  u32 of[33][33] = {};
  constexpr SmallBinomials() {
    for (u32 n = 0; n <= 32; ++n) {
      of[n][0] = 1;
      for (u32 k = 1; k <= n; ++k) of[n][k] = of[n - 1][k - 1] + of[n - 1][k];
    }
  }
};
inline constexpr SmallBinomials kSmallBinomials;

/// C(n, k) for n <= 32.
inline u32 small_binomial(u32 n, u32 k) { return k > n ? 0 : kSmallBinomials.of[n][k]; }

/// Sum over the k-subsets of n words of C(popcount of their AND, least); below C(32, 16)² < 2^60.
class Omission {
 public:
  Omission(const u32* words, u32 n, u32 least) : words_(words), n_(n), least_(least) {
    suffix_[n] = ~0u;
    for (u32 i = n; i-- > 0;) suffix_[i] = suffix_[i + 1] & words[i];
  }
  u64 sum(u32 k) const { return from(0, n_ - k, ~0u); }

 private:
  u64 value(u32 common) const { return small_binomial(popcount(common), least_); }
  /// `omit` of the words from `at` on are left out; `common` is the AND of those before that were
  /// not.
  u64 from(u32 at, u32 omit, u32 common) const {
    if (omit == 0) return value(common & suffix_[at]);
    u64 sum = 0;
    for (u32 i = at; i + omit <= n_ && popcount(common) >= least_; common &= words_[i++])
      sum += omit == 1 ? value(common & suffix_[i + 1]) : from(i + 1, omit - 1, common);
    return sum;
  }
  const u32* words_;
  const u32 n_, least_;
  u32 suffix_[33];
};

/// C(·, q) for each way of adding it up.
struct ChooseTable {
  u32 q = 1;
  std::vector<u128> exact;        // by number of rows
  std::vector<u64> whole;         // the same where 2^62 is not exceeded, else 0
  alignas(64) u32 narrow[32] = {};  // C(i + 1, q)

  ChooseTable(u32 largest, u32 chosen) : q(chosen), exact(binomial_column(largest < 32 ? 32 : largest, chosen)) {
    for (u128 x : exact) whole.push_back(x <= (u64{1} << 62) ? static_cast<u64>(x) : 0);
    for (u32 i = 0; i < 32; ++i) narrow[i] = static_cast<u32>(exact[i + 1]);
  }
};

/// Adds up C(popcount, q) of 32 masks at a time; 32-bit sums are widened before they could wrap.
class NarrowSum {
 public:
  explicit NarrowSum(const ChooseTable& table) : table_(table), least_(splat(table.q)) {}
  /// Every mask of `m` has at most `rows` bits.
  void add(Lanes m, u32 rows) {
    const u32 bound = table_.narrow[rows - 1];
    if (bound > room_) widen();
    room_ -= bound;
    const Lanes count = popcounts(m);
    sum_ = sum_ + only(count >= least_, lookup(table_.narrow, (count + splat(~0u)) & splat(31)));
  }
  u64 take() {
    widen();
    const u64 out = wide_;
    wide_ = 0;
    return out;
  }

 private:
  void widen() {
    if (room_ == ~0u) return;
    wide_ += sum_of(sum_);
    sum_ = splat(0);
    room_ = ~0u;
  }
  const ChooseTable& table_;
  const Lanes least_;
  Lanes sum_ = splat(0);
  u32 room_ = ~0u;
  u64 wide_ = 0;
};

/// The search of one worker.
class alignas(kLineBytes) Levels {
 public:
  Levels(const Run& run, const CountSide& roots, const CountSide& rows, u32 p, const ChooseTable& table)
      : run_(run), local_(roots, rows), roots_(roots), p_(p), table_(table) {}

  Total total;
  LargeTerms large;  // {n, k, 0, 0}: C(n, k)
  u64 work = 0;  // in the time of a register of 32 columns that is touched, the unit of the estimate

  /// Counts what needs no further steps below v; returns the number of independent steps that
  /// remain.
  u32 open(u32 v) {
    memory_.release({});
    work += kRoot;
    if (p_ == 1) {
      add_rows(roots_.degree(v));
      return 0;
    }
    if (roots_.degree(v) < table_.q) return 0;
    const u32 n = local_.meet(v, table_.q);
    work += local_.paths() / kPathsARegister;
    if (p_ == 2) local_.each_common([&](u32, u32 common) { add_rows(common); });
    if (p_ == 2 || n + 1 < p_) {
      local_.forget();
      return 0;
    }
    root_ = local_.fill(memory_);
    work += kRoot + kColumnOfARoot * n + local_.paths() / kPathsARegister;
    if (root_.words == 1 && ends_here(root_, p_ - 1, low_bits(roots_.degree(v)))) return 0;
    return root_.n - (p_ - 2);
  }
  /// An estimate of the work below v, from so many random ways down.
  double sampled_work(u32 v, u32 ways, u64 seed) {
    ways_.begin(seed, work);
    const u32 n = open(v);
    for (u32 k = 0; n > 0 && k < ways; ++k) {
      ways_.weigh(1.0 / ways, work);
      any_branch(root_, p_ - 1);
    }
    return ways_.end(work);
  }
  /// The subsets of `owner`'s root whose first column is i.
  void step(const Levels& owner, u32 i) {
    const Workspace::Mark mark = memory_.mark();
    branch(owner.root_, p_ - 1, i);
    memory_.release(mark);
  }

 private:
  // In registers (`work` counts them), by least squares over 366 counts: a root, once for its paths
  // and once for its masks; a column of it; its paths of length two; an end by omission; its
  // subsets of columns and of rows; a chosen column of several words; its pairs.
  static constexpr u64 kRoot = 32, kColumnOfARoot = 2, kPathsARegister = 2, kEnd = 24, kColumnSubsets = 4, kRowSubsets = 16, kWideBranch = 8,
                       kPairsARegister = 2;
  // Measured: subsets that cost less than a look at the rows; and how many subsets of rows a column
  // is worth that would be branched on instead, by the columns that are needed.
  static constexpr u32 kLooks = 8;  // children that a random way looks at
  static constexpr u64 kFewSubsets = 32, kWorthOfANode[] = {0, 0, 1, 8, 64, 256};
  static constexpr u64 kMostRowSubsets = u64{1} << 17;  // of many columns: 4 ms for 300 of them

  static constexpr u32 kPairsAtOnce = 1024;  // columns: their pairs' C(32, 16) fit in 64 bits, and take some 50 µs

  /// All subsets of `need` columns; where they are one word wide, only the rows `x` have a bit.
  void search(const Columns& c, u32 need, u32 x) {
    if (c.words == 1 && ends_here(c, need, x)) return;
    if (stack_is_low()) throw CapacityError("method 'levels' would choose more vertices one by one than a thread's stack has room for; "
                                            "take method 'pivot', or the other side for the roots");
    if (ways_.on()) return any_branch(c, need);
    for (u32 i = 0; i + need <= c.n; ++i) {
      branch(c, need, i);
      if (run_.stopped()) return;
    }
  }
  /// One child of a node, drawn by what some of its children promise.
  void any_branch(const Columns& c, u32 need) {
    if (c.n < need) return;
    const u32 n = c.n - need + 1, looks = need > 2 ? kLooks : 1;
    double all = 0, size = 0;
    u32 chosen = 0;
    for (u32 k = 0; k < looks; ++k) {
      const u32 i = static_cast<u32>((k + ways_.draw()) / looks * n);
      const double promised = looks > 1 ? promise(c, i) : 1;
      all += promised;
      if (ways_.draw() * all >= promised) continue;
      chosen = i;
      size = promised;
    }
    const double before = ways_.weight();
    ways_.weigh(before * n / looks * all / size, work);
    branch(c, need, chosen);
    ways_.weigh(before, work);
  }
  /// Grows with the columns that child i will have, seen in 32 of the later ones.
  double promise(const Columns& c, u32 i) {
    const u32 later = c.n - 1 - i, unseen = later > kLanes ? later - kLanes : 0, at = i + 1 + static_cast<u32>(unseen * ways_.draw());
    Lanes common = splat(0);
    for (u32 k = 0; k < c.words; ++k)
      if (const u32 x = c.word(k, i)) common = common + popcounts(splat(x) & load(c.masks + static_cast<std::size_t>(k) * c.stride + at));
    const double columns = (1.0 + popcount(ballot(common >= splat(table_.q)))) * (1 + unseen / 32.0);
    return columns * columns * columns;
  }

  /// Counts without branching what is small enough.
  bool ends_here(const Columns& c, u32 need, u32 x) {
    if (need == 2 && c.n > kLanes && c.n <= kPairsAtOnce) {
      total.add(all_pairs(c));
      return true;
    }
    if (c.n > kLanes) return need > 2 && by_rows_of_many(c, need, x);
    if (need == 1) return false;
    const u64 by_columns = small_binomial(c.n, need), by_rows = small_binomial(popcount(x), table_.q);
    if (need == 2 && c.n > 3 && 2 * by_rows > c.n) {
      total.add(pairs_of_one_register(c));
    } else if (by_columns <= kFewSubsets) {
      work += kEnd + by_columns / kColumnSubsets;
      total.add(Omission(c.masks, c.n, table_.q).sum(need));
    } else if (by_rows <= static_cast<u64>(c.n) * kWorthOfANode[need < 5 ? need : 5]) {
      work += kEnd + by_rows / kRowSubsets;
      total.add(by_omitted_rows(c, need, x));
    } else {
      return false;
    }
    return true;
  }
  u64 by_omitted_rows(const Columns& c, u32 need, u32 x) const {
    const Lanes all = load(c.masks, first_lanes(c.n));
    u32 rows[kLanes], n = 0;
    for (; x; x &= x - 1) {
      rows[n] = ballot(meets(all, splat(x & (0u - x))));
      n += popcount(rows[n]) >= need;
    }
    return n < table_.q ? 0 : Omission(rows, n, need).sum(table_.q);
  }

  /// Counts the columns of each subset of q rows, where these are fewer than the pairs of columns
  /// that branching begins with, eightfold for each further column that is needed.
  bool by_rows_of_many(const Columns& c, u32 need, u32 x) {
    const u64 worth = std::min(u64{c.n} << std::min(3 * (need - 3), 30u) >> 1, kMostRowSubsets);
    if (small_binomial(popcount(x), table_.q) > worth) return false;
    choose_rows(c.masks, c.n, need, x, table_.q);
    return true;
  }
  static u32 columns_with(const u32* masks, u32 n, u32 rows) {
    u32 count = 0;
    for (u32 j = 0; j < n; j += kLanes) count += popcount(ballot((load(masks + j) & splat(rows)) == splat(rows)));
    return count;
  }
  /// Adds the columns that have the rows chosen so far and `more` of `rows`, `need` at a time;
  /// zeros stand behind the last mask.
  void choose_rows(const u32* masks, u32 n, u32 need, u32 rows, u32 more) {
    for (; popcount(rows) >= more && !run_.stopped(); rows &= rows - 1) {
      const u32 row = rows & (0u - rows);
      work += (n + 31) / 32;
      if (more == 1) {
        add_choice(columns_with(masks, n, row), need);
        continue;
      }
      const Workspace::Mark mark = memory_.mark();
      u32* list = memory_.take(n + kLanes);
      u32 kept = 0;
      for (u32 j = 0; j < n; j += kLanes) {
        const Lanes m = load(masks + j);
        kept += compact(list + kept, m, meets(m, splat(row)));
      }
      store(list + kept, splat(0));
      if (kept >= need) choose_rows(list, kept, need, rows & ~row, more - 1);
      memory_.release(mark);
    }
  }
  void add_choice(u32 n, u32 k) {
    if (n < k) return;
    const u128 x = choose_(n, k);
    if (x == kTooLarge)
      large.add({n, k, 0, 0}, 1);
    else
      total.add(x);
  }
  /// C(n, q), as the table has it.
  void add_rows(u32 n) {
    const u128 x = table_.exact[n];
    if (x == kTooLarge)
      large.add({n, table_.q, 0, 0}, 1);
    else
      total.add(x);
  }

  void branch(const Columns& c, u32 need, u32 i) {
    if (c.words == 1)
      narrow_branch(c, need, i);
    else
      wide_branch(c, need, i);
  }

  /// One sum for all pairs: what a sum costs at its end is a third of a short one.
  u64 all_pairs(const Columns& c) {
    NarrowSum sum(table_);
    for (u32 i = 0; i + 1 < c.n; ++i) {
      const u32 x = c.masks[i], rows = popcount(x);
      const Lanes mask = splat(x);
      work += 1 + (c.n - i) / 64;
      for (u32 j = i + 1; j < c.n; j += kLanes) sum.add(mask & load(c.masks + j), rows);
    }
    return sum.take();
  }
  u64 pairs_of_one_register(const Columns& c) {
    NarrowSum sum(table_);
    const Lanes all = load(c.masks, first_lanes(c.n));
    work += c.n / 2;
    for (u32 i = 0; i + 1 < c.n; ++i) {
      const u32 x = c.masks[i];
      sum.add(only(flags(~0u << i << 1), all & splat(x)), popcount(x));
    }
    return sum.take();
  }

  void narrow_branch(const Columns& c, u32 need, u32 i) {
    const u32 x = c.masks[i], rows = popcount(x);
    const Lanes mask = splat(x);
    work += (c.n - i + 31) / 32;
    if (need == 2) {
      NarrowSum sum(table_);
      for (u32 j = i + 1; j < c.n; j += kLanes) sum.add(mask & load(c.masks + j), rows);
      return total.add(sum.take());
    }
    const Workspace::Mark mark = memory_.mark();
    u32* list = memory_.take(c.n - i + kLanes);
    const Lanes least = splat(table_.q);
    u32 n = 0;
    for (u32 j = i + 1; j < c.n; j += kLanes) {
      const Lanes m = mask & load(c.masks + j);
      n += compact(list + n, m, popcounts(m) >= least);
    }
    if (n + 1 >= need) {
      store(list + n, splat(0));
      search({list, n, 0, 1}, need - 1, x);
    }
    memory_.release(mark);
  }

  /// The words of column i that are not zero, and the rows in them.
  u32 used_words(const Columns& c, u32 i, u32* words, u32& rows) const {
    u32 n = 0;
    rows = 0;
    for (u32 k = 0; k < c.words; ++k) {
      const u32 x = c.word(k, i);
      words[n] = k;
      n += x != 0;
      rows += popcount(x);
    }
    return n;
  }

  void wide_branch(const Columns& c, u32 need, u32 i) {
    const Workspace::Mark mark = memory_.mark();
    u32 rows = 0;
    u32* words = memory_.take(c.words);
    const u32 used = used_words(c, i, words, rows);
    u32* kept = memory_.take(c.n - i + kLanes);
    work += kWideBranch + static_cast<u64>(used) * ((c.n - i + 31) / 32) / 2;
    if (need == 2) {
      wide_pairs(c, i, words, used);
    } else {
      const u32 n = common_columns(c, i, words, used, kept);
      if (n + 1 >= need) search(project(c, i, words, used, rows, kept, n), need - 1, low_bits(rows));
    }
    memory_.release(mark);
  }

  Lanes common_counts(const Columns& c, u32 i, u32 j, const u32* words, u32 used) const {
    Lanes count = splat(0);
    for (u32 a = 0; a < used; ++a) {
      const u32* masks = c.masks + static_cast<std::size_t>(words[a]) * c.stride;
      count = count + popcounts(splat(masks[i]) & load(masks + j));
    }
    return count;
  }

  void wide_pairs(const Columns& c, u32 i, const u32* words, u32 used) {
    const Lanes least = splat(table_.q);
    alignas(64) u32 count[kLanes];
    u64 sum = 0;
    for (u32 j = i + 1; j < c.n; j += kLanes) {
      const Lanes common = common_counts(c, i, j, words, used);
      u32 left = ballot(common >= least);
      if (!left) continue;
      work += popcount(left) / kPairsARegister;
      store(count, common);
      for (; left; left &= left - 1) {
        const u32 rows = count[first_set(left)];
        const u64 x = table_.whole[rows];
        if (!x)
          add_rows(rows);
        else if (__builtin_add_overflow(sum, x, &sum)) {
          total.add((static_cast<u128>(1) << 64) + sum);
          sum = 0;
        }
      }
    }
    total.add(sum);
  }

  u32 common_columns(const Columns& c, u32 i, const u32* words, u32 used, u32* kept) const {
    const Lanes least = splat(table_.q);
    u32 n = 0;
    for (u32 j = i + 1; j < c.n; j += kLanes) {
      const u32 enough = ballot(common_counts(c, i, j, words, used) >= least);
      if (enough) n += compact(kept + n, splat(j) + lane_numbers(), flags(enough));
    }
    return n;
  }

  /// The kept columns over the rows of column i alone, side by side.
  Columns project(const Columns& c, u32 i, const u32* words, u32 used, u32 rows, const u32* kept, u32 n) {
    Columns out;
    out.n = n;
    out.words = words_for(rows);
    out.stride = (n + 63) / 32 * 32;
    const std::size_t size = static_cast<std::size_t>(out.stride) * out.words;
    u32* masks = memory_.take(size);
    std::memset(masks, 0, size * sizeof(u32));
    out.masks = masks;
    work += static_cast<u64>(used) * (n / 8 + 1);
    u32 at = 0;
    for (u32 a = 0; a < used; ++a) {
      const u32* from = c.masks + static_cast<std::size_t>(words[a]) * c.stride;
      const u32 x = from[i], bits = popcount(x), shift = at % 32;
      u32* to = masks + static_cast<std::size_t>(at / 32) * out.stride;
      for (u32 j = 0; j < n; ++j) {
        const u64 y = static_cast<u64>(compress_bits(from[kept[j]], x)) << shift;
        to[j] |= static_cast<u32>(y);
        if (shift + bits > 32) to[out.stride + j] |= static_cast<u32>(y >> 32);
      }
      at += bits;
    }
    return out;
  }

  const Run& run_;
  LocalColumns local_;
  const CountSide& roots_;
  const u32 p_;
  const ChooseTable& table_;
  Binomials choose_;
  Workspace memory_;
  Columns root_;
  RandomWays ways_;
};

}  // namespace bicliq
