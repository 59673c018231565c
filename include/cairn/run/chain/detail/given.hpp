// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given.hpp  What a sweep over a chain is given: its stages, p and dp.
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/door/detail/stage_shape.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/chain/any_stage.hpp>

namespace cairn::detail {

template <class Stages> inline constexpr bool is_indexed = false;
template <class Stage> inline constexpr bool is_indexed<indexed_stages<Stage>> = true;
template <class Stage> inline constexpr bool is_indexed<indexed_stages<Stage> const> = true;
/// A vector of stages or a similar list.
template <class Stages>
concept stage_vector = requires(Stages& all) {
  { all.size() } -> std::convertible_to<std::size_t>;
  all[std::size_t{0}];
};
template <class Stages>
concept stage_list = is_indexed<Stages> || stage_vector<Stages>;
/// A std::tuple, or a similar type that is not a list.
template <class Stages>
concept stage_tuple = !stage_list<Stages> && requires { std::tuple_size<std::remove_const_t<Stages>>::value; };

/// The type of the stages of a list.
template <class Stages> struct stage_of_list { using type = void; };
template <stage_vector Stages>
struct stage_of_list<Stages> { using type = std::remove_reference_t<decltype(std::declval<Stages&>()[0])>; };
template <class Stages>
  requires is_indexed<Stages>
struct stage_of_list<Stages> { using type = std::remove_reference_t<decltype((std::declval<Stages&>().stage))>; };

/// The stages of a chain, p and dp; `no_params` if it has none. Stages of any type get both as one value.
template <class StagesGiven, class Params, class DP>
struct chain_given {
  using stages_type = StagesGiven;
  using context = stage_context<Params, DP, is_indexed<StagesGiven>>;
  using stage = typename stage_of_list<StagesGiven>::type;  ///< of a list
  static constexpr bool is_list = stage_list<StagesGiven>, of_any = std::is_same_v<stage, any_stage>;
  StagesGiven& stages;
  std::conditional_t<of_any, Params, Params const&> p;
  DP& dp;

  [[nodiscard]] step_index count() const
    requires is_list
  {
    if constexpr (is_indexed<StagesGiven>) return stages.count;
    else return step_index(stages.size());
  }
  [[nodiscard]] auto& operator[](step_index i) const
    requires is_list
  {
    if constexpr (is_indexed<StagesGiven>) return stages.stage;
    else return stages[std::size_t(i)];
  }
};
template <class Stages, class Wrt = no_wrt>
[[nodiscard]] auto given_chain(Stages& stages, [[maybe_unused]] Wrt const& by = {}) {
  if constexpr (std::is_same_v<typename stage_of_list<Stages>::type, any_stage>) {
    if constexpr (!is_wrt<Wrt>) return chain_given<Stages, stage_params, no_params>{stages, {}, no_gradient};
    else return chain_given<Stages, stage_params, no_params>{stages, stage_params{by}, no_gradient};
  } else {
    auto const& all = params_of(by);
    using Params = std::remove_cvref_t<decltype(all.p)>;
    using DP = std::remove_reference_t<decltype(all.dp)>;
    return chain_given<Stages, Params, DP>{stages, all.p, all.dp};
  }
}
template <class Stages, class Wrt>
using chain_given_for = decltype(given_chain(std::declval<Stages&>(), std::declval<Wrt const&>()));

}  // namespace cairn::detail
