// device_buckets.hpp: a counting sort by a block of threads: from the sizes of buckets to where
// they begin.
#pragma once

#include "lanes/lanes.hpp"

namespace bicliq {

/// Turns the sizes of n buckets into where each begins; returns their sum. For one warp of the
/// block.
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
