// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_while.hpp  A loop whose length is known only when it ends, in the place of a plan.

namespace cairn {

/// In the place of a plan, for a loop whose length is known only when it ends: see `checkpointed_while`.
template <class KeepGoing, class Plan>
struct run_while {
  KeepGoing keep_going;  ///< `keep_going(x)`, `keep_going(x, i)`, and with parameters also `(x, p)` and `(x, p, i)`
  Plan plan;             ///< `online{slots}`
};
/// The types are those of the arguments.
template <class KeepGoing, class Plan> run_while(KeepGoing, Plan) -> run_while<KeepGoing, Plan>;

namespace detail {

template <class T> inline constexpr bool is_run_while = false;
template <class KeepGoing, class Plan> inline constexpr bool is_run_while<run_while<KeepGoing, Plan>> = true;

}  // namespace detail
}  // namespace cairn
