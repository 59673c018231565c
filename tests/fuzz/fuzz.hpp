// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the fuzzers of the parsers share. Each is a function for libFuzzer (clang++ -fsanitize=fuzzer) and for the
// driver here, which needs no compiler of its own.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace fuzz {

/// The property of a parser that is tested; ends the program where it does not hold.
inline void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "\nfuzz: does not hold: %s\n", what);
  std::abort();
}

[[nodiscard]] inline std::string_view text_of(std::uint8_t const* data, std::size_t size) noexcept {
  return {reinterpret_cast<char const*>(data), size};
}

/// Whether the exception that is being handled is an `Error` that says something.
template <class Error>
[[nodiscard]] bool is_handling() {
  try {
    throw;
  } catch (Error const& problem) {
    return problem.what()[0] != '\0';
  } catch (...) { return false; }
}

/// Whether `read()` refuses with one of these errors; any other exception ends the program.
template <class... Errors, class Read>
[[nodiscard]] bool refuses(Read const& read) {
  try {
    read();
    return false;
  } catch (...) {
    require((is_handling<Errors>() || ...), "a text is refused by an error of its own type, in words");
    return true;
  }
}

}  // namespace fuzz
