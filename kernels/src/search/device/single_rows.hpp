// single_rows.hpp: the bicliques of one row, on a GPU, and what is counted before the search.
//
// What it finds: `single_rows` each row with all its columns that no other row has all of. Input: a
// `Run` (device_run.hpp). Method: a warp takes a row, and looks for another one among the rows of
// its first column, from their ends. Cost: O(edges within two steps of a row), mostly far less.
#pragma once

#include "lanes/lanes.hpp"
#include "search/device/device_run.hpp"

namespace bicliq {

/// Has the row all of n columns (ascending)? For one thread; from the end, where the columns of
/// many rows are, which it lacks least often.
inline bool has_columns(const Run& g, u32 row, const u32* columns, u32 n) {
  const u32 *first = g.row_columns + g.row_start[row], *end = g.row_columns + g.row_start[row + 1];
  if (end - first < n || end[-1] < columns[n - 1]) return false;
  for (u32 k = n; k-- > 0;) {
    const u32 wanted = columns[k];
    const u32* low = first;
    u64 size = end - first;
    while (size) {
      const u64 half = size / 2;
      if (low[half] < wanted) {
        low += half + 1;
        size -= half + 1;
      } else {
        size = half;
      }
    }
    if (low == end || *low != wanted) return false;
    end = low;
  }
  return true;
}

/// Has another row all n columns of this one? It is among the rows of the first of them. For a
/// warp.
inline bool contained_row(const Run& g, u32 row, const u32* columns, u32 n) {
  const u32* others = g.column_rows + g.column_start[columns[0]];
  const u32 d = g.column_degree(columns[0]);
  for (u32 i = 0; i < d; i += kLanes) {
    const u32 k = i + lane_id();
    if (__any_sync(~0u, k < d && others[k] != row && has_columns(g, others[k], columns, n))) return true;
  }
  return false;
}

/// What is reported before the search, unless bicliques are written: those of one row, and those of
/// the roots themselves. A sink counts all others: what one counts that is new is counted here too.
struct Reported {
  u64 found = 0, digest = 0;

  /// `hash()` is that of the biclique.
  template <class Hash>
  void add(const Run& run, Hash hash) {
    ++found;
    if (run.row_hashes) digest += hash();
  }
  void publish(Counters* counters) const {
    atomicAdd(&counters->found, found);
    atomicAdd(&counters->digest, digest);
  }
};

/// Reports the bicliques of one row: a row with all its columns, if no other row has all of them.
extern "C" __global__ void single_rows(const Run* run) {
  const Run& g = *run;
  const Limits limits = g.limits();
  const u32 warps = gridDim.x * blockDim.x / kLanes;
  Reported reported;
  for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; row < g.n_rows; row += warps) {
    const u32* columns = g.row_columns + g.row_start[row];
    const u32 n = g.row_degree(row);
    if (!n || !g.is_root[columns[0]] || !limits.accepts(1, n) || contained_row(g, row, columns, n)) continue;
    if (g.output) {
      if (lane_id() == 0) add_task(g, {kOneRow, row, 0});
      continue;
    }
    reported.add(g, [&] {
      u64 hash = 0;
      for (u32 i = 0; i < n; ++i) hash += g.column_hashes[columns[i]];
      return g.hash_of(g.row_hashes[row], hash);
    });
  }
  if (lane_id() == 0 && reported.found) reported.publish(g.counters);
}

}  // namespace bicliq
