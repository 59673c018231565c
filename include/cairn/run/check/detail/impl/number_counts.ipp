// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/detail/compiler.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cstring>
#include <cairn/run/check/detail/number_lists.hpp>

namespace cairn::detail {

CAIRN_DECL std::size_t count_of(numbers_view x) {
  std::size_t sum = 0;
  x([&](number_run const& run) { sum += run.count; });
  return sum;
}
CAIRN_DECL std::int64_t first_other_number(numbers_view a, numbers_view b) {
  auto const ours = numbers_at(a), theirs = numbers_at(b);
  std::size_t const shared = lesser(theirs.size(), ours.size());
  for (std::size_t k = 0; k < shared; ++k)
    if (std::memcmp(ours[k].at, theirs[k].at, ours[k].bytes) != 0) return std::int64_t(k);
  return ours.size() == theirs.size() ? -1 : std::int64_t(shared);
}

}  // namespace cairn::detail
