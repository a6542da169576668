// features.cpp: the instruction sets of this processor for Python. Compiled for any processor, and
// without nanobind: it is loaded before the kernels, to choose among them.
#include "lanes/features.hpp"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* instruction_sets(PyObject*, PyObject*) {
  const std::vector<const char*> found = bicliq::instruction_sets();
  PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(found.size()));
  for (std::size_t i = 0; names && i < found.size(); ++i) {
    PyObject* name = PyUnicode_FromString(found[i]);
    if (!name) Py_CLEAR(names);
    else PyTuple_SetItem(names, static_cast<Py_ssize_t>(i), name);
  }
  return names;
}

static PyMethodDef functions[] = {{"instruction_sets", instruction_sets, METH_NOARGS, "Those that this processor has, the best first."},
                                  {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cpu_features", nullptr, 0, functions, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__cpu_features() { return PyModule_Create(&definition); }
