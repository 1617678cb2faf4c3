#include "python_keys.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "python_arrays.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

// What a word says of those after it. Counts stand in the bits above.
enum Tag : std::uint64_t {
  absent,
  none,
  no,
  yes,
  integer,
  long_integer,
  real,
  text,
  list,
  tuple,
  data,
  vector,
  scalar,
  address
};

constexpr std::uint64_t tagged(Tag tag, std::uint64_t count) { return tag | count << 8; }

constexpr Py_ssize_t most_items = 16;
constexpr Py_ssize_t most_letters = 64;
constexpr int most_rank = 8;

// Items of a list or tuple. A list may change at any moment where nothing locks the interpreter.
nb::object item_of(PyObject* items, Py_ssize_t k, bool is_list) {
  if (!is_list) {
    return nb::borrow(PyTuple_GetItem(items, k));
  }
#ifdef Py_GIL_DISABLED
  PyObject* item = PyList_GetItemRef(items, k);
  if (item == nullptr) {
    PyErr_Clear();
  }
  return nb::steal(item);
#else
  return nb::borrow(PyList_GetItem(items, k));
#endif
}

// The usual dtypes by number, so that equal ones are equal whoever made them; 0 for all others.
std::uint64_t number_of(PyArray_Descr* dtype) {
  const int number = dtype->type_num;
  const bool is_usual = (number > NPY_BOOL && number <= NPY_DOUBLE) || number == NPY_HALF;
  return is_usual && PyArray_ISNBO(dtype->byteorder) && PyDataType_METADATA(dtype) == nullptr ? std::uint64_t(number)
                                                                                              : 0;
}

}  // namespace

bool Key::add_bytes(const void* bytes, std::size_t count) {
  const std::size_t words = (count + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  if (count_ + words > most_words) {
    return false;
  }
  if (words > 0) {
    words_[count_ + words - 1] = 0;
    std::memcpy(words_ + count_, bytes, count);
    count_ += words;
  }
  return true;
}

bool Key::write(PyObject* value, bool is_data, Held* held) {
  if (value == nullptr || value == Py_None) {
    return add(value == nullptr ? absent : none);
  }
  if (value == Py_True || value == Py_False) {
    return add(value == Py_True ? yes : no);
  }
  PyTypeObject* type = Py_TYPE(value);
  if (type == &PyArray_Type) {
    return write_array(value, is_data, held);
  }
  if (type == &PyLong_Type) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0 && number >= 0 && number >> 56 == 0) {
      return add(tagged(integer, std::uint64_t(number)));
    }
    return overflow == 0 && add(long_integer) && add(std::uint64_t(number));
  }
  if (type == &PyUnicode_Type) {
    return write_text(value);
  }
  if (type == &PyList_Type || type == &PyTuple_Type) {
    return write_items(value, is_data, held);
  }
  if (type == &PyFloat_Type) {
    const double number = PyFloat_AsDouble(value);
    return add(real) && add_bytes(&number, sizeof number);
  }
  // Types that were made in Python may hold more than their number.
  if (PyArray_IsScalar(value, Integer) && (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) == 0) {
    return write_scalar(value);
  }
  return (PyType_Check(value) || PyArray_DescrCheck(value)) && write_address(value, held);
}

bool Key::write_scalar(PyObject* value) {
  const nb::object index = nb::steal(PyNumber_Index(value));
  int overflow = 0;
  const long long number = index.is_valid() ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (!index.is_valid()) {
    PyErr_Clear();
    return false;
  }
  return overflow == 0 && add(scalar) && add(std::uint64_t(reinterpret_cast<std::uintptr_t>(Py_TYPE(value)))) &&
         add(std::uint64_t(number));
}

bool Key::write_text(PyObject* value) {
  Py_ssize_t count = 0;
  const char* letters = PyUnicode_AsUTF8AndSize(value, &count);
  if (letters == nullptr) {
    PyErr_Clear();
    return false;
  }
  return count <= most_letters && add(tagged(text, std::size_t(count))) && add_bytes(letters, std::size_t(count));
}

bool Key::write_items(PyObject* items, bool are_data, Held* held) {
  const bool is_list = Py_TYPE(items) == &PyList_Type;
  const Py_ssize_t count = is_list ? PyList_Size(items) : PyTuple_Size(items);
  if (count > most_items || !add(tagged(is_list ? list : tuple, std::size_t(count)))) {
    return false;
  }
  for (Py_ssize_t k = 0; k < count; ++k) {
    // A list inside itself ends when the key is full.
    const nb::object item = item_of(items, k, is_list);
    if (!item.is_valid() || !write(item.ptr(), are_data, held)) {
      return false;
    }
  }
  return true;
}

bool Key::write_array(PyObject* object, bool is_data, Held* held) {
  PyArrayObject* array = reinterpret_cast<PyArrayObject*>(object);
  PyArray_Descr* dtype = PyArray_DESCR(array);
  const int rank = PyArray_NDIM(array);
  if (rank > most_rank || !has_flags(array, NPY_ARRAY_CARRAY_RO)) {
    return false;
  }
  const std::uint64_t number = number_of(dtype);
  if (!add(tagged(is_data ? data : vector, std::uint64_t(rank) | number << 8)) ||
      (number == 0 && !write_address(reinterpret_cast<PyObject*>(dtype), held))) {
    return false;
  }
  for (int k = 0; k < rank; ++k) {
    if (!add(std::uint64_t(PyArray_DIM(array, k)))) {
      return false;
    }
  }
  if (is_data) {
    return true;
  }
  const bool is_integers = dtype->type_num > NPY_BOOL && dtype->type_num <= NPY_ULONGLONG;
  return is_integers && PyArray_SIZE(array) <= most_items &&
         add_bytes(PyArray_DATA(array), std::size_t(PyArray_NBYTES(array)));
}

bool Key::write_address(PyObject* object, Held* held) {
  if (held != nullptr) {
    held->push_back(nb::borrow(object));
  }
  return add(address) && add(std::uint64_t(reinterpret_cast<std::uintptr_t>(object)));
}

std::uint64_t Key::hash() const {
  // Several at once: each step waits for the one before.
  std::uint64_t mixed[4] = {count_, 1, 2, 3};
  const auto mix = [](std::uint64_t before, std::uint64_t word) {
    const std::uint64_t after = (before ^ word) * 0x9E3779B97F4A7C15u;
    return after ^ after >> 32;
  };
  for (std::size_t k = 0; k < count_; ++k) {
    mixed[k % 4] = mix(mixed[k % 4], words_[k]);
  }
  return mix(mix(mix(mixed[0], mixed[1]), mixed[2]), mixed[3]);
}

Parameters::Parameters(const std::vector<nb::str>& names, std::vector<bool> are_data, int positional)
    : are_data_(std::move(are_data)), positional_(positional) {
  if (names.size() != are_data_.size() || names.size() > most_parameters || positional > int(names.size())) {
    throw std::invalid_argument("a function with too many parameters, or not all described");
  }
  for (const nb::str& name : names) {
    // As the names of keywords in source are, so that most are found by their address.
    PyObject* interned = nb::str(name).release().ptr();
    PyUnicode_InternInPlace(&interned);
    names_.push_back(nb::steal(interned));
  }
}

int Parameters::find(PyObject* name, int guess) const {
  const int count = int(names_.size());
  if (guess < count && names_[std::size_t(guess)].ptr() == name) {
    return guess;
  }
  for (int k = 0; k < count; ++k) {
    if (names_[std::size_t(k)].ptr() == name) {
      return k;
    }
  }
  for (int k = 0; k < count; ++k) {
    if (PyUnicode_Compare(names_[std::size_t(k)].ptr(), name) == 0) {
      return k;
    }
  }
  return -1;
}

bool Parameters::place_named(PyObject* name, PyObject* value, int* parameter, Slots* slots) const {
  *parameter = find(name, *parameter + 1);
  if (*parameter < 0 || (*slots)[std::size_t(*parameter)] != nullptr) {
    return false;
  }
  (*slots)[std::size_t(*parameter)] = value;
  return true;
}

bool Parameters::place(const Given& given, Slots* slots) const {
  slots->fill(nullptr);
  if (given.positional > positional_) {
    return false;
  }
  std::copy_n(given.values, given.positional, slots->begin());
  int parameter = int(given.positional) - 1;
  const Py_ssize_t named = given.names == nullptr ? 0 : PyTuple_Size(given.names);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* value = given.values[given.positional + k];
    if (!place_named(PyTuple_GetItem(given.names, k), value, &parameter, slots)) {
      return false;
    }
  }
  return true;
}

bool Parameters::place(const Arguments& args, const Keywords& kwargs, Slots* slots) const {
  std::array<PyObject*, most_parameters> values;
  const Py_ssize_t count = PyTuple_Size(args.ptr());
  for (Py_ssize_t k = 0; k < std::min<Py_ssize_t>(count, most_parameters); ++k) {
    values[std::size_t(k)] = PyTuple_GetItem(args.ptr(), k);
  }
  if (!place({values.data(), count, nullptr}, slots)) {
    return false;
  }
  int parameter = int(count) - 1;
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs.ptr(), &position, &name, &value)) {
    if (!place_named(name, value, &parameter, slots)) {
      return false;
    }
  }
  return true;
}

bool Parameters::write(const Slots& slots, Key* key, Held* held) const {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    if (!key->write(slots[k], are_data_[k], held)) {
      return false;
    }
  }
  return true;
}

}  // namespace poolgrad
