// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint_over.hpp  Adjoints made of other ones.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/loop_step.hpp>

namespace cairn::detail {

/// The shape of an adjoint around one that was read so, if it could be read.
[[nodiscard]] constexpr adjoint_shape shape_over(adjoint_shape const& read, adjoint_form form) noexcept {
  return read.form == adjoint_form::none ? read : made_adjoint(form);
}
[[nodiscard]] constexpr adjoint_shape shape_over(adjoint_shape const& read) noexcept { return shape_over(read, read.form); }

/// The call operators of an adjoint made of another one, as users call it: `shape_on<State, Bar>()` is the other's form.
template <class Self>
struct adjoint_over {
  using goes_back = void;
  template <class State, class Bar>
  static constexpr adjoint_form form = Self::template shape_on<State, Bar>().form;
  template <class State>
  using input = std::conditional_t<saved_state<std::remove_const_t<State>>, State, State const>;

  template <class State, class Bar>
    requires(form<std::remove_const_t<State>, Bar> == adjoint_form::one_step)
  void operator()(State& x, Bar& bar, step_index const i) const { plain(x, bar, i, i + 1); }
  template <class State, class Bar>
    requires(form<std::remove_const_t<State>, Bar> == adjoint_form::leaf)
  void operator()(State& x, Bar& bar, step_index const first, step_index const last) const {
    plain(x, bar, first, last);
  }
  template <class State, class Bar>
    requires(form<State, Bar> == adjoint_form::with_next)
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const { plain(x, bar, i, i + 1, &x1); }
  template <class State>
    requires(saved_state<State> && form<State, library_bar> == adjoint_form::one_step)
  void operator()(State& x, step_index const i) const {
    library_bar bar;
    plain(x, bar, i, i + 1);
  }
  template <class State>
    requires(saved_state<State> && form<State, library_bar> == adjoint_form::leaf)
  void operator()(State& x, step_index const first, step_index const last) const {
    library_bar bar;
    plain(x, bar, first, last);
  }

 private:
  template <class Input, class Bar, class State = std::remove_const_t<Input>>
  void plain(Input& x, Bar& bar, step_index const from, step_index const to, State const* x1 = nullptr) const {
    static_cast<Self const&>(*this).template back<State>(x, x1, bar, no_parameters, no_gradient, from, to);
  }
};

/// The reverse of a record, as it is called in a loop with parameters or without.
template <class Tape, class Bar, class Reverse, class Params, class DP>
[[nodiscard]] auto bind_reverse(Reverse& reverse, Params const& p, DP& dp) {
  return loop_reverse<Reverse, Tape, Bar, Params, DP>{reverse, p, dp, nothing_seen, nullptr};
}

}  // namespace cairn::detail
