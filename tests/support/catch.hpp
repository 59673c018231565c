// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one place that knows which Catch2 there is: tests include this file only.

#if __has_include(<catch2/catch_test_macros.hpp>)  // Catch2 3
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;  // as in Catch2 2
#else
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
namespace Catch::Matchers {  // by its name in Catch2 3
inline auto ContainsSubstring(std::string const& part) { return Contains(part); }
template <std::size_t N>
auto Contains(char const (&part)[N]) = delete;  // in Catch2 3 it is for containers only
}  // namespace Catch::Matchers
#endif

#include <cstdio>

/// First statement of a test case that this machine cannot run: leaves it, and CTest counts it as skipped.
#define CAIRN_SKIP(why)                                      \
  do {                                                       \
    std::printf("cairn: skipped: %s\n", why);                \
    return;                                                  \
  } while (false)
