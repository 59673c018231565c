#pragma once
/// \file sweep_failure.hpp  Where a sweep stands, or where it failed.
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>

namespace cairn {

/// Where a sweep stands, or where it failed: what `failure()` of a run answers.
struct sweep_failure {
  bool failed = false;  ///< whether there was an exception
  cairn::phase phase = cairn::phase::forward;  ///< the part of the sweep
  action what;            ///< the action under way
  step_index step = -1;   ///< the step that threw, or the first of the action
};

}  // namespace cairn
