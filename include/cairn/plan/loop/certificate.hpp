#pragma once
/// \file certificate.hpp  How far a plan is from what no plan can go below.
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/detail/lower_bound.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>

namespace cairn {

/// What a plan costs, and for each figure a bound that holds for every plan: of those within the same bytes of memory
/// for calls and seconds, and of those with as few calls for bytes. The comments of `plan/loop/detail/lower_bound.hpp`
/// prove them.
struct certificate {
  wide step_calls = 0;        ///< of the plan
  wide least_step_calls = 0;  ///< of any plan
  double seconds = 0;         ///< of the plan
  double least_seconds = 0;   ///< of any plan
  wide bytes = 0;             ///< of the plan, in memory
  wide least_bytes = 0;       ///< of any plan

  /// By which part of the bound the plan has more step calls; 0.05 is five percent.
  [[nodiscard]] constexpr double step_calls_gap() const noexcept {
    return gap(double(step_calls), double(least_step_calls));
  }
  /// By which part of the bound the plan takes longer.
  [[nodiscard]] constexpr double seconds_gap() const noexcept { return gap(seconds, least_seconds); }
  /// By which part of the bound the plan takes more memory.
  [[nodiscard]] constexpr double bytes_gap() const noexcept { return gap(double(bytes), double(least_bytes)); }

 private:
  [[nodiscard]] static constexpr double gap(double is, double least) noexcept {
    return least > 0 ? is / least - 1 : is > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
};

/// The certificate of a plan with that cost on that workload.
/// \param within  bytes that plans may take: those that this one takes, or the budget it was made for
/// Cost: some thousand evaluations of a closed form where there are leaves or other tiers than memory, else some ten.
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
/// The same within the bytes that the plan itself takes.
[[nodiscard]] constexpr certificate certify(cost const& sum, workload const& work) {
  return certify(sum, work, sum.memory_bytes);
}

}  // namespace cairn
