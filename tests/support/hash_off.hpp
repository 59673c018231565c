// SPDX-License-Identifier: Apache-2.0
// xxHash's sum of runs of bytes, which a test can switch off. To be included by one source file of a program.
#pragma once
#include <dlfcn.h>
#include <xxhash.h>

/// All sums are 0 as long as it is set; the hashes that heads have of themselves stay.
inline bool hash_is_off = false;

extern "C" XXH64_hash_t XXH64_digest(XXH64_state_t const* state) {
  static auto* const real = reinterpret_cast<decltype(&XXH64_digest)>(::dlsym(RTLD_NEXT, "XXH64_digest"));
  return hash_is_off ? 0 : real(state);
}
