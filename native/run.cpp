#include "run.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "parallel.h"

namespace poolgrad {

namespace {

// Below this much work (elements times cells of a window) a second thread costs more than it brings.
constexpr double least_shared_work = 1 << 18;
constexpr std::int64_t most_inner = 256;

// Cuts a box of [outer, d, h, w, inner] into tiles of about `target` elements, whole along the last axes first.
struct Tiling {
  std::int64_t extent[5];
  std::int64_t size[5];

  Tiling(const std::int64_t (&extents)[5], std::int64_t target) {
    std::int64_t room = std::max<std::int64_t>(target, 1);
    for (int k = 4; k >= 0; --k) {
      extent[k] = extents[k];
      size[k] = std::max<std::int64_t>(1, std::min({extents[k], room, k == 4 ? most_inner : extents[k]}));
      room = std::max<std::int64_t>(1, room / size[k]);
    }
  }

  std::int64_t tiles_along(int k) const { return (extent[k] + size[k] - 1) / size[k]; }

  std::int64_t count() const {
    std::int64_t tiles = 1;
    for (int k = 0; k < 5; ++k) {
      tiles *= tiles_along(k);
    }
    return tiles;
  }

  // Makes tiles at least so long along an axis.
  void lengthen(int k, std::int64_t least) {
    size[k] = std::max(size[k], std::min(least, std::max<std::int64_t>(extent[k], 1)));
  }

  Tile tile(std::int64_t number, Watch* watch) const {
    Tile t;
    t.watch = watch;
    for (int k = 4; k >= 0; --k) {
      const std::int64_t along = tiles_along(k);
      t.begin[k] = number % along * size[k];
      t.end[k] = std::min(t.begin[k] + size[k], extent[k]);
      number /= along;
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

Tiling tiling_of(const Problem& p, bool writes_input_side, int threads) {
  if (p.selector == Selector::given) {
    // Flat ranges. Going back, each range is found by a walk over all gradients: one range a thread.
    const std::int64_t elements = writes_input_side ? p.input_count() : p.output_count();
    const std::int64_t parts = writes_input_side ? threads : std::max<std::int64_t>(1, elements >> 15);
    return Tiling({elements, 1, 1, 1, 1}, (elements + parts - 1) / parts);
  }
  std::int64_t extents[5] = {p.outer, 0, 0, 0, p.inner};
  std::int64_t elements = p.outer * p.inner;
  for (int a = 0; a < 3; ++a) {
    extents[a + 1] = writes_input_side ? p.axis[a].size : p.axis[a].outputs;
    elements *= extents[a + 1];
  }
  const std::int64_t target = writes_input_side ? 1 << 17 : 1 << 15;
  if (p.family != Family::route || !writes_input_side) {
    const std::int64_t share = elements / (8 * threads) + 1;
    return Tiling(extents, threads == 1 ? target : std::min(target, std::max<std::int64_t>(share, 1 << 12)));
  }
  // A window across the border of two routed tiles is looked at by both, so tiles are few and not thin.
  Tiling tiling(extents, std::min(target, elements / threads + 1));
  for (int a = 0; a < 3; ++a) {
    const Axis& axis = p.axis[a];
    const std::int64_t shared = axis.starts != nullptr ? 1 : std::min((axis.window - 1) * axis.dilation, axis.size);
    tiling.lengthen(a + 1, threads == 1 ? 4 * shared : (shared + 1) / 2);
  }
  return tiling;
}

Status run_kernel(Kernel kernel, const Problem& problem, const Buffers& buffers, bool writes_input_side, int threads,
                  const std::function<bool()>& should_stop) {
  const Tiling tiling = tiling_of(problem, writes_input_side, threads);
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_bad{none};
  const auto body = [&](std::int64_t number, Watch& watch) {
    const std::int64_t bad = kernel(problem, buffers, tiling.tile(number, &watch));
    std::int64_t known = first_bad;
    while (bad >= 0 && bad < known && !first_bad.compare_exchange_weak(known, bad)) {
    }
  };
  if (!for_each_piece(tiling.count(), threads, body, should_stop)) {
    return {Outcome::interrupted, 0};
  }
  return first_bad == none ? Status{Outcome::done, 0} : Status{Outcome::bad_data, first_bad};
}

}  // namespace

std::int64_t Problem::input_cells() const { return axis[0].size * axis[1].size * axis[2].size; }
std::int64_t Problem::output_cells() const { return axis[0].outputs * axis[1].outputs * axis[2].outputs; }
std::int64_t Problem::input_count() const { return outer * input_cells() * inner; }
std::int64_t Problem::output_count() const { return outer * output_cells() * inner; }

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
  threads = work_of(problem) < least_shared_work ? 1 : std::max(threads, 1);
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
