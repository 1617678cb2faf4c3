// Buffers and numbers in, status out, with the interpreter lock released in between. Sizes are compared once more here,
// so that no caller can make a kernel leave its memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "run.h"

namespace nb = nanobind;
using poolgrad::Axis;
using poolgrad::Buffers;
using poolgrad::Dtype;
using poolgrad::Family;
using poolgrad::Outcome;
using poolgrad::Problem;
using poolgrad::Selector;

namespace {

// A contiguous Python buffer, held while a kernel reads or writes it.
class Memory {
 public:
  Memory(nb::handle object, const char* name, std::int64_t bytes, bool writable) {
    if (object.is_none()) {
      return;
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
      throw nb::python_error();
    }
    held_ = true;
    if (view_.len != bytes) {
      PyBuffer_Release(&view_);
      held_ = false;
      throw std::invalid_argument(std::string(name) + " has the wrong number of bytes");
    }
  }
  ~Memory() {
    if (held_) {
      PyBuffer_Release(&view_);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Not null for an empty buffer either: null means that there is none.
  void* data() const { return held_ ? (view_.buf != nullptr ? view_.buf : const_cast<char*>("")) : nullptr; }

 private:
  Py_buffer view_ = {};
  bool held_ = false;
};

struct BoundProblem {
  Problem problem;
  std::vector<std::int64_t> tables[3];  // starts, then stops
};

void set_axis(BoundProblem& bound, int a, const std::vector<std::int64_t>& numbers,
              const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops) {
  if (a < 0 || a > 2 || numbers.size() != 6 || starts.size() != stops.size()) {
    throw std::invalid_argument("an axis takes six numbers and tables of equal length");
  }
  Axis& axis = bound.problem.axis[a];
  axis = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], nullptr, nullptr};
  if (axis.size < 0 || axis.outputs < 0 || axis.window < 1 || axis.stride < 1 || axis.dilation < 1) {
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

bool interrupted() {
  nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

using Outcomes = nb::typed<nb::tuple, int, std::int64_t>;
using Names = nb::typed<nb::list, nb::str>;

Outcomes run(const BoundProblem& bound, nb::handle input, nb::handle reference, nb::handle index, nb::handle data,
             nb::handle out, nb::handle out_index, int threads, const std::string& isa_name) {
  const Problem& p = bound.problem;
  const poolgrad::Isa* isa = poolgrad::choose_isa(isa_name.c_str());
  if (isa == nullptr) {
    throw std::invalid_argument("no such instruction set: " + isa_name);
  }
  const std::int64_t item = poolgrad::item_size(p.dtype), index_item = poolgrad::item_size(p.index_dtype);
  const bool back = p.family == Family::spread || p.family == Family::route;
  const std::int64_t inputs = p.input_count() * item, outputs = p.output_count() * item;
  const Memory input_memory(input, "input", inputs, false);
  const Memory reference_memory(reference, "reference", outputs, false);
  const Memory index_memory(index, "index", p.output_count() * index_item, false);
  const Memory data_memory(data, "data", back ? outputs : inputs, false);
  const Memory out_memory(out, "out", back ? inputs : outputs, true);
  const Memory out_index_memory(out_index, "out_index", p.output_count() * index_item, true);
  const Buffers buffers = {input_memory.data(), reference_memory.data(), index_memory.data(),
                           data_memory.data(),  out_memory.data(),       out_index_memory.data()};
  if (buffers.out == nullptr || !poolgrad::has_buffers(p, buffers)) {
    throw std::invalid_argument("an array that the family needs is missing");
  }
  poolgrad::Status status;
  {
    nb::gil_scoped_release unlock;
    status = poolgrad::run(p, buffers, *isa, threads, interrupted);
  }
  if (status.outcome == Outcome::interrupted) {
    throw nb::python_error();
  }
  return Outcomes(nb::make_tuple(int(status.outcome), status.position));
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

NB_MODULE(_core, m) {
  m.doc() = "The native kernels of poolgrad. Called by poolgrad.kernels.cpu only.";
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
            p.numbering = one_of<poolgrad::Numbering>(numbering_names, numbering);
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
      .def("run", &run, nb::arg("input").none(), nb::arg("reference").none(), nb::arg("index").none(),
           nb::arg("data").none(), nb::arg("out"), nb::arg("out_index").none(), nb::arg("threads"), nb::arg("isa"));
  m.def("isas", [] {
    int count = 0;
    const poolgrad::Isa* known = poolgrad::isas(&count);
    Names usable;
    for (int k = 0; k < count; ++k) {
      if (known[k].is_supported()) {
        usable.append(known[k].name);
      }
    }
    return usable;
  });
  m.def("dtypes", [] { return dtype_names; });
}
