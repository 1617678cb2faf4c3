#include "turned.h"

#include <algorithm>

namespace poolgrad {

namespace {

constexpr std::int64_t block = 16;                               // slices that fill vectors
constexpr std::int64_t most_slices = 64;                         // at a time
constexpr std::int64_t most_bytes = std::int64_t(4) << 20;       // of the arrays of a piece
constexpr std::int64_t fitting_bytes = std::int64_t(640) << 10;  // in the second cache

std::int64_t whole_blocks(std::int64_t slices) { return (slices + block - 1) / block * block; }

}  // namespace

Turned::Turned(const Problem& problem, const Buffers& buffers, const Kernels& kernels, int threads)
    : p_(problem), buffers_(buffers), kernels_(kernels) {
  if (kernels.turn == nullptr || p_.outer < least_slices) {
    return;
  }
  const std::int64_t item = item_size(p_.dtype), index_item = item_size(p_.index_dtype);
  const std::int64_t cells = p_.input_cells(), windows = p_.output_cells();
  if (cells == 0 || windows == 0) {
    return;
  }
  const bool back = goes_back(p_);
  const Reads reads = reads_of(p_);
  input_ = {reads.input ? cells : 0, item};
  reference_ = {reads.reference ? windows : 0, item};
  index_ = {reads.index ? windows : 0, index_item};
  data_ = {!reads.data ? 0 : back ? windows : cells, item};
  out_ = {back ? cells : windows, item};
  const bool tells = p_.selector != Selector::floor && buffers.out_index != nullptr;
  out_index_ = {p_.family == Family::maximum && tells ? windows : 0, index_item};
  streams_ = is_streamed(p_.outer * out_.elements * item);
  const bool has_lines = reinterpret_cast<std::uintptr_t>(buffers.out) % 64 == 0 && out_.elements * item % 64 == 0;
  waiting_ = {streams_ && !(has_lines && item * block >= 64) ? out_.elements : 0, item};
  std::int64_t bytes = 0;
  for (const Array* array : {&input_, &reference_, &index_, &data_, &out_, &out_index_}) {
    bytes += array->bytes(1);
  }
  const std::int64_t share = (p_.outer + threads - 1) / threads;
  const std::int64_t fitting = std::max(fitting_bytes / bytes / block * block, block);
  slices_ = std::min({p_.outer, most_slices, fitting, most_bytes / bytes, std::max(share, least_slices)});
}

std::int64_t Turned::fill(std::int64_t number, Watch* watch) const {
  const std::int64_t first = number * slices_, own = std::min(slices_, p_.outer - first);
  Problem turned = p_;
  turned.outer = 1;
  turned.inner = whole_blocks(own);
  turned.index.inner_step = 0;
  std::int64_t bytes = 0;
  for (const Array* array : {&input_, &reference_, &index_, &data_, &out_, &out_index_, &waiting_}) {
    bytes += array->bytes(turned.inner);
  }
  Room room = {static_cast<char*>(thread_scratch(bytes, true)), turned.inner};
  if (room.next == nullptr) {
    return no_memory;
  }
  const Buffers here = {turn_in(buffers_.input, input_, first, own, room),
                        turn_in(buffers_.reference, reference_, first, own, room),
                        turn_in(buffers_.index, index_, first, own, room),
                        turn_in(buffers_.data, data_, first, own, room),
                        room.take(out_),
                        room.take(out_index_)};
  const auto extent = [&](int a) { return goes_back(p_) ? p_.axis[a].size : p_.axis[a].outputs; };
  const Tile tile = {{0, 0, 0, 0, 0}, {1, extent(0), extent(1), extent(2), turned.inner}, watch};
  const std::int64_t answer = kernels_.fill(turned, here, tile);
  if (answer == -1 && !(watch != nullptr && is_stopped(watch))) {
    turn_out(here.out, out_, first, own, buffers_.out, streams_, room.take(waiting_));
    turn_out(here.out_index, out_index_, first, own, buffers_.out_index, false, nullptr);
  }
  return answer;
}

const void* Turned::turn_in(const void* from, const Array& array, std::int64_t first, std::int64_t own,
                            Room& room) const {
  char* const to = room.take(array);
  if (to != nullptr) {
    const char* const start = static_cast<const char*>(from) + first * array.elements * array.item;
    kernels_.turn({start, own, array.elements, array.elements, to, room.slices, array.item, true, false, nullptr});
  }
  return to;
}

void Turned::turn_out(const void* from, const Array& array, std::int64_t first, std::int64_t own, void* to,
                      bool streams, void* waiting) const {
  if (from != nullptr) {
    char* const start = static_cast<char*>(to) + first * array.elements * array.item;
    kernels_.turn(
        {from, array.elements, own, whole_blocks(own), start, array.elements, array.item, false, streams, waiting});
  }
}

}  // namespace poolgrad
