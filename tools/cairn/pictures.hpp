// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pictures.hpp  A plan as pictures: what runs when, and how much memory is held.
#include <string>
#include "planning.hpp"

namespace tool {

/// \throws cairn::invalid_plan   for plans with more actions than a picture can show
[[nodiscard]] std::string schedule_svg(planned const& found);
[[nodiscard]] std::string schedule_picture(planned const& found);
/// Memory in bytes; in states if the size of a state is not given.
[[nodiscard]] std::string memory_svg(planned const& found);

}  // namespace tool
