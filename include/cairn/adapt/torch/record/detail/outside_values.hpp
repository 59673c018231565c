// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file outside_values.hpp  What a call gets from outside: inputs that hooks of the program hold, and parameters that
/// may change without a trace.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <algorithm>
#include <c10/core/Storage.h>
#include <cairn/adapt/torch/record/detail/layout_list.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/plain_tensor.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/core/error.hpp>
#include <cstdint>
#include <memory>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <utility>
#include <vector>

namespace cairn::libtorch::detail {

class outside_values {
 public:
  outside_values(memory_cells& contents, layout_list& layouts) : contents_{contents}, layouts_{layouts} {}

  /// Hooks of the program hold a content.   \param t  shows it, and fills its memory
  void pack(int c, at::Tensor const& t, std::unique_ptr<torch::autograd::SavedVariableHooks> hooks) {
    if (!std::exchange(contents_[c].is_packed, true)) packed_.push_back({c, layouts_.of(t, -1), std::move(hooks)});
  }
  /// The call is over: what hooks hold need not be held here, unless the call has changed it.
  void leave_to_hooks() {
    for (auto const& one : packed_) {
      auto& input = contents_[one.content];
      if (input.is_own) input.is_packed = false;  // there is a copy
      else input.kept = {};
    }
  }
  /// The memory of a content that hooks hold.
  [[nodiscard]] c10::Storage unpacked(int c) const {
    auto const one = std::find_if(packed_.begin(), packed_.end(), [&](auto const& p) { return p.content == c; });
    auto const values = one->hooks->call_unpack_hook();
    below_autograd const below;
    auto memory = at::empty({contents_[c].bytes}, values.options().dtype(at::kByte)).storage();
    layouts_.over(one->layout, memory).copy_(values);
    return memory;
  }

  /// Notes some values of a parameter that is read.   \param layout  of t
  void note(int c, int layout, at::Tensor const& t) {
    auto& one = contents_[c];
    if (one.made_by >= 0 || one.is_sampled || !t.requires_grad() || !t.is_leaf()) return;
    one.is_sampled = true;
    samples_.push_back({c, layout, hash_of_sample(t)});
  }
  /// Optimisers may write to parameters through `data()`, which counts as no change.
  /// \throws invalid_call   if some values of a parameter are others now
  void check(int c, char const* who) const {
    auto const& one = contents_[c];
    if (!one.is_sampled || one.is_own || !is_there(one.kept)) return;
    for (auto const& sample : samples_)
      if (sample.content == c && hash_of_sample(layouts_.over(sample.layout, one.kept)) != sample.sum)
        throw invalid_call{who, rewritten, {{"bytes", one.bytes}}, rewritten_advice};
  }

 private:
  struct packed_input {
    int content, layout;
    std::unique_ptr<torch::autograd::SavedVariableHooks> hooks;
  };
  struct sampled_parameter {
    int content, layout;
    std::uint64_t sum;
  };
  memory_cells& contents_;
  layout_list& layouts_;
  std::vector<packed_input> packed_;
  std::vector<sampled_parameter> samples_;
};

}  // namespace cairn::libtorch::detail
