#include "python_planes.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "python_arrays.h"
#include "python_problem.h"

namespace nb = nanobind;

namespace poolgrad {

namespace {

constexpr std::int64_t most_gathered = 1 << 18;  // elements at a time, or those of one plane

using Three = std::array<std::int64_t, 3>;

std::int64_t product(const Three& numbers) { return numbers[0] * numbers[1] * numbers[2]; }

// First cells of the windows of an axis: [planes, outputs], of any strides.
struct Starts {
  const char* at;
  std::int64_t plane_step, output_step;

  std::int64_t of(std::int64_t plane, std::int64_t output) const {
    std::int64_t start;
    std::memcpy(&start, at + plane * plane_step + output * output_step, sizeof start);
    return start;
  }
};

// A line whose whole parts are the first cells of windows but the last: see windows.py.
struct Line {
  double slope;
  std::int64_t last;
  std::int64_t sample;  // which of a plane's samples moves it
};

// Planes of a tensor that lies as [outer, cells, inner], a plane for each outer and inner place.
class Planes {
 public:
  // `cells_problem` names the maximum along an axis of as many elements as a window has cells. `lines` are slope, last
  // start and number of the sample of each axis.
  Planes(const BoundProblem& cells_problem, std::int64_t outer, std::int64_t inner, const Three& sizes,
         const Three& window, const Three& outputs,
         const std::vector<std::tuple<double, std::int64_t, std::int64_t>>& lines)
      : problem_(cells_problem.problem),
        planes_(outer * inner),
        inner_(inner),
        sizes_(sizes),
        window_(window),
        outputs_(outputs) {
    const Axis& row = problem_.axis[2];
    if (problem_.family != Family::maximum || problem_.numbering != Numbering::position ||
        problem_.index_dtype != Dtype::int64 || row.size != product(window) || row.outputs != 1 ||
        row.window != row.size || problem_.axis[0].size != 1 || problem_.axis[1].size != 1) {
      throw std::invalid_argument("the maximum along an axis of cells is needed");
    }
    for (const auto& [slope, last, sample] : lines) {
      if (sample < 0 || sample >= std::int64_t(lines.size()) || lines.size() > 3) {
        throw std::invalid_argument("each axis has one sample");
      }
      lines_.push_back({slope, last, sample});
    }
  }

  // Fills maxima and their index, by place in their plane, of windows that follow from samples: [planes, axes] of the
  // problem's dtype. No if some window leaves its axis.
  bool find(std::uintptr_t input, std::uintptr_t samples, std::uintptr_t out, std::uintptr_t index, int threads,
            const char* isa) const {
    std::vector<std::int64_t> drawn;
    const std::array<Starts, 3> tables = problem_.dtype == Dtype::float32
                                             ? draw(reinterpret_cast<const float*>(samples), &drawn)
                                             : draw(reinterpret_cast<const double*>(samples), &drawn);
    return fill(input, tables, out, index, threads, isa);
  }

  // The same where it is known for each axis where windows start: in arrays, [planes, outputs].
  bool find_from(std::uintptr_t input, const std::vector<nb::object>& starts, std::uintptr_t out, std::uintptr_t index,
                 int threads, const char* isa) const {
    return fill(input, read(starts), out, index, threads, isa);
  }

 private:
  bool fill(std::uintptr_t input, const std::array<Starts, 3>& tables, std::uintptr_t out, std::uintptr_t index,
            int threads, const char* isa) const {
    if (!fit(tables)) {
      return false;
    }
    const std::int64_t windows = product(outputs_), cells = product(window_), item = item_size(problem_.dtype);
    const std::int64_t at_once =
        std::min(planes_, std::max<std::int64_t>(1, most_gathered / std::max<std::int64_t>(1, windows * cells)));
    std::vector<char> values(std::size_t(at_once * windows * cells * item)),
        maxima(std::size_t(at_once * windows * item));
    std::vector<std::int64_t> places(std::size_t(at_once * windows * cells)), winners(std::size_t(at_once * windows));
    Problem columns = problem_;
    columns.outer = 1;
    for (std::int64_t first = 0; first < planes_; first += at_once) {
      const std::int64_t count = std::min(at_once, planes_ - first);
      columns.inner = count * windows;
      {
        std::optional<nb::gil_scoped_release> unlock;
        if (!has_little_work(columns)) {
          unlock.emplace();
        }
        list(tables, first, count, places.data());
        gather(reinterpret_cast<const char*>(input), first, count, places.data(), values.data());
      }
      Buffers buffers;
      buffers.input = values.data();
      buffers.out = maxima.data();
      buffers.out_index = winners.data();
      run_on(columns, isa_called(isa), buffers, threads);
      for (std::int64_t k = 0; k < columns.inner; ++k) {
        const std::int64_t plane = first + k / windows, window = k % windows, winner = winners[std::size_t(k)];
        const std::int64_t at = (plane / inner_ * windows + window) * inner_ + plane % inner_;
        reinterpret_cast<std::int64_t*>(index)[at] = places[std::size_t(k * cells + winner)];
        // The winner itself: of equal values with other bits the kernel may give any.
        std::memcpy(reinterpret_cast<char*>(out) + at * item, &values[std::size_t((winner * columns.inner + k) * item)],
                    std::size_t(item));
      }
    }
    return true;
  }

  template <class Float>
  std::array<Starts, 3> draw(const Float* samples, std::vector<std::int64_t>* drawn) const {
    if (sizeof(Float) != std::size_t(item_size(problem_.dtype))) {
      throw std::invalid_argument("samples must be of 32 or 64 bits");
    }
    std::array<Starts, 3> tables = single_cells();
    const std::int64_t axes = std::int64_t(lines_.size()), missing = 3 - axes;
    drawn->resize(std::size_t(planes_ * (outputs_[0] + outputs_[1] + outputs_[2])));
    std::int64_t* next = drawn->data();
    for (std::int64_t a = 0; a < axes; ++a) {
      const Line& line = lines_[std::size_t(a)];
      const std::int64_t count = outputs_[std::size_t(missing + a)];
      const Float slope = Float(line.slope);
      tables[std::size_t(missing + a)] = {reinterpret_cast<const char*>(next), count * 8, 8};
      for (std::int64_t plane = 0; plane < planes_; ++plane) {
        const Float sample = samples[plane * axes + line.sample];
        const std::int64_t origin = std::int64_t(sample * slope);
        for (std::int64_t o = 0; o + 1 < count; ++o) {
          *next++ = std::int64_t((Float(o) + sample) * slope) - origin;
        }
        *next++ = line.last;
      }
    }
    return tables;
  }

  // Where there are fewer than three axes, the first ones have a single cell.
  static std::array<Starts, 3> single_cells() {
    static const std::int64_t zero = 0;
    const Starts one = {reinterpret_cast<const char*>(&zero), 0, 0};
    return {one, one, one};
  }

  std::array<Starts, 3> read(const std::vector<nb::object>& starts) const {
    std::array<Starts, 3> tables = single_cells();
    for (std::size_t k = 0; k < starts.size() && k < 3; ++k) {
      const std::size_t a = k + 3 - starts.size();
      PyArrayObject* array = plain_array(starts[k].ptr());
      if (array == nullptr || starts.size() > 3 || PyArray_NDIM(array) != 2 || PyArray_TYPE(array) != NPY_INT64 ||
          PyArray_DIM(array, 0) != planes_ || PyArray_DIM(array, 1) != outputs_[a]) {
        throw std::invalid_argument("starts must be 64-bit integers, one for each plane and output");
      }
      tables[a] = {static_cast<const char*>(PyArray_DATA(array)), PyArray_STRIDE(array, 0), PyArray_STRIDE(array, 1)};
    }
    return tables;
  }

  bool fit(const std::array<Starts, 3>& tables) const {
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::int64_t plane = 0; plane < planes_; ++plane) {
        for (std::int64_t o = 0; o < outputs_[a]; ++o) {
          const std::int64_t start = tables[a].of(plane, o);
          if (start < 0 || start > sizes_[a] - window_[a]) {
            return false;
          }
        }
      }
    }
    return true;
  }

  // The cells of all windows of some planes.
  void list(const std::array<Starts, 3>& tables, std::int64_t first, std::int64_t count, std::int64_t* places) const {
    for (std::int64_t plane = first; plane < first + count; ++plane) {
      for (std::int64_t d = 0; d < outputs_[0]; ++d) {
        for (std::int64_t h = 0; h < outputs_[1]; ++h) {
          for (std::int64_t w = 0; w < outputs_[2]; ++w) {
            places = list_window({tables[0].of(plane, d), tables[1].of(plane, h), tables[2].of(plane, w)}, places);
          }
        }
      }
    }
  }

  std::int64_t* list_window(const Three& start, std::int64_t* places) const {
    for (std::int64_t d = start[0]; d < start[0] + window_[0]; ++d) {
      for (std::int64_t h = start[1]; h < start[1] + window_[1]; ++h) {
        for (std::int64_t w = start[2]; w < start[2] + window_[2]; ++w) {
          *places++ = (d * sizes_[1] + h) * sizes_[2] + w;
        }
      }
    }
    return places;
  }

  // The values of these cells: [cells of a window, windows of the planes].
  void gather(const char* input, std::int64_t first, std::int64_t count, const std::int64_t* places, char* out) const {
    switch (item_size(problem_.dtype)) {
      case 2:
        return take<std::uint16_t>(input, first, count, places, out);
      case 4:
        return take<std::uint32_t>(input, first, count, places, out);
      case 8:
        return take<std::uint64_t>(input, first, count, places, out);
      default:
        return take<std::uint8_t>(input, first, count, places, out);
    }
  }

  template <class Bits>
  void take(const char* input, std::int64_t first, std::int64_t count, const std::int64_t* places, char* out) const {
    const std::int64_t windows = product(outputs_), cells = product(window_);
    Bits* target = reinterpret_cast<Bits*>(out);
    for (std::int64_t column = 0; column < count * windows; ++column) {
      const std::int64_t plane = first + column / windows;
      const Bits* source =
          reinterpret_cast<const Bits*>(input) + plane / inner_ * product(sizes_) * inner_ + plane % inner_;
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        target[cell * count * windows + column] = source[*places++ * inner_];
      }
    }
  }

  Problem problem_;
  std::int64_t planes_, inner_;
  Three sizes_, window_, outputs_;
  std::vector<Line> lines_;
};

}  // namespace

void bind_planes(nb::module_& m) {
  nb::class_<Planes>(m, "Planes")
      .def(nb::init<const BoundProblem&, std::int64_t, std::int64_t, const Three&, const Three&, const Three&,
                    const std::vector<std::tuple<double, std::int64_t, std::int64_t>>&>(),
           nb::arg("cells_problem"), nb::arg("outer"), nb::arg("inner"), nb::arg("sizes"), nb::arg("window"),
           nb::arg("outputs"), nb::arg("lines"))
      .def("find", &Planes::find, nb::arg("input"), nb::arg("samples"), nb::arg("out"), nb::arg("index"),
           nb::arg("threads"), nb::arg("isa"))
      .def("find_from", &Planes::find_from, nb::arg("input"), nb::arg("starts"), nb::arg("out"), nb::arg("index"),
           nb::arg("threads"), nb::arg("isa"));
}

}  // namespace poolgrad
