// errors.hpp: what ends a kernel before its end, on a CPU and on a device.
#pragma once

#include "lanes/types.hpp"

#if !defined(__CUDACC_RTC__)
#include <stdexcept>
#endif

namespace bicliq {

/// Why a run on a device stopped; the host then goes on in another way. Which memory did not
/// suffice: with half of the roots a run needs less of the arena and of the tasks; a larger
/// workspace is taken instead (`Failure` of kernels/cuda/batches.py). Or the host wants no more.
enum class Failure : u64 { kNone = 0, kArenaFull = 1, kTasksFull = 2, kWorkspaceFull = 3, kGivenUp = 4 };

#if !defined(__CUDACC_RTC__)
/// Raised where a request needs more than there is: threads, memory, or room in a number. Python
/// gets its own `CapacityError`.
struct CapacityError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends what a stopped run was doing; nobody outside of the run sees it.
struct Stopped {};
#endif

}  // namespace bicliq
