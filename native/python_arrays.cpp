#define POOLGRAD_IMPORTS_NUMPY
#include "python_arrays.h"

#include <cstring>

#include "results.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

// What the next result on this thread will be computed from.
thread_local const void* nearby = nullptr;

void* take(void*, std::size_t bytes) { return take_result(bytes, nearby); }

void* take_zeros(void*, std::size_t count, std::size_t item) {
  void* data = item == 0 || count <= SIZE_MAX / item ? take_result(count * item, nearby) : nullptr;
  return data == nullptr ? nullptr : std::memset(data, 0, count * item);
}

void* resize(void*, void* data, std::size_t bytes) {
  return data == nullptr ? take_result(bytes, nearby) : resize_result(data, bytes);
}

void give_back(void*, void* data, std::size_t) { give_back_result(data); }

PyDataMem_Handler handler = {"poolgrad_results", 1, {nullptr, take, take_zeros, resize, give_back}};

// NumPy takes the memory of new arrays from our pool while this lives, so that they own it like any other.
class PooledMemory {
 public:
  explicit PooledMemory(const void* near) {
    static PyObject* const capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
    nearby = near;
    before_ = nb::steal(PyDataMem_SetHandler(capsule));
    if (!before_.is_valid()) {
      throw nb::python_error();
    }
  }
  ~PooledMemory() {
    Py_XDECREF(PyDataMem_SetHandler(before_.ptr()));
    PyErr_Clear();
  }
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;

 private:
  nb::object before_;
};

nb::object new_array(PyArray_Descr* dtype, int rank, const npy_intp* shape) {
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // NewFromDescr takes it
  PyObject* made =
      PyArray_NewFromDescr(&PyArray_Type, dtype, rank, const_cast<npy_intp*>(shape), nullptr, nullptr, 0, nullptr);
  if (made == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(made);
}

// Whether so many elements are worth pooling; a count that no memory holds is NumPy's to refuse.
bool is_pooled(PyArray_Descr* dtype, int rank, const npy_intp* shape) {
  double bytes = double(PyDataType_ELSIZE(dtype));
  for (int k = 0; k < rank; ++k) {
    bytes *= double(shape[k]);
  }
  return bytes >= double(least_pooled_bytes) && result_pool_bytes() > 0;
}

}  // namespace

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) {
    throw nb::python_error();
  }
}

ArrayBytes bytes_of(const Problem& p) {
  const std::int64_t item = item_size(p.dtype), inputs = p.input_count() * item, outputs = p.output_count() * item;
  const bool back = p.family == Family::spread || p.family == Family::route;
  return {inputs, outputs, p.output_count() * item_size(p.index_dtype), back ? outputs : inputs,
          back ? inputs : outputs};
}

nb::object new_result(PyArray_Descr* dtype, int rank, const npy_intp* shape, const void* near) {
  if (!is_pooled(dtype, rank, shape)) {
    return new_array(dtype, rank, shape);
  }
  const PooledMemory memory(near);
  return new_array(dtype, rank, shape);
}

}  // namespace poolgrad
