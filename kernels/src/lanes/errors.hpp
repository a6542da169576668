// errors.hpp: what ends a kernel before its end.
#pragma once

#include <stdexcept>

namespace bicliq {

/// Raised where a request needs more than there is: threads, memory, or room in a number. Python
/// gets its own `CapacityError`.
struct CapacityError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends what a stopped run was doing; nobody outside of the run sees it.
struct Stopped {};

}  // namespace bicliq
