// Maxima over windows that each plane has of its own, as PyTorch's fractional pooling draws them.
#pragma once

#include <nanobind/nanobind.h>

namespace poolgrad {

void bind_planes(nanobind::module_& m);

}  // namespace poolgrad
