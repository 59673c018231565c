// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store_guard.hpp  What a sweep keeps in the store of a chain, and drops at its end.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>

namespace cairn::detail {

/// No store: plans with saves are refused.
struct no_chain_store {};
template <class Store>
concept keeps_chain_states = requires(Store& store, tier where, step_index i) { store.drop(where, i); };

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

}  // namespace cairn::detail
