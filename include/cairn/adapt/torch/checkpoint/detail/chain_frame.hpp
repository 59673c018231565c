// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_frame.hpp  A chain of tensors executed by a plan: what is kept between forward and backward, and what is
/// recomputed.
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/chain_position.hpp>
#include <cairn/adapt/torch/checkpoint/detail/checkpointed_input.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/adapt/torch/checkpoint/detail/stage_record.hpp>
#include <cairn/adapt/torch/checkpoint/detail/stage_run.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/chain_walk.hpp>

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

/// One forward run of a chain, and what its backward needs. `execute` does not run it: the engine's hooks determine how
/// far the plan is obeyed, and may ask for something that the plan has already passed; then the plan starts again. The
/// autograd graph is the plain one; only what its nodes save is kept, freed and recomputed as the plan says. So
/// gradients, hooks, retain_graph and double backward are those of the plain graph. The frame is owned by the hooks of
/// the saved tensors.
class chain_frame : public std::enable_shared_from_this<chain_frame> {
 public:
  using settings = chain_settings;

  /// \throws invalid_schedule   if the stages cannot obey the plan
  chain_frame(std::vector<tensor_stage> stages, std::vector<action> plan, settings how)
      : stages_{std::move(stages)},
        position_{std::move(plan), step_index(stages_.size()), std::move(how.told)},
        how_{std::move(how)},
        states_(stages_.size() + 1),
        records_(stages_.size()) {
    if (how_.policy) need_dispatch_mode(how_.who);
    auto const count = step_index(stages_.size());
    auto const repeated = repeated_stages(position_.plan(), count, how_.who);
    auto const begins = begins_of(position_.plan(), count);
    for (std::size_t i = 0; i < records_.size(); ++i) {
      records_[i].reads.compare(how_.check);
      records_[i].has_policy = how_.policy && repeated[i];
      records_[i].begins = begins[i];
    }
  }

  /// Call once: runs up to the loss.
  [[nodiscard]] at::Tensor forward(at::Tensor const& x) {
    input_.emplace(x);
    here_ = at::empty({0}, x.options());
    autocast_ = autocast_state::now();
    generator_use const drawing{how_.rng};
    auto const devices = generator_states::of_devices(how_.rng == Rng::Preserve ? here_ : at::Tensor{});
    at::Tensor live = x;
    for (; position_.next().kind != action_kind::turn; position_.pass()) {
      auto const& a = position_.next();
      if (cairn::detail::runs_stage(a) && a.from == ran_) live = run_first(a, live);
      else if (cairn::detail::runs_stage(a)) again(a, drawing);
      else obey(a);
    }
    if ((draws_ = drawing.drew(devices))) drawing.check(how_.who);
    return live;
  }

 private:
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
  [[nodiscard]] stage_record& record_of(step_index i) { return records_[std::size_t(i)]; }
  [[nodiscard]] saved_tensor& state_of(step_index i) { return states_[std::size_t(i)]; }

  [[nodiscard]] at::Tensor run_first(action const& a, at::Tensor const& in) {
    step_index const i = a.from;
    bool const keeps = a.kind == action_kind::record;
    auto& record = record_of(i);
    if (keeps) record.tape.emplace();
    auto const version = in._version();
    auto out = stage_run{stages_[std::size_t(i)], record, how_}.first(in, here_, [&](auto notes) {
      return [frame = shared_from_this(), i, notes] { return std::make_unique<first_hooks>(frame, i, notes); };
    });
    if (in._version() != version && position_.needs_again(i))
      throw invalid_call{how_.who,
                         "a stage changes its input in place, and the plan needs that again",
                         {{"stage", i}},
                         "make it not in place, leave the number of segments out, or give a memory limit: then it runs "
                         "as one with the stage before"};
    (keeps ? record.tape->output : state_of(i + 1)) = saved_tensor{out.detach()};
    if (out.requires_grad() && out.grad_fn() && out.grad_fn() != in.grad_fn())
      out.register_hook([frame = shared_from_this(), i](at::Tensor const&) { frame->begin(i); });
    ++ran_;
    return out;
  }
  [[nodiscard]] std::size_t note(step_index i, at::Tensor const& t, saved_origin origin) {
    std::lock_guard const lock{access_};
    bool const is_unfinished = read_tracker::is_updating(t);
    auto const check = is_unfinished && how_.check == Check::Bits ? Check::Metadata : how_.check;
    return record_of(i).note(t, saved_metadata::of(t, check, origin), origin);
  }

  /// The graph no longer holds this tensor.
  void release(step_index i, std::size_t number) {
    std::lock_guard const lock{access_};
    record_of(i).release(number, ran_ > i);
  }
  /// The tensors of stage i in the active group; null without a group.
  [[nodiscard]] std::shared_ptr<saved_tensors> place_in_group(step_index i) {
    return record_of(i).places.of_pass(group_, how_.who);
  }
  /// The gradient of stage i's output has arrived.
  void begin(step_index i) {
    std::lock_guard const lock{access_};
    if ((group_state::of_thread() || group_) && position_.is_past(i))
      return;  // the group has its tensors; a missing one is recomputed
    reach(i);
  }
  [[nodiscard]] at::Tensor take(step_index i, std::size_t number) {
    std::lock_guard const lock{access_};
    if (auto const place = place_in_group(i)) return take_from(*place, i, number);
    reach(i);
    auto& record = record_of(i);
    if (!record.holds(number)) {  // taken by an earlier backward that retained the graph
      restart();
      reach(i);
    }
    auto const taken = record.take(number);
    record.check(i, number, taken, how_.who);
    return taken.value;
  }
  [[nodiscard]] at::Tensor take_from(saved_tensors& place, step_index i, std::size_t number) {
    if (place.empty()) {
      reach(i);
      if (!record_of(i).is_whole()) {  // a pass outside the group has taken from it
        restart();
        reach(i);
      }
      record_of(i).hand_over(place);
    }
    if (!place[number].value.defined())
      throw invalid_call{how_.who,
                         "a backward pass needs a saved tensor that another pass of its group has taken",
                         {{"stage", i}, {"tensor", number}},
                         "let the passes of a group run different nodes, or run this one without a group"};
    auto const taken = std::exchange(place[number], {});
    record_of(i).check(i, number, taken, how_.who);
    return taken.value;
  }
  /// Obeys the plan up to the adjoint of stage i.
  void reach(step_index i) {
    if (running_ || ran_ < step_index(stages_.size())) refuse_inner_gradient(how_.who);
    if (position_.is_past(i)) restart();
    if (position_.is_at(i)) return;
    std::optional<generator_use> drawing;
    std::optional<rng_autocast_guard> outside;
    last_again_ = -1;
    try {
      for (; !position_.is_at(i); position_.pass()) {
        auto const& a = position_.next();
        position_.tell();
        if (cairn::detail::runs_stage(a)) {
          if (!outside) {
            drawing.emplace(how_.rng, draws_);
            outside.emplace(at::TensorList{here_}, how_.rng, *drawing);
          }
          run_again(a, *drawing);
        } else {
          obey(a);
        }
      }
      position_.tell();
      if (drawing && draws_) drawing->check(how_.who);
    } catch (...) {
      restart();  // the states of generators between these runs are unknown
      throw;
    }
  }
  void restart() {
    position_.restart();
    for (auto& state : states_) state = {};
    for (auto& one : records_) one.tape.reset();
  }
  void obey(action const& a) {
    switch (a.kind) {
      case action_kind::drop:
        if (a.what == content::tape) record_of(a.from).tape.reset();
        else state_of(a.from) = {};
        break;
      case action_kind::reverse:
        if (record_of(a.from).is_whole())
          if (auto const place = place_in_group(a.from); place && place->empty()) record_of(a.from).hand_over(*place);
        record_of(a.from).tape.reset();
        [[fallthrough]];
      case action_kind::turn:
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
    auto& record = record_of(i);
    check_reads(record.reads, how_.who, {"stage", i});
    auto const in = input_of(i);
    if (i == 0 || last_again_ != i - 1) drawing.put_back(record.generators);
    autocast_.without_cache().restore();
    bool const keeps = a.kind == action_kind::record;
    if (keeps) record.tape.emplace();
    running_now const now{running_ = true};
    saved_tensor const out{stage_run{stages_[std::size_t(i)], record, how_}.again(i, in, keeps)};
    if (keeps) record.tape->output = out;
    state_of(i + 1) = keeps ? saved_tensor{} : out;
    last_again_ = i;
  }
  [[nodiscard]] at::Tensor input_of(step_index i) {
    bool const requires_grad = record_of(i).requires_grad;
    if (i == 0) return result_tensor(input_->leaf(how_.who, 0), requires_grad);
    auto const& state = state_of(i).value.defined() ? state_of(i) : record_of(i - 1).tape->output;
    if (!state.unchanged())
      throw invalid_call{how_.who,
                         "a state was changed in place before it was read again",
                         {{"state", i}},
                         "do not change the tensors that go from stage to stage"};
    return result_tensor(state.value, requires_grad);
  }
  struct running_now {
    ~running_now() { flag = false; }
    bool& flag;
  };

  std::vector<tensor_stage> stages_;
  chain_position position_;
  settings how_;
  std::optional<checkpointed_input> input_;
  at::Tensor here_;  ///< empty, on the input's device
  autocast_state autocast_;
  std::vector<saved_tensor> states_;  ///< states that are kept separately
  std::vector<stage_record> records_;
  std::shared_ptr<group_state> group_ = group_state::of_thread();  ///< the group in which the chain was created, if any
  step_index ran_ = 0;          ///< number of stages that ran
  step_index last_again_ = -1;  ///< the stage after which the generators are now
  bool running_ = false;
  bool draws_ = false;  ///< the stages drew random numbers
  std::recursive_mutex access_;  ///< recursive, as in `region_frame`
};

}  // namespace cairn::libtorch::detail
