#pragma once
/// \file explain.hpp  A plan in words.
#include <string>
#include "planning.hpp"

namespace tool {

/// What the plan does and costs, how far that is from the least, what other numbers of slots would do, and the least memory.
[[nodiscard]] std::string explanation(planned const& found);

}  // namespace tool
