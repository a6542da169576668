// changes.cu: what vanishes in bicliques that new edges made, judged on a GPU.
//
// What it finds: of each biclique of the subgraphs around new edges (changes.hpp) that contains one
// new edge alone, whether its two remainders (one end of the edge taken away) are maximal in the
// graph without the new edges, and so vanish. Of one with several new edges it says nothing: the
// host settles that one.
//
// Input: a `ChangeTables`, written by kernels/cuda/changes.py: the lists of a launch of the search,
// the vertices and changes that its numbers stand for, and the rows of the graph.
//
// Method: a warp a biclique. Lanes look for a second new edge among the members. A remainder is
// extended if a vertex outside is adjacent to all of it: lanes take the entries of the shortest row
// of its members, and look each up in the other rows by bisection. Most fail at the second row.
//
// Cost: entries of the shortest rows, times the logarithm of the others.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "enumeration/verdict.hpp"
#include "lanes/lanes.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

constexpr u32 kJudgeThreads = 128;

/// Everything that the kernel is told; 64-bit fields only.
struct ChangeTables {
  const i32 *left_offsets, *left, *right_offsets, *right;  // bicliques, in numbers of the subgraphs
  u64 n_bicliques;
  const i32 *left_of, *right_of, *change_of;  // vertices of the numbers, and changes of left ones
  const i64* left_start;                      // the graph with the new edges, from both sides
  const i32* left_row;
  const i64* right_start;
  const i32* right_row;
  const i64* fresh_left_start;  // the new edges, from both sides
  const i32* fresh_left_row;
  const i64* fresh_right_start;
  const i32* fresh_right_row;
  const i32 *change_left, *change_right;        // the ends of each change, or -1
  const i32 *left_changes, *right_changes;      // the change of a vertex that has new edges only, or -1
  u64 min_left, min_right, min_edges;
  unsigned char* verdicts;
};

struct RowsOnDevice {
  const i64* start;
  const i32* row;
  u64 size(i32 v) const { return static_cast<u64>(start[v + 1] - start[v]); }
  bool has(i32 v, i32 x) const {
    i64 low = start[v], high = start[v + 1];
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (row[middle] < x)
        low = middle + 1;
      else
        high = middle;
    }
    return low < start[v + 1] && row[low] == x;
  }
};

/// Members of one side of a biclique: ascending numbers, of which each stands for a vertex.
struct Members {
  const i32 *number, *vertex;
  u32 n;
  i32 operator[](u32 i) const { return vertex[number[i]]; }
  bool has(i32 x) const {
    u32 low = 0, high = n;
    while (low < high) {
      const u32 middle = (low + high) / 2;
      if ((*this)[middle] < x)
        low = middle + 1;
      else
        high = middle;
    }
    return low < n && (*this)[low] == x;
  }
};

/// Is there another new edge between these sides than the one of the change?
inline bool has_others(const ChangeTables& g, const RowsOnDevice& fresh, const Members& left, const Members& right, i32 u, i32 v) {
  bool other = false;
  for (u32 i = lane_id(); i < left.n && !other; i += kLanes) {
    const i32 own = left[i];
    other = g.left_changes[own] >= 0;
    for (i64 k = fresh.start[own]; k < fresh.start[own + 1] && !other; ++k)
      other = (own != u || fresh.row[k] != v) && right.has(fresh.row[k]);
  }
  for (u32 i = lane_id(); i < right.n && !other; i += kLanes) other = g.right_changes[right[i]] >= 0;
  return ballot(Flags{other}) != 0;
}

/// Is a vertex that is none of `others` adjacent, without the new edges, to all members but one?
inline bool is_extended(const Members& members, i32 missing, const Members& others, const RowsOnDevice& rows, const RowsOnDevice& fresh) {
  u64 least = ~0ull;
  for (u32 i = lane_id(); i < members.n; i += kLanes) {
    const i32 m = members[i];
    const u64 own = rows.size(m) << 32 | static_cast<u32>(m);
    if (m != missing && own < least) least = own;
  }
  for (u32 step = kLanes / 2; step; step /= 2) {
    const u64 other = __shfl_xor_sync(~0u, least, step);
    if (other < least) least = other;
  }
  const i32 shortest = static_cast<i32>(least & 0xffffffffull);
  const i64 end = rows.start[shortest + 1];
  for (i64 k = rows.start[shortest]; k < end; k += kLanes) {
    bool extends = k + lane_id() < end;
    const i32 x = extends ? rows.row[k + lane_id()] : 0;
    extends = extends && !fresh.has(shortest, x);
    for (u32 i = 0; i < members.n && extends; ++i) {
      const i32 m = members[i];
      if (m != missing && m != shortest) extends = rows.has(m, x) && !fresh.has(m, x);
    }
    if (ballot(Flags{extends && !others.has(x)})) return true;
  }
  return false;
}

extern "C" __global__ void __launch_bounds__(kJudgeThreads) judge_changes(const ChangeTables* tables) {
  const ChangeTables& g = *tables;
  const RowsOnDevice by_left{g.left_start, g.left_row}, by_right{g.right_start, g.right_row};
  const RowsOnDevice fresh_left{g.fresh_left_start, g.fresh_left_row}, fresh_right{g.fresh_right_start, g.fresh_right_row};
  const u64 warps = static_cast<u64>(gridDim.x) * (kJudgeThreads / kLanes);
  for (u64 b = (static_cast<u64>(blockIdx.x) * kJudgeThreads + threadIdx.x) / kLanes; b < g.n_bicliques; b += warps) {
    const Members left{g.left + g.left_offsets[b], g.left_of, static_cast<u32>(g.left_offsets[b + 1] - g.left_offsets[b])};
    const Members right{g.right + g.right_offsets[b], g.right_of, static_cast<u32>(g.right_offsets[b + 1] - g.right_offsets[b])};
    const i32 change = g.change_of[left.number[0]];
    const i32 u = g.change_left[change], v = g.change_right[change];
    u32 verdict = 0;
    if (u >= 0 && v >= 0 && !has_others(g, fresh_left, left, right, u, v)) {
      const auto accepted = [&](u64 n_left, u64 n_right) {
        return n_left && n_right && n_left >= g.min_left && n_right >= g.min_right && n_left * n_right >= g.min_edges;
      };
      verdict = static_cast<u32>(Verdict::kJudged);
      if (accepted(left.n - 1, right.n) && !is_extended(left, u, right, by_left, fresh_left))
        verdict |= static_cast<u32>(Verdict::kLeftVanishes);
      if (accepted(left.n, right.n - 1) && !is_extended(right, v, left, by_right, fresh_right))
        verdict |= static_cast<u32>(Verdict::kRightVanishes);
    }
    if (lane_id() == 0) g.verdicts[b] = static_cast<unsigned char>(verdict);
  }
}

}  // namespace BICLIQ_ISA
}  // namespace bicliq
