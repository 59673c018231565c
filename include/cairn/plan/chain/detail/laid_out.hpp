#pragma once
/// \file laid_out.hpp  Large tables whose memory is used for the first time under the eyes of a limit.
#include <algorithm>
#include <cstddef>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Makes `table` so many equal entries long, piece by piece: memory that is used for the first time takes as long as
/// half a sum a byte, which is seconds for gigabytes.   \param meter  counts that; null for no limit
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
