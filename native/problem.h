// What a kernel is told: plain numbers and pointers. Layout, rank and padding mode are gone by now: every call is
// `outer x up to three spatial axes x inner`, and an axis knows its windows.
#pragma once

#include <cstdint>

#include "dtypes.h"

namespace poolgrad {

enum class Family : int {
  mean,     // average of a window
  spread,   // a gradient is shared over its window: adjoint of mean
  maximum,  // the largest element of a window, and where it was
  pick,     // sum of the selected elements of a window
  route,    // a gradient goes to the selected elements: adjoint of pick
};

// Who is selected in a window. "First" is in row-major order of the spatial axes.
enum class Selector : int {
  none,         // the averages
  floor,        // the largest value above a floor; NaN is ignored (forward only)
  first_max,    // first element that nothing before it reaches; a leading NaN stays
  first_nan,    // first maximum, and a NaN is larger than everything
  first_equal,  // first element equal to the given reference, or nobody
  all_equal,    // every element equal to the maximum, where NaN is the maximum and equals NaN
  all_near,     // every element closer to the given reference than 1e-5
  offset,       // the element at a given place inside the window
  given,        // the element at a given place of the whole input
};

// How an element of a window is numbered: in an order of its own, which is not told outside, by its place in the
// unclipped window, or by its place among all cells of the input.
enum class Numbering : int { ordinal, offset, position };

// Windows of one axis: output o covers [start, stop) in steps of `dilation`. They follow from the numbers
// (cells o*stride - pad + i*dilation for i < window, those outside the axis left out) or stand in a table.
struct Axis {
  std::int64_t size = 1;
  std::int64_t outputs = 1;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;
  const std::int64_t* starts = nullptr;
  const std::int64_t* stops = nullptr;
  // What an average divides by along the axis: the cells of a window; or those of them that lie on the axis, before it
  // or in the first `counted` places behind it; or a number.
  std::int64_t counted = -1;
  std::int64_t divisor = 0;
};

// index = outer*outer_step + cell*cell_step + inner*inner_step; `limit` bounds a given cell where it is not negative.
struct IndexMap {
  std::int64_t outer_step = 0;
  std::int64_t cell_step = 1;
  std::int64_t inner_step = 0;
  std::int64_t limit = -1;
};

struct Problem {
  Family family = Family::mean;
  Selector selector = Selector::none;
  Numbering numbering = Numbering::ordinal;
  Dtype dtype = Dtype::float32;
  Dtype index_dtype = Dtype::int64;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  Axis axis[3];
  IndexMap index;
  double common_count = 1;         // spread: a common multiple of the cells of all windows, or 1
  bool last_axis_slowest = false;  // route: visit outputs with W outermost and D innermost
  bool infinite_floor = false;     // floor: windows that touch no padding start from -inf
  bool verify = false;             // the maxima must equal the reference

  // Not inline: this header is compiled for every instruction set, and the linker would keep any one of the copies.
  std::int64_t input_cells() const;
  std::int64_t output_cells() const;
  std::int64_t input_count() const;
  std::int64_t output_count() const;
};

// `input` and `out` of the families: mean, maximum, pick read the input's side and fill the output's; spread and route
// go back.
struct Buffers {
  const void* input = nullptr;      // [input side]  what was pooled
  const void* reference = nullptr;  // [output side] the pooled values, where a selector wants them
  const void* index = nullptr;      // [output side] offsets or argmax, where a selector wants them
  const void* data = nullptr;       // what is moved: grad of the output (spread, route) or of the input (pick)
  void* out = nullptr;
  void* out_index = nullptr;  // [output side] maximum: where the maxima were
};

// Says during long work whether to stop; see parallel.h.
class Watch;
bool is_stopped(Watch* watch);

// A box of [outer, d, h, w, inner] on the side that is written; nobody else writes there.
struct Tile {
  std::int64_t begin[5];
  std::int64_t end[5];
  Watch* watch;  // may be null
};

// Memory of the calling thread, kept for its next kernel; null if there is none. Who calls a kernel has memory apart
// from its.
void* thread_scratch(std::int64_t bytes, bool calls);

// Do results lie on the input's side?
bool goes_back(const Problem& p);

// The arrays that a family and selector read.
struct Reads {
  bool input, reference, index, data;
};
Reads reads_of(const Problem& p);

// Is a result of this size better written past the caches?
bool is_streamed(std::int64_t bytes);

constexpr std::int64_t no_memory = -2;

// Fills a tile. Answers -1, no_memory, or the flat output position of the first element whose data is bad.
using Kernel = std::int64_t (*)(const Problem&, const Buffers&, const Tile&);

// Rows, `pitch` elements apart, become columns of rows that have `width` elements; the last one stands for those that
// are not there.
struct Turning {
  const void* from;
  std::int64_t rows, columns, pitch;
  void* to;
  std::int64_t width;
  std::int64_t item;  // bytes of an element
  bool by_rows;       // some rows after others, as they are in memory, or some columns
  bool streams;       // past the caches
  void* waiting;      // of the size of what is written: where rows wait that do not begin with lines of memory
};

struct Kernels {
  Kernel check;  // looks at the data before anything is written; may be null
  Kernel fill;
  void (*turn)(const Turning&) = nullptr;  // where slices are better turned into inner elements of their cells
};

}  // namespace poolgrad
