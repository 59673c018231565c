// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_grad_node.hpp  The gradient of a loop as a node of the autograd graph, for second derivatives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/adapt/torch/loop/detail/step_surroundings.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/sweep_node.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

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
    drawing.put_back(body.around.generators);
    body.buffers.put_back({});

    auto const outside = body.captures.new_gate();
    auto const taped = body.record(x0, 0, body.steps, outside);
    body.count(&StepStats::vjp, body.steps);
    auto const of_bars = gate::make();
    part_flags gathers(bars_.size(), true);
    auto const bars = behind_gate(bars_, gathers, of_bars);
    gradient_roots roots;
    drawing.check(body.who);
    auto const results = body.roots_of(taped, outside);
    for (std::size_t k = 0; k < results.size(); ++k) roots.enter(results[k], bars[k]);
    enter_outputs(taped, bars, roots);

    auto into = targets_of(taped, outside);
    tensor_list second(outer.size() + bars.size());
    if (roots.edges.empty() || into.ends.empty()) return second;
    auto& engine = torch::autograd::Engine::get_default_engine();
    body.count(&StepStats::engine_calls);
    auto const first = engine.execute(roots.edges, roots.seeds, true, true, false, into.ends);

    auto second_roots = roots_of(first, outer, into);
    cut_graph(second_roots.edges, taped, outside, *of_bars);
    for (std::size_t k = 0; k < bars.size(); ++k)
      if (gathers[k]) into.add(of_bars, k, {outer.size() + k, no_series, 0});
    if (second_roots.edges.empty()) return second;
    if (recorder) recorder->sample();
    body.count(&StepStats::engine_calls);
    auto gradients = engine.execute(second_roots.edges, second_roots.seeds, false, false, false, into.ends);
    put(std::move(gradients), into, second);
    return second;
  }

 private:
  loop_grad_node(std::shared_ptr<loop_body const> body, tensor_list const& bars)
      : who_{body->who}, body_{std::move(body)} {
    for (auto const& bar : bars) {
      bars_.push_back(bar.defined() ? bar.detach() : at::Tensor{});
      versions_.push_back(version_of(bars_.back()));
    }
  }
  static constexpr std::size_t no_series = std::size_t(-1);
  /// Where the engine stops, and to which input of this node the gradient there belongs.
  struct targets {
    struct place {
      std::size_t number;  ///< among the inputs of this node
      std::size_t series;  ///< index of the steps' inputs, or `no_series`
      step_index step;
    };
    edge_list ends;
    std::vector<place> places;

    void add(std::shared_ptr<gate> const& stop, std::size_t at, place const& here) {
      ends.emplace_back(stop, std::uint32_t(at));
      places.push_back(here);
    }
  };

  void check_call() const {
    if (!body_) refuse_used_up(who_);
    if (at::GradMode::is_enabled())
      throw invalid_call{who_,
                         "the loop can be differentiated twice, not three times",
                         {},
                         "leave out create_graph in the second backward"};
    body_->check_captures();
    for (std::size_t k = 0; k < bars_.size(); ++k)
      if (version_of(bars_[k]) != versions_[k])
        throw invalid_call{who_, "a gradient that the loop was differentiated with was changed in place",
                           {{"gradient", k}, {"of", bars_.size()}}, "differentiate twice first, or change a clone"};
  }
  /// Number of inputs of this node before those of the steps: the initial state and captured tensors.
  [[nodiscard]] std::size_t before_series() const { return body_->initial.size() + body_->captures.size(); }
  /// The initial state, captured tensors, and the steps' inputs.
  [[nodiscard]] targets targets_of(taped_steps const& taped, std::shared_ptr<gate> const& outside) const {
    auto const parts = body_->initial.size(), read = body_->inputs.size();
    targets all;
    for (std::size_t k = 0; k < parts; ++k) if (taped.gathers[k]) all.add(taped.start, k, {k, no_series, 0});
    for (std::size_t k = 0; k < body_->captures.size(); ++k) all.add(outside, k, {parts + k, no_series, 0});
    for (std::size_t at = parts; at < taped.gathers.size(); ++at)
      if (taped.gathers[at]) all.add(taped.start, at, {0, (at - parts) % read, step_index((at - parts) / read)});
    return all;
  }
  /// The first gradients as roots of the second backward, with the outer gradients as seeds.
  [[nodiscard]] gradient_roots roots_of(torch::autograd::variable_list const& first,
                                        torch::autograd::variable_list const& outer, targets const& into) const {
    auto const outer_inputs = series_from(like_series(body_->inputs.series()), outer, before_series());
    gradient_roots roots;
    for (std::size_t k = 0; k < first.size(); ++k) {
      auto const& [number, series, step] = into.places[k];
      auto const seed = series != no_series ? outer_inputs[series].at(step) : outer[number];
      if (first[k].defined() && first[k].requires_grad())
        roots.enter(torch::autograd::impl::gradient_edge(first[k]), seed);
    }
    return roots;
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
  /// Puts gradients where they belong among the inputs of this node.
  void put(torch::autograd::variable_list gradients, targets const& from, tensor_list& into) const {
    auto of_inputs = like_series(body_->inputs.series());
    for (std::size_t k = 0; k < from.places.size(); ++k) {
      auto const& [number, series, step] = from.places[k];
      if (series != no_series) of_inputs[series].put(step, gradients[k]);
      else into[number] = std::move(gradients[k]);
    }
    auto const list = tensors_of_series(of_inputs);
    std::copy(list.begin(), list.end(), into.begin() + std::ptrdiff_t(before_series()));
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
  tensor_list bars_;
  std::vector<std::int64_t> versions_;  ///< of each bar when the loop was differentiated
};

}  // namespace cairn::libtorch::detail
