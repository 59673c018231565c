// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checks.hpp  The checks that `chain_gradient` makes of its arguments: one error for each misuse; for any_stage
/// one exception.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/chain/detail/list.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/run/chain/detail/tuple.hpp>

namespace cairn::detail {

/// The first fault of the forward functions of a tuple, in the order of the stages.
template <class Given, class X0, std::size_t Place = 0>
[[nodiscard]] consteval stage_fault fault_of_tuple_forward() {
  if constexpr (Place == chain_length<Given>) return stage_fault::none;
  else {
    constexpr auto found = fault_of_next<typename state_in<Given, X0, Place + 1>::type>();
    if constexpr (found != stage_fault::none) return found;
    else return fault_of_tuple_forward<Given, X0, Place + 1>();
  }
}
/// The first fault of the backward functions, from the last stage on.
template <class Given, class X0, class Bar, std::size_t Place>
[[nodiscard]] consteval stage_fault fault_of_tuple_backward() {
  if constexpr (Place == 0) return stage_fault::none;
  else {
    constexpr auto found =
        stage_at<Given, X0, Bar, Place - 1, chain_length<Given>>::reading::shape.wrong;
    if constexpr (found != stage_fault::none) return found;
    else return fault_of_tuple_backward<Given, X0, Bar, Place - 1>();
  }
}
/// The fault of the forward function of a list, whose stages all have one type.
template <class Given, class X0>
[[nodiscard]] consteval stage_fault fault_of_list_forward() {
  if constexpr (Given::of_any) return stage_fault::none;
  else {
    using next = next_of<typename Given::stage, typename Given::context, X0>;
    if constexpr (fault_of_next<next>() != stage_fault::none) return fault_of_next<next>();
    else return std::is_same_v<next, X0> ? stage_fault::none : stage_fault::two_states;
  }
}
template <class Given, class X0, class Bar>
[[nodiscard]] consteval stage_fault fault_of_list_backward() {
  if constexpr (Given::of_any) return stage_fault::none;
  else {
    using reading = stage_reading<typename Given::stage, X0, Bar, typename Given::context>;
    if constexpr (reading::shape.wrong != stage_fault::none) return reading::shape.wrong;
    else return std::is_same_v<typename reading::adjoint, Bar> ? stage_fault::none : stage_fault::two_adjoints;
  }
}

/// The types of a chain: the object that holds it during a sweep, and the last state as a seed sees it.
template <class Given, class X0, bool IsList = Given::is_list>
struct chain_types {
  using last = typename state_in<Given, X0, chain_length<Given>>::type;
  template <class Bar> using memory = chain_tuple<Given, X0, Bar>;
  static consteval stage_fault fault_forward() { return fault_of_tuple_forward<Given, X0>(); }
  template <class Bar>
  static consteval stage_fault fault_backward() {
    return fault_of_tuple_backward<Given, X0, Bar, chain_length<Given>>();
  }
};
template <class Given, class X0>
struct chain_types<Given, X0, true> {
  using last = std::conditional_t<Given::of_any, stage_view, X0>;
  template <class Bar> using memory = chain_list<Given, X0, Bar>;
  static consteval stage_fault fault_forward() { return fault_of_list_forward<Given, X0>(); }
  template <class Bar>
  static consteval stage_fault fault_backward() { return fault_of_list_backward<Given, X0, Bar>(); }
};

/// The fault of stages, their forward functions, and the plan.
template <class Given, class X0, class Plan>
[[nodiscard]] consteval stage_fault fault_of_chain_forward() {
  if constexpr (!Given::is_list && !stage_tuple<typename Given::stages_type>) return stage_fault::stages;
  else if constexpr (!has_actions<Plan>) return stage_fault::plan;
  else return chain_types<Given, X0>::fault_forward();
}
/// The fault of the seed and the backward functions. \tparam Seeded  the type of the seed, or of its result for the
/// last state   \tparam Bar  the adjoint
template <class Given, class X0, class Seed, class Seeded, class Bar>
[[nodiscard]] consteval stage_fault fault_of_chain_backward() {
  if constexpr (std::is_void_v<Seeded>) return stage_fault::seed_nothing;
  else if constexpr (function_like<Seeded>) return stage_fault::seed_other;
  else if constexpr (!standalone<Seeded> || !std::move_constructible<Seeded>) return stage_fault::seed_view;
  else if constexpr (shared_seed<Seed, typename chain_types<Given, X0>::last>) return stage_fault::seed_shares;
  else if constexpr (whole_for<Seeded, typename chain_types<Given, X0>::last>) return stage_fault::seed_whole;
  else return chain_types<Given, X0>::template fault_backward<Bar>();
}

/// The types of a sweep.   \pre stages and plan have no fault   \tparam Seed  as given
template <class Given, class X0, class Seed, class Wrt>
struct chain_sweep {
  using last = typename chain_types<Given, X0>::last;
  using seed = std::conditional_t<is_wrt<Wrt>,
                                  decltype(chain_seed<last>(
                                      std::declval<Seed>(), std::declval<Wrt const&>(),
                                      std::declval<watched_params<typename params_in_wrt<Wrt>::p> const&>())),
                                  Seed>;
  using seeded = seed_result<seed, last>;           ///< the seed, or its result for the last state
  using bar = typename bar_from<seed, last>::type;  ///< the adjoint of the last state
  using memory = typename chain_types<Given, X0>::template memory<bar>;
};
template <class Given, class X0, class Seed, class Wrt>
[[nodiscard]] consteval stage_fault fault_of_chain_seed() {
  using types = chain_sweep<Given, X0, Seed, Wrt>;
  return fault_of_chain_backward<Given, X0, typename types::seed, typename types::seeded, typename types::bar>();
}

/// Called before anything runs: checks that each stage takes what the one before it returns, forward and backward, and
/// the parameters that there are.
/// \throws invalid_plan
template <class X0, class Seeded, class Given>
void check_any_stages(Given const& given, char const* who) {
  auto& stages = given.stages;
  std::size_t const count = std::size_t(stages.size());
  type_mark state = mark_of<X0>();
  for (std::size_t i = 0; i < count; ++i) {
    if (stages[i].types().state != state)
      throw invalid_plan{who,
                         "a stage takes a different type of state from the one that it is given",
                         {{"stage", i}, {"stages", count}},
                         "its forward must take what the stage before it returns, the first one x0"};
    state = stages[i].types().next;
    auto const takes = stages[i].types();
    if (takes.params != nullptr && !given.p.holds(takes.params, takes.gradient))
      throw invalid_plan{who,
                         "a stage takes parameters of a different type, or there are none",
                         {{"stage", i}, {"stages", count}},
                         "give cairn::wrt{p, dp} after the seed, with the types of p and dp that its functions take"};
  }
  for (std::size_t i = count; i-- > 0;) {
    bool const last = i + 1 == count;
    if (last && std::is_same_v<Seeded, stage_value>) continue;  // known only when the seed has run
    if (stages[i].types().bar != (last ? mark_of<Seeded>() : stages[i + 1].types().adjoint))
      throw invalid_plan{who,
                         "a stage takes a different type of adjoint from the one that it is given",
                         {{"stage", i}, {"stages", count}},
                         "its backward must take what the stage after it returns, the last one what the seed gives"};
  }
}

}  // namespace cairn::detail
