// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file launches.hpp  Reports launches that were refused at once, with the function that made them.
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// To be called after a user's function: throws if something that it put into a stream was refused. Does nothing if the
/// runtime cannot tell.
/// \param where  named values that identify the call of the function
template <device_runtime Runtime, class... Where>
void check_launches([[maybe_unused]] Runtime& runtime, [[maybe_unused]] char const* operation,
                    [[maybe_unused]] char const* problem, [[maybe_unused]] Where... where) {
  if constexpr (checking_runtime<Runtime>) try {
      runtime.check();
    } catch (error const& refused) {
      if (refused.value_count() < 2) throw device_error{operation, problem, {where...}, refused.what()};
      throw device_error{operation, problem, {where..., refused.value(0), refused.value(1)}, refused.advice()};
    }
}
/// The same, called before the user's first function, so that it is not blamed for earlier launches.
template <device_runtime Runtime>
void check_earlier_launches(Runtime& runtime, char const* operation) {
  check_launches(runtime, operation, "a launch before this call failed, and its error was never read");
}

}  // namespace cairn::detail
