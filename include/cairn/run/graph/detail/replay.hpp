// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay.hpp  The replay check of graphs: compares values that a plan makes again with their first value.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>

namespace cairn::detail {

/// No replay check.
struct no_graph_replay {
  template <class Memory>
  void made(Memory const&, step_index) const noexcept {}
};

/// With `every_step`, compares each value that is made again; with `checkpoints`, only those that no further repeated
/// run reads, which also show earlier differences that persist. The list of actions says beforehand which values these
/// are, so that no other value is hashed. What operation v makes is state v + 1. Memory: 18 bytes per operation, kept
/// for the next sweep.
class graph_replay {
 public:
  /// Begins a sweep.   \pre the graph can obey the plan   \param reads  must outlive the sweep
  template <class Actions>
  void begin(replay_check mode, Actions const& actions, graph_reads const& reads, char const* who) {
    mode_ = mode, reads_ = &reads, who_ = who;
    if (mode == replay_check::off) return;
    ledger_.begin({.mode = replay_check::every_step, .steps = step_index(reads.count)});
    compares_.assign(reads.count, char(mode == replay_check::every_step));
    if (mode == replay_check::checkpoints) choose(actions);
    is_made_.assign(reads.count, 0);
    since_.assign(reads.count, nobody());
  }

  /// Value v has been made.   \throws nondeterminism_error   if it differs from its first value
  /// \throws invalid_call   if its bytes are unknown
  template <class Memory>
  void made(Memory const& run, step_index v) {
    if (mode_ == replay_check::off) return;
    std::size_t const at = std::size_t(v);
    bool const again = is_made_[at] != 0;
    is_made_[at] = 1;
    step_index& since = since_[at] = again ? v : nobody();
    for (std::size_t const input : reads_->inputs[at])
      if (since_[input] < since) since = since_[input];
    if (compares_[at] == 0) return;
    if (!ledger_.note(v + 1, hash_of_kept(run, v, v + 1, who_))) refuse_replayed(v + 1, since);
    if (again) since = nobody();
  }

 private:
  /// Marks values that are compared, from the last action to the first. Counts in the tables of `made`, which are reset
  /// afterwards.
  template <class Actions>
  void choose(Actions const& actions) {
    table<step_index>& runs_before = since_;
    runs_before.assign(reads_->count, 0);
    action const* const list = actions.data();
    auto const runs = [](action const& a) { return a.kind == action_kind::advance || a.kind == action_kind::record; };
    for (std::size_t k = 0; k < actions.size(); ++k)
      if (runs(list[k])) ++runs_before[std::size_t(list[k].from)];
    table<char>& is_read_again = is_made_;  // whether a repeated run reads what was made last
    is_read_again.assign(reads_->count, 0);
    for (std::size_t k = actions.size(); k-- > 0;) {
      if (!runs(list[k])) continue;
      std::size_t const v = std::size_t(list[k].from);
      bool const again = --runs_before[v] > 0;
      if (again && !is_read_again[v]) compares_[v] = 1;
      is_read_again[v] = 0;
      if (again)
        for (std::size_t const input : reads_->inputs[v]) is_read_again[input] = 1;
    }
  }
  [[nodiscard]] step_index nobody() const noexcept { return step_index(reads_->count); }

  replay_check mode_ = replay_check::off;
  graph_reads const* reads_ = nullptr;
  char const* who_ = nullptr;
  replay_ledger ledger_;
  table<char> is_made_, compares_;
  table<step_index> since_;  ///< the first operation that can have changed a value and has not been compared since
};

}  // namespace cairn::detail
