// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file certificate.hpp  How far a plan is from a lower bound on all plans.
#include <limits>
#include <cairn/plan/loop/detail/lower_bound.hpp>
#include <cairn/plan/loop/estimate.hpp>

namespace cairn {

/// The cost of a plan, and for each figure a lower bound that holds for every plan: for calls and seconds, every plan
/// within the same bytes of memory; for bytes, every plan with as few calls. The comments of
/// `plan/loop/detail/lower_bound.hpp` prove the bounds.
struct certificate {
  wide step_calls = 0;        ///< of the plan
  wide least_step_calls = 0;  ///< lower bound for any plan
  double seconds = 0;         ///< of the plan
  double least_seconds = 0;   ///< lower bound for any plan
  wide bytes = 0;             ///< of the plan, in memory
  wide least_bytes = 0;       ///< lower bound for any plan

  /// How much the plan's step calls exceed the bound, as a fraction of the bound; 0.05 is five percent.
  [[nodiscard]] constexpr double step_calls_gap() const noexcept {
    return gap(double(step_calls), double(least_step_calls));
  }
  /// How much the plan's seconds exceed the bound, as a fraction of the bound.
  [[nodiscard]] constexpr double seconds_gap() const noexcept { return gap(seconds, least_seconds); }
  /// How much the plan's bytes exceed the bound, as a fraction of the bound.
  [[nodiscard]] constexpr double bytes_gap() const noexcept { return gap(double(bytes), double(least_bytes)); }

 private:
  [[nodiscard]] static constexpr double gap(double is, double least) noexcept {
    return least > 0 ? is / least - 1 : is > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
};

/// The certificate of a plan with this cost on this workload.
/// \param within  the bytes that plans may take: those of this plan, or the budget that it was made for
/// Cost: some thousand evaluations of a closed form if there are leaves or tiers other than memory, else some ten.
[[nodiscard]] constexpr certificate certify(cost const& sum, workload const& work, wide within) {
  wide const elsewhere = detail::far_states(work);
  certificate proof;
  proof.step_calls = sum.step_calls;
  proof.least_step_calls = detail::fewest_calls(work, sum.steps, within, elsewhere);
  proof.seconds = sum.seconds;
  proof.least_seconds = detail::least_seconds(work, sum.steps, within);
  proof.bytes = sum.memory_bytes;
  proof.least_bytes = detail::least_memory(work, sum.steps, sum.step_calls, elsewhere, sum.memory_bytes);
  return proof;
}
/// The same, for plans within the bytes that this plan takes.
[[nodiscard]] constexpr certificate certify(cost const& sum, workload const& work) {
  return certify(sum, work, sum.memory_bytes);
}

}  // namespace cairn
