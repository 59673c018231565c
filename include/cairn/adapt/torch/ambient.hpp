#pragma once
/// \file ambient.hpp  What a computation reads from around it: random number generators and automatic casts.
#include <array>
#include <mutex>
#include <utility>
#include <vector>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/versions.hpp>

namespace cairn {

/// Whether what is run again draws the random numbers that it drew before.
enum class Rng {
  Preserve,  ///< yes: the states of the generators are kept beside each checkpoint, 5 KB for the CPU's, 16 bytes for a CUDA device's
  Ignore     ///< no: nothing random is run, or its numbers do not matter
};

namespace detail {

/// The states of the CPU's generator and of those of the other devices on which tensors lie; empty by default.
class generator_states {
 public:
  generator_states() = default;
  [[nodiscard]] static generator_states now(at::TensorList tensors) {
    generator_states all;
    all.add(at::detail::getDefaultCPUGenerator(), at::kCPU);
    for (auto const& t : tensors)
      if (t.defined() && t.is_cuda() && !all.has(t.device())) all.add(at::globalContext().defaultGenerator(t.device()), t.device());
    return all;
  }
  /// The generators go on from here.
  void restore() const {
    for (auto const& [device, state] : states_) {
      auto generator = device.is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(device);
      std::lock_guard const lock{generator.mutex()};
      generator.set_state(state);
    }
  }
  /// Adds the tensors that it consists of.
  void list_tensors(std::vector<at::Tensor>& all) const {
    for (auto const& [device, state] : states_) all.push_back(state);
  }

 private:
  [[nodiscard]] bool has(at::Device device) const {
    for (auto const& known : states_) if (known.first == device) return true;
    return false;
  }
  void add(at::Generator generator, at::Device device) {
    std::lock_guard const lock{generator.mutex()};
    states_.emplace_back(device, generator.get_state());
  }

  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

/// The automatic casts of the calling thread, for the CPU and for CUDA devices.
class autocast_state {
 public:
  [[nodiscard]] static autocast_state now() {
    autocast_state all;
    for (std::size_t k = 0; k < devices.size(); ++k) all.of_[k] = {autocast_is_on(devices[k]), autocast_type(devices[k])};
    all.cache_ = at::autocast::is_autocast_cache_enabled();
    return all;
  }
  void restore() const {
    for (std::size_t k = 0; k < devices.size(); ++k) {
      switch_autocast(devices[k], of_[k].on);
      set_autocast_type(devices[k], of_[k].type);
    }
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  /// The same without the cache of casts. What is run without a graph must not leave a cast there: the caller would find it, without a gradient.
  [[nodiscard]] autocast_state without_cache() const {
    auto other = *this;
    other.cache_ = false;
    return other;
  }
  [[nodiscard]] bool is_on() const { return of_[0].on || of_[1].on; }
  /// Whether a leaf is cast once for all of its uses.
  [[nodiscard]] bool caches() const { return is_on() && cache_; }

 private:
  static constexpr std::array<at::DeviceType, 2> devices{at::kCPU, at::kCUDA};
  struct setting {
    bool on = false;
    at::ScalarType type = at::kFloat;
  };
  std::array<setting, devices.size()> of_;
  bool cache_ = true;
};

/// What a computation reads from around it.
class ambient_state {
 public:
  /// \param tensors  those that it starts from: the generators of their devices count   \param rng  Ignore leaves the generators out
  [[nodiscard]] static ambient_state now(at::TensorList tensors, Rng rng) {
    ambient_state all;
    if (rng == Rng::Preserve) all.generators = generator_states::now(tensors);
    all.autocast = autocast_state::now();
    return all;
  }
  void restore() const {
    generators.restore();
    autocast.restore();
  }

  generator_states generators;
  autocast_state autocast;
};

/// Sets the automatic casts for a scope, and puts back what was set before.
class autocast_scope {
 public:
  explicit autocast_scope(autocast_state const& inside) { inside.restore(); }
  autocast_scope(autocast_scope const&) = delete;
  autocast_scope& operator=(autocast_scope const&) = delete;
  ~autocast_scope() { before_.restore(); }

 private:
  autocast_state before_ = autocast_state::now();
};

/// Puts back at the end of a scope, exceptions included, what was around at its start.
class ambient_guard {
 public:
  ambient_guard(at::TensorList tensors, Rng rng) : before_{ambient_state::now(tensors, rng)} {}
  ambient_guard(ambient_guard const&) = delete;
  ambient_guard& operator=(ambient_guard const&) = delete;
  ~ambient_guard() { before_.restore(); }

 private:
  ambient_state before_;
};

}  // namespace detail
}  // namespace cairn
