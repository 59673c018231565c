#pragma once
/// \file event.hpp  What an observer sees of a sweep.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// The part of a sweep that an action belongs to: everything up to the turn, running again what was not kept, and
/// adjoints.
enum class phase : std::uint8_t { forward, recompute, reverse };

/// Observers are called twice an action, around it.
enum class moment : std::uint8_t { before, after };

/// One action of a sweep as an observer sees it; good during the call only.
/// An observer is any callable that takes an `event const&`. What it throws passes through the sweep like a step's own
/// exception.
class event {
 public:
  using clock = std::int64_t (*)();  ///< answers nanoseconds
  using sink = void (*)(void* context, void const* bytes, std::size_t size);  ///< takes one run of bytes
  /// What stands behind an event: filled in by executors.
  struct source {
    void const* sweep = nullptr;  ///< handed to the functions below
    std::size_t (*bytes_held)(void const* sweep) = nullptr;  ///< behind `event::bytes_held`
    bool (*visit_live)(void const* sweep, sink, void* context) = nullptr;  ///< behind `event::each_buffer`
    clock now = nullptr;  ///< the observer's clock, or null
  };

  /// Made by executors; refers to `what` and `from`.
  constexpr event(action const& what, phase where, moment when, source const& from) noexcept
      : what_{&what}, source_{&from}, phase_{where}, moment_{when} {}

  /// The action: its kind, range of steps, slot and tier.
  [[nodiscard]] constexpr action const& what() const noexcept { return *what_; }
  [[nodiscard]] constexpr cairn::phase phase() const noexcept { return phase_; }  ///< the part of the sweep
  [[nodiscard]] constexpr cairn::moment moment() const noexcept { return moment_; }  ///< before or after the action
  /// Bytes of all states that the sweep holds now, kept and working. Cost: one `bytes_of` a state.
  [[nodiscard]] std::size_t bytes_held() const { return source_->bytes_held(source_->sweep); }
  /// Calls f(void const*, std::size_t) for each run of bytes of the live state (after `turn`: of the final state).
  /// False, and no call, where there is no live state or its bytes cannot be told; see `visit_buffers`.
  template <class F>
  bool each_buffer(F f) const {
    return source_->visit_live(
        source_->sweep,
        [](void* context, void const* bytes, std::size_t size) { (*static_cast<F*>(context))(bytes, size); }, &f);
  }
  /// Nanoseconds on the observer's own clock: its static member function `clock_now()`; 0 if it has none.
  [[nodiscard]] std::int64_t now() const { return source_->now != nullptr ? source_->now() : 0; }

 private:
  action const* what_;
  source const* source_;
  cairn::phase phase_;
  cairn::moment moment_;
};

/// The observer that looks at nothing: a sweep with it is the same instructions as one without a hook.
struct no_observer {};

}  // namespace cairn
