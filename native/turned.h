// Channels first: some slices at a time are turned into inner elements of their cells, taken as those are, and the
// result is turned back. Instruction sets say where that is worth it (turned.inc).
#pragma once

#include "problem.h"

namespace poolgrad {

class Turned {
 public:
  Turned(const Problem& problem, const Buffers& buffers, const Kernels& kernels, int threads);

  bool suits() const { return slices_ >= least_slices; }
  std::int64_t count() const { return (p_.outer + slices_ - 1) / slices_; }
  // Fills the slices of a piece; answers like a kernel.
  std::int64_t fill(std::int64_t number, Watch* watch) const;

 private:
  static constexpr std::int64_t least_slices = 8;  // that are worth it

  // What an array has of a slice, and its bytes for some of them.
  struct Array {
    std::int64_t elements = 0, item = 1;
    std::int64_t bytes(std::int64_t slices) const { return (elements * slices * item + 63) / 64 * 64; }
  };
  // Memory of a piece, taken bit by bit.
  struct Room {
    char* next;
    std::int64_t slices;
    char* take(const Array& array) {
      char* const place = array.elements > 0 ? next : nullptr;
      next += array.bytes(slices);
      return place;
    }
  };

  const void* turn_in(const void* from, const Array& array, std::int64_t first, std::int64_t own, Room& room) const;
  void turn_out(const void* from, const Array& array, std::int64_t first, std::int64_t own, void* to, bool streams,
                void* waiting) const;

  const Problem& p_;
  const Buffers& buffers_;
  const Kernels& kernels_;
  bool streams_ = false;
  Array input_, reference_, index_, data_, out_, out_index_, waiting_;
  std::int64_t slices_ = 0;  // of a piece
};

}  // namespace poolgrad
