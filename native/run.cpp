#include "run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "parallel.h"
#include "turned.h"

namespace poolgrad {

namespace {

// Below this much work (elements times cells of a window) a second thread costs more than it brings.
constexpr double least_shared_work = 1 << 18;

// What the last piece is expected to hold up a call, as a share of itself: threads begin late and are held up by
// others.
constexpr double held_up = 0.5;

// What it costs to begin a piece, in elements looked at.
constexpr double cost_of_piece = 1 << 13;

// Pieces for each thread that an axis is cut into at most.
constexpr std::int64_t most_pieces = 8;

// An axis of a box that is cut into tiles. To fill `size` elements a tile looks at `cells` for each of them, and at
// `shared` ones more if its neighbour looks at them, too. Cuts lie at multiples of `step`.
struct Cut {
  std::int64_t extent;
  std::int64_t size = std::max<std::int64_t>(extent, 1);
  std::int64_t least = 1;
  std::int64_t step = 1;
  double cells = 1;
  double shared = 0;

  std::int64_t tiles() const { return extent <= size ? std::int64_t(extent > 0) : (extent + size - 1) / size; }
  double looked_at() const { return double(size) * cells + (size < extent ? shared : 0); }

  void into(std::int64_t parts) {
    const std::int64_t length = std::max((extent + parts - 1) / parts, least);
    size = std::max<std::int64_t>(std::min((length + step - 1) / step * step, extent), 1);
  }
};

// A box of [outer, d, h, w, inner], cut into tiles.
struct Tiling {
  Cut along[5];

  std::int64_t count() const {
    std::int64_t tiles = 1;
    for (const Cut& cut : along) {
      tiles *= cut.tiles();
    }
    return tiles;
  }

  // What threads are expected to take who fetch tiles one by one, in elements looked at.
  double time(int threads) const {
    double work = 1;
    for (const Cut& cut : along) {
      work *= cut.looked_at();
    }
    return (double((count() + threads - 1) / threads) + held_up) * (work + cost_of_piece);
  }

  // Cuts axes as long as that saves time, the one that saves most first.
  void divide(int threads) {
    const std::int64_t most = most_pieces * threads;
    for (std::int64_t before = 0; before != count();) {
      before = count();
      Tiling best = *this;
      for (int k = 0; k < 5; ++k) {
        Tiling other = *this;
        for (std::int64_t parts = 2; along[k].extent > 1 && parts <= most;
             parts += parts % 3 == 0 ? parts / 3 : (parts + 1) / 2) {
          other.along[k].into(parts);
          best = other.count() <= 2 * most && other.time(threads) < best.time(threads) ? other : best;
        }
      }
      *this = best;
    }
  }

  Tile tile(std::int64_t number, Watch* watch) const {
    Tile t;
    t.watch = watch;
    for (int k = 4; k >= 0; --k) {
      const std::int64_t tiles = along[k].tiles(), rest = tiles > 1 ? number / tiles : number;
      t.begin[k] = (tiles > 1 ? number - rest * tiles : 0) * along[k].size;
      t.end[k] = std::min(t.begin[k] + along[k].size, along[k].extent);
      number = rest;
    }
    return t;
  }
};

int shared_by(double work, int threads) { return threads <= 1 || work < least_shared_work ? 1 : threads; }

// Cells of an axis that windows on both sides of a cut look at.
std::int64_t overlap(const Axis& axis) {
  const std::int64_t span = std::min((axis.window - 1) * axis.dilation + 1, axis.size);
  return axis.starts != nullptr ? 1 : std::max<std::int64_t>(span - axis.stride, 0);
}

// Flat ranges. Going back, each range is found by a walk over all gradients: one range a thread.
Tiling flat_ranges(const Problem& p, bool writes_input_side, int threads) {
  Tiling tiling = {{{writes_input_side ? p.input_count() : p.output_count()}, {1}, {1}, {1}, {1}}};
  tiling.along[0].least = 1 << 12;
  tiling.along[0].into(threads == 1 || writes_input_side ? threads : most_pieces * threads);
  return tiling;
}

// Windows along an axis. Going back, a window is not cut: for any cell of it all of it is looked at. Only a large one
// is, if gradients or winners are told, at the price of finding a row of results again.
Cut cut_of(const Problem& p, const Axis& axis, bool writes_input_side) {
  Cut cut = {writes_input_side ? axis.size : axis.outputs};
  cut.shared = double(overlap(axis));
  const bool is_told = p.family == Family::spread || p.selector == Selector::offset;
  if (axis.starts != nullptr) {
    cut.cells = writes_input_side ? 1 : double(axis.size) / double(std::max<std::int64_t>(axis.outputs, 1));
  } else if (!writes_input_side) {
    cut.cells = double(axis.stride);
  } else if (is_told && axis.stride > 8) {
    cut.shared += 8;
  } else {
    cut.step = axis.stride;
  }
  return cut;
}

// A thread takes tiles one by one, so there are some for each; where there is one thread there is one tile. Cuts cost
// nothing between outer slices and between windows that share no cells. Windows across a cut are looked at from both
// sides, and short rows and few inner elements leave the memory idle: that is counted as cells, too.
Tiling tiling_of(const Problem& p, bool writes_input_side, int threads) {
  if (p.selector == Selector::given) {
    return flat_ranges(p, writes_input_side, threads);
  }
  Tiling tiling = {{{p.outer},
                    cut_of(p, p.axis[0], writes_input_side),
                    cut_of(p, p.axis[1], writes_input_side),
                    cut_of(p, p.axis[2], writes_input_side),
                    {p.inner}}};
  if (threads == 1) {
    return tiling;
  }
  Cut &columns = tiling.along[3], &inner = tiling.along[4];
  columns.least = 64;
  columns.shared += 16;
  inner.least = inner.step = 64;
  inner.shared = 64;
  tiling.divide(threads);
  return tiling;
}

// `fill` answers like a kernel.
template <class Fill>
Status run_pieces(std::int64_t count, int threads, const std::function<bool()>& should_stop, const Fill& fill) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_bad{none};
  std::atomic<bool> lacks_memory{false};
  const auto body = [&](std::int64_t number, Watch& watch) {
    const std::int64_t bad = fill(number, &watch);
    if (bad == no_memory) {
      lacks_memory = true;
    }
    std::int64_t known = first_bad;
    while (bad >= 0 && bad < known && !first_bad.compare_exchange_weak(known, bad)) {
    }
  };
  // By reference: a copy would have to be allocated.
  if (!for_each_piece(count, threads, std::ref(body), should_stop)) {
    return {Outcome::interrupted, 0};
  }
  if (lacks_memory) {
    return {Outcome::no_memory, 0};
  }
  return first_bad == none ? Status{Outcome::done, 0} : Status{Outcome::bad_data, first_bad};
}

Status run_kernel(Kernel kernel, const Problem& problem, const Buffers& buffers, bool writes_input_side, int threads,
                  const std::function<bool()>& should_stop) {
  const Tiling tiling = tiling_of(problem, writes_input_side, threads);
  return run_pieces(tiling.count(), threads, should_stop, [&](std::int64_t number, Watch* watch) {
    return kernel(problem, buffers, tiling.tile(number, watch));
  });
}

std::atomic<bool> is_spoilt{false};

class ThreadScratch {
 public:
  void* get(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset(new (std::nothrow) char[bytes + 64]);
      size_ = memory_ ? bytes : 0;
    }
    void* start = memory_.get();
    std::size_t room = size_ + 64;
    if (start == nullptr) {
      return nullptr;
    }
    start = std::align(64, bytes, start, room);
    return is_spoilt ? std::memset(start, 0xff, bytes) : start;
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

void spoil_scratch(bool on) { is_spoilt = on; }

void* thread_scratch(std::int64_t bytes, bool calls) {
  // Kept between calls: memory of this size would be given back to the system, and asked for again, each time.
  thread_local ThreadScratch scratch[2];
  return scratch[calls ? 1 : 0].get(std::size_t(bytes));
}

bool goes_back(const Problem& p) { return p.family == Family::spread || p.family == Family::route; }

bool is_streamed(std::int64_t bytes) { return bytes > (std::int64_t(8) << 20); }

Reads reads_of(const Problem& p) {
  const bool selects = p.family == Family::pick || p.family == Family::route;
  const bool by_index = p.selector == Selector::offset || p.selector == Selector::given;
  const bool by_reference = p.selector == Selector::first_equal || p.selector == Selector::all_near || p.verify;
  return {p.family == Family::mean || p.family == Family::maximum || (selects && !by_index), selects && by_reference,
          selects && by_index, selects || p.family == Family::spread};
}

bool has_buffers(const Problem& p, const Buffers& b) {
  const Reads reads = reads_of(p);
  return (b.input != nullptr || !reads.input) && (b.reference != nullptr || !reads.reference) &&
         (b.index != nullptr || !reads.index) && (b.data != nullptr || !reads.data);
}

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

void expect_run(double work, int threads) {
  if (shared_by(work, threads) > 1) {
    expect_pieces();
  }
}

Status run(const Problem& problem, const Buffers& buffers, const Isa& isa, int threads,
           const std::function<bool()>& should_stop) {
  const Kernels kernels = isa.find(problem);
  if (kernels.fill == nullptr) {
    return {Outcome::unsupported, 0};
  }
  threads = shared_by(work_of(problem), threads);
  if (kernels.check != nullptr) {
    const Status checked = run_kernel(kernels.check, problem, buffers, false, threads, should_stop);
    if (checked.outcome != Outcome::done) {
      return checked;
    }
  }
  const Turned turned(problem, buffers, kernels, threads);
  if (turned.suits()) {
    return run_pieces(turned.count(), threads, should_stop,
                      [&](std::int64_t number, Watch* watch) { return turned.fill(number, watch); });
  }
  return run_kernel(kernels.fill, problem, buffers, goes_back(problem), threads, should_stop);
}

}  // namespace poolgrad
