// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_gradients.hpp  The gradients of a loop over tensors, block by block from its end to its start.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/adapt/torch/loop/detail/step_captures.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/core/action.hpp>

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

/// The gradients of a loop whose backward half is running: those of the state after the remaining steps, and the sums
/// so far for captured tensors and inputs.
class gradients_so_far {
 public:
  /// \param bars  with respect to the parts of the last state   \param outputs  with respect to the outputs; must
  ///   outlive this object, as must `body` and `wanted`
  gradients_so_far(loop_body const& body, tensor_list bars, series_list const& outputs, wanted_gradients const& wanted)
      : body_{body},
        wanted_{wanted},
        outputs_{outputs},
        sums_{std::move(bars), tensor_list(body.captures.size()), like_series(body.inputs.series())},
        outside_{body.captures.new_gate()},
        entered_(outputs.size(), false),
        outputs_count_{any_defined(tensors_of_series(outputs))} {}

  /// Whether any gradients remain to be propagated.
  [[nodiscard]] bool any() const { return outputs_count_ || any_defined(sums_.state); }
  /// Turns gradients with respect to state a.to into gradients with respect to state a.from. The sums so far enter the
  /// engine as roots, so that gradients are added in the order of a plain loop.
  /// \param live  state a.from   \post live is empty   \param recorder  null if nothing is measured
  void pull_back(tensor_list& live, action const& a, stats_recorder* recorder) {
    if (auto const& callback = body_.options.callbacks().run_backward) callback(a.from, a.to);
    auto taped = body_.record(live, a.from, a.to, outside_);
    live.clear();
    body_.count(&StepStats::vjp, a.to - a.from);
    auto roots = roots_of(taped, a);
    bool const connected = !roots.edges.empty();
    for (std::size_t k = 0; k < sums_.captures.size(); ++k)
      roots.enter(Edge{outside_, std::uint32_t(k)}, sums_.captures[k]);
    std::fill(sums_.state.begin(), sums_.state.end(), at::Tensor{});
    auto const into = targets_of(taped, a);
    taped.results.clear();
    taped.outputs.clear();
    taped.casts.clear();
    if (recorder != nullptr) recorder->sample();
    if (connected && !into.ends.empty()) {
      auto gradients = torch::autograd::Engine::get_default_engine().execute(roots.edges, roots.seeds, false, false,
                                                                             false, into.ends);
      body_.count(&StepStats::engine_calls);
      into.put(std::move(gradients));
    }
    if (auto const& callback = body_.options.callbacks().grad) callback(a.from, sums_.state);
  }
  /// Returns the gradients.
  [[nodiscard]] loop_gradients take() { return std::move(sums_); }

 private:
  [[nodiscard]] static bool any_defined(tensor_list const& list) {
    return std::any_of(list.begin(), list.end(), [](at::Tensor const& t) { return t.defined(); });
  }
  /// Where the gradients of results and outputs enter. An output that is a part of state a.from enters with the step
  /// after it, so that gradients are added in the order of a plain loop; `entered_` records this for the next call.
  [[nodiscard]] gradient_roots roots_of(taped_steps const& taped, action const& a) {
    auto const& bars = sums_.state;
    gradient_roots roots;
    auto const results = body_.roots_of(taped, outside_);
    for (std::size_t k = 0; k < results.size(); ++k) roots.enter(results[k], bars[k]);
    for (auto i = a.from; i < a.to; ++i)
      for (std::size_t q = 0; q < outputs_.size(); ++q)
        if (i + 1 < a.to || !entered_[q])
          roots.enter(taped.outputs[std::size_t(i - a.from) * outputs_.size() + q], outputs_[q].at(i));
    for (std::size_t q = 0; a.from > 0 && q < outputs_.size(); ++q) {
      auto const k = body_.outputs.part_shared(a.from - 1, q);
      entered_[q] = k < bars.size() && taped.gathers[k];
      if (entered_[q]) roots.enter(Edge{taped.start, std::uint32_t(k)}, outputs_[q].at(a.from - 1));
    }
    return roots;
  }
  [[nodiscard]] gradient_ends targets_of(taped_steps const& taped, action const& a) {
    gradient_ends into;
    auto& bars = sums_.state;
    for (std::size_t k = 0; k < bars.size(); ++k)
      if (taped.gathers[k] && (a.from > 0 || wanted_.state[k]))
        into.add(taped.start, k, [&bars, k](at::Tensor&& t) { bars[k] = std::move(t); });
    for (std::size_t k = 0; k < sums_.captures.size(); ++k)
      if (wanted_.captures[k]) into.add(outside_, k, [this, k](at::Tensor&& t) { sums_.captures[k] = std::move(t); });
    for (std::size_t place = bars.size(); place < taped.gathers.size(); ++place) {
      auto const q = (place - bars.size()) % body_.inputs.size();
      auto const i = a.from + step_index((place - bars.size()) / body_.inputs.size());
      if (taped.gathers[place] && wanted_.inputs[q][body_.inputs.series()[q].number(i)])
        into.add(taped.start, place, [this, q, i](at::Tensor&& t) { sums_.inputs[q].put(i, t); });
    }
    return into;
  }

  loop_body const& body_;
  wanted_gradients const& wanted_;
  series_list const& outputs_;
  loop_gradients sums_;
  std::shared_ptr<gate> outside_;
  part_flags entered_;
  bool outputs_count_;
};

}  // namespace cairn::libtorch::detail
