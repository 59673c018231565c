// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file refused_run.hpp  The result type of a loop that was refused at compile time: accepts all calls of a run,
/// without further errors.
#include <cstddef>
#include <type_traits>
#include <cairn/core/event.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/run/form/detail/bound_seed.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>
#include <cairn/run/sweep/checkpoint_view.hpp>

namespace cairn::detail {

/// The type of a run's states with their numbers.
template <class State>
struct refused_walk {
  struct visited {
    step_index index;
    State const& state;
  };
  struct end_of_walk {};
  [[nodiscard]] visited operator*() const { return refuse<visited>(); }
  refused_walk& operator++() { return *this; }
  void operator++(int) {}
  [[nodiscard]] bool operator==(end_of_walk) const noexcept { return true; }
  [[nodiscard]] refused_walk begin() const noexcept { return {}; }
  [[nodiscard]] end_of_walk end() const noexcept { return {}; }
};

/// Has the members of a `checkpointed_run` over states of type State. Never constructed.
template <class State>
struct refused_run {
  [[nodiscard]] step_index steps() const noexcept { return 0; }
  [[nodiscard]] State const& final_state() const { return *refuse<State const*>(); }
  [[nodiscard]] checkpoint_view<State> checkpoints() const { return {}; }
  [[nodiscard]] wide step_calls() const noexcept { return 0; }
  [[nodiscard]] sweep_failure const& failure() const { return *refuse<sweep_failure const*>(); }
  template <class Seed, class... Adjoint>
  auto reverse(Seed&&, Adjoint&&...) { return refuse<typename refused_bar<Seed, State>::type>(); }
  [[nodiscard]] auto at(step_index) { return refuse<typename first_returned<State>::type>(); }
  [[nodiscard]] refused_walk<State> backward() { return {}; }
  template <std::size_t Place>
  [[nodiscard]] decltype(auto) get() const {
    if constexpr (Place == 0) return final_state();
    else return checkpoints();
  }
};

template <class Step, class X0>
[[nodiscard]] auto refuse_run() {
  return refused_run<typename refused_state<std::remove_cvref_t<Step>, std::remove_cvref_t<X0>>::type>{};
}

}  // namespace cairn::detail

template <class State>
struct std::tuple_size<cairn::detail::refused_run<State>> : std::integral_constant<std::size_t, 2> {};
template <class State>
struct std::tuple_element<0, cairn::detail::refused_run<State>> { using type = State const&; };
template <class State>
struct std::tuple_element<1, cairn::detail::refused_run<State>> { using type = cairn::checkpoint_view<State>; };
