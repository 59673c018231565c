// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_params.hpp  Stages and seeds that take the parameters of their chain: as the executors call them,
/// without.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/list.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/stage_with_params.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>

namespace cairn::detail {

/// Stages with parameters, for the executors of a chain. Refers to the stages.
template <class Params, class DP, class Stage>
[[nodiscard]] auto stages_with_params(indexed_stages<Stage>& stages, wrt<Params, DP> const& by) {
  using bound = stage_with_params<Stage, Params, DP, true>;
  return indexed_stages<bound>{stages.count, bound{&stages.stage, &by.p, &by.dp}};
}
template <class Params, class DP, class Stage>
[[nodiscard]] auto stages_with_params(indexed_stages<Stage> const& stages, wrt<Params, DP> const& by) {
  using bound = stage_with_params<Stage const, Params, DP, true>;
  return indexed_stages<bound>{stages.count, bound{&stages.stage, &by.p, &by.dp}};
}
template <class Params, class DP, stage_vector Stages>
[[nodiscard]] auto stages_with_params(Stages& stages, wrt<Params, DP> const& by) {
  auto const bind_all = [&]<class Bound>(Bound const& unbound) {
    std::vector<Bound> all(std::size_t(stages.size()), unbound);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].stage = address_of(stages[i]);
    return all;
  };
  using stage = std::remove_reference_t<decltype(stages[0])>;
  if constexpr (erased_stage<stage>) return bind_all(any_stage_with_params{nullptr, stage_params{by}});
  else return bind_all(stage_with_params<stage, Params, DP, false>{nullptr, &by.p, &by.dp});
}
template <class Params, class DP, stage_tuple Stages>
[[nodiscard]] auto stages_with_params(Stages& stages, wrt<Params, DP> const& by) {
  return std::apply(
      [&](auto&... stage) {
        return std::tuple{stage_with_params<std::remove_reference_t<decltype(stage)>, Params, DP, false>{
            address_of(stage), &by.p, &by.dp}...};
      },
      stages);
}
/// The type of the stages that a sweep runs.
template <class Stages, class Wrt> struct bound_stages { using type = Stages; };
template <class Stages, class Params, class DP>
  requires(stage_list<Stages> || stage_tuple<Stages>)
struct bound_stages<Stages, wrt<Params, DP>> {
  using type = decltype(stages_with_params(std::declval<Stages&>(), std::declval<wrt<Params, DP> const&>()));
};

/// The seed of a chain with parameters: `seed(x, p, dp)`, `seed(x, p)`, `seed(x)` or a value, for the last state.
/// \param watch  p is checked before the seed is used; must outlive the result
template <class Last, class Seed, class Params, class DP>
[[nodiscard]] decltype(auto) chain_seed_with(Seed&& seed, wrt<Params, DP> const& by,
                                             watched_params<Params> const& watch) {
  using Input = typename seed_input<std::remove_reference_t<Seed>, Last>::type;
  using bound = decltype(bind_seed<Input>(std::forward<Seed>(seed), by.p, by.dp));
  using Fn = std::remove_reference_t<bound>;
  if constexpr (seed_function<Fn, Input>)
    return [&watch, from = bind_seed<Input>(std::forward<Seed>(seed), by.p, by.dp)](Input const& x) -> decltype(auto) {
      watch.check("cairn::chain_gradient");
      return call_lending(from, x);
    };
  else if constexpr (shared_seed<Seed, Last> || function_like<std::remove_cvref_t<Seed>>)
    return std::forward<Seed>(seed);  // refused
  else
    return [&](Last const&) -> std::remove_cvref_t<Seed> {
      watch.check("cairn::chain_gradient");
      return taken(std::forward<Seed>(seed));
    };
}

}  // namespace cairn::detail
