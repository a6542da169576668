// bindings.cpp: the extension module of one instruction set.
#include "bindings/bindings.hpp"

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
  bicliq::bind_clique_plan(module);
}
