// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_needs.hpp  The bytes that a sweep holds at its peak: the one formula that plans and executors share.
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::detail {

/// The properties of a plan that decide how much memory its sweep takes.
struct sweep_needs {
  slot_index slots = 0;       ///< slots that the plan reserves
  slot_index peak_slots = 0;  ///< most slots that it fills at once
  slot_index tapes = 0;  ///< most tapes that it keeps at once
  step_index leaf = 1;  ///< the most steps of one `reverse`
  /// Kept runs, and sweeps of objects, hold state 0 outside the slots: see `initial_stands_apart`.
  bool initial_apart = false;
  wide table = 0;              ///< bytes of one cursor
  bool calls_adjoint = true;   ///< there are steps to reverse
  wide shared_table = 0;       ///< bytes of tables that the plan shares with its copies and cursors
  wide hashes = 0;             ///< bytes of a replay check; see `replay_check_bytes`
};

/// With the frames that a sweep needs besides slots; as many as can be counted where a plan has that many slots.
/// \param at_most  the form whose working frames count
[[nodiscard]] constexpr slot_index frames_beside(slot_index slots, sweep_needs const& needs, sweep_form form,
                                                 sweep_form at_most) noexcept {
  slot_index const more = working_frames(at_most, needs.leaf) +
                          ((form.keeps_run || form.snapshots) && needs.initial_apart ? 1 : 0);
  return slots > INT64_MAX - more ? INT64_MAX : slots + more;
}
/// Frames that a sweep over a store in memory reserves, used or not.
[[nodiscard]] constexpr slot_index frames_reserved(sweep_needs const& needs, sweep_form form) noexcept {
  sweep_form at_most = form;
  if (form.keeps_run) at_most.adjoint = adjoint_form::with_next;  // the loop runs before its adjoint is known
  return frames_beside(needs.slots, needs, form, at_most);
}

/// States alive at once at the peak of a sweep over a store in memory, or up to three more: a plan need not fill its
/// slots at the moment when most frames are in use. A kept run may fill all slots: if there is room, it keeps the
/// states that the plan drops, for its next reverse.
[[nodiscard]] constexpr slot_index most_states(sweep_needs const& needs, sweep_form form) noexcept {
  return frames_beside(form.keeps_run ? needs.slots : needs.peak_slots, needs, form, form);
}

/// What a sweep over a store in memory holds, by purpose.
/// \param standing  states alive at once   \param tapes  tapes alive at once, that of the adjoint call included
[[nodiscard]] constexpr sweep_parts sweep_parts_of(sweep_needs const& needs, sweep_form form, sweep_sizes const& sizes,
                                                   slot_index standing, wide tapes) noexcept {
  wide const reserved = wide(frames_reserved(needs, form)), heap = sizes.state - sizes.state_inline;
  sweep_parts parts;
  parts.states = reserved * sizes.state_inline + wide(standing) * heap;
  parts.frames = reserved * bytes_a_frame +
                 wide(needs.slots) * (bytes_a_slot + (form.keeps_run ? bytes_a_remembered_slot : 0));
  parts.plan = needs.table * (form.keeps_run ? 2 : 1) + needs.shared_table + sizes.plan;
  // An object is hashed from one more snapshot.
  parts.checks = needs.hashes + (form.snapshots && needs.hashes > 0 ? heap : 0);
  if (needs.tapes > 0 && form.adjoint == adjoint_form::recorded) parts.frames += bytes_of_tape_slots;
  parts.adjoints = sizes.adjoint * (form.adjoint_by_value && needs.calls_adjoint ? 2 : 1);
  parts.tapes = wide(needs.tapes) * sizes.tape_inline + tapes * (sizes.tape - sizes.tape_inline);
  if (sizes.tape == unknown_bytes && tapes > 0) parts.tapes = unknown_bytes;
  parts.terms = needs.calls_adjoint ? sizes.terms : 0;
  parts.choices = sizes.choices, parts.files = sizes.files;
  parts.initial = sizes.initial, parts.params = sizes.params, parts.gradient = sizes.gradient;
  return parts;
}

/// What a sweep in memory holds at its peak, an upper bound.
/// \param slots  those that are in memory
template <schedule Plan>
[[nodiscard]] constexpr sweep_parts parts_with(Plan const& plan, slot_index slots, sweep_form form,
                                               sweep_sizes const& sizes, replay_check verify) {
  bool saves = plan.steps() > plan.leaf();  // one leaf that is the whole loop need not: a walk of a few actions
  if (!saves) each_action(plan, [&](action const& a) { saves |= a.kind == action_kind::save; });
  sweep_needs const needs{
      .slots = slots,
      .peak_slots = saves ? slots : 0,
      .leaf = plan.leaf(),
      .initial_apart = form.snapshots ? initial_stands_apart(plan, form) : initial_stands_apart(plan),
      .table = table_bytes_of(plan),
      .calls_adjoint = plan.steps() > 0,
      .shared_table = shared_table_bytes_of(plan),
      .hashes = replay_check_bytes(verify,
                                   {.steps = plan.steps(), .slots = plan.slots(), .keeps_run = form.keeps_run})};
  return sweep_parts_of(needs, form, sizes, most_states(needs, form), needs.calls_adjoint ? 1 : 0);
}

/// Total bytes at the peak of a sweep over a store in memory.
/// \param standing  states alive at once at the peak; with `most_states` the sum is an upper bound
[[nodiscard]] constexpr wide sweep_bytes(sweep_needs const& needs, sweep_form form, sweep_sizes const& sizes,
                                         slot_index standing) noexcept {
  return sweep_parts_of(needs, form, sizes, standing, wide(needs.tapes) + (needs.calls_adjoint ? 1 : 0)).total();
}

}  // namespace cairn::detail
