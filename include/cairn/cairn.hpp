// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cairn.hpp  The core of cairn: schedules, plans, the memory store and the executors.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/differentiate.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/resume_while.hpp>
#include <cairn/run/sweep/workspace.hpp>
#include <cairn/run/value_and_gradient.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/hook.hpp>
#include <cairn/run/with/nested.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/budget_of.hpp>
#include <cairn/schedule/in_memory.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/store/memory.hpp>
#include <cairn/version.hpp>
