#pragma once
/// \file replay.hpp  What a plan for a chain does, action by action: the one judge of all planners.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_model.hpp>

namespace cairn {

/// What a plan costs, by playing it.
struct chain_cost {
  std::int64_t peak = 0;           ///< most bytes in memory at once; state 0 and its adjoint not counted
  std::int64_t makespan = 0;       ///< all times, those of saves and loads included
  std::int64_t extra_forward = 0;  ///< times of stages run more than once
  std::int64_t transfer = 0;       ///< times of saves and loads
  step_index stage_runs = 0;       ///< stages run, recorded or not; L where nothing is run twice
  friend constexpr bool operator==(chain_cost const&, chain_cost const&) = default;
};

namespace detail {

/// Plays a plan on numbers of states and tapes. One object, one sweep.
class chain_player {
 public:
  /// \param far  tiers that saves and loads may name   \param model, far  must outlive the player
  chain_player(chain_model const& model, std::span<chain_tier const> far, char const* who)
      : model_{model}, far_{far}, who_{who}, state_(std::size_t(model.stages) + 2), tape_(std::size_t(model.stages) + 1),
        far_state_(far.size(), std::vector<char>(std::size_t(model.stages) + 1)), far_bytes_(far.size()), adjoint_{model.stages + 1} {
    state_[0] = 1;
    for (std::size_t k = 0; k < far.size(); ++k) {
      for (auto const* list : {&far[k].write, &far[k].read}) {
        if (list->empty()) continue;
        if (std::int64_t(list->size()) != model.stages + 1)
          throw invalid_plan{who, "a tier's times are not one a state", {{"states", model.stages + 1}, {"numbers given", list->size()}}, "give write and read for states 0..L, or none"};
        for (auto const time : *list)
          if (time < 0) throw invalid_plan{who, "a tier's time is negative", {{"value", time}}, "give times of 0 or more"};
      }
      bool named_before = far[k].where == tier::memory;
      for (std::size_t j = 0; j < k; ++j) named_before = named_before || far[j].where == far[k].where;
      if (named_before) throw invalid_plan{who, "a tier is named twice, or is the working memory", {{"tier", int(far[k].where)}}, "name each of device, host and disk at most once"};
    }
  }

  /// \throws invalid_schedule   where the plan asks for what is not there
  void play(chain_action const& a) {
    std::int64_t const last = a.kind == chain_action_kind::forward || a.kind == chain_action_kind::record || a.kind == chain_action_kind::drop_tape ||
                                      a.kind == chain_action_kind::backward ? model_.stages - 1 : model_.stages;
    if (a.stage < 0 || a.stage > last) refuse("an action names a stage that is not there", a);
    std::size_t const i = std::size_t(a.stage);
    switch (a.kind) {
      case chain_action_kind::forward:
        need(at_hand(i), "a stage is run on a state that is not at hand", a);
        if (!state_[i + 1]) live_ += model_.x[i + 1], state_[i + 1] = 1;
        reach(live_ + model_.f[i]);
        ran(i);
        break;
      case chain_action_kind::record:
        need(at_hand(i), "a stage is recorded on a state that is not at hand", a);
        need(!tape_[i], "a stage is recorded whose tape lives", a);
        live_ += model_.s[i];
        reach(live_ + model_.f[i]);
        tape_[i] = 1;
        forget(i + 1);
        ran(i);
        break;
      case chain_action_kind::drop: {
        if (a.where == tier::memory) {
          need(i > 0, "state 0, which is the caller's, is dropped", a);
          need(state_[i], "a state is dropped that is not kept", a);
          forget(i);
        } else {
          std::size_t const k = tier_of(a);
          need(far_state_[k][i], "a state is dropped that is not kept on that tier", a);
          far_state_[k][i] = 0;
          far_bytes_[k] -= model_.x[i];
        }
        break;
      }
      case chain_action_kind::drop_tape:
        need(tape_[i], "a tape is dropped that does not live", a);
        tape_[i] = 0;
        live_ -= model_.s[i];
        break;
      case chain_action_kind::loss:
        need(a.stage == model_.stages, "the loss is not the last stage", a);
        need(adjoint_ == model_.stages + 1, "the loss is run twice", a);
        need(at_hand(i), "the loss is run without its state", a);
        reach(live_ + model_.b[i]);
        adjoint_ = a.stage;
        forget(i);
        if (i > 0) live_ += model_.g[i];
        reach(live_);
        cost_.makespan += model_.v[i];
        break;
      case chain_action_kind::backward:
        need(adjoint_ == a.stage + 1, "an adjoint is run out of order", a);
        need(tape_[i], "an adjoint is run without its tape", a);
        need(model_.self_contained_tape || at_hand(i), "an adjoint is run without its state", a);
        reach(live_ + model_.b[i]);
        tape_[i] = 0;
        live_ -= model_.s[i] + model_.g[i + 1];
        forget(i + 1);
        adjoint_ = a.stage;
        if (i > 0) live_ += model_.g[i];
        reach(live_);
        cost_.makespan += model_.v[i];
        break;
      case chain_action_kind::save: {
        std::size_t const k = tier_of(a);
        need(at_hand(i), "a state is saved that is not at hand", a);
        need(!far_state_[k][i], "a state is saved twice on one tier", a);
        far_state_[k][i] = 1;
        far_bytes_[k] += model_.x[i];
        need(far_[k].bytes < 0 || far_bytes_[k] <= far_[k].bytes, "a tier keeps more bytes than it has", a);
        transferred(far_[k].write, i);
        break;
      }
      case chain_action_kind::load: {
        std::size_t const k = tier_of(a);
        need(far_state_[k][i], "a state is loaded that is not kept on that tier", a);
        if (!state_[i]) live_ += model_.x[i], state_[i] = 1;
        reach(live_);
        transferred(far_[k].read, i);
        break;
      }
    }
    ++played_;
  }
  /// \throws invalid_schedule   where an adjoint is missing
  [[nodiscard]] chain_cost finish() {
    if (adjoint_ != 0) throw invalid_schedule{who_, "the plan ends before the adjoint of state 0 is made", {{"actions", played_}, {"open adjoints", adjoint_}}, ""};
    cost_.extra_forward = cost_.makespan - cost_.transfer - model_.store_all_time();
    return cost_;
  }
  /// Bytes in memory after what was played so far.
  [[nodiscard]] std::int64_t live() const noexcept { return live_; }
  /// The most so far.
  [[nodiscard]] std::int64_t peak() const noexcept { return cost_.peak; }

 private:
  [[nodiscard]] bool at_hand(std::size_t i) const noexcept { return state_[i] || (i > 0 && tape_[i - 1]); }
  void forget(std::size_t i) noexcept {
    if (i == 0 || !state_[i]) return;
    state_[i] = 0;
    live_ -= model_.x[i];
  }
  void reach(std::int64_t bytes) noexcept { cost_.peak = std::max(cost_.peak, bytes); }
  void ran(std::size_t i) noexcept {
    cost_.makespan += model_.u[i];
    ++cost_.stage_runs;
  }
  void transferred(std::vector<std::int64_t> const& times, std::size_t i) noexcept {
    if (times.empty()) return;
    cost_.makespan += times[i];
    cost_.transfer += times[i];
  }
  [[nodiscard]] std::size_t tier_of(chain_action const& a) const {
    for (std::size_t k = 0; k < far_.size(); ++k)
      if (far_[k].where == a.where) return k;
    refuse("an action names a tier that is not there", a);
  }
  void need(bool holds, char const* problem, chain_action const& a) const {
    if (!holds) refuse(problem, a);
  }
  [[noreturn]] void refuse(char const* problem, chain_action const& a) const {
    throw invalid_schedule{who_, problem, {{"action", played_}, {"stage", a.stage}}, ""};
  }

  chain_model const& model_;
  std::span<chain_tier const> far_;
  char const* who_;
  std::vector<char> state_, tape_;
  std::vector<std::vector<char>> far_state_;
  std::vector<std::int64_t> far_bytes_;
  std::int64_t adjoint_;  ///< number of the state whose adjoint lives; L+1 before the loss
  std::int64_t live_ = 0;
  std::size_t played_ = 0;
  chain_cost cost_;
};

[[nodiscard]] inline chain_cost replay(chain_model const& model, std::span<chain_action const> actions, std::span<chain_tier const> far, char const* who) {
  chain_player player{model, far, who};
  for (auto const& a : actions) player.play(a);
  return player.finish();
}

}  // namespace detail

/// Plays a plan for a chain and answers what it costs.   Cost: O(1) an action.
/// \param far  tiers beside memory that the plan saves to
/// \throws invalid_schedule   at the first action that cannot be obeyed, or where the plan ends early   \throws invalid_plan, overflow_error   for a chain that cannot be
[[nodiscard]] inline chain_cost replay(chain const& work, std::span<chain_action const> actions, std::span<chain_tier const> far = {}) {
  constexpr char const* who = "cairn::replay";
  return detail::replay(detail::chain_model{work, who}, actions, far, who);
}

}  // namespace cairn
