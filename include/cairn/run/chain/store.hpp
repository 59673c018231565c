// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store.hpp  The store for states of a chain outside memory.
#include <concepts>
#include <cairn/core/action.hpp>

namespace cairn {
namespace detail {

template <class Store, class State>
concept loads_by_type = requires(Store& store, tier where, step_index i) {
  { store.template load<State>(where, i) } -> std::same_as<State>;
};
template <class Store, class State>
concept loads_one_type = requires(Store& store, tier where, step_index i) {
  { store.load(where, i) } -> std::same_as<State>;
};

template <class State, class Store>
[[nodiscard]] State load_state(Store& store, tier where, step_index i) {
  if constexpr (loads_by_type<Store, State>) return store.template load<State>(where, i);
  else return store.load(where, i);
}

}  // namespace detail

/// Keeps copies of a chain's states State outside working memory, on the tiers that plans name: `save(where, i, x)` keeps
/// state i, `load(where, i)` or `load<State>(where, i)` returns it, any number of times, and `drop(where, i)` deletes it.
/// At its end a sweep drops what it has saved. States of `any_stage` are saved as a stage_view and loaded as a
/// stage_value.
template <class Store, class State>
concept chain_store = (detail::loads_by_type<Store, State> || detail::loads_one_type<Store, State>) &&
                      requires(Store& store, tier where, step_index i) { store.drop(where, i); };

}  // namespace cairn
