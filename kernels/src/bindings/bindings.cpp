// bindings.cpp: the extension module of one instruction set.
#include "bindings/bindings.hpp"
#include "lanes/errors.hpp"

#include <stdexcept>

#define BICLIQ_TEXT_OF(x) #x
#define BICLIQ_TEXT(x) BICLIQ_TEXT_OF(x)
#define BICLIQ_MODULE_OF(isa) _cpu_##isa
#define BICLIQ_MODULE(isa) BICLIQ_MODULE_OF(isa)

namespace {

/// A `CapacityError` of ours becomes Python's, and so does a vector that would be longer than there
/// are numbers. Memory that runs out is a MemoryError, a bad argument a ValueError, as nanobind has
/// it.
void translate_errors() {
  static PyObject* const capacity_error = nanobind::object(nanobind::module_::import_("bicliq.kernels.errors").attr("CapacityError")).release().ptr();
  nanobind::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const bicliq::CapacityError& e) {
      PyErr_SetString(capacity_error, e.what());
    } catch (const std::length_error&) {
      PyErr_NoMemory();
    }
  });
}

}  // namespace

NB_MODULE(BICLIQ_MODULE(BICLIQ_ISA), module) {
#ifndef _GLIBCXX_ASSERTIONS  // what another library keeps alive when Python ends is for developers to hear of
  nanobind::set_leak_warnings(false);
#endif
  translate_errors();
  module.attr("isa") = BICLIQ_TEXT(BICLIQ_ISA);
  bicliq::bind_enumeration(module);
  bicliq::bind_count(module);
  bicliq::bind_estimate(module);
  bicliq::bind_graphs(module);
  bicliq::bind_changes(module);
  bicliq::bind_finding(module);
  bicliq::bind_gaps(module);
  bicliq::bind_clique(module);
  bicliq::bind_output(module);
  bicliq::bind_rules(module);
  bicliq::bind_lattice(module);
}
