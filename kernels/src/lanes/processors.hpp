// processors.hpp: new threads begin on different processors.
//
// A system may leave a thread on the processor of the one that started it for as long as 5 ms, with
// others idle: so measured, in a virtual machine, where that was the whole of an estimate. Each
// thread is moved once and may then go where it likes.
#pragma once

#include "lanes/types.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace bicliq {

class Processors {
 public:
#ifdef __linux__
  /// Those that the calling thread may use, from the one that it is on.
  Processors() : here_(sched_getcpu()), known_(here_ >= 0 && sched_getaffinity(0, sizeof(allowed_), &allowed_) == 0) {}

  /// Moves the calling thread so many processors on.
  void move_on(u32 places) const {
    if (!known_) return;
    int at = here_;
    for (places %= static_cast<u32>(CPU_COUNT(&allowed_)); places > 0;) {
      at = (at + 1) % CPU_SETSIZE;
      if (CPU_ISSET(at, &allowed_)) --places;
    }
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(at, &there);
    sched_setaffinity(0, sizeof(there), &there);
    sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }

 private:
  int here_;
  cpu_set_t allowed_;
  bool known_;
#else
  void move_on(u32) const {}
#endif
};

}  // namespace bicliq
