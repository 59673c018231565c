// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file dry_run.hpp  The peak memory of a sweep whose states change their size: runs the executor on states that are
/// only a size.
#include <utility>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {
namespace detail {

/// Bytes of all phantoms alive, and the most so far.
struct phantom_account {
  wide held = 0, peak = 0;
  void add(wide bytes) noexcept {
    held += bytes;
    if (held > peak) peak = held;
  }
};

/// A state that is only a size.
class phantom {
 public:
  phantom(phantom_account& account, wide bytes) noexcept : account_{&account}, bytes_{bytes} { account.add(bytes); }
  phantom(phantom const& other) noexcept : phantom{*other.account_, other.bytes_} {}
  phantom& operator=(phantom const& other) noexcept {
    resize(other.bytes_);
    return *this;
  }
  ~phantom() { account_->held -= bytes_; }
  void resize(wide bytes) noexcept {
    account_->held -= bytes_;
    account_->add(bytes_ = bytes);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t(bytes_); }
  /// A replay check can compare only its size.
  template <class Fn>
  void visit_buffers(Fn& f) const {
    f(static_cast<void const*>(&bytes_), sizeof bytes_);
  }

 private:
  phantom_account* account_;
  wide bytes_;
};

struct phantom_bar {};

}  // namespace detail

/// The exact peak in bytes of one `gradient` over a store in memory whose state i holds `size_of(i)` bytes; with states
/// of equal size it is the `peak_bytes` of `estimate`. Temporary memory inside a step is not included.
/// Exact if a step leaves its states without spare capacity; otherwise an upper bound, if size_of counts that capacity.
/// \param size_of  bytes of state i, 0 <= i <= n, as `bytes_of` counts them   \param sizes  of everything else; `state`
///   is ignored
/// \param options  those of the sweep: the bytes of a replay check, and of the states that it makes, are counted
/// Cost: one call of size_of for each step call of the plan; no state is made. The replay check, if any, costs extra.
template <schedule Plan, class SizeOf>
[[nodiscard]] wide dry_run(Plan const& plan, SizeOf size_of, sweep_form form, sweep_sizes const& sizes,
                            sweep_options options = {}) {
  using detail::phantom;
  detail::phantom_account account;
  auto const heap_of = [&](step_index i) { return wide(size_of(i)) - sizes.state_inline; };
  phantom const x0{account, heap_of(0)};
  auto const sweep = [&](auto step) {
    auto const bar = [](phantom const&) { return detail::phantom_bar{}; };
    auto const adjoint_of = [&](auto adjoint) { (void)gradient(step, x0, plan, bar, adjoint, options); };
    if (form.adjoint == adjoint_form::with_next)
      adjoint_of([](phantom const&, phantom const&, detail::phantom_bar&, step_index) {});
    else if (form.adjoint == adjoint_form::recorded)
      adjoint_of(recorded{[&](phantom& x, step_index i) {
                            x.resize(heap_of(i + 1));
                            return detail::no_tape{};
                          },
                          [](detail::no_tape&, detail::phantom_bar&) {}});
    else adjoint_of(leaf([](phantom const&, detail::phantom_bar&, step_index, step_index) {}));
  };
  if (form.step == step_form::in_place) sweep([&](phantom& x, step_index i) { x.resize(heap_of(i + 1)); });
  else if (form.step == step_form::by_value)
    sweep([&](phantom const&, step_index i) { return phantom{account, heap_of(i + 1)}; });
  else sweep([&](phantom const&, phantom& x1, step_index i) { x1.resize(heap_of(i + 1)); });

  detail::sweep_needs needs{plan.slots(),          0,                    tapes_of(plan),   plan.leaf(),
                            initial_is_free(plan), table_bytes_of(plan), plan.steps() > 0};
  needs.hashes = replay_check_bytes(options.verify, {plan.steps(), plan.slots(), tapes_of(plan)});
  sweep_sizes rest = sizes;
  rest.state = sizes.state_inline;  // frames in use are in the account
  // `initial` already has the caller's x0
  return detail::sweep_bytes(needs, form, rest, 0) + account.peak - heap_of(0);
}

}  // namespace cairn
