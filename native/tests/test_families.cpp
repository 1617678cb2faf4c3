// run() against the definitions, for every family, selector, element type, instruction set and number of threads.
#include "exercise.h"
#include "tests.h"

namespace tests {

namespace {

constexpr Selector window_selectors[] = {Selector::first_max, Selector::first_nan, Selector::first_equal,
                                         Selector::all_equal, Selector::all_near,  Selector::offset};
constexpr Dtype index_dtypes[] = {Dtype::int64,  Dtype::int32,  Dtype::uint64,
                                  Dtype::uint32, Dtype::uint16, Dtype::uint8};

bool has_averages(Dtype dtype) { return is_float(dtype) || dtype == Dtype::int32 || dtype == Dtype::int64; }

bool holds_offsets(const Problem& p, Dtype dtype) {
  const double cells = double(p.axis[0].window) * double(p.axis[1].window) * double(p.axis[2].window);
  return cells <= std::ldexp(1.0, int(8 * poolgrad::item_size(dtype)) - 1);
}

// One index type after the other, of those that hold the offsets of the windows.
Dtype index_dtype_for(const Problem& p, int turn) {
  while (!holds_offsets(p, index_dtypes[turn % 6])) {
    ++turn;
  }
  return index_dtypes[turn % 6];
}

void set_index_map(Problem& p, int base, bool reads) {
  const std::int64_t cells = p.input_cells(), image = cells * p.inner;
  if (base == 0) {
    p.index = reads ? poolgrad::IndexMap{0, 1, 0, -1} : poolgrad::IndexMap{image, p.inner, 1, cells};
  } else if (base == 1) {
    p.index = reads ? poolgrad::IndexMap{0, p.inner, 1, -1} : poolgrad::IndexMap{image, 1, 0, -1};
  } else {
    p.index = reads ? poolgrad::IndexMap{image, p.inner, 1, -1} : poolgrad::IndexMap{0, 1, 0, -1};
  }
}

void try_averages(Problem p, const Geometry& geometry, Flavour flavour, const std::vector<int>& threads) {
  p.selector = Selector::none;
  for (const Family family : {Family::mean, Family::spread}) {
    p.family = family;
    exercise(p, geometry.name, flavour, threads);
  }
}

void try_maximum(Problem p, const Geometry& geometry, Flavour flavour, const std::vector<int>& threads, int turn) {
  p.family = Family::maximum;
  p.selector = Selector::floor;
  for (const bool infinite : {false, true}) {
    p.infinite_floor = infinite;
    exercise(p, geometry.name, flavour, threads);
  }
  p.infinite_floor = false;
  for (const Selector selector : {Selector::first_max, Selector::first_nan}) {
    p.selector = selector;
    p.numbering = turn % 2 == 0 ? Numbering::offset : Numbering::position;
    p.index = {};
    if (p.numbering == Numbering::offset && geometry.has_table()) {
      p.numbering = Numbering::position;
    }
    if (p.numbering == Numbering::position) {
      set_index_map(p, turn / 3 % 3, true);
    }
    p.index_dtype = p.numbering == Numbering::position ? index_dtypes[turn % 2] : index_dtype_for(p, turn);
    exercise(p, geometry.name, flavour, threads);
    ++turn;
  }
}

void try_selected(Problem p, const Geometry& geometry, Flavour flavour, const std::vector<int>& threads, int turn) {
  for (const Selector selector : window_selectors) {
    if (selector == Selector::offset && geometry.has_table()) {
      continue;
    }
    p.selector = selector;
    p.numbering = selector == Selector::offset ? Numbering::offset : Numbering::ordinal;
    p.index_dtype = index_dtype_for(p, ++turn);
    p.verify = selector == Selector::first_max && flavour == Flavour::wide;
    p.last_axis_slowest = false;
    p.family = Family::pick;
    exercise(p, geometry.name, flavour, threads);
    p.family = Family::route;
    p.last_axis_slowest = turn % 2 == 0;
    exercise(p, geometry.name, flavour, threads);
    // The order for which most is built, where a NaN loses, too.
    if (selector == Selector::first_max && p.last_axis_slowest) {
      p.last_axis_slowest = false;
      exercise(p, geometry.name, flavour, threads);
    }
    // Bytes are what most is built for.
    if (selector == Selector::offset && p.index_dtype != Dtype::uint8 && holds_offsets(p, Dtype::uint8)) {
      p.index_dtype = Dtype::uint8;
      p.last_axis_slowest = false;
      for (const Family family : {Family::pick, Family::route}) {
        p.family = family;
        exercise(p, geometry.name, flavour, threads);
      }
    }
  }
}

void try_given(Problem p, const Geometry& geometry, Flavour flavour, const std::vector<int>& threads, int turn) {
  p.selector = Selector::given;
  p.numbering = Numbering::position;
  p.index_dtype = index_dtypes[turn % 4];
  for (int base = 0; base < 3; ++base) {
    set_index_map(p, base, false);
    for (const Family family : {Family::pick, Family::route}) {
      p.family = family;
      exercise(p, geometry.name, flavour, threads);
    }
  }
}

void try_all(const Geometry& geometry, Dtype dtype, Flavour flavour, const std::vector<int>& threads, int turn) {
  Problem p = geometry.problem();
  p.dtype = dtype;
  CHECK(p.input_cells() == 0 || Windows(p).all_hold_cells());
  if (has_averages(dtype)) {
    try_averages(p, geometry, flavour, threads);
  }
  try_maximum(p, geometry, flavour, threads, turn);
  try_selected(p, geometry, flavour, threads, turn);
  if (p.input_count() > 0 || p.output_count() == 0) {
    try_given(p, geometry, flavour, threads, turn);
  }
}

// Sums of a row and its mirror image with the opposite sign: what float64 rounds away must not be missing at the end.
void test_cancelling_mean() {
  Problem p;
  p.dtype = Dtype::float64;
  p.axis[2] = axis(201, 201, 1);
  Random random(5);
  Arrays<double> arrays;
  arrays.input = drawn_values<double>(p.dtype, Flavour::wide, 201, random);
  for (std::size_t k = 0; k < 100; ++k) {
    arrays.input[k] *= 0x1p40;
    arrays.input[200 - k] = -arrays.input[k];
  }
  arrays.input[100] = 201.0;
  for (const Isa* isa : usable_isas()) {
    Call<double> call(p, arrays, false);
    CHECK_EQUAL(int(call.run(*isa, 1).outcome), int(Outcome::done));
    CHECK_EQUAL(call.out.get<double>(0), 1.0);
  }
}

}  // namespace

void test_small_families() {
  int turn = 0;
  for (const Dtype dtype : all_dtypes) {
    for (const Geometry& geometry : small_geometries()) {
      for (const Flavour flavour : {Flavour::wide, Flavour::tied}) {
        try_all(geometry, dtype, flavour, {1, cut_anywhere}, turn++);
      }
      Problem p = geometry.problem();
      p.dtype = dtype;
      try_maximum(p, geometry, Flavour::low, {1, cut_anywhere}, turn);
      try_maximum(p, geometry, Flavour::lone, {cut_anywhere}, turn);
    }
    const Geometry geometry = huge_window();
    Problem p = geometry.problem();
    p.dtype = dtype;
    try_maximum(p, geometry, Flavour::tied, {1}, 1);
    try_selected(p, geometry, Flavour::tied, {1}, 0);
  }
  test_cancelling_mean();
}

void test_shared_families() {
  int turn = 0;
  for (const Dtype dtype : all_dtypes) {
    try_all(shared_work(), dtype, Flavour::tied, {1, 2, cut_anywhere}, turn++);
  }
}

void test_large_families() {
  constexpr Dtype dtypes[] = {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::float16};
  int turn = 0;
  for (const Geometry& geometry : large_geometries()) {
    for (const Flavour flavour : {Flavour::wide, Flavour::tied}) {
      try_all(geometry, dtypes[turn % 4], flavour, {turn % 2 == 0 ? 3 : cut_anywhere}, turn);
      ++turn;
    }
    Problem p = geometry.problem();
    p.dtype = dtypes[turn / 2 % 4];
    try_maximum(p, geometry, Flavour::low, {3}, turn);
    try_maximum(p, geometry, Flavour::lone, {3, cut_anywhere}, turn);
  }
}

void test_few_families() {
  for (const Dtype dtype : {Dtype::float16, Dtype::float64, Dtype::int32}) {
    try_all(shared_work(), dtype, Flavour::tied, {3}, int(dtype));
  }
}

}  // namespace tests
