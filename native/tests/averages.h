// mean and spread from their definitions. Floats are summed in long double and compared with a bound on the rounding;
// integers follow the rule that is part of their definition: sums wrap, shares are doubles added in the order of the
// outputs.
#pragma once

#include "naive.h"

namespace tests {

// What the average of an output, an element by its flat position, divides by.
inline std::int64_t divisor_at(const Problem& p, std::int64_t element) {
  std::int64_t cell = p.inner > 0 ? element / p.inner : 0, divisor = 1;
  for (int a = 2; a >= 0; --a) {
    const std::int64_t output = cell % p.axis[a].outputs;
    cell /= p.axis[a].outputs;
    divisor *= divisor_along(p.axis[a], output, members_along(p.axis[a], output).size());
  }
  return divisor;
}

inline void answer_mean(const Problem& p, const Arrays<double>& arrays, Answer<double>& answer) {
  answer.exact.resize(std::size_t(p.output_count()));
  answer.slack.resize(answer.exact.size());
  std::vector<double> taken;
  for_elements(p, [&](std::int64_t k, const std::vector<Member>&, const std::vector<std::int64_t>& positions) {
    long double sum = 0, sizes = 0;
    for (const double x : at(arrays.input, positions, taken)) {
      sum += x;
      sizes += std::fabs(x);
    }
    const long double count = (long double)(divisor_at(p, k));
    answer.exact[std::size_t(k)] = sum / count;
    answer.slack[std::size_t(k)] = slack_of(p.dtype, sum / count, positions.size(), sizes / count);
  });
}

inline void answer_mean(const Problem& p, const Arrays<std::int64_t>& arrays, Answer<std::int64_t>& answer) {
  answer.out.resize(std::size_t(p.output_count()));
  std::vector<std::int64_t> taken;
  for_elements(p, [&](std::int64_t k, const std::vector<Member>&, const std::vector<std::int64_t>& positions) {
    std::int64_t sum = 0;
    for (const std::int64_t x : at(arrays.input, positions, taken)) {
      sum = added(p.dtype, sum, x);
    }
    answer.out[std::size_t(k)] = sum / divisor_at(p, k);
  });
}

inline void answer_spread(const Problem& p, const Arrays<double>& arrays, Answer<double>& answer) {
  const std::size_t cells = std::size_t(p.input_count());
  std::vector<long double> sizes(cells);
  std::vector<std::size_t> terms(cells);
  answer.exact.resize(cells);
  for_elements(p, [&](std::int64_t k, const std::vector<Member>&, const std::vector<std::int64_t>& positions) {
    const long double share = (long double)(arrays.data[std::size_t(k)]) / (long double)(divisor_at(p, k));
    for (const std::int64_t position : positions) {
      answer.exact[std::size_t(position)] += share;
      sizes[std::size_t(position)] += std::fabs(share);
      ++terms[std::size_t(position)];
    }
  });
  for (std::size_t i = 0; i < cells; ++i) {
    answer.slack.push_back(slack_of(p.dtype, answer.exact[i], terms[i], sizes[i]));
  }
}

inline void answer_spread(const Problem& p, const Arrays<std::int64_t>& arrays, Answer<std::int64_t>& answer) {
  std::vector<double> shares(std::size_t(p.input_count()));
  for_elements(p, [&](std::int64_t k, const std::vector<Member>&, const std::vector<std::int64_t>& positions) {
    const double share = double(arrays.data[std::size_t(k)]) / double(divisor_at(p, k));
    for (const std::int64_t position : positions) {
      shares[std::size_t(position)] += share;
    }
  });
  const double limit = -double(lowest(p.dtype, std::int64_t()));
  for (const double share : shares) {
    const bool fits = share >= -limit && share < limit;
    answer.out.push_back(fits ? std::int64_t(share) : lowest(p.dtype, std::int64_t()));
  }
}

inline void answer_mean(const Problem&, const Arrays<std::uint64_t>&, Answer<std::uint64_t>&) {}
inline void answer_spread(const Problem&, const Arrays<std::uint64_t>&, Answer<std::uint64_t>&) {}

template <class W>
Answer<W> answer_of(const Problem& p, const Arrays<W>& arrays) {
  Answer<W> answer;
  if (p.family == Family::mean) {
    answer_mean(p, arrays, answer);
  } else if (p.family == Family::spread) {
    answer_spread(p, arrays, answer);
  } else if (p.family == Family::maximum) {
    answer_maximum(p, arrays, answer);
  } else if (p.selector == Selector::given) {
    answer_given(p, arrays, answer);
  } else {
    answer_selected(p, arrays, answer);
  }
  return answer;
}

}  // namespace tests
