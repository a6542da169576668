// bindings.cpp: the extension module of one instruction set.
#include "bindings/bindings.hpp"

#include <string_view>

#define BICLIQ_TEXT_OF(x) #x
#define BICLIQ_TEXT(x) BICLIQ_TEXT_OF(x)
#define BICLIQ_MODULE_OF(isa) _cpu_##isa
#define BICLIQ_MODULE(isa) BICLIQ_MODULE_OF(isa)

NB_MODULE(BICLIQ_MODULE(BICLIQ_ISA), module) {
#ifndef _GLIBCXX_ASSERTIONS  // what another library keeps alive when Python ends is for developers to hear of
  nanobind::set_leak_warnings(false);
#endif
  module.attr("isa") = BICLIQ_TEXT(BICLIQ_ISA);
  bicliq::bind_enumeration(module);
  bicliq::bind_count(module);
  bicliq::bind_grouping(module);
  bicliq::bind_clique(module);
  bicliq::bind_clique_device(module);
#if defined(__x86_64__)
  module.def("supports", [](const char* name) {
    const std::string_view isa = name;
    if (isa == "avx512")
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vpopcntdq");
    if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    return isa == "portable";
  });
#else
  module.def("supports", [](const char* name) { return std::string_view(name) == "portable"; });
#endif
}
