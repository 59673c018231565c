// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_frame.hpp  A chain of tensors executed by a plan: what is kept between forward and backward, and what is
/// recomputed.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/cached_operations.hpp>
#include <cairn/adapt/torch/checkpoint/detail/checkpointed_input.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/script_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/buffers_guard.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/chain_walk.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Whether the state from which each tape was recorded is available, as the same tensor, as long as the tape lives:
/// tapes refer to it.
/// \pre all stages are in range
[[nodiscard]] inline bool keeps_states_of_tapes(std::vector<action> const& plan, step_index stages) {
  cairn::detail::chain_walk walk{stages, {}, ""};
  for (auto const& a : plan) {
    if (cairn::detail::runs_stage(a) && a.to < stages && walk.holds_tape(a.to)) return false;
    walk.apply(a);
    step_index const lost = a.kind != action_kind::drop ? 0 : a.what == content::tape ? a.from + 1 : a.from;
    if (lost > 0 && lost < stages && walk.holds_tape(lost) && !walk.at_hand(lost)) return false;
  }
  return true;
}

/// For each stage, whether the plan runs it after something else than the stage before it, so that the generators must
/// be set for it.
/// \pre all stages are in range
[[nodiscard]] inline std::vector<bool> begins_of(std::vector<action> const& plan, step_index stages) {
  std::vector<bool> begins(static_cast<std::size_t>(stages));
  step_index last = -1;
  for (auto const& a : plan) {
    if (cairn::detail::runs_stage(a)) {
      if (a.from != last + 1 || a.from == 0) begins[std::size_t(a.from)] = true;
      last = a.from;
    } else if (a.kind == action_kind::reverse || a.kind == action_kind::turn) {
      last = -1;
    }
  }
  return begins;
}

/// One forward run of a chain, and what its backward needs. `execute` does not run it: the engine's hooks determine how
/// far the plan is obeyed, and may ask for something that the plan has already passed; then the plan starts again. The
/// autograd graph is the plain one; only what its nodes save is kept, freed and recomputed as the plan says. So
/// gradients, hooks, retain_graph and double backward are those of the plain graph. The frame is owned by the hooks of
/// the saved tensors.
class chain_frame : public std::enable_shared_from_this<chain_frame> {
 public:
  /// Options of the frame.
  struct settings {
    Rng rng;
    Check check;
    char const* who;
    std::function<void(action const&)> told = {};  ///< called before each action after the loss
    checkpoint_policy policy = {};  ///< for operators in stages that run again; without one all run again
  };

  /// \throws invalid_schedule   if the stages cannot obey the plan
  chain_frame(std::vector<tensor_stage> stages, std::vector<action> plan, settings how)
      : stages_{std::move(stages)},
        plan_{std::move(plan)},
        how_{std::move(how)},
        states_(stages_.size() + 1),
        tapes_(stages_.size()),
        firsts_(stages_.size()),
        places_(stages_.size()),
        reversed_{step_index(stages_.size())} {
    if (how_.policy) need_dispatch_mode(how_.who);
    cairn::detail::chain_walk walk{reversed_, {}, how_.who};
    std::vector<bool> runs(stages_.size());
    for (auto const& a : plan_) {
      walk.check(a, true);
      walk.apply(a);
      if (!cairn::detail::runs_stage(a)) continue;
      auto const i = std::size_t(a.from);
      firsts_[i].has_policy = how_.policy && runs[i];
      runs[i] = true;
    }
    walk.finish();
    auto const begins = begins_of(plan_, reversed_);
    for (std::size_t i = 0; i < begins.size(); ++i) firsts_[i].begins = begins[i];
  }

  /// Call once: runs up to the loss.
  [[nodiscard]] at::Tensor forward(at::Tensor const& x) {
    input_.emplace(x);
    here_ = at::empty({0}, x.options());
    autocast_ = autocast_state::now();
    generator_use const drawing{how_.rng};
    at::Tensor live = x;
    while (plan_[next_].kind != action_kind::turn) {
      auto const& a = plan_[next_++];
      if (cairn::detail::runs_stage(a) && a.from == ran_) live = run_first(a, live);
      else if (cairn::detail::runs_stage(a)) again(a, drawing);
      else obey(a);
    }
    draws_ = drawing.drew({});
    if (draws_) drawing.check(how_.who);
    return live;
  }

 private:
  /// What a stage saved, and its output.
  struct tape {
    saved_tensors saved;
    saved_tensor output;
    bool is_used = false;  ///< a saved tensor was used
  };
  /// What is known about a stage from its first run.
  struct first_run {
    std::vector<saved_metadata> metadata;
    std::vector<bool> wanted;  ///< whether the graph still holds each saved tensor
    bool requires_grad = false;  ///< of its input
    bool begins = false;  ///< the plan runs it again after something else than the stage before it
    generator_states generators;  ///< before the stage, if `begins`
    read_list reads;  ///< tensors from outside the chain that it read
    bool scripts = false;  ///< TorchScript ran
    bool has_policy = false;  ///< it runs under the policy: there is one, and the plan runs the stage again
    cached_operations operations;  ///< results that the policy keeps
    std::vector<kept_result> kept;  ///< parts that `cairn::libtorch::keep` keeps
  };
  /// A run of a stage under the policy, during its lifetime.
  class policy_run {
   public:
    policy_run(chain_frame const& of, first_run& first, origin_map& notes, bool again) {
      if (!first.has_policy) return;
      static kept_names const all;
      region_.emplace(first.kept, notes, again, of.how_.rng, all);
      operators_.emplace(of.how_.policy, first.operations, *region_, of.how_.who);
    }

   private:
    std::optional<active_region> region_;
    std::optional<operator_run> operators_;
  };
  struct first_hooks final : torch::autograd::SavedVariableHooks {
    first_hooks(std::shared_ptr<chain_frame> of, step_index i, std::shared_ptr<origin_map> notes)
        : frame{std::move(of)}, origins{std::move(notes)}, stage{i} {}
    ~first_hooks() override { if (!origins) frame->release(stage, number); }
    void call_pack_hook(at::Tensor const& t) override {
      dispatch_mode_scope const no_mode{false};
      number = frame->note(stage, t, origins->of(t));
      origins.reset();
    }
    at::Tensor call_unpack_hook() override { return frame->take(stage, number); }
    std::shared_ptr<chain_frame> frame;
    std::shared_ptr<origin_map> origins;  ///< needed until the tensor is noted
    step_index stage;
    std::size_t number = 0;
  };
  struct second_hooks final : torch::autograd::SavedVariableHooks {
    second_hooks(std::size_t& count, tape* into, origin_map& notes, char const* name)
        : saved{count}, keeps{into}, origins{notes}, who{name} {}
    void call_pack_hook(at::Tensor const& t) override {
      ++saved;
      if (keeps == nullptr) return;
      dispatch_mode_scope const no_mode{false};
      kept = t.detach();  // t may be the node's own result, and would keep alive the node that owns the hook
      keeps->saved.emplace_back(kept, origins.of(t));
    }
    at::Tensor call_unpack_hook() override {
      if (!kept.defined()) refuse_inner(who);
      return kept;
    }
    std::size_t& saved;
    tape* keeps;
    origin_map& origins;
    char const* who;
    at::Tensor kept;
  };

  [[noreturn]] static void refuse_inner(char const* who) {
    throw invalid_call{who,
                       "a saved tensor is wanted while a stage runs",
                       {},
                       "a stage must not differentiate inside itself here; make it a region of its own by "
                       "cairn::libtorch::checkpoint"};
  }
  [[nodiscard]] first_run& first_of(step_index i) { return firsts_[std::size_t(i)]; }
  [[nodiscard]] std::optional<tape>& tape_of(step_index i) { return tapes_[std::size_t(i)]; }
  [[nodiscard]] saved_tensor& state_of(step_index i) { return states_[std::size_t(i)]; }

  [[nodiscard]] at::Tensor run_first(action const& a, at::Tensor const& in) {
    step_index const i = a.from;
    bool const keeps = a.kind == action_kind::record;
    auto& first = first_of(i);
    first.requires_grad = in.requires_grad();
    if (first.begins && how_.rng == Rng::Preserve) first.generators = generator_states::now({in});
    if (keeps) tape_of(i).emplace();
    auto const version = in._version();
    at::Tensor out;
    {
      read_tracker const tracker;
      auto const notes = std::make_shared<origin_map>();
      policy_run const policy{*this, first, *notes, false};
      saved_hooks_scope const hooks{
          [frame = shared_from_this(), i, notes] { return std::make_unique<first_hooks>(frame, i, notes); }};
      out = stages_[std::size_t(i)].run(in);
      auto given = stages_[std::size_t(i)].buffers;
      given.push_back(in);
      first.reads.add_unchanged(tracker.reads(given));
      first.scripts = tracker.saw_script();
    }
    if (in._version() != version && needs_again(i))
      throw invalid_call{how_.who,
                         "a stage changes its input in place, and the plan needs that again",
                         {{"stage", i}},
                         "make it not in place, leave the number of segments out, or give a memory limit: then it runs "
                         "as one with the stage before"};
    (keeps ? tape_of(i)->output : state_of(i + 1)) = saved_tensor{out.detach()};
    if (out.requires_grad() && out.grad_fn() && out.grad_fn() != in.grad_fn())
      out.register_hook([frame = shared_from_this(), i](at::Tensor const&) { frame->begin(i); });
    ++ran_;
    return out;
  }
  /// Whether a later run reads the present state i.
  [[nodiscard]] bool needs_again(step_index i) const {
    for (std::size_t k = next_; k < plan_.size(); ++k) {
      auto const& a = plan_[k];
      if (cairn::detail::runs_stage(a) && a.from == i) return true;
      if (i > 0 &&
          ((cairn::detail::runs_stage(a) && a.from == i - 1) || (a.kind == action_kind::reverse && a.from == i - 1)))
        return false;
    }
    return false;
  }
  [[nodiscard]] std::size_t note(step_index i, at::Tensor const& t, saved_origin origin) {
    std::lock_guard const lock{access_};
    auto& metadata = first_of(i).metadata;
    metadata.push_back(saved_metadata::of(t, how_.check, stages_[std::size_t(i)].buffers, origin));
    first_of(i).wanted.push_back(true);
    if (tape_of(i)) tape_of(i)->saved.emplace_back(t.detach(), origin);
    return metadata.size() - 1;
  }

  /// The graph no longer holds this tensor.
  void release(step_index i, std::size_t number) {
    std::lock_guard const lock{access_};
    auto& first = first_of(i);
    first.wanted[number] = false;
    places_[std::size_t(i)].release(number);
    if (ran_ > i && std::find(first.wanted.begin(), first.wanted.end(), true) == first.wanted.end())
      first.operations.clear();
  }
  /// The tensors of stage i in the active group; null without a group.
  [[nodiscard]] std::shared_ptr<saved_tensors> place_in_group(step_index i) {
    auto const& of_pass = group_state::of_thread();
    auto const& group = of_pass ? of_pass : group_;
    return group ? places_[std::size_t(i)].in(group, how_.who) : nullptr;
  }
  /// Whether stage i's tape holds everything that the stage saved.
  [[nodiscard]] bool is_whole(step_index i) {
    return tape_of(i) && !tape_of(i)->is_used && tape_of(i)->saved.size() == first_of(i).metadata.size();
  }
  /// Moves the content of stage i's tape to the group.   \pre the tape is complete
  void hand_over(step_index i, saved_tensors& place) {
    place = std::exchange(tape_of(i)->saved, {});
    for (std::size_t k = 0; k < place.size(); ++k)
      if (!first_of(i).wanted[k]) place[k] = {};
  }

  /// The gradient of stage i's output has arrived.
  void begin(step_index i) {
    std::lock_guard const lock{access_};
    bool const in_group = group_state::of_thread() || group_;
    if (in_group && reversed_ <= i) return;  // the group has its tensors; a missing one is recomputed
    reach(i);
  }
  [[nodiscard]] at::Tensor take(step_index i, std::size_t number) {
    std::lock_guard const lock{access_};
    if (auto const place = place_in_group(i)) return take_from(*place, i, number);
    reach(i);
    auto const is_there = [&] {
      return tape_of(i) && number < tape_of(i)->saved.size() && tape_of(i)->saved[number].value.defined();
    };
    if (!is_there()) {  // taken by an earlier backward that retained the graph
      restart();
      reach(i);
    }
    tape_of(i)->is_used = true;
    auto const taken = std::exchange(tape_of(i)->saved[number], {});
    check(i, number, taken);
    return taken.value;
  }
  [[nodiscard]] at::Tensor take_from(saved_tensors& place, step_index i, std::size_t number) {
    if (place.empty()) {
      reach(i);
      if (!is_whole(i)) {  // a pass outside the group has taken from it
        restart();
        reach(i);
      }
      hand_over(i, place);
    }
    if (!place[number].value.defined())
      throw invalid_call{how_.who,
                         "a backward pass wants a saved tensor that another one of its group has taken",
                         {{"stage", i}, {"tensor", number}},
                         "let the passes of a group run different nodes, or run this one without a group"};
    auto const taken = std::exchange(place[number], {});
    check(i, number, taken);
    return taken.value;
  }
  void check(step_index i, std::size_t number, saved_tensor const& again) {
    check_saved(first_of(i).metadata[number], again, how_.who, number, {"stage", i},
                first_of(i).scripts ? script_advice : recompute_advice);
  }
  /// Obeys the plan up to the adjoint of stage i.
  void reach(step_index i) {
    if (running_ || ran_ < step_index(stages_.size())) refuse_inner(how_.who);
    if (reversed_ <= i) restart();
    if (is_at(i)) return;
    std::optional<generator_use> drawing;
    std::optional<rng_autocast_guard> outside;
    last_again_ = -1;
    try {
      for (; !is_at(i); ++next_) {
        auto const& a = plan_[next_];
        tell(next_);
        if (cairn::detail::runs_stage(a)) {
          if (!outside) {
            drawing.emplace(how_.rng, draws_ || !here_.is_cpu());
            outside.emplace(at::TensorList{here_}, how_.rng, *drawing);
          }
          run_again(a, *drawing);
        } else {
          obey(a);
        }
      }
      tell(next_);
      if (drawing && draws_) drawing->check(how_.who);
    } catch (...) {
      restart();  // the states of generators between these runs are unknown
      throw;
    }
  }
  /// Calls `told` once for each action.
  void tell(std::size_t number) {
    if (!how_.told || !turned_ || number < told_) return;
    how_.told(plan_[number]);
    told_ = number + 1;
  }
  [[nodiscard]] bool is_at(step_index i) const {
    return plan_[next_].kind == action_kind::reverse && plan_[next_].from == i;
  }
  void restart() {
    next_ = told_ = 0;
    turned_ = false;
    reversed_ = step_index(stages_.size());
    for (auto& state : states_) state = {};
    for (auto& one : tapes_) one.reset();
  }
  void obey(action const& a) {
    switch (a.kind) {
      case action_kind::drop:
        if (a.what == content::tape) tape_of(a.from).reset();
        else state_of(a.from) = {};
        break;
      case action_kind::reverse:
        if (is_whole(a.from))
          if (auto const place = place_in_group(a.from); place && place->empty()) hand_over(a.from, *place);
        tape_of(a.from).reset();
        [[fallthrough]];
      case action_kind::turn:
        if (a.kind == action_kind::turn) turned_ = true;
        else reversed_ = a.from;
        state_of(a.kind == action_kind::turn ? a.from : a.from + 1) = {};
        last_again_ = -1;
        break;
      default: break;
    }
  }
  /// Runs a stage again before the plan has reached the loss.
  void again(action const& a, generator_use const& drawing) {
    rng_autocast_guard const outside{here_, how_.rng, drawing};
    last_again_ = -1;
    run_again(a, drawing);
  }
  void run_again(action const& a, generator_use const& drawing) {
    step_index const i = a.from;
    auto& first = first_of(i);
    check_reads(first.reads, how_.who, {"stage", i});
    auto const in = input_of(i);
    if (i == 0 || last_again_ != i - 1) drawing.put_back(first.generators);
    autocast_.without_cache().restore();
    bool const keeps = a.kind == action_kind::record;
    if (keeps) tape_of(i).emplace();
    std::size_t saved = 0;
    at::Tensor out;
    {
      buffers_guard const buffers{stages_[std::size_t(i)].buffers};
      at::AutoGradMode const on{true};
      plain_scripts const scripts{first.scripts};
      origin_map notes;
      policy_run const policy{*this, first, notes, true};
      saved_hooks_scope const hooks{
          [&] { return std::make_unique<second_hooks>(saved, keeps ? &*tape_of(i) : nullptr, notes, how_.who); }};
      running_now const now{running_};
      out = stages_[std::size_t(i)].run(in).detach();
    }
    if (saved != first.metadata.size())
      throw recompute_mismatch{how_.who,
                               "a stage saves another number of tensors for backward when it is run again",
                               {{"stage", i}, {"saved", saved}, {"saved at first", first.metadata.size()}},
                               first.scripts ? script_advice
                                             : "make the stages functions of their inputs alone, and change nothing in "
                                               "them between forward and backward"};
    for (std::size_t k = 0; keeps && k < saved; ++k)
      if (!same_saved(first.metadata[k], tape_of(i)->saved[k])) check(i, k, tape_of(i)->saved[k]);
    (keeps ? tape_of(i)->output : state_of(i + 1)) = saved_tensor{out};
    if (keeps) state_of(i + 1) = {};
    last_again_ = i;
  }
  [[nodiscard]] at::Tensor input_of(step_index i) {
    bool const requires_grad = first_of(i).requires_grad;
    if (i == 0) return result_tensor(input_->leaf(how_.who, 0), requires_grad);
    auto const& state = state_of(i).value.defined() ? state_of(i) : tape_of(i - 1)->output;
    if (!state.unchanged())
      throw invalid_call{how_.who,
                         "a state was changed in place before it was read again",
                         {{"state", i}},
                         "leave the tensors alone that go from stage to stage"};
    return result_tensor(state.value, requires_grad);
  }
  struct running_now {
    explicit running_now(bool& is) : flag{is} { flag = true; }
    ~running_now() { flag = false; }
    bool& flag;
  };

  std::vector<tensor_stage> stages_;
  std::vector<action> plan_;
  settings how_;
  std::optional<checkpointed_input> input_;
  at::Tensor here_;  ///< empty, on the input's device
  autocast_state autocast_;
  std::vector<saved_tensor> states_;          ///< states that are kept separately
  std::vector<std::optional<tape>> tapes_;
  std::vector<first_run> firsts_;
  std::vector<group_places> places_;  ///< for each stage, its tensors in groups
  std::shared_ptr<group_state> group_ = group_state::of_thread();  ///< the group in which the chain was created, if any
  std::size_t next_ = 0;        ///< index of the next action
  std::size_t told_ = 0;        ///< number of actions for which `told` was called
  step_index ran_ = 0;          ///< number of stages that ran
  step_index reversed_;         ///< the last stage whose adjoint the plan has passed
  step_index last_again_ = -1;  ///< the stage after which the generators are now
  bool turned_ = false, running_ = false;
  bool draws_ = false;  ///< the stages drew numbers from the CPU's generator
  std::recursive_mutex access_;  ///< recursive, as in `region_frame`
};

}  // namespace cairn::libtorch::detail
