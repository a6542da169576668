// stack.hpp: how much of a thread's stack is left, for searches that go as deep as their input
// asks.
#pragma once

#include "lanes/types.hpp"

#ifdef __linux__
#include <pthread.h>
#endif

namespace bicliq {

#ifdef __linux__
/// Where the calling thread's stack ends, with room for what a level of a search may take.
inline const char* lowest_frame() {
  constexpr usize kRoom = usize{1} << 17;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* lowest = nullptr;
  usize bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<const char*>(lowest) + (bytes > 2 * kRoom ? kRoom : bytes / 2);
}
inline bool stack_is_low() {
  static thread_local const char* const lowest = lowest_frame();
  return static_cast<const char*>(__builtin_frame_address(0)) < lowest;
}
#else
inline bool stack_is_low() { return false; }
#endif

}  // namespace bicliq
