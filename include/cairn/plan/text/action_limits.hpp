// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_limits.hpp  How many actions a curve or a picture has, and how many a text lists.
#include <cstddef>
#include <cairn/core/action.hpp>

namespace cairn {

/// The most actions of a curve of memory, and of a picture: an SVG with that many has some megabytes.
inline constexpr std::size_t most_drawn_actions = 200'000;
/// The most actions that are written to a text; a CSV with that many has about 250 MB.
inline constexpr step_index most_written_actions = 10'000'000;

}  // namespace cairn
