// NumPy arrays by NumPy's C interface, which is quick where the buffer protocol is not.
#pragma once

#include <nanobind/nanobind.h>

// One table of NumPy's functions for all sources; python_arrays.cpp fills it.
#define PY_ARRAY_UNIQUE_SYMBOL poolgrad_numpy
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#ifndef POOLGRAD_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstdint>

#include "problem.h"

namespace poolgrad {

// Once, before anything else here; raises what the import raises.
void import_numpy();

// Bytes that the arrays of a problem have.
struct ArrayBytes {
  std::int64_t input;
  std::int64_t reference;
  std::int64_t index;
  std::int64_t data;
  std::int64_t out;
};
ArrayBytes bytes_of(const Problem& problem);

// Exactly an ndarray, or null.
inline PyArrayObject* plain_array(PyObject* object) {
  return PyArray_CheckExact(object) ? reinterpret_cast<PyArrayObject*>(object) : nullptr;
}

inline bool has_flags(PyArrayObject* array, int flags) { return (PyArray_FLAGS(array) & flags) == flags; }

// A new array with nothing in it. Large ones come from the pool, placed with respect to the memory at `near`. Raises
// like numpy.empty.
nanobind::object new_result(PyArray_Descr* dtype, int rank, const npy_intp* shape, const void* near);

}  // namespace poolgrad
