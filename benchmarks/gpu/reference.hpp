// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients by storing every state, which those of sweeps must equal bit by bit.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/action.hpp>
#include "field.hpp"
#include "rods.hpp"

namespace gpu {

/// The right gradient of one loop. Where all of its states fit the device, the digest of the whole one; and always some
/// rods of it, spread over the state and differentiated separately. The digest of the first sweep stands in where there
/// is no other: then all sweeps must agree.
template <class Machine>
class reference {
 public:
  using runtime = typename Machine::runtime;
  using state = field<runtime>;

  /// \param count  numbers of a state, a multiple of `rod`
  reference(Machine& machine, std::size_t count, cairn::step_index steps) : machine_{&machine}, count_{count} {
    std::size_t const rods = count / rod, few = rods < Machine::rods_compared ? rods : Machine::rods_compared;
    for (std::size_t k = 0; k < few; ++k) first_.push_back((few == 1 ? 0 : k * (rods - 1) / (few - 1)) * rod);
    auto& device = machine.device();
    auto const c = machine.compute();
    state all{device, count}, some{device, few * rod};
    machine.fill(all.numbers(), count, c);
    for (std::size_t k = 0; k < few; ++k)
      device.copy(some.numbers() + k * rod, all.numbers() + first_[k], rod * sizeof(float),
                  cairn::copy_kind::device_to_device, c);
    store_all(some, steps);
    rods_ = numbers_of(some, {0, few * rod});
    if ((cairn::wide(steps) + 4) * all.size() * sizeof(float) > device.free_bytes()) return;
    store_all(all, steps);
    digest_ = machine.digest(all.numbers(), count);
    stored_all_ = true;
  }

  [[nodiscard]] bool stored_all() const noexcept {
    return stored_all_;
  }  ///< whether the digest is that of storing all states, not of the first sweep
  /// Whether the gradient is right, once the stream is done.
  template <class State>
  [[nodiscard]] bool equals(State const& bar) {
    if (!some_rods_equal(bar)) return false;
    auto const digest = machine_->digest(bar.numbers(), count_);
    if (!digest_) digest_ = digest;
    return digest == *digest_;
  }
  /// The same for the rods that were differentiated separately.
  template <class State>
  [[nodiscard]] bool some_rods_equal(State const& bar) {
    bool same = true;
    for (std::size_t k = 0; k < first_.size(); ++k) {
      auto const numbers = numbers_of(bar, {first_[k], rod});
      same = std::memcmp(numbers.data(), rods_.data() + k * rod, rod * sizeof(float)) == 0 && same;
    }
    return same;
  }

 private:
  struct part {
    std::size_t from, count;
  };

  /// x becomes the adjoint of the loop that starts from it.
  void store_all(state& x, cairn::step_index steps) {
    auto const c = machine_->compute();
    std::size_t const count = x.size();
    std::vector<state> states;
    states.reserve(std::size_t(steps));
    for (cairn::step_index i = 0; i < steps; ++i) {
      states.push_back(poisoned(*machine_, machine_->device(), count));
      machine_->step(i == 0 ? x.numbers() : states[std::size_t(i) - 1].numbers(), states.back().numbers(), count, i, c);
    }
    state bar = poisoned(*machine_, machine_->device(), count);
    machine_->seed(steps == 0 ? x.numbers() : states.back().numbers(), bar.numbers(), count, c);
    for (cairn::step_index i = steps; i-- > 0;)
      machine_->adjoint(i == 0 ? x.numbers() : states[std::size_t(i) - 1].numbers(), bar.numbers(), count, i, c);
    machine_->device().copy(x.numbers(), bar.numbers(), count * sizeof(float), cairn::copy_kind::device_to_device, c);
    machine_->device().sync(c);
  }
  template <class State>
  [[nodiscard]] std::vector<float> numbers_of(State const& x, part which) {
    auto& device = machine_->device();
    std::vector<float> numbers(which.count);
    cairn::pinned_buffer<runtime> pinned{device, which.count * sizeof(float)};
    device.copy(pinned.data(), x.numbers() + which.from, which.count * sizeof(float), cairn::copy_kind::device_to_host,
                machine_->compute());
    device.sync(machine_->compute());
    if (which.count > 0) std::memcpy(numbers.data(), pinned.data(), which.count * sizeof(float));
    return numbers;
  }

  Machine* machine_;
  std::size_t count_;
  std::vector<std::size_t> first_;
  std::vector<float> rods_;
  std::optional<std::uint64_t> digest_;
  bool stored_all_ = false;
};

}  // namespace gpu
