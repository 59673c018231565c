// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_checks.hpp  The checks of stages and of other arguments: one error message for each misuse.
#include <type_traits>
#include <cairn/door/detail/stage_shape.hpp>

namespace cairn::detail {

/// What is wrong with the result of forward as a state.
template <class Next>
[[nodiscard]] consteval stage_fault fault_of_next() {
  if constexpr (std::is_same_v<Next, no_result>) return stage_fault::forward;
  else return standalone<Next> ? stage_fault::none : stage_fault::state;
}

/// Called by the public verbs themselves with the fault found before, so that the compiler reports the error there.
/// One function: a list of sentences, one for each fault.
template <stage_fault Found>
[[nodiscard]] consteval bool check_stages() {
  using enum stage_fault;
  static_assert(Found != forward,
                "cairn: a stage needs `y = forward(x)` that takes what the stage before it gives, the first one x0, by "
                "const reference; of indexed_stages `forward(x, i)`; with cairn::wrt it may take p after x");
  static_assert(
      Found != state,
      "cairn: forward must return a state that owns its data, by value: no reference, no view and no expression");
  static_assert(Found != tape,
                "cairn: record must be `tape = record(x)`, of indexed_stages `record(x, i)`, and return the tape, "
                "which owns its data, by value");
  static_assert(Found != output,
                "cairn: a stage that records needs `output(tape)` that returns what forward returns, as a const "
                "reference to what lies in the tape");
  static_assert(
      Found != backward,
      "cairn: the backward of a stage must be `backward(x, bar)` or `backward(x, y, bar)`, of one that records "
      "`backward(tape, bar)` or `backward(x, tape, bar)`, of indexed_stages with i at the end; bar is the adjoint of "
      "what forward returns; with cairn::wrt it may take p and `auto& dp` after bar");
  static_assert(
      Found != adjoint,
      "cairn: backward must change bar and return nothing, or return the new bar, which owns its data, by value");
  static_assert(Found != unchanged, "cairn: a backward that returns nothing must take bar by non-const reference");
  static_assert(Found != both,
                "cairn: a backward that changes bar must return nothing (an error code is ignored; throw instead); one "
                "that returns the new bar must take bar by value or by const reference");
  static_assert(Found != whole,
                "cairn: backward returns a whole number as the adjoint of floating-point numbers; return a "
                "floating-point number");
  static_assert(
      Found != narrow,
      "cairn: a stage takes a number as one of a narrower type, which would truncate it; take the type that it is "
      "given");
  static_assert(Found != index,
                "cairn: a stage takes its number as a floating-point or short number, a bool or a default argument; take "
                "`cairn::step_index i`");
  static_assert(Found != unnamed_form,
                "cairn: cannot determine which state this stage takes, because its forward is a template or "
                "overloaded; use cairn::any_stage::taking<State>(stage)");
  static_assert(Found != stages,
                "cairn: stages are a std::tuple or a std::vector of objects with forward and backward, or "
                "cairn::indexed_stages{count, stage}");
  static_assert(Found != two_states,
                "cairn: stages in a vector and indexed_stages must give states of the type of x0; use a std::tuple of "
                "stages, or a std::vector<cairn::any_stage>");
  static_assert(Found != two_adjoints,
                "cairn: stages in a vector and indexed_stages must give adjoints of the type that the seed gives; use "
                "a std::tuple of stages, or a std::vector<cairn::any_stage>");
  static_assert(Found != plan,
                "cairn: a plan for a chain must be a list of cairn::action, or have a member actions that is one");
  static_assert(Found != seed_nothing, "cairn: seed(x) must return the adjoint of the final state");
  static_assert(Found != seed_other,
                "cairn: the seed must be the adjoint of the final state, or `seed(x)` that takes the final state by "
                "const reference and returns it");
  static_assert(Found != seed_view,
                "cairn: the seed must give an adjoint that owns its data and can be moved (not an expression, a view "
                "or a pointer)");
  static_assert(Found != seed_whole,
                "cairn: the seed is a whole number, and every adjoint would be truncated to one; write 1.0 instead of "
                "1, or let seed(x) return a floating-point number");
  static_assert(Found != seed_shares,
                "cairn: a copy of this seed would share its data with the caller's, which the backward sweep changes; "
                "pass it by std::move, or pass `seed(x)` that makes it");
  static_assert(Found != extra,
                "cairn: what follows the seed may be, in any order, an observer, a store with save, load and drop or a "
                "cairn::disk, a cairn::sweep_failure variable, cairn::sweep_options, cairn::wrt{p, dp} and a "
                "cairn::sweep_report variable; one argument is none of these");
  static_assert(Found != twice, "cairn: two arguments of the same kind follow the seed; give each kind once");
  static_assert(Found != dropped,
                "cairn: the forward of a stage takes p, but its backward takes no dp, and its part of the gradient "
                "would be missing; let backward take p and `auto& dp` after bar, even if it adds nothing");
  static_assert(Found != any_on_disk,
                "cairn: a chain of cairn::any_stage cannot run on disk, because the types of its states are known only "
                "while it runs; use a std::tuple or a std::vector of stages");
  static_assert(Found != store,
                "cairn: this store cannot load the states of these stages: it needs `load(where, i)`, or "
                "`load<State>(where, i)` if they are of several types");
  static_assert(Found != unhashed,
                "cairn: the replay check cannot determine the bytes of a state of these stages, or they have padding; "
                "give its type a member visit_buffers(f) or specialise cairn::state_traits with visit_buffers(state, "
                "f)");
  static_assert(Found != unsized,
                "cairn: chain_probe cannot determine how many bytes a state, tape or adjoint of these stages holds; "
                "give its type a member bytes() or specialise cairn::state_traits with bytes(x)");
  return Found == none;
}

}  // namespace cairn::detail
