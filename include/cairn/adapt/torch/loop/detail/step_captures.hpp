// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_captures.hpp  Finds the outside tensors with respect to which the steps of a loop are differentiated.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/loop/detail/step_reads.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The captured tensors of a loop, found in the graphs of its taped steps.
class step_captures : public capture_list {
 public:
  /// \param who  is named in errors   \param owner  of the loop's gates: a state of this loop is not a captured tensor
  step_captures(char const* who, Capture how, void const* owner) : who_{who}, how_{how}, owner_{owner} {}

  /// Finds what step i captures.   \param roots  the edges to its results   \param moment  before the step
  /// \param behind  the gate at which its graph ends   \param cached  whether automatic casts are cached
  void discover(edge_list roots, graph_position const& moment, std::shared_ptr<gate> const& behind, bool cached,
                step_index i, step_reads& reads) {
    if (i == 0) begun_ = moment;
    auto const cast_behind = [&](Node const& node) { return cached ? cached_cast::behind(node) : cached_cast{}; };
    auto const leads_to_state = [&](Node const& node) {
      return leads_to(
          node.next_edges(), [](Node const&) { return true; }, [&](Node const& end) { return &end == behind.get(); });
    };
    auto const inside = [&](Node const& node) {
      bool const made = moment.precedes(node) || (moment.is_foreign(node) && leads_to_state(node));
      return made && !cast_behind(node).leaf.defined();
    };
    visit_edges_out(roots, inside, [&](Edge& edge) {
      if (edge.function == behind) return;
      if (auto const cast = cast_behind(*edge.function); cast.leaf.defined()) {
        reads.add(cast.leaf, i);
        return add(edge, cast);
      }
      if (!moment.is_foreign(*edge.function)) {
        if (add_checked(edge, i)) reads.add(leaf(size() - 1), i);
        return;
      }
      if (find(edge) < size()) return;
      // The node existed before the loop, or a thread of the step made it and makes another one in each run: then the
      // nodes behind it count.
      edge_list roots_there{edge};
      if (how_ != Capture::Explicit) (void)add_checked(edge, i);
      visit_edges_out(roots_there, [&](Node const& node) { return moment.is_foreign(node); },
                      [&](Edge const& end) { (void)add_checked(end, i); });
    });
  }
  /// The number of the captured tensor to which an edge leads; size() if there is none.
  [[nodiscard]] std::size_t behind(Edge const& edge, autocast_entries const& casts) const {
    return casts.find(edge, find(edge));
  }
  /// The edge at which the gradient of a taped result enters; invalid if there is none.
  [[nodiscard]] Edge root_of(at::Tensor const& t, autocast_entries const& casts,
                             std::shared_ptr<gate> const& outside) const {
    if (!t.defined() || !t.requires_grad()) return {};
    auto const edge = torch::autograd::impl::gradient_edge(t);
    auto const k = behind(edge, casts);
    return k < size() ? Edge{outside, std::uint32_t(k)} : edge;
  }
  /// Redirects an edge out of step i's graph to the gate for captured tensors.
  /// \throws invalid_call   if the tensor is not in the list
  void lead_to(Edge& edge, step_index i, std::shared_ptr<gate> const& outside, autocast_entries const& casts) const {
    auto const k = behind(edge, casts);
    if (k == size()) {
      check_is_no_state(edge, i, false);
      throw invalid_call{who_,
                         "the step uses a differentiable tensor that the first steps did not use",
                         {{"step", i}, {"captured tensors known", k}},
                         "name it in captures(...), or find all with Capture::EveryStep"};
    }
    edge = Edge{outside, std::uint32_t(k)};
  }

 private:
  /// Adds an edge, unless it is in the list. Returns whether it was added.
  bool add_checked(Edge const& edge, step_index i) {
    if (find(edge) < size()) return false;
    check_is_no_state(edge, i, true);
    if (how_ == Capture::Explicit)
      throw invalid_call{who_, "the step uses a differentiable tensor that captures() does not name", {{"step", i}},
                         "name it, or let Capture::FirstStep find it"};
    add(edge);
    return true;
  }
  /// \throws invalid_call   if the edge leads to an earlier state
  void check_is_no_state(Edge const& edge, step_index i, bool since_begun) const {
    auto const followed = [&](Node const& node) { return !since_begun || begun_.precedes(node); };
    auto const is_state = [&](Node const& node) {
      auto const* const stop = dynamic_cast<gate const*>(&node);
      return stop != nullptr && stop->owner() == owner_;
    };
    if (leads_to({edge}, followed, is_state)) refuse_earlier_state(who_, i);
  }

  char const* who_;
  Capture how_;
  void const* owner_;
  graph_position begun_;  ///< before the first step
};

}  // namespace cairn::libtorch::detail
