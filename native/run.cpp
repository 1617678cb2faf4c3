#include "run.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>

#include "parallel.h"

namespace poolgrad {

namespace {

// Below this much work (elements times cells of a window) a second thread costs more than it brings.
constexpr double least_shared_work = 1 << 18;

// A box of [outer, d, h, w, inner], cut into tiles.
struct Tiling {
  std::int64_t extent[5];
  std::int64_t size[5];

  explicit Tiling(const std::int64_t (&extents)[5]) {
    for (int k = 0; k < 5; ++k) {
      extent[k] = extents[k];
      size[k] = std::max<std::int64_t>(extents[k], 1);
    }
  }

  std::int64_t tiles_along(int k) const {
    return extent[k] <= size[k] ? std::int64_t(extent[k] > 0) : (extent[k] + size[k] - 1) / size[k];
  }

  std::int64_t count() const {
    std::int64_t tiles = 1;
    for (int k = 0; k < 5; ++k) {
      tiles *= tiles_along(k);
    }
    return tiles;
  }

  // Cuts an axis so that there are about so many tiles, none of them shorter than `least` or ending within a `step`.
  void cut(int k, std::int64_t tiles, std::int64_t least, std::int64_t step) {
    const std::int64_t parts = tiles / std::max<std::int64_t>(count(), 1);
    if (parts > 1) {
      const std::int64_t length = std::max({(extent[k] + parts - 1) / parts, least, std::int64_t(1)});
      step = std::min(step, size[k]);
      size[k] = std::min((length + step - 1) / step * step, size[k]);
    }
  }

  Tile tile(std::int64_t number, Watch* watch) const {
    Tile t;
    t.watch = watch;
    for (int k = 4; k >= 0; --k) {
      const std::int64_t along = tiles_along(k), rest = along > 1 ? number / along : number;
      t.begin[k] = (along > 1 ? number - rest * along : 0) * size[k];
      t.end[k] = std::min(t.begin[k] + size[k], extent[k]);
      number = rest;
    }
    return t;
  }
};

// Work a call has to do, in elements looked at.
double work_of(const Problem& p) {
  double cells = p.selector == Selector::given ? 2 : 1;
  if (p.selector != Selector::given) {
    for (const Axis& axis : p.axis) {
      cells *= axis.starts != nullptr ? double(axis.size) / double(std::max<std::int64_t>(axis.outputs, 1))
                                      : double(std::min(axis.window, axis.size));
    }
  }
  return std::max(double(p.input_count()), double(p.output_count()) * cells);
}

// Cells of an axis that windows on both sides of a cut look at.
std::int64_t overlap(const Axis& axis) {
  const std::int64_t span = std::min((axis.window - 1) * axis.dilation + 1, axis.size);
  return axis.starts != nullptr ? 1 : std::max<std::int64_t>(span - axis.stride, 0);
}

// A thread takes tiles one by one, so there are some for each; where there is one thread there is one tile. Cuts go
// where they cost nothing: between outer slices and inner elements, between windows that share no cells, and only then
// across windows, which are looked at from both sides.
Tiling tiling_of(const Problem& p, bool writes_input_side, int threads) {
  const std::int64_t wanted = threads == 1 ? 1 : 8 * std::int64_t(threads);
  if (p.selector == Selector::given) {
    // Flat ranges. Going back, each range is found by a walk over all gradients: one range a thread.
    Tiling tiling({writes_input_side ? p.input_count() : p.output_count(), 1, 1, 1, 1});
    tiling.cut(0, writes_input_side ? threads : wanted, 1 << 12, 1);
    return tiling;
  }
  std::int64_t extents[5] = {p.outer, 0, 0, 0, p.inner};
  for (int a = 0; a < 3; ++a) {
    extents[a + 1] = writes_input_side ? p.axis[a].size : p.axis[a].outputs;
  }
  Tiling tiling(extents);
  if (wanted == 1) {
    return tiling;
  }
  tiling.cut(0, wanted, 1, 1);
  tiling.cut(4, wanted, 512, 64);
  for (const bool shared : {false, true}) {
    for (int a = 0; a < 3; ++a) {
      const Axis& axis = p.axis[a];
      const std::int64_t cells = overlap(axis) / (writes_input_side ? 1 : axis.stride);
      const std::int64_t step = writes_input_side && axis.starts == nullptr ? axis.stride : 1;
      if ((cells > 0) == shared) {
        tiling.cut(a + 1, a == 2 ? wanted / 4 : wanted, std::max<std::int64_t>(2 * cells, a == 2 ? 64 : 1), step);
      }
    }
  }
  return tiling;
}

Status run_kernel(Kernel kernel, const Problem& problem, const Buffers& buffers, bool writes_input_side, int threads,
                  const std::function<bool()>& should_stop) {
  const Tiling tiling = tiling_of(problem, writes_input_side, threads);
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_bad{none};
  std::atomic<bool> lacks_memory{false};
  const auto body = [&](std::int64_t number, Watch& watch) {
    const std::int64_t bad = kernel(problem, buffers, tiling.tile(number, &watch));
    if (bad == no_memory) {
      lacks_memory = true;
    }
    std::int64_t known = first_bad;
    while (bad >= 0 && bad < known && !first_bad.compare_exchange_weak(known, bad)) {
    }
  };
  // By reference: a copy would have to be allocated.
  if (!for_each_piece(tiling.count(), threads, std::ref(body), should_stop)) {
    return {Outcome::interrupted, 0};
  }
  if (lacks_memory) {
    return {Outcome::no_memory, 0};
  }
  return first_bad == none ? Status{Outcome::done, 0} : Status{Outcome::bad_data, first_bad};
}

class ThreadScratch {
 public:
  void* get(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset(new (std::nothrow) char[bytes + 64]);
      size_ = memory_ ? bytes : 0;
    }
    void* start = memory_.get();
    std::size_t room = size_ + 64;
    return start == nullptr ? nullptr : std::align(64, bytes, start, room);
  }

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace

std::int64_t Problem::input_cells() const { return axis[0].size * axis[1].size * axis[2].size; }
std::int64_t Problem::output_cells() const { return axis[0].outputs * axis[1].outputs * axis[2].outputs; }
std::int64_t Problem::input_count() const { return outer * input_cells() * inner; }
std::int64_t Problem::output_count() const { return outer * output_cells() * inner; }

void* thread_scratch(std::int64_t bytes) {
  // Kept between calls: memory of this size would be given back to the system, and asked for again, each time.
  thread_local ThreadScratch scratch;
  return scratch.get(std::size_t(bytes));
}

bool is_streamed(std::int64_t bytes) { return bytes > (std::int64_t(8) << 20); }

bool has_buffers(const Problem& p, const Buffers& b) {
  const bool selects = p.family == Family::pick || p.family == Family::route;
  const bool by_index = p.selector == Selector::offset || p.selector == Selector::given;
  const bool by_reference = p.selector == Selector::first_equal || p.selector == Selector::all_near || p.verify;
  const bool reads_input = p.family == Family::mean || p.family == Family::maximum || (selects && !by_index);
  return (b.input != nullptr || !reads_input) && (b.data != nullptr || !(selects || p.family == Family::spread)) &&
         (b.index != nullptr || !(selects && by_index)) && (b.reference != nullptr || !(selects && by_reference));
}

Status run(const Problem& problem, const Buffers& buffers, const Isa& isa, int threads,
           const std::function<bool()>& should_stop) {
  const Kernels kernels = isa.find(problem);
  if (kernels.fill == nullptr) {
    return {Outcome::unsupported, 0};
  }
  threads = threads <= 1 || work_of(problem) < least_shared_work ? 1 : threads;
  if (kernels.check != nullptr) {
    const Status checked = run_kernel(kernels.check, problem, buffers, false, threads, should_stop);
    if (checked.outcome != Outcome::done) {
      return checked;
    }
  }
  const bool back = problem.family == Family::spread || problem.family == Family::route;
  return run_kernel(kernels.fill, problem, buffers, back, threads, should_stop);
}

}  // namespace poolgrad
