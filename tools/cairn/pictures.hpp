// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pictures.hpp  A plan as pictures: what runs when, how much memory is held, and what for.
#include <string>
#include <string_view>
#include "planning.hpp"

namespace tool {

/// \throws cairn::invalid_plan   for plans with more actions than a picture can show
[[nodiscard]] std::string schedule_svg(planned const& found, std::string_view title);
[[nodiscard]] std::string schedule_picture(planned const& found);
/// Memory in bytes; in states if the size of a state is not given.
[[nodiscard]] std::string memory_svg(planned const& found, std::string_view title);
[[nodiscard]] std::string memory_picture(planned const& found);
/// Memory by purpose, action by action.
[[nodiscard]] std::string parts_svg(planned const& found, std::string_view title);

}  // namespace tool
