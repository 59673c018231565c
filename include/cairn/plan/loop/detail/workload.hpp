// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file workload.hpp  Checks and derives the sizes and times of a workload.
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn::detail {

/// All tiers, for loops over them.
inline constexpr tier all_tiers[tier_count] = {tier::memory, tier::device, tier::host, tier::disk};

/// Sizes below this can be multiplied by up to 2^63-1 slots within 128 bits.
inline constexpr wide most_bytes = wide{1} << 62;

[[gnu::cold]] constexpr void check_times(workload const& work) {
  bool sound = work.step_seconds >= 0 && work.frame_seconds >= 0 && work.adjoint_seconds >= 0 &&
               (!work.record_seconds || *work.record_seconds >= 0) &&
               (!work.reversible || work.reversible->back_seconds.value_or(0) >= 0);
  for (tier const where : all_tiers)
    sound = sound && work.tiers[where].write_seconds >= 0 && work.tiers[where].read_seconds >= 0;
  if (!sound) throw invalid_plan{"cairn::workload", "a time is negative or not a number", {}, ""};
}

/// The number of states that fit on a tier, at most `most`.
[[nodiscard]] constexpr wide states_on(workload const& work, tier where, wide most) noexcept {
  if (work.tiers[where].bytes == 0) return 0;
  return work.state_bytes > 0 ? lesser(work.tiers[where].bytes / work.state_bytes, most) : most;
}

/// If the bytes of a state were unknown, any number of states would fit a budget.
constexpr void check_state_bytes(workload const& work, char const* who) {
  if (work.state_bytes == 0)  // an object without members has one byte, too
    throw invalid_plan{who,
                       "the workload does not say how many bytes a state holds",
                       {{"state bytes", work.state_bytes}},
                       "give workload::state_bytes, as cairn::bytes_of counts or cairn::probe measures them; 1 for a "
                       "state that holds nothing"};
}

/// Whether a sweep of the plan makes states by running steps backwards.
template <class Plan>
[[nodiscard]] constexpr bool runs_back(Plan const& plan, workload const& work) {
  return work.reversible && plan.leaf() > 1;
}
/// The workload as a sweep of the plan has it: only an adjoint that records can run a plan with tapes; a segment that
/// runs backwards holds what is kept of its steps, and the state that goes back, two if the step is out of place.
template <class Plan>
[[nodiscard]] constexpr workload as_run(Plan const& plan, workload work) {
  if (tapes_of(plan) > 0) work.form.adjoint = adjoint_form::recorded;
  if (!runs_back(plan, work)) return work;
  work.form.adjoint = adjoint_form::leaf;
  work.tape_bytes = work.state_bytes * (work.form.step == step_form::out_of_place ? 2 : 1);
  work.tape_step_bytes = work.reversible->kept_bytes;
  if (work.reversible->keep_all && plan.steps() > plan.leaf()) {
    if (work.tape_step_bytes >= most_bytes || wide(plan.steps()) * work.tape_step_bytes >= most_bytes - work.tape_bytes)
      throw overflow_error{"cairn::workload", "kept parts of 2^62 bytes or more", {{"steps", plan.steps()}}, ""};
    work.tape_bytes += wide(plan.steps() - plan.leaf()) * work.tape_step_bytes;
  }
  return work;
}

[[nodiscard]] constexpr wide initial_of(workload const& work) noexcept {
  return work.initial_bytes.value_or(work.state_bytes);
}
[[nodiscard]] constexpr wide adjoint_of(workload const& work) noexcept {
  return work.adjoint_bytes != unknown_bytes ? work.adjoint_bytes : work.state_bytes;
}
/// Bytes that one adjoint call or one `record` keeps; for a leaf they grow with its length. `unknown_bytes` if nobody
/// says.   \throws overflow_error
[[nodiscard]] constexpr wide tape_of_leaf(workload const& work, step_index leaf) {
  bool const leaves = work.form.adjoint == adjoint_form::leaf, told = work.tape_bytes != unknown_bytes;
  if (!leaves || work.tape_step_bytes == 0)
    return told || work.form.adjoint == adjoint_form::recorded || (leaves && leaf > 1) ? work.tape_bytes : 0;
  if (work.tape_step_bytes >= most_bytes)
    throw overflow_error{"cairn::workload",
                         "a tape of 2^62 bytes or more",
                         {{"leaf", leaf}, {"bytes a step", work.tape_step_bytes}},
                         ""};
  return (told ? work.tape_bytes : 0) + wide(leaf) * work.tape_step_bytes;
}
/// With a tape of an unknown size every plan would fit a budget.   \param leaf  the longest that may be planned
constexpr void check_tape_bytes(workload const& work, step_index leaf, char const* who) {
  if (tape_of_leaf(work, leaf) == unknown_bytes)
    throw invalid_plan{who,
                       "the workload does not say how many bytes a tape, or a leaf, holds",
                       {{"state bytes", work.state_bytes}},
                       "give workload::tape_bytes, and tape_step_bytes for leaves; or measure by cairn::probe, with a "
                       "leaf adjoint that has a member leaf_bytes(steps)"};
}

/// \param leaf  the most steps of one adjoint call   \throws overflow_error, invalid_plan
[[nodiscard, gnu::cold]] constexpr sweep_sizes sizes_of(workload const& work, step_index leaf = 1) {
  wide const initial = initial_of(work), adjoint = adjoint_of(work);
  wide const tape = work.tape_bytes != unknown_bytes ? work.tape_bytes : 0;
  if ((work.state_bytes | initial | adjoint | tape | work.term_bytes | work.params_bytes | work.gradient_bytes |
       work.choice_bytes | work.file_bytes | work.plan_bytes) >= most_bytes)
    throw overflow_error{"cairn::workload",
                         "a size of 2^62 bytes or more",
                         {{"state bytes", work.state_bytes},
                          {"initial bytes", initial},
                          {"adjoint bytes", adjoint},
                          {"tape bytes", tape}},
                         ""};
  sweep_sizes const sizes{work.state_bytes,  work.state_inline_bytes,  initial,
                          adjoint,           tape_of_leaf(work, leaf), work.tape_inline_bytes,
                          work.term_bytes,   work.params_bytes,        work.gradient_bytes,
                          work.choice_bytes, work.file_bytes,          work.plan_bytes};
  if (sizes.state_inline > sizes.state)
    throw invalid_plan{"cairn::workload",
                       "the inline part of a state is larger than the state",
                       {{"state bytes", sizes.state}, {"inline bytes", sizes.state_inline}},
                       "state_bytes counts both parts"};
  if (sizes.tape_inline > sizes.tape)
    throw invalid_plan{"cairn::workload",
                       "the inline part of a tape is larger than the tape",
                       {{"tape bytes", sizes.tape}, {"inline bytes", sizes.tape_inline}},
                       "tape_bytes counts both parts"};
  check_times(work);
  return sizes;
}

/// Seconds of one call of `record`.
[[nodiscard]] constexpr double record_seconds(workload const& work) noexcept {
  return work.record_seconds ? *work.record_seconds : work.step_seconds;
}

/// Whether anything has a time besides adjoints, which every plan runs equally often.
[[nodiscard]] constexpr bool has_times(workload const& work) noexcept {
  bool timed = work.step_seconds > 0 || record_seconds(work) > 0 || work.frame_seconds > 0 ||
               (work.reversible && work.reversible->back_seconds.value_or(0) > 0);
  for (tier const where : all_tiers)
    timed = timed || work.tiers[where].write_seconds > 0 || work.tiers[where].read_seconds > 0;
  return timed;
}

}  // namespace cairn::detail
