// features.hpp: which of the instruction sets that kernels are built for this processor has.
#pragma once

#include <vector>

namespace bicliq {

/// The best first; the last is code for any processor.
inline std::vector<const char*> instruction_sets() {
  std::vector<const char*> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("avx512vbmi2"))
    found.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) found.push_back("avx2");
#endif
  found.push_back("portable");
  return found;
}

}  // namespace bicliq
