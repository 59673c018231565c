// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_node.hpp  A whole loop as one node of the autograd graph.
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <torch/csrc/autograd/function.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_grad_node.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/state/detail/sweep_node.hpp>

namespace cairn::libtorch::detail {

/// The inputs of this node are the gradients of the last state's parts and of the steps' outputs. Its outputs are the
/// gradients of the initial state's parts, of the captured tensors and of the steps' inputs.
class loop_node final : public sweep_node<loop_sweep> {
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

 protected:
  void release() override {
    sweep_node::release();
    body_.reset();
  }
  torch::autograd::variable_list apply(torch::autograd::variable_list&& bars) override {
    std::lock_guard const lock{mutex_};
    need_sweep();
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
      return flattened(std::exchange(sweep_, std::nullopt)->reverse(body, std::move(state), outputs, wanted));
    auto copy = *sweep_;
    if (!twice) return flattened(copy.reverse(body, std::move(state), outputs, wanted));
    at::AutoGradMode const without_grad{false};
    return loop_grad_node::make(body_, state, outputs, next_edges())
        ->results(flattened(copy.reverse(body, state, outputs, wanted)));
  }

 private:
  loop_node(std::shared_ptr<loop_body> body, loop_sweep sweep)
      : sweep_node{body->who, std::move(sweep)}, body_{std::move(body)} {}

  [[nodiscard]] static tensor_list flattened(loop_gradients gradients) {
    auto list = std::move(gradients.state);
    for (auto const& more : {gradients.captures, tensors_of_series(gradients.inputs)})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }

  std::shared_ptr<loop_body> body_;
};

}  // namespace cairn::libtorch::detail
