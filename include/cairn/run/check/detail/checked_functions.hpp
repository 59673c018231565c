// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checked_functions.hpp  What a check asks of a loop, without the types of its states, steps and adjoints.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/run/check/detail/number_runs.hpp>

namespace cairn::detail {

class unnamed_state;  // never defined: a state, or an adjoint, of a type that only the loop knows
class unnamed_bar;

/// Owns a state or an adjoint without its type.
template <class Unnamed>
class held_value {
 public:
  /// Holds the T that `make()` returns.
  template <class T, class Make>
  [[nodiscard]] static held_value made(Make&& make) {
    held_value value;
    value.at_ = new T(make());
    value.end_ = [](void* at) { delete static_cast<T*>(at); };
    return value;
  }
  held_value(held_value&& from) noexcept : at_{std::exchange(from.at_, nullptr)}, end_{from.end_} {}
  [[gnu::noinline]] held_value& operator=(held_value&& from) noexcept {
    std::swap(at_, from.at_);
    std::swap(end_, from.end_);
    return *this;
  }
  [[gnu::noinline]] ~held_value() {
    if (at_ != nullptr) end_(at_);
  }
  [[nodiscard]] Unnamed& operator*() noexcept { return *static_cast<Unnamed*>(at_); }
  [[nodiscard]] Unnamed const& operator*() const noexcept { return *static_cast<Unnamed const*>(at_); }

 private:
  held_value() = default;
  void* at_ = nullptr;
  void (*end_)(void*) = nullptr;
};
using held_state = held_value<unnamed_state>;
using held_bar = held_value<unnamed_bar>;

/// What a check asks of a loop. No check knows the types of its states, steps and adjoints, so that each check is
/// compiled once, not for each loop that is checked.
class checked_functions {
 public:
  /// What the loop's types say: whether all numbers of a state are known, an adjoint is a state, the step writes into
  /// another state, `pull` calls the step, there is a tangent, and the step repeats what it chose at first.
  struct facts {
    bool numbered, bar_is_state, out_of_place, step_in_adjoint, tangent, chooses;
  };

  [[nodiscard]] virtual facts known() const = 0;
  [[nodiscard]] virtual held_state copy(unnamed_state const& x) const = 0;
  virtual void advance(unnamed_state& x, step_index i) = 0;
  /// The same with a choice of its own. \pre chooses
  virtual void advance_anew(unnamed_state& x, step_index i) = 0;
  /// \pre out_of_place
  virtual void run_out_of_place(unnamed_state const& x, unnamed_state& x1, step_index i) = 0;
  /// \pre tangent
  virtual void take_tangent(unnamed_state const& x, unnamed_state& dx, step_index i) = 0;
  [[nodiscard]] virtual held_bar made_bar(unnamed_state const& x) = 0;
  virtual void pull(unnamed_state const& x, unnamed_bar& bar, step_index i) = 0;

  /// Visits the numbers that are differentiated, before any are taken as constants, or all that are known.
  virtual void visit(unnamed_state& x, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_state const& x, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_bar& bar, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_bar const& bar, bool all, run_visitor f) const = 0;
  /// Calls f for the groups of differentiated numbers, as `for_each_group` does.
  virtual void each_group(unnamed_state const& x, call_ref<void(std::size_t, bool)> f) const = 0;
  /// See `member_with`.
  [[nodiscard]] virtual std::int64_t member_of(unnamed_state const& x, std::int64_t number) const = 0;
  /// Chooses the numbers of one member, if the adjoint has fewer than the state.
  virtual void find_part(unnamed_state const& x0, step_index n) = 0;
  /// Whether a frame that holds `from` may be used for x again.
  [[nodiscard]] virtual bool has_capacity_of(unnamed_state const& x, unnamed_state const& from) const = 0;
  /// Whether the values of two states differ, as far as they are known.
  [[nodiscard]] virtual bool differ(unnamed_state const& a, unnamed_state const& b) const = 0;

 protected:
  ~checked_functions() = default;
};

}  // namespace cairn::detail
