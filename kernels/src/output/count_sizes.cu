// count_sizes.cu: how often each size occurs in an array on a GPU.
//
// Nearly all sizes are small, and threads that count at one place wait for one another. So a block
// counts small sizes in a table of its own, in shared memory, which it adds to that of all at the
// end.
//
// Cost: O(sizes / threads) and a table a block. Overflow: a block's counter has 32 bits; it sees
// fewer than 2^32 sizes, since offsets of lists have 31.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "lanes/types.hpp"

namespace bicliq {

constexpr u32 kOwnSizes = 4096;  // 16 KiB of a block's shared memory

}  // namespace bicliq

/// `counts` has a place for each size that occurs.
extern "C" __global__ void count_sizes(const bicliq::i32* sizes, bicliq::u64 n, bicliq::u64* counts) {
  using namespace bicliq;
  __shared__ u32 own[kOwnSizes];
  for (u32 size = threadIdx.x; size < kOwnSizes; size += blockDim.x) own[size] = 0;
  __syncthreads();
  const u64 step = u64{gridDim.x} * blockDim.x;
  for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const u32 size = static_cast<u32>(sizes[i]);
    if (size < kOwnSizes)
      atomicAdd(&own[size], 1u);
    else
      atomicAdd(&counts[size], u64{1});
  }
  __syncthreads();
  for (u32 size = threadIdx.x; size < kOwnSizes; size += blockDim.x)
    if (own[size]) atomicAdd(&counts[size], u64{own[size]});
}
