// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_call.hpp  Calls the step of a loop on tensors that it must leave as they are.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The step on lists of tensors: from the parts of a state and the step's other inputs to the parts of the next state
/// and the step's outputs.
using flat_step = std::function<tensor_list(at::TensorList, step_index)>;

/// The result of step i for the state x and the inputs `given`.
/// \throws invalid_call   if the step changed one of them in place
[[nodiscard]] inline tensor_list call_step(flat_step const& step, tensor_list const& x, tensor_list const& given,
                                           step_index i, char const* who) {
  auto all = x;
  all.insert(all.end(), given.begin(), given.end());
  std::vector<std::int64_t> versions;
  for (auto const& t : all) versions.push_back(t.defined() ? std::int64_t(t._version()) : 0);
  auto y = step(all, i);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!all[k].defined() || std::int64_t(all[k]._version()) == versions[k]) continue;
    if (k < x.size())
      throw invalid_call{who,
                         "the step changed its state in place",
                         {{"step", i}, {"part", k}},
                         "make a new tensor, or clone that part first"};
    throw invalid_call{who,
                       "the step changed its input in place",
                       {{"step", i}, {"part", k - x.size()}},
                       "make a new tensor, or clone it first"};
  }
  return y;
}

}  // namespace cairn::libtorch::detail
