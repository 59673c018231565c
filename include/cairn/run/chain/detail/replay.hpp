// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay.hpp  The replay check of chains: compares states that a plan makes again, or loads, with their first
/// value.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/detail/table.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/chain_walk.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>

namespace cairn::detail {

/// No replay check.
struct no_chain_replay {
  template <class Chain>
  void made(Chain const&, step_index) const noexcept {}
  template <class Chain>
  void came_back(Chain const&, step_index) const noexcept {}
  template <class Chain>
  void loaded(Chain&, step_index) const noexcept {}
  void begins_anew(step_index) const noexcept {}
};

/// With `every_step`, compares each state that is made again; with `checkpoints`, only the last state of each
/// recomputation, which also shows earlier differences that persist. The list of actions says beforehand which states
/// these are, so that no other state is hashed. Memory: 8 bytes per state, with `checkpoints` 9.
class chain_replay {
 public:
  /// \pre the stages can obey the plan
  template <class Actions>
  chain_replay(replay_check mode, Actions const& actions, step_index stages, char const* who) : mode_{mode}, who_{who} {
    begins_anew(stages);
    if (mode == replay_check::checkpoints) choose(actions, stages);
  }
  /// Nothing is known of the states of `stages` stages.
  void begins_anew(step_index stages) {
    if (mode_ != replay_check::off) ledger_.begin({.mode = replay_check::every_step, .steps = stages});
    last_ = -1, from_ = 0;
  }

  /// State i has been made, by a run of the stage before it.
  /// \throws nondeterminism_error   if a state differs from its first value   \throws invalid_call   if its bytes are
  ///   unknown
  template <class Chain>
  void made(Chain const& run, step_index i) {
    if (mode_ == replay_check::off) return;
    if (i - 1 != last_) from_ = i - 1;
    last_ = i;
    if (mode_ == replay_check::checkpoints && chosen_[std::size_t(i)] == 0) return;
    if (!agrees(run, i)) refuse_replayed(i, mode_ == replay_check::every_step ? i - 1 : from_);
  }
  /// State i has been loaded. The first one is run on by a stage, whose result is compared and dropped: if nothing runs
  /// again, only this shows what a store has left out.
  template <class Chain>
  void loaded(Chain& run, step_index i) {
    came_back(run, i);
    if (std::uint64_t const end = mode_ == replay_check::off ? 0 : ledger_.end_to_try(i); end != 0)
      if (run.hash_of_forward(i) != end) refuse_restored(i + 1, -1);
  }
  /// State i has been saved or loaded.   \throws nondeterminism_error, invalid_call   as `made`
  template <class Chain>
  void came_back(Chain const& run, step_index i) {
    if (mode_ == replay_check::off) return;
    last_ = i;
    if (!agrees(run, i)) refuse_loaded(i);
  }

 private:
  /// Compares state i with its first value.
  template <class Chain>
  [[nodiscard]] bool agrees(Chain const& run, step_index i) {
    if (!ledger_.note(i, hash_of_kept(run, i, i, who_))) return false;
    from_ = i;
    return true;
  }
  /// Marks the last state of each recomputation, and the one after the first state that is loaded.
  template <class Actions>
  void choose(Actions const& actions, step_index stages) {
    chosen_.assign(std::size_t(stages) + 1, 0);
    table<unsigned char> made(std::size_t(stages) + 1);
    step_index again = -1, last = -1;
    auto const end_stretch = [&] {
      if (again >= 0) chosen_[std::size_t(again)] = 1;
      again = -1;
    };
    action const* const list = actions.data();
    bool loads = false;
    for (std::size_t k = 0; k < actions.size(); ++k) {
      if (list[k].kind == action_kind::load && list[k].from < stages && !std::exchange(loads, true))
        chosen_[std::size_t(list[k].from) + 1] = 1;
      if (!runs_stage(list[k])) continue;
      step_index const i = list[k].to;
      if (list[k].from != last) end_stretch();
      if (made[std::size_t(i)] != 0) again = i;
      made[std::size_t(i)] = 1;
      last = i;
    }
    end_stretch();
  }

  replay_check mode_;
  char const* who_;
  replay_ledger ledger_;
  table<unsigned char> chosen_;
  step_index last_ = -1;  ///< the state that was made or loaded last
  step_index from_ = 0;   ///< the state before the first stage whose result has not been compared
};

}  // namespace cairn::detail
