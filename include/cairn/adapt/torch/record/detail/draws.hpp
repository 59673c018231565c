// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file draws.hpp  Operators that draw random numbers draw the same ones when they run again, from a generator of
/// their own.
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>
#include <cairn/adapt/torch/state/detail/environment.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>

namespace cairn::libtorch::detail {

/// Held while an operator of a recorded call draws: it draws from the state that is noted. One for
/// all libraries of a program: generators belong to the process.
[[nodiscard, gnu::visibility("default")]] inline std::mutex& drawing_access() {
  static auto* const one = new std::mutex;
  return *one;
}

/// The generator from which a call with these arguments draws.
[[nodiscard]] inline at::Generator generator_of(schema_facts const& facts, c10::ArrayRef<c10::IValue> given) {
  if (facts.generator >= 0 && given[std::size_t(facts.generator)].isGenerator())
    return given[std::size_t(facts.generator)].toGenerator();
  c10::Device device{c10::kCPU};
  for (auto const& v : given)
    if (v.isDevice()) device = v.toDevice();
  for (auto const& v : given)
    if (v.isTensor() && v.toTensor().defined()) device = v.toTensor().device();
  return at::globalContext().defaultGenerator(device);
}
[[nodiscard]] inline at::Generator copy_of(at::Generator from) {
  std::lock_guard const lock{from.mutex()};
  return from.clone();
}

/// What an operator of another library draws, whose schema does not say whether it does.
class draws_of_guest {
 public:
  explicit draws_of_guest(c10::ArrayRef<c10::IValue> given) {
    std::vector<at::Tensor> tensors;
    for (auto const& value : given) visit_tensors(value, [&](at::Tensor const& t) { tensors.push_back(t); });
    devices_ = generator_states::of_devices(tensors);
  }
  /// Whether it drew from this generator.
  [[nodiscard]] bool are_of(at::Generator const& one) const {
    return one.device().is_cpu() ? !cpu_.is_now() : !devices_.devices_are_now();
  }
  /// Whether it drew from any other one.   \param one  undefined if it did not draw from the first one
  [[nodiscard]] bool are_of_others(at::Generator const& one) const {
    bool const on_device = one.defined() && !one.device().is_cpu();
    return (!cpu_.is_now() && (!one.defined() || on_device)) || (!devices_.devices_are_now() && !on_device);
  }

 private:
  cpu_generator_state cpu_;
  generator_states devices_;
};

/// Gives a generator to the operators of this thread that name none, during its lifetime. The common generator is not
/// touched: other threads may draw from it meanwhile.
class generator_for_all final : public dispatch_mode {
 public:
  explicit generator_for_all(at::Generator given)
      : given_{std::move(given)}, outer_{std::exchange(of_thread(), this)}, on_{true} {}
  generator_for_all(generator_for_all const&) = delete;
  generator_for_all& operator=(generator_for_all const&) = delete;
  ~generator_for_all() { of_thread() = outer_; }

  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto const& facts = schema_facts::of(op);
    if (facts.generator >= 0) {
      auto& place = stack[stack.size() - facts.writes.size() + std::size_t(facts.generator)];
      if (place.isNone()) place = given_;
    }
    op.redispatchBoxed(below, &stack);
  }

 private:
  at::Generator given_;
  dispatch_mode* outer_;
  dispatch_mode_scope on_;
};

/// Lends a device's common generator, whose kernels ask for no other, the state of another one.
class lent_generator {
 public:
  explicit lent_generator(at::Generator const& from)
      : lock_{drawing_access()}, common_{at::globalContext().defaultGenerator(from.device())} {
    std::lock_guard const lock{common_.mutex()};
    before_ = common_.get_state();
    common_.set_state(from.get_state());
  }
  lent_generator(lent_generator const&) = delete;
  lent_generator& operator=(lent_generator const&) = delete;
  ~lent_generator() {
    std::lock_guard const lock{common_.mutex()};
    common_.set_state(before_);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  at::Generator common_;
  at::Tensor before_;
};

}  // namespace cairn::libtorch::detail
