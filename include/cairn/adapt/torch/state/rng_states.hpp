// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rng_states.hpp  The environment of a computation, and how closely a second run repeats the first: what is
/// compared, random number generators, automatic casts, and what else kernels read.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/MT19937RNGEngine.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// What must be equal when something is run again.
enum class Check {
  Off,       ///< the number of tensors, and the operations that save them
  Metadata,  ///< also sizes, types and devices
  Bits       ///< also every bit; reads each tensor once more, on the CPU
};

/// The tensors that a recomputation saves for backward differ from those of the first run; the values say which tensor,
/// counted from 0.
class recompute_mismatch : public error {
 public:
  using error::error;
};

/// Whether a recomputation draws the same random numbers as the first run.
enum class Rng {
  Preserve,  ///< yes: the states of the generators are kept with each checkpoint, 5 KB for the CPU's, 16 bytes for a
             ///< CUDA device's
  Ignore  ///< no: no random numbers are used, or they do not matter
};

/// The states of default generators, each with its device: byte tensors on the CPU, as `at::Generator::get_state`
/// returns them.
using device_states = std::vector<std::pair<c10::Device, at::Tensor>>;

namespace detail {
[[nodiscard]] inline at::Generator default_generator(c10::Device device) {
  return device.is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(device);
}
[[nodiscard]] inline at::Tensor state_of(at::Generator generator) {
  std::lock_guard const lock{generator.mutex()};
  return generator.get_state();
}
inline void set_state(at::Generator generator, at::Tensor const& state) {
  std::lock_guard const lock{generator.mutex()};
  generator.set_state(state);
}
inline void add_device_state(c10::Device device, device_states& all) {
  for (auto const& known : all) if (known.first == device) return;
  all.emplace_back(device, state_of(default_generator(device)));
}
/// Adds the states for the CUDA devices of the tensors.
inline void add_device_states(at::TensorList tensors, device_states& all) {
  for (auto const& t : tensors) if (t.defined() && t.is_cuda()) add_device_state(t.device(), all);
}
}  // namespace detail

/// The states of the CPU's default generator, which comes first, and of those of the tensors' CUDA devices.
/// \param tensors  undefined ones are ignored
/// Bytes: 5,056 for the CPU's, 16 for a CUDA device's.
[[nodiscard]] inline device_states get_device_states(at::TensorList tensors) {
  device_states all;
  detail::add_device_state(at::kCPU, all);
  detail::add_device_states(tensors, all);
  return all;
}
/// Sets the generators to these states, which are copied.
/// \throws c10::Error   if a state does not belong to its device's generator, or there is no such device
inline void set_device_states(device_states const& states) {
  for (auto const& [device, state] : states) detail::set_state(detail::default_generator(device), state);
}

}  // namespace cairn::libtorch

namespace cairn::libtorch::detail {

/// The states of the CPU's generator and of those of the other devices of some tensors; empty by default.
class generator_states {
 public:
  generator_states() = default;
  [[nodiscard]] static generator_states now(at::TensorList tensors) {
    generator_states all;
    all.states_ = get_device_states(tensors);
    return all;
  }
  /// Without the CPU's generator.
  [[nodiscard]] static generator_states of_devices(at::TensorList tensors) {
    generator_states all;
    add_device_states(tensors, all.states_);
    return all;
  }
  /// Sets the generators to these states.
  void restore() const { set_device_states(states_); }
  /// Whether the generators of devices are in these states; the CPU's is not compared.
  [[nodiscard]] bool devices_are_now() const {
    for (auto const& [device, state] : states_) {
      if (device.is_cpu()) continue;
      auto const now = state_of(default_generator(device));
      if (now.nbytes() != state.nbytes() || std::memcmp(now.data_ptr(), state.data_ptr(), now.nbytes()) != 0)
        return false;
    }
    return true;
  }
  /// Appends the tensors of the states.
  void list_tensors(std::vector<at::Tensor>& all) const {
    for (auto const& [device, state] : states_) all.push_back(state);
  }

 private:
  device_states states_;
};

/// The state of a CPU generator, by default the common one, stored without a tensor.
class cpu_generator_state {
 public:
  explicit cpu_generator_state(at::Generator of = at::detail::getDefaultCPUGenerator())
      : cpu_generator_state{*at::check_generator<at::CPUGeneratorImpl>(of)} {}
  explicit cpu_generator_state(at::CPUGeneratorImpl& of)
      : engine_{engine_of(of)}, float_{of.next_float_normal_sample()}, double_{of.next_double_normal_sample()} {}

  /// A generator of its own in this state.
  [[nodiscard]] at::Generator copy() const {
    auto made = at::detail::createCPUGenerator();
    auto& impl = *at::check_generator<at::CPUGeneratorImpl>(made);
    auto engine = impl.engine();
    engine.set_data(engine_);
    impl.set_engine(engine);
    impl.set_next_float_normal_sample(float_);
    impl.set_next_double_normal_sample(double_);
    return made;
  }
  /// Whether the common generator is in this state.
  [[nodiscard]] bool is_now() const {
    cpu_generator_state const now;
    return engine_.seed_ == now.engine_.seed_ && engine_.left_ == now.engine_.left_ &&
           engine_.next_ == now.engine_.next_ && engine_.state_ == now.engine_.state_ &&
           float_.has_value() == now.float_.has_value() && double_.has_value() == now.double_.has_value();
  }

 private:
  [[nodiscard]] static at::mt19937_data_pod engine_of(at::CPUGeneratorImpl& generator) {
    std::lock_guard const lock{generator.mutex_};
    return generator.engine().data();
  }

  at::mt19937_data_pod engine_;
  /// The second of two normal numbers, if it has not been used.
  decltype(std::declval<at::CPUGeneratorImpl&>().next_float_normal_sample()) float_;
  decltype(std::declval<at::CPUGeneratorImpl&>().next_double_normal_sample()) double_;
};

/// The namespace is part of the name by which the libraries of one program share the list of runs: a class with a
/// different layout needs a different number.
inline namespace generator_use_1 {

/// A run that reads the states of generators, to draw the same numbers again. Generators are global, so two threads
/// that do this at once would draw each other's numbers.
class generator_use {
 public:
  /// \param draws  whether the run may draw numbers: if not, it leaves generators alone as soon as another thread uses
  ///   them
  explicit generator_use(Rng rng, bool draws = true)
      : counts_{rng == Rng::Preserve}, draws_{draws}, thread_{std::this_thread::get_id()} {
    if (!counts_) return;
    std::lock_guard const lock{access()};
    start_.emplace();  // under the lock, so that no other thread restores generators
    for (auto* const other : all()) {
      if (other->thread_ == thread_) continue;
      overlaps_ = overlaps_ || other->draws_ || !draws_;
      other->overlaps_ = other->overlaps_ || draws_ || !other->draws_;
    }
    all().push_back(this);
  }
  generator_use(generator_use const&) = delete;
  generator_use& operator=(generator_use const&) = delete;
  ~generator_use() {
    if (!counts_) return;
    std::lock_guard const lock{access()};
    all().erase(std::find(all().begin(), all().end(), this));
  }
  /// Sets the generators to these states, unless that would take numbers from another thread.
  void put_back(generator_states const& states) const {
    if (!counts_) return;
    std::lock_guard const lock{access()};
    if (!draws_ && overlaps_) return;
    bool const same_devices = states.devices_are_now();
    cpu_generator_state const before;
    states.restore();
    if (same_devices && before.is_now()) return;
    for (auto* const other : all()) other->was_put_back_ = other->was_put_back_ || other->thread_ != thread_;
  }
  /// Whether numbers were drawn since it began; also true if another thread has restored generators meanwhile, which
  /// hides it.   \param start  the generators' states at that time
  [[nodiscard]] bool drew(generator_states const& start) const {
    if (!counts_) return false;
    bool const same = start_->is_now() && start.devices_are_now();
    std::lock_guard const lock{access()};  // after the comparison, so that a thread that restores has set its mark
    return !same || was_put_back_;
  }
  /// Whether another thread may have drawn numbers meanwhile; in a run that draws none, whether another thread used the
  /// generators at all.
  [[nodiscard]] bool overlaps() const {
    std::lock_guard const lock{access()};
    return counts_ && overlaps_;
  }
  /// To be called if random numbers were drawn.
  /// \throws invalid_call   if another thread may have drawn numbers meanwhile
  void check(char const* who) const {
    if (!counts_ || !draws_) return;
    std::lock_guard const lock{access()};
    if (overlaps_)
      throw invalid_call{who, "random numbers were drawn while another thread ran a checkpointed computation, too", {},
                         "run them one after another; or set rng(cairn::libtorch::Rng::Ignore) where no random numbers "
                         "are drawn"};
  }

 private:
  /// The runs of the program that are in progress.
  struct registry {
    std::mutex access;
    std::vector<generator_use*> all;
  };
  /// One for all libraries of a program, also of those that hide their names: generators belong to the process.
  [[nodiscard, gnu::visibility("default")]] static registry& of_process() {
    static registry one;
    return one;
  }
  [[nodiscard]] static std::mutex& access() { return of_process().access; }
  [[nodiscard]] static std::vector<generator_use*>& all() { return of_process().all; }

  bool counts_, draws_, overlaps_ = false, was_put_back_ = false;
  std::thread::id thread_;
  std::optional<cpu_generator_state> start_;  ///< used if numbers are preserved
};

}  // namespace generator_use_1

/// Restores generators at the end of a scope, even after an exception.
class generator_guard {
 public:
  /// \param use, states  must outlive the guard; the states are read at its end
  generator_guard(generator_use const& use, generator_states const& states) noexcept : use_{use}, states_{states} {}
  generator_guard(generator_guard const&) = delete;
  generator_guard& operator=(generator_guard const&) = delete;
  ~generator_guard() { use_.put_back(states_); }

 private:
  generator_use const& use_;
  generator_states const& states_;
};

/// Sets something for a scope, and what was there before at its end.
template <class Settings>
class scope_of {
 public:
  explicit scope_of(Settings const& inside) { inside.set(); }
  scope_of(scope_of const&) = delete;
  scope_of& operator=(scope_of const&) = delete;
  ~scope_of() { before_.set(); }

 private:
  Settings before_;
};

/// The automatic casts of the calling thread, for the CPU and for CUDA devices: those of now.
class autocast_state {
 public:
  void set() const {
    for (auto const& [device, on, type] : of_) {
      switch_autocast(device, on);
      set_autocast_type(device, type);
    }
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  /// The same without the cache of casts. A computation without a graph must not leave a cast in the cache: the caller
  /// would use it, and get no gradient.
  [[nodiscard]] autocast_state without_cache() const {
    auto other = *this;
    other.cache_ = false;
    return other;
  }
  /// Whether a leaf is cast once for all of its uses.
  [[nodiscard]] bool caches() const { return (of_[0].on || of_[1].on) && cache_; }

 private:
  struct setting {
    at::DeviceType device;
    bool on = autocast_is_on(device);
    at::ScalarType type = autocast_type(device);
  };
  std::array<setting, 2> of_{setting{at::kCPU}, setting{at::kCUDA}};
  bool cache_ = at::autocast::is_autocast_cache_enabled();
};
using autocast_scope = scope_of<autocast_state>;

/// Restores generators and automatic casts at the end of a scope, even after an exception.
class rng_autocast_guard {
 public:
  /// \param tensors  the generators of their devices are included   \param rng  Ignore excludes the generators
  /// \param use  restores the generators; must outlive the guard
  rng_autocast_guard(at::TensorList tensors, Rng rng, generator_use const& use)
      : before_{rng == Rng::Preserve ? generator_states::now(tensors) : generator_states{}},
        generators_{use, before_} {}

 private:
  generator_states before_;
  generator_guard generators_;
  autocast_scope casts_{autocast_state{}};
};

struct kernel_settings {
  c10::ScalarType type = c10::get_default_dtype_as_scalartype();
  int threads = at::get_num_threads();  ///< a sum over threads has other bits than one by another number of them
  bool deterministic = at::globalContext().deterministicAlgorithms();
  bool only_warns = at::globalContext().deterministicAlgorithmsWarnOnly();
  bool uses_mkldnn = at::globalContext().userEnabledMkldnn();
  [[nodiscard]] bool operator==(kernel_settings const&) const = default;

  /// Most belong to the process, so they are set only where they differ.
  void set() const {
    kernel_settings const now;
    if (type != now.type) c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
    if (threads != now.threads) at::set_num_threads(threads);
    if (deterministic != now.deterministic || only_warns != now.only_warns)
      at::globalContext().setDeterministicAlgorithms(deterministic, only_warns);
    if (uses_mkldnn != now.uses_mkldnn) at::globalContext().setUserEnabledMkldnn(uses_mkldnn);
  }
};
using settings_scope = scope_of<kernel_settings>;

}  // namespace cairn::libtorch::detail
