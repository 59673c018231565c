#pragma once
/// \file launches.hpp  Launches that were refused at once, told with who made them.
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// To be called behind a user's function: throws where something that it put into a stream was refused. Nothing where
/// the runtime cannot tell.
/// \param where  named values that say which call of the function it was
template <device_runtime R, class... Where>
void check_launches([[maybe_unused]] R& runtime, [[maybe_unused]] char const* operation,
                    [[maybe_unused]] char const* problem, [[maybe_unused]] Where... where) {
  if constexpr (checking_runtime<R>) try {
      runtime.check();
    } catch (error const& refused) {
      if (refused.value_count() < 2) throw device_error{operation, problem, {where...}, refused.what()};
      throw device_error{operation, problem, {where..., refused.value(0), refused.value(1)}, refused.advice()};
    }
}
/// The same before the first function is called, so that none is blamed for what it did not do.
template <device_runtime R>
void check_earlier_launches(R& runtime, char const* operation) {
  check_launches(runtime, operation, "a launch before this call failed, and nobody asked for its error");
}

}  // namespace cairn::detail
