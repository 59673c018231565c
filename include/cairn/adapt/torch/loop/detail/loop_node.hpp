// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_node.hpp  A whole loop as one node of the autograd graph, and its gradient as another one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_captures.hpp>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

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

}  // namespace cairn::libtorch::detail
