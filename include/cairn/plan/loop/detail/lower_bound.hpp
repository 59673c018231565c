#pragma once
/// \file lower_bound.hpp  What no plan can go below, whatever it does: step calls and seconds for a number of bytes.
#include <cairn/core/action.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/plan/loop/detail/next_candidate.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn::detail {

/// T(n, s), the fewest advances (Griewank & Walther 2000), for any s: at least one state, no more than of use.
[[nodiscard]] constexpr wide fewest_runs(step_index steps, wide slots) noexcept {
  if (steps < 2) return 0;
  wide const useful = wide(steps) - 1;
  return fewest_advances(steps, slot_index(slots < 1 ? wide{1} : slots > useful ? useful : slots));
}

[[nodiscard]] constexpr wide least_of(wide a, wide b) noexcept { return a < b ? a : b; }
[[nodiscard]] constexpr wide most_of(wide a, wide b) noexcept { return a < b ? b : a; }
/// a - b, or 0.
[[nodiscard]] constexpr wide beyond(wide a, wide b) noexcept { return a > b ? a - b : 0; }

/// States that fit on the tiers beside memory.
[[nodiscard]] constexpr wide far_states(workload const& work) noexcept {
  wide sum = 0;
  for (tier const where : all_tiers) {
    if (where == tier::memory) continue;
    wide const room = work.state_bytes > 0          ? work.tiers[where].bytes / work.state_bytes
                      : work.tiers[where].bytes > 0 ? wide{1} << 63
                                                    : 0;
    sum += least_of(room, wide{1} << 63);
  }
  return sum;
}

/// Most states that matter, the initial one included, to a sweep of one-step adjoints that never holds more than
/// `bytes` in memory. What matters is what stands while an adjoint is called: the states it needs later, live, the
/// adjoint, its tape, and the caller's own initial state, in whose place no other can be. (Between two calls the
/// shortest way to the next live state is a straight run, so that states which come and go between them help nobody;
/// nor do those that come and go before the seed.) Live is none of those needed later; the initial state is needed, and
/// stands outside. So as many states as fit beside adjoint, tape and initial state matter; where live is the user's own
/// object, one more.
[[nodiscard]] constexpr wide states_that_matter(workload const& work, wide bytes, step_index leaf) noexcept {
  wide const initial = work.initial_bytes ? *work.initial_bytes : work.state_bytes;
  wide const room = beyond(bytes, initial + work.adjoint_bytes + tape_of_leaf(work, leaf));
  if (work.state_bytes == 0) return wide{1} << 63;
  return room / work.state_bytes + (work.form.snapshots ? 1 : 0);
}

/// For recording adjoints, which may keep tapes. Let each kept tape be a kept state instead: that in front of its step
/// and, where a tape brings back the state behind it, that one, too. Then every step is recorded once more at most, and
/// the sweep is one that keeps states only, of which none has fewer than T + n calls. So no sweep with tapes has fewer
/// than T, nor fewer than n.
[[nodiscard]] constexpr wide fewest_recorded_calls(workload const& work, step_index steps, wide bytes,
                                                   wide elsewhere) noexcept {
  wide const initial = work.initial_bytes ? *work.initial_bytes : work.state_bytes;
  wide const item = least_of(work.state_bytes, work.tape_bytes);
  wide const items = item == 0 ? wide{1} << 63 : beyond(bytes, initial + work.adjoint_bytes) / item;
  return most_of(wide(steps), fewest_runs(steps, 1 + (work.tapes_restart ? 2 : 1) * (items + elsewhere)));
}

/// For leaves of `longest` steps at most. Count the runs of the steps i with i = r modulo `longest`: an adjoint call
/// reverses one of these at most, and where the steps between them are counted as nothing, the sweep is one over those
/// steps alone. So it runs them T + 1 times at least: T for the way back, and the last one for the final state. These
/// are the sums of that over all r.
[[nodiscard]] constexpr wide fewest_leaf_calls(step_index steps, step_index longest, wide slots) noexcept {
  step_index const each = steps / longest, more = steps % longest;
  wide const usual = each > 0 ? fewest_runs(each, slots) + 1 : 0;
  return wide(more) * (more > 0 ? fewest_runs(each + 1, slots) + 1 : 0) + wide(longest - more) * usual;
}

/// The fewest calls of the step of any plan within `bytes` of memory, with `far` states on other tiers.
[[nodiscard, gnu::cold]] constexpr wide fewest_calls(workload const& work, step_index steps, wide bytes,
                                                     wide elsewhere) noexcept {
  if (steps < 1) return 0;
  if (work.form.adjoint == adjoint_form::recorded) return fewest_recorded_calls(work, steps, bytes, elsewhere);
  if (work.form.adjoint != adjoint_form::leaf)
    return fewest_runs(steps, states_that_matter(work, bytes, 1) + elsewhere) + 1;
  if (work.tape_step_bytes == 0) return wide(steps);
  // Of the plans whose longest leaf has a to b steps none has more states than leaves of a steps leave room for.
  wide least = ~wide{0};
  wide const room = beyond(bytes, tape_of_leaf(work, 0)) / work.tape_step_bytes;
  step_index const longest = room < 1 ? 1 : room < wide(steps) ? step_index(room) : steps;
  for (step_index a = 1; a <= longest;) {
    step_index const next = next_candidate(a, 64, 8);
    step_index const b = a < next && next - 1 < longest ? next - 1 : longest;
    least = least_of(least, fewest_leaf_calls(steps, b, states_that_matter(work, bytes, a) + elsewhere));
    if (b == longest) break;
    a = next;
  }
  return most_of(least, wide(steps));
}

/// Less memory than this is not enough for so few calls, to a thousandth.
/// \param enough  bytes with which a plan is known to do with that many
[[nodiscard, gnu::cold]] constexpr wide least_memory(workload const& work, step_index steps, wide calls, wide elsewhere,
                                          wide enough) noexcept {
  wide const always =
      least_of((work.initial_bytes ? *work.initial_bytes : work.state_bytes) + work.adjoint_bytes, enough);
  if (fewest_calls(work, steps, always, elsewhere) <= calls) return always;
  wide below = always;
  while (enough - below > 1 + enough / 1024) {
    wide const middle = below + (enough - below) / 2;
    (fewest_calls(work, steps, middle, elsewhere) <= calls ? enough : below) = middle;
  }
  return below + 1;
}

/// The fewest seconds of any plan within `bytes`. Where no more than h states stand at once on other tiers, each of
/// them that is of use has been written and read once, and the steps are run as often as with that many states more at
/// least; the least over all h is what remains.
[[nodiscard, gnu::cold]] constexpr double least_seconds(workload const& work, step_index steps, wide bytes) noexcept {
  if (steps < 1) return 0;
  double const adjoints = double(steps) * work.adjoint_seconds;
  wide const elsewhere = least_of(far_states(work), wide(steps));
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
    wide const b = a < next ? least_of(wide(next) - 1, elsewhere) : elsewhere;
    double const here = double(fewest_calls(work, steps, bytes, b)) * call + double(a) * trip;
    if (here < least) least = here;
    if (b == elsewhere) break;
    a = next;
  }
  return adjoints + least;
}

}  // namespace cairn::detail
