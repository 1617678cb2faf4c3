// Every family and selector from its definition: one output at a time, straight loops over lists of cells, sums in long
// double. Shares no code with the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "memory.h"
#include "problem.h"

namespace tests {

using poolgrad::Axis;
using poolgrad::Family;
using poolgrad::Numbering;
using poolgrad::Problem;
using poolgrad::Selector;

// A cell of a window: where it is in the input, and its number in each way of counting.
struct Member {
  std::int64_t cell;
  std::int64_t ordinal;
  std::int64_t offset;
};

inline std::vector<Member> members_along(const Axis& axis, std::int64_t output) {
  std::vector<Member> members;
  const bool tabled = axis.starts != nullptr;
  const std::int64_t origin = tabled ? axis.starts[output] : output * axis.stride - axis.pad;
  for (std::int64_t cell = std::max<std::int64_t>(origin, 0); cell < axis.size; ++cell) {
    if (tabled ? cell >= axis.stops[output] : cell - origin > (axis.window - 1) * axis.dilation) {
      break;
    }
    if ((cell - origin) % axis.dilation == 0) {
      members.push_back({cell, std::int64_t(members.size()), (cell - origin) / axis.dilation});
    }
  }
  return members;
}

// What an average divides by along an axis.
inline std::int64_t divisor_along(const Axis& axis, std::int64_t output, std::size_t cells) {
  if (axis.divisor > 0) {
    return axis.divisor;
  }
  if (axis.counted < 0) {
    return std::int64_t(cells);
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < axis.window; ++i) {
    const std::int64_t cell = output * axis.stride - axis.pad + i * axis.dilation;
    count += cell < axis.size + axis.counted;
  }
  return count;
}

// All windows of a problem.
class Windows {
 public:
  explicit Windows(const Problem& p) : p_(p) {
    for (int a = 0; a < 3; ++a) {
      for (std::int64_t o = 0; o < p.axis[a].outputs; ++o) {
        along_[a].push_back(members_along(p.axis[a], o));
      }
    }
  }

  // body(output cell, members of its window) in the order in which gradients are added.
  void for_each(const std::function<void(std::int64_t, const std::vector<Member>&)>& body) const {
    const std::int64_t n[3] = {p_.axis[0].outputs, p_.axis[1].outputs, p_.axis[2].outputs};
    std::vector<Member> members;
    for (std::int64_t k = 0; k < n[0] * n[1] * n[2]; ++k) {
      const bool swapped = p_.last_axis_slowest;
      const std::int64_t d = swapped ? k % n[0] : k / n[2] / n[1];
      const std::int64_t h = swapped ? k / n[0] % n[1] : k / n[2] % n[1];
      const std::int64_t w = swapped ? k / n[0] / n[1] : k % n[2];
      gather(along_[0][std::size_t(d)], along_[1][std::size_t(h)], along_[2][std::size_t(w)], members);
      body((d * n[1] + h) * n[2] + w, members);
    }
  }

  bool all_hold_cells() const {
    for (const auto& windows : along_) {
      for (const auto& members : windows) {
        if (members.empty()) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  void gather(const std::vector<Member>& planes, const std::vector<Member>& rows, const std::vector<Member>& columns,
              std::vector<Member>& members) const {
    members.clear();
    for (const Member& d : planes) {
      for (const Member& h : rows) {
        for (const Member& w : columns) {
          members.push_back({(d.cell * p_.axis[1].size + h.cell) * p_.axis[2].size + w.cell,
                             std::int64_t(members.size()),
                             (d.offset * p_.axis[1].window + h.offset) * p_.axis[2].window + w.offset});
        }
      }
    }
  }

  Problem p_;
  std::vector<std::vector<Member>> along_[3];
};

template <class W>
bool is_nan(W value) {
  return value != value;
}

// The first element nobody exceeds. With `nan_wins` a NaN exceeds all numbers; otherwise it only counts in the first
// place.
template <class W>
std::size_t first_largest(const std::vector<W>& x, bool nan_wins) {
  const auto first_nan = std::find_if(x.begin(), x.end(), is_nan<W>);
  if (first_nan != x.end() && (nan_wins || first_nan == x.begin())) {
    return std::size_t(first_nan - x.begin());
  }
  W largest = x[0];
  for (const W value : x) {
    largest = value > largest ? value : largest;
  }
  return std::size_t(std::find(x.begin(), x.end(), largest) - x.begin());
}

inline bool near(Dtype dtype, double a, double b) { return std::fabs(kept(dtype, a - b)) < kept(dtype, 1e-5); }
template <class W>
bool near(Dtype, W a, W b) {
  return a == b;
}

inline double lowest(Dtype dtype, double) {
  switch (dtype) {
    case Dtype::float16:
      return -formats::half.largest();
    case Dtype::bfloat16:
      return -formats::bfloat16.largest();
    case Dtype::float32:
      return -double(std::numeric_limits<float>::max());
    default:
      return -std::numeric_limits<double>::max();
  }
}
inline std::int64_t lowest(Dtype dtype, std::int64_t) {
  return -std::int64_t((std::uint64_t(1) << (8 * poolgrad::item_size(dtype) - 1)) - 1) - 1;
}
inline std::uint64_t lowest(Dtype, std::uint64_t) { return 0; }

template <class W>
W added(Dtype dtype, W a, W b) {
  if constexpr (std::is_same<W, double>::value) {
    return kept(dtype, a + b);
  } else {
    return kept(dtype, W(std::uint64_t(a) + std::uint64_t(b)));
  }
}

// What a call reads, and what it must answer. `slack` is how far an average may be off; empty means not at all.
template <class W>
struct Arrays {
  std::vector<W> input, reference, data;
  std::vector<std::int64_t> index;
};

template <class W>
struct Answer {
  std::vector<W> out;
  std::vector<std::int64_t> index;
  std::vector<long double> exact, slack;
};

// Who is selected, as places in the list of members.
template <class W>
void select(const Problem& p, const std::vector<Member>& members, const std::vector<W>& x, W reference,
            std::int64_t index, std::vector<std::size_t>& chosen) {
  chosen.clear();
  if (p.selector == Selector::first_max || p.selector == Selector::first_nan) {
    chosen.push_back(first_largest(x, p.selector == Selector::first_nan));
    return;
  }
  const W largest = p.selector == Selector::all_equal ? x[first_largest(x, true)] : W(0);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const bool takes = p.selector == Selector::first_equal ? x[k] == reference
                       : p.selector == Selector::all_near  ? near(p.dtype, x[k], reference)
                       : p.selector == Selector::all_equal ? x[k] == largest || (is_nan(x[k]) && is_nan(largest))
                                                           : members[k].offset == index;
    if (takes) {
      chosen.push_back(k);
      if (p.selector == Selector::first_equal) {
        break;
      }
    }
  }
}

// body(flat output position, flat input position of each member) for all outer and inner elements.
template <class Body>
void for_elements(const Problem& p, const Body& body) {
  const Windows windows(p);
  std::vector<std::int64_t> positions;
  windows.for_each([&](std::int64_t output, const std::vector<Member>& members) {
    for (std::int64_t outer = 0; outer < p.outer; ++outer) {
      for (std::int64_t inner = 0; inner < p.inner; ++inner) {
        positions.clear();
        for (const Member& member : members) {
          positions.push_back((outer * p.input_cells() + member.cell) * p.inner + inner);
        }
        body((outer * p.output_cells() + output) * p.inner + inner, members, positions);
      }
    }
  });
}

// The values at these positions, in a list that is used again.
template <class W>
const std::vector<W>& at(const std::vector<W>& values, const std::vector<std::int64_t>& positions,
                         std::vector<W>& taken) {
  taken.clear();
  for (const std::int64_t position : positions) {
    taken.push_back(values[std::size_t(position)]);
  }
  return taken;
}

template <class W>
void answer_maximum(const Problem& p, const Arrays<W>& arrays, Answer<W>& answer) {
  answer.out.resize(std::size_t(p.output_count()));
  answer.index.resize(answer.out.size());
  std::vector<W> x;
  for_elements(p, [&](std::int64_t k, const std::vector<Member>& members, const std::vector<std::int64_t>& positions) {
    at(arrays.input, positions, x);
    W& out = answer.out[std::size_t(k)];
    if (p.selector == Selector::floor) {
      bool whole = p.infinite_floor;
      const std::int64_t cells = p.axis[0].window * p.axis[1].window * p.axis[2].window;
      const bool tabled = p.axis[0].starts || p.axis[1].starts || p.axis[2].starts;
      whole = whole && (tabled || std::int64_t(members.size()) == cells);
      out = whole && is_float(p.dtype) ? W(-std::numeric_limits<double>::infinity()) : lowest(p.dtype, W());
      for (const W value : x) {
        out = value > out ? value : out;
      }
      return;
    }
    const std::size_t best = first_largest(x, p.selector == Selector::first_nan);
    out = x[best];
    const Member& member = members[best];
    const std::int64_t number = p.numbering == Numbering::offset ? member.offset : member.cell;
    const std::int64_t outer = k / (p.output_cells() * p.inner), inner = k % p.inner;
    answer.index[std::size_t(k)] = outer * p.index.outer_step + number * p.index.cell_step + inner * p.index.inner_step;
  });
}

// pick and route by a window's own selector.
template <class W>
void answer_selected(const Problem& p, const Arrays<W>& arrays, Answer<W>& answer) {
  const bool back = p.family == Family::route;
  const bool one = p.selector != Selector::all_equal && p.selector != Selector::all_near;
  answer.out.assign(std::size_t(back ? p.input_count() : p.output_count()), W(0));
  std::vector<W> x;
  std::vector<std::size_t> chosen;
  for_elements(p, [&](std::int64_t k, const std::vector<Member>& members, const std::vector<std::int64_t>& positions) {
    const std::size_t o = std::size_t(k);
    if (!arrays.input.empty()) {
      at(arrays.input, positions, x);
    }
    const W reference = arrays.reference.empty() ? W(0) : arrays.reference[o];
    select(p, members, x, reference, arrays.index.empty() ? -1 : arrays.index[o], chosen);
    for (const std::size_t m : chosen) {
      const std::size_t i = std::size_t(positions[m]);
      if (back) {
        answer.out[i] = added(p.dtype, answer.out[i], arrays.data[o]);
      } else {
        answer.out[o] = one ? arrays.data[i] : added(p.dtype, answer.out[o], arrays.data[i]);
      }
    }
  });
}

template <class W>
void answer_given(const Problem& p, const Arrays<W>& arrays, Answer<W>& answer) {
  const bool back = p.family == Family::route;
  answer.out.assign(std::size_t(back ? p.input_count() : p.output_count()), W(0));
  for (std::int64_t k = 0; k < p.output_count(); ++k) {
    const std::int64_t outer = k / (p.output_cells() * p.inner), inner = k % p.inner;
    const std::int64_t place =
        outer * p.index.outer_step + arrays.index[std::size_t(k)] * p.index.cell_step + inner * p.index.inner_step;
    if (back) {
      W& to = answer.out[std::size_t(place)];
      to = added(p.dtype, to, arrays.data[std::size_t(k)]);
    } else {
      answer.out[std::size_t(k)] = arrays.data[std::size_t(place)];
    }
  }
}

// How far a rounded average may be from the exact one: a rounding to the dtype and those of the sum, of terms whose
// sizes add up to `sizes`.
inline long double slack_of(Dtype dtype, long double exact, std::size_t terms, long double sizes) {
  const int digits[] = {11, 8, 24, 53}, sum_digits[] = {24, 24, 53, 62}, least[] = {-25, -134, -150, -1074};
  const int k = int(dtype);
  return std::ldexp(std::fabs(exact), -digits[k]) + std::ldexp(sizes * (long double)(terms + 4), -sum_digits[k]) +
         std::ldexp(1.0L, least[k]);
}

}  // namespace tests
