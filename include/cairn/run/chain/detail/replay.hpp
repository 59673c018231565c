#pragma once
/// \file replay.hpp  The replay check of chains: states that a plan makes again, or brings back, against what they were at first.
#include <cstddef>
#include <cstdint>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/replay_ledger.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/replay_check.hpp>

namespace cairn::detail {

/// Nobody asked for one.
struct no_chain_replay {
  template <class Chain>
  void obeyed(Chain const&, chain_action const&) const noexcept {}
};

/// Compares each state that is made again with `every_step`. With `checkpoints` those at which a stretch of stages that is run again ends: what
/// differs before and lasts is seen there. The list of actions says beforehand which these are, so that no other state is looked at.
/// Memory: 8 bytes a state, with `checkpoints` 9.
class chain_replay {
 public:
  /// \pre the stages can obey the plan
  template <class Actions>
  chain_replay(replay_check mode, Actions const& actions, step_index stages, char const* who) : mode_{mode}, who_{who} {
    if (mode == replay_check::off) return;
    ledger_.begin({.mode = replay_check::every_step, .steps = stages});
    if (mode == replay_check::checkpoints) choose(actions, stages);
  }

  /// Behind each action.
  /// \throws nondeterminism_error   where a state is not what it was at first   \throws invalid_call   where its bytes cannot be told
  template <class Chain>
  void obeyed(Chain const& run, chain_action const& a) {
    if (mode_ == replay_check::off) return;
    using enum chain_action_kind;
    bool const made = a.kind == forward || a.kind == record;
    step_index const i = made ? a.stage + 1 : a.stage;
    if (!made && a.kind != save && a.kind != load) return;
    if (made && a.stage != last_) from_ = a.stage;
    last_ = i;
    if (made && mode_ == replay_check::checkpoints && chosen_[std::size_t(i)] == 0) return;
    state_hash hash;
    if (!run.is_hashable(i) || !run.visit(i, [](void* sum, void const* bytes, std::size_t size) { (*static_cast<state_hash*>(sum))(bytes, size); }, &hash))
      throw invalid_call{who_, "the replay check cannot tell the bytes of a state", {{"state", i}},
                         "give its type a member visit_buffers(f), specialise cairn::state_traits with visit_buffers(state, f), or leave the check out"};
    if (ledger_.note(i, hash.value())) {
      from_ = i;
      return;
    }
    if (made) ledger_.fail(i, mode_ == replay_check::every_step ? i - 1 : from_);
    ledger_.fail_brought_back(i);
  }

 private:
  /// Marks the last state of each stretch that has been made before.
  template <class Actions>
  void choose(Actions const& actions, step_index stages) {
    using enum chain_action_kind;
    chosen_.assign(std::size_t(stages) + 1, 0);
    table<unsigned char> made(std::size_t(stages) + 1);
    step_index again = -1, last = -1;
    auto const end_stretch = [&] {
      if (again >= 0) chosen_[std::size_t(again)] = 1;
      again = -1;
    };
    chain_action const* const list = actions.data();
    for (std::size_t k = 0; k < actions.size(); ++k) {
      if (list[k].kind != forward && list[k].kind != record) continue;
      step_index const i = list[k].stage + 1;
      if (list[k].stage != last) end_stretch();
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
  step_index last_ = -1;  ///< the state that was made or brought back last
  step_index from_ = 0;   ///< the state from which the stages run that have not been compared
};

}  // namespace cairn::detail
