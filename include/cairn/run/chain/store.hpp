// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store.hpp  The store for states of a chain outside memory.
#include <cairn/core/action.hpp>
#include <cairn/run/chain/detail/store_loads.hpp>

namespace cairn {

/// Keeps copies of a chain's states State outside working memory, on the tiers that plans name: `save(where, i, x)` keeps
/// state i, `load(where, i)` or `load<State>(where, i)` returns it, any number of times, and `drop(where, i)` deletes it.
/// At its end a sweep drops what it has saved. States of `any_stage` are saved as a stage_view and loaded as a
/// stage_value.
template <class Store, class State>
concept chain_store = (detail::loads_by_type<Store, State> || detail::loads_one_type<Store, State>) &&
                      requires(Store& store, tier where, step_index i) { store.drop(where, i); };

}  // namespace cairn
