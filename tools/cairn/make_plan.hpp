// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file make_plan.hpp  One function for each kind of schedule. Each takes a request that holds the keys its kind needs
/// and no key of other kinds.
#include "planning.hpp"

namespace tool {

[[nodiscard]] planned revolve_plan(request const& asked);
[[nodiscard]] planned uniform_plan(request const& asked);  ///< also for store_all
[[nodiscard]] planned two_level_plan(request const& asked);
[[nodiscard]] planned online_plan(request const& asked);
[[nodiscard]] planned multistage_plan(request const& asked);
[[nodiscard]] planned hrevolve_plan(request const& asked);
[[nodiscard]] planned disk_revolve_plan(request const& asked);
[[nodiscard]] planned mixed_plan(request const& asked);
[[nodiscard]] planned bptt_plan(request const& asked);
[[nodiscard]] planned runge_kutta_plan(request const& asked);
[[nodiscard]] planned action_list_plan(request const& asked);

}  // namespace tool
