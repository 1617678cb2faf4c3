// A problem with data for it, run in every way that must not matter: instruction set, threads, tiles, alignment of the
// memory.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "averages.h"
#include "check.h"
#include "geometries.h"
#include "run.h"

namespace tests {

using poolgrad::Buffers;
using poolgrad::Isa;
using poolgrad::Outcome;
using poolgrad::Status;
using poolgrad::Tile;

inline bool never() { return false; }

inline std::vector<const Isa*> usable_isas() {
  int count = 0;
  const Isa* known = poolgrad::isas(&count);
  std::vector<const Isa*> usable;
  for (int k = 0; k < count; ++k) {
    if (known[k].is_supported()) {
      usable.push_back(known + k);
    }
  }
  return usable;
}

inline std::string described(const Problem& p, const std::string& geometry) {
  static const char* const families[] = {"mean", "spread", "maximum", "pick", "route"};
  static const char* const selectors[] = {"none",      "floor",    "first_max", "first_nan", "first_equal",
                                          "all_equal", "all_near", "offset",    "given"};
  return std::string(families[int(p.family)]) + " " + selectors[int(p.selector)] + " " + name_of(p.dtype) + ", index " +
         name_of(p.index_dtype) + ", " + geometry + (p.last_axis_slowest ? ", last axis slowest" : "") +
         (p.infinite_floor ? ", infinite floor" : "");
}

// Equal as numbers, zeros by their sign too; all NaN are alike.
template <class W>
bool same(W a, W b) {
  if constexpr (std::is_same<W, double>::value) {
    return (is_nan(a) && is_nan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return a == b;
  }
}

template <class W>
bool fits(const Answer<W>& answer, std::size_t k, W value) {
  if (!answer.out.empty() && same(answer.out[k], value)) {
    return true;
  }
  if (answer.exact.empty()) {
    return false;
  }
  const long double exact = answer.exact[k], actual = (long double)value;
  if (!std::isfinite(exact)) {
    return std::isnan(exact) ? std::isnan(actual) : exact == actual;
  }
  return std::fabs(exact - actual) <= answer.slack[k];
}

// Arrays a problem reads, with windows that have something to select.
template <class W>
Arrays<W> drawn_arrays(const Problem& p, Flavour flavour, Random& random) {
  Arrays<W> arrays;
  const bool by_index = p.selector == Selector::offset || p.selector == Selector::given;
  if (p.family != Family::spread && !by_index) {
    arrays.input = drawn_values<W>(p.dtype, flavour, p.input_count(), random);
  }
  if (p.family == Family::spread || p.family == Family::pick || p.family == Family::route) {
    arrays.data = drawn_values<W>(p.dtype, flavour, goes_back(p) ? p.output_count() : p.input_count(), random);
  }
  if (p.selector == Selector::first_equal || p.selector == Selector::all_near || p.verify) {
    arrays.reference.resize(std::size_t(p.output_count()));
    std::vector<W> x;
    for_elements(p, [&](std::int64_t k, const std::vector<Member>&, const std::vector<std::int64_t>& positions) {
      at(arrays.input, positions, x);
      W reference = x[first_largest(x, false)];
      const std::int64_t kind = p.verify ? 9 : random.below(10);
      if (kind < 3) {
        reference = kind == 0 ? added(p.dtype, reference, W(1)) : x[std::size_t(random.below(std::int64_t(x.size())))];
      } else if (kind < 7 && is_float(p.dtype)) {
        reference = kept(p.dtype, W(reference + W(1e-5 * (1.2 * random.unit() - 0.6))));
      }
      arrays.reference[std::size_t(k)] = reference;
    });
  }
  if (p.selector == Selector::offset) {
    arrays.index.resize(std::size_t(p.output_count()));
    for_elements(p, [&](std::int64_t k, const std::vector<Member>& members, const std::vector<std::int64_t>&) {
      arrays.index[std::size_t(k)] = members[std::size_t(random.below(std::int64_t(members.size())))].offset;
    });
  }
  if (p.selector == Selector::given) {
    const std::int64_t image = p.input_cells() * p.inner;
    for (std::int64_t k = 0; k < p.output_count(); ++k) {
      const std::int64_t limit = p.index.limit >= 0 ? p.index.limit : p.index.outer_step > 0 ? image : p.input_count();
      arrays.index.push_back(random.below(limit));
    }
  }
  return arrays;
}

// A grid of tiles over the side that is written: up to three along each axis, of any length.
inline std::vector<Tile> drawn_tiles(const Problem& p, Random& random) {
  const bool back = goes_back(p), flat = p.selector == Selector::given;
  std::int64_t extents[5] = {flat ? (back ? p.input_count() : p.output_count()) : p.outer, 1, 1, 1, flat ? 1 : p.inner};
  for (int a = 0; !flat && a < 3; ++a) {
    extents[a + 1] = back ? p.axis[a].size : p.axis[a].outputs;
  }
  std::vector<Tile> tiles = {Tile{}};
  for (int k = 0; k < 5; ++k) {
    std::vector<std::int64_t> cuts = {0, extents[k]};
    for (std::int64_t more = random.below(3); more > 0 && extents[k] > 1; --more) {
      cuts.push_back(1 + random.below(extents[k] - 1));
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Tile> finer;
    for (std::size_t c = 1; c < cuts.size(); ++c) {
      for (Tile tile : tiles) {
        tile.begin[k] = cuts[c - 1], tile.end[k] = cuts[c];
        finer.push_back(tile);
      }
    }
    tiles = finer;
  }
  return tiles;
}

// The arrays of a problem in memory of their own.
template <class W>
class Call {
 public:
  Call(const Problem& problem, const Arrays<W>& arrays, bool shifted, unsigned char garbage = 0xa5,
       bool asks_where = true)
      : out(problem.dtype, goes_back(problem) ? problem.input_count() : problem.output_count(), shifted, garbage),
        out_index(problem.index_dtype, problem.output_count(), shifted, garbage),
        index(problem.index_dtype, arrays.index, shifted),
        problem_(problem),
        asks_where_(asks_where),
        input_(problem.dtype, arrays.input, shifted),
        reference_(problem.dtype, arrays.reference, shifted),
        data_(problem.dtype, arrays.data, shifted) {}

  Status run(const Isa& isa, int threads, const std::function<bool()>& should_stop = never) {
    return poolgrad::run(problem_, buffers(), isa, threads, should_stop);
  }

  // Tile by tile, wherever they may be cut.
  Status run_cut(const Isa& isa, Random& random) {
    const poolgrad::Kernels kernels = isa.find(problem_);
    if (kernels.fill == nullptr) {
      return {Outcome::unsupported, 0};
    }
    for (const Tile& tile : drawn_tiles(problem_, random)) {
      if (kernels.fill(problem_, buffers(), tile) != -1) {
        return {Outcome::no_memory, 0};
      }
    }
    return {Outcome::done, 0};
  }

  bool tells_where() const { return problem_.family == Family::maximum && asks_where_; }

  Memory out, out_index, index;

 private:
  Buffers buffers() {
    Buffers buffers;
    buffers.input = input_.data();
    buffers.reference = reference_.data();
    buffers.index = index.data();
    buffers.data = data_.data();
    buffers.out = out.data();
    buffers.out_index = tells_where() ? out_index.data() : nullptr;
    return buffers;
  }

  Problem problem_;
  bool asks_where_;
  Memory input_, reference_, data_;
};

template <class W>
void check_answer(const Problem& p, const Answer<W>& answer, const Call<W>& call) {
  std::int64_t wrong = -1, wrong_index = -1;
  for (std::int64_t k = call.out.count() - 1; k >= 0; --k) {
    wrong = fits(answer, std::size_t(k), call.out.template get<W>(k)) ? wrong : k;
  }
  if (call.tells_where() && p.selector != Selector::floor) {
    for (std::int64_t k = call.out_index.count() - 1; k >= 0; --k) {
      const std::uint64_t expected = kept(p.index_dtype, std::uint64_t(answer.index[std::size_t(k)]));
      const bool equal = kept(p.index_dtype, call.out_index.template get<std::uint64_t>(k)) == expected;
      wrong_index = equal ? wrong_index : k;
    }
  }
  CHECK_EQUAL(wrong, -1);
  CHECK_EQUAL(wrong_index, -1);
  if (wrong >= 0) {
    const std::size_t k = std::size_t(wrong);
    std::printf("  there: %.21Lg, expected %.21Lg\n", (long double)(call.out.template get<W>(wrong)),
                answer.exact.empty() ? (long double)(answer.out[k]) : answer.exact[k]);
  }
}

// Among the counts of threads: one thread, tile by tile.
constexpr int cut_anywhere = 0;

template <class W>
void exercise_wide(const Problem& p, const std::string& geometry, Flavour flavour, const std::vector<int>& threads) {
  Random random(std::uint64_t(p.dtype) + 31 * std::uint64_t(p.selector) + 7);
  const Arrays<W> arrays = drawn_arrays<W>(p, flavour, random);
  const Answer<W> answer = answer_of(p, arrays);
  std::vector<W> first;
  bool shifted = false;
  // Maxima are asked for with and without their places.
  const int kinds = p.family == Family::maximum ? 2 : 1;
  for (const Isa* isa : usable_isas()) {
    for (int turn = 0; turn < kinds * int(threads.size()); ++turn) {
      const int count = threads[std::size_t(turn / kinds)];
      const bool asks_where = turn % kinds == 0;
      checks::subject = described(p, geometry) + ", " + isa->name + ", " +
                        (count == cut_anywhere ? "cut" : std::to_string(count) + " threads") +
                        (asks_where ? "" : ", values") + (shifted ? ", shifted" : "");
      Call<W> call(p, arrays, shifted, shifted ? 0xa5 : 0x5a, asks_where);
      const Status status = count == cut_anywhere ? call.run_cut(*isa, random) : call.run(*isa, count);
      CHECK_EQUAL(int(status.outcome), int(Outcome::done));
      check_answer(p, answer, call);
      bool alike = true;
      for (std::int64_t k = 0; k < call.out.count(); ++k) {
        const W value = call.out.template get<W>(k);
        if (std::int64_t(first.size()) < call.out.count()) {
          first.push_back(value);
        }
        alike = alike && same(first[std::size_t(k)], value);
      }
      CHECK(alike);
      shifted = shifted != (turn % kinds == kinds - 1);
    }
  }
  checks::subject.clear();
}

inline void exercise(const Problem& p, const std::string& geometry, Flavour flavour, const std::vector<int>& threads) {
  if (is_float(p.dtype)) {
    exercise_wide<double>(p, geometry, flavour, threads);
  } else if (is_signed(p.dtype)) {
    exercise_wide<std::int64_t>(p, geometry, flavour, threads);
  } else {
    exercise_wide<std::uint64_t>(p, geometry, flavour, threads);
  }
}

}  // namespace tests
