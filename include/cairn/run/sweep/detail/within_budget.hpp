// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file within_budget.hpp  A sweep whose states, adjoints or tapes grow beyond its budget gives slots up.
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/store/memory.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The part of a sweep that keeps a budget. What is given up is noted in the workspace: a run that is kept never takes
/// it back. Objects, whose snapshots a plan around some of them would ask for again, stop at the first byte beyond.
/// \tparam Sweep  derives from this
template <class Sweep, class State, class Store>
class within_budget {
 public:
  /// Called before the sweep begins: what grows holds no more than this.
  template <class Limit>
  void keep_within(Limit const& limit) noexcept {
    if constexpr (is_limit<Limit>) limit_ = limit;
  }

 protected:
  /// Whether a plan for the rest may do without slots.
  static constexpr bool shrinks =
      copied_state<State> && sized_state<State> && (std::is_same_v<Store, memory_store> || mends_states<Store>);

  /// Something has grown beyond the budget: the rest is planned with fewer slots, or without tapes. Returns false if
  /// there was nothing to give up.
  template <class User>
  [[nodiscard, gnu::cold]] bool goes_on_with_less(states_too_large const& found,
                                                  User& user) {
    if constexpr (shrinks) {
      auto& status = self().status();
      self().states().forget_all(status.turned);
      if (found.open >= 0) status.open = found.open;
      if (!gives_up(user)) return false;
      auto const stopped = std::exchange(status.failure, {});
      if (stopped.what.kind == action_kind::advance || stopped.what.kind == action_kind::turn)
        status.ran += wide(stopped.step - stopped.what.from);
      status.ran += found.ran;
      return true;
    } else return false;
  }
  /// Called at the turn: an adjoint of the state's type may be as large as the final state has grown.
  template <class Bar, class User>
  void make_room_for_adjoint(User& user) {
    if constexpr (User::limited && shrinks && std::is_same_v<Bar, State> && !is_flat<State>())
      if (auto& limits = self().states().limits(); limits.limited())
        if (limits.takes(&byte_limit::adjoints, bytes_of(self().states().final_state()) * User::adjoints)) make_room(user);
  }
  /// Called when the adjoint is there.
  template <class User>
  void weigh_adjoint(User& user) {
    if constexpr (User::limited)
      if (auto& limits = self().states().limits(); limits.limited())
        if (user.tell(limits)) make_room(user);
  }
  /// Called before the states of the turn are made again: what has grown since is held beside them.
  template <class User>
  void make_room_for_turn(User&& user) {
    if constexpr (shrinks && !is_flat<State>()) {
      auto& states = self().states();
      if (!states.limits().limited()) return;
      while (states.slots_within(slots_in_memory()) < states.slots_at_turn() && gives_up(user)) {}
    }
  }
  [[nodiscard]] byte_limit const& limit() const noexcept { return limit_; }

 private:
  [[nodiscard]] Sweep& self() noexcept { return static_cast<Sweep&>(*this); }

  [[nodiscard]] slot_index slots_in_memory() {
    slot_index count = 0;
    for (slot_index slot = 0; slot < self().slots(); ++slot) count += self().tier_now(slot) == tier::memory ? 1 : 0;
    return count;
  }
  template <class User>
  void make_room(User& user) {
    auto& limits = self().states().limits();
    if constexpr (shrinks) {
      limits.shed();
      while (!limits.has_room() && gives_up(user)) {}
    }
    limits.check_sum();
  }
  /// Tapes that are kept go first.
  template <class User>
  [[nodiscard]] bool gives_up(User& user) {
    // Of what is noted, and of plans around what is held while one is made; over several tiers two are compared.
    constexpr wide bytes_a_slot_again = mends_states<Store> ? 256 : 160;
    auto& states = self().states();
    auto& limit = states.limits().limit_now();
    bool const tapes = user.keeps_tapes() && limit.tapes > user.tape_bytes();
    user.drop_all_tapes();
    if (tapes) limit.beside -= limit.tapes - user.tape_bytes(), limit.tapes = user.tape_bytes();
    if (!std::exchange(limit.replanned, true)) limit.beside += wide(self().slots()) * bytes_a_slot_again;
    if (!tapes) {
      auto const tier_in = [this](slot_index slot) { return self().tier_now(slot); };
      auto const drop = [this](slot_index slot) { self().watched().drop({slot, tier::memory}); };
      if (is_flat<State>() || !states.give_up_slots(states.slots_within(slots_in_memory()), tier_in, drop)) return false;
    }
    states.limits().shed();
    self().plan_rest();
    return true;
  }

  byte_limit limit_;
};

}  // namespace cairn::detail
