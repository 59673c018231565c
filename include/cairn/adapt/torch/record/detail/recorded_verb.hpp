// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_verb.hpp  The recorded calls of one object: their account, and what they count together.
#include <memory>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/record/detail/on_success.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/detail/record_totals.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>

namespace cairn::libtorch::detail {

/// Calls that have not run backward yet may outlive it. Copies share what they refer to.
struct recorded_verb {
  std::shared_ptr<byte_account> account = std::make_shared<byte_account>();
  std::shared_ptr<record_totals> totals = std::make_shared<record_totals>();

  /// Records `run(record)`, whose result it returns, and then says what is held since it cannot be made again.
  /// \param who  is named in errors   \param verify  whether what is made again is compared with what was saved
  template <class Run>
  decltype(auto) call(char const* who, bool verify, Run const& run) const {
    on_success const at_end{[&] { totals->tell_kept(); }};
    record_scope const scope{account, totals, who};
    scope.record().in_force.verify = verify;
    return run(scope.record());
  }
  [[nodiscard]] RecordReport report() const { return report_of(*totals, *account); }
};

}  // namespace cairn::libtorch::detail
