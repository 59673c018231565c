// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  A loop over tensors as one node of the autograd graph, in bounded memory.
/// The LibTorch adapter: loops as one autograd node, regions, Sequentials and models that are recorded, profiles.
/// `cairn/adapt/torch.hpp` includes loops, regions and Sequentials.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/pimpl.h>
#include <torch/ordered_dict.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_captures.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::libtorch {

namespace detail {

[[noreturn]] inline void refuse_used_up(char const* who) {
  throw invalid_call{
      who, "the checkpoints were used up by an earlier backward", {}, "give that one retain_graph = true"};
}

/// The inputs of this node are the gradients of a loop's gradients. Its outputs are the gradients of the initial
/// state's parts, of the captured tensors, of the steps' inputs and of the bars with which the loop was differentiated.
/// Runs the loop again with the tapes of all steps at once.
class loop_grad_node final : public Node {
 public:
  /// \param bars  of the last state   \param outputs  bars of the outputs   \param ends  the next edges of the loop's
  ///   own node
  [[nodiscard]] static std::shared_ptr<loop_grad_node> make(std::shared_ptr<loop_body const> body, tensor_list bars,
                                                            series_list const& outputs, edge_list ends) {
    auto const more = tensors_of_series(outputs);
    bars.insert(bars.end(), more.begin(), more.end());
    std::shared_ptr<loop_grad_node> node{new loop_grad_node{std::move(body), bars}, torch::autograd::deleteNode};
    for (auto const& bar : bars)
      ends.push_back(bar.defined() && bar.requires_grad() ? torch::autograd::impl::gradient_edge(bar) : Edge{});
    node->set_next_edges(std::move(ends));
    return node;
  }
  /// The gradients as results of this node.
  [[nodiscard]] tensor_list results(at::TensorList gradients) {
    part_flags flags(gradients.size(), true);
    return behind_gate(gradients, flags, shared_from_this());
  }

  [[nodiscard]] std::string name() const override { return "CheckpointedLoopDoubleBackward"; }
  void release_variables() override {
    body_.reset();
    bars_.clear();
  }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& outer) override {
    check_call();
    auto const& body = *body_;
    tensor_list x0;
    for (auto const& part : body.initial) x0.push_back(part.value);
    auto const recorder = stats_recorder::over(body.options.stats(), x0);
    stats_recorder::scope const recording{recorder, stats_recorder::half::backward};
    generator_use const drawing{body.options.rng(), body.draws};
    rng_autocast_guard const around{x0, body.options.rng(), drawing};
    memory_guard const buffers{body.buffers.first().now()};
    drawing.put_back(body.generators);
    body.buffers.put_back({});

    auto const parts = x0.size();
    auto const outside = body.captures.new_gate();
    auto const taped = body.record(x0, 0, body.steps, outside);
    body.count(&StepStats::vjp, body.steps);
    auto const of_bars = gate::make();
    part_flags gathers(bars_.size(), true);
    tensor_list values;
    for (auto const& bar : bars_) values.push_back(bar.value);
    auto const bars = behind_gate(values, gathers, of_bars);
    gradient_roots roots;
    drawing.check(body.who);
    auto const results = body.roots_of(taped, outside);
    for (std::size_t k = 0; k < results.size(); ++k) roots.enter(results[k], bars[k]);
    enter_outputs(taped, bars, roots);

    tensor_list second(outer.size() + bars.size()), seeds;
    auto const before = parts + body.captures.size();  // inputs of this node before those of the steps
    auto const outer_inputs = series_from(like_series(body.inputs.series()), outer, before);
    auto of_inputs = like_series(body.inputs.series());
    gradient_ends into;
    auto const add = [&](std::shared_ptr<gate> const& at, std::size_t place, std::size_t number) {
      into.add(at, place, [&second, number](at::Tensor&& t) { second[number] = std::move(t); });
      if (number < outer.size()) seeds.push_back(outer[number]);
    };
    for (std::size_t k = 0; k < parts; ++k) if (taped.gathers[k]) add(taped.start, k, k);
    for (std::size_t k = 0; k < body.captures.size(); ++k) add(outside, k, parts + k);
    for (std::size_t at = parts; at < taped.gathers.size(); ++at) {
      if (!taped.gathers[at]) continue;
      auto const q = (at - parts) % body.inputs.size();
      auto const i = step_index((at - parts) / body.inputs.size());
      into.add(taped.start, at, [&of_inputs, q, i](at::Tensor&& t) { of_inputs[q].put(i, t); });
      seeds.push_back(outer_inputs[q].at(i));
    }
    if (roots.edges.empty() || into.ends.empty()) return second;
    auto& engine = torch::autograd::Engine::get_default_engine();
    body.count(&StepStats::engine_calls);
    auto const first = engine.execute(roots.edges, roots.seeds, true, true, false, into.ends);

    gradient_roots second_roots;
    for (std::size_t k = 0; k < first.size(); ++k)
      if (first[k].defined() && first[k].requires_grad())
        second_roots.enter(torch::autograd::impl::gradient_edge(first[k]), seeds[k]);
    cut_graph(second_roots.edges, taped, outside, *of_bars);
    for (std::size_t k = 0; k < bars.size(); ++k)
      if (gathers[k]) add(of_bars, k, outer.size() + k);
    if (second_roots.edges.empty()) return second;
    if (recorder) recorder->sample();
    body.count(&StepStats::engine_calls);
    into.put(engine.execute(second_roots.edges, second_roots.seeds, false, false, false, into.ends));
    auto const list = tensors_of_series(of_inputs);
    std::copy(list.begin(), list.end(), second.begin() + std::ptrdiff_t(before));
    return second;
  }

 private:
  loop_grad_node(std::shared_ptr<loop_body const> body, tensor_list const& bars)
      : who_{body->who}, body_{std::move(body)} {
    for (auto const& bar : bars) bars_.emplace_back(bar.defined() ? bar.detach() : at::Tensor{});
  }
  void check_call() const {
    if (!body_) refuse_used_up(who_);
    if (at::GradMode::is_enabled())
      throw invalid_call{who_,
                         "the loop can be differentiated twice, not three times",
                         {},
                         "leave out create_graph in the second backward"};
    body_->check_captures();
    for (std::size_t k = 0; k < bars_.size(); ++k)
      if (!bars_[k].unchanged())
        throw invalid_call{who_, "a gradient that the loop was differentiated with was changed in place",
                           {{"gradient", k}, {"of", bars_.size()}}, "differentiate twice first, or change a clone"};
  }
  /// Redirects the edges that lead to captured tensors, or to casts of them, to the gate `outside`.
  void cut_graph(edge_list& roots, taped_steps const& taped, std::shared_ptr<gate> const& outside,
                 Node const& of_bars) const {
    auto const inside = [&](Node const& node) {
      bool const is_gate = &node == taped.start.get() || &node == outside.get() || &node == &of_bars;
      bool const stops = is_gate || body_->captures.holds(node) || taped.casts.holds(node);
      return !stops && dynamic_cast<torch::autograd::AccumulateGrad const*>(&node) == nullptr;
    };
    visit_edges_out(roots, inside, [&](Edge& edge) {
      if (auto const k = body_->captures.behind(edge, taped.casts); k < body_->captures.size())
        edge = Edge{outside, std::uint32_t(k)};
    });
  }
  /// Takes stacked bars apart once, so that the second derivative puts them together once.
  void enter_outputs(taped_steps const& taped, tensor_list const& bars, gradient_roots& roots) const {
    at::AutoGradMode const with_grad{true};
    auto const outputs = series_from(body_->outputs.like(body_->steps), bars, body_->initial.size());
    for (std::size_t q = 0; q < outputs.size(); ++q) {
      bool const whole = outputs[q].form() == series_form::stacked && outputs[q].tensors().front().defined();
      auto const each = whole ? outputs[q].tensors().front().unbind(0) : tensor_list{};
      for (step_index i = 0; i < body_->steps; ++i)
        roots.enter(taped.outputs[std::size_t(i) * outputs.size() + q],
                    whole ? each[std::size_t(i)] : outputs[q].at(i));
    }
  }

  char const* who_;
  std::shared_ptr<loop_body const> body_;
  std::vector<saved_tensor> bars_;
};

/// The inputs of this node are the gradients of the last state's parts and of the steps' outputs. Its outputs are the
/// gradients of the initial state's parts, of the captured tensors and of the steps' inputs.
class loop_node final : public Node {
 public:
  /// \param initial  the caller's tensors, with their history   \param inputs  the same for the steps' inputs
  [[nodiscard]] static std::shared_ptr<loop_node> make(std::shared_ptr<loop_body> body, loop_sweep sweep,
                                                       at::TensorList initial, series_list const& inputs) {
    std::shared_ptr<loop_node> node{new loop_node{std::move(body), std::move(sweep)}, torch::autograd::deleteNode};
    edge_list ends;
    for (std::size_t k = 0; k < initial.size(); ++k)
      ends.push_back(node->body_->initial_flags[k] && first_place(initial, k) == k
                         ? torch::autograd::impl::gradient_edge(initial[k])
                         : Edge{});
    auto const& captured = node->body_->captures.edges();
    ends.insert(ends.end(), captured.begin(), captured.end());
    for (auto const& t : tensors_of_series(inputs))
      ends.push_back(t.defined() && t.requires_grad() ? torch::autograd::impl::gradient_edge(t) : Edge{});
    node->set_next_edges(std::move(ends));
    return node;
  }
  /// The parts of the last state, and the outputs, as results of this node.
  [[nodiscard]] tensor_list results(tensor_list last, series_list& outputs) {
    auto const node = shared_from_this();
    auto flags = body_->last_flags;
    last = behind_gate(last, flags, node);
    for (std::size_t q = 0; q < outputs.size(); ++q) {
      tensor_list fresh;
      for (auto const& t : outputs[q].tensors()) {  // one by one: tensors that were one have a gradient at each place
        part_flags wanted{body_->outputs.flags()[q]};
        fresh.push_back(behind_gate(at::ArrayRef<at::Tensor>{t}, wanted, node).front());
      }
      outputs[q] = tensor_series{outputs[q].form(), outputs[q].steps(), std::move(fresh)};
    }
    return last;
  }

  [[nodiscard]] std::string name() const override { return "CheckpointedLoopBackward"; }
  void will_release_variables() override { releasing_ = true; }
  void release_variables() override {
    std::lock_guard const lock{mutex_};
    sweep_.reset();
    body_.reset();
  }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& bars) override {
    std::lock_guard const lock{mutex_};
    if (!sweep_) refuse_used_up(who_);
    body_->check_captures();
    auto const& body = *body_;
    auto const parts = body.initial.size();
    wanted_gradients wanted;
    std::size_t place = 0;
    auto const flags_of = [&](std::size_t count) {
      part_flags flags;
      for (; count > 0; --count) flags.push_back(task_should_compute_output(place++));
      return flags;
    };
    wanted.state = flags_of(parts);
    wanted.captures = flags_of(body.captures.size());
    for (auto const& series : body.inputs.series()) wanted.inputs.push_back(flags_of(series.tensors().size()));
    tensor_list state{bars.begin(), bars.begin() + std::ptrdiff_t(parts)};
    auto const outputs = series_from(body.outputs.like(body.steps), bars, parts);
    bars.clear();  // the sweep frees them
    bool const twice = at::GradMode::is_enabled();
    if (twice && !body.options.double_backward())
      throw invalid_call{body.who,
                         "the options of the loop forbid differentiating it twice",
                         {},
                         "keep double_backward(true), or leave out create_graph"};
    if (releasing_ && !twice)
      return flattened(std::exchange(sweep_, std::nullopt)->reverse(std::move(state), outputs, wanted));
    auto copy = *sweep_;
    if (!twice) return flattened(copy.reverse(std::move(state), outputs, wanted));
    at::AutoGradMode const without_grad{false};
    return loop_grad_node::make(body_, state, outputs, next_edges())
        ->results(flattened(copy.reverse(state, outputs, wanted)));
  }

 private:
  loop_node(std::shared_ptr<loop_body> body, loop_sweep sweep)
      : who_{body->who}, body_{std::move(body)}, sweep_{std::move(sweep)} {}

  [[nodiscard]] static tensor_list flattened(loop_gradients gradients) {
    auto list = std::move(gradients.state);
    for (auto const& more : {gradients.captures, tensors_of_series(gradients.inputs)})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }

  char const* who_;
  std::shared_ptr<loop_body> body_;
  std::optional<loop_sweep> sweep_;  ///< until a backward pass that keeps no graph takes it
  bool releasing_ = false;
};

/// Whether the user's `tensor_traits` say what a state, or a part of it, is made of. Those of this library leave out
/// nothing.
template <class State> inline constexpr bool has_own_traits = true;
template <> inline constexpr bool has_own_traits<at::Tensor> = false;
template <class... Part> inline constexpr bool has_own_traits<std::tuple<Part...>> = (has_own_traits<Part> || ...);
template <class First, class Second>
inline constexpr bool has_own_traits<std::pair<First, Second>> = has_own_traits<First> || has_own_traits<Second>;
template <class Part, std::size_t Count>
inline constexpr bool has_own_traits<std::array<Part, Count>> = has_own_traits<Part>;
template <class Part> inline constexpr bool has_own_traits<std::vector<Part>> = has_own_traits<Part>;
template <class Key, class Part>
inline constexpr bool has_own_traits<torch::OrderedDict<Key, Part>> = has_own_traits<Part>;
template <optional_value Optional>
inline constexpr bool has_own_traits<Optional> = has_own_traits<typename Optional::value_type>;

/// Whether a loop with these options compares bits, and its states may lack something.
template <class State>
[[nodiscard]] bool checks_rebuilt(LoopOptions const& options) {
  return has_own_traits<State> && (options.determinism() == Check::Bits || options.verify() != replay_check::off);
}
/// Each step of a loop begins with a state that is rebuilt from its tensors, on the way forward, too: what they lack is
/// missing everywhere alike, and no recomputation shows it. This runs step 1 on what step 0 returned, and on what is
/// rebuilt from that. These calls leave generators and buffers as they were, and are not counted.
/// \param step  `x1 = step(x, i)`, a copy of the user's   \param goes_on  called for state 1, whether step 1 follows
/// \throws recompute_mismatch
template <class State, class Step, class Question>
void check_rebuilt([[maybe_unused]] char const* who, [[maybe_unused]] Step step, [[maybe_unused]] State const& x0,
                   [[maybe_unused]] LoopOptions const& options, [[maybe_unused]] Question goes_on) {
  if constexpr (has_own_traits<State>) {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{autocast_state{}.without_cache()};
    generator_use const drawing{options.rng()};
    auto const run = [&](State const& x, step_index i, write_log& changes) {
      read_tracker const tracker{&changes};
      State x1 = step(x, i);
      changes.end();
      return x1;
    };
    auto const generators = generator_states::now(tensors_of(x0));
    undone_writes at_first;
    State const x1 = run(own_state(x0), 0, at_first.log);  // as in the loop: x0 may share what the step changes
    auto const parts = tensors_of(x1);
    if (goes_on(parts)) {
      auto const second = generator_states::now(parts);
      auto const results = [&](State const& x) {
        undone_writes undone;
        drawing.put_back(second);
        std::vector<tensor_metadata> all;
        for (auto const& part : tensors_of(run(x, 1, undone.log))) all.push_back(tensor_metadata::of(part, true));
        return all;
      };
      auto const whole = results(x1), rebuilt = results(state_of(x0, parts));
      for (std::size_t k = 0; k < whole.size() && k < rebuilt.size(); ++k)
        if (!whole[k].is_like(rebuilt[k]) || whole[k].bits != rebuilt[k].bits)
          throw recompute_mismatch{
              who,
              "a state that was rebuilt from its tensors and run on is not what the step made of it at first",
              {{"step", 1}, {"part", k}},
              "let flatten() of its tensor_traits give, and unflatten() bring back, every tensor that the step reads "
              "and changes, and make a tensor of every number that it changes; let the step read nothing else that "
              "changes"};
    }
    drawing.put_back(generators);
  }
}

/// A holder of a module, such as `torch::nn::Linear`. Whether its forward takes certain arguments can be tested; its
/// call operator ends the compilation if forward does not.
template <class Step>
concept module_step = torch::detail::is_module_holder<Step>::value;
template <class Step, class... Arguments>
concept numbered_step = !module_step<Step> && requires(Step & step, step_index i, Arguments const&... arguments) {
  step(arguments..., i);
};
/// `step(arguments..., i)` or `step(arguments...)`.
template <class Step, class... Arguments>
concept called_step = numbered_step<Step, Arguments...> ||
                      (module_step<Step>&& requires(std::remove_const_t<Step> step, Arguments const&... arguments) {
                        step->forward(arguments...);
                      }) ||
                      (!module_step<Step> && requires(Step & step, Arguments const&... arguments) {
                        step(arguments...);
                      });
template <class Step, class... Arguments>
[[nodiscard]] decltype(auto) run_step(Step& step, step_index i, Arguments const&... arguments) {
  if constexpr (module_step<Step>) {
    auto holder = step;  // a const holder returns a const module
    return holder->forward(arguments...);
  } else if constexpr (numbered_step<Step, Arguments...>) {
    constexpr bool takes_int = requires { step(arguments..., {int(i)}); }
    &&!requires { step(arguments..., {i}); };  // braces refuse narrowing conversions
    if constexpr (takes_int) return step(arguments..., int(i));
    else return step(arguments..., i);
  } else {
    return step(arguments...);
  }
}
/// `x1 = step(x, i)` or `x1 = step(x)`.
template <class Step, class State>
concept tensor_step = called_step<Step, State> && requires(Step & step, State const& x) {
  { run_step(step, step_index{}, x) } -> std::convertible_to<State>;
};
template <class Step, class State>
[[nodiscard]] State run_tensor_step(Step& step, State const& x, step_index i) { return run_step(step, i, x); }
/// Checks the state of a loop.
template <class State>
[[nodiscard]] consteval bool check_state() {
  constexpr bool is_state = tensor_state<State>;
  static_assert(is_state,
                "cairn: the state must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::libtorch::tensor_traits");
  return is_state;
}
/// Checks the step of a loop without inputs.
template <class Step, class State>
[[nodiscard]] consteval bool check_step() {
  constexpr bool is_step = tensor_step<Step, State>;
  static_assert(is_step,
                "cairn: the step must be callable as `x1 = step(x, i)` or `x1 = step(x)`, and return the state");
  return is_step;
}
/// The tensors of what a step returned.   \param what  is wrong if they are not `count` ones as in `like`
/// \throws invalid_call
template <class State>
[[nodiscard]] tensor_list parts_like(State const& like, State const& y, std::size_t count, step_index i,
                                     char const* who, char const* what) {
  auto list = tensors_of(y);
  if (list.size() != count || !same_structure(like, y))
    throw invalid_call{who, what, {{"step", i}, {"parts returned", list.size()}, {"parts", count}},
                       "return as many tensors under the same keys; leave some undefined if need be"};
  return list;
}
inline constexpr char const* other_state = "the step returned a state with different parts from the one it was given";
/// The step on lists of tensors; `like` defines how a state is rebuilt from a list.
template <class State, class Step>
[[nodiscard]] flat_step flattened(Step&& step, State const& like, char const* who = loop_name) {
  return [step = std::decay_t<Step>(std::forward<Step>(step)), like = own_state(like), who](at::TensorList parts,
                                                                                            step_index i) mutable {
    State const y = run_tensor_step(step, state_of(like, parts), i);
    return parts_like(like, y, parts.size(), i, who, other_state);
  };
}
/// A copy of the step, on whole states.
template <class State, class Step>
[[nodiscard]] auto whole_step(Step& step) {
  return [step = std::decay_t<Step>(step)](State const& x, step_index i) mutable {
    return State(run_tensor_step(step, x, i));
  };
}
/// The results of a loop: the last state, and the outputs of its steps.
struct loop_results {
  tensor_list last;
  series_list outputs;
};
/// The results of a loop that has run, as results of a node of the autograd graph if anything requires a gradient.
[[nodiscard]] inline loop_results hand_out(std::shared_ptr<loop_body> const& body, loop_sweep sweep,
                                           tensor_list const& last, at::TensorList initial, series_list const& inputs) {
  body->check_captures();
  loop_results given{{}, body->outputs.take()};
  sweep.hands_out(last);
  for (auto const& series : given.outputs) sweep.hands_out(series.tensors());
  if (!body->is_differentiable()) given.last = detached(last);
  else given.last = loop_node::make(body, std::move(sweep), initial, inputs)->results(last, given.outputs);
  return given;
}
/// Runs a loop of known length under checkpoints.   \param who  the verb, for errors
[[nodiscard]] inline loop_results run_loop(char const* who, flat_step step, plan_key of, step_index steps,
                                           tensor_list const& initial, loop_data const& data, LoopOptions options) {
  refuse_tangents(who, initial);
  refuse_tangents(who, tensors_of_series(data.inputs));
  options = within_limit(who, step, std::move(of), steps, initial, std::move(options), data);
  auto const plan = loop_schedule(who, steps, options);
  auto const body = std::make_shared<loop_body>(std::move(step), steps, initial, std::move(options), data, who);
  loop_sweep sweep{plan, *body};
  auto const last = sweep.run();
  return hand_out(body, std::move(sweep), last, initial, data.inputs);
}

}  // namespace detail

/// `x = step(x, i)` for i = 0..T-1, as one node of the autograd graph: forward keeps a few states, backward recomputes
/// the others. Gradients have the bits of the plain loop if nothing but its steps uses the captured tensors.
///
/// \param step  `x1 = step(x, i)`, `x1 = step(x)`, or a module holder such as `torch::nn::Linear`; the graph keeps a
///   copy, so what it refers to must live until backward. It must not change x in place
/// \param x  the initial state, see `tensor_state`   \param steps  T >= 0   \param options  required, at least
///   `LoopOptions()`: it distinguishes this loop from the core's
/// If grad mode is off, or nothing requires a gradient, this is the plain loop and keeps nothing. Memory: the kept
/// states, and in backward the tapes of one block. All runs of steps use the autocast settings of the call. A step may
/// run loops of its own.
/// \throws invalid_plan  before any step runs   \throws infeasible_budget  with the least feasible limit, after the
///   first steps were measured
/// \throws invalid_call, recompute_mismatch  during the run or in backward; what the step throws passes through
template <class Step, class X0, class Count>
[[nodiscard]] auto checkpointed_loop(Step&& step, X0&& x, Count const& steps, LoopOptions options) {
  using State = std::remove_cvref_t<X0>;
  constexpr bool is_count = std::is_integral_v<Count> && !std::is_same_v<Count, bool>;
  static_assert(is_count,
      "cairn: the third argument must be the number of steps; a schedule goes into LoopOptions().schedule(...)");
  constexpr bool is_state = detail::check_state<State>();
  if constexpr (!is_count || !is_state)
    return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
  else if constexpr (!detail::check_step<std::remove_reference_t<Step>, State>())
    return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
  else {
    State const& x0 = x;
    auto const count = step_index(steps);
    if (count > 0 && at::GradMode::is_enabled()) {
      auto of = detail::identity_of(step);
      if (count > 1 && detail::checks_rebuilt<State>(options)) {
        (void)detail::loop_schedule(detail::loop_name, count, options);
        detail::check_rebuilt(detail::loop_name, detail::whole_step<State>(step), x0, options,
                              [](at::TensorList) { return true; });
      }
      auto flat = detail::flattened(std::forward<Step>(step), x0);
      return detail::state_of(x0, detail::run_loop(detail::loop_name, std::move(flat), std::move(of), count,
                                                   detail::tensors_of(x0), {}, std::move(options)).last);
    }
    (void)detail::loop_schedule(detail::loop_name, count, options);
    detail::stats_recorder::scope const recording{
        detail::stats_recorder::over(options.stats(), detail::tensors_of(x0)), detail::stats_recorder::half::forward};
    State last = detail::own_state(x0);
    for (step_index i = 0; i < count; ++i) {
      last = detail::own_state<State>(detail::run_tensor_step(step, std::as_const(last), i));
      if (options.stats()) ++options.stats()->forward;
    }
    return last;
  }
}
/// Refused with one message: the options are missing.
template <class Step, tensor_state State, class Count>
auto checkpointed_loop(Step&&, State const&, Count const&) {
  constexpr bool has_options = std::is_void_v<State>;
  static_assert(has_options,
                "cairn: a loop over tensors is called with its options at the end, at least LoopOptions()");
  return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
}

}  // namespace cairn::libtorch
