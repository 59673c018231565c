#pragma once
/// \file nested.hpp  Loops in loops: an outer step that is itself a checkpointed loop.
#include <type_traits>
#include <utility>
#include <cairn/core/address_of.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/kept_object.hpp>

namespace cairn {
namespace detail {

/// A callable whose index counts from `base`. Forward and backward sweep of an inner loop call the same instantiation of it, and so the
/// same code of the step: see call.hpp.
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

}  // namespace detail

/// An outer step made of `plan.steps()` inner ones, and its adjoint; the inner loop keeps what `plan` says while its outer step is reversed.
/// Inner steps and adjoints see the running index outer * plan.steps() + inner. `step` and `adjoint` are separate members, for one
/// callable that is both would be read as an out-of-place step. Levels nest: the inner functions may be another `nested`'s.
/// Both keep copies of the callables; a second sweep over them allocates nothing.
/// With `sweep_options` every inner sweep compares what it runs again.
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
    using inner_plan = Plan;
    Plan plan;
    mutable std::remove_const_t<Step> inner;
    mutable std::remove_const_t<Adjoint> back;
    [[no_unique_address]] Options options;
    mutable detail::kept_object memory;
    template <class State, class Bar>
      requires(detail::shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
    void operator()(State const& x, Bar& bar, step_index i) const {
      static constexpr bool indexed = detail::shape_of_adjoint<Adjoint, State, Bar>().indexed;  // static: nvcc reads it inside the lambda
      step_index const base = i * step_index(plan.steps());
      auto& work = memory.get<workspace<State, Plan, memory_store, Options>>();
      work.options() = options;
      bar = gradient(detail::counted_from<Step>{detail::address_of(inner), base}, x, plan, std::move(bar),
                     [this, base](State const& at, Bar& b, step_index k) {
                       if constexpr (indexed) detail::pull_back(back, b, at, b, base + k);
                       else detail::pull_back(back, b, at, b), void(base);
                     },
                     work);
    }
  };

 public:
  /// \param plan  of the inner loop   \param inner  its step, in place   \param back  its adjoint, of one step
  nested(Plan plan, Step inner, Adjoint back, Options options = {}) : step{inner, step_index(plan.steps())}, adjoint{plan, inner, back, options, {}} {}
  forward step;  ///< the outer step
  backward adjoint;  ///< the adjoint of the outer step
};

}  // namespace cairn
