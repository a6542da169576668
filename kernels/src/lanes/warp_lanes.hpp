// warp_lanes.hpp: a group of lanes is a warp: a lane is a thread, a word of every lane one
// register. Included by lanes.hpp, which says what each function does.
#pragma once

namespace bicliq {

__device__ inline u32 lane_id() { return threadIdx.x & 31; }
__device__ inline u32 popcount(u32 x) { return __popc(x); }
__device__ inline u32 first_set(u32 x) { return __ffs(x) - 1; }

struct Flags {
  bool on;
};
__device__ inline Flags operator&(Flags a, Flags b) { return {a.on && b.on}; }
__device__ inline Flags operator|(Flags a, Flags b) { return {a.on || b.on}; }
__device__ inline Flags operator~(Flags a) { return {!a.on}; }
__device__ inline u32 ballot(Flags a) { return __ballot_sync(~0u, a.on); }
__device__ inline Flags flags(u32 bits) { return {(bits >> lane_id() & 1) != 0}; }
__device__ inline Flags first_lanes(u32 n) { return {lane_id() < n}; }

struct Lanes {
  u32 v;
};
__device__ inline Lanes splat(u32 x) { return {x}; }
__device__ inline Lanes operator&(Lanes a, Lanes b) { return {a.v & b.v}; }
__device__ inline Lanes operator|(Lanes a, Lanes b) { return {a.v | b.v}; }
__device__ inline Lanes operator^(Lanes a, Lanes b) { return {a.v ^ b.v}; }
__device__ inline Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
__device__ inline Lanes without(Lanes a, Lanes b) { return {a.v & ~b.v}; }
__device__ inline Flags operator==(Lanes a, Lanes b) { return {a.v == b.v}; }
__device__ inline Flags operator>=(Lanes a, Lanes b) { return {a.v >= b.v}; }
__device__ inline Flags operator>(Lanes a, Lanes b) { return {a.v > b.v}; }
__device__ inline Flags meets(Lanes a, Lanes b) { return {(a.v & b.v) != 0}; }
__device__ inline Flags nonzero(Lanes a) { return {a.v != 0}; }
__device__ inline Lanes select(Flags f, Lanes yes, Lanes no) { return {f.on ? yes.v : no.v}; }
__device__ inline Lanes keep_where(Lanes test, Lanes a) { return {test.v ? a.v : 0u}; }
__device__ inline Lanes larger(Lanes a, Lanes b) { return {a.v > b.v ? a.v : b.v}; }
__device__ inline Lanes set_bits(Lanes a, Flags f, Lanes bit) { return {f.on ? a.v | bit.v : a.v}; }
__device__ inline Flags at_least(Lanes a, u32 n) { return {static_cast<u32>(__popc(a.v)) >= n}; }
__device__ inline Lanes popcounts(Lanes a) { return {static_cast<u32>(__popc(a.v))}; }
__device__ inline Lanes load(const u32* p, Flags f) { return {f.on ? p[lane_id()] : 0u}; }
__device__ inline Lanes load(const u32* p) { return {p[lane_id()]}; }
// A barrier before a store, since other lanes may still read, and one behind it, since they may
// read next.
__device__ inline void store(u32* p, Lanes a, Flags f) {
  __syncwarp();
  if (f.on) p[lane_id()] = a.v;
  __syncwarp();
}
__device__ inline void store(u32* p, Lanes a) { store(p, a, Flags{true}); }
__device__ inline void write(u32* p, Lanes a) { p[lane_id()] = a.v; }
__device__ inline void settle() { __syncwarp(); }
__device__ inline u32 compact(u32* p, Lanes a, Flags f) {
  const u32 bits = ballot(f);
  __syncwarp();
  if (f.on) p[__popc(bits & ((1u << lane_id()) - 1))] = a.v;
  __syncwarp();
  return __popc(bits);
}
__device__ inline void put(u32* p, u32 x) {
  __syncwarp();
  if (lane_id() == 0) *p = x;
  __syncwarp();
}
#if __CUDA_ARCH__ >= 800
__device__ inline u32 any_bits(Lanes a) { return __reduce_or_sync(~0u, a.v); }
__device__ inline u32 largest(Lanes a) { return __reduce_max_sync(~0u, a.v); }
__device__ inline u32 sum(Lanes a) { return __reduce_add_sync(~0u, a.v); }
#else
template <class F>
__device__ inline u32 reduce(u32 x, F f) {
  for (u32 step = 16; step; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
__device__ inline u32 any_bits(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x | y; });
}
__device__ inline u32 largest(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x > y ? x : y; });
}
__device__ inline u32 sum(Lanes a) {
  return reduce(a.v, [](u32 x, u32 y) { return x + y; });
}
#endif
__device__ inline u32 lane(Lanes a, u32 i) { return __shfl_sync(~0u, a.v, i); }
template <u32 K>
__device__ inline u32 lane(const Lanes (&a)[K], u32 i) {
  u32 x = 0;
  BICLIQ_UNROLL
  for (u32 k = 0; k < K; ++k)
    if (k == i / kLanes) x = lane(a[k], i % kLanes);
  return x;
}
__device__ inline Lanes lane_numbers() { return {lane_id()}; }
__device__ inline Lanes shift_left(Lanes a, u32 n) { return {a.v << n}; }
__device__ inline Lanes shift_right(Lanes a, u32 n) { return {a.v >> n}; }
__device__ inline Lanes load_apart(const u32* p, usize distance, u32 n) {
  return {lane_id() < n ? p[lane_id() * distance] : 0u};
}

struct LaneTerms {
  u64 own;
};
__device__ inline LaneTerms load_terms(const u64* table, Lanes ids, Flags f) { return {f.on ? table[ids.v] : 0}; }
__device__ inline LaneTerms masked(LaneTerms a, Flags f) { return {f.on ? a.own : 0}; }
/// In three pieces of 22 bits, whose sums fit in 32.
__device__ inline u64 total(LaneTerms a) {
  const u32 mask = (1u << 22) - 1;
  const u64 low = sum(Lanes{static_cast<u32>(a.own) & mask}), middle = sum(Lanes{static_cast<u32>(a.own >> 22) & mask});
  return low + (middle << 22) + (static_cast<u64>(sum(Lanes{static_cast<u32>(a.own >> 44)})) << 44);
}
__device__ inline i64 largest(LaneTerms a, Flags f) {
  i64 most = f.on ? static_cast<i64>(a.own) : kLeastTerm;
  for (u32 step = kLanes / 2; step; step /= 2) {
    const i64 other = __shfl_xor_sync(~0u, most, step);
    most = other > most ? other : most;
  }
  return most;
}
__device__ inline void add_gains(LaneTerms& sum, LaneTerms a, u64 base, Flags f) {
  const i64 gain = static_cast<i64>(a.own + base);
  if (f.on && gain > 0) sum.own += static_cast<u64>(gain);
}

struct LaneStack {
  u32 own = 0;
  __device__ void put(u32 i, u32 x) { own = lane_id() == i ? x : own; }
  __device__ u32 get(u32 i) const { return __shfl_sync(~0u, own, i); }
  __device__ void save(u32* to) const { store(to, Lanes{own}); }
  __device__ void restore(const u32* from) { own = from[lane_id()]; }
};

template <class F>
__device__ inline void each_item(u32 n, F f) {
  __syncwarp();
  BICLIQ_ROLL
  for (u32 i = lane_id(); i < n; i += kLanes) f(i);
  __syncwarp();
}

/// It copies up to three words more, which every piece has room for. Each lane has four reads of 16
/// bytes under way at a time.
__device__ inline void copy_piece(u32* to, const u32* from, u32 n) {
  const uint4* source = reinterpret_cast<const uint4*>(from);
  uint4* target = reinterpret_cast<uint4*>(to);
  const u32 quads = (n + 3) / 4;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = lane_id(); first < quads; first += 4 * kLanes) {
    uint4 quad[4];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k)
      if (first + k * kLanes < quads) quad[k] = source[first + k * kLanes];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k)
      if (first + k * kLanes < quads) target[first + k * kLanes] = quad[k];
  }
  __syncwarp();
}

template <class F>
__device__ inline u32 list_bits(u32* to, u32 n_words, F word) {
  u32 n = 0;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = 0; first < n_words; first += kLanes) {
    const u32 k = first + lane_id();
    u32 bits = k < n_words ? word(k) : 0;
    const u32 own = __popc(bits);
    u32 upto = own;
    for (u32 step = 1; step < kLanes; step *= 2) {
      const u32 below = __shfl_up_sync(~0u, upto, step);
      if (lane_id() >= step) upto += below;
    }
    BICLIQ_ROLL
    for (u32 at = n + upto - own; bits; bits &= bits - 1) to[at++] = 32 * k + first_set(bits);
    n += __shfl_sync(~0u, upto, kLanes - 1);
  }
  __syncwarp();
  return n;
}

template <class F>
__device__ inline u32 list_if(u32* to, u32 n, F keep) {
  u32 kept = 0;
  __syncwarp();
  BICLIQ_ROLL
  for (u32 first = 0; first < n; first += kLanes) {
    const u32 i = first + lane_id();
    kept += compact(to + kept, Lanes{i}, Flags{i < n && keep(i)});
  }
  return kept;
}

struct RowFold {
  Lanes all, any, two;
};
/// Fewer than 17 words leave lanes idle: then several rows are read at once, and folded at the end.
__device__ inline RowFold fold_rows(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const u32 width = n_words > 16 ? 32 : n_words > 8 ? 16 : n_words > 4 ? 8 : n_words > 2 ? 4 : n_words > 1 ? 2 : 1;
  const u32 word = lane_id() & (width - 1), rows_at_once = kLanes / width;
  const bool real = word < n_words;
  u32 all = ~0u, any = 0, two = 0;
  BICLIQ_UNROLL_8
  for (u32 i = lane_id() / width; i < n; i += rows_at_once) {
    const u32 bits = real ? base[starts[i] + word] : 0u;
    two |= any & bits;
    any |= bits;
    all &= bits;
  }
  __syncwarp();
  for (u32 step = width; step < kLanes; step *= 2) {
    const u32 other = __shfl_xor_sync(~0u, any, step);
    two |= __shfl_xor_sync(~0u, two, step) | (any & other);
    any |= other;
    all &= __shfl_xor_sync(~0u, all, step);
  }
  const bool own = lane_id() < n_words;
  return {{own ? all : 0}, {own ? any : 0}, {own ? two : 0}};
}
__device__ inline bool share_column(const u32* base, const u32* starts, u32 n, u32 n_words) {
  const u32 width = n_words > 16 ? 32 : n_words > 8 ? 16 : n_words > 4 ? 8 : n_words > 2 ? 4 : n_words > 1 ? 2 : 1;
  const u32 word = lane_id() & (width - 1), rows_at_once = kLanes / width, step_rows = 4 * rows_at_once;
  const bool real = word < n_words;
  u32 all = real ? ~0u : 0u;
  for (u32 first = lane_id() / width;; first += step_rows) {
    u32 bits[4];
    BICLIQ_UNROLL
    for (u32 k = 0; k < 4; ++k) {
      const u32 i = first + k * rows_at_once;
      bits[k] = real && i < n ? base[starts[i] + word] : ~0u;
    }
    all &= bits[0] & bits[1] & bits[2] & bits[3];
    if (first - lane_id() / width + step_rows >= n) break;
    if (!__any_sync(~0u, all != 0)) return false;
  }
  for (u32 step = width; step < kLanes; step *= 2) all &= __shfl_xor_sync(~0u, all, step);
  return __any_sync(~0u, all != 0);
}
__device__ inline Lanes count_rows(const u32* words, usize distance, const u32* rows, u32 depth) {
  u32 count = 0;
  BICLIQ_UNROLL_8
  for (u32 k = 0; k < depth; ++k) count += __popc(words[k * distance + lane_id()] & rows[k]);
  __syncwarp();
  return {count};
}

/// Lane i holds row i of a 32 x 32 bit matrix; afterwards column i (five exchanges).
__device__ inline u32 transpose(u32 x) {
  u32 mask = 0x0000ffffu;
  BICLIQ_UNROLL
  for (u32 step = 16; step; step /= 2, mask ^= mask << step) {
    const u32 other = __shfl_xor_sync(~0u, x, step);
    x = lane_id() & step ? (x & ~mask) | (other >> step & mask) : (x & mask) | (other << step & ~mask);
  }
  return x;
}
__device__ inline Lanes column_masks(const u32* base, const u32* starts, u32 wanted) {
  return {transpose(wanted >> lane_id() & 1 ? base[starts[lane_id()]] : 0)};
}
__device__ inline Lanes column_masks_apart(const u32* word, usize distance, u32 n) {
  return {transpose(lane_id() < n ? word[lane_id() * distance] : 0)};
}

/// Of a counting sort by a block of threads: turns the sizes of n buckets into where each begins;
/// returns their sum. For one warp of the block.
inline u32 start_each(u32* sizes, u32 n) {
  u32 before = 0;
  for (u32 i = 0; i < n; i += kLanes) {
    const u32 own = i + lane_id() < n ? sizes[i + lane_id()] : 0;
    u32 upto = own;
    for (u32 step = 1; step < kLanes; step *= 2) {
      const u32 below = __shfl_up_sync(~0u, upto, step);
      if (lane_id() >= step) upto += below;
    }
    if (i + lane_id() < n) sizes[i + lane_id()] = before + upto - own;
    before += __shfl_sync(~0u, upto, kLanes - 1);
  }
  return before;
}

}  // namespace bicliq
