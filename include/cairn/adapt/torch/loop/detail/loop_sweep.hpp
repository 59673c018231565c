// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_sweep.hpp  Executes a schedule over a loop of tensors: forward to its turn, and from there back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_slot.hpp>
#include <cairn/adapt/torch/loop/detail/pinned_copy.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/adapt/torch/state/detail/buffers_guard.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/detail/execute.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/store/store.hpp>

namespace cairn::libtorch::detail {

/// The gradients that a backward needs.
struct wanted_gradients {
  part_flags state, captures;
  std::vector<part_flags> inputs = {};
};

/// The gradients with respect to the inputs of a loop.
struct loop_gradients {
  tensor_list state, captures;
  series_list inputs;
};

/// Whether a loop continues from a state with this number.
using state_question = std::function<bool(at::TensorList, step_index)>;

/// The rest of an online plan after its loop has stopped, from after the turn. Its steps are blocks.
class stopped_loop {
 public:
  stopped_loop(step_index steps, online::cursor const& at) : steps_{steps}, at_{at} {}
  [[nodiscard]] step_index steps() const noexcept { return steps_; }
  [[nodiscard]] slot_index slots() const noexcept { return at_.slots(); }
  [[nodiscard]] step_index leaf() const noexcept { return 1; }
  [[nodiscard]] online::cursor const& walk() const noexcept { return at_; }

 private:
  step_index steps_;
  online::cursor at_;
};

/// The state of a loop between its forward and its backward half. A copy shares the tensors.
class loop_sweep {
 public:
  loop_sweep(any_schedule const& plan, loop_body const& body)
      : plan_{plan}, cursor_{plan_.walk()}, generators_{body.around.generators} {
    for (auto const& part : body.initial) live_.push_back(part.value);
    recorder_ = stats_recorder::over(body.options.stats(), live_);
  }

  /// For a loop of unknown length.
  explicit loop_sweep(loop_body const& body) : loop_sweep{revolve{0, 1}, body} {}

  /// Runs the loop forward and returns the last state.
  [[nodiscard]] tensor_list run(loop_body& body) {
    auto const recording = record_forward(body);
    generator_use const drawing{body.options.rng()};
    drawing_ = &drawing;
    body.set_blocks(plan_.leaf(), body.steps);
    forward_half half{*this, body};
    no_observer nobody;
    cairn::detail::sweep_status status;
    (void)cairn::detail::execute(cursor_, half, body, half, nobody, status);  // up to the turn
    copies_->finish();
    body.knows_all_steps = learning_;
    body.note_drawn(drawing);
    return std::move(half.last);
  }

  /// The same while `goes_on` returns true for the state after a step, with a plan over blocks of `size` steps. Each
  /// block runs before it is known whether it is the last one; only then are the plan's earlier actions obeyed.   \pre
  /// the loop continues at state 0
  [[nodiscard]] tensor_list run_while(loop_body& body, online const& plan, step_index size,
                                      state_question const& goes_on) {
    auto const recording = record_forward(body);
    generator_use const drawing{body.options.rng()};
    drawing_ = &drawing;
    body.set_blocks(size, -1);
    auto walk = plan.walk();
    live_versions_ = versions_of(live_);
    tensor_list ahead;
    step_index steps = 0, block = 0;
    for (action a; runs_ahead(body, steps, size, ahead, goes_on); ++block) {
      if (block == a.to)
        for (a = walk.next(); a.kind != action_kind::advance; a = walk.next()) keep(body, a);
      live_ = std::move(ahead);
      live_versions_ = versions_of(live_);
    }
    body.steps = steps;
    body.note_end(steps, ahead);
    body.knows_all_steps = learning_;
    body.note_drawn(drawing);
    walk.stop_at(block + 1, block);
    for (auto a = walk.next(); a.kind != action_kind::turn; a = walk.next()) keep(body, a);
    plan_ = leaves{steps, size, stopped_loop{block + 1, walk}};
    cursor_ = plan_.walk();
    live_from_ = block * size;
    copies_->finish();
    return ahead;
  }

  /// These tensors belong to the caller from here on.
  void hands_out(at::TensorList parts) { if (recorder_) recorder_->hands_out(parts); }

  /// \param bars  the gradients with respect to the parts of the last state   \param outputs  with respect to the
  ///   outputs
  [[nodiscard]] loop_gradients reverse(loop_body const& body, tensor_list bars, series_list const& outputs,
                                       wanted_gradients const& wanted) {
    check_live(body.who);
    stats_recorder::scope const recording{recorder_, stats_recorder::half::backward,
                                          recorder_ ? kept_tensors(body) : tensor_list{}};
    generator_use const drawing{body.options.rng(), body.draws};
    drawing_ = &drawing;
    rng_autocast_guard const around{live_, body.options.rng(), &drawing};
    buffers_guard const buffers{body.options.restored_buffers()};
    drawing.put_back(generators_);
    loop_gradients sums{std::move(bars), tensor_list(body.captures.size()), like_series(body.inputs)};
    auto const outside = body.captures.new_gate();
    backward_half half{*this, body, wanted, outputs, outside, sums};
    no_observer nobody;
    cairn::detail::sweep_status status;
    if (!half.pauses()) (void)cairn::detail::execute(cursor_, half, body, half, nobody, status);
    drawing.check(body.who);
    return sums;
  }

 private:
  /// What both halves share as the `states` of `execute`.
  class half_sweep : public cairn::detail::no_hooks {
   public:
    half_sweep(loop_sweep& sweep, loop_body const& body) : sweep_{sweep}, body_{body} {}
    void save(place where, step_index) {
      sweep_.remember_generators(body_);
      sweep_.save(body_, std::size_t(where.slot));
    }
    [[nodiscard]] bool load(place where, step_index i) {
      sweep_.load(body_, std::size_t(where.slot), i);
      return true;
    }
    void load_initial() { sweep_.load_initial(body_); }
    void drop(place where) { sweep_.drop(std::size_t(where.slot)); }

   protected:
    loop_sweep& sweep_;
    loop_body const& body_;
  };
  /// Up to the turn, which makes the last state.
  class forward_half : public half_sweep {
   public:
    forward_half(loop_sweep& sweep, loop_body& body) : half_sweep{sweep, body}, running_{body} {}
    tensor_list last;

    void advance(loop_body&, step_index from, step_index to, step_index&) {
      sweep_.run_first(running_, sweep_.live_, from, to);
    }
    std::uint64_t turn(forward_half&, action const& a, step_index&) {
      last = sweep_.live_;
      if (a.from < a.to) sweep_.remember_generators(body_);
      sweep_.live_from_ = a.from;
      sweep_.live_versions_ = versions_of(sweep_.live_);
      sweep_.run_first(running_, last, a.from, a.to);
      return std::uint64_t(a.to - a.from);
    }

   private:
    loop_body& running_;
  };
  /// The way back, as long as there are gradients.
  class backward_half : public half_sweep {
   public:
    backward_half(loop_sweep& sweep, loop_body const& body, wanted_gradients const& wanted, series_list const& outputs,
                  std::shared_ptr<gate> const& outside, loop_gradients& sums)
        : half_sweep{sweep, body}, wanted_{wanted}, outputs_{outputs}, outside_{outside}, sums_{sums},
          entered_(outputs.size(), false), outputs_count_{any_defined(tensors_of_series(outputs))} {}
    void advance(loop_body const&, step_index from, step_index to, step_index&) { sweep_.run_again(body_, from, to); }
    std::uint64_t reverse(backward_half&, action const& a) {
      sweep_.pull_back(body_, a, outside_, wanted_, outputs_, entered_, sums_);
      return 0;
    }
    [[nodiscard]] bool pauses() const { return !outputs_count_ && !any_defined(sums_.state); }

   private:
    [[nodiscard]] static bool any_defined(tensor_list const& list) {
      return std::any_of(list.begin(), list.end(), [](at::Tensor const& t) { return t.defined(); });
    }
    wanted_gradients const& wanted_;
    series_list const& outputs_;
    std::shared_ptr<gate> const& outside_;
    loop_gradients& sums_;
    part_flags entered_;
    bool outputs_count_;
  };

  void run_first(loop_body& body, tensor_list& x, step_index from, step_index to) {
    if (auto const& callback = body.options.callbacks().run_forward; callback && from < to) callback(from, to);
    auto i = from;
    for (; learning_ && i < to; ++i) {
      auto const before = i == 0 ? body.initial_flags : body.last_flags;
      x = body.discover(x, i, before);
      bool const settled = body.last_flags == before && body.is_differentiable();
      learning_ = !settled || body.options.capture() == Capture::EveryStep;
    }
    body.run_first(x, i, to);
  }
  /// Runs the block that starts at live, state i, as far as the loop goes; returns whether the loop continues after it.
  /// \post state i is the one ahead
  [[nodiscard]] bool runs_ahead(loop_body& body, step_index& i, step_index size, tensor_list& ahead,
                                state_question const& goes_on) {
    remember_generators(body);
    ahead = live_;
    for (step_index left = size; left > 0; --left) {
      run_first(body, ahead, i, i + 1);
      if (!goes_on(ahead, ++i)) return false;
    }
    return true;
  }
  void run_again(loop_body const& body, step_index from, step_index to) {
    if (auto const& callback = body.options.callbacks().run_forward) callback(from, to);
    live_ = body.run_again(std::move(live_), from, to);
    body.count(&StepStats::recompute, to - from);
  }
  /// Turns gradients with respect to state a.to into gradients with respect to state a.from. The sums so far enter the
  /// engine as roots, so that gradients are added in the order of a plain loop. For the same reason an output that is a
  /// part of state a.from enters with the step after it; `entered` tells this to the next call.
  void pull_back(loop_body const& body, action const& a, std::shared_ptr<gate> const& outside,
                 wanted_gradients const& wanted, series_list const& outputs, part_flags& entered,
                 loop_gradients& sums) {
    if (auto const& callback = body.options.callbacks().run_backward) callback(a.from, a.to);
    auto taped = body.record(std::move(live_), a.from, a.to, outside);
    live_.clear();
    body.count(&StepStats::vjp, a.to - a.from);
    auto& bars = sums.state;
    edge_list ends;
    gradient_roots roots;
    auto const results = body.roots_of(taped, outside);
    for (std::size_t k = 0; k < results.size(); ++k) roots.enter(results[k], bars[k]);
    for (auto i = a.from; i < a.to; ++i)
      for (std::size_t q = 0; q < outputs.size(); ++q)
        if (i + 1 < a.to || !entered[q])
          roots.enter(taped.outputs[std::size_t(i - a.from) * outputs.size() + q], outputs[q].at(i));
    for (std::size_t q = 0; a.from > 0 && q < outputs.size(); ++q) {
      auto const k = body.part_shared(a.from - 1, q);
      entered[q] = k < bars.size() && taped.gathers[k];
      if (entered[q]) roots.enter(Edge{taped.start, std::uint32_t(k)}, outputs[q].at(a.from - 1));
    }
    bool const connected = !roots.edges.empty();
    for (std::size_t k = 0; k < sums.captures.size(); ++k)
      roots.enter(Edge{outside, std::uint32_t(k)}, sums.captures[k]);
    std::vector<std::function<void(at::Tensor&&)>> targets;
    auto const ask = [&](std::shared_ptr<gate> const& at, std::size_t place, std::function<void(at::Tensor&&)> target) {
      ends.emplace_back(at, std::uint32_t(place));
      targets.push_back(std::move(target));
    };
    std::fill(bars.begin(), bars.end(), at::Tensor{});
    for (std::size_t k = 0; k < bars.size(); ++k)
      if (taped.gathers[k] && (a.from > 0 || wanted.state[k]))
        ask(taped.start, k, [&bars, k](at::Tensor&& t) { bars[k] = std::move(t); });
    for (std::size_t k = 0; k < sums.captures.size(); ++k)
      if (wanted.captures[k]) ask(outside, k, [&sums, k](at::Tensor&& t) { sums.captures[k] = std::move(t); });
    for (std::size_t place = bars.size(); place < taped.gathers.size(); ++place) {
      auto const q = (place - bars.size()) % body.inputs.size();
      auto const i = a.from + step_index((place - bars.size()) / body.inputs.size());
      if (taped.gathers[place] && wanted.inputs[q][body.inputs[q].number(i)])
        ask(taped.start, place, [&sums, q, i](at::Tensor&& t) { sums.inputs[q].put(i, t); });
    }
    taped.results.clear();
    taped.outputs.clear();
    taped.casts.clear();
    if (recorder_) recorder_->sample();
    if (connected && !ends.empty()) {
      auto gradients =
          torch::autograd::Engine::get_default_engine().execute(roots.edges, roots.seeds, false, false, false, ends);
      body.count(&StepStats::engine_calls);
      for (std::size_t k = 0; k < targets.size(); ++k)
        if (gradients[k].defined()) targets[k](std::move(gradients[k]));
    }
    if (auto const& callback = body.options.callbacks().grad) callback(a.from, bars);
  }
  /// \throws invalid_call   if the state at the turn was changed in place
  void check_live(char const* who) const {
    for (std::size_t k = 0; k < live_.size(); ++k)
      if (version_of(live_[k]) != live_versions_[k]) loop_slot::throw_changed(who, live_from_, k);
  }
  /// For a loop of unknown length: obeys the action that the plan gave before a block that has run by now.
  /// \pre for a save, the generators' states are stored
  void keep(loop_body const& body, action const& a) {
    if (a.kind == action_kind::save) save(body, std::size_t(a.slot));
    else drop(std::size_t(a.slot));
  }
  /// \pre the generators' states are stored
  void save(loop_body const& body, std::size_t slot) {
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    auto& kept = slots_[slot];
    kept.put(live_, body.initial, generators_, {body.options.slots(), body.options.offload()}, *copies_);
    ++kept_;
    bytes_ += kept.bytes();
    body.count(&StepStats::offload_bytes, kept.pinned_bytes());
    if (auto const& stats = body.options.stats()) {
      stats->slots_peak = (std::max)(stats->slots_peak, kept_);
      stats->bytes_peak = (std::max)(stats->bytes_peak, bytes_);
    }
  }
  void drop(std::size_t slot) {
    --kept_;
    bytes_ -= slots_[slot].bytes();
    slots_[slot].drop();
  }
  void load_initial(loop_body const& body) {
    live_.clear();
    for (auto const& part : body.initial) {
      if (part.value.defined() && !part.unchanged()) loop_slot::throw_changed(body.who, 0, live_.size());
      live_.push_back(part.value);
    }
    drawing_->put_back(body.around.generators);
  }
  void load(loop_body const& body, std::size_t slot, step_index i) {
    live_.clear();
    live_ = slots_[slot].get(body.who, i);
    body.count(&StepStats::offload_bytes, slots_[slot].pinned_bytes());
    drawing_->put_back(slots_[slot].generators());
  }
  [[nodiscard]] stats_recorder::scope record_forward(loop_body const& body) const {
    return {recorder_, stats_recorder::half::forward, recorder_ ? generator_tensors(body) : tensor_list{}};
  }
  [[nodiscard]] tensor_list generator_tensors(loop_body const& body) const {
    tensor_list all;
    body.around.generators.list_tensors(all);
    generators_.list_tensors(all);
    return all;
  }
  /// The tensors that the loop holds between its halves.
  [[nodiscard]] tensor_list kept_tensors(loop_body const& body) const {
    auto all = generator_tensors(body);
    all.insert(all.end(), live_.begin(), live_.end());
    for (auto const& slot : slots_) slot.list_tensors(all);
    return all;
  }
  void remember_generators(loop_body const& body) {
    if (body.options.rng() == Rng::Preserve) generators_ = generator_states::now(live_);
  }

  any_schedule plan_;
  any_schedule::cursor cursor_;
  std::vector<loop_slot> slots_;
  std::shared_ptr<copies_to_host> copies_ = std::make_shared<copies_to_host>();
  tensor_list live_;
  std::vector<std::int64_t> live_versions_;  ///< at the turn
  step_index live_from_ = 0;  ///< the number of that state
  generator_states generators_;  ///< before the step after live, as of the last save or the turn
  generator_use const* drawing_ = nullptr;  ///< of the half that is running
  std::int64_t kept_ = 0, bytes_ = 0;
  std::shared_ptr<stats_recorder> recorder_;
  bool learning_ = true;
};

}  // namespace cairn::libtorch::detail
