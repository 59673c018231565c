// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_verbs.hpp  One loop over a tensor by each verb of the LibTorch adapter.
#include "support/torch.hpp"
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

namespace support {

using tensor_step = std::function<at::Tensor(at::Tensor const&, cairn::step_index)>;
using tensor_verb = std::function<at::Tensor(tensor_step const&, at::Tensor const&, cl::LoopOptions const&)>;

/// Each runs so many steps on a state of three doubles, and returns the last state.
inline std::vector<tensor_verb> tensor_verbs(std::int64_t steps) {
  return {[steps](tensor_step const& f, at::Tensor const& x, cl::LoopOptions const& options) {
            return cl::checkpointed_loop(f, x, steps, options);
          },
          [steps](tensor_step const& f, at::Tensor const& x, cl::LoopOptions const& options) {
            auto const scanned = [f](at::Tensor const& s, at::Tensor const& t, cairn::step_index i) {
              auto const next = f(s, i);
              return std::pair{next, next * t};
            };
            return cl::checkpointed_scan(scanned, x, torch::ones({steps, 3}, torch::kDouble), options).first;
          },
          [steps](tensor_step const& f, at::Tensor const& x, cl::LoopOptions const& options) {
            auto const goes_on = [steps](at::Tensor const&, cairn::step_index i) { return i < steps; };
            return cl::checkpointed_while(f, x, goes_on, options);
          }};
}

}  // namespace support
