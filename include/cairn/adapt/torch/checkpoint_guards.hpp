#pragma once
/// \file checkpoint_guards.hpp  What holds for all regions of a scope, whatever their options say.
#include <optional>
#include <utility>

namespace cairn {
namespace detail {

/// What is set for the regions that this thread makes.
struct checkpoint_overrides {
  std::optional<bool> early_stop, debug;

  [[nodiscard]] static checkpoint_overrides& of_thread() {
    static thread_local checkpoint_overrides set;
    return set;
  }
};

}  // namespace detail

/// While it lives, the regions that this thread makes have this `early_stop`, whatever their options say. Guards nest.
class checkpoint_early_stop_guard {
 public:
  /// \param on  whether second runs end with the last tensor that backward wants
  explicit checkpoint_early_stop_guard(bool on)
      : before_{std::exchange(detail::checkpoint_overrides::of_thread().early_stop, on)} {}
  checkpoint_early_stop_guard(checkpoint_early_stop_guard const&) = delete;
  checkpoint_early_stop_guard& operator=(checkpoint_early_stop_guard const&) = delete;
  ~checkpoint_early_stop_guard() { detail::checkpoint_overrides::of_thread().early_stop = before_; }

 private:
  std::optional<bool> before_;
};

/// While it lives, the regions that this thread makes have this `debug`, whatever their options say. Guards nest.
class checkpoint_debug_guard {
 public:
  /// \param on  whether errors list the operations of both runs
  explicit checkpoint_debug_guard(bool on)
      : before_{std::exchange(detail::checkpoint_overrides::of_thread().debug, on)} {}
  checkpoint_debug_guard(checkpoint_debug_guard const&) = delete;
  checkpoint_debug_guard& operator=(checkpoint_debug_guard const&) = delete;
  ~checkpoint_debug_guard() { detail::checkpoint_overrides::of_thread().debug = before_; }

 private:
  std::optional<bool> before_;
};

}  // namespace cairn
