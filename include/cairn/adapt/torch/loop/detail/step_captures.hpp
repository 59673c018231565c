// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_captures.hpp  Where the graph of a step ends, and with respect to which outside tensors the steps of a
/// loop are differentiated.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;

/// The end of one of our graphs: collects gradients, which the engine returns, and is never run. Steps are
/// differentiated up to gates and not up to the tensors themselves, so that the hooks of those tensors run once, when
/// the gradient of the whole loop reaches them.
class gate final : public Node {
 public:
  /// \param owner  the loop whose state has the gate as its history, if any
  [[nodiscard]] static std::shared_ptr<gate> make(void const* owner = nullptr) {
    std::shared_ptr<gate> fresh{new gate, torch::autograd::deleteNode};
    fresh->owner_ = owner;
    return fresh;
  }
  [[nodiscard]] void const* owner() const noexcept { return owner_; }
  /// Adds a place for gradients of the tensor to which this edge leads.
  void stand_for(Edge const& edge) { input_metadata_.emplace_back(edge.function->input_metadata(edge.input_nr)); }
  [[nodiscard]] std::string name() const override { return "CairnGate"; }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }

 private:
  void const* owner_ = nullptr;
};

/// The tensors without history; each one in `wanted` becomes the result of the gate's place with the same number. Equal
/// tensors at several places become one tensor; `wanted` then names the first.
[[nodiscard]] inline tensor_list behind_gate(at::TensorList parts, part_flags& wanted,
                                             std::shared_ptr<Node> const& behind) {
  tensor_list fresh = detached(parts);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    wanted[k] = wanted[k] && first_place(parts, k) == k && fresh[k].defined();
    if (wanted[k]) torch::autograd::create_gradient_edge(fresh[k], behind);
    else behind->add_input_metadata(Node::undefined_input{});
  }
  return fresh;
}

struct edge_hash {
  [[nodiscard]] std::size_t operator()(Edge const& edge) const noexcept {
    return std::hash<Node*>{}(edge.function.get()) * 31 + edge.input_nr;
  }
};
/// A leaf that autocast casts once for all of its uses: its gradients are then summed in the type of the cast.
struct cached_cast {
  at::Tensor leaf;  ///< undefined if there is none
  at::ScalarType type = at::kFloat;

  /// The cast in the cache; casts the leaf if it is not there yet.
  [[nodiscard]] at::Tensor result() const { return at::autocast::cached_cast(type, leaf, leaf.device().type()); }
  /// The cast that a node belongs to, if autocast's cache has it.   \pre the cache is in use, and grad mode is on
  [[nodiscard]] static cached_cast behind(Node const& node) {
    if (node.num_inputs() != 1 || node.num_outputs() != 1 || !node.next_edge(0).is_valid()) return {};
    auto const* const leaf = dynamic_cast<torch::autograd::AccumulateGrad const*>(node.next_edge(0).function.get());
    if (leaf == nullptr || leaf->variable.scalar_type() != at::kFloat) return {};
    cached_cast const found{leaf->variable, autocast_type(leaf->variable.device().type())};
    if (c10::typeMetaToScalarType(node.input_metadata(0).dtype()) != found.type) return {};
    return found.result().grad_fn().get() == &node ? found : cached_cast{};
  }
};
/// Outside tensors with respect to which steps are differentiated, identified by the edges to their gradients, in the
/// order in which they were found.
class capture_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return edges_.size(); }
  [[nodiscard]] edge_list const& edges() const noexcept { return edges_; }
  /// The tensor's number, or size() if it is not in the list.
  [[nodiscard]] std::size_t find(Edge const& edge) const {
    auto const found = number_.find(edge);
    return found == number_.end() ? size() : found->second;
  }
  [[nodiscard]] bool holds(Node const& node) const {
    for (auto const& edge : edges_) if (edge.function.get() == &node) return true;
    return false;
  }
  void add(Edge const& edge, cached_cast const& cast = {}) {
    if (!number_.try_emplace(edge, size()).second) return;
    edges_.push_back(edge);
    casts_.push_back(cast);
  }
  /// The cast of each tensor.
  [[nodiscard]] std::vector<cached_cast> const& casts() const noexcept { return casts_; }
  /// Tensor k if it is a leaf, or the leaf of its cast; otherwise undefined.
  [[nodiscard]] at::Tensor leaf(std::size_t k) const {
    auto const* const leaf = dynamic_cast<torch::autograd::AccumulateGrad const*>(edges_[k].function.get());
    return leaf != nullptr ? leaf->variable : casts_[k].leaf;
  }
  /// A gate with a place for each tensor.
  [[nodiscard]] std::shared_ptr<gate> new_gate() const {
    auto stop = gate::make();
    for (auto const& edge : edges_) stop->stand_for(edge);
    return stop;
  }

 private:
  edge_list edges_;
  std::vector<cached_cast> casts_;
  std::unordered_map<Edge, std::size_t, edge_hash> number_;
};

/// The casts of captured leaves in autocast's cache while steps are taped, with the number of the capture of each.
class autocast_entries {
 public:
  void add(std::size_t capture, at::Tensor cast) { all_.emplace_back(capture, std::move(cast)); }
  void clear() noexcept { all_.clear(); }
  /// The capture that the edge represents, or `none`.
  [[nodiscard]] std::size_t find(Edge const& edge, std::size_t none) const {
    for (auto const& [capture, cast] : all_) if (cast.grad_fn() == edge.function) return capture;
    return none;
  }
  [[nodiscard]] bool holds(Node const& node) const {
    for (auto const& [capture, cast] : all_) if (cast.grad_fn().get() == &node) return true;
    return false;
  }

 private:
  std::vector<std::pair<std::size_t, at::Tensor>> all_;
};

/// The edges at which gradients enter a graph, and these gradients.
struct gradient_roots {
  edge_list edges;
  tensor_list seeds;
  /// Adds a gradient; does nothing if the edge or the gradient is missing.
  void enter(Edge const& edge, at::Tensor const& seed) {
    if (!edge.is_valid() || !seed.defined()) return;
    edges.push_back(edge);
    seeds.push_back(seed);
  }
};

/// Where the engine stops in a graph, and what becomes of the gradients there.
struct gradient_ends {
  edge_list ends;
  std::vector<std::function<void(at::Tensor&&)>> puts;

  void add(std::shared_ptr<gate> const& at, std::size_t place, std::function<void(at::Tensor&&)> put) {
    ends.emplace_back(at, std::uint32_t(place));
    puts.push_back(std::move(put));
  }
  void put(torch::autograd::variable_list gradients) const {
    for (std::size_t k = 0; k < puts.size(); ++k) if (gradients[k].defined()) puts[k](std::move(gradients[k]));
  }
};

/// A moment in this thread's construction of a graph.
struct graph_position {
  std::uint64_t number = at::sequence_number::peek();
  std::uint64_t thread = at::RecordFunction::currentThreadId();
  /// Whether this thread made the node after that moment.
  [[nodiscard]] bool precedes(Node const& node) const {
    return !gathers(node) && node.thread_id() == thread && node.sequence_nr() >= number;
  }
  /// Whether another thread made the node, so that its sequence number cannot be compared.
  [[nodiscard]] bool is_foreign(Node const& node) const { return !gathers(node) && node.thread_id() != thread; }

 private:
  /// Whether the node accumulates the gradient of a leaf; it may have been made at any time.
  [[nodiscard]] static bool gathers(Node const& node) {
    return node.sequence_nr() == (std::numeric_limits<std::uint64_t>::max)();
  }
};

/// Calls `visit(edge)` for each edge that leaves a graph; visit may redirect the edge. `inside(node)` returns whether a
/// node belongs to the graph.
template <class Inside, class Visit>
void visit_edges_out(edge_list& roots, Inside inside, Visit visit) {
  std::vector<Node*> open;
  std::unordered_set<Node*> seen;
  auto const follow = [&](Edge& edge) {
    if (!edge.is_valid()) return;
    if (!inside(*edge.function)) visit(edge);
    else if (seen.insert(edge.function.get()).second) open.push_back(edge.function.get());
  };
  for (auto& root : roots) follow(root);
  while (!open.empty()) {
    auto* const node = open.back();
    open.pop_back();
    for (auto& edge : node->next_edges()) follow(edge);
    // Asks its inner node which gradients are needed.
    if (auto* const slices = dynamic_cast<torch::autograd::CopySlices*>(node))
      for (auto& edge : slices->fn->next_edges()) follow(edge);
  }
}

/// Whether a graph leads to a node that `is_end` accepts, through nodes that `inside` accepts.
template <class Inside, class IsEnd>
[[nodiscard]] bool leads_to(edge_list roots, Inside inside, IsEnd is_end) {
  bool found = false;
  visit_edges_out(roots, [&](Node const& node) { return !found && !is_end(node) && inside(node); },
                  [&](Edge const& edge) { found = found || is_end(*edge.function); });
  return found;
}

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
