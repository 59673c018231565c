// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_failure.hpp  The position of a sweep, or where it failed.
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>

namespace cairn {

/// The position of a sweep, or where it failed; returned by `failure()` of a run.
struct sweep_failure {
  bool failed = false;  ///< whether there was an exception
  cairn::phase phase = cairn::phase::forward;  ///< the present part of the sweep
  action what;            ///< the current action
  step_index step = -1;   ///< the step that threw, or the first step of the action
};

}  // namespace cairn
