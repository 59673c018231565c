// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file what_it_does.hpp  Describes in a sentence or two what a plan keeps, and when.
#include <string>
#include "planning.hpp"

namespace tool {

[[nodiscard]] std::string what_it_does(planned const& found);

}  // namespace tool
