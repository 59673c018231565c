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
#include <cairn/core/workload.hpp>
#include <cairn/profile/memory_source.hpp>
#include <cairn/profile/profile_stats.hpp>
#include <cairn/run/detail/timings.hpp>

namespace cairn::detail {

/// One action of a sweep, seen in several runs.
struct action_row {
  action what;
  phase where = phase::forward;
  timings seconds, active, after, rise;  ///< bytes are numbers, too: below 2^53, exact
};

/// An observer that measures each action of a sweep, run after run of the same plan.
template <class Clock>
class action_rows {
 public:
  explicit action_rows(memory_source const& memory) : memory_{memory} {}

  /// \param counts  whether it is kept
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

/// The statistics of a loop: a node for each action, an activation for each checkpoint and each tape that is read on
/// the way back.
[[nodiscard]] inline profile_stats stats_of(std::vector<action_row> const& rows, workload const& work) {
  struct life {
    step_index state = 0;
    activation_stats row;
    bool is_tape = false, is_read = false;
  };
  using where = std::tuple<tier, content, slot_index>;
  profile_stats stats;
  std::map<where, life> lives;
  std::vector<double> before{0};  // seconds before each node
  bool turned = false;
  auto const close = [&](where const& place) {
    auto const at = lives.find(place);
    if (at == lives.end()) return;
    if (at->second.is_read) stats.activations.push_back(std::move(at->second.row));
    lives.erase(at);
  };
  auto const open = [&](where const& place, action const& a, bool is_tape) {
    close(place);
    life begun{a.from, {}, is_tape, false};
    begun.row.activation_name = (is_tape ? "tape_" : "state_") + std::to_string(a.from);
    begun.row.creation_rank = begun.row.last_fw_use_rank = step_index(stats.nodes.size());
    begun.row.median_mem_size_bytes = std::int64_t(is_tape ? work.tape_bytes : work.state_bytes);
    lives[place] = std::move(begun);
  };
  auto const use = [&](where const& place) {
    auto const at = lives.find(place);
    if (at == lives.end()) return;
    auto& [state, row, is_tape, is_read] = at->second;
    step_index const rank = step_index(stats.nodes.size());
    if (!turned) row.last_fw_use_rank = rank;
    else {
      if (!std::exchange(is_read, true)) {
        row.first_bw_use_rank = rank;
        row.inactive_time_s = before[std::size_t(rank)] - before[std::size_t(row.last_fw_use_rank) + 1];
        step_index source = state;
        for (auto const& [other, one] : lives)
          if (!one.is_tape && &one != &at->second && one.state <= state)
            source = source == state ? one.state : (std::max)(source, one.state);
        row.recomp_time_s = double(state - source) * work.step_seconds +
                            (is_tape ? work.record_seconds.value_or(work.step_seconds) : 0);
        row.recomp_memory_bytes = std::int64_t(work.state_bytes + (is_tape ? work.tape_bytes : 0));
      }
      row.last_bw_use_rank = rank;
    }
  };
  for (action_row const& seen : rows) {
    action const& a = seen.what;
    step_index state = a.from;
    if (a.kind == action_kind::drop)
      if (auto const at = lives.find({a.where, a.what, a.slot}); at != lives.end()) state = at->second.state;
    node_stats node;
    node.rank = step_index(stats.nodes.size());
    node.node_name = row_name(seen, state);
    bool const runs = a.kind == action_kind::advance || a.kind == action_kind::record;
    node.type = runs ? node_type::act : a.kind == action_kind::reverse ? node_type::grad : node_type::other;
    node.gtype = a.kind == action_kind::turn       ? graph_type::other
                 : seen.where == phase::forward ? graph_type::forward
                                                : graph_type::backward;
    node.median_run_time_s = seen.seconds.median();
    double const active = seen.active.median(), after = seen.after.median();
    node.median_active_mem_bytes = std::int64_t(active);
    node.median_peak_mem_bytes = std::int64_t((std::max)({active, after, active + seen.rise.median()}));
    if (a.kind == action_kind::save) open({a.where, content::state, a.slot}, a, false);
    if (a.kind == action_kind::record && a.slot != no_slot) open({a.where, content::tape, a.slot}, a, true);
    if (a.kind == action_kind::load) use({a.where, a.what, a.slot});
    if (a.kind == action_kind::reverse)
      for (auto& [place, one] : lives)
        if (one.is_tape && one.state >= a.from && one.state < a.to) use(place);
    if (a.kind == action_kind::drop) close({a.where, a.what, a.slot});
    if (a.kind == action_kind::turn) turned = true;
    before.push_back(before.back() + node.median_run_time_s);
    stats.nodes.push_back(std::move(node));
  }
  while (!lives.empty()) close(lives.begin()->first);
  std::stable_sort(stats.activations.begin(), stats.activations.end(),
                   [](auto const& one, auto const& other) { return one.creation_rank < other.creation_rank; });
  return stats;
}

}  // namespace cairn::detail
