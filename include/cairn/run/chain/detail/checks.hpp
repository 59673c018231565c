// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checks.hpp  The checks that `chain_gradient` makes of its arguments: one error for each misuse; for any_stage
/// one exception.
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/chain/detail/list.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/run/chain/detail/tuple.hpp>

namespace cairn::detail {

template <class Stages> inline constexpr bool of_any_stages = false;
template <stage_list Stages>
inline constexpr bool of_any_stages<Stages> = erased_stage<typename stage_access<Stages>::stage>;

/// The first fault of the forward functions of a tuple, in the order of the stages.
template <class Stages, class X0, std::size_t Place = 0>
[[nodiscard]] consteval stage_fault fault_of_tuple_forward() {
  if constexpr (Place == std::tuple_size_v<std::remove_const_t<Stages>>) return stage_fault::none;
  else {
    constexpr auto found = fault_of_next<typename state_in<Stages, X0, Place + 1>::type>();
    if constexpr (found != stage_fault::none) return found;
    else return fault_of_tuple_forward<Stages, X0, Place + 1>();
  }
}
/// The first fault of the backward functions, from the last stage on.
template <class Stages, class X0, class Bar, std::size_t Place>
[[nodiscard]] consteval stage_fault fault_of_tuple_backward() {
  if constexpr (Place == 0) return stage_fault::none;
  else {
    constexpr auto found =
        stage_at<Stages, X0, Bar, Place - 1, std::tuple_size_v<std::remove_const_t<Stages>>>::reading::shape.wrong;
    if constexpr (found != stage_fault::none) return found;
    else return fault_of_tuple_backward<Stages, X0, Bar, Place - 1>();
  }
}
/// The fault of the forward function of a list, whose stages all have one type.
template <class Stages, class X0>
[[nodiscard]] consteval stage_fault fault_of_list_forward() {
  if constexpr (of_any_stages<Stages>) return stage_fault::none;
  else {
    using next = typename stage_access<Stages>::template next<X0>;
    if constexpr (fault_of_next<next>() != stage_fault::none) return fault_of_next<next>();
    else return std::is_same_v<next, X0> ? stage_fault::none : stage_fault::two_states;
  }
}
template <class Stages, class X0, class Bar>
[[nodiscard]] consteval stage_fault fault_of_list_backward() {
  if constexpr (of_any_stages<Stages>) return stage_fault::none;
  else {
    using reading = typename stage_access<Stages>::template reading<X0, Bar>;
    if constexpr (reading::shape.wrong != stage_fault::none) return reading::shape.wrong;
    else return std::is_same_v<typename reading::adjoint, Bar> ? stage_fault::none : stage_fault::two_adjoints;
  }
}

/// The types of a chain: the object that holds it during a sweep, and the last state as a seed sees it.
template <class Stages, class X0, bool IsList = stage_list<Stages>>
struct chain_types {
  using last = typename state_in<Stages, X0, std::tuple_size_v<std::remove_const_t<Stages>>>::type;
  template <class Bar> using memory = chain_tuple<Stages, X0, Bar>;
  static consteval stage_fault fault_forward() { return fault_of_tuple_forward<Stages, X0>(); }
  template <class Bar>
  static consteval stage_fault fault_backward() {
    return fault_of_tuple_backward<Stages, X0, Bar, std::tuple_size_v<std::remove_const_t<Stages>>>();
  }
};
template <class Stages, class X0>
struct chain_types<Stages, X0, true> {
  using last = std::conditional_t<of_any_stages<Stages>, stage_view, X0>;
  template <class Bar> using memory = chain_list<Stages, X0, Bar>;
  static consteval stage_fault fault_forward() { return fault_of_list_forward<Stages, X0>(); }
  template <class Bar>
  static consteval stage_fault fault_backward() { return fault_of_list_backward<Stages, X0, Bar>(); }
};

/// The fault of stages, their forward functions, and the plan.
template <class Stages, class X0, class Plan>
[[nodiscard]] consteval stage_fault fault_of_chain_forward() {
  if constexpr (!stage_list<Stages> && !stage_tuple<Stages>) return stage_fault::stages;
  else if constexpr (!has_actions<Plan>) return stage_fault::plan;
  else return chain_types<Stages, X0>::fault_forward();
}
/// The fault of the seed and the backward functions. \tparam Seeded  the type of the seed, or of its result for the
/// last state   \tparam Bar  the adjoint
template <class Stages, class X0, class Seed, class Seeded, class Bar>
[[nodiscard]] consteval stage_fault fault_of_chain_backward() {
  if constexpr (std::is_void_v<Seeded>) return stage_fault::seed_nothing;
  else if constexpr (function_like<Seeded>) return stage_fault::seed_other;
  else if constexpr (!standalone<Seeded> || !std::move_constructible<Seeded>) return stage_fault::seed_view;
  else if constexpr (shared_seed<Seed, typename chain_types<Stages, X0>::last>) return stage_fault::seed_shares;
  else if constexpr (whole_for<Seeded, typename chain_types<Stages, X0>::last>) return stage_fault::seed_whole;
  else return chain_types<Stages, X0>::template fault_backward<Bar>();
}

/// Called before anything runs: checks that each stage takes what the one before it returns, forward and backward, and
/// the parameters that there are.
/// \throws invalid_plan
template <class X0, class Seeded, class Stages>
void check_any_stages(Stages& stages, char const* who) {
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
    if (takes.params != nullptr && !params_of(stages[i]).holds(takes.params, takes.gradient))
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
