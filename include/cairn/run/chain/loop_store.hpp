// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_store.hpp  A store of loops for the states of a chain.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// Keeps the states of a chain on its tiers in a store of loops, see `store_of`; made by `chain_store_over`. Slot 4 i + t
/// holds state i on tier t. A chain runs nothing again for its store: one that loses a state, or cannot write one, ends
/// the sweep with an error.
/// Memory: the states that the store keeps as frames, one state more, and those of saves that complete late.
template <class State, class Store>
class loop_store {
 public:
  /// \param stages  of the chain   \param store  must outlive this object
  loop_store(Store& store, step_index stages) : store_{store} {
    slot_index const slots = (stages + 1) * slot_index(tier_count);
    if constexpr (detail::takes_shape<Store>) {
      sweep_shape shape{.slots = slots, .steps = stages};
      shape.tier_in = [](void const*, slot_index slot) { return tier(slot % slot_index(tier_count)); };
      store_.begin(shape);
    } else store_.begin(slots);
    pool_.begin(detail::frames_in(store_, slots) + 1);
    if constexpr (settles)
      pool_.settle_with([](void* all, frames_type& pool) { static_cast<Store*>(all)->settle(pool); }, &store_);
  }
  loop_store(loop_store const&) = delete;
  ~loop_store() {
    if constexpr (settles) try {
        store_.settle(pool_);
      } catch (...) {  // the store has let go of all frames, as `store_of` demands
      }
  }

  /// \throws invalid_call   if the store cannot write it
  void save(tier where, step_index i, State const& x) {
    typename frames_type::holder const taken{pool_, pool_.take()};
    pool_.copy_in(x, taken.held);
    pool_.set_at(taken.held, i);
    if constexpr (detail::fails_to_save<Store, frames_type>) {
      if (!store_.save(pool_, in(where, i), i, taken.held)) refuse("the store cannot write a state", where, i);
    } else store_.save(pool_, in(where, i), i, taken.held);
  }
  /// \throws invalid_call   if the store has lost it
  [[nodiscard]] State load(tier where, step_index i) {
    frame_id const k = store_.load(pool_, in(where, i), i);
    if (k == no_frame) refuse("the store has lost a state", where, i);
    typename frames_type::holder const taken{pool_, k};
    if constexpr (detail::traited_copy<State>) {
      State made;
      copy_state(std::as_const(pool_).state(k), made);
      return made;
    } else return std::as_const(pool_).state(k);
  }
  /// Frees its slot.
  void drop(tier where, step_index i) { store_.drop(pool_, in(where, i)); }

 private:
  using frames_type = detail::frames<State>;
  static constexpr bool settles = requires(Store & store, frames_type& pool) { store.settle(pool); };

  [[nodiscard]] static place in(tier where, step_index i) noexcept {
    return {i * slot_index(tier_count) + slot_index(where), where};
  }
  [[noreturn]] static void refuse(char const* problem, tier where, step_index i) {
    throw invalid_call{"cairn::chain_gradient",
                       problem,
                       {{"state", i}, {"tier", int(where)}},
                       "a chain runs nothing again for its store; give one that keeps what it takes"};
  }

  Store& store_;
  frames_type pool_;
};

/// The store of a chain whose states all have type State, over a store of loops.   \param stages  of the chain
template <class State, class Store>
requires store_of<Store, State>
[[nodiscard]] loop_store<State, Store> chain_store_over(Store& store, step_index stages) { return {store, stages}; }

}  // namespace cairn
