// device_failure.hpp: why a run on a device stopped before its end; the host then goes on in
// another way.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Which memory did not suffice. With half of the roots a run needs less of the arena and of the
/// tasks; a larger workspace is taken instead (`Failure` of kernels/cuda/batches.py). Or the host
/// wants no more of it.
enum class Failure : u64 { kNone = 0, kArenaFull = 1, kTasksFull = 2, kWorkspaceFull = 3, kGivenUp = 4 };

}  // namespace bicliq
