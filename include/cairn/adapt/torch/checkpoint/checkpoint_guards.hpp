// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_guards.hpp  Overrides options of all regions in a scope.
#include <optional>
#include <utility>

namespace cairn::libtorch {
namespace detail {

/// The overrides for regions that this thread creates.
struct checkpoint_overrides {
  std::optional<bool> early_stop, debug;

  [[nodiscard]] static checkpoint_overrides& of_thread() {
    static thread_local checkpoint_overrides set;
    return set;
  }
};

/// Sets one override, and restores the previous value at its end.
template <std::optional<bool> checkpoint_overrides::*Setting>
class override_guard {
 public:
  override_guard(override_guard const&) = delete;
  override_guard& operator=(override_guard const&) = delete;

 protected:
  explicit override_guard(bool on) : before_{std::exchange(checkpoint_overrides::of_thread().*Setting, on)} {}
  ~override_guard() { checkpoint_overrides::of_thread().*Setting = before_; }

 private:
  std::optional<bool> before_;
};

}  // namespace detail

/// During its lifetime, the regions that this thread creates use this `early_stop`, regardless of their options. Guards
/// nest.
class checkpoint_early_stop_guard : detail::override_guard<&detail::checkpoint_overrides::early_stop> {
 public:
  /// \param on  whether recomputation ends with the last tensor that backward needs
  explicit checkpoint_early_stop_guard(bool on) : override_guard{on} {}
};

/// During its lifetime, the regions that this thread creates use this `debug`, regardless of their options. Guards
/// nest.
class checkpoint_debug_guard : detail::override_guard<&detail::checkpoint_overrides::debug> {
 public:
  /// \param on  whether errors list the operations of both runs
  explicit checkpoint_debug_guard(bool on) : override_guard{on} {}
};

}  // namespace cairn::libtorch
