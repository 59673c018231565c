// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <deque>
#include <valarray>
#include <vector>

#include "array_type.hpp"

namespace {
constexpr std::size_t many = 1'000;
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
}  // namespace

TEST_CASE("array types of the standard library", "[arrays]") {
  check_array_type<std::vector<double>>([] { return std::vector<double>(many); }, by_index, many);
  check_array_type<std::valarray<double>>([] { return std::valarray<double>(many); }, by_index, many);
  check_array_type<std::array<double, many>>([] { return std::array<double, many>{}; }, by_index, many);
}
