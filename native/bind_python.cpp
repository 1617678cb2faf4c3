// The module `_core`: numbers and arrays in, results and status out.
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <vector>

#include "isa.h"
#include "python_arrays.h"
#include "python_calls.h"
#include "python_functions.h"
#include "python_planes.h"
#include "python_problem.h"
#include "python_tensors.h"
#include "results.h"
#include "run.h"

namespace nb = nanobind;

namespace {

using Names = nb::typed<nb::list, nb::str>;
using Shape = nb::typed<nb::tuple, std::int64_t, nb::ellipsis>;

// What this build and this processor have, best first.
Names isas() {
  int count = 0;
  const poolgrad::Isa* known = poolgrad::isas(&count);
  Names usable;
  for (int k = 0; k < count; ++k) {
    if (known[k].is_supported()) {
      usable.append(known[k].name);
    }
  }
  return usable;
}

nb::object empty(const Shape& shape, nb::handle dtype, nb::handle near) {
  if (!PyArray_DescrCheck(dtype.ptr()) || !PyArray_Check(near.ptr())) {
    throw std::invalid_argument("a result needs a dtype and an array that it is computed from");
  }
  std::vector<npy_intp> sizes;
  for (nb::handle size : shape) {
    sizes.push_back(nb::cast<npy_intp>(size));
  }
  return poolgrad::new_result(reinterpret_cast<PyArray_Descr*>(dtype.ptr()), int(sizes.size()), sizes.data(),
                              PyArray_DATA(reinterpret_cast<PyArrayObject*>(near.ptr())));
}

// Bytes that will be computed from memory at `near`, an address.
nb::object empty_bytes(std::int64_t count, std::uintptr_t near) {
  const npy_intp size = npy_intp(count);
  PyArray_Descr* dtype = PyArray_DescrFromType(NPY_UINT8);
  const nb::object held = nb::steal(reinterpret_cast<PyObject*>(dtype));
  return poolgrad::new_result(dtype, 1, &size, reinterpret_cast<const void*>(near));
}

}  // namespace

NB_MODULE(_core, m) {
  // A library that holds our functions as its operators keeps this module until the process has ended.
  nb::set_leak_warnings(false);
  poolgrad::import_numpy();
  poolgrad::make_function_type();
  poolgrad::bind_problem(m);
  poolgrad::bind_calls(m);
  poolgrad::bind_planes(m);
  poolgrad::bind_tensors(m);
  m.def("isas", &isas);
  m.def("spoil_scratch", &poolgrad::spoil_scratch, nb::arg("on"));
  m.def("empty", &empty, nb::arg("shape"), nb::arg("dtype"), nb::arg("near"));
  m.def("empty_bytes", &empty_bytes, nb::arg("count"), nb::arg("near"));
  m.def("has_result_pool", &poolgrad::has_result_pool);
  m.def("set_result_pool", &poolgrad::set_result_pool, nb::arg("bytes"));
  m.def("idle_result_bytes", &poolgrad::idle_result_bytes);
  m.def("release_results", &poolgrad::release_results);
}
