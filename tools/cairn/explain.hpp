// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file explain.hpp  Explains a plan in words.
#include <string>
#include "request.hpp"

namespace tool {

/// What the requested plan does and costs, how far it is from the least possible cost, what other numbers of slots
/// would cost, and the least memory. All plans together share the time limit of one; the text says which plans there
/// was no time for. \throws wrong_request, cairn::error   as `plan_of`
[[nodiscard]] std::string explanation(request const& asked);

}  // namespace tool
