// windows.inc against lists of cells, for all small axes and tables.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"
#include "problem.h"
#include "tests.h"

namespace poolgrad {
namespace windows_under_test {
namespace {

#include "windows.inc"

}  // namespace
}  // namespace windows_under_test
}  // namespace poolgrad

namespace tests {

namespace {

namespace under = poolgrad::windows_under_test;
using poolgrad::Axis;

struct Window {
  std::vector<std::int64_t> cells;  // inside the axis
  std::int64_t skipped = 0;         // cells before the axis
  std::int64_t first = 0;           // cells from the first to the last, inside or not
  std::int64_t last = 0;
  bool is_whole = false;
};

Window listed(const Axis& axis, std::int64_t output) {
  Window w;
  if (axis.starts != nullptr) {
    for (std::int64_t cell = axis.starts[output]; cell < axis.stops[output]; ++cell) {
      w.cells.push_back(cell);
    }
    w.first = w.cells.front();
    w.last = w.cells.back();
    return w;
  }
  for (std::int64_t i = 0; i < axis.window; ++i) {
    const std::int64_t cell = output * axis.stride - axis.pad + i * axis.dilation;
    w.skipped += cell < 0;
    w.first = i == 0 ? cell : w.first;
    w.last = cell;
    if (cell >= 0 && cell < axis.size) {
      w.cells.push_back(cell);
    }
  }
  w.is_whole = std::int64_t(w.cells.size()) == axis.window;
  return w;
}

void check_window(const Axis& axis, std::int64_t output, const Window& expected) {
  const under::Bounds bounds = under::bounds(axis, output);
  std::vector<std::int64_t> cells;
  for (std::int64_t cell = bounds.start; cell < bounds.stop; cell += axis.dilation) {
    cells.push_back(cell);
  }
  CHECK(cells == expected.cells);
  const under::Range whole = under::whole(axis);
  const bool in_whole = output >= whole.begin && output < whole.end;
  CHECK_EQUAL(in_whole, axis.starts == nullptr && expected.is_whole);
  if (expected.cells.empty()) {
    CHECK(under::count(axis, bounds) <= 0);
    return;
  }
  CHECK_EQUAL(bounds.skip, expected.skipped);
  CHECK_EQUAL(under::count(axis, bounds), std::int64_t(expected.cells.size()));
  CHECK_EQUAL(under::is_whole(axis, bounds), axis.starts != nullptr || expected.is_whole);
  for (std::int64_t begin = 0; begin <= axis.size; ++begin) {
    const auto next = std::lower_bound(expected.cells.begin(), expected.cells.end(), begin);
    const std::int64_t entered = under::enter(axis, bounds, begin);
    CHECK(next == expected.cells.end() ? entered >= bounds.stop : entered == *next);
  }
}

void check_cover(const Axis& axis, const std::vector<Window>& windows) {
  for (std::int64_t begin = 0; begin < axis.size; ++begin) {
    const under::Range one = under::cover(axis, begin);
    for (std::int64_t end = begin + 1; end <= axis.size; ++end) {
      const under::Range several = under::cover(axis, begin, end);
      CHECK(several.begin >= 0 && several.end <= axis.outputs);
      for (std::int64_t o = 0; o < axis.outputs; ++o) {
        const Window& w = windows[std::size_t(o)];
        CHECK_EQUAL(o >= several.begin && o < several.end, w.first < end && w.last >= begin);
        if (end == begin + 1) {
          const bool reached = o >= one.begin && o < one.end;
          const bool held = reached && under::holds(axis, under::bounds(axis, o), begin);
          CHECK_EQUAL(held, std::find(w.cells.begin(), w.cells.end(), begin) != w.cells.end());
        }
      }
    }
  }
}

void check_axis(const Axis& axis) {
  checks::subject = "size " + std::to_string(axis.size) + ", outputs " + std::to_string(axis.outputs) + ", window " +
                    std::to_string(axis.window) + ", stride " + std::to_string(axis.stride) + ", pad " +
                    std::to_string(axis.pad) + ", dilation " + std::to_string(axis.dilation) +
                    (axis.starts != nullptr ? ", table" : "");
  std::vector<Window> windows;
  for (std::int64_t o = 0; o < axis.outputs; ++o) {
    windows.push_back(listed(axis, o));
    check_window(axis, o, windows.back());
  }
  check_cover(axis, windows);
  checks::subject.clear();
}

// Every table of up to three windows that ascends.
void check_tables(std::int64_t size, std::vector<std::int64_t>& starts, std::vector<std::int64_t>& stops) {
  Axis axis;
  axis.size = size;
  axis.outputs = std::int64_t(starts.size());
  axis.starts = starts.data();
  axis.stops = stops.data();
  if (axis.outputs > 0) {
    check_axis(axis);
  }
  if (axis.outputs == 3) {
    return;
  }
  for (std::int64_t start = starts.empty() ? 0 : starts.back(); start < size; ++start) {
    for (std::int64_t stop = std::max(start + 1, stops.empty() ? 0 : stops.back()); stop <= size; ++stop) {
      starts.push_back(start);
      stops.push_back(stop);
      check_tables(size, starts, stops);
      starts.pop_back();
      stops.pop_back();
    }
  }
}

}  // namespace

void test_windows() {
  Axis axis;
  for (axis.size = 1; axis.size <= 8; ++axis.size) {
    for (axis.window = 1; axis.window <= 5; ++axis.window) {
      for (axis.stride = 1; axis.stride <= 4; ++axis.stride) {
        for (axis.pad = -2; axis.pad <= 5; ++axis.pad) {
          for (axis.dilation = 1; axis.dilation <= 3; ++axis.dilation) {
            for (const std::int64_t outputs : {0, 1, 2, 5}) {
              axis.outputs = outputs;
              check_axis(axis);
            }
          }
        }
      }
    }
  }
  for (std::int64_t size = 1; size <= 5; ++size) {
    std::vector<std::int64_t> starts, stops;
    check_tables(size, starts, stops);
  }
}

}  // namespace tests
