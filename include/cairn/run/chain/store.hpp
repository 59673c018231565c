// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store.hpp  The store for states of a chain outside memory, and what a plan needs of it.
#include <concepts>
#include <cstddef>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/table.hpp>

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

}  // namespace detail

/// Keeps copies of a chain's states X outside working memory, on the tiers that plans name: `save(where, i, x)` keeps
/// state i, `load(where, i)` or `load<X>(where, i)` returns it, any number of times, and `drop(where, i)` deletes it.
/// At its end a sweep drops what it has saved. States of `any_stage` are saved as a stage_view and loaded as a
/// stage_value.
template <class Store, class X>
concept chain_store = (detail::loads_by_type<Store, X> || detail::loads_one_type<Store, X>) &&
                      requires(Store& store, tier where, step_index i) { store.drop(where, i); };

namespace detail {

/// No store: plans with saves are refused.
struct no_chain_store {};
template <class Store>
concept keeps_chain_states = requires(Store& store, tier where, step_index i) { store.drop(where, i); };

template <class State, class Store>
[[nodiscard]] State load_state(Store& store, tier where, step_index i) {
  if constexpr (loads_by_type<Store, State>) return store.template load<State>(where, i);
  else return store.load(where, i);
}

/// Notes what a sweep has saved and not dropped; drops it at the end, also after an exception.
template <class Store>
class store_guard {
 public:
  store_guard(Store& store, step_index stages) : store_{store}, held_(std::size_t(stages) + 1) {}
  store_guard(store_guard const&) = delete;
  ~store_guard() {
    for (std::size_t i = 0; i < held_.size(); ++i)
      for (std::size_t k = 0; k < tier_count; ++k)
        if ((unsigned{held_[i]} >> k & 1u) != 0) drop_quietly(tier(k), step_index(i));
  }
  void note(tier where, step_index i) noexcept {
    held_[std::size_t(i)] = static_cast<unsigned char>(held_[std::size_t(i)] | bit(where));
  }
  void forget(tier where, step_index i) noexcept {
    held_[std::size_t(i)] = static_cast<unsigned char>(held_[std::size_t(i)] & ~bit(where));
  }

 private:
  [[nodiscard]] static unsigned bit(tier where) noexcept { return 1u << unsigned(where); }
  void drop_quietly(tier where, step_index i) noexcept {
    try {
      store_.drop(where, i);
    } catch (...) {  // a destructor can do no more about it
    }
  }
  Store& store_;
  table<unsigned char> held_;
};
template <>
class store_guard<no_chain_store> {
 public:
  store_guard(no_chain_store&, step_index) noexcept {}
};

}  // namespace detail
}  // namespace cairn
