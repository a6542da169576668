// smaller_rows.hpp: bicliques as rows of a file that holds smaller sides alone.
//
// What it keeps: of each biclique the smaller side, both sizes and the root, one after the other as
// the columns of a file have them, and the digest of all. Cost: O(ids).
#pragma once

#include "changes/found_changes.hpp"
#include "changes/growing.hpp"
#include "graphs/rows.hpp"
#include "lanes/types.hpp"
#include "output/list_column.hpp"
#include "output/row_group.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bicliq {

struct SmallerRows {
  Growing<i32> ids, n_left, n_right, root;  // ids of one row after the other
  u64 digest = 0;
  Growing<i32> larger;  // the other sides, as long as they are kept
  bool keeps_larger = false;
  std::size_t size() const { return root.size(); }
  /// How many ids a row has.
  i32 n_ids(std::size_t i) const { return std::min(n_left[i], n_right[i]); }
  void forget_larger() { keeps_larger = false, larger = {}; }
  /// Both sides.
  Lists lists() const {
    Lists found;
    const i32 *smaller = ids.data(), *other = larger.data();
    for (std::size_t i = 0; i < size(); ++i) {
      const Span one{smaller, smaller + n_ids(i)}, rest{other, other + std::max(n_left[i], n_right[i])};
      left_is_smaller(n_left[i], n_right[i]) ? found.add(one, rest) : found.add(rest, one);
      smaller = one.last, other = rest.last;
    }
    return found;
  }
  /// Ends a row whose ids were written.
  void end(i32 left, i32 right, i32 own_root, u64 hash) {
    n_left.push(left), n_right.push(right), root.push(own_root);
    digest += hash;
  }
  /// Takes in the rows of another thread.
  void take(SmallerRows&& some) {
    const u64 both = digest + some.digest;
    if (size() == 0) std::swap(*this, some);
    put(some.ids, ids), put(some.n_left, n_left), put(some.n_right, n_right), put(some.root, root);
    digest = both;
  }
  /// Forgets the first rows and their ids, but not their digest.
  void drop(std::size_t n_rows, std::size_t n_ids) {
    ids.drop(n_ids), n_left.drop(n_rows), n_right.drop(n_rows), root.drop(n_rows);
  }

 private:
  static void put(const Growing<i32>& from, Growing<i32>& to) {
    std::copy_n(from.data(), from.size(), to.room(from.size()));
    to.add(from.size());
  }
};

/// Some rows that follow each other, from `first` to before `last`, and where their ids are.
struct RowSpan {
  std::size_t first, last, first_id, n_ids;
  std::size_t size() const { return last - first; }
};

/// Rows cut into spans that have no more rows and ids; one row may have more ids.
inline std::vector<RowSpan> spans_of(const SmallerRows& rows, std::size_t most_rows, std::size_t most_ids) {
  std::vector<RowSpan> spans;
  std::size_t next_id = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto own = static_cast<std::size_t>(rows.n_ids(i));
    if (spans.empty() || spans.back().size() == most_rows || spans.back().n_ids + own > most_ids) spans.push_back({i, i, next_id, 0});
    spans.back().last = i + 1, spans.back().n_ids += own;
    next_id += own;
  }
  return spans;
}

/// Calls `use` with the columns of a span: lists, n_left, n_right, roots, and their number.
template <class Use>
void with_columns(const SmallerRows& rows, const RowSpan& span, const Use& use) {
  std::vector<i32> offsets(span.size() + 1, 0);
  for (std::size_t i = 0; i < span.size(); ++i) offsets[i + 1] = offsets[i] + rows.n_ids(span.first + i);
  const auto from = [&](const Growing<i32>& column) { return column.data() + span.first; };
  use(ListColumn{offsets.data(), rows.ids.data() + span.first_id}, from(rows.n_left), from(rows.n_right), from(rows.root), span.size());
}

}  // namespace bicliq
