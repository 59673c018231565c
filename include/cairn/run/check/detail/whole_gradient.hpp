// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file whole_gradient.hpp  The gradient of a whole loop, without the types of its states and adjoints.
#include <utility>
#include <cairn/run/check/detail/checked_functions.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn::detail {

/// A state that the executor can copy. Copies are not inlined into the sweep, which waits for the user's steps.
class copied_state_of_loop {
 public:
  copied_state_of_loop(checked_functions const& functions, unnamed_state const& x)
      : functions_{&functions}, x_{functions.copy(x)} {}
  [[gnu::noinline]] copied_state_of_loop(copied_state_of_loop const& from)
      : copied_state_of_loop{*from.functions_, *from.x_} {}
  copied_state_of_loop(copied_state_of_loop&&) noexcept = default;
  [[gnu::noinline]] copied_state_of_loop& operator=(copied_state_of_loop const& from) {
    if (this != &from) x_ = functions_->copy(*from.x_);
    return *this;
  }
  copied_state_of_loop& operator=(copied_state_of_loop&&) noexcept = default;
  ~copied_state_of_loop() = default;

  [[nodiscard]] unnamed_state& operator*() noexcept { return *x_; }
  [[nodiscard]] unnamed_state const& operator*() const noexcept { return *x_; }

 private:
  checked_functions const* functions_;
  held_state x_;
};

/// The gradient of n steps from x0, with `pull` for the adjoint.
[[nodiscard, gnu::cold]] inline held_bar whole_gradient(
    checked_functions& loop, unnamed_state const& x0, step_index n, held_bar bar,
    call_ref<void(unnamed_state const&, unnamed_bar&, step_index)> pull) {
  auto const step = in_place([&](copied_state_of_loop& x, step_index i) { loop.advance(*x, i); });
  struct no_bar {};  // goes through the sweep; `bar`, which cannot be copied, stays where it is
  auto const adjoint = [&](copied_state_of_loop const& x, no_bar&, step_index i) { pull(*x, *bar, i); };
  (void)gradient(step, copied_state_of_loop{loop, x0}, n, no_bar{}, adjoint);
  return bar;
}

}  // namespace cairn::detail
