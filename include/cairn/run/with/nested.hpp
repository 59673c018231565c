// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file nested.hpp  Nested loops: an outer step that is itself a checkpointed loop.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/sweep.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>

namespace cairn {
namespace detail {

/// The inner step with p, and an index that counts from `base`. Forward and backward sweep of an inner loop call the same
/// instantiation, and so the same machine code: see call.hpp.
template <class Step, class State, class Params>
struct inner_step_of {
  static constexpr step_shape given = step_in_loop<Step, State, Params>();
  static constexpr step_shape bound_shape{given.form, true, false, given.wrong};
  static constexpr bool two = given.form == step_form::out_of_place;
  using input = std::conditional_t<given.form == step_form::in_place, State, State const>;
  Step* inner;
  Params const* p;
  step_index base;

  auto operator()(input& x, step_index const i) const
      -> std::conditional_t<given.form == step_form::by_value, State, void>
    requires(!two)
  {
    return call_step<State, given.indexed>(*inner, *p, base + i, x);
  }
  void operator()(State const& x, State& x1, step_index const i) const
    requires two
  {
    call_step<State, given.indexed>(*inner, *p, base + i, x, x1);
  }
};
/// The loop inside step i of nested loops was run again for its adjoint and ended in another state.
/// \throws nondeterminism_error
[[noreturn]] inline void refuse_inner_loop(step_index i) {
  refuse_replay("an inner loop that was run again does not end in the outer state after it", {i + 1, i, i}, {},
                advice_to_steps);
}
/// The `record` of an adjoint, with such an index.
template <class Record, class State>
struct inner_record {
  Record* inner;
  step_index base;
  decltype(auto) operator()(State& x, step_index i) const { return (*inner)(x, base + i); }
};

/// The adjoint of the inner loop, with an index that counts from `base`. If both sweeps have a replay check, it
/// compares the last state of the recomputed inner loop with the outer state.
template <class Adjoint, bool Compares>
struct inner_adjoint : adjoint_over<inner_adjoint<Adjoint, Compares>> {
  inner_adjoint(Adjoint* f, step_index from, step_index i, end_hash end)
      : inner{f}, base{from}, outer{i}, outer_end{end} {}
  Adjoint* inner;
  step_index base, outer;
  mutable end_hash outer_end;  // until it has been compared

  template <class State, class Bar>
  static consteval adjoint_shape shape_on() { return shape_of_adjoint<Adjoint, State, Bar>(); }
  template <class State, class Input, class Bar, class Params, class DP>
  void back(Input& x, State const* x1, Bar& bar, Params const& p, DP& dp, step_index const from,
            step_index const to) const {
    call_back<State>(*inner, x, x1, bar, p, dp, base + from, base + to);
  }
  void ends_in(end_hash end) const
    requires Compares
  {
    std::uint64_t const expected = std::exchange(outer_end.value, 0);
    if (expected != 0 && end.value != 0 && end.value != expected) refuse_inner_loop(outer);
    if constexpr (takes_end_hash<Adjoint>) referred_to(*inner).ends_in(end);
  }
};
/// The `reverse` of a recording adjoint, with an index that counts from `base`.
template <class Reverse>
struct inner_reverse {
  Reverse* inner;
  step_index base;

  template <class Tape, class Bar>
    requires(calls_with_index<Reverse, Tape&, Bar&> || calls<Reverse, Tape&, Bar&>)
  void operator()(Tape& tape, Bar& bar, step_index k) const {
    pull_back_step<calls_with_index<Reverse, Tape&, Bar&>>(*inner, bar, tape, base + k);
  }
  template <class Tape>
    requires(calls_with_index<Reverse, Tape&> || calls<Reverse, Tape&>)
  void operator()(Tape& tape, step_index k) const {
    library_bar bar;
    pull_back_step<calls_with_index<Reverse, Tape&>>(*inner, bar, tape, base + k);
  }
};

/// The outer step.
template <class Step>
struct nested_step {
  using inner_step = std::remove_reference_t<Step>;
  kept_callable<Step> inner;
  step_index steps;
  mutable lent_object memory;

  /// See `binds_step`.
  template <class State, class Params>
  static consteval step_shape step_with() {
    constexpr auto read = step_in_loop<inner_step, State, Params>();
    if constexpr (read.wrong != fault::none) return read;
    else if constexpr (read.stops) return no_step(fault::result);
    else return {step_form::in_place, true, false, fault::none};
  }
  template <class State, class Params>
  void run(Params const& p, step_index const i, State& x) const {
    inner_step_of<inner_step, State, Params> from{address_of(*inner), &p, i * steps};
    step_index failed = -1;
    if constexpr (decltype(from)::given.form == step_form::in_place) run_in_place(from, x, 0, steps, failed);
    else {
      auto& states = memory.object().get<frames<State>>();
      states.begin(2);
      frame_id live = states.take();
      states.copy_in(std::as_const(x), live);
      states.run(from, live, 0, steps, failed);
      copy_state(std::as_const(states).state(live), x);
    }
  }
  template <class State>
    requires(shape_of_step<inner_step, State>().form != step_form::none &&
             !shape_of_step<inner_step, State>().stops)
  void operator()(State& x, step_index i) const { run<State>(no_parameters, i, x); }
  /// Called by executors, once before each loop.
  void begin(loop_begins loop) const {
    if (__builtin_mul_overflow(loop.steps, steps, &loop.steps)) loop.steps = -1;
    loop.leaf = 1;
    begin_loop(*inner, loop);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*inner), look(steps); }
};
/// Its adjoint.
template <class Plan, class Step, class Adjoint, class Options>
struct nested_adjoint : adjoint_over<nested_adjoint<Plan, Step, Adjoint, Options>> {
  nested_adjoint(Plan const& of, kept_callable<Step> step, kept_callable<Adjoint> f, Options asked)
      : plan{of}, inner{step}, adjoint{f}, options{asked} {}
  using inner_step = std::remove_reference_t<Step>;
  using inner_back = std::remove_reference_t<Adjoint>;
  static constexpr bool compares = is_options<Options>;
  Plan plan;
  kept_callable<Step> inner;
  kept_callable<Adjoint> adjoint;
  [[no_unique_address]] Options options;
  mutable lent_object memory;
  mutable end_hash end;

  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    return shape_over(shape_of_adjoint_with<inner_back, State, Bar, Params, DP>(), adjoint_form::one_step);
  }
  template <class State, class Bar>
  static consteval adjoint_shape shape_on() {
    return shape_of_adjoint<inner_back, State, Bar>().form == adjoint_form::none
               ? adjoint_shape{}
               : made_adjoint(adjoint_form::one_step);
  }
  /// The inner loop runs on an object itself, and leaves it somewhere within the outer step.
  template <class State, class Input, class Bar, class Params, class DP>
  void back(Input& x, State const*, Bar& bar, Params const& p, DP& dp, step_index const i, step_index) const {
    auto parts = bind_adjoint<State, Bar>(*adjoint, p, dp);
    using bound = decltype(parts);
    step_index const base = i * step_index(plan.steps());
    auto& work = memory.object().get<workspace<State, Plan, memory_store, Options>>();
    work.options() = options;
    inner_step_of<inner_step, State, Params> const from{address_of(*inner), &p, base};
    if constexpr (recorder<bound>) {
      inner_record<record_of<bound>, State> numbered{address_of(parts.record), base};
      inner_reverse<reverse_of<bound>> reversed{address_of(parts.reverse), base};
      if constexpr (requires { parts.restart; }) {
        recorded<decltype(numbered), decltype(reversed), decltype((parts.restart))> const all{numbered, reversed,
                                                                                             parts.restart};
        bar = gradient(from, x, plan, std::move(bar), all, work);
      } else
        bar = gradient(from, x, plan, std::move(bar), recorded<decltype(numbered), decltype(reversed)>{numbered, reversed},
                       work);
    } else
      bar = gradient(from, x, plan, std::move(bar),
                     inner_adjoint<bound, compares>{address_of(parts), base, i, std::exchange(end, {})}, work);
  }
  /// As the inner sweeps would check it, before any step runs.
  template <class State, class Bar, class Params, class DP>
  void check_plans() const {
    check_tiers<memory_store>("cairn::nested", plan);
    check_adjoint_fits("cairn::nested", plan.leaf(), tapes_of(plan),
                       adjoint_in_loop<inner_back, State, Bar, Params, DP>().form,
                       tapes_restart(plan), requires(inner_back & given) { given.restart; });
    check_plans_inside<State, Bar, Params, DP>(*adjoint);
  }
  /// Called before each adjoint call of a sweep with a replay check.
  void ends_in(end_hash outer) const
    requires(compares && !recorder<inner_back>)
  {
    end = outer;
  }
  template <class Look>
  void each_function(Look const& look) const { look(plan), look(*inner), look(*adjoint); }
};

}  // namespace detail

/// An outer step made of `plan.steps()` inner steps, and its adjoint. While an outer step is reversed, its inner loop
/// keeps the checkpoints of `plan`. Inner steps and adjoints may have any form, and receive the running index
/// outer * plan.steps() + inner. The outer step is in place, the outer adjoint one of a step.
/// `step` and `adjoint` are separate members, because one callable that is both would be read as an out-of-place step.
/// Levels nest: the inner functions may belong to another `nested`. Lvalues are kept by reference, see `hooked`; of an
/// rvalue step both members have a copy. A second sweep over them allocates nothing.
/// With `sweep_options` every inner sweep compares the states that it recomputes. If the outer sweep has a replay
/// check, too, the last state of the inner loop is compared with the outer state, for inner adjoints of one step; for
/// that the outer sweep must receive `adjoint` itself, or `hooked(adjoint, hook)`. In a verb with `wrt` inner steps and
/// adjoints take p and dp before the index.
/// If the state is an object, the inner loop runs on the object itself, and the adjoint of an outer step leaves it
/// somewhere within that step; an inner sweep holds snapshots of `plan.slots() + 1` further states. An inner step that
/// is not in place runs on two states besides the outer ones.
template <schedule Plan, class Step, class Adjoint, class Options = no_options>
class nested {
  using forward = detail::nested_step<Step>;
  using backward = detail::nested_adjoint<Plan, Step, Adjoint, Options>;

 public:
  /// \param plan  the plan of the inner loop   \param inner  its step   \param back  the adjoint of its steps
  template <class StepArg, class AdjointArg>
    requires(std::is_same_v<detail::kept_as<StepArg>, Step> && std::is_same_v<detail::kept_as<AdjointArg>, Adjoint>)
  nested(Plan plan, StepArg&& inner, AdjointArg&& back, Options options = {})
      : step{inner, step_index(plan.steps()), {}},
        adjoint{plan, std::forward<StepArg>(inner), std::forward<AdjointArg>(back), options} {}
  forward step;  ///< the outer step
  backward adjoint;  ///< the adjoint of the outer step
};
/// Deduces how the callables are kept.
template <class Plan, class Step, class Adjoint>
nested(Plan, Step&&, Adjoint&&) -> nested<Plan, detail::kept_as<Step>, detail::kept_as<Adjoint>>;
/// The same with options.
template <class Plan, class Step, class Adjoint, class Options>
nested(Plan, Step&&, Adjoint&&, Options)
    -> nested<Plan, detail::kept_as<Step>, detail::kept_as<Adjoint>, Options>;

}  // namespace cairn
