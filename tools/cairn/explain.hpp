#pragma once
/// \file explain.hpp  A plan in words.
#include <string>
#include "request.hpp"

namespace tool {

/// What the plan that is asked for does and costs, how far that is from the least, what other numbers of slots would
/// do, and the least memory. All plans together take the time of one: what there is no time left for is said not to be
/// planned. \throws wrong_request, cairn::error   as `plan_of`
[[nodiscard]] std::string explanation(request const& asked);

}  // namespace tool
