#include "python_calls.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python_arrays.h"
#include "python_functions.h"
#include "python_keys.h"
#include "python_problem.h"
#include "run.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

constexpr int most_rank = 8;

using Roles = nb::typed<nb::dict, nb::str, nb::object>;

enum Role { input_role, reference_role, index_role, data_role, role_count };

std::atomic<std::uint64_t> generation{0};
std::atomic<bool> is_remembering{true};

// What a call came to. Windows in tables are not among it: they are drawn anew with almost every call.
struct Made {
  Held held;  // whose addresses are in the key
  Problem problem;
  const Isa* isa = nullptr;
  int parameter[role_count] = {-1, -1, -1, -1};  // where the array of each role is found
  int out_parameter = -1;                        // where the arrays to fill are found, if they were given
  bool is_small = false;
  int rank = 0;
  std::array<npy_intp, most_rank> shape = {};
  nb::object dtype, index_dtype, wrapper;  // null without an index: the last two
};

// How the ordinary path made a result.
struct Report {
  const BoundProblem& bound;
  const std::string& isa;
  const Roles& names;   // of the parameters, by role
  const Roles& arrays;  // by role
  PyObject* values;
  PyObject* index;
  PyObject* wrapper;
};

PyArray_Descr* descr_of(const nb::object& dtype) { return reinterpret_cast<PyArray_Descr*>(dtype.ptr()); }

bool is_native(PyArrayObject* array) { return PyArray_ISNBO(PyArray_DESCR(array)->byteorder); }

// Finds the array of each role among the arguments; no if one was not used as it came.
bool take_roles(Made* made, const Parameters& parameters, const Slots& slots, const Report& report) {
  static const char* const names[role_count] = {"input", "reference", "index", "data"};
  const ArrayBytes bytes = bytes_of(made->problem);
  const std::int64_t wanted[role_count] = {bytes.input, bytes.reference, bytes.index, bytes.data};
  const void* there[role_count] = {};
  for (int role = 0; role < role_count; ++role) {
    const nb::object used = report.arrays.attr("get")(names[role]);
    if (used.is_none()) {
      continue;
    }
    const nb::object name = report.names[names[role]];
    const int parameter = parameters.find(name.ptr(), 0);
    PyArrayObject* array = plain_array(used.ptr());
    if (array == nullptr || parameter < 0 || slots[std::size_t(parameter)] != used.ptr() || !is_native(array) ||
        PyArray_NBYTES(array) != wanted[role]) {
      return false;
    }
    made->parameter[role] = parameter;
    there[role] = PyArray_DATA(array);
  }
  return has_buffers(made->problem, {there[input_role], there[reference_role], there[index_role], there[data_role]});
}

bool take_result(Made* made, const Report& report) {
  PyArrayObject* values = plain_array(report.values);
  const ArrayBytes bytes = bytes_of(made->problem);
  if (values == nullptr || PyArray_NDIM(values) > most_rank || PyArray_NBYTES(values) != bytes.out) {
    return false;
  }
  made->rank = PyArray_NDIM(values);
  std::copy_n(PyArray_DIMS(values), made->rank, made->shape.begin());
  made->dtype = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(values)));
  if (report.index == Py_None) {
    return true;
  }
  PyArrayObject* index = plain_array(report.index);
  if (index == nullptr || !PyArray_SAMESHAPE(index, values) || PyArray_NBYTES(index) != bytes.index) {
    return false;
  }
  made->index_dtype = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(index)));
  made->wrapper = nb::borrow(report.wrapper);
  return true;
}

// The arrays to fill: one, or a pair.
using Outs = std::array<PyArrayObject*, 2>;

Outs outs_of(PyObject* out) {
  if (!PyTuple_CheckExact(out)) {
    return {reinterpret_cast<PyArrayObject*>(out), nullptr};
  }
  return {reinterpret_cast<PyArrayObject*>(PyTuple_GetItem(out, 0)),
          reinterpret_cast<PyArrayObject*>(PyTuple_GetItem(out, 1))};
}

// Notes whether the result was given to be filled; no if something else came of what was given.
bool take_out(Made* made, const Parameters& parameters, const Slots& slots, const Report& report) {
  const int parameter = parameters.find(nb::str("out").ptr(), 0);
  PyObject* out = parameter < 0 ? nullptr : slots[std::size_t(parameter)];
  if (out == nullptr || out == Py_None) {
    return true;
  }
  made->out_parameter = parameter;
  if (report.index == Py_None) {
    return out == report.values;
  }
  return PyTuple_CheckExact(out) && PyTuple_Size(out) == 2 && PyTuple_GetItem(out, 0) == report.values &&
         PyTuple_GetItem(out, 1) == report.index;
}

// Of arrays in C order.
bool share_memory(PyArrayObject* one, PyArrayObject* other) {
  const auto first = reinterpret_cast<std::uintptr_t>(PyArray_DATA(one));
  const auto second = reinterpret_cast<std::uintptr_t>(PyArray_DATA(other));
  return first < second ? second - first < std::uintptr_t(PyArray_NBYTES(one))
                        : first - second < std::uintptr_t(PyArray_NBYTES(other));
}

// May these be written, once the arrays of all roles are known? Shape, dtype and order are in the key.
bool can_fill(const Made& made, const Slots& slots, const Outs& outs) {
  for (PyArrayObject* out : outs) {
    if (out == nullptr) {
      continue;
    }
    if (!PyArray_ISWRITEABLE(out)) {
      return false;
    }
    for (const int parameter : made.parameter) {
      if (parameter >= 0 && share_memory(out, reinterpret_cast<PyArrayObject*>(slots[std::size_t(parameter)]))) {
        return false;
      }
    }
  }
  return outs[1] == nullptr || !share_memory(outs[0], outs[1]);
}

// The calls of one function.
class Calls final : public Answers {
 public:
  Calls(const std::vector<nb::str>& names, std::vector<bool> are_data, int positional, nb::object state,
        nb::object threads)
      : parameters_(names, std::move(are_data), positional), state_(std::move(state)), threads_(std::move(threads)) {}

  // The result of a call that was made before.
  nb::object answer(const Given& given) override {
    Slots slots;
    Key key;
    if (!is_remembering || !parameters_.place(given, &slots) || !make_key(slots, &key, nullptr)) {
      return {};
    }
    const std::shared_ptr<const Made> made = kept_.find(key);
    return made == nullptr ? nb::object() : repeat(*made, slots);
  }

  // What tells this call from others, or None where it cannot be remembered.
  nb::object key(const Arguments& args, const Keywords& kwargs) {
    Slots slots;
    Key key;
    if (!is_remembering || !parameters_.place(args, kwargs, &slots) || !make_key(slots, &key, nullptr)) {
      return nb::none();
    }
    return nb::bytes(key.words(), key.count() * sizeof(std::uint64_t));
  }

  // Remembers a call, unless its arguments have changed since its key was made.
  bool keep(const Arguments& args, const Keywords& kwargs, const nb::bytes& before, const Report& report) {
    Slots slots;
    Key key;
    const auto made = std::make_shared<Made>();
    const bool is_same = parameters_.place(args, kwargs, &slots) && make_key(slots, &key, &made->held) &&
                         key.count() * sizeof(std::uint64_t) == before.size() &&
                         std::memcmp(key.words(), before.c_str(), before.size()) == 0;
    made->problem = report.bound.problem;
    made->isa = choose_isa(report.isa.c_str());
    made->is_small = has_little_work(made->problem);
    const auto has_table = [](const Axis& axis) { return axis.starts != nullptr; };
    if (!is_same || made->isa == nullptr || std::any_of(made->problem.axis, made->problem.axis + 3, has_table) ||
        !take_roles(made.get(), parameters_, slots, report) || !take_result(made.get(), report) ||
        !take_out(made.get(), parameters_, slots, report)) {
      return false;
    }
    kept_.keep(key, made);
    return true;
  }

  std::size_t size() { return kept_.size(); }

  void clear() { kept_.clear(); }

  std::uint64_t hits() const { return hits_; }

  // Python looks for circles: the type of a result leads to its module, and so to the function that keeps it here.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(state_.ptr());
    Py_VISIT(threads_.ptr());
    return kept_.visit([visit, arg](const Made& made) {
      for (const nb::object& object : made.held) {
        Py_VISIT(object.ptr());
      }
      Py_VISIT(made.wrapper.ptr());
      return 0;
    });
  }

  void let_go() {
    clear();
    state_.reset();
    threads_.reset();
  }

 private:
  bool make_key(const Slots& slots, Key* key, Held* held) {
    if (!key->add(generation)) {
      return false;
    }
    if (state_.is_valid() && !state_.is_none()) {
      const nb::object state = state_();
      if (!key->write(state.ptr(), false, held)) {
        return false;
      }
    }
    return parameters_.write(slots, key, held);
  }

  // Nothing where the ordinary path has to say what is wrong.
  nb::object repeat(const Made& made, const Slots& slots) {
    Buffers buffers;
    const void** const places[role_count] = {&buffers.input, &buffers.reference, &buffers.index, &buffers.data};
    for (int role = 0; role < role_count; ++role) {
      if (made.parameter[role] >= 0) {
        PyObject* array = slots[std::size_t(made.parameter[role])];
        *places[role] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
      }
    }
    nb::object values, index;
    int threads = 1;
    try {
      if (!take_results(made, slots, buffers, &values, &index)) {
        return {};
      }
      threads = made.is_small ? 1 : nb::cast<int>(threads_());
    } catch (const nb::python_error&) {
      return {};
    }
    buffers.out = PyArray_DATA(reinterpret_cast<PyArrayObject*>(values.ptr()));
    if (index.is_valid()) {
      buffers.out_index = PyArray_DATA(reinterpret_cast<PyArrayObject*>(index.ptr()));
    }
    if (!finish(made, buffers, threads)) {
      return {};
    }
    ++hits_;
    return index.is_valid() ? made.wrapper(values, index) : values;
  }

  // The arrays to fill: those that were given, or new ones. No if those given cannot be written.
  static bool take_results(const Made& made, const Slots& slots, const Buffers& buffers, nb::object* values,
                           nb::object* index) {
    if (made.out_parameter >= 0) {
      const Outs outs = outs_of(slots[std::size_t(made.out_parameter)]);
      *values = nb::borrow(reinterpret_cast<PyObject*>(outs[0]));
      *index = nb::borrow(reinterpret_cast<PyObject*>(outs[1]));
      return can_fill(made, slots, outs);
    }
    const void* near = buffers.input != nullptr ? buffers.input : buffers.data;
    *values = new_result(descr_of(made.dtype), made.rank, made.shape.data(), near);
    if (made.index_dtype.is_valid()) {
      *index = new_result(descr_of(made.index_dtype), made.rank, made.shape.data(), near);
    }
    return true;
  }

  static bool finish(const Made& made, const Buffers& buffers, int threads) {
    const Outcome outcome = run_for_python(made.problem, *made.isa, buffers, threads, made.is_small).outcome;
    if (outcome == Outcome::interrupted) {
      throw nb::python_error();
    }
    return outcome == Outcome::done;
  }

  Parameters parameters_;
  nb::object state_, threads_;
  KeptByKey<Made> kept_;
  std::atomic<std::uint64_t> hits_{0};
};

int traverse_calls(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Calls>(self)->traverse(visit, arg) : 0;
}

int clear_calls(PyObject* self) {
  nb::inst_ptr<Calls>(self)->let_go();
  return 0;
}

PyType_Slot calls_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_calls)},
                             {Py_tp_clear, reinterpret_cast<void*>(clear_calls)},
                             {0, nullptr}};

nb::object function_that_recalls(nb::handle self, nb::handle ordinary) {
  return new_function(self, nb::inst_ptr<Calls>(self), ordinary);
}

bool keep(Calls& calls, const Arguments& args, const Keywords& kwargs, const nb::bytes& before,
          const BoundProblem& problem, const std::string& isa, const Roles& names, const Roles& arrays,
          nb::handle values, nb::handle index, nb::handle wrapper) {
  return calls.keep(args, kwargs, before, {problem, isa, names, arrays, values.ptr(), index.ptr(), wrapper.ptr()});
}

}  // namespace

std::uint64_t generation_of_calls() { return generation; }

void bind_calls(nb::module_& m) {
  nb::class_<Calls>(m, "Calls", nb::type_slots(calls_slots))
      .def(nb::init<const std::vector<nb::str>&, std::vector<bool>, int, nb::object, nb::object>(), nb::arg("names"),
           nb::arg("are_data"), nb::arg("positional"), nb::arg("state").none(), nb::arg("threads"))
      .def("function", &function_that_recalls, nb::arg("ordinary"))
      .def("key", &Calls::key, nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def key(self, args: tuple[object, ...], kwargs: dict[str, object]) -> bytes | None"))
      .def("keep", &keep, nb::arg("args"), nb::arg("kwargs"), nb::arg("key"), nb::arg("problem"), nb::arg("isa"),
           nb::arg("names"), nb::arg("arrays"), nb::arg("values"), nb::arg("index").none(), nb::arg("wrapper").none())
      .def("clear", &Calls::clear)
      .def_prop_ro("size", &Calls::size)
      .def_prop_ro("hits", &Calls::hits);
  m.def("forget_calls", [] { ++generation; });
  m.def("remember_calls", [](bool on) { is_remembering = on; }, nb::arg("on"));
}

}  // namespace poolgrad
