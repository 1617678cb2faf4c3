#include "python_functions.h"

#include <structmember.h>

#include <cstddef>
#include <exception>
#include <new>

namespace nb = nanobind;

namespace poolgrad {

namespace {

struct Function {
  PyObject ob_base;
  vectorcallfunc call;
  Answers* answers;
  PyObject *owner, *ordinary, *attributes, *weak_references;
};

PyTypeObject* function_type = nullptr;

Function* function_of(PyObject* self) { return reinterpret_cast<Function*>(self); }

PyObject* call(PyObject* self, PyObject* const* values, std::size_t count, PyObject* names) {
  Function* function = function_of(self);
  try {
    nb::object known = function->answers->answer({values, PyVectorcall_NARGS(count), names});
    if (known.is_valid()) {
      return known.release().ptr();
    }
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  return PyObject_Vectorcall(function->ordinary, values, count, names);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Function* function = function_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(function->owner);
  Py_VISIT(function->ordinary);
  Py_VISIT(function->attributes);
  return 0;
}

// Attributes may lead back here. The rest stays, so that no call ever finds it gone.
int clear(PyObject* self) {
  Function* function = function_of(self);
  Py_CLEAR(function->attributes);
  return 0;
}

void end(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Function* function = function_of(self);
  PyObject_GC_UnTrack(self);
  if (function->weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  Py_CLEAR(function->attributes);
  Py_CLEAR(function->ordinary);
  Py_CLEAR(function->owner);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyObject* qualified_name(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyObject* represent(PyObject* self) {
  PyObject* name = qualified_name(self, nullptr);
  if (name == nullptr) {
    return nullptr;
  }
  PyObject* text = PyUnicode_FromFormat("<function %S at %p>", name, static_cast<void*>(self));
  Py_DECREF(name);
  return text;
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  try {
    return nb::module_::import_("types").attr("MethodType")(nb::handle(self), nb::handle(object)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Function, attributes), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__reduce__", qualified_name, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

template <class Pointer>
PyType_Slot slot(int number, Pointer pointer) {
  return {number, reinterpret_cast<void*>(pointer)};
}

}  // namespace

void make_function_type() {
  PyType_Slot slots[] = {slot(Py_tp_call, PyVectorcall_Call),
                         slot(Py_tp_traverse, traverse),
                         slot(Py_tp_clear, clear),
                         slot(Py_tp_dealloc, end),
                         slot(Py_tp_repr, represent),
                         slot(Py_tp_descr_get, bind),
                         slot(Py_tp_members, members),
                         slot(Py_tp_getset, properties),
                         slot(Py_tp_methods, methods),
                         {0, nullptr}};
  const unsigned long flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Spec spec = {"poolgrad._core.function", int(sizeof(Function)), 0, unsigned(flags), slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (function_type == nullptr) {
    throw nb::python_error();
  }
}

nb::object new_function(nb::handle owner, Answers* answers, nb::handle ordinary) {
  Function* made = PyObject_GC_New(Function, function_type);
  if (made == nullptr) {
    throw nb::python_error();
  }
  made->call = call;
  made->answers = answers;
  made->owner = owner.inc_ref().ptr();
  made->ordinary = ordinary.inc_ref().ptr();
  made->attributes = made->weak_references = nullptr;
  PyObject* function = reinterpret_cast<PyObject*>(made);
  PyObject_GC_Track(function);
  return nb::steal(function);
}

}  // namespace poolgrad
