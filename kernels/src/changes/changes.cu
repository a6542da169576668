// changes.cu: what vanishes in bicliques that new edges made, judged and written out on a GPU.
//
// What it finds: of each biclique of the subgraphs around new edges (changes.hpp) that contains one
// new edge alone, whether its two remainders (one end of the edge taken away) are maximal in the
// graph without the new edges, and so vanish. One with several new edges is left to the host, and
// so is one with a remainder that another biclique may leave as well.
//
// Input: a `ChangeTables`, written by kernels/cuda/changes.py: the lists of a launch of the search,
// the vertices and changes that its numbers stand for, and the rows of the graph.
//
// Method: a warp a biclique. Lanes look for a second new edge among the members. A remainder is
// extended if a vertex outside is adjacent to all of it: lanes take the entries of the shortest row
// of its members, and look each up in the other rows by bisection. Most fail at the second row. A
// vertex that reaches all of it, but by a new edge, is in another biclique that leaves it as well
// (changes.hpp). The driver adds up the sizes of what was found; `write_changes` then writes what
// appeared and what vanished as lists of vertices, and what the host must settle as it came.
//
// Cost: entries of the shortest rows, times the logarithm of the others; each id once or twice.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "lanes/lanes.hpp"

namespace bicliq {

constexpr u32 kJudgeThreads = 128;

/// What is known of a biclique; nothing, if no bit is set: the host must find out.
enum class Verdict : u32 {
  kJudged = 1,         // it has one new edge
  kLeftVanishes = 2,   // without the left end of that edge, it is a biclique that vanishes
  kRightVanishes = 4,  // without the right end
};

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
  i32* sizes;  // of each kind of lists: how many a biclique adds, their left ids, their right ones
};

/// What a biclique adds lists to.
enum class Kind : u32 { kAppeared, kVanished, kUnsettled };
constexpr u32 kKinds = 3;

/// Two list columns that are written.
struct ListColumns {
  i64* left_offsets;
  i32* left;
  i64* right_offsets;
  i32* right;
};

/// Where the lists go: all sizes, added up, and the columns of each kind.
struct ChangeLists {
  const i64* ends;
  ListColumns columns[kKinds];
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

/// What becomes of a remainder.
enum class Fate : u32 {
  kStays,   // a vertex extends it: it was not maximal before
  kGoes,    // it was, and no other biclique leaves it
  kShared,  // it was, and another one does
};

/// The members but one are left with `others`: is a vertex that is none of these adjacent to all?
inline Fate fate_of(const Members& members, i32 missing, const Members& others, const RowsOnDevice& rows, const RowsOnDevice& fresh) {
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
  bool shared = false;
  for (i64 k = rows.start[shortest]; k < end; k += kLanes) {
    bool reaches = k + lane_id() < end;
    const i32 x = reaches ? rows.row[k + lane_id()] : 0;
    bool anew = reaches && fresh.has(shortest, x);
    for (u32 i = 0; i < members.n && reaches; ++i) {
      const i32 m = members[i];
      if (m == missing || m == shortest) continue;
      reaches = rows.has(m, x);
      anew = anew || (reaches && fresh.has(m, x));
    }
    reaches = reaches && !others.has(x);
    if (ballot(Flags{reaches && !anew})) return Fate::kStays;
    shared = shared || ballot(Flags{reaches}) != 0;
  }
  return shared ? Fate::kShared : Fate::kGoes;
}

inline Members left_of(const ChangeTables& g, u64 b) {
  return {g.left + g.left_offsets[b], g.left_of, static_cast<u32>(g.left_offsets[b + 1] - g.left_offsets[b])};
}
inline Members right_of(const ChangeTables& g, u64 b) {
  return {g.right + g.right_offsets[b], g.right_of, static_cast<u32>(g.right_offsets[b + 1] - g.right_offsets[b])};
}
inline bool says(u32 verdict, Verdict bit) { return (verdict & static_cast<u32>(bit)) != 0; }

/// Bicliques and ids that a biclique adds to a kind of lists.
inline void write_sizes(const ChangeTables& g, u64 b, Kind kind, u32 n, u32 n_left, u32 n_right) {
  i32* const to = g.sizes + 3 * static_cast<u64>(kind) * g.n_bicliques + b;
  to[0] = static_cast<i32>(n), to[g.n_bicliques] = static_cast<i32>(n_left), to[2 * g.n_bicliques] = static_cast<i32>(n_right);
}

extern "C" __global__ void __launch_bounds__(kJudgeThreads) judge_changes(const ChangeTables* tables) {
  const ChangeTables& g = *tables;
  const RowsOnDevice by_left{g.left_start, g.left_row}, by_right{g.right_start, g.right_row};
  const RowsOnDevice fresh_left{g.fresh_left_start, g.fresh_left_row}, fresh_right{g.fresh_right_start, g.fresh_right_row};
  const u64 warps = static_cast<u64>(gridDim.x) * (kJudgeThreads / kLanes);
  for (u64 b = (static_cast<u64>(blockIdx.x) * kJudgeThreads + threadIdx.x) / kLanes; b < g.n_bicliques; b += warps) {
    const Members left = left_of(g, b), right = right_of(g, b);
    const i32 change = g.change_of[left.number[0]];
    const i32 u = g.change_left[change], v = g.change_right[change];
    u32 verdict = 0;
    if (u >= 0 && v >= 0 && !has_others(g, fresh_left, left, right, u, v)) {
      const auto fate = [&](u64 n_left, u64 n_right, const Members& members, i32 missing, const Members& others, const RowsOnDevice& rows, const RowsOnDevice& fresh) {
        const bool accepted = n_left && n_right && n_left >= g.min_left && n_right >= g.min_right && n_left * n_right >= g.min_edges;
        return accepted ? fate_of(members, missing, others, rows, fresh) : Fate::kStays;
      };
      const Fate of_left = fate(left.n - 1, right.n, left, u, right, by_left, fresh_left);
      const Fate of_right = fate(left.n, right.n - 1, right, v, left, by_right, fresh_right);
      if (of_left != Fate::kShared && of_right != Fate::kShared) {
        verdict = static_cast<u32>(Verdict::kJudged);
        if (of_left == Fate::kGoes) verdict |= static_cast<u32>(Verdict::kLeftVanishes);
        if (of_right == Fate::kGoes) verdict |= static_cast<u32>(Verdict::kRightVanishes);
      }
    }
    if (lane_id() != 0) continue;
    const u32 fewer_left = says(verdict, Verdict::kLeftVanishes), fewer_right = says(verdict, Verdict::kRightVanishes);
    const u32 n_vanish = fewer_left + fewer_right, judged = verdict != 0;
    g.verdicts[b] = static_cast<unsigned char>(verdict);
    write_sizes(g, b, Kind::kAppeared, judged, judged * left.n, judged * right.n);
    write_sizes(g, b, Kind::kVanished, n_vanish, n_vanish * left.n - fewer_left, n_vanish * right.n - fewer_right);
    write_sizes(g, b, Kind::kUnsettled, 1 - judged, (1 - judged) * left.n, (1 - judged) * right.n);
  }
}

/// Where the next list of a biclique goes: its number, and the ids before it.
struct ListPlace {
  i64 number, left, right;
};

/// Of a kind of lists, the first place of a biclique: what all before it add.
inline ListPlace place_of(const ChangeTables& g, const ChangeLists& to, Kind kind, u64 b) {
  const auto before = [&](u64 row) {
    const u64 first = (3 * static_cast<u64>(kind) + row) * g.n_bicliques;
    const i64 base = first ? to.ends[first - 1] : 0;
    return b ? to.ends[first + b - 1] - base : 0;
  };
  return {before(0), before(1), before(2)};
}

/// Copies the members of a side, all but one, to `to`: as numbers, or as vertices.
inline void copy(const Members& members, bool as_vertices, i32 missing, i32* to) {
  for (u32 i = lane_id(); i < members.n; i += kLanes) {
    const i32 own = as_vertices ? members[i] : members.number[i];
    if (own != missing) to[i - (missing >= 0 && own > missing)] = own;
  }
}

/// Writes a biclique without one vertex of either side (-1: with all).
inline void write(const ListColumns& to, ListPlace& at, const Members& left, const Members& right, bool as_vertices, i32 no_left, i32 no_right) {
  copy(left, as_vertices, no_left, to.left + at.left);
  copy(right, as_vertices, no_right, to.right + at.right);
  ++at.number, at.left += left.n - (no_left >= 0), at.right += right.n - (no_right >= 0);
  if (lane_id() == 0) to.left_offsets[at.number] = at.left, to.right_offsets[at.number] = at.right;
}

extern "C" __global__ void __launch_bounds__(kJudgeThreads) write_changes(const ChangeTables* tables, const ChangeLists* lists) {
  const ChangeTables& g = *tables;
  const auto columns = [&](Kind kind) -> const ListColumns& { return lists->columns[static_cast<u32>(kind)]; };
  const u64 warps = static_cast<u64>(gridDim.x) * (kJudgeThreads / kLanes);
  for (u64 b = (static_cast<u64>(blockIdx.x) * kJudgeThreads + threadIdx.x) / kLanes; b < g.n_bicliques; b += warps) {
    const Members left = left_of(g, b), right = right_of(g, b);
    const u32 verdict = g.verdicts[b];
    const Kind kind = verdict ? Kind::kAppeared : Kind::kUnsettled;
    ListPlace at = place_of(g, *lists, kind, b);
    write(columns(kind), at, left, right, verdict != 0, -1, -1);
    const i32 change = g.change_of[left.number[0]];
    at = place_of(g, *lists, Kind::kVanished, b);
    if (says(verdict, Verdict::kLeftVanishes)) write(columns(Kind::kVanished), at, left, right, true, g.change_left[change], -1);
    if (says(verdict, Verdict::kRightVanishes)) write(columns(Kind::kVanished), at, left, right, true, -1, g.change_right[change]);
  }
}

}  // namespace bicliq
