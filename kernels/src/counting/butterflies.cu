// butterflies.cu: butterflies on a GPU, of all and of each edge (butterfly_paths.hpp), a thread a
// few paths of two edges.
//
// Input: a `ButterflyRun`, written by kernels/cuda/butterflies.py, and the number of a batch.
// `count_path_ends` comes first, over tables of zeros, then `count_edge_shares`, where the counts
// of edges are wanted. `lay_out_butterflies` has made the lists before, and adds up what edges and
// vertices have afterwards (butterfly_lists.hpp).
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
#include "counting/butterfly_lists.hpp"
#include "counting/butterfly_paths.hpp"

namespace bicliq {

constexpr u32 kButterflyThreads = 256;

inline u64 own_thread() { return static_cast<u64>(blockIdx.x) * kButterflyThreads + threadIdx.x; }
inline u64 all_threads() { return static_cast<u64>(gridDim.x) * kButterflyThreads; }

extern "C" __global__ void __launch_bounds__(kButterflyThreads) lay_out_butterflies(const ButterflyLists* lists, ButterflyStep step) {
  ButterflySteps(*lists).take(step, own_thread(), all_threads());
}
extern "C" __global__ void __launch_bounds__(kButterflyThreads) count_path_ends(const ButterflyRun* run, u32 batch) {
  ButterflyPaths(*run, batch).count(own_thread(), all_threads());
}
extern "C" __global__ void __launch_bounds__(kButterflyThreads) count_edge_shares(const ButterflyRun* run, u32 batch) {
  ButterflyPaths(*run, batch).share(own_thread(), all_threads());
}

}  // namespace bicliq
