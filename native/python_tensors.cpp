#include "python_tensors.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "python_calls.h"
#include "python_functions.h"
#include "python_keys.h"
#include "python_problem.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

constexpr int most_rank = 8;

// DLPack 1: dlpack.h has the names.
struct View {
  void* data;
  std::int32_t device, device_number;
  std::int32_t rank;
  std::uint8_t kind, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};

struct Exchange {
  std::uint32_t major, minor;
  Exchange* previous;
  void *allocate, *give, *take;
  int (*view)(void* object, View* view);
  void* current_stream;
};

constexpr std::int32_t host = 1;

// The result of a Python call; raises what it raised.
nb::object checked(PyObject* result) {
  if (result == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(result);
}

nb::object called(const nb::object& function) {
  return checked(PyObject_Vectorcall(function.ptr(), nullptr, 0, nullptr));
}

// An attribute that is True or not.
bool has(PyObject* object, PyObject* attribute) {
  return checked(PyObject_GetAttr(object, attribute)).ptr() == Py_True;
}

// Shape, strides and dtype of tensors.
class Layout {
 public:
  explicit Layout(const View& view) : rank_(view.rank), kind_(view.kind), bits_(view.bits) {
    if (rank_ > most_rank) {
      throw std::invalid_argument("a tensor with too many axes");
    }
    std::copy_n(view.shape, rank_, shape_);
    std::copy_n(view.strides, rank_, strides_);
  }

  // Strides along axes of one cell say nothing.
  bool fits(const View& view) const {
    if (view.rank != rank_ || view.kind != kind_ || view.bits != bits_) {
      return false;
    }
    for (int k = 0; k < rank_; ++k) {
      if (view.shape[k] != shape_[k] || (view.strides[k] != strides_[k] && shape_[k] != 1)) {
        return false;
      }
    }
    return true;
  }

 private:
  int rank_;
  std::uint8_t kind_, bits_;
  std::int64_t shape_[most_rank], strides_[most_rank];
};

// What is known of PyTorch, and calls that were made of it before.
class Tensors {
 public:
  // `types` are those of plain tensors, `size` that of their shapes. Functions tell the number of threads, the name of
  // the instruction set, each of `watchers` whether calls have to be seen by somebody else, and each of `states`
  // something that a call depends on and no argument says.
  Tensors(nb::handle exchange, std::vector<nb::object> types, nb::object size, nb::object empty_like,
          nb::object threads, nb::object isa, std::vector<nb::object> watchers, std::vector<nb::object> states)
      : exchange_(static_cast<Exchange*>(PyCapsule_GetPointer(exchange.ptr(), "dlpack_exchange_api"))),
        types_(std::move(types)),
        size_(std::move(size)),
        empty_like_(std::move(empty_like)),
        threads_(std::move(threads)),
        isa_name_(std::move(isa)),
        watchers_(std::move(watchers)),
        states_(std::move(states)) {
    if (exchange_ == nullptr) {
      throw nb::python_error();
    }
    if (exchange_->major != 1) {
      throw std::invalid_argument("another DLPack than version 1");
    }
  }

  // How a tensor lies; no for whatever else it is, or if it is none that has memory.
  bool look(PyObject* tensor, View* view) const {
    if (type_number(tensor) < 0) {
      return false;
    }
    if (exchange_->view(tensor, view) != 0) {
      PyErr_Clear();
      return false;
    }
    return view->rank <= most_rank;
  }

  nb::object empty_like(nb::handle tensor) const {
    PyObject* const values[] = {tensor.ptr()};
    return checked(PyObject_Vectorcall(empty_like_.ptr(), values, 1, nullptr));
  }

  int threads() { return last_threads_ = nb::cast<int>(threads_()); }

  const Isa& isa() {
    const std::uint64_t now = generation_of_calls();
    if (now != generation_) {
      isa_ = &isa_called(nb::cast<const char*>(isa_name_()));
      generation_ = now;
    }
    return *isa_;
  }

  bool is_watched() const {
    return std::any_of(watchers_.begin(), watchers_.end(),
                       [](const nb::object& watcher) { return PyObject_IsTrue(called(watcher).ptr()) != 0; });
  }

  // What was kept for a call, or None. `data` is a tensor, `option` may be one.
  nb::object find(nb::handle name, nb::handle data, nb::handle arguments, nb::handle option) {
    Key key;
    if (!make_key(name, data, arguments, option, &key, nullptr)) {
      return nb::none();
    }
    std::shared_ptr<const Kept> found = kept_.find(key);
    if (found == nullptr) {
      return nb::none();
    }
    if (!found->is_made) {
      found = std::make_shared<Kept>(Kept{found->held, called(found->made), true});
      kept_.keep(key, found);
    }
    return found->made;
  }

  // What a function that was kept makes of the data, or None.
  nb::object repeat(nb::handle name, nb::handle data, nb::handle arguments, nb::handle option) {
    const nb::object found = find(name, data, arguments, option);
    PyObject* const values[] = {data.ptr()};
    return found.is_none() ? found : checked(PyObject_Vectorcall(found.ptr(), values, 1, nullptr));
  }

  // Keeps what `make` will make of a call when it comes again, if it can be known again.
  void keep(nb::handle name, nb::handle data, nb::handle arguments, nb::handle option, nb::object make) {
    Key key;
    Held held;
    if (make_key(name, data, arguments, option, &key, &held)) {
      kept_.keep(key, std::make_shared<Kept>(Kept{std::move(held), std::move(make), false}));
    }
  }

 private:
  struct Kept {
    Held held;        // whose addresses are in the key
    nb::object made;  // or what makes it
    bool is_made;
  };

  int type_number(PyObject* object) const {
    for (std::size_t k = 0; k < types_.size(); ++k) {
      if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == types_[k].ptr()) {
        return int(k);
      }
    }
    return -1;
  }

  bool make_key(nb::handle name, nb::handle data, nb::handle arguments, nb::handle option, Key* key, Held* held) const {
    if (is_watched()) {
      return false;
    }
    // The data come first: if they are large, a worker wakes while the rest is looked at.
    if (!write_tensor(data.ptr(), key, last_threads_)) {
      return false;
    }
    for (const nb::object& state : states_) {
      if (!key->write(called(state).ptr(), false, held)) {
        return false;
      }
    }
    const bool is_tensor = type_number(option.ptr()) >= 0;
    return key->write(name.ptr(), false, held) &&
           (is_tensor ? write_tensor(option.ptr(), key, 1) : key->write(option.ptr(), false, held)) &&
           write_arguments(arguments.ptr(), key, held);
  }

  // Whatever tells a tensor from others but its contents. Those of other devices, or without memory, are not known.
  bool write_tensor(PyObject* tensor, Key* key, int threads) const {
    static PyObject* const is_cpu = PyUnicode_InternFromString("is_cpu");
    static PyObject* const is_cuda = PyUnicode_InternFromString("is_cuda");
    static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
    static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
    View view;
    // An error of PyTorch's takes a millisecond.
    if (type_number(tensor) < 0 || !(has(tensor, is_cpu) || has(tensor, is_cuda)) || !look(tensor, &view)) {
      return false;
    }
    if (view.device == host) {
      expect_run(std::accumulate(view.shape, view.shape + view.rank, 1.0, std::multiplies<double>()), threads);
    }
    const bool is_empty = std::find(view.shape, view.shape + view.rank, 0) != view.shape + view.rank;
    if (view.data == nullptr && !is_empty) {
      return false;
    }
    const nb::object is_negated = checked(PyObject_VectorcallMethod(is_neg, &tensor, 1, nullptr));
    const std::uint64_t flags = std::uint64_t(has(tensor, requires_grad)) |
                                std::uint64_t(is_negated.ptr() == Py_True) << 1 |
                                std::uint64_t(type_number(tensor)) << 2;
    const std::uint64_t memory = std::uint64_t(view.device) << 32 | std::uint32_t(view.device_number);
    const std::uint64_t numbers = std::uint64_t(view.rank) << 24 | std::uint64_t(view.kind) << 16 | view.bits;
    // No tag of other arguments is as large as this word's first byte.
    return key->add(0xFF | flags << 8 | numbers << 16) && key->add(memory) &&
           key->add_bytes(view.shape, std::size_t(view.rank) * sizeof(std::int64_t)) &&
           key->add_bytes(view.strides, std::size_t(view.rank) * sizeof(std::int64_t));
  }

  // Shapes count as the tuples they are.
  bool write_arguments(PyObject* arguments, Key* key, Held* held) const {
    const Py_ssize_t count = PyTuple_Size(arguments);
    if (count < 0) {
      throw nb::python_error();
    }
    for (Py_ssize_t k = 0; k < count; ++k) {
      PyObject* const item = PyTuple_GetItem(arguments, k);
      const bool is_size = reinterpret_cast<PyObject*>(Py_TYPE(item)) == size_.ptr();
      const nb::object written = is_size ? checked(PyTuple_GetSlice(item, 0, PyTuple_Size(item))) : nb::borrow(item);
      if (!key->write(written.ptr(), false, held)) {
        return false;
      }
    }
    return true;
  }

  const Exchange* exchange_;
  std::vector<nb::object> types_;
  nb::object size_, empty_like_, threads_, isa_name_;
  std::vector<nb::object> watchers_, states_;
  std::atomic<const Isa*> isa_{nullptr};
  std::atomic<std::uint64_t> generation_{~std::uint64_t(0)};
  std::atomic<int> last_threads_{1};
  KeptByKey<Kept> kept_;
};

// A problem on tensors of the host: each is looked at, results are made and filled, all in one call.
class OnTensors final : public Answers {
 public:
  // `likes` lie as the tensors do: data, input, reference and index, out and its index, or None.
  OnTensors(const nb::object& tensors, const nb::object& problem, const std::vector<nb::object>& likes)
      : held_{tensors, problem},
        tensors_(nb::cast<Tensors&>(tensors)),
        problem_(nb::cast<const BoundProblem&>(problem).problem),
        is_small_(has_little_work(problem_)) {
    if (likes.size() != 6) {
      throw std::invalid_argument("a kernel has six tensors");
    }
    for (int role = 0; role < 4; ++role) {
      if (!likes[std::size_t(role)].is_none()) {
        layouts_[role] = std::make_unique<Layout>(seen(likes[std::size_t(role)]));
      }
    }
    out_like_ = likes[4];
    index_like_ = likes[5];
  }

  // Nothing where the ordinary call has to copy a tensor, or say what is wrong.
  nb::object answer(const Given& given) override {
    void* found[4] = {};
    if (given.names != nullptr || given.positional > 4) {
      return {};
    }
    for (Py_ssize_t role = 0; role < given.positional; ++role) {
      View view;
      if (given.values[role] == Py_None) {
        continue;
      }
      if (layouts_[role] == nullptr || !tensors_.look(given.values[role], &view) || view.device != host ||
          view.data == nullptr || !layouts_[role]->fits(view)) {
        return {};
      }
      found[role] = view.data;
    }
    const bool is_forward = problem_.family == Family::mean || problem_.family == Family::maximum;
    Buffers buffers;
    buffers.input = found[is_forward ? 0 : 1];
    buffers.reference = found[2];
    buffers.index = found[3];
    buffers.data = is_forward ? nullptr : found[0];
    if (!has_buffers(problem_, buffers)) {
      return {};
    }
    const int threads = is_small_ ? 1 : tensors_.threads();
    expect_run(work_of(problem_), threads);
    const nb::object out = tensors_.empty_like(out_like_);
    buffers.out = seen(out).data;
    if (index_like_.is_none()) {
      return fill(buffers, threads) ? out : nb::object();
    }
    const nb::object index = tensors_.empty_like(index_like_);
    buffers.out_index = seen(index).data;
    return fill(buffers, threads) ? nb::make_tuple(out, index) : nb::object();
  }

 private:
  View seen(nb::handle tensor) const {
    View view;
    if (!tensors_.look(tensor.ptr(), &view)) {
      throw std::invalid_argument("not a tensor");
    }
    return view;
  }

  bool fill(const Buffers& buffers, int threads) { return !run_on(problem_, tensors_.isa(), buffers, threads); }

  Held held_;
  Tensors& tensors_;
  const Problem& problem_;
  bool is_small_;
  nb::object out_like_, index_like_;
  std::unique_ptr<Layout> layouts_[4];
};

}  // namespace

void bind_tensors(nb::module_& m) {
  nb::class_<Tensors>(m, "Tensors")
      .def(nb::init<nb::handle, std::vector<nb::object>, nb::object, nb::object, nb::object, nb::object,
                    std::vector<nb::object>, std::vector<nb::object>>(),
           nb::arg("exchange"), nb::arg("types"), nb::arg("size"), nb::arg("empty_like"), nb::arg("threads"),
           nb::arg("isa"), nb::arg("watchers"), nb::arg("states"))
      .def("is_watched", &Tensors::is_watched)
      .def("find", &Tensors::find, nb::arg("name"), nb::arg("data").none(), nb::arg("arguments"),
           nb::arg("option").none())
      .def("repeat", &Tensors::repeat, nb::arg("name"), nb::arg("data").none(), nb::arg("arguments"),
           nb::arg("option").none())
      .def("keep", &Tensors::keep, nb::arg("name"), nb::arg("data").none(), nb::arg("arguments"),
           nb::arg("option").none(), nb::arg("make"));
  nb::class_<OnTensors>(m, "OnTensors")
      .def(nb::init<const nb::object&, const nb::object&, const std::vector<nb::object>&>(), nb::arg("tensors"),
           nb::arg("problem"), nb::arg("likes"))
      .def(
          "function",
          [](nb::handle self, nb::handle ordinary) {
            return new_function(self, nb::inst_ptr<OnTensors>(self), ordinary);
          },
          nb::arg("ordinary"));
}

}  // namespace poolgrad
