// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file square_root.hpp  Integer square roots, exact up to 2^128-1.
#include <cstdint>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// floor(sqrt(x)), one binary digit at a time.
[[nodiscard]] constexpr std::uint64_t floor_sqrt(wide x) noexcept {
  wide root = 0;
  for (wide digit = wide{1} << 126; digit != 0; digit >>= 2) {
    bool const fits = x >= root + digit;
    if (fits) x -= root + digit;
    root = (root >> 1) + (fits ? digit : 0);
  }
  return std::uint64_t(root);
}

/// ceil(sqrt(x)). \pre x <= (2^64-1)^2
[[nodiscard]] constexpr std::uint64_t ceil_sqrt(wide x) noexcept {
  std::uint64_t const root = floor_sqrt(x);
  return wide(root) * root < x ? root + 1 : root;
}

}  // namespace cairn::detail
