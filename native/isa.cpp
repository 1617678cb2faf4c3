#include "isa.h"

#include <cstring>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace poolgrad {

namespace {

// 0 where the system does not say.
long first_cache_bytes() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  return sysconf(_SC_LEVEL1_DCACHE_SIZE);
#else
  return 0;
#endif
}

ByteLines make_byte_lines() {
  ByteLines lines;
  for (int byte = 0; byte < 256; ++byte) {
    std::memset(lines.of[byte], byte, sizeof lines.of[byte]);
  }
  return lines;
}

using Find = Kernels (*)(const Problem&);

template <Find floats, Find halves, Find integers>
Kernels find_part(const Problem& p) {
  const Elements kind = kind_of(p.dtype);
  return kind == Elements::floats ? floats(p) : kind == Elements::halves ? halves(p) : integers(p);
}

bool always() { return true; }

#if defined(POOLGRAD_X86) && (defined(__GNUC__) || defined(__clang__))
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const Isa known[] = {
#if defined(POOLGRAD_X86) && (defined(__GNUC__) || defined(__clang__))
    {"avx512", has_avx512, find_part<avx512_floats::find, avx512_halves::find, avx2_integers::find>},
    {"avx2", has_avx2, find_part<avx2_floats::find, avx2_halves::find, avx2_integers::find>},
#endif
    {"base", always, base::find},
};

}  // namespace

const ByteLines byte_lines = make_byte_lines();

const bool has_wide_first_cache = first_cache_bytes() >= 48 << 10;

Kernels base::find(const Problem& p) { return find_part<base_floats::find, base_halves::find, base_integers::find>(p); }

const Isa* isas(int* count) {
  *count = int(sizeof known / sizeof known[0]);
  return known;
}

const Isa* choose_isa(const char* name) {
  for (const Isa& isa : known) {
    if ((name[0] == '\0' || std::strcmp(name, isa.name) == 0) && isa.is_supported()) {
      return &isa;
    }
  }
  return nullptr;
}

}  // namespace poolgrad
