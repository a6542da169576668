// device_sinks.hpp: what a warp does with a biclique that it has found: it counts it, adds it to
// the digest, writes it as a record, or writes it if it may be among the best.
#pragma once

#include "search/device/device_run.hpp"
#include "search/node_bounds.hpp"

namespace bicliq {

/// Counts bicliques, adds the count to that of all warps now and then, and stops all past the
/// limit.
class WarpTally {
 public:
  explicit WarpTally(const Run& run)
      : run_(run), every_(run.max_bicliques < (1u << 20) ? 1 : 4096) {}
  void add() {
    if (++fresh_ >= every_) publish();
  }
  void publish() {
    if (lane_id() == 0 && atomicAdd(&run_.counters->found, fresh_) + fresh_ > run_.max_bicliques)
      atomicExch(&run_.counters->stop, static_cast<u64>(Stop::kEnd));
    fresh_ = 0;
  }

 private:
  const Run& run_;
  const u64 every_;
  u64 fresh_ = 0;
};

/// A sink that only counts.
class WarpCount : public SinkBase {
 public:
  static constexpr bool wants_members = false, wants_ids = false, wants_rows = false;
  WarpCount(const Run& run, const WarpPool&) : tally_(run) {}
  void found(u32, const Members&) { tally_.add(); }
  void found(const u32*, u32, const Members&) { tally_.add(); }
  void finish() { tally_.publish(); }

 private:
  WarpTally tally_;
};

/// Writes the records of one warp: root, number of rows, number of columns, rows, columns.
class WarpOutput {
 public:
  WarpOutput(const Run& run, const WarpPool& workers) : run_(run), workers_(workers) {}

  /// Is there room for a record of at most so many rows and columns? If not, all warps are to park.
  bool room(u64 rows, u64 columns) {
    if (workers_.parking()) return false;
    const u64 words = 3 + (rows < run_.max_degree ? rows : run_.max_degree) +
                      (columns < run_.max_row_degree ? columns : run_.max_row_degree);
    return at_ + words <= end_ || take_chunk(words > run_.chunk_words ? words : run_.chunk_words);
  }
  void head(u32 root, u32 n_rows, u32 n_columns) {
    u32* to = run_.output + at_;
    if (lane_id() < 3) to[lane_id()] = lane_id() == 0 ? root : lane_id() == 1 ? n_rows : n_columns;
    at_ += 3;
  }
  void list(const u32* vertices, u32 n) {
    u32* to = run_.output + at_;
    for (u32 i = lane_id(); i < n; i += kLanes) to[i] = vertices[i];
    at_ += n;
  }
  /// The vertices of some lanes.
  void selected(u32 vertex, u32 lanes) {
    if (lanes >> lane_id() & 1) run_.output[at_ + popcount(lanes & ((1u << lane_id()) - 1))] = vertex;
    at_ += popcount(lanes);
  }
  /// The lists of the last record, of so many vertices, as all lanes have written them.
  const u32* last(u32 n) const {
    __syncwarp();
    return run_.output + at_ - n;
  }
  /// Forgets the last record, of so many vertices.
  void take_back(u32 n) { at_ -= n + 3; }
  /// Ends the chunk.
  void close() {
    if (lane_id() == 0 && end_) run_.chunks[number_] = {start_, at_ - start_};
    at_ = end_ = 0;
  }

 private:
  const Run& run_;
  const WarpPool& workers_;
  u64 start_ = 0, at_ = 0, end_ = 0, number_ = 0;  // of the chunk; no chunk: end_ is 0

  bool take_chunk(u64 words) {
    close();
    u64 start = ~0ull, number = 0;
    if (lane_id() == 0 && !volatile_load(&run_.counters->stop)) {
      start = atomicAdd(&run_.counters->output_used, words);
      if (start + words <= run_.output_words) {
        number = atomicAdd(&run_.counters->n_chunks, 1ull);
      } else {
        atomicCAS(&run_.counters->stop, 0ull, static_cast<u64>(Stop::kPark));
        start = ~0ull;
      }
    }
    start_ = at_ = __shfl_sync(~0u, start, 0);
    number_ = __shfl_sync(~0u, number, 0);
    if (start_ == ~0ull) {
      at_ = 0;
      return false;
    }
    end_ = start_ + words;
    return true;
  }
};

/// The values of the best bicliques that any warp has found so far: what another one must reach is
/// the least of them, once there are enough.
///
/// Each biclique is found once, so that so many are certainly worth as much. Values enter rarely:
/// of N bicliques in random order k · ln(N / k) do.
///
/// By surprise, sums of terms are no values and only bound them (scores.hpp): what may be wanted is
/// written, valued pair by pair, and taken back where it is not worth enough.
class WarpBest {
 public:
  explicit WarpBest(const Run& run) : run_(run), worth_(run.worth()) {}

  /// What another biclique must reach, as far as is known; the same for all lanes, which branch on
  /// it.
  i64 least() const { return __shfl_sync(~0u, read(&run_.best->least), 0); }
  NodeBounds bounds() const { return {worth_, run_.row_hashes, run_.column_hashes}; }
  /// May one of at most so many rows and columns be wanted?
  bool hopeful(u64 n_rows, u64 n_columns) const { return worth_.most(n_rows, n_columns) >= least(); }
  /// Is a biclique wanted, as far as is known? If so, its value is noted, by surprise by `keeps`.
  bool wants(u64 n_rows, u64 n_columns, u64 row_terms, u64 column_terms) const {
    const i64 value = worth_.value(n_rows, n_columns, static_cast<i64>(row_terms), static_cast<i64>(column_terms));
    if (value < least() || !worth_.sizes.accepts(n_rows, n_columns)) return false;
    if (worth_.objective == Objective::surprise) return true;
    note_if_better(value);
    return true;
  }
  /// By surprise: is this biclique, which all lanes see, worth enough? If so, its value is noted.
  bool keeps(const u32* rows, u32 n_rows, const u32* columns, u32 n_columns) const {
    const i64 value = surprise(run_, rows, n_rows, columns, n_columns);
    if (value < least()) return false;
    note_if_better(value);
    return true;
  }

 private:
  const Run& run_;
  const Worth worth_;

  void note_if_better(i64 value) const {
    if (value > least() || volatile_load(&run_.best->n) < run_.n_best) note(run_, value);
  }
  /// The value of a biclique, pair by pair; lanes take the longer one of its lists.
  BICLIQ_CALL static i64 surprise(const Run& run, const u32* rows, u32 n_rows, const u32* columns, u32 n_columns) {
    const Correction correction = run.correction();
    const bool by_row = n_rows >= n_columns;
    const u32 *many = by_row ? rows : columns, *few = by_row ? columns : rows;
    const i64 *many_terms = by_row ? run.own_row_terms : run.own_column_terms, *few_terms = by_row ? run.own_column_terms : run.own_row_terms;
    const u32 n_many = by_row ? n_rows : n_columns, n_few = by_row ? n_columns : n_rows;
    i64 sum = 0;
    BICLIQ_ROLL
    for (u32 i = lane_id(); i < n_many; i += kLanes) {
      const i64 term = many_terms[many[i]];
      BICLIQ_ROLL
      for (u32 j = 0; j < n_few; ++j) sum += correction.pair(term + few_terms[few[j]]);
    }
    const i64 pairs = static_cast<i64>(total(LaneTerms{static_cast<u64>(sum)}));
    return pairs - Worth::cost(run.row_costs, n_rows) - Worth::cost(run.column_costs, n_columns);
  }

  struct Place {
    i64 value;
    u64 at;
  };

  static i64 read(const i64* p) { return *static_cast<const volatile i64*>(p); }
  static void write(i64* p, i64 value) { *static_cast<volatile i64*>(p) = value; }

  BICLIQ_CALL static void note(const Run& run, i64 value) {
    Best* best = run.best;
    u32 locked = 0;
    if (lane_id() == 0) locked = lock(run, value);
    if (!__shfl_sync(~0u, locked, 0)) return;
    __threadfence();
    const u64 n = volatile_load(&best->n);
    const Place lowest = find_least(run, n);
    const bool full = n == run.n_best;
    if (!full || value > lowest.value) {
      if (lane_id() == 0) {
        write(run.best_values + (full ? lowest.at : n), value);
        if (!full) *static_cast<volatile u64*>(&best->n) = n + 1;
      }
      __threadfence();
      __syncwarp();
      if (full || n + 1 == run.n_best) {
        const i64 least = find_least(run, run.n_best).value;
        if (lane_id() == 0 && least > read(&best->least)) write(&best->least, least);
      }
    }
    __threadfence();
    __syncwarp();
    if (lane_id() == 0) atomicExch(&best->lock, 0ull);
  }
  /// Waits for its turn; false where others have found enough that is worth more meanwhile. At the
  /// start thousands of warps wait, nearly all of them in vain.
  static bool lock(const Run& run, i64 value) {
    while (atomicCAS(&run.best->lock, 0ull, 1ull)) {
      __nanosleep(100);
      if (volatile_load(&run.best->n) == run.n_best && value <= read(&run.best->least)) return false;
    }
    return true;
  }
  /// The least of n values, and where it is.
  static Place find_least(const Run& run, u64 n) {
    Place found{Worth::kUnbounded, 0};
    BICLIQ_ROLL
    for (u64 i = lane_id(); i < n; i += kLanes)
      if (const i64 value = read(run.best_values + i); value < found.value) found = {value, i};
    BICLIQ_ROLL
    for (u32 step = kLanes / 2; step; step /= 2) {
      const Place other{__shfl_xor_sync(~0u, found.value, step), __shfl_xor_sync(~0u, found.at, step)};
      if (other.value < found.value || (other.value == found.value && other.at < found.at)) found = other;
    }
    return found;
  }
};

/// A sink that adds to the digest, and where asked writes records: of all bicliques, or of those
/// that may be among the best. A lane holds one row of the narrow subtree, and one column of the
/// leaf.
template <bool kWrites, bool kChooses = false>
class WarpMembers : public SinkBase {
 public:
  static constexpr bool wants_ids = kWrites, may_lack_room = kWrites, bounds_by_size = kChooses, bounds_by_weight = kChooses;
  WarpMembers(const Run& run, const WarpPool& workers)
      : run_(run), limits_(run.limits()), tally_(run), output_(run, workers), best_(run) {}
  bool hopeful(u64 n_rows, u64 n_columns) const { return best_.hopeful(n_rows, n_columns); }
  bool narrow_reaches(u32 rows, const u32* ids, u32 n, const Members& members) const {
    return best_.bounds().narrow(best_.least(), {row_hash_}, rows, ids, n, members);
  }
  bool leaf_reaches(u32 rows, u32 next, const Members& members, u32 joined) const {
    return best_.bounds().leaf(best_.least(), {row_hash_}, rows, {leaf_hash_}, next, members, joined);
  }
  bool wide_reaches(const u32* rows, u32 n, const u32* open, u32 n_words, const u32* ids, const Members& members) const {
    return best_.bounds().wide(best_.least(), rows, n, open, n_words, ids, members);
  }
  void root(u32 v) { root_ = v; }
  bool room(u64 rows, u64 columns) { return output_.room(rows, columns); }
  u64 column_hash(u32 c) const { return run_.column_hashes ? run_.column_hashes[c] : 0; }
  void rows(const u32* rows, u32 n) {
    row_ = lane_id() < n ? rows[lane_id()] : 0;
    row_hash_ = lane_id() < n && run_.row_hashes ? run_.row_hashes[row_] : 0;
  }
  void leaf(const Members&, const u32* ids, u32 n) {
    leaf_ = lane_id() < n ? ids[lane_id()] : 0;
    leaf_hash_ = lane_id() < n ? column_hash(leaf_) : 0;
  }
  void found(u32 rows, const Members& members) {
    if (!limits_.accepts(popcount(rows), members.n)) return;
    if (!account(popcount(rows), members.n, total(masked({row_hash_}, flags(rows))), members.hash)) return;
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n);
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
      settle(popcount(rows), members.n);
    }
  }
  void found_in_leaf(u32 rows, const Members& members, u32 joined) {
    if (!limits_.accepts(popcount(rows), members.n + popcount(joined))) return;
    if (!account(popcount(rows), members.n + popcount(joined), total(masked({row_hash_}, flags(rows))),
                 members.hash + total(masked({leaf_hash_}, flags(joined)))))
      return;
    if constexpr (kWrites) {
      output_.head(root_, popcount(rows), members.n + popcount(joined));
      output_.selected(row_, rows);
      output_.list(members.ids, members.n);
      output_.selected(leaf_, joined);
      settle(popcount(rows), members.n + popcount(joined));
    }
  }
  void found(const u32* rows, u32 n, const Members& members) {
    if (!limits_.accepts(n, members.n)) return;
    if (!account(n, members.n, row_hashes(rows, n), members.hash)) return;
    if constexpr (kWrites) {
      output_.head(root_, n, members.n);
      output_.list(rows, n);
      output_.list(members.ids, members.n);
      settle(n, members.n);
    }
  }
  /// The biclique of one row and all its columns.
  void one_row(u32 row) {
    const u32* columns = run_.row_columns + run_.row_start[row];
    const u32 n = run_.row_degree(row);
    u64 hash = 0;
    if (run_.column_hashes)
      for (u32 i = lane_id(); i < n; i += kLanes) hash += run_.column_hashes[columns[i]];
    if (!account(1, n, row_hashes(&row, 1), total(LaneTerms{hash}))) return;
    output_.head(columns[0], 1, n);
    output_.selected(row, 1);
    output_.list(columns, n);
    settle(1, n);
  }
  void finish() {
    tally_.publish();
    if (lane_id() == 0) atomicAdd(&run_.counters->digest, digest_);
    if constexpr (kWrites) output_.close();
  }

 private:
  const Run& run_;
  const Limits limits_;
  WarpTally tally_;
  WarpOutput output_;
  WarpBest best_;  // asked where only the best are wanted
  u64 row_hash_ = 0, leaf_hash_ = 0, digest_ = 0;
  u32 row_ = 0, leaf_ = 0, root_ = 0;

  u64 row_hashes(const u32* rows, u32 n) const {
    u64 hash = 0;
    if (run_.row_hashes)
      for (u32 i = lane_id(); i < n; i += kLanes) hash += run_.row_hashes[rows[i]];
    return total(LaneTerms{hash});
  }
  /// By surprise: takes the record back that was just written, if it is not worth enough.
  void settle(u32 n_rows, u32 n_columns) {
    if constexpr (kChooses) {
      if (!run_.own_row_terms) return;
      const u32* rows = output_.last(n_rows + n_columns);
      if (!best_.keeps(rows, n_rows, rows + n_rows, n_columns)) output_.take_back(n_rows + n_columns);
    }
  }
  /// Counts a biclique, from its sizes and its sums of hashes; false where it is not wanted.
  bool account(u32 n_rows, u32 n_columns, u64 rows, u64 columns) {
    if constexpr (kChooses) {
      if (!best_.wants(n_rows, n_columns, rows, columns)) return false;
    } else if (run_.row_hashes) {
      digest_ += run_.hash_of(rows, columns);
    }
    tally_.add();
    return true;
  }
};

}  // namespace bicliq
