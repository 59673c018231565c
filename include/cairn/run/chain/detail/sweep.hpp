// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  What a chain supplies to `execute`: a cursor over its plan, its states, and its adjoints.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/store/store.hpp>

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

/// \throws invalid_schedule, invalid_plan   if the stages cannot obey the plan
template <class Chain, class Store, class Actions, class Stages>
void check_chain_plan(Actions const& actions, Stages const& stages, char const* who) {
  step_index const count = Chain::count_of(stages);
  if (count < 0) throw invalid_plan{who, "the number of stages is negative", {{"stages", count}}, "give 0 or more"};
  chain_walk walk{count, named_tiers::every(), who};
  action const* const list = actions.data();
  for (std::size_t k = 0; k < actions.size(); ++k) {
    action const& a = list[k];
    walk.check(a);
    if (a.kind == action_kind::reverse && Chain::needs_state(stages, a.from)) walk.check_state(a);
    if constexpr (std::is_same_v<Store, no_chain_store>)
      if (a.kind == action_kind::save)
        throw invalid_plan{
            who,
            "the plan saves states to another tier, and there is no store for them",
            {{"action", k}, {"state", a.from}, {"tier", int(a.where)}},
            "give a store with save, load and drop after the seed, or a cairn::disk, or use a plan for memory only"};
    walk.apply(a);
  }
  walk.finish();
}

/// The states of one sweep over a chain, each in the place of its number; states on other tiers are in the caller's
/// store. A replay check hashes each state that is made, saved or loaded.   \tparam Memory  `chain_list` or
/// `chain_tuple`
template <class Memory, class Store, class Replay>
class chain_states {
  static constexpr bool stores = !std::is_same_v<Store, no_chain_store>;

 public:
  chain_states(Memory& memory, Store& store, step_index stages, Replay& replay)
      : memory_{memory}, store_{store}, saved_{store, stages}, replay_{replay} {}

  template <class Step>
  void advance(Step&, step_index from, step_index to, step_index&) {
    memory_.forward(from);
    replay_.made(memory_, to);
  }
  void record(step_index from) {
    memory_.record(from);
    replay_.made(memory_, from + 1);
  }
  void save(place where, step_index i) {
    if constexpr (stores) {
      memory_.save(store_, where.where, i);
      saved_.note(where.where, i);
      replay_.came_back(memory_, i);
    }
  }
  void load(place where, step_index i) {
    if constexpr (stores) {
      memory_.load(store_, where.where, i);
      replay_.loaded(memory_, i);
    }
  }
  void load_initial() noexcept {}  // it is never dropped
  void drop(place where) {
    if constexpr (stores) {
      if (where.where != tier::memory) {
        store_.drop(where.where, where.slot);
        return saved_.forget(where.where, where.slot);
      }
    }
    memory_.drop(where.slot);
  }

  [[nodiscard]] Memory& memory() noexcept { return memory_; }
  [[nodiscard]] Replay& replay() noexcept { return replay_; }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }
  [[nodiscard]] sweep_parts parts() const { return memory_.parts(); }
  /// Visits the state from which an action starts; after a run of a stage, the state that it made.
  bool visit(action const& a, moment when, event::sink sink, void* context) const {
    return memory_.visit(when == moment::after && runs_stage(a) ? a.to : a.from, sink, context);
  }

 private:
  Memory& memory_;
  Store& store_;
  [[no_unique_address]] store_guard<Store> saved_;
  Replay& replay_;
};

/// The loss and the adjoints of a chain. A stage has its own adjoint.
template <class Seed>
struct chain_reversal : no_hooks {
  explicit chain_reversal(Seed&& given) noexcept : seed{std::forward<Seed>(given)} {}
  Seed&& seed;

  template <class States>
  void turn(States& states, action const&, step_index&) { states.memory().loss(std::forward<Seed>(seed)); }
  template <class States>
  void record(States& states, action const& a) { states.record(a.from); }
  template <class States>
  void reverse(States& states, action const& a) { states.memory().backward(a.from); }
  template <class States>
  void drop_tape(States& states, slot_index tape) noexcept { states.memory().drop_tape(tape); }
};

/// One sweep. Compiled for speed wherever it is called, see `sweep::run_plan`. Notes an exception in `failure` and
/// rethrows it.   \param given  stages, p and dp
template <class Memory, class Given, class Actions, class Seed, class Store, class Observer, class Replay>
[[gnu::noinline, gnu::hot]] void obey_chain_plan(Memory& memory, Given const& given, Actions const& actions,
                                                 Seed&& seed, Store& store, Observer& observer, sweep_failure& failure,
                                                 Replay& replay) {
  chain_states<Memory, Store, Replay> states{memory, store, Memory::count_of(given), replay};
  chain_reversal<Seed> user{std::forward<Seed>(seed)};
  (void)obey_list(actions, states, given, user, observer, failure);
}

}  // namespace cairn::detail
