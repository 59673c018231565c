// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file nested.hpp  Nested loops: an outer step that is itself a checkpointed loop.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/refused_replay.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/run/detail/cached_object.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {
namespace detail {

/// A callable whose index counts from `base`. Forward and backward sweep of an inner loop call the same instantiation,
/// and so the same machine code: see call.hpp.
template <class Step>
struct counted_from {
  Step* inner;
  step_index base;

  template <class State>
    requires calls<Step, State&, step_index>
  decltype(auto) operator()(State& x, step_index i) const { return (*inner)(x, base + i); }
  template <class State>
    requires(!calls<Step, State&, step_index> && calls<Step, State&>)
  decltype(auto) operator()(State& x, step_index) const { return (*inner)(x); }
};

/// The adjoint of the inner loop, with an index that counts from `base`. If both sweeps have a replay check, it
/// compares the last state of the recomputed inner loop with the outer state.
template <class Adjoint, bool Compares>
struct inner_adjoint {
  Adjoint* inner;
  step_index base, outer;
  mutable end_hash outer_end;  // until it has been compared

  template <class State, class Bar>
    requires(!saved_state<State> && shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, step_index k) const { call<State>(x, bar, k); }
  template <class State, class Bar>
    requires(saved_state<State> && shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
  void operator()(State& x, Bar& bar, step_index k) const { call<State>(x, bar, k); }
  template <class State>
    requires(saved_state<State> && shape_of_adjoint<Adjoint, State, library_bar>().form == adjoint_form::one_step)
  void operator()(State& x, step_index k) const {
    library_bar bar;
    call<State>(x, bar, k);
  }
  void ends_in(end_hash end) const
    requires Compares
  {
    std::uint64_t const expected = std::exchange(outer_end.value, 0);
    if (expected != 0 && end.value != 0 && end.value != expected) refuse_inner_loop(outer);
    if constexpr (takes_end_hash<Adjoint>) inner->ends_in(end);
  }

 private:
  template <class State, class X, class Bar>
  void call(X& x, Bar& bar, step_index k) const {
    pull_back_step<shape_of_adjoint<Adjoint, State, Bar>().indexed>(*inner, bar, x, base + k);
  }
};

}  // namespace detail

/// An outer step made of `plan.steps()` inner steps, and its adjoint. While an outer step is reversed, its inner loop
/// keeps the checkpoints of `plan`. Inner steps and adjoints receive the running index outer * plan.steps() + inner.
/// `step` and `adjoint` are separate members, because one callable that is both would be read as an out-of-place step.
/// Levels nest: the inner functions may belong to another `nested`. Both members keep copies of the callables; a second
/// sweep over them allocates nothing.
/// With `sweep_options` every inner sweep compares the states that it recomputes. If the outer sweep has a replay
/// check, too, the last state of the inner loop is compared with the outer state; for that the outer sweep must receive
/// `adjoint` itself, or `hooked(adjoint, hook)`.
/// If the state is an object, the inner loop runs on the object itself, and the adjoint of an outer step leaves it
/// somewhere within that step; an inner sweep holds snapshots of `plan.slots() + 1` further states.
template <schedule Plan, class Step, class Adjoint, class Options = no_options>
class nested {
  // The callables are mutable, so that a const pair of mutable lambdas works.
  struct forward {
    mutable std::remove_const_t<Step> inner;
    step_index steps;
    template <class State>
      requires(detail::shape_of_step<Step, State>().form == step_form::in_place)
    void operator()(State& x, step_index i) const {
      detail::counted_from<Step> from{detail::address_of(inner), i * steps};
      step_index failed = -1;
      detail::run_in_place(from, x, 0, steps, failed);
    }
  };
  struct backward {
    static constexpr bool compares = detail::is_options<Options>;
    Plan plan;
    mutable std::remove_const_t<Step> inner;
    mutable std::remove_const_t<Adjoint> back;
    [[no_unique_address]] Options options;
    mutable detail::cached_object memory;
    mutable detail::end_hash end;
    template <class State, class Bar>
      requires(!saved_state<State> &&
               detail::shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
    void operator()(State const& x, Bar& bar, step_index i) const {
      bar = reverse<State>(x, std::move(bar), i);
    }
    /// The inner loop runs on the object itself, and leaves it somewhere within the outer step.
    template <class State, class Bar>
      requires(saved_state<State> && detail::shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
    void operator()(State& x, Bar& bar, step_index i) const {
      bar = reverse<State>(x, std::move(bar), i);
    }
    template <class State>
      requires(saved_state<State> &&
               detail::shape_of_adjoint<Adjoint, State, library_bar>().form == adjoint_form::one_step)
    void operator()(State& x, step_index i) const {
      (void)reverse<State>(x, library_bar{}, i);
    }
    /// Called before each adjoint call of a sweep with a replay check.
    void ends_in(detail::end_hash outer) const
      requires compares
    {
      end = outer;
    }

   private:
    friend nested;
    template <class State, class X, class Bar>
    [[nodiscard]] Bar reverse(X& x, Bar bar, step_index i) const {
      step_index const base = i * step_index(plan.steps());
      auto& work = memory.get<workspace<State, Plan, memory_store, Options>>();
      work.options() = options;
      return gradient(detail::counted_from<Step>{detail::address_of(inner), base}, x, plan, std::move(bar),
                      detail::inner_adjoint<std::remove_const_t<Adjoint>, compares>{detail::address_of(back), base, i,
                                                                                    std::exchange(end, {})},
                      work);
    }
  };

 public:
  /// \param plan  the plan of the inner loop   \param inner  its step, in place   \param back  the adjoint of one inner
  /// step
  nested(Plan plan, Step inner, Adjoint back, Options options = {})
      : step{inner, step_index(plan.steps())}, adjoint{plan, inner, back, options, {}, {}} {}
  forward step;  ///< the outer step
  backward adjoint;  ///< the adjoint of the outer step
};

}  // namespace cairn
