// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_walk.hpp  The rules of plans for chains: which states and tapes exist, and what may be done next.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/place_walk.hpp>

namespace cairn::detail {

/// The set of tiers that a plan may name; always includes memory.
class named_tiers {
 public:
  constexpr named_tiers() = default;
  constexpr void add(tier where) noexcept { bits_ |= bit(where); }
  [[nodiscard]] constexpr bool holds(tier where) const noexcept { return (bits_ & bit(where)) != 0; }
  [[nodiscard]] static constexpr named_tiers every() noexcept {
    named_tiers all;
    for (std::size_t k = 0; k < tier_count; ++k) all.add(tier(k));
    return all;
  }
  [[nodiscard]] static constexpr unsigned bit(tier where) noexcept {
    return std::size_t(where) < tier_count ? 1u << unsigned(where) : 0;
  }

 private:
  unsigned bits_ = bit(tier::memory);
};

/// Whether `a` runs a stage forward.
[[nodiscard]] constexpr bool runs_stage(action const& a) noexcept {
  return a.kind == action_kind::advance || a.kind == action_kind::record;
}
/// Whether `a` frees a state that is kept in memory.
[[nodiscard]] constexpr bool drops_state(action const& a) noexcept {
  return a.kind == action_kind::drop && a.what == content::state && a.where == tier::memory;
}

/// The action of `chain_actions` that has the kind, number and tier of `a`; `done` if chains have none of that kind.
[[nodiscard]] constexpr action as_chain_action(action const& a) noexcept {
  switch (a.kind) {
    case action_kind::advance: return chain_actions::advance(a.from);
    case action_kind::record: return chain_actions::record(a.from);
    case action_kind::drop:
      return a.what == content::tape ? chain_actions::drop_tape(a.from) : chain_actions::drop(a.from, a.where);
    case action_kind::turn: return chain_actions::turn(a.from);
    case action_kind::reverse: return chain_actions::reverse(a.from);
    case action_kind::save: return chain_actions::save(a.from, a.where);
    case action_kind::load: return chain_actions::load(a.from, a.where);
    case action_kind::done: break;
  }
  return {action_kind::done, tier::memory, content::state, no_slot, -1, -1};
}

/// The rules of `chain_actions`, in terms of numbers only. Call `check(a)` and `check_state(a)`, then `apply(a)` for each
/// action, then `finish()`. State 0 in memory is the caller's and always there.   Cost: O(1) per action.
class chain_walk : public place_walk {
 public:
  /// \param elsewhere  the tiers that saves and loads may name   \param who  the public name that refuses, with static
  /// storage
  chain_walk(step_index stages, named_tiers elsewhere, char const* who)
      : place_walk{stages, "stage", who}, far_{elsewhere} {}

  /// \throws invalid_schedule   if `a` needs something that does not exist, but for the state of an adjoint
  void check(action const& a) const {
    using enum action_kind;
    bool const of_stage = runs_stage(a) || a.kind == reverse || (a.kind == drop && a.what == content::tape);
    need(a.from >= 0 && a.from <= count() - (of_stage ? 1 : 0), "an action names a stage that is not there", a);
    need_own(a, as_chain_action(a), "an action is not one that a chain has", "make it by cairn::chain_actions");
    bool const elsewhere = a.kind == save || a.kind == load || (a.kind == drop && a.where != tier::memory);
    need(!elsewhere || (a.where != tier::memory && far_.holds(a.where)), "an action names a tier that is not there", a);
    step_index const i = a.from;
    switch (a.kind) {
      case advance: need(at_hand(i), "a stage is run on a state that is not at hand", a); break;
      case record:
        need(at_hand(i), "a stage is recorded on a state that is not at hand", a);
        need(!holds_tape(i), "a stage is recorded whose tape is kept", a);
        break;
      case drop:
        if (a.what == content::tape) {
          need(holds_tape(i), "a tape is dropped that is not kept", a);
          break;
        }
        need(elsewhere || i > 0, "state 0, which is the caller's, is dropped", a);
        need(holds_state(i, a.where),
             elsewhere ? "a state is dropped that is not kept on that tier" : "a state is dropped that is not kept", a);
        break;
      case turn:
        need(i == count(), "the loss is not the last stage", a);
        need(remaining() == count() + 1, "the loss is run twice", a);
        need(at_hand(i), "the loss is run without its state", a);
        break;
      case reverse:
        need(remaining() == i + 1, "an adjoint is run out of order", a);
        need(holds_tape(i), "an adjoint is run without its tape", a);
        break;
      case save:
        need(at_hand(i), "a state is saved that is not at hand", a);
        need(!holds_state(i, a.where), "a state is saved twice on one tier", a);
        break;
      case load: need(holds_state(i, a.where), "a state is loaded that is not kept on that tier", a); break;
      case done: break;
    }
  }
  /// The same for an adjoint that needs the state of its stage as well as its tape.   \pre check(a) has not thrown
  void check_state(action const& a) const {
    need(a.kind != action_kind::reverse || at_hand(a.from), "an adjoint is run without its state", a);
  }
  /// \pre check(a) has not thrown
  void apply(action const& a) noexcept {
    using enum action_kind;
    step_index const i = a.from;
    switch (a.kind) {
      case advance: set(i + 1, kept); break;
      case record:
        set(i, taped);
        clear(i + 1, kept);
        break;
      case drop: clear(i, a.what == content::tape ? taped : named_tiers::bit(a.where)); break;
      case turn: clear(i, kept); break;
      case reverse:
        clear(i, taped);
        clear(i + 1, kept);
        break;
      case save: set(i, named_tiers::bit(a.where)); break;
      case load: set(i, kept); break;
      case done: break;
    }
    pass(a);
  }
  /// \throws invalid_schedule   if an adjoint is missing
  void finish() const { need_end("the plan ends before the adjoint of state 0 is made", "open adjoints"); }

  [[nodiscard]] bool holds_state(step_index i, tier where = tier::memory) const noexcept {
    return (i == 0 && where == tier::memory) || holds(i, named_tiers::bit(where));
  }
  [[nodiscard]] bool at_hand(step_index i) const noexcept { return holds_state(i) || (i > 0 && holds_tape(i - 1)); }

 private:
  named_tiers far_;
};

}  // namespace cairn::detail
