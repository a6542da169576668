// clique.cu: a maximum clique on a GPU. The search is that of warp_clique.hpp, with a warp as the
// group of 32 lanes.
//
// What it finds: `build_clique_roots` writes the local graphs of roots, `search_cliques` searches
// those of at most 1,024·BICLIQ_WIDTH vertices. Each width is compiled where it is needed.
//
// Input: a `CliqueLaunch`, written by kernels/cuda/clique.py. Every warp of a search has a piece of
// the block's shared memory, of `near_words`.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "clique/warp_clique.hpp"
#include "clique/warp_roots.hpp"

namespace bicliq {

#ifndef BICLIQ_WIDTH
#define BICLIQ_WIDTH 1
#endif
#ifndef BICLIQ_WARPS
#define BICLIQ_WARPS 4  // warps a block
#endif
#ifndef BICLIQ_BLOCKS
#define BICLIQ_BLOCKS 8  // blocks a multiprocessor
#endif

inline u32 warp_of_grid() { return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; }

extern "C" __global__ void __launch_bounds__(kBuildThreads) build_clique_roots(const CliqueLaunch* run) {
  build_roots(*run, warp_of_grid());
}

extern "C" __global__ void __launch_bounds__(32 * BICLIQ_WARPS, BICLIQ_BLOCKS) search_cliques(const CliqueLaunch* run) {
  search_cliques<BICLIQ_WIDTH>(*run, warp_of_grid(), shared_memory + threadIdx.x / kLanes * run->near_words);
}

}  // namespace bicliq
