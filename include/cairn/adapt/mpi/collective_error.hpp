// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file collective_error.hpp  What all ranks throw when one of them cannot go on.
#include <cstdint>
#include <exception>
#include <utility>
#include <cairn/core/error.hpp>

namespace cairn {

/// Why the ranks of a communicator ended a sweep together.
enum class collective_cause : std::uint8_t {
  exception,     ///< the rank threw an exception
  stop_request,  ///< the rank's `stops_when`, or the `stop` of its `disk`, returned true
  other_plan,    ///< the rank's plan, or its loop, differs from that of rank 0
  other_call     ///< the rank makes a different call from rank 0
};

namespace detail {
class team;
}

/// One rank cannot go on: thrown by a verb with a `collective` on all ranks of its communicator, with the same rank,
/// cause and text.
struct collective_error : error {
  /// \param about  who met: an error of the same ranks passes through unchanged
  collective_error(char const* operation, char const* problem, int first, collective_cause why, char const* advice,
                   std::exception_ptr thrown, detail::team const* about) noexcept
      : error{operation, problem, {{"rank", first}}, advice},
        rank{first},
        cause{why},
        original{std::move(thrown)},
        among{about} {}
  int rank;                     ///< the rank, of the communicator; the lowest, if several cannot go on
  collective_cause cause;       ///< why
  std::exception_ptr original;  ///< what this rank itself threw; null on ranks that threw nothing
  detail::team const* among;    ///< who met; to compare only
};

/// How the plans of all ranks were compared before the first step.
enum class plan_comparison : std::uint8_t {
  nothing,      ///< there was no plan to compare
  fingerprint,  ///< by `fingerprint`: finds plans with different actions
  numbers       ///< only steps, slots, leaf and the first actions: a fingerprint takes more work than allowed
};

}  // namespace cairn
