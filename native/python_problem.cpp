#include "python_problem.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "python_arrays.h"
#include "run.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

// Less work than this is done before others would notice that the interpreter is locked.
constexpr double most_locked_work = 1 << 15;

bool never() { return false; }

// Asks Python whether a signal has come; takes the interpreter lock for it.
bool is_interrupted() {
  const nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

// The memory of an array that a kernel reads or writes; null for None.
void* memory_of(nb::handle object, const char* name, std::int64_t bytes, int flags) {
  if (object.is_none()) {
    return nullptr;
  }
  PyArrayObject* array = plain_array(object.ptr());
  if (array == nullptr || !has_flags(array, flags)) {
    throw std::invalid_argument(std::string(name) + " must be a plain array in C order");
  }
  if (PyArray_NBYTES(array) != bytes) {
    throw std::invalid_argument(std::string(name) + " has the wrong number of bytes");
  }
  return PyArray_DATA(array);
}

void set_axis(BoundProblem& bound, int a, const std::vector<std::int64_t>& numbers,
              const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops) {
  if (a < 0 || a > 2 || numbers.size() != 8 || starts.size() != stops.size()) {
    throw std::invalid_argument("an axis takes eight numbers and tables of equal length");
  }
  Axis& axis = bound.problem.axis[a];
  axis = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
          numbers[5], nullptr,    nullptr,    numbers[6], numbers[7]};
  if (axis.size < 0 || axis.outputs < 0 || axis.window < 1 || axis.stride < 1 || axis.dilation < 1 ||
      axis.divisor < 0 || (axis.counted >= 0 && !starts.empty())) {
    throw std::invalid_argument("an axis has numbers out of range");
  }
  if (starts.empty()) {
    return;
  }
  if (std::int64_t(starts.size()) != axis.outputs) {
    throw std::invalid_argument("the tables of an axis need one entry an output");
  }
  for (std::size_t o = 0; o < starts.size(); ++o) {
    const bool ascends = o == 0 || (starts[o] >= starts[o - 1] && stops[o] >= stops[o - 1]);
    if (starts[o] < 0 || stops[o] <= starts[o] || stops[o] > axis.size || !ascends) {
      throw std::invalid_argument("the tables of an axis must ascend within it");
    }
  }
  std::vector<std::int64_t>& table = bound.tables[a];
  table = starts;
  table.insert(table.end(), stops.begin(), stops.end());
  axis.starts = table.data();
  axis.stops = table.data() + axis.outputs;
}

[[noreturn]] void raise(PyObject* kind, const char* text) {
  PyErr_SetString(kind, text);
  throw nb::python_error();
}

using Position = std::optional<std::int64_t>;

Position run_problem(const BoundProblem& bound, nb::handle input, nb::handle reference, nb::handle index,
                     nb::handle data, nb::handle out, nb::handle out_index, int threads, const char* isa_name) {
  const Problem& p = bound.problem;
  const ArrayBytes bytes = bytes_of(p);
  return run_on(
      p, isa_called(isa_name),
      {memory_of(input, "input", bytes.input, NPY_ARRAY_CARRAY_RO),
       memory_of(reference, "reference", bytes.reference, NPY_ARRAY_CARRAY_RO),
       memory_of(index, "index", bytes.index, NPY_ARRAY_CARRAY_RO),
       memory_of(data, "data", bytes.data, NPY_ARRAY_CARRAY_RO), memory_of(out, "out", bytes.out, NPY_ARRAY_CARRAY),
       memory_of(out_index, "out_index", bytes.index, NPY_ARRAY_CARRAY)},
      threads);
}

// The same on memory by address, of which 0 is none: for arrays that are not NumPy's. Only the caller can know that
// each has as many elements as the problem says.
Position run_at(const BoundProblem& bound, std::uintptr_t input, std::uintptr_t reference, std::uintptr_t index,
                std::uintptr_t data, std::uintptr_t out, std::uintptr_t out_index, int threads, const char* isa_name) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  return run_on(bound.problem, isa_called(isa_name),
                {at(input), at(reference), at(index), at(data), at(out), at(out_index)}, threads);
}

// Does an index of positions name some cell of a plane more than once? Those beyond the plane are not looked at.
bool meets(const BoundProblem& bound, std::uintptr_t address) {
  const Problem& p = bound.problem;
  const std::int64_t cells = p.axis[2].size, outputs = p.axis[2].outputs;
  if (p.selector != Selector::given || p.index_dtype != Dtype::int64 || (address == 0 && p.output_count() > 0)) {
    throw std::invalid_argument("only 64-bit positions can meet");
  }
  std::optional<nb::gil_scoped_release> unlock;
  if (!has_little_work(p)) {
    unlock.emplace();
  }
  const std::int64_t* index = reinterpret_cast<const std::int64_t*>(address);
  std::vector<bool> is_taken;
  for (std::int64_t plane = 0; plane < p.outer; ++plane) {
    is_taken.assign(std::size_t(cells * p.inner), false);
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t k = 0; k < p.inner; ++k, ++index) {
        if (*index < 0 || *index >= cells) {
          continue;
        }
        const std::size_t place = std::size_t(*index * p.inner + k);
        if (is_taken[place]) {
          return true;
        }
        is_taken[place] = true;
      }
    }
  }
  return false;
}

template <class Enum>
Enum one_of(const std::vector<std::string>& names, const std::string& name) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == name) {
      return Enum(k);
    }
  }
  throw std::invalid_argument("unknown name: " + name);
}

const std::vector<std::string> family_names = {"mean", "spread", "maximum", "pick", "route"};
const std::vector<std::string> selector_names = {"none",      "floor",    "first_max", "first_nan", "first_equal",
                                                 "all_equal", "all_near", "offset",    "given"};
const std::vector<std::string> numbering_names = {"ordinal", "offset", "position"};
const std::vector<std::string> dtype_names = {
#define POOLGRAD_DTYPE_STRING(name, type) #name,
    POOLGRAD_DTYPES(POOLGRAD_DTYPE_STRING)
#undef POOLGRAD_DTYPE_STRING
};

}  // namespace

bool has_little_work(const Problem& p) {
  double cells = 1;
  for (const Axis& axis : p.axis) {
    cells *= double(std::min(axis.window, axis.size));
  }
  return double(p.input_count()) + double(p.output_count()) * cells <= most_locked_work;
}

Status run_for_python(const Problem& p, const Isa& isa, const Buffers& buffers, int threads, bool is_small) {
  if (is_small) {
    return run(p, buffers, isa, threads, never);
  }
  const nb::gil_scoped_release unlock;
  return run(p, buffers, isa, threads, is_interrupted);
}

const Isa& isa_called(const char* name) {
  const Isa* isa = choose_isa(name);
  if (isa == nullptr) {
    throw std::invalid_argument(std::string("no such instruction set: ") + name);
  }
  return *isa;
}

Position run_on(const Problem& p, const Isa& isa, const Buffers& buffers, int threads) {
  if (buffers.out == nullptr || !has_buffers(p, buffers)) {
    throw std::invalid_argument("an array that the family needs is missing");
  }
  const Status status = run_for_python(p, isa, buffers, threads, has_little_work(p));
  switch (status.outcome) {
    case Outcome::interrupted:
      throw nb::python_error();
    case Outcome::no_memory:
      raise(PyExc_MemoryError, "no memory for the rows that a thread works on");
    case Outcome::unsupported:
      raise(PyExc_AssertionError, "no kernel for this plan");
    default:
      return status.outcome == Outcome::bad_data ? Position(status.position) : std::nullopt;
  }
}

void bind_problem(nb::module_& m) {
  nb::class_<BoundProblem>(m, "Problem")
      .def(
          "__init__",
          [](BoundProblem* self, const std::string& family, const std::string& selector, const std::string& numbering,
             const std::string& dtype, const std::string& index_dtype, std::int64_t outer, std::int64_t inner,
             const std::vector<std::int64_t>& index, double common_count, bool last_axis_slowest, bool infinite_floor,
             bool verify) {
            if (index.size() != 4 || outer < 0 || inner < 0) {
              throw std::invalid_argument("numbers of a problem out of range");
            }
            new (self) BoundProblem();
            Problem& p = self->problem;
            p.family = one_of<Family>(family_names, family);
            p.selector = one_of<Selector>(selector_names, selector);
            p.numbering = one_of<Numbering>(numbering_names, numbering);
            p.dtype = one_of<Dtype>(dtype_names, dtype);
            p.index_dtype = one_of<Dtype>(dtype_names, index_dtype);
            p.outer = outer;
            p.inner = inner;
            p.index = {index[0], index[1], index[2], index[3]};
            p.common_count = common_count;
            p.last_axis_slowest = last_axis_slowest;
            p.infinite_floor = infinite_floor;
            p.verify = verify;
          },
          nb::kw_only(), nb::arg("family"), nb::arg("selector"), nb::arg("numbering"), nb::arg("dtype"),
          nb::arg("index_dtype"), nb::arg("outer"), nb::arg("inner"), nb::arg("index"), nb::arg("common_count"),
          nb::arg("last_axis_slowest"), nb::arg("infinite_floor"), nb::arg("verify"))
      .def("set_axis", &set_axis, nb::arg("axis"), nb::arg("numbers"), nb::arg("starts"), nb::arg("stops"))
      .def("run", &run_problem, nb::arg("input").none(), nb::arg("reference").none(), nb::arg("index").none(),
           nb::arg("data").none(), nb::arg("out"), nb::arg("out_index").none(), nb::arg("threads"), nb::arg("isa"))
      .def("run_at", &run_at, nb::arg("input"), nb::arg("reference"), nb::arg("index"), nb::arg("data"), nb::arg("out"),
           nb::arg("out_index"), nb::arg("threads"), nb::arg("isa"))
      .def("meets", &meets, nb::arg("index"));
  m.def("dtypes", [] { return dtype_names; });
}

}  // namespace poolgrad
