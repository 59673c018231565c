// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_numbers.hpp  The numbers by which a plan is known, in no more memory than its cursor takes.
#include <cstdint>
#include <type_traits>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {
template <class Plan>
class verified;
}  // namespace cairn

namespace cairn::detail {

/// Calls note(number) with the kind of a plan and all that its actions follow from. Returns false for other kinds.
template <class Plan>
struct own_numbers {
  template <class Note>
  static bool pass(Plan const&, Note const&) { return false; }
};
template <>
struct own_numbers<revolve> {
  template <class Note>
  static bool pass(revolve const& plan, Note const& note) {
    note(1), note(plan.steps()), note(plan.slots()), note(plan.initial_is_free());
    return true;
  }
};
template <>
struct own_numbers<two_level> {
  template <class Note>
  static bool pass(two_level const& plan, Note const& note) {
    note(2), note(plan.steps()), note(plan.periods() > 1 ? plan.period() : plan.steps()), note(plan.extra_slots());
    note(std::int64_t(plan.slot_tier(0))), note(std::int64_t(plan.slot_tier(plan.periods())));
    return true;
  }
};
template <>
struct own_numbers<uniform> {  // blocks have two lengths at most
  template <class Note>
  static bool pass(uniform const& plan, Note const& note) {
    step_index const inner = plan.checkpoints();
    note(4), note(plan.steps()), note(inner);
    if (inner > 0) note(plan.checkpoint(0)), note(plan.checkpoint(inner - 1));
    return true;
  }
};
template <class Plan>
struct own_numbers<leaves<Plan>> {
  template <class Note>
  static bool pass(leaves<Plan> const& plan, Note const& note) {
    note(3), note(plan.steps()), note(plan.size());
    return own_numbers<Plan>::pass(plan.inner(), note);
  }
};
template <class Plan>
struct own_numbers<verified<Plan>> {
  template <class Checked, class Note>
  static bool pass(Checked const& plan, Note const& note) { return own_numbers<Plan>::pass(plan.inner(), note); }
};
template <>
struct own_numbers<any_schedule> {
  template <class Note>
  static bool pass(any_schedule const& plan, Note const& note) {
    auto const is = [&](auto const* inside) {
      return inside != nullptr && own_numbers<std::remove_cvref_t<decltype(*inside)>>::pass(*inside, note);
    };
    return is(plan.target<revolve>()) || is(plan.target<uniform>()) || is(plan.target<two_level>()) ||
           is(plan.target<leaves<revolve>>()) || is(plan.target<leaves<uniform>>()) ||
           is(plan.target<leaves<two_level>>()) || is(plan.target<leaves<any_schedule>>());
  }
};

/// Calls note(number) with numbers that are the same for equal plans in every process, and differ for plans that do
/// not do the same: those of its kind, or its `fingerprint`, which takes tables for none of the other kinds. Unlike a
/// fingerprint they may differ for plans of two kinds that do the same.
/// Cost: O(1) for `revolve`, `uniform` and `two_level`, over `leaves`, too; otherwise the time of the fingerprint, and a cursor
/// \throws too_much_work   as `fingerprint` does
template <schedule Plan, class Note>
void each_plan_number(Plan const& plan, Note const& note) {
  if (own_numbers<Plan>::pass(plan, note)) return;
  auto const print = fingerprint(plan);
  note(0), note(std::int64_t(print.high)), note(std::int64_t(print.low));
}

}  // namespace cairn::detail
