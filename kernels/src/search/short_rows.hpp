// short_rows.hpp: a table for a search that wants many rows of a biclique and never asks which.
//
// Input: the CSR matrix of the side whose vertices are rows. Columns with fewer rows than are
// wanted are left out; the rest are numbered in search order, in 16 bits. In a dense table equal
// rows are one, with their number as a weight. Cost: O(edges). Memory: 6 bytes an edge, 8 a row.
#pragma once

#include "graphs/csr.hpp"

#include <vector>

namespace bicliq {

class ShortRows {
 public:
  using Column = std::uint16_t;
  static constexpr u32 kMostColumns = 0xffff;

  /// `check` is called now and then, and may end it by an exception.
  template <class Check>
  ShortRows(const Rows& rows, u32 n_columns, u32 least, const Check& check) {
    const std::vector<u32> degree = other_degrees(rows, n_columns, check);
    for (u32 v : ascending_degree(degree))
      if (degree[v] >= least) vertices_.push_back(v), degree_.push_back(degree[v]);
    if (!fits()) return;
    gather(rows, n_columns, check);
    if (kSparse * columns_.size() < n_rows() * usize{size()}) return;
    merge_rows();
    list_rows(check);
  }
  /// Whether its columns are few enough.
  bool fits() const { return size() <= kMostColumns; }

  u32 size() const { return static_cast<u32>(vertices_.size()); }
  const std::vector<u32>& vertices() const { return vertices_; }
  /// In how many rows a column is,
  u32 degree(u32 c) const { return degree_[c]; }
  /// and in which of those that are told apart.
  const u32* rows_begin(u32 c) const { return rows_of_.data() + rows_start_[c]; }
  const u32* rows_end(u32 c) const { return rows_of_.data() + rows_start_[c + 1]; }
  bool merged() const { return !weight_.empty(); }
  /// How many rows a row stands for, where rows are merged.
  u32 weight(u32 r) const { return weight_[r]; }

  const Column* begin(u32 r) const { return columns_.data() + start_[r]; }
  const Column* end(u32 r) const { return columns_.data() + start_[r + 1]; }
  /// f(row) for some rows, whose columns memory is asked for before.
  template <class F>
  void each_of(const u32* row, const u32* last, F f) const {
    constexpr std::ptrdiff_t kAhead = 8;
    for (; row < last; ++row) {
      if (last - row > 2 * kAhead) __builtin_prefetch(start_.data() + row[2 * kAhead]);
      if (last - row > kAhead) __builtin_prefetch(begin(row[kAhead]));
      f(*row);
    }
  }

 private:
  static constexpr usize kSparse = 4;  // rows are merged where each has one of so many columns, on average
  static constexpr u32 kNone = ~0u;

  usize n_rows() const { return start_.size() - 1; }

  /// Which rows each column has, and from these the columns of each row, ascending.
  template <class Check>
  void gather(const Rows& rows, u32 n_columns, const Check& check) {
    std::vector<u32> column_of(n_columns, kNone);
    for (u32 c = 0; c < size(); ++c) column_of[vertices_[c]] = c;
    std::vector<u32> n(rows.size(), 0);
    auto lists = gathered<u64, u32>(size(), [&](std::size_t c) { return degree_[c]; }, [&](const auto& tell) {
      each_vertex(static_cast<u32>(rows.size()), check, [&](u32 r) {
        for (std::int32_t v : rows[static_cast<std::int32_t>(r)])
          if (const u32 c = column_of[static_cast<u32>(v)]; c != kNone) ++n[r], tell(c, r);
      });
    });
    rows_start_ = std::move(lists.start), rows_of_ = std::move(lists.row);
    auto sorted = gathered<u64, Column>(rows.size(), [&](std::size_t r) { return n[r]; }, [&](const auto& tell) {
      each_vertex(size(), check, [&](u32 c) {
        for (const u32* r = rows_begin(c); r < rows_end(c); ++r) tell(*r, static_cast<Column>(c));
      });
    });
    start_ = std::move(sorted.start), columns_ = std::move(sorted.row);
  }

  /// Rows with the same columns become one.
  void merge_rows() {
    const u32 n = static_cast<u32>(n_rows());
    usize n_slots = 64;
    while (n_slots < 2 * usize{n}) n_slots *= 2;
    std::vector<u32> slots(n_slots, kNone);
    u32 n_kept = 0;
    for (u32 r = 0; r < n; ++r) {
      const Column *first = begin(r), *last = end(r);
      u64 sum = static_cast<u64>(last - first);
      for (const Column* c = first; c < last; ++c) sum = (sum ^ *c) * 0x9e3779b97f4a7c15ull, sum ^= sum >> 32;
      usize at = sum & (n_slots - 1);
      while (slots[at] != kNone && !std::equal(first, last, begin(slots[at]), end(slots[at]))) at = (at + 1) & (n_slots - 1);
      if (slots[at] != kNone) {
        ++weight_[slots[at]];
        continue;
      }
      slots[at] = n_kept;
      weight_.push_back(1);
      std::copy(first, last, columns_.begin() + static_cast<std::ptrdiff_t>(start_[n_kept]));
      start_[n_kept + 1] = start_[n_kept] + static_cast<u64>(last - first);
      ++n_kept;
    }
    start_.resize(usize{n_kept} + 1);
    columns_.resize(start_.back());
  }

  template <class Check>
  void list_rows(const Check& check) {
    std::vector<u32> n(size(), 0);
    for (const Column c : columns_) ++n[c];
    auto lists = gathered<u64, u32>(size(), [&](std::size_t c) { return n[c]; }, [&](const auto& tell) {
      each_vertex(static_cast<u32>(n_rows()), check, [&](u32 r) {
        for (const Column* c = begin(r); c < end(r); ++c) tell(*c, r);
      });
    });
    rows_start_ = std::move(lists.start), rows_of_ = std::move(lists.row);
  }

  std::vector<u32> vertices_, degree_, weight_, rows_of_;
  std::vector<u64> start_{0}, rows_start_;
  std::vector<Column> columns_;
};

}  // namespace bicliq
