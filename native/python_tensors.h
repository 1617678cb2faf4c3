// Tensors of PyTorch by DLPack's C interface, which says in a few instructions how one lies.
#pragma once

#include <nanobind/nanobind.h>

namespace poolgrad {

void bind_tensors(nanobind::module_& m);

}  // namespace poolgrad
