// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state that is measured, and the loop over it in the forms that `device_sweep` takes.
#include <cstddef>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/device_memory.hpp>
#include "deadline.hpp"

namespace gpu {

/// Numbers in device memory. The runtime must outlive it.
template <class R>
class field {
 public:
  using value_type = float;
  static constexpr bool in_device_memory = true;

  field(R& runtime, std::size_t count) : bytes_{runtime, count * sizeof(float)} {}
  [[nodiscard]] float* numbers() const noexcept { return static_cast<float*>(bytes_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / sizeof(float); }
  [[nodiscard]] cairn::device_pointer<float> data() const noexcept { return {numbers()}; }

 private:
  cairn::device_buffer<R> bytes_;
};

/// The loop on a machine. Every output is poisoned where a frame is made, see `poisoned`.
template <class Machine, class State>
struct loop {
  Machine& machine;
  deadline const* until = nullptr;  ///< steps throw `time_is_up` after it: the host is hardly ahead of a device
  using stream = typename Machine::stream;

  auto step() const {
    return [m = &machine, until = until](State const& x, State& x1, cairn::step_index i, stream in) {
      if (until != nullptr) until->check();
      m->step(x.numbers(), x1.numbers(), x.size(), i, in);
    };
  }
  auto step_in_place() const {
    return [m = &machine, until = until](State& x, cairn::step_index i, stream in) {
      if (until != nullptr) until->check();
      m->step(x.numbers(), x.numbers(), x.size(), i, in);
    };
  }
  auto start() const {
    return [m = &machine](State& x, stream in) { m->fill(x.numbers(), x.size(), in); };
  }
  auto seed() const {
    return [m = &machine](State const& x, State& bar, stream in) { m->seed(x.numbers(), bar.numbers(), x.size(), in); };
  }
  auto adjoint() const {
    return [m = &machine](State const& x, State& bar, cairn::step_index i, stream in) {
      m->adjoint(x.numbers(), bar.numbers(), x.size(), i, in);
    };
  }
};

/// A state full of bytes that are no number: who reads what was never written is found out.
template <class Machine, class R>
[[nodiscard]] field<R> poisoned(Machine& machine, R& runtime, std::size_t count) {
  field<R> made{runtime, count};
  machine.poison(made.numbers(), count, machine.compute());
  return made;
}

}  // namespace gpu
