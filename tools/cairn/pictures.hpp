#pragma once
/// \file pictures.hpp  A plan as pictures: what is run when, and how much memory is held.
#include <string>
#include "planning.hpp"

namespace tool {

/// \throws cairn::invalid_plan   for plans with more actions than a picture shows
[[nodiscard]] std::string schedule_svg(planned const& found);
[[nodiscard]] std::string schedule_picture(planned const& found);
/// In states where the size of one is not given.
[[nodiscard]] std::string memory_svg(planned const& found);

}  // namespace tool
