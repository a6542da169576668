// short_rows.hpp: a table for a search that wants many rows of a biclique.
//
// Input: the CSR matrix of the side whose vertices are rows. Columns with fewer rows than are
// wanted are left out, and so are rows that then have none, or one where no name is asked for;
// columns are numbered in search order. Where none is, a dense table is kept as rows of bits, equal
// ones as one with their number as its weight; so are, again and again, those that are equal in the
// columns of the roots that are left (LCM's database reduction). Any other is lists of columns in
// 16 bits, with eight numbers that are no column between two rows: so a list is read from one of
// its columns on eight at a time, forwards and backwards, and where it ends is hardly ever guessed
// wrongly, which costs more than reading it.
//
// Cost: O(edges). Memory: 6 bytes an edge, 4 more with names, and 20 a row; of a dense table a few
// bits a column of a row and up to 8 bytes an edge.
#pragma once

#include "graphs/csr.hpp"
#include "graphs/limits.hpp"
#include "lanes/bitmatrix.hpp"
#include "search/equal_rows.hpp"

#include <array>
#include <memory>
#include <numeric>
#include <vector>

namespace bicliq {

class ShortRows {
 public:
  using Column = std::uint16_t;
  static constexpr u32 kMostColumns = 0xff00, kBlock = 8;

  /// `names`: whether it is asked who the rows are. `check` is called now and then, and may end it
  /// by an exception.
  template <class Check>
  ShortRows(const Rows& rows, u32 n_columns, u32 least, bool names, const Check& check) {
    const std::vector<u32> degree = other_degrees(rows, n_columns, check);
    for (u32 v : ascending_degree(degree))
      if (degree[v] >= least) vertices_.push_back(v), degree_.push_back(degree[v]);
    if (size() > kMostColumns) return;
    const auto are_dense = [&](usize edges, usize n_rows) { return !names && kSparse * edges >= n_rows * size(); };
    if (size() <= kWords && are_dense(std::accumulate(degree_.begin(), degree_.end(), usize{0}), rows.size())) {
      take_words(rows, n_columns, check);
      fits_ = true;
      return;
    }
    const Short kept = columns_of(rows, n_columns, names ? 1 : 2, check);
    if (are_dense(kept.columns.size(), kept.n_rows)) take_columns(kept, check);
    else if ((kept.columns.size() + (kept.n_rows + 1) * kBlock) >> 32 == 0) take_lists(kept, names, check);
    else return;
    fits_ = true;
  }
  /// Whether its columns and edges are few enough.
  bool fits() const { return fits_; }

  u32 size() const { return static_cast<u32>(vertices_.size()); }
  const std::vector<u32>& vertices() const { return vertices_; }
  /// In how many rows a column is;
  u32 degree(u32 c) const { return degree_[c]; }
  /// the first column that is in as many.
  u32 first_of_degree(u32 c) const {
    while (c && degree_[c - 1] == degree_[c]) --c;
    return c;
  }
  /// Rows of bits that have a column; or its places in lists.
  u32 n_rows(u32 c) const { return static_cast<u32>(start_[c + 1] - start_[c]); }
  const u32* rows_begin(u32 c) const { return rows_.data() + start_[c]; }
  const u32* rows_end(u32 c) const { return rows_.data() + start_[c + 1]; }
  /// Who they are, where that is asked; else null.
  const u32* names(u32 c) const { return names_.empty() ? nullptr : names_.data() + start_[c]; }

  // ---- rows of bits -----------------------------------------------------------------------------

  bool dense() const { return stride_ != 0; }
  u32 stride() const { return stride_; }
  const u32* bits(u32 r) const { return bits_.data() + usize{r} * stride_; }
  /// How many rows a row stands for.
  u32 weight(u32 r) const { return weight_[r]; }

  // ---- lists ------------------------------------------------------------------------------------

  const Column* at(u32 place) const { return columns_.data() + place; }
  /// f(column) for what stands behind a place, and for some numbers from size() to size() + 7.
  template <class F>
  void each_after(u32 place, F f) const {
    const Column* c = at(place) + 1;
    do {
      for (u32 i = 0; i < kBlock; ++i) f(c[i]);
      c += kBlock;
    } while (c[-1] < size());
  }
  /// The same for what stands before it.
  template <class F>
  void each_before(u32 place, F f) const {
    const Column* c = at(place);
    do {
      c -= kBlock;
      for (u32 i = 0; i < kBlock; ++i) f(c[i]);
    } while (c[0] < size());
  }
  /// f(place) for some places, which memory is asked for before.
  template <class F>
  void each_place(const u32* place, const u32* last, F f) const {
    constexpr std::ptrdiff_t kAhead = 8;
    for (; place < last; ++place) {
      if (last - place > kAhead) __builtin_prefetch(at(place[kAhead]));
      f(*place);
    }
  }

 private:
  static constexpr usize kSparse = 16;  // rows are bits where each has one of so many columns, on average
  static constexpr u32 kWords = 128;    // columns that are marked in a row at once
  static constexpr usize kListed = 2;   // see `list_rows`
  static constexpr Column kNone = 0xffff;

  /// The columns of each row, in any order; none of a row that has too few.
  struct Short {
    std::vector<Column> columns;
    std::vector<u64> end;
    usize n_rows = 0;  // that have some
    /// f(row, first, last) for these.
    template <class Check, class F>
    void each_row(const Check& check, F f) const {
      u64 first = 0;
      each_vertex(static_cast<u32>(end.size()), check, [&](u32 r) {
        if (first != end[r]) f(r, columns.data() + first, columns.data() + end[r]);
        first = end[r];
      });
    }
  };

  template <class Check>
  Short columns_of(const Rows& rows, u32 n_columns, u32 fewest, const Check& check) const {
    std::vector<Column> column_of(n_columns, kNone);
    usize n = 0;
    for (u32 c = 0; c < size(); ++c) column_of[vertices_[c]] = static_cast<Column>(c), n += degree_[c];
    Short to{std::vector<Column>(n + 1), std::vector<u64>(rows.size())};
    Column* const columns = to.columns.data();
    n = 0;
    each_vertex(static_cast<u32>(rows.size()), check, [&](u32 r) {
      const usize first = n;
      for (std::int32_t v : rows[static_cast<std::int32_t>(r)]) {  // without a branch, which cannot be foretold
        const Column c = column_of[static_cast<u32>(v)];
        columns[n] = c;
        n += c != kNone;
      }
      n = n < first + fewest ? first : n;
      to.end[r] = n;
      to.n_rows += n != first;
    });
    to.columns.resize(n);
    return to;
  }

  template <class Check>
  void take_lists(const Short& kept, bool names, const Check& check) {
    std::vector<u32> n(size(), 0);
    for (const Column c : kept.columns) ++n[c];
    auto lists = gathered<u64, u32>(size(), [&](std::size_t c) { return n[c]; }, [&](const auto& tell) {
      kept.each_row(check, [&](u32 r, const Column* c, const Column* last) {
        for (; c < last; ++c) tell(*c, r);
      });
    });
    start_ = std::move(lists.start), rows_ = std::move(lists.row);
    if (names) names_ = rows_;
    std::vector<u32> place(kept.end.size());  // of the next column of each row
    usize end = kBlock;
    kept.each_row(check, [&](u32 r, const Column* first, const Column* last) {
      place[r] = static_cast<u32>(end);
      end += static_cast<usize>(last - first) + kBlock;
    });
    columns_.resize(end);
    for (usize i = 0; i < end; ++i) columns_[i] = static_cast<Column>(size() + i % kBlock);
    constexpr u64 kAhead = 16;
    each_vertex(size(), check, [&](u32 c) {
      for (u64 i = start_[c]; i < start_[c + 1]; ++i) {
        if (i + 2 * kAhead < rows_.size()) {
          __builtin_prefetch(&place[rows_[i + 2 * kAhead]]);
          __builtin_prefetch(&columns_[place[rows_[i + kAhead]]]);
        }
        columns_[rows_[i] = place[rows_[i]]++] = static_cast<Column>(c);
      }
    });
  }

  /// Each row in two words, without a list of its columns.
  template <class Check>
  void take_words(const Rows& rows, u32 n_columns, const Check& check) {
    std::vector<std::array<u64, 2>> bit(n_columns, {0, 0});
    for (u32 c = 0; c < size(); ++c) bit[vertices_[c]][c / 64] = u64{1} << c % 64;
    take_bits(rows.size(), check, [&](const auto& take) {
      each_vertex(static_cast<u32>(rows.size()), check, [&](u32 r) {
        std::array<u64, 2> columns = {0, 0};
        for (std::int32_t v : rows[static_cast<std::int32_t>(r)])
          for (u32 i = 0; i < 2; ++i) columns[i] |= bit[static_cast<u32>(v)][i];
        if (__builtin_popcountll(columns[0]) + __builtin_popcountll(columns[1]) >= 2) take([&](u32* row) {
          for (u32 w = 0; w < stride_; ++w) row[w] = static_cast<u32>(columns[w / 2] >> 32 * (w % 2));
        });
      });
    });
  }
  template <class Check>
  void take_columns(const Short& kept, const Check& check) {
    take_bits(kept.n_rows, check, [&](const auto& take) {
      kept.each_row(check, [&](u32, const Column* c, const Column* last) {
        take([&](u32* row) {
          for (; c < last; ++c) row[*c / 32] |= 1u << *c % 32;
        });
      });
    });
  }

  /// Rows of bits, equal ones as one, and who has a column. `each_row` calls what it is given for
  /// each of at most so many rows, with what marks the columns in a row of zeros.
  template <class Check, class EachRow>
  void take_bits(usize most_rows, const Check& check, const EachRow& each_row) {
    stride_ = std::max(words_for(size()), 1u);
    EqualRows equal;
    std::vector<u32> open, row(stride_);
    begin_merging(equal, open, 0, most_rows);
    each_row([&](const auto& mark) {
      std::fill(row.begin(), row.end(), 0u);
      mark(row.data());
      equal.add(row.data(), 1);
    });
    keep_rows(equal.size());
    list_rows(equal, open, check);
  }
  /// At most so many rows are to be laid behind those that there are, equal ones in the columns
  /// from `column` on as one.
  void begin_merging(EqualRows& equal, std::vector<u32>& open, u32 column, usize most_rows) {
    const u32 first = column / 32;
    const usize n = weight_.size();
    open.assign(stride_, ~0u);
    open[first] = ~0u << column % 32;
    bits_.resize((n + most_rows) * stride_);
    weight_.resize(n + most_rows);
    equal.begin(stride_, first, open.data(), most_rows, bits_.data() + n * stride_, weight_.data() + n);
  }
  void keep_rows(u32 n) {
    bits_.resize(usize{n} * stride_);
    weight_.resize(n);
  }
  /// Lists the rows of each column. To a root all columns before it are excluded, so that the later
  /// it comes the more rows are equal: they become one where that leaves three in four at most,
  /// which is tried when the lists have got twice as long as there are rows.
  template <class Check>
  void list_rows(EqualRows& equal, std::vector<u32>& open, const Check& check) {
    u32 first = 0, last = static_cast<u32>(weight_.size());
    usize listed = 0;
    std::vector<u32> list(last);
    start_.assign(1, 0);
    for (u32 c = 0; c < size(); ++c) {
      check();
      if (const u32 n = last - first; listed >= kListed * n) {
        begin_merging(equal, open, c, n);
        for (u32 r = first; r < last; ++r) equal.add(bits(r), weight(r));
        if (4 * u64{equal.size()} <= 3 * u64{n}) first = last, last += equal.size();
        keep_rows(last);
        listed = 0;
      }
      u32 n = 0;
      for (u32 r = first; r < last; ++r) {  // without a branch, which cannot be foretold
        list[n] = r;
        n += bits(r)[c / 32] >> c % 32 & 1;
      }
      rows_.insert(rows_.end(), list.begin(), list.begin() + n);
      start_.push_back(rows_.size());
      listed += n;
    }
  }

  bool fits_ = false;
  u32 stride_ = 0;
  std::vector<u32> vertices_, degree_, weight_, bits_, rows_, names_;
  std::vector<u64> start_;
  std::vector<Column> columns_;
};

/// The table of a search for which rows are many and columns few; else, or where it does not fit,
/// none. For many, roots from lists leave short rows out: T10I4D100K at 100 rows takes 0.6 times
/// their seconds with 3 columns, 0.95 with 5, 5 with 10.
template <class Check>
std::unique_ptr<ShortRows> short_rows(const Rows& left, u32 n_right, bool columns_are_left, const Limits& limits, bool names, const Check& check) {
  constexpr u32 kFewColumns = 4;
  if (limits.min_rows <= kLanes || limits.min_columns > kFewColumns) return nullptr;
  const OwnRows right = columns_are_left ? transposed(left, n_right, check) : OwnRows();
  const u32 n_columns = columns_are_left ? static_cast<u32>(left.size()) : n_right;
  auto rows = std::make_unique<ShortRows>(columns_are_left ? right.view() : left, n_columns, limits.min_rows, names, check);
  return rows->fits() ? std::move(rows) : nullptr;
}

}  // namespace bicliq
