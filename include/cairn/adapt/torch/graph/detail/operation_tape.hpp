// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_tape.hpp  One run of an operation and the small autograd graph that it records. This tape only
/// refers to the values of the captured graph, so that they can be dropped while it is kept.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Which values a tape may refer to instead of holding them: those that will be there when its adjoint runs.
struct tape_references {
  std::vector<bool> inputs;  ///< for each input of the operation
  bool results = true;
};

/// Whether nothing else holds the tensor or its memory, so that it can be changed in place.
[[nodiscard]] inline bool is_alone(at::Tensor const& t) {
  return t.use_count() == 1 && t.storage().use_count() == 1 && t.is_non_overlapping_and_dense();
}
/// Prepares a gradient to be held until it is read. It no longer holds the tensor that it was a view of. If its memory
/// is part of a larger block, such as the gradient of a `cat`, it moves to a block of its own, so that the larger one
/// can be freed.
[[nodiscard]] inline at::Tensor held_gradient(at::Tensor gradient) {
  if (!gradient.defined() || gradient.layout() != at::kStrided || !gradient.has_storage()) return gradient;
  gradient = gradient.variable_data();
  return gradient.storage().nbytes() > gradient.nbytes() ? gradient.clone() : gradient;
}
/// The same for the gradient of a leaf: it gets the strides of the leaf, so that `AccumulateGrad` takes it as `.grad`
/// without a copy.
[[nodiscard]] inline at::Tensor held_gradient(at::Tensor gradient, at::Tensor const& leaf) {
  gradient = held_gradient(std::move(gradient));
  bool const plain = gradient.defined() && gradient.layout() == at::kStrided && leaf.layout() == at::kStrided;
  if (!plain || gradient.sizes() != leaf.sizes() || gradient.scalar_type() != leaf.scalar_type() ||
      torch::autograd::utils::obeys_layout_contract(gradient, leaf))
    return gradient;
  return torch::autograd::utils::clone_obey_contract(gradient, leaf);
}

/// Adds a gradient to a sum, with the same bits as autograd's engine. It adds in place if nothing else holds one of the
/// two.
inline void add_gradient(at::Tensor& sum, at::Tensor gradient) {
  if (!gradient.defined()) return;
  if (!sum.defined()) {
    sum = std::move(gradient);
    return;
  }
  bool const plain = sum.layout() == at::kStrided && gradient.layout() == at::kStrided &&
                     sum.scalar_type() == gradient.scalar_type() && sum.sizes() == gradient.sizes();
  if (plain && is_alone(sum)) sum.add_(gradient);
  else if (plain && is_alone(gradient)) sum = gradient.add_(sum);
  else if (sum.layout() != at::kStrided && gradient.layout() == at::kStrided) sum = gradient + sum;
  else sum = sum + gradient;
}

/// The autograd graph of one run of an operation, from its results to its inputs.
class operation_tape {
 public:
  /// What a run returns.
  struct outcome {
    tensor_list value;                     ///< without a history
    part_flags requires_grad;              ///< for each tensor of it: whether it requires a gradient in the plain call
    std::shared_ptr<operation_tape> tape;  ///< null if none is kept
  };

  /// Runs an operation and records it, as the plain call does.
  /// \param inputs  its inputs, without a history   \param requires_grad  of each input in the plain call
  /// \param keeps  whether to keep a tape; if not, nothing that autograd saves is kept
  [[nodiscard]] static outcome run(captured_operation const& what, at::TensorList inputs, part_flags requires_grad,
                                   bool keeps, tape_references const& refers) {
    std::shared_ptr<operation_tape> const tape{new operation_tape};
    tape->gathers_ = std::move(requires_grad);
    auto const given = behind_gate(inputs, tape->gathers_, tape->gate_);
    std::vector<std::shared_ptr<saved_place>> saved;
    tensor_list made;
    {
      at::AutoGradMode const records{true};
      c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
      saved_hooks_scope const hooks{[&]() -> std::unique_ptr<torch::autograd::SavedVariableHooks> {
        if (!keeps) return std::make_unique<place_hooks>(nullptr);
        return std::make_unique<place_hooks>(saved.emplace_back(std::make_shared<saved_place>(tape->now_)));
      }};
      made = what.run(given);
    }
    outcome result{detached(made), require_gradients(made), nullptr};
    for (std::size_t k = 0; k < made.size(); ++k)
      tape->roots_.push_back(result.requires_grad[k] ? torch::autograd::impl::gradient_edge(made[k]) : Edge{});
    bool const has_adjoint = std::find(result.requires_grad.begin(), result.requires_grad.end(), true) !=
                             result.requires_grad.end();
    if (!keeps || !has_adjoint) return result;
    tensor_list steady = inputs.vec(), changing;
    // What an operation changes may have another value when the adjoint runs, so the tape must hold a copy of its own.
    for (auto const k : what.changing) changing.push_back(std::exchange(steady[std::size_t(k)], at::Tensor{}));
    for (auto const& one : saved) {
      if (std::any_of(changing.begin(), changing.end(), [&](auto const& t) { return lies_in(one->own, t); }))
        one->own = one->own.clone();
      tape->find(*one, steady, result.value, refers);
    }
    tape->count_uses();
    result.tape = tape;
    return result;
  }

  /// Runs the adjoint.
  /// \param bars  adjoints of the results; an undefined one adds nothing
  /// \param input, result  return the tensor of a number; they are only asked for tensors that autograd saved
  /// \param sums  for each input: the sum that its adjoint is added to; null if it is not wanted
  /// \param leaves  for each input: the leaf of autograd that it is; null if it is none
  /// \param keeps  whether the adjoint may run again
  template <class Input, class Result>
  void reverse(tensor_list bars, Input const& input, Result const& result, std::vector<at::Tensor*> const& sums,
               std::vector<at::Tensor const*> const& leaves, bool keeps) {
    gradient_roots roots;
    for (std::size_t k = 0; k < roots_.size(); ++k) roots.enter(roots_[k], bars[k]);
    bars.clear();
    if (roots.edges.empty()) return;
    edge_list ends;
    struct target {
      at::Tensor* sum;
      at::Tensor const* leaf;
      bool goes_on;  // the engine starts from the sum so far
    };
    std::vector<target> into;
    for (std::size_t k = 0; k < gathers_.size(); ++k) {
      if (!gathers_[k] || uses_[k] == 0 || sums[k] == nullptr) continue;
      bool const goes_on = uses_[k] > 1 && sums[k]->defined();
      ends.emplace_back(gate_, std::uint32_t(k));
      into.push_back({sums[k], leaves[k], goes_on});
      if (goes_on) roots.enter(ends.back(), leaves[k] != nullptr ? *sums[k] : std::exchange(*sums[k], {}));
    }
    if (ends.empty()) return;
    struct lookup {  // the values that saved tensors refer to, while the engine runs
      values_now& of;
      ~lookup() { of = {}; }
    } const around{*now_};
    now_->inputs.resize(gathers_.size());
    now_->results.resize(roots_.size());
    for (auto const k : asks_inputs_) now_->inputs[k] = input(k);
    for (auto const k : asks_results_) now_->results[k] = result(k);
    auto& engine = torch::autograd::Engine::get_default_engine();
    auto gradients = engine.execute(roots.edges, roots.seeds, keeps, false, false, ends);
    for (std::size_t k = 0; k < into.size(); ++k) {
      auto const& [sum, leaf, goes_on] = into[k];
      auto made = std::exchange(gradients[k], {});
      made = leaf != nullptr ? held_gradient(std::move(made), *leaf) : held_gradient(std::move(made));
      // The block of this sum becomes `.grad`, so the new sum is copied into it.
      bool const stays = goes_on && leaf != nullptr && made.layout() == at::kStrided &&
                         sum->layout() == at::kStrided && sum->scalar_type() == made.scalar_type() &&
                         sum->storage().use_count() == 1 && sum->is_non_overlapping_and_dense();
      if (stays) sum->copy_(made);
      else if (goes_on) *sum = std::move(made);
      else add_gradient(*sum, std::move(made));
    }
  }

 private:
  /// The values that a tape refers to; empty except while its adjoint runs.
  struct values_now {
    tensor_list inputs, results;
  };
  /// Where a tensor that autograd saved is found: in the tape, or among the inputs or results of the operation.
  struct saved_place {
    enum class kind : char { own, input, result };

    explicit saved_place(std::shared_ptr<values_now> values) : of{std::move(values)} {}
    std::shared_ptr<values_now> of;
    kind is = kind::own;
    std::size_t number = 0;
    at::Tensor own;
    bool is_view = false;  ///< whether it is a view of that value, with these sizes, strides and offset
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;

    [[nodiscard]] at::Tensor tensor() const {
      if (is == kind::own) return own;
      auto const& list = is == kind::input ? of->inputs : of->results;
      auto const value = number < list.size() ? list[number] : at::Tensor{};
      if (!value.defined())
        throw invalid_call{"cairn::libtorch::checkpoint_module",
                           "a saved tensor is needed while no adjoint runs",
                           {},
                           "an operation must not differentiate inside itself here"};
      return is_view ? value.as_strided(sizes, strides, offset) : value;
    }
  };
  struct place_hooks final : torch::autograd::SavedVariableHooks {
    explicit place_hooks(std::shared_ptr<saved_place> place) : at{std::move(place)} {}
    void call_pack_hook(at::Tensor const& t) override { if (at) at->own = t.detach(); }
    at::Tensor call_unpack_hook() override { return at ? at->tensor() : at::Tensor{}; }
    std::shared_ptr<saved_place> at;  ///< null if the tensor is not kept
  };

  operation_tape() = default;

  /// Replaces a saved tensor that is an input or a result, or a view of one, by a reference to it.
  void find(saved_place& one, at::TensorList inputs, at::TensorList results, tape_references const& refers) {
    if (!one.own.defined() || one.own.numel() == 0) return;
    auto const look = [&](at::TensorList among, saved_place::kind kind, std::vector<std::size_t>& asks,
                          auto const& may_refer) {
      for (std::size_t k = 0; k < among.size(); ++k) {
        if (!may_refer(k) || !lies_in(one.own, among[k])) continue;
        one.is = kind;
        one.number = k;
        one.is_view = one.own.sizes() != among[k].sizes() || one.own.strides() != among[k].strides() ||
                      one.own.storage_offset() != among[k].storage_offset();
        if (one.is_view) {
          one.sizes = one.own.sizes().vec();
          one.strides = one.own.strides().vec();
          one.offset = one.own.storage_offset();
        }
        one.own = at::Tensor{};
        asks.push_back(k);
        return true;
      }
      return false;
    };
    if (look(inputs, saved_place::kind::input, asks_inputs_, [&](std::size_t k) { return refers.inputs[k]; })) return;
    look(results, saved_place::kind::result, asks_results_, [&](std::size_t) { return refers.results; });
  }
  [[nodiscard]] static bool lies_in(at::Tensor const& part, at::Tensor const& t) {
    return part.defined() && t.defined() && part.layout() == at::kStrided && t.layout() == at::kStrided &&
           part.is_alias_of(t) && part.scalar_type() == t.scalar_type() && part.is_conj() == t.is_conj() &&
           part.is_neg() == t.is_neg() && !t.is_conj() && !t.is_neg();
  }
  void count_uses() {
    uses_.resize(gathers_.size());
    auto roots = roots_;
    visit_edges_out(roots, [&](Node const& node) { return &node != gate_.get(); },
                    [&](Edge const& edge) { ++uses_[edge.input_nr]; });
  }

  std::shared_ptr<gate> gate_ = gate::make();
  std::shared_ptr<values_now> now_ = std::make_shared<values_now>();
  part_flags gathers_;           ///< for each input: whether it has an adjoint; of equal inputs only the first does
  edge_list roots_;              ///< one for each result
  std::vector<int> uses_;        ///< for each input: in how many places the operation reads it
  std::vector<std::size_t> asks_inputs_, asks_results_;  ///< numbers of those that the tape refers to
};

}  // namespace cairn::libtorch::detail
