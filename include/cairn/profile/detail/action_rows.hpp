// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_rows.hpp  The actions of sweeps, each with its times and its bytes: what observers collect.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/core/event.hpp>
#include <cairn/profile/memory_source.hpp>
#include <cairn/profile/profile_stats.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/probe/detail/timings.hpp>

namespace cairn::detail {

/// One action of a sweep, seen in several runs.
struct action_row {
  action what;
  phase where = phase::forward;
  timings seconds, active, after, rise;  ///< seconds, then bytes; a double holds bytes below 2^53 exactly
};

/// An observer that measures each action of a sweep, run after run of the same plan.
template <class Clock>
class action_rows {
 public:
  explicit action_rows(memory_source const& memory) : memory_{memory} {}

  /// \param counts  whether the measurements of this run are kept
  void begin_run(bool counts) noexcept { at_ = 0, counts_ = counts; }
  void operator()(event const& e) {
    if (e.what().kind == action_kind::done || !counts_) return;
    if (e.moment() == moment::before) {
      if (at_ == rows_.size()) rows_.push_back({e.what(), e.phase(), {}, {}, {}, {}});
      rows_[at_].active.add(double(e.bytes_held()));
      if (memory_) {
        memory_.reset_peak();
        held_ = memory_.held();
      }
      begin_ = Clock::now();
    } else {
      auto const end = Clock::now();
      action_row& row = rows_[at_++];
      row.seconds.add(seconds_between(begin_, end));
      if (memory_) row.rise.add(double(memory_.peak() - held_));
      row.after.add(double(e.bytes_held()));
    }
  }
  [[nodiscard]] std::vector<action_row> const& rows() const noexcept { return rows_; }

 private:
  memory_source const& memory_;
  std::vector<action_row> rows_;
  std::size_t at_ = 0;
  bool counts_ = false;
  std::int64_t held_ = 0;
  decltype(Clock::now()) begin_ = {};
};

/// "step_3", "steps_3_to_9", "save_3": what an action does, and to which steps or states.
[[nodiscard]] inline std::string row_name(action_row const& row, step_index state) {
  action const& a = row.what;
  auto const steps = [&] {
    return a.to - a.from == 1 ? "step_" + std::to_string(a.from)
                              : "steps_" + std::to_string(a.from) + "_to_" + std::to_string(a.to - 1);
  };
  std::string const again = row.where == phase::recompute ? "_again" : "", number = std::to_string(state);
  switch (a.kind) {
    case action_kind::advance: return steps() + again;
    case action_kind::record: return steps() + "_recorded" + again;
    case action_kind::turn: return a.to > a.from ? steps() + "_and_turn" : "turn";
    case action_kind::reverse: return steps() + ".backward";
    case action_kind::save: return "save_" + number;
    case action_kind::load: return "load_" + number;
    default: return "drop_" + number;
  }
}

/// The lifetimes of the checkpoints and tapes of a loop: from the node that makes one to the last node that reads it.
class activation_lives {
 public:
  using place = std::tuple<tier, content, slot_index>;
  explicit activation_lives(workload const& work) : work_{work} {}

  void open(place const& at, step_index state, step_index rank) {
    close(at);
    bool const is_tape = std::get<content>(at) == content::tape;
    life begun{state, {}, is_tape, false};
    begun.row.activation_name = (is_tape ? "tape_" : "state_") + std::to_string(state);
    begun.row.creation_rank = begun.row.last_fw_use_rank = rank;
    begun.row.median_mem_size_bytes = std::int64_t(is_tape ? work_.tape_bytes : work_.state_bytes);
    lives_[at] = std::move(begun);
  }
  void close(place const& at) {
    auto const found = lives_.find(at);
    if (found == lives_.end()) return;
    if (found->second.is_read) read_.push_back(std::move(found->second.row));
    lives_.erase(found);
  }
  /// \param before  before[r]: seconds of all nodes before rank r, for r = 0..rank
  void use(place const& at, step_index rank, std::vector<double> const& before) {
    if (auto const found = lives_.find(at); found != lives_.end()) use(found->second, rank, before);
  }
  /// A reversal reads the tapes of its steps.
  void use_tapes(action const& reversal, step_index rank, std::vector<double> const& before) {
    for (auto& [at, one] : lives_)
      if (one.is_tape && one.state >= reversal.from && one.state < reversal.to) use(one, rank, before);
  }
  void turn() noexcept { turned_ = true; }
  /// The state that is at a place, or else `otherwise`.
  [[nodiscard]] step_index state_at(place const& at, step_index otherwise) const {
    auto const found = lives_.find(at);
    return found == lives_.end() ? otherwise : found->second.state;
  }
  /// The activations that were read in the reverse sweep, in the order in which they were made.
  [[nodiscard]] std::vector<activation_stats> finish() && {
    while (!lives_.empty()) close(lives_.begin()->first);
    std::stable_sort(read_.begin(), read_.end(),
                     [](auto const& one, auto const& other) { return one.creation_rank < other.creation_rank; });
    return std::move(read_);
  }

 private:
  struct life {
    step_index state = 0;
    activation_stats row;
    bool is_tape = false, is_read = false;
  };
  void use(life& one, step_index rank, std::vector<double> const& before) {
    activation_stats& row = one.row;
    if (!turned_) {
      row.last_fw_use_rank = rank;
      return;
    }
    if (!std::exchange(one.is_read, true)) {
      row.first_bw_use_rank = rank;
      row.inactive_time_s = before[std::size_t(rank)] - before[std::size_t(row.last_fw_use_rank) + 1];
      row.recomp_time_s = double(one.state - source_of(one)) * work_.step_seconds +
                          (one.is_tape ? work_.record_seconds.value_or(work_.step_seconds) : 0);
      row.recomp_memory_bytes = std::int64_t(work_.state_bytes + (one.is_tape ? work_.tape_bytes : 0));
    }
    row.last_bw_use_rank = rank;
  }
  /// The state of the nearest checkpoint from which `one` could be made again; the state of `one` if there is no such
  /// checkpoint.
  [[nodiscard]] step_index source_of(life const& one) const {
    step_index source = one.state;
    for (auto const& [at, other] : lives_)
      if (!other.is_tape && &other != &one && other.state <= one.state)
        source = source == one.state ? other.state : (std::max)(source, other.state);
    return source;
  }

  workload const& work_;
  std::map<place, life> lives_;
  std::vector<activation_stats> read_;
  bool turned_ = false;
};

/// \param state  the one that the action keeps, reads or drops
[[nodiscard]] inline node_stats node_of(action_row const& row, step_index state, step_index rank) {
  action const& a = row.what;
  node_stats node;
  node.rank = rank;
  node.node_name = row_name(row, state);
  bool const runs = a.kind == action_kind::advance || a.kind == action_kind::record;
  node.type = runs ? node_type::act : a.kind == action_kind::reverse ? node_type::grad : node_type::other;
  node.gtype = a.kind == action_kind::turn     ? graph_type::other
               : row.where == phase::forward ? graph_type::forward
                                             : graph_type::backward;
  node.median_run_time_s = row.seconds.median();
  double const active = row.active.median(), after = row.after.median();
  node.median_active_mem_bytes = std::int64_t(active);
  node.median_peak_mem_bytes = std::int64_t((std::max)({active, after, active + row.rise.median()}));
  return node;
}

/// The statistics of a loop: a node for each action, an activation for each checkpoint and each tape that is read in
/// the reverse sweep.
[[nodiscard]] inline profile_stats stats_of(std::vector<action_row> const& rows, workload const& work) {
  profile_stats stats;
  activation_lives lives{work};
  std::vector<double> before{0};  // seconds before each node
  for (action_row const& row : rows) {
    action const& a = row.what;
    auto const rank = step_index(stats.nodes.size());
    activation_lives::place const at{a.where, a.what, a.slot};
    step_index const state = a.kind == action_kind::drop ? lives.state_at(at, a.from) : a.from;
    switch (a.kind) {
      case action_kind::save: lives.open({a.where, content::state, a.slot}, a.from, rank); break;
      case action_kind::record:
        if (a.slot != no_slot) lives.open({a.where, content::tape, a.slot}, a.from, rank);
        break;
      case action_kind::load: lives.use(at, rank, before); break;
      case action_kind::reverse: lives.use_tapes(a, rank, before); break;
      case action_kind::drop: lives.close(at); break;
      case action_kind::turn: lives.turn(); break;
      default: break;
    }
    stats.nodes.push_back(node_of(row, state, rank));
    before.push_back(before.back() + stats.nodes.back().median_run_time_s);
  }
  stats.activations = std::move(lives).finish();
  return stats;
}

}  // namespace cairn::detail
