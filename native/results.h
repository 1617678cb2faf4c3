// Memory of large results. Touching new pages costs more than pooling does, so the memory of a result that has died is
// kept for the next one of about its size. What is kept has a bound, is offered to the system as soon as it lies idle,
// and goes back for good after some seconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poolgrad {

// Smaller results are left to the ordinary allocator, which reuses memory of that size by itself.
constexpr std::size_t least_pooled_bytes = std::size_t(1) << 20;

// Is there a pool on this system?
bool has_result_pool();

// How many bytes may lie idle; 0 keeps none.
void set_result_pool(std::size_t bytes);
std::size_t result_pool_bytes();

// How many bytes lie idle now.
std::size_t idle_result_bytes();

// Gives all idle memory back to the system.
void release_results();

// Memory for a result, or null. It starts at a multiple of 64 bytes, half a page away from `near` counted modulo the
// page: a processor takes a load and a store for related whose addresses agree there, and waits.
void* take_result(std::size_t bytes, const void* near);

// The same memory with room for so many bytes, or other memory with the same contents, or null with nothing changed.
void* resize_result(void* data, std::size_t bytes);

// The end of a result. Null is fine.
void give_back_result(void* data);

}  // namespace poolgrad
