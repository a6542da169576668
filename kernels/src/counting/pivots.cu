// pivots.cu: (p,q)-bicliques on a GPU, by pivots (pivot_waves.hpp), with a warp as the group of 32
// lanes; with `vertex`, of every vertex as well.
//
// Input: a `PivotLaunch`, written by kernels/cuda/pivots.py. `open_pivots` makes the first wave
// from grids, `search_pivots` the next one from the wave in a buffer, and `close_pivots` empties
// that buffer. A wave of nothing ends at once, so that the host may launch some of them without a
// look.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "counting/pivot_waves.hpp"

namespace bicliq {

constexpr u32 kPivotThreads = 128;

inline u32 warp_of_grid() { return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; }

extern "C" __global__ void __launch_bounds__(kPivotThreads) open_pivots(const PivotLaunch* run) {
  PivotWaves<LeafSum>(*run, warp_of_grid()).open_all();
}
extern "C" __global__ void __launch_bounds__(kPivotThreads) open_vertex_pivots(const PivotLaunch* run) {
  PivotWaves<VertexSum>(*run, warp_of_grid()).open_all();
}

extern "C" __global__ void __launch_bounds__(kPivotThreads) search_pivots(const PivotLaunch* run, u32 from) {
  if (run->counters->n_tasks[from]) PivotWaves<LeafSum>(*run, warp_of_grid()).search(from);
}
extern "C" __global__ void __launch_bounds__(kPivotThreads) search_vertex_pivots(const PivotLaunch* run, u32 from) {
  if (run->counters->n_tasks[from]) PivotWaves<VertexSum>(*run, warp_of_grid()).search(from);
}

extern "C" __global__ void close_pivots(const PivotLaunch* run, u32 from) {
  PivotCounters& counters = *run->counters;
  counters.next_task[from] = counters.n_tasks[from] = counters.node_words[from] = 0;
}

}  // namespace bicliq
