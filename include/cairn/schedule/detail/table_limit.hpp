// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file table_limit.hpp  The limit on the table of a plan, checked before any of it is allocated.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// 2 GiB: the default limit.
inline constexpr wide most_table_bytes = wide{1} << 31;

/// \param who  the public name that needs the table   \param bytes  its size   \param most  the limit
/// \throws invalid_plan   unless bytes <= most
constexpr void check_table(char const* who, step_index steps, wide bytes, wide most) {
  if (bytes > most)
    throw invalid_plan{who,
                       "the table of this plan does not fit",
                       {{"steps", steps}, {"table bytes", bytes}, {"most table bytes", most}},
                       "allow more by most_table_bytes, or give fewer steps or slots"};
}

}  // namespace cairn::detail
