// Faults only the data can show: the answer names the first bad element, and nothing was written.
#include <cstdint>
#include <limits>
#include <vector>

#include "exercise.h"
#include "tests.h"

namespace tests {

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

bool is_untouched(const Memory& memory, Dtype dtype) {
  const Memory garbage(dtype, 1);
  for (std::int64_t k = 0; k < memory.count(); ++k) {
    if (!same(memory.get<double>(k), garbage.get<double>(0))) {
      return false;
    }
  }
  return true;
}

// Runs with bad elements at these positions, for both directions and one or several threads.
void check_refused(Problem p, const Arrays<double>& forward, const Arrays<double>& backward, std::int64_t first_bad,
                   const std::string& what) {
  for (const Family family : {Family::pick, Family::route}) {
    p.family = family;
    for (const Isa* isa : usable_isas()) {
      for (const int threads : {1, 3}) {
        checks::subject = described(p, what) + ", " + isa->name + ", " + std::to_string(threads) + " threads";
        Call<double> call(p, family == Family::pick ? forward : backward, false);
        const Status status = call.run(*isa, threads);
        CHECK_EQUAL(int(status.outcome), int(Outcome::bad_data));
        CHECK_EQUAL(status.position, first_bad);
        CHECK(is_untouched(call.out, p.dtype));
      }
    }
  }
  checks::subject.clear();
}

struct Both {
  Arrays<double> forward, backward;

  Both(Problem p, Random& random) {
    p.family = Family::pick;
    forward = drawn_arrays<double>(p, Flavour::wide, random);
    p.family = Family::route;
    backward = drawn_arrays<double>(p, Flavour::wide, random);
    backward.index = forward.index;
    backward.input = forward.input;
    backward.reference = forward.reference;
  }
  void set_index(std::int64_t k, std::int64_t value) {
    forward.index[std::size_t(k)] = backward.index[std::size_t(k)] = value;
  }
};

void test_offsets() {
  Random random(17);
  for (const bool large : {false, true}) {
    const Geometry geometry =
        large ? shared_work() : Geometry{"plane", 2, {axis(5, 3, 2, 1, 1), axis(7, 3, 1, 1, 1)}, 3};
    Problem p = geometry.problem();
    p.dtype = Dtype::float32;
    p.selector = Selector::offset;
    p.numbering = Numbering::offset;
    const std::int64_t cells = p.axis[1].window * p.axis[2].window, last = p.output_count() - 1;
    for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::uint8, Dtype::uint64}) {
      p.index_dtype = dtype;
      const Both good(p, random);
      std::vector<std::int64_t> wrong = {cells, 255};
      if (poolgrad::item_size(dtype) > 1) {
        wrong.insert(wrong.end(), {-1, 256, 1 << 30});
      }
      if (poolgrad::item_size(dtype) == 8) {
        wrong.insert(wrong.end(), {least, most, std::int64_t(1) << 32});
      }
      for (const std::int64_t value : wrong) {
        Both bad = good;
        bad.set_index(last, value);
        check_refused(p, bad.forward, bad.backward, last, geometry.name);
        bad.set_index(last / 2 + 1, value);
        check_refused(p, bad.forward, bad.backward, last / 2 + 1, geometry.name);
      }
      // The first window's first cell lies in the padding.
      Both bad = good;
      bad.set_index(0, 0);
      check_refused(p, bad.forward, bad.backward, 0, geometry.name);
    }
  }
}

void test_given() {
  Random random(19);
  const Geometry small = {"flat", 3, {Axis{35, 12, 1, 1, 0, 1, nullptr, nullptr}}, 3};
  const Geometry large = {"flat", 3, {Axis{35003, 4001, 1, 1, 0, 1, nullptr, nullptr}}, 3};
  for (const Geometry& geometry : {small, large}) {
    Problem p = geometry.problem();
    p.dtype = Dtype::float64;
    p.selector = Selector::given;
    p.numbering = Numbering::position;
    const std::int64_t cells = p.input_cells(), image = cells * p.inner, total = p.input_count(),
                       last = p.output_count() - 1;
    struct Map {
      poolgrad::IndexMap map;
      std::vector<std::int64_t> wrong;  // at the last output, and at one of the first outer slice
    };
    const std::vector<Map> maps = {{{image, p.inner, 1, cells}, {cells, -1, least, most, image}},
                                   {{image, 1, 0, -1}, {total, least, most, most - total}},
                                   {{0, 1, 0, -1}, {total, -1, least, most}}};
    for (const Map& map : maps) {
      p.index = map.map;
      const Both good(p, random);
      for (const std::int64_t value : map.wrong) {
        Both bad = good;
        bad.set_index(last, value);
        check_refused(p, bad.forward, bad.backward, last, geometry.name);
        bad.set_index(5, value);
        check_refused(p, bad.forward, bad.backward, 5, geometry.name);
      }
    }
    // Counted within an image, the last one has no next, the first none before it.
    p.index = {image, 1, 0, -1};
    Both bad(p, random);
    bad.set_index(last, image);
    check_refused(p, bad.forward, bad.backward, last, geometry.name);
    bad.set_index(0, -1);
    check_refused(p, bad.forward, bad.backward, 0, geometry.name);
  }
}

void test_verify() {
  Random random(23);
  for (const Geometry& geometry : {Geometry{"line", 3, {axis(13, 3, 2)}, 1}, shared_work()}) {
    Problem p = geometry.problem();
    p.dtype = Dtype::float16;
    p.selector = Selector::first_max;
    p.verify = true;
    const Both good(p, random);
    const std::size_t last = std::size_t(p.output_count() - 1);
    Both bad = good;
    bad.forward.reference[last] = bad.backward.reference[last] = 1000;
    check_refused(p, bad.forward, bad.backward, std::int64_t(last), geometry.name);
    bad.forward.reference[7] = bad.backward.reference[7] = std::numeric_limits<double>::quiet_NaN();
    check_refused(p, bad.forward, bad.backward, 7, geometry.name);
    bad.forward.reference[3] = bad.backward.reference[3] = -1000;
    check_refused(p, bad.forward, bad.backward, 3, geometry.name);
  }
}

// Kernels exist exactly for what means something; an average has no selector to look at.
void test_unsupported() {
  for (const Isa* isa : usable_isas()) {
    for (const Dtype dtype : all_dtypes) {
      for (int family = 0; family <= int(Family::route); ++family) {
        for (int selector = 0; selector <= int(Selector::given); ++selector) {
          Problem p;
          p.dtype = dtype;
          p.family = Family(family);
          p.selector = Selector(selector);
          const bool averages = p.family == Family::mean || p.family == Family::spread;
          const bool forward = p.selector >= Selector::floor && p.selector <= Selector::first_nan;
          const bool has_average = is_float(dtype) || dtype == Dtype::int32 || dtype == Dtype::int64;
          const bool expected = averages                      ? has_average
                                : p.family == Family::maximum ? forward
                                                              : p.selector >= Selector::first_max;
          checks::subject = described(p, "") + isa->name;
          CHECK_EQUAL(isa->find(p).fill != nullptr, expected);
        }
      }
    }
  }
  checks::subject.clear();
  Problem p;
  p.dtype = Dtype::uint8;
  CHECK_EQUAL(int(poolgrad::run(p, {}, *usable_isas().front(), 1, never).outcome), int(Outcome::unsupported));
}

void test_buffers() {
  const char memory[8] = {};
  Problem p;
  Buffers buffers;
  CHECK(!poolgrad::has_buffers(p, buffers));
  buffers.input = memory;
  CHECK(poolgrad::has_buffers(p, buffers));
  p.family = Family::route;
  p.selector = Selector::first_equal;
  buffers.data = memory;
  CHECK(!poolgrad::has_buffers(p, buffers));
  buffers.reference = memory;
  CHECK(poolgrad::has_buffers(p, buffers));
  p.selector = Selector::given;
  CHECK(!poolgrad::has_buffers(p, buffers));
  buffers.index = memory;
  buffers.input = buffers.reference = nullptr;
  CHECK(poolgrad::has_buffers(p, buffers));
  p.selector = Selector::first_max;
  buffers.input = memory;
  p.verify = true;
  CHECK(!poolgrad::has_buffers(p, buffers));
}

}  // namespace

void test_faults() {
  test_offsets();
  test_given();
  test_verify();
  test_unsupported();
  test_buffers();
}

}  // namespace tests
