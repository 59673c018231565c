// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file environment.hpp  Answers `cairn env`.
#include <string>

namespace tool {

/// Every variable that programs take from the environment: what it is now, what it may be, and what it does.
/// \throws cairn::environment_error   for an unknown name or value
[[nodiscard]] std::string environment_table();

}  // namespace tool
