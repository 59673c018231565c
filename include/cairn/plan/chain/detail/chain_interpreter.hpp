// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_interpreter.hpp  Plays a plan for a chain action by action and counts its cost; all planners are
/// measured by it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_cost.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::detail {

/// Plays a plan on numbers of states and tapes. One object plays one sweep.
class chain_interpreter {
 public:
  /// \param model  must outlive the interpreter   \param elsewhere  tiers that saves and loads may name; must outlive
  ///        the interpreter
  chain_interpreter(chain_model const& model, std::span<chain_tier const> elsewhere, char const* who)
      : model_{model},
        far_{elsewhere},
        walk_{model.stages, checked(model, elsewhere, who), who},
        far_bytes_(elsewhere.size()) {}

  /// \throws invalid_schedule   if the action needs a state, tape or adjoint that is not there
  void obey(action const& a) {
    walk_.check(a);
    if (!model_.self_contained_tape) walk_.check_state(a);
    std::size_t const i = std::size_t(a.from);
    switch (a.kind) {
      case action_kind::advance:
        make(a.to);
        reach(live_ + model_.f[i]);
        ran(i);
        break;
      case action_kind::record:
        live_ += model_.s[i], tapes_ += model_.s[i];
        reach(live_ + model_.f[i]);
        forget(a.to);
        ran(i);
        break;
      case action_kind::drop:
        if (a.what == content::tape) live_ -= model_.s[i], tapes_ -= model_.s[i];
        else if (a.where == tier::memory) forget(a.from);
        else {
          far_bytes_[tier_of(a.where)] -= model_.x[i];
          if (tiers_with(a.from) == 1) elsewhere_ -= model_.x[i];
        }
        break;
      case action_kind::turn:
        reach(live_ + model_.b[i]);
        forget(a.from);
        adjoint_made(i);
        break;
      case action_kind::reverse:
        reach(live_ + model_.b[i]);
        live_ -= model_.s[i] + model_.g[i + 1];
        tapes_ -= model_.s[i], adjoints_ -= model_.g[i + 1];
        forget(a.to);
        adjoint_made(i);
        break;
      case action_kind::save: {
        std::size_t const k = tier_of(a.where);
        far_bytes_[k] += model_.x[i];
        if (tiers_with(a.from) == 0) elsewhere_ += model_.x[i];
        cost_.elsewhere = (std::max)(cost_.elsewhere, elsewhere_);
        if (far_[k].bytes >= 0 && far_bytes_[k] > far_[k].bytes) walk_.refuse("a tier keeps more bytes than it has", a);
        transferred(far_[k].write, i);
        break;
      }
      case action_kind::load:
        make(a.from);
        reach(live_);
        transferred(far_[tier_of(a.where)].read, i);
        break;
      case action_kind::done: break;
    }
    walk_.apply(a);
  }
  /// \throws invalid_schedule   if an adjoint is missing
  [[nodiscard]] chain_cost finish() {
    walk_.finish();
    cost_.extra_forward = cost_.makespan - cost_.transfer - model_.store_all_time();
    return cost_;
  }
  /// Bytes in memory after the actions played so far.
  [[nodiscard]] std::int64_t live() const noexcept { return live_; }
  /// The largest number of bytes so far.
  [[nodiscard]] std::int64_t peak() const noexcept { return cost_.peak; }

 private:
  /// The names of the tiers.   \throws invalid_plan   for invalid tiers
  [[nodiscard]] static named_tiers checked(chain_model const& model, std::span<chain_tier const> elsewhere,
                                           char const* who) {
    named_tiers named;
    for (auto const& one : elsewhere) {
      for (auto const* list : {&one.write, &one.read}) {
        if (list->empty()) continue;
        if (std::int64_t(list->size()) != model.stages + 1)
          throw invalid_plan{who,
                             "a tier's times are not one per state",
                             {{"states", model.stages + 1}, {"numbers given", list->size()}},
                             "give write and read for states 0..L, or none"};
        for (auto const time : *list)
          if (time < 0)
            throw invalid_plan{who, "a tier's time is negative", {{"value", time}}, "give times of 0 or more"};
      }
      if (named.holds(one.where))
        throw invalid_plan{who,
                           "a tier is named twice, or is the working memory",
                           {{"tier", int(one.where)}},
                           "name each of device, host and disk at most once"};
      named.add(one.where);
    }
    return named;
  }
  void make(step_index i) noexcept {
    if (!walk_.holds_state(i)) live_ += model_.x[std::size_t(i)];
  }
  void forget(step_index i) noexcept {
    if (i > 0 && walk_.holds_state(i)) live_ -= model_.x[std::size_t(i)];
  }
  void reach(std::int64_t bytes) noexcept {
    if (bytes > cost_.peak) cost_.peak = bytes, cost_.peak_tapes = tapes_, cost_.peak_adjoints = adjoints_;
  }
  void ran(std::size_t i) noexcept {
    cost_.makespan += model_.u[i];
    ++cost_.stage_runs;
  }
  void adjoint_made(std::size_t i) noexcept {
    if (i > 0) live_ += model_.g[i], adjoints_ += model_.g[i];
    reach(live_);
    cost_.makespan += model_.v[i];
  }
  void transferred(std::vector<std::int64_t> const& times, std::size_t i) noexcept {
    if (times.empty()) return;
    cost_.makespan += times[i];
    cost_.transfer += times[i];
  }
  /// How many tiers besides memory keep a state.
  [[nodiscard]] int tiers_with(step_index i) const noexcept {
    int count = 0;
    for (auto const& one : far_) count += int(walk_.holds_state(i, one.where));
    return count;
  }
  /// \pre the walk has checked the tier
  [[nodiscard]] std::size_t tier_of(tier where) const noexcept {
    std::size_t k = 0;
    while (far_[k].where != where) ++k;
    return k;
  }

  chain_model const& model_;
  std::span<chain_tier const> far_;
  chain_walk walk_;
  std::vector<std::int64_t> far_bytes_;
  std::int64_t live_ = 0, elsewhere_ = 0, tapes_ = 0, adjoints_ = 0;  // the last two are parts of live
  chain_cost cost_;
};

/// Plays a whole plan.   \throws invalid_schedule   at the first invalid action, or if the plan ends early
/// \throws invalid_plan   for invalid tiers
[[nodiscard]] inline chain_cost replay(chain_model const& model, std::span<action const> actions,
                                       std::span<chain_tier const> elsewhere, char const* who) {
  chain_interpreter player{model, elsewhere, who};
  for (auto const& a : actions) player.obey(a);
  return player.finish();
}

}  // namespace cairn::detail
