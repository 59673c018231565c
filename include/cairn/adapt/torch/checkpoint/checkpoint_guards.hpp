#pragma once
/// \file checkpoint_guards.hpp  What holds for all regions of a scope, whatever their options say.
#include <optional>
#include <utility>

namespace cairn::libtorch {
namespace detail {

/// What is set for the regions that this thread makes.
struct checkpoint_overrides {
  std::optional<bool> early_stop, debug;

  [[nodiscard]] static checkpoint_overrides& of_thread() {
    static thread_local checkpoint_overrides set;
    return set;
  }
};

/// Sets one of them, and what it was before at its end.
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

/// While it lives, the regions that this thread makes have this `early_stop`, whatever their options say. Guards nest.
class checkpoint_early_stop_guard : detail::override_guard<&detail::checkpoint_overrides::early_stop> {
 public:
  /// \param on  whether second runs end with the last tensor that backward wants
  explicit checkpoint_early_stop_guard(bool on) : override_guard{on} {}
};

/// While it lives, the regions that this thread makes have this `debug`, whatever their options say. Guards nest.
class checkpoint_debug_guard : detail::override_guard<&detail::checkpoint_overrides::debug> {
 public:
  /// \param on  whether errors list the operations of both runs
  explicit checkpoint_debug_guard(bool on) : override_guard{on} {}
};

}  // namespace cairn::libtorch
