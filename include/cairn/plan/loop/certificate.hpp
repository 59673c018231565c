// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file certificate.hpp  How far a plan is from a lower bound on all plans.
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/plan/loop/detail/next_candidate.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn {
namespace detail {

/// T(n, s), the fewest advances (Griewank & Walther 2000). Any s is accepted: it is raised to one state, and cut to the
/// most that are of use.
[[nodiscard]] constexpr wide fewest_runs(step_index steps, wide slots) noexcept {
  if (steps < 2) return 0;
  wide const useful = wide(steps) - 1;
  return fewest_advances(steps, slot_index(slots < 1 ? wide{1} : slots > useful ? useful : slots));
}

/// A tape of an unknown size may hold nothing.
[[nodiscard]] constexpr wide tape_at_least(workload const& work, step_index leaf) {
  wide const tape = tape_of_leaf(work, leaf);
  return tape != unknown_bytes ? tape : 0;
}
/// a - b, at least 0.
[[nodiscard]] constexpr wide beyond(wide a, wide b) noexcept { return a > b ? a - b : 0; }

/// The number of states that fit on the tiers other than memory.
[[nodiscard]] constexpr wide far_states(workload const& work) noexcept {
  wide sum = 0;
  for (tier const where : all_tiers)
    if (where != tier::memory) sum += states_on(work, where, wide{1} << 63);
  return sum;
}

/// The most states that matter, including the initial one, to a sweep of one-step adjoints that never holds more than
/// `bytes` in memory. States matter if they are held while an adjoint is called. At that moment the sweep holds the
/// states needed later, live, the adjoint, its tape, and the caller's own initial state, whose place no other state can
/// take. (Between two calls the shortest way to the next live state is a straight run, so states that are made and
/// dropped between them do not help; nor do states that are made and dropped before the seed.) Live is not one of the
/// states needed later; the initial state is one, but has a place of its own. So the number of states that matter is
/// the number that fits beside adjoint, tape and initial state; one more if live is the user's own object.
[[nodiscard]] constexpr wide states_that_matter(workload const& work, wide bytes, step_index leaf) noexcept {
  wide const free_bytes = beyond(bytes, initial_of(work) + adjoint_of(work) + tape_at_least(work, leaf));
  if (work.state_bytes == 0) return wide{1} << 63;
  return free_bytes / work.state_bytes + (work.form.snapshots ? 1 : 0);
}

/// For recording adjoints, which may keep tapes. Replace each kept tape by a kept state: the state before its step and,
/// if the tape restores the state after the step, that state too. Then every step is recorded at most once more, and
/// the sweep keeps states only; every such sweep has at least T + n calls. So a sweep with tapes has at least T calls,
/// and at least n.
[[nodiscard]] constexpr wide fewest_recorded_calls(workload const& work, step_index steps, wide bytes,
                                                   wide elsewhere) noexcept {
  wide const item = lesser(work.state_bytes, tape_at_least(work, 1));
  wide const items = item == 0 ? wide{1} << 63 : beyond(bytes, initial_of(work) + adjoint_of(work)) / item;
  return greater(wide(steps), fewest_runs(steps, 1 + (work.tapes_restart ? 2 : 1) * (items + elsewhere)));
}

/// For leaves of at most `longest` steps. Count the runs of the steps i with i = r modulo `longest`. An adjoint call
/// reverses at most one of them. Ignoring the steps between them leaves a sweep over only these steps, which runs them
/// at least T + 1 times: T for the reverse sweep, and the last one for the final state. The bound is the sum over all
/// r.
[[nodiscard]] constexpr wide fewest_leaf_calls(step_index steps, step_index longest, wide slots) noexcept {
  step_index const each = steps / longest, more = steps % longest;
  wide const usual = each > 0 ? fewest_runs(each, slots) + 1 : 0;
  return wide(more) * (more > 0 ? fewest_runs(each + 1, slots) + 1 : 0) + wide(longest - more) * usual;
}

/// The fewest step calls of any plan within `bytes` of memory, with `elsewhere` states on other tiers.
[[nodiscard, gnu::cold]] constexpr wide fewest_calls(workload const& work, step_index steps, wide bytes,
                                                     wide elsewhere) noexcept {
  if (steps < 1) return 0;
  if (work.form.adjoint == adjoint_form::recorded) return fewest_recorded_calls(work, steps, bytes, elsewhere);
  if (work.form.adjoint != adjoint_form::leaf)
    return fewest_runs(steps, states_that_matter(work, bytes, 1) + elsewhere) + 1;
  if (work.tape_step_bytes == 0) return wide(steps);
  // A plan whose longest leaf has a to b steps has at most as many states as fit beside leaves of a steps.
  wide least = ~wide{0};
  wide const tapes = beyond(bytes, tape_of_leaf(work, 0)) / work.tape_step_bytes;
  step_index const longest = tapes < 1 ? 1 : tapes < wide(steps) ? step_index(tapes) : steps;
  for (step_index a = 1; a <= longest;) {
    step_index const next = next_candidate(a, 64, 8);
    step_index const b = a < next && next - 1 < longest ? next - 1 : longest;
    least = lesser(least, fewest_leaf_calls(steps, b, states_that_matter(work, bytes, a) + elsewhere));
    if (b == longest) break;
    a = next;
  }
  return greater(least, wide(steps));
}

/// A lower bound, to a thousandth, on the memory that a plan with at most `calls` step calls needs.
/// \param enough  bytes that are known to be enough for such a plan
[[nodiscard, gnu::cold]] constexpr wide least_memory(workload const& work, step_index steps, wide calls, wide elsewhere,
                                          wide enough) noexcept {
  wide const always = lesser(initial_of(work) + adjoint_of(work), enough);
  if (fewest_calls(work, steps, always, elsewhere) <= calls) return always;
  wide below = always;
  while (enough - below > 1 + enough / 1024) {
    wide const middle = below + (enough - below) / 2;
    (fewest_calls(work, steps, middle, elsewhere) <= calls ? enough : below) = middle;
  }
  return below + 1;
}

/// The fewest seconds of any plan within `bytes`. If at most h states are on other tiers at once, each useful one of
/// them is written and read at least once, and the steps run at least as often as with h more states in memory. The
/// bound is the minimum over all h.
[[nodiscard, gnu::cold]] constexpr double least_seconds(workload const& work, step_index steps, wide bytes) noexcept {
  if (steps < 1) return 0;
  double const adjoints = double(steps) * work.adjoint_seconds;
  wide const elsewhere = lesser(far_states(work), wide(steps));
  double const recording = record_seconds(work), call = work.step_seconds;
  bool const records = work.form.adjoint == adjoint_form::recorded;
  if (records) {
    wide const more = fewest_calls(work, steps, bytes, elsewhere) - wide(steps);
    return adjoints + double(steps) * recording + double(more) * (call < recording ? call : recording);
  }
  if (work.form.adjoint == adjoint_form::leaf)
    return adjoints + double(fewest_calls(work, steps, bytes, elsewhere)) * call;
  double trip = -1;
  for (tier const where : all_tiers) {
    if (where == tier::memory || work.tiers[where].bytes == 0) continue;
    double const there = work.tiers[where].write_seconds + work.tiers[where].read_seconds;
    if (trip < 0 || there < trip) trip = there;
  }
  double least = double(fewest_calls(work, steps, bytes, 0)) * call;
  for (step_index a = 1; trip >= 0 && wide(a) <= elsewhere;) {
    step_index const next = next_candidate(a, 256, 16);
    wide const b = a < next ? lesser(wide(next) - 1, elsewhere) : elsewhere;
    double const here = double(fewest_calls(work, steps, bytes, b)) * call + double(a) * trip;
    if (here < least) least = here;
    if (b == elsewhere) break;
    a = next;
  }
  return adjoints + least;
}

}  // namespace detail

/// The cost of a plan, and for each figure a lower bound that holds for every plan: for calls and seconds, every plan
/// within the same bytes of memory; for bytes, every plan with as few calls. The comments of
/// the functions above prove the bounds.
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
  certificate proof;
  proof.step_calls = sum.step_calls + sum.steps_again;
  proof.seconds = sum.seconds;
  proof.bytes = sum.memory_bytes;
  if (work.reversible) {  // kept parts may have any size, so nothing more is proven
    proof.least_step_calls = wide(sum.steps);
    proof.least_seconds = double(sum.steps) * (work.step_seconds + work.adjoint_seconds);
    proof.least_bytes = detail::lesser(detail::initial_of(work) + detail::adjoint_of(work), proof.bytes);
    return proof;
  }
  wide const elsewhere = detail::far_states(work);
  proof.least_step_calls = detail::fewest_calls(work, sum.steps, within, elsewhere);
  proof.least_seconds = detail::least_seconds(work, sum.steps, within);
  proof.least_bytes = detail::least_memory(work, sum.steps, sum.step_calls, elsewhere, sum.memory_bytes);
  return proof;
}
/// The same, for plans within the bytes that this plan takes.
[[nodiscard]] constexpr certificate certify(cost const& sum, workload const& work) {
  return certify(sum, work, sum.memory_bytes);
}

}  // namespace cairn
