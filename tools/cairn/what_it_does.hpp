// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file what_it_does.hpp  Describes in a sentence or two what a plan keeps, and when.
#include <string>
#include "planning.hpp"

namespace tool {

[[nodiscard]] std::string what_it_does(planned const& found);

/// How many states it keeps in which places, for example "3 states in memory and 10 states on disk".
[[nodiscard]] std::string places(planned const& found);

}  // namespace tool
