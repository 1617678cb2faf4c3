// Sizes and windows the families are tried on: odd and prime sizes first, each a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "problem.h"

namespace tests {

using poolgrad::Axis;
using poolgrad::Problem;

// A number that the cells of each window divide: tables have windows of at most four.
inline std::int64_t common_cells(const Axis& axis) {
  if (axis.divisor > 0) {
    return axis.divisor;
  }
  std::int64_t common = 1;
  const std::int64_t most = axis.counted < 0 ? std::min(axis.window, axis.size) : axis.window;
  for (std::int64_t k = 1; k <= (axis.starts != nullptr ? 4 : most); ++k) {
    common = std::lcm(common, k);
  }
  return common;
}

struct Geometry {
  std::string name;
  std::int64_t outer;
  std::vector<Axis> axes;  // 1 to 3, the last ones of a problem
  std::int64_t inner;

  Problem problem() const {
    Problem p;
    p.outer = outer;
    p.inner = inner;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      p.axis[3 - axes.size() + a] = axes[a];
      p.common_count *= double(common_cells(axes[a]));
    }
    return p;
  }
  bool has_table() const {
    for (const Axis& axis : axes) {
      if (axis.starts != nullptr) {
        return true;
      }
    }
    return false;
  }
};

// An axis with as many outputs as fit, `pad` cells before it and `after` cells behind it.
inline Axis axis(std::int64_t size, std::int64_t window, std::int64_t stride, std::int64_t pad = 0,
                 std::int64_t after = 0, std::int64_t dilation = 1) {
  const std::int64_t room = size + pad + after - (window - 1) * dilation - 1;
  return {size, room < 0 ? 0 : room / stride + 1, window, stride, pad, dilation, nullptr, nullptr};
}

// The same, of which averages count the padding, `after` cells of it behind the axis; or which they divide by a number.
inline Axis counted(Axis made, std::int64_t after) {
  made.counted = after;
  return made;
}
inline Axis divided(Axis made, std::int64_t divisor) {
  made.divisor = divisor;
  return made;
}

// An axis whose windows stand in a table: steps of 1, 2, 2, 1, 2, ... cells, each window `extra` cells longer than its
// step.
inline Axis tabled_axis(std::int64_t size, std::int64_t extra) {
  static std::list<std::vector<std::int64_t>> tables;
  std::vector<std::int64_t> starts, stops;
  for (std::int64_t start = 0, k = 0; start < size; ++k) {
    const std::int64_t next = start + (k % 3 == 0 ? 1 : 2);
    starts.push_back(start);
    stops.push_back(next + extra < size ? next + extra : size);
    start = next;
  }
  Axis made = {size, std::int64_t(starts.size()), 1, 1, 0, 1, nullptr, nullptr};
  made.starts = tables.emplace_back(starts).data();
  made.stops = tables.emplace_back(stops).data();
  return made;
}

inline std::vector<Geometry> small_geometries() {
  return {
      {"line", 3, {axis(13, 3, 2)}, 1},
      {"line inner 3", 2, {axis(13, 3, 2, 1, 1)}, 3},
      {"plane inner 70", 2, {axis(5, 2, 2, 0, 1), axis(7, 3, 2, 1, 1)}, 70},
      {"wide rows", 1, {axis(5, 3, 1, 1, 1), axis(139, 5, 1, 2, 2)}, 1},
      {"wide rows, many lines", 1, {axis(7, 5, 1, 2, 2), axis(139, 6, 1, 2, 3)}, 1},
      {"wide rows, many lines of volumes", 1, {axis(2, 4, 1, 1, 2), axis(5, 5, 1, 2, 2), axis(131, 17, 1, 8, 8)}, 1},
      {"gaps between windows", 2, {axis(7, 2, 3), axis(211, 2, 3, 1, 1)}, 1},
      {"volume", 2, {axis(5, 2, 1, 1, 0), axis(7, 3, 2, 1, 1), axis(11, 3, 1, 1, 1)}, 1},
      {"volume inner 3, dilated", 1, {axis(7, 2, 1, 0, 0, 2), axis(5, 2, 2, 0, 1), axis(11, 3, 1, 2, 1, 3)}, 3},
      {"dilated rows", 1, {axis(3, 2, 1), axis(71, 3, 2, 2, 2, 2)}, 1},
      {"table", 2, {tabled_axis(7, 1), tabled_axis(11, 1)}, 1},
      {"table inner 3", 1, {tabled_axis(5, 0), tabled_axis(7, 1)}, 3},
      {"window beyond the axis", 2, {axis(3, 7, 1, 3, 3), axis(5, 11, 1, 5, 5)}, 3},
      {"fewer cells than a stride has", 2, {axis(1, 3, 2, 2, 4, 2)}, 1},
      {"fewer cells than a stride has, planes", 2, {axis(2, 3, 3, 2, 2), axis(2, 3, 3, 2, 2)}, 1},
      {"shifted to the right", 1, {axis(17, 2, 5, -1, -1)}, 1},
      {"whole vectors", 1, {axis(5, 2, 2, 0, 1), axis(6, 2, 2)}, 64},
      {"whole vectors, shared rows", 1, {axis(7, 3, 2, 1, 1), axis(9, 3, 2, 1, 1)}, 96},
      {"whole vectors, volume", 1, {axis(5, 3, 1, 1, 1), axis(4, 3, 2, 1, 1), axis(5, 3, 1, 1, 1)}, 32},
      {"whole vectors, volume without padding", 1, {axis(5, 3, 1), axis(6, 3, 1), axis(9, 3, 1)}, 32},
      {"whole vectors, tiled volume", 2, {axis(5, 2, 2), axis(5, 2, 2, 0, 1), axis(9, 2, 2, 1, 0)}, 64},
      {"whole vectors, gaps", 1, {axis(8, 2, 3), axis(12, 2, 3, -1, -1)}, 128},
      {"whole vectors, same windows", 1, {axis(7, 4, 2, 1, 1), axis(12, 4, 2, 1, 1)}, 64},
      {"whole vectors, dilated", 1, {axis(7, 2, 2, 0, 0, 2), axis(13, 2, 4, 1, 1, 3)}, 64},
      {"whole vectors, five by five", 1, {axis(8, 5, 1, 2, 2), axis(11, 5, 1, 2, 2)}, 64},
      {"whole vectors, large windows", 1, {axis(9, 7, 1, 3, 3), axis(47, 9, 2, 4, 4)}, 32},
      {"whole vectors, windows over several blocks", 1, {axis(17, 5, 1, 1, 3), axis(23, 7, 2, 3, 2)}, 32},
      {"whole vectors, window beyond the axis", 1, {axis(3, 7, 1, 3, 3), axis(5, 11, 1, 5, 5)}, 48},
      {"many vectors, five by five", 2, {axis(8, 5, 1, 2, 2), axis(9, 5, 1, 2, 2)}, 160},
      {"many vectors, long windows", 1, {axis(15, 13, 1, 6, 6), axis(17, 13, 1, 6, 6)}, 128},
      {"many vectors, pieces", 1, {axis(5, 7, 1, 3, 3), axis(6, 9, 2, 4, 4)}, 640},
      {"whole vectors, overlapping volume", 1, {axis(4, 3, 1, 1, 1), axis(9, 3, 1, 1, 1), axis(8, 3, 1, 1, 1)}, 160},
      {"whole vectors, wide volume", 1, {axis(3, 3, 1, 1, 1), axis(6, 3, 1, 1, 1), axis(53, 3, 1, 1, 1)}, 64},
      {"whole vectors, three by three", 2, {axis(7, 3, 1, 1, 1), axis(9, 3, 1, 1, 1)}, 48},
      {"whole vectors, three by three, several lines", 1, {axis(6, 3, 1, 1, 0), axis(11, 3, 1, 0, 1)}, 96},
      {"many vectors, three by three, pieces", 1, {axis(4, 3, 1, 1, 1), axis(7, 3, 1, 1, 1)}, 544},
      {"many vectors, volume, pieces", 1, {axis(3, 3, 1, 1, 1), axis(4, 3, 1, 1, 1), axis(6, 3, 1, 1, 1)}, 544},
      {"whole vectors, three by three, few lines", 2, {axis(5, 3, 2, 0, 1), axis(8, 3, 2, 1, 0)}, 56},
      {"whole vectors, shared planes", 1, {axis(7, 3, 2, 0, 1), axis(8, 3, 2, 1, 1), axis(9, 3, 2, 2, 0)}, 32},
      {"whole vectors, few shared planes", 2, {axis(3, 3, 2, 1, 1), axis(4, 3, 2, 1, 1), axis(5, 3, 2, 1, 1)}, 16},
      {"whole vectors, columns two apart", 1, {axis(4, 2, 1, 1, 0), axis(6, 3, 1, 1, 1), axis(11, 3, 2, 2, 1)}, 64},
      {"whole vectors, pairs of planes", 1, {axis(4, 2, 2), axis(9, 3, 2, 1, 1), axis(12, 3, 2, 0, 1)}, 64},
      {"whole vectors, two columns", 2, {axis(7, 3, 2, 1, 1), axis(2, 3, 2, 2, 2)}, 64},
      {"whole vectors, table", 1, {tabled_axis(5, 0), tabled_axis(9, 1)}, 64},
      {"whole vectors, table of windows apart", 2, {tabled_axis(7, 0), tabled_axis(11, 0)}, 64},
      {"whole vectors, planes in no window", 1, {axis(4, 1, 2), axis(5, 2, 1), axis(6, 3, 1, 1, 1)}, 64},
      {"whole vectors, whole slices", 2, {axis(11, 11, 1), axis(9, 9, 9)}, 64},
      {"whole vectors, whole planes", 2, {axis(5, 2, 1), axis(7, 7, 1), axis(7, 7, 7)}, 48},
      {"many vectors, whole planes", 1, {axis(4, 3, 1), axis(3, 3, 3), axis(27, 27, 1)}, 320},
      {"whole vectors, long tiles", 1, {axis(13, 9, 9, 2, 3), axis(21, 10, 11, 1, 2)}, 48},
      {"few whole vectors", 2, {axis(5, 2, 3, 0, 1), axis(4, 2, 2)}, 16},
      {"few whole vectors, volume", 1, {axis(5, 2, 2, 1, 1), axis(4, 2, 4, 1, 0, 2), axis(5, 2, 2, 1, 0)}, 16},
      {"pieces of inner", 1, {axis(3, 2, 1), axis(4, 3, 1, 1, 1)}, 300},
      {"many windows over a cell", 2, {axis(9, 5, 1, 2, 2), axis(11, 5, 1, 2, 2)}, 3},
      {"many windows over a cell, volume", 1, {axis(5, 3, 1, 1, 1), axis(6, 4, 1, 1, 2), axis(7, 3, 1, 1, 1)}, 1},
      {"many windows over a cell, one element more than lanes", 1, {axis(5, 5, 1, 2, 2), axis(6, 5, 1, 2, 2)}, 129},
      {"many windows over a cell, slices", 6, {axis(7, 7, 1, 3, 3), axis(9, 5, 1, 2, 2)}, 1},
      {"many windows over a cell, dilated slices", 5, {axis(9, 7, 1, 5, 4, 2), axis(13, 9, 2, 4, 4)}, 1},
      {"many slices", 37, {axis(5, 3, 2, 1, 1), axis(7, 3, 2, 1, 1)}, 1},
      {"many slices, table", 37, {tabled_axis(4, 1), tabled_axis(7, 1), tabled_axis(9, 0)}, 1},
      {"many slices, large windows", 21, {axis(7, 9, 1, 4, 4), axis(11, 7, 1, 3, 3)}, 1},
      {"many slices, five by four", 19, {axis(7, 5, 1, 2, 2), axis(9, 4, 1, 1, 2)}, 1},
      {"many slices, long steps", 21, {axis(7, 3, 2, 1, 1), axis(35, 9, 5, 2, 3)}, 1},
      {"many slices, tiled", 50, {axis(4, 2, 2), axis(4, 2, 2), axis(6, 2, 2)}, 1},
      {"rows of windows", 2, {axis(8, 3, 2, 1, 1), axis(67, 3, 2, 1, 1)}, 1},
      {"rows of windows, tiled volume", 2, {axis(4, 2, 2), axis(5, 2, 2, 1, 0), axis(64, 2, 2)}, 1},
      {"rows of windows, volume", 1, {axis(5, 3, 2, 1, 1), axis(9, 3, 2, 0, 1), axis(48, 3, 2, 0, 1)}, 1},
      {"rows of windows, cells in none", 3, {axis(8, 3, 2), axis(46, 3, 2)}, 1},
      {"rows of windows, much padding", 1, {axis(4, 3, 2, 2, 2), axis(7, 3, 2, 2, 0), axis(65, 3, 2, 2, 1)}, 1},
      {"rows of windows, one cell apart", 3, {axis(8, 3, 1, 1, 1), axis(37, 3, 1, 1, 1)}, 1},
      {"rows of windows, volume, one cell apart",
       1,
       {axis(6, 3, 1, 1, 1), axis(7, 3, 1, 1, 1), axis(19, 3, 1, 1, 1)},
       1},
      {"rows of windows, volume of nine", 1, {axis(4, 1, 1), axis(5, 3, 1, 0, 1), axis(40, 3, 1, 2, 2)}, 1},
      {"rows of windows, other windows", 1, {axis(5, 2, 1, 1, 0), axis(9, 2, 3, 1, 0), axis(51, 4, 2, 1, 2)}, 1},
      {"rows of windows, dilated", 1, {axis(7, 2, 2, 1, 0, 2), axis(11, 2, 1, 1, 1, 3), axis(64, 3, 2, 1, 0)}, 1},
      {"rows of windows, as many as cells, dilated", 2, {axis(6, 3, 1, 1, 1), axis(23, 3, 1, 2, 2, 2)}, 1},
      {"as many windows as cells, inner 5", 2, {axis(6, 3, 1, 1, 1), axis(11, 3, 1, 1, 1)}, 5},
      {"as many windows as cells, dilated, inner 48", 1, {axis(7, 2, 1, 0, 1), axis(9, 3, 1, 2, 2, 2)}, 48},
      {"mostly alike", 2, {axis(6, 5, 1, 2, 2), axis(9, 5, 1, 2, 2)}, 128},
      {"mostly alike, fewer windows than cells", 2, {axis(8, 5, 1), axis(11, 4, 1)}, 192},
      {"mostly alike, volume", 1, {axis(4, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), axis(6, 3, 1, 1, 1)}, 128},
      {"mostly alike, 144 cells", 1, {axis(13, 12, 1, 6, 5), axis(14, 12, 1, 5, 6)}, 128},
      {"pairs", 3, {axis(5, 2, 2), axis(67, 2, 2)}, 1},
      {"pairs, volume", 2, {axis(5, 2, 2), axis(6, 2, 2), axis(64, 2, 2)}, 1},
      {"whole slices", 37, {axis(7, 7, 1), axis(5, 5, 5)}, 1},
      {"whole volumes of short rows", 19, {axis(3, 3, 1), axis(4, 4, 4), axis(5, 7, 1, 1, 1)}, 1},
      {"long tiles", 9, {axis(6, 2, 3), axis(7, 3, 4, 1, 1), axis(45, 9, 11, 1, 0)}, 1},
      {"tiles of three", 5, {axis(4, 2, 2), axis(6, 3, 3), axis(10, 3, 3)}, 1},
      {"far apart", 1, {axis(9, 2, 4), axis(40, 3, 11, 1, 1)}, 5},
      {"padding counts", 2, {counted(axis(7, 3, 2, 1, 1), 1), counted(axis(9, 3, 1, 1, 1), 1)}, 3},
      {"padding counts, windows beyond it", 1, {counted(axis(6, 3, 2, 1, 2), 1), counted(axis(70, 4, 3, 2, 3), 2)}, 1},
      {"padding counts, volume",
       2,
       {counted(axis(5, 3, 2, 1, 1), 1), axis(5, 2, 1), counted(axis(7, 3, 1, 1, 1), 1)},
       1},
      {"padding counts, windows of the same cells",
       2,
       {counted(axis(1, 4, 2, 2, 3), 2), counted(axis(1, 4, 2, 2, 3), 2), axis(19, 3, 1, 1, 1)},
       1},
      {"whole vectors, padding counts, windows of the same cells",
       1,
       {counted(axis(1, 4, 2, 2, 3), 2), counted(axis(1, 4, 2, 2, 3), 2), counted(axis(2, 5, 1, 2, 4), 2)},
       64},
      {"a divisor", 2, {divided(axis(7, 3, 2, 1, 1), 1), divided(axis(9, 3, 1, 1, 1), 5)}, 1},
      {"a divisor, table", 1, {divided(tabled_axis(5, 0), 1), divided(tabled_axis(7, 1), 7)}, 3},
      {"whole vectors, padding counts", 1, {counted(axis(7, 3, 2, 1, 2), 1), counted(axis(9, 3, 1, 1, 1), 1)}, 64},
      {"whole vectors, tiled, padding counts", 1, {counted(axis(6, 2, 2, 1, 1), 1), axis(8, 2, 2)}, 64},
      {"whole vectors, a divisor", 1, {divided(axis(6, 2, 2), 1), divided(axis(8, 2, 2), 3)}, 64},
      {"one cell", 1, {axis(1, 1, 1)}, 1},
      {"no outer", 0, {axis(5, 3, 1)}, 3},
      {"no inner", 2, {axis(5, 3, 1), axis(5, 3, 1)}, 0},
      {"no outputs", 2, {axis(5, 3, 1), axis(2, 3, 1)}, 3},
      {"no cells", 2, {axis(0, 3, 1), axis(5, 3, 1)}, 1},
  };
}

// A window of more than 2^32 cells, nearly all of them in the padding: places need 64 bits.
inline Geometry huge_window() {
  return {"huge window", 1, {axis(3, 70001, 2, 70000, 3), axis(5, 70001, 7, 70000, 9)}, 3};
}

// Enough work for several threads, and rows that tiles cut.
inline Geometry shared_work() { return {"cut rows", 1, {axis(7, 3, 2, 1, 1), axis(67, 5, 1, 2, 2)}, 70}; }

inline std::vector<Geometry> large_geometries() {
  return {
      {"long line", 1, {axis(40009, 17, 2, 8, 8)}, 1},
      {"cut inner", 1, {axis(5, 3, 1, 1, 1), axis(29, 3, 1)}, 300},
      {"cut volume", 2, {axis(7, 2, 1, 1, 0), axis(13, 3, 1, 2, 2, 2), axis(101, 3, 2, 1, 1)}, 1},
      {"cut bands", 1, {axis(3, 3, 1, 1, 1), axis(71, 3, 2, 1, 1), axis(1501, 3, 2, 1, 1)}, 1},
      {"cut bands, whole vectors", 1, {axis(4, 3, 1, 1, 1), axis(37, 3, 1, 1, 1), axis(53, 3, 1, 1, 1)}, 64},
      {"cut table", 1, {tabled_axis(37, 1), tabled_axis(211, 1)}, 37},
      {"windows apart", 5, {axis(101, 3, 3), axis(541, 2, 2)}, 1},
      {"cut planes, one cell apart", 3, {axis(211, 3, 1, 1, 1), axis(331, 3, 1, 1, 1)}, 1},
      {"cut rows and bands of whole vectors", 1, {axis(3, 3, 1, 1, 1), axis(43, 3, 1, 1, 1), axis(37, 3, 1, 1, 1)}, 64},
      {"cut lines, volume", 1, {axis(3, 3, 1, 1, 1), axis(61, 3, 1, 1, 1), axis(331, 3, 1, 1, 1)}, 1},
  };
}

}  // namespace tests
