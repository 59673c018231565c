// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file first_operation_run.hpp  What the first run of an operation leaves for its later runs.
#include <cstddef>
#include <optional>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// The states of the random number generators of the CPU and of the devices of some tensors.
struct drawing_place {
  cpu_generator_state cpu;
  generator_states devices;

  [[nodiscard]] static drawing_place now(at::TensorList tensors) {
    return {cpu_generator_state{}, generator_states::of_devices(tensors)};
  }
  [[nodiscard]] bool devices_are_now() const { return devices.devices_are_now(); }
  void restore() const {
    cpu.restore();
    devices.restore();
  }
};

/// What the first run of an operation leaves for later ones.
struct first_operation_run {
  bool ran = false;
  bool overlapped = false;               ///< it drew random numbers while another thread may have drawn some, too
  part_flags requires_grad;              ///< for each tensor of its value
  std::optional<drawing_place> numbers;  ///< the generators before the run, if it draws from them
  tensor_list changing;                  ///< what it changes in place, as it was before the run

  /// Call before the first run.
  void begin(captured_operation const& what, at::TensorList inputs, Rng rng) {
    at::NoGradGuard const off;
    for (auto const k : what.changing) changing.push_back(inputs[std::size_t(k)].clone());
    if (what.draws && rng == Rng::Preserve) numbers.emplace(drawing_place::now(inputs));
  }
};

/// How a run of an operation uses the generators: not at all, unless it draws random numbers.
[[nodiscard]] inline generator_use drawing_of(captured_operation const& what, Rng rng) {
  return generator_use{what.draws ? rng : Rng::Ignore};
}

/// Lets an operation run again from where its first run began: on copies of what that run changed in place, and with
/// the generators as they were. The destructor restores the generators.
class operation_rerun {
 public:
  /// \param drawing  how this run uses the generators; must outlive this object
  /// \param inputs  of the operation; those that it changes become copies
  operation_rerun(first_operation_run const& first, captured_operation const& what, generator_use const& drawing,
                  tensor_list& inputs)
      : drawing_{drawing} {
    at::NoGradGuard const off;
    for (std::size_t k = 0; k < what.changing.size(); ++k)
      inputs[std::size_t(what.changing[k])] = first.changing[k].clone();
    if (!first.numbers) return;
    before_.emplace(drawing_place::now(inputs));
    drawing_.put_back(*first.numbers);
  }
  operation_rerun(operation_rerun const&) = delete;
  operation_rerun& operator=(operation_rerun const&) = delete;
  ~operation_rerun() { if (before_) drawing_.put_back(*before_); }

 private:
  generator_use const& drawing_;
  std::optional<drawing_place> before_;
};

}  // namespace cairn::libtorch::detail
