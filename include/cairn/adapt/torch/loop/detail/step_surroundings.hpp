// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_surroundings.hpp  What steps find outside the state of a loop, and change: generators and named buffers.
#include <utility>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// Generators and buffers as they were before a step.
struct step_surroundings {
  generator_states generators;
  memory_images buffers;
  void list_tensors(tensor_list& all) const {
    generators.list_tensors(all);
    buffers.list_tensors(all);
  }
};

/// Restores memory at the end of a scope, as it was at its beginning.
class memory_guard {
 public:
  explicit memory_guard(memory_images now) : now_{std::move(now)} {}
  memory_guard(memory_guard const&) = delete;
  memory_guard& operator=(memory_guard const&) = delete;
  ~memory_guard() { now_.put_back(); }

 private:
  memory_images now_;
};

}  // namespace cairn::libtorch::detail
