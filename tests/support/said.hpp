// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file said.hpp  What a call says when it throws.
#include <exception>
#include <functional>
#include <string>

namespace support {

/// What an error of that type says, or that there was none.
template <class Error>
std::string said(std::function<void()> const& f, char const* nothing = "nothing was thrown") {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  return nothing;
}
/// What was thrown says, or nothing.
inline std::string message_of(std::function<void()> const& f) { return said<std::exception>(f, ""); }

}  // namespace support
