// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store_loads.hpp  How a chain's state is loaded from a store: by its type, or without.
#include <concepts>
#include <cairn/core/action.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
