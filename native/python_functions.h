// Functions of Python that native code may answer. A call comes here as the interpreter has it: no tuple, no dictionary
// and no frame is made for it.
#pragma once

#include <nanobind/nanobind.h>

namespace poolgrad {

// The arguments of a call: first those without names, then as many as there are names.
struct Given {
  PyObject* const* values;
  Py_ssize_t positional;
  PyObject* names;  // a tuple, or null
};

// Whoever may know the answer to a call.
class Answers {
 public:
  // Null where the ordinary function has to be called; may raise.
  virtual nanobind::object answer(const Given& given) = 0;

 protected:
  ~Answers() = default;
};

// Once, before the first function is made.
void make_function_type();

// Calls go to `answers`, a part of `owner`, and if these know nothing to `ordinary`. To the rest of Python it is like a
// function: it takes attributes, is bound as a method, and is pickled by its name.
nanobind::object new_function(nanobind::handle owner, Answers* answers, nanobind::handle ordinary);

}  // namespace poolgrad
