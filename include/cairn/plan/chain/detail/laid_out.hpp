// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file laid_out.hpp  Allocates large tables under a limit of work.
#include <algorithm>
#include <cstddef>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Resizes `table` to `count` equal entries, piece by piece. Memory takes time when it is first used, about half a sum
/// per byte, which is seconds for gigabytes.   \param meter  counts that work; null for no limit
/// \throws too_much_work
template <class T>
void lay_out(value_list<T>& table, std::size_t count, work_meter* meter, T const& value = {}) {
  constexpr std::size_t piece = (std::size_t{1} << 20) / sizeof(T);
  table.clear();
  table.reserve(count);
  while (table.size() < count) {
    std::size_t const more = (std::min)(piece, count - table.size());
    table.resize(table.size() + more, value);
    count_work(meter, wide(more) * sizeof(T) / 2);
  }
}

}  // namespace cairn::detail
