#pragma once
/// \file captures.hpp  Where the graph of a step ends, and which tensors from outside it leads to.
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
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;

/// Where a graph of ours ends: collects gradients for the engine to hand out, and is never run. Steps are
/// differentiated up to gates instead of up to the tensors themselves, so that the hooks of those tensors run once,
/// when the gradient of the whole loop reaches them.
class gate final : public Node {
 public:
  /// \param owner  the loop whose state the gate stands before, if any
  [[nodiscard]] static std::shared_ptr<gate> make(void const* owner = nullptr) {
    std::shared_ptr<gate> fresh{new gate, torch::autograd::deleteNode};
    fresh->owner_ = owner;
    return fresh;
  }
  [[nodiscard]] void const* owner() const noexcept { return owner_; }
  /// One more place, for gradients of what this edge leads to.
  void stand_for(Edge const& edge) { input_metadata_.emplace_back(edge.function->input_metadata(edge.input_nr)); }
  [[nodiscard]] std::string name() const override { return "CairnGate"; }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }

 private:
  void const* owner_ = nullptr;
};

/// The tensors without a history, each that `wanted` names as the result of a gate's place of the same number. What was
/// one tensor at several places stays one; `wanted` then names the first.
[[nodiscard]] inline tensor_list behind_gate(at::TensorList parts, part_flags& wanted,
                                             std::shared_ptr<Node> const& behind) {
  tensor_list fresh;
  fresh.reserve(parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    auto const first = first_place(parts, k);
    fresh.push_back(first < k ? fresh[first] : parts[k].defined() ? parts[k].detach() : at::Tensor{});
    wanted[k] = wanted[k] && first == k && fresh[k].defined();
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
  at::Tensor leaf;  ///< undefined where there is none
  at::ScalarType type = at::kFloat;

  /// The cast that stands in the cache, or enters it.
  [[nodiscard]] at::Tensor result() const { return at::autocast::cached_cast(type, leaf, leaf.device().type()); }
  /// Of the node of a cast that stands in the cache of casts.   \pre that is in use, and grad mode is on
  [[nodiscard]] static cached_cast behind(Node const& node) {
    if (node.num_inputs() != 1 || node.num_outputs() != 1 || !node.next_edge(0).is_valid()) return {};
    auto const* const leaf = dynamic_cast<torch::autograd::AccumulateGrad const*>(node.next_edge(0).function.get());
    if (leaf == nullptr || leaf->variable.scalar_type() != at::kFloat) return {};
    cached_cast const found{leaf->variable, autocast_type(leaf->variable.device().type())};
    if (c10::typeMetaToScalarType(node.input_metadata(0).dtype()) != found.type) return {};
    return found.result().grad_fn().get() == &node ? found : cached_cast{};
  }
};
/// Tensors from outside that steps differentiate with respect to, by the edges that lead to their gradients, in the
/// order in which they were found.
class capture_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return edges_.size(); }
  [[nodiscard]] edge_list const& edges() const noexcept { return edges_; }
  /// Its number, or size().
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
  /// That of each.
  [[nodiscard]] std::vector<cached_cast> const& casts() const noexcept { return casts_; }
  /// The leaf to which it leads, undefined where that is another tensor.
  [[nodiscard]] at::Tensor leaf(std::size_t k) const {
    auto const* const leaf = dynamic_cast<torch::autograd::AccumulateGrad const*>(edges_[k].function.get());
    return leaf != nullptr ? leaf->variable : casts_[k].leaf;
  }
  /// A gate with a place for each.
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

/// The casts of captured leaves that stand in the cache while steps are taped, by the numbers of the captures that they
/// stand for.
class autocast_entries {
 public:
  void add(std::size_t capture, at::Tensor cast) { all_.emplace_back(capture, std::move(cast)); }
  void clear() noexcept { all_.clear(); }
  /// The capture that the edge stands for, or `none`.
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

/// Where gradients enter a graph, and which.
struct gradient_roots {
  edge_list edges;
  tensor_list seeds;
  /// Nothing enters where there is no edge or no gradient.
  void enter(Edge const& edge, at::Tensor const& seed) {
    if (!edge.is_valid() || !seed.defined()) return;
    edges.push_back(edge);
    seeds.push_back(seed);
  }
};

/// A moment in the making of a graph by this thread.
struct graph_position {
  std::uint64_t number = at::sequence_number::peek();
  std::uint64_t thread = at::RecordFunction::currentThreadId();
  /// Whether this thread made the node since then.
  [[nodiscard]] bool precedes(Node const& node) const {
    return !gathers(node) && node.thread_id() == thread && node.sequence_nr() >= number;
  }
  /// Whether another thread made it; its numbers say nothing here.
  [[nodiscard]] bool is_foreign(Node const& node) const { return !gathers(node) && node.thread_id() != thread; }

 private:
  /// Of a leaf: made at any time.
  [[nodiscard]] static bool gathers(Node const& node) {
    return node.sequence_nr() == (std::numeric_limits<std::uint64_t>::max)();
  }
};

/// Calls `visit(edge)`, which may lead it elsewhere, for each edge out of a graph. `inside(node)` says which nodes
/// belong to it.
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
    if (auto* const slices =
            dynamic_cast<torch::autograd::CopySlices*>(node))  // asks the node inside which gradients are wanted
      for (auto& edge : slices->fn->next_edges()) follow(edge);
  }
}

/// Whether a graph leads to a node that `is_end` names, by way of nodes that `inside` names.
template <class Inside, class IsEnd>
[[nodiscard]] bool leads_to(edge_list roots, Inside inside, IsEnd is_end) {
  bool found = false;
  visit_edges_out(roots, [&](Node const& node) { return !found && !is_end(node) && inside(node); },
                  [&](Edge const& edge) { found = found || is_end(*edge.function); });
  return found;
}

}  // namespace cairn::libtorch::detail
