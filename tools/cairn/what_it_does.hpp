#pragma once
/// \file what_it_does.hpp  What a plan keeps and when, in a sentence or two.
#include <string>
#include "planning.hpp"

namespace tool {

[[nodiscard]] std::string what_it_does(planned const& found);

}  // namespace tool
