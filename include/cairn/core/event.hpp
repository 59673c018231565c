// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file event.hpp  What an observer sees during a sweep.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The part of a sweep that an action belongs to: everything up to the turn, recomputation of states that were not
/// kept, and adjoints.
enum class phase : std::uint8_t { forward, recompute, reverse };

/// Observers are called twice per action, before and after it.
enum class moment : std::uint8_t { before, after };

/// How many steps a sweep runs and reverses, as its actions count them. Steps that an adjoint runs by itself are not
/// counted.
struct sweep_work {
  wide runs = 0;       ///< steps run by `advance`, `turn` and `record`: forward, and again
  wide reversals = 0;  ///< steps reversed

  [[nodiscard]] constexpr wide steps() const noexcept { return runs + reversals; }  ///< both together
  /// Adds what one action does.
  constexpr sweep_work& operator+=(action const& a) noexcept {
    switch (a.kind) {
      case action_kind::advance:
      case action_kind::turn:
      case action_kind::record: runs += wide(a.to - a.from); break;
      case action_kind::reverse: reversals += wide(a.to - a.from); break;
      default: break;
    }
    return *this;
  }
  friend constexpr bool operator==(sweep_work const&, sweep_work const&) = default;
};

/// One action of a sweep as an observer sees it; valid only during the call.
/// An observer is any callable that takes an `event const&`. An exception that it throws passes through the sweep like
/// one from a step.
class event {
 public:
  using clock = std::int64_t (*)();  ///< returns nanoseconds
  using sink = void (*)(void* context, void const* bytes, std::size_t size);  ///< receives one run of bytes
  /// The executor's side of an event, filled in by executors.
  struct source {
    void const* sweep = nullptr;  ///< passed to the functions below
    std::size_t (*bytes_held)(void const* sweep) = nullptr;  ///< implements `event::bytes_held`
    bool (*visit_live)(void const* sweep, sink, void* context) = nullptr;  ///< implements `event::each_buffer`
    clock now = nullptr;  ///< the observer's clock, or null
    bool (*add_work_left)(void const* sweep, sweep_work& left) = nullptr;  ///< implements `event::work_left`; or null
    /// Implements `event::bytes_held(tier)`; or null if all is in memory.
    std::size_t (*bytes_on)(void const* sweep, tier where) = nullptr;
    sweep_parts (*parts)(void const* sweep) = nullptr;  ///< implements `event::parts_held`; or null if all are states
  };

  /// Made by executors; keeps references to `what` and `from`.
  constexpr event(action const& what, phase where, moment when, source const& from) noexcept
      : what_{&what}, source_{&from}, phase_{where}, moment_{when} {}

  /// The action: its kind, range of steps, slot and tier.
  [[nodiscard]] constexpr action const& what() const noexcept { return *what_; }
  [[nodiscard]] constexpr cairn::phase phase() const noexcept { return phase_; }  ///< the part of the sweep
  [[nodiscard]] constexpr cairn::moment moment() const noexcept { return moment_; }  ///< before or after the action
  /// Bytes of all states that the sweep holds now, checkpoints and states in use. Cost: one `bytes_of` for each
  /// state that may have changed since the last call, which are a few after an action; the first call asks all.
  [[nodiscard]] std::size_t bytes_held() const { return source_->bytes_held(source_->sweep); }
  /// The same on one tier, as far as the store says what it holds there.
  [[nodiscard]] std::size_t bytes_held(tier where) const {
    if (source_->bytes_on != nullptr) return source_->bytes_on(source_->sweep, where);
    return where == tier::memory ? bytes_held() : 0;
  }
  /// What `bytes_held` is the sum of: of a chain or a graph states, tapes and adjoints, of a loop states alone.
  [[nodiscard]] sweep_parts parts_held() const {
    if (source_->parts != nullptr) return source_->parts(source_->sweep);
    return {.states = bytes_held()};
  }
  /// Calls f(void const*, std::size_t) for each run of bytes of the live state (after `turn`: of the final state).
  /// Returns false and calls nothing if there is no live state or its bytes are not known; see `visit_buffers`.
  template <class Fn>
  bool each_buffer(Fn f) const {
    return source_->visit_live(
        source_->sweep,
        [](void* context, void const* bytes, std::size_t size) { (*static_cast<Fn*>(context))(bytes, size); }, &f);
  }
  /// What the plan has still to run and reverse at this moment, including an action that is about to begin; empty until
  /// the length of the loop is known. Cost: a copy of the plan's cursor and a walk to its end, so ask only once per
  /// sweep.
  /// \tparam Work  always `sweep_work`: a template, so that only programs that ask pay for compiling std::optional
  template <class Work = sweep_work>
  [[nodiscard]] std::optional<Work> work_left() const {
    Work left;
    if (source_->add_work_left == nullptr || !source_->add_work_left(source_->sweep, left)) return std::nullopt;
    return left;
  }
  /// Nanoseconds on the observer's own clock, its static member function `clock_now()`; 0 if it has none.
  [[nodiscard]] std::int64_t now() const { return source_->now != nullptr ? source_->now() : 0; }

 private:
  action const* what_;
  source const* source_;
  cairn::phase phase_;
  cairn::moment moment_;
};

/// The observer that does nothing: a sweep with it compiles to the same instructions as one without observer.
struct no_observer {};

}  // namespace cairn
