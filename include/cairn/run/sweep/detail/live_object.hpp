// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file live_object.hpp  The caller's object in a sweep, and snapshots of it.
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// An object of the caller's that steps advance in place.
template <class State>
class live_object {
 public:
  using snapshot = stored_as<State>;

  void stand_at(State& x) noexcept {
    x_ = address_of(x);
    moved_ = at_final_ = false;
  }
  void clear() noexcept {
    looked_at_.reset();
    x_ = nullptr;
  }

  [[nodiscard]] State& operator*() const noexcept { return *x_; }
  /// The same for a call that changes the object.
  [[nodiscard]] State& changed() noexcept {
    at_final_ = false;
    return *x_;
  }
  /// The same for an adjoint; with `moves` it may leave the object in no state of the loop.
  [[nodiscard]] State& lent(bool moves) noexcept {
    moved_ = moves;
    return changed();
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] bool is_at_final() const noexcept { return at_final_; }
  void reaches_final() noexcept { at_final_ = true; }
  void restore(snapshot const& from) {
    restore_state(*x_, from);
    moved_ = at_final_ = false;
  }

  [[nodiscard]] snapshot now() const { return taken_snapshot(std::as_const(*x_)); }
  /// Saves into an old snapshot. Returns false if this is not possible, or if the snapshot then has spare capacity: it
  /// has to be made anew.
  [[nodiscard]] bool saved_into(snapshot* old) const {
    if constexpr (saves_into<State>) {
      if (old == nullptr) return false;
      save_state(std::as_const(*x_), *old);
      return has_exact_capacity(std::as_const(*old));
    } else return false;
  }
  /// The result of f for a snapshot of the present state.
  template <class Fn>
  auto look(Fn f) const {
    if constexpr (saves_into<State>) {
      if (!looked_at_) looked_at_.emplace(now());
      else save_state(std::as_const(*x_), *looked_at_);
      return f(std::as_const(*looked_at_));
    } else return f(save_state(std::as_const(*x_)));
  }
  /// A snapshot of what run(object) makes of another state. The object is restored afterwards.
  template <class Run>
  [[nodiscard]] snapshot made_from(snapshot const& from, Run run) {
    snapshot const here = now();
    auto const kept_snapshot = [&] { restore_state(*x_, here); };
    try {
      restore_state(*x_, from);
      run(*x_);
      snapshot made = now();
      kept_snapshot();
      return made;
    } catch (...) {
      kept_snapshot();
      throw;
    }
  }

 private:
  struct no_snapshot {
    void reset() noexcept {}
  };

  /// The memory of `look`.
  mutable std::conditional_t<saves_into<State>, std::optional<snapshot>, no_snapshot> looked_at_;
  State* x_ = nullptr;
  bool moved_ = false;
  bool at_final_ = false;
};

}  // namespace cairn::detail
