// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_origin.hpp  Which operation made a saved tensor, as far as that is the same in every run.
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/util/Type.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>

namespace cairn::libtorch::detail {

/// The origin of a saved tensor.
struct saved_origin {
  /// Type of the tensor's node; null if the tensor comes from outside, or if the operation that makes it saves it.
  std::type_info const* made_by = nullptr;
  /// Whether automatic casts are cached: one run may then find a cast outside that another run makes.
  bool caches_casts = false;

  [[nodiscard]] bool operator==(saved_origin const& other) const {
    if (made_by == nullptr || other.made_by == nullptr)
      return made_by == other.made_by || caches_casts || other.caches_casts;
    return *made_by == *other.made_by;
  }
  [[nodiscard]] std::string text() const {
    return made_by == nullptr ? "of no operation before" : "of " + c10::demangle(made_by->name());
  }
};

/// Finds the origins of one run, from its beginning on.
class origin_map {
 public:
  [[nodiscard]] saved_origin of(at::Tensor const& t) {
    saved_origin origin{nullptr, caches_casts_};
    auto const* const meta = torch::autograd::impl::get_autograd_meta(t);
    if (meta != nullptr && meta->grad_fn_ && begin_.precedes(*meta->grad_fn_) && !is_left_out(meta->grad_fn_))
      origin.made_by = &typeid(*meta->grad_fn_);
    return origin;
  }

  /// From now on the operation that made this tensor counts as outside.
  void leave_out(at::Tensor const& t) {
    if (t.defined() && t.grad_fn()) left_out_.emplace_back(t.grad_fn());
  }

 private:
  [[nodiscard]] bool is_left_out(std::shared_ptr<Node> const& node) const {
    for (auto const& one : left_out_) if (!one.owner_before(node) && !node.owner_before(one)) return true;
    return false;
  }

  graph_position begin_;
  bool caches_casts_ = autocast_state::now().caches();
  std::vector<std::weak_ptr<Node>> left_out_;
};

}  // namespace cairn::libtorch::detail
