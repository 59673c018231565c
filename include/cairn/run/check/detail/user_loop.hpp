// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file user_loop.hpp  A loop whose adjoint is checked: the user's step and adjoint, and the functions that hide their
/// types.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/sweep/detail/call.hpp>

namespace cairn::detail {

/// Stands for a missing seed: the adjoint is a State.
struct state_is_bar {};
/// Stands for a missing tangent: differences are used.
struct no_tangent {};

/// Runs steps and adjoints one by one.
template <class State, class Bar, class Step, class Adjoint, class Seed>
class user_loop {
 public:
  static constexpr auto shape = shape_of_step<Step, State>();
  static constexpr bool chooses = requires(Step& step, State& x, step_index i) { step.choose(chosen_anew{}, x, i); };
  static constexpr auto of_adjoint = shape_of_adjoint<Adjoint, State, Bar>();

  user_loop(Step& step, Adjoint& adjoint, Seed& seed) : step_{step}, adjoint_{adjoint}, seed_{seed} {}

  void advance(State& x, step_index i) {
    if constexpr (shape.form == step_form::in_place) {
      step_index failed = i;
      run_in_place(step_, x, i, i + 1, failed);
    } else {
      State const from = copy_of(x);
      if constexpr (shape.form == step_form::by_value) {
        if constexpr (shape.indexed) x = call_lending(step_, from, std::as_const(i));
        else x = call_lending(step_, from);
      } else run_out_of_place(from, x, i);
    }
  }
  void advance_anew(State& x, step_index i) { step_.choose(chosen_anew{}, x, i); }
  void run_out_of_place(State const& x, State& x1, step_index i) {
    if constexpr (shape.indexed) call_lending(step_, x, x1, std::as_const(i));
    else call_lending(step_, x, x1);
  }
  /// Turns bar of state i+1 into bar of state i.
  void pull(State const& x, Bar& bar, step_index i) {
    if constexpr (of_adjoint.form == adjoint_form::recorded) {
      State moving = copy_of(x);
      auto tape = record_step(adjoint_.record, moving, i);
      pull_back_step<of_adjoint.reverse_indexed>(adjoint_.reverse, bar, tape, i);
    } else if constexpr (of_adjoint.form == adjoint_form::with_next) {
      State next = copy_of(x);
      advance(next, i);
      pull_back(adjoint_, bar, x, std::as_const(next), bar, std::as_const(i));
    } else if constexpr (of_adjoint.form == adjoint_form::leaf) {
      step_index const after = i + 1;
      pull_back(adjoint_, bar, x, bar, std::as_const(i), after);
    } else pull_back_step<of_adjoint.indexed>(adjoint_, bar, x, i);
  }
  Bar made_bar(State const& x) {
    std::optional<Bar> bar;
    if constexpr (std::is_same_v<Seed const, state_is_bar const>) bar.emplace(copy_of(x));
    else if constexpr (seed_function<Seed, State>)
      emplace_by(bar, [&] { return taken_out_by([&]() -> decltype(auto) { return call_lending(seed_, x); }); });
    else bar.emplace(copy_of(seed_));
    return std::move(*bar);
  }

 private:
  Step& step_;
  Adjoint& adjoint_;
  Seed& seed_;
};

/// x without its type, or with it again.
template <class Unnamed, class T>
[[nodiscard]] auto& without_type(T& x) noexcept {
  if constexpr (std::is_const_v<T>) return *static_cast<Unnamed const*>(static_cast<void const*>(address_of(x)));
  else return *static_cast<Unnamed*>(static_cast<void*>(address_of(x)));
}
template <class T, class Unnamed>
[[nodiscard]] auto& with_type(Unnamed& x) noexcept {
  if constexpr (std::is_const_v<Unnamed>) return *static_cast<T const*>(static_cast<void const*>(&x));
  else return *static_cast<T*>(static_cast<void*>(&x));
}
/// The functions of a loop, made from those of the user.
/// \tparam All  which numbers are differentiated, before any are taken as constants
template <class State, class Bar, class Step, class Tangent, class Adjoint, class Seed, class All>
class typed_functions final : public checked_functions {
  static constexpr bool bar_is_state = std::is_same_v<Bar, State>;
  using loop_type = user_loop<State, Bar, Step, Adjoint, Seed>;
  static constexpr bool out_of_place = loop_type::shape.form == step_form::out_of_place;
  static constexpr bool has_tangent = !std::is_same_v<Tangent const, no_tangent const>;

 public:
  typed_functions(Step& step, Tangent& tangent, Adjoint& adjoint, Seed& seed, All const& which)
      : loop_{step, adjoint, seed}, tangent_{tangent}, all_{which} {}

  [[nodiscard]] facts known() const override {
    return {numbered<State>, bar_is_state, out_of_place, loop_type::of_adjoint.form == adjoint_form::with_next,
            has_tangent, loop_type::chooses};
  }
  [[nodiscard]] held_state copy(unnamed_state const& x) const override {
    return held_state::made<State>([&] { return copy_of(state_of(x)); });
  }
  void advance(unnamed_state& x, step_index i) override { loop_.advance(state_of(x), i); }
  void advance_anew([[maybe_unused]] unnamed_state& x, [[maybe_unused]] step_index i) override {
    if constexpr (loop_type::chooses) loop_.advance_anew(state_of(x), i);
  }
  void run_out_of_place([[maybe_unused]] unnamed_state const& x, [[maybe_unused]] unnamed_state& x1,
                        [[maybe_unused]] step_index i) override {
    if constexpr (out_of_place) loop_.run_out_of_place(state_of(x), state_of(x1), i);
  }
  void take_tangent([[maybe_unused]] unnamed_state const& x, [[maybe_unused]] unnamed_state& dx,
                    [[maybe_unused]] step_index i) override {
    if constexpr (has_tangent) {
      if constexpr (calls<Tangent, State const&, State&, step_index>) tangent_(state_of(x), state_of(dx), i);
      else tangent_(state_of(x), state_of(dx));
    }
  }
  [[nodiscard]] held_bar made_bar(unnamed_state const& x) override {
    return held_bar::made<Bar>([&] { return loop_.made_bar(state_of(x)); });
  }
  void pull(unnamed_state const& x, unnamed_bar& bar, step_index i) override {
    loop_.pull(state_of(x), bar_of(bar), i);
  }

  void visit(unnamed_state& x, bool all, run_visitor f) const override { visit_state(state_of(x), all, f); }
  void visit(unnamed_state const& x, bool all, run_visitor f) const override { visit_state(state_of(x), all, f); }
  void visit(unnamed_bar& bar, bool all, run_visitor f) const override { visit_bar(bar_of(bar), all, f); }
  void visit(unnamed_bar const& bar, bool all, run_visitor f) const override { visit_bar(bar_of(bar), all, f); }
  void each_group([[maybe_unused]] unnamed_state const& x,
                  [[maybe_unused]] call_ref<void(std::size_t, bool)> f) const override {
    if constexpr (!All::constants_are_named)
      all_.parts(state_of(x), [f](auto const& part) { for_each_group(part, f); });
  }
  [[nodiscard]] std::int64_t member_of(unnamed_state const& x, std::int64_t number) const override {
    return member_with(state_of(x), number);
  }
  void find_part([[maybe_unused]] unnamed_state const& x0, [[maybe_unused]] step_index n) override {
    if constexpr (requires { requires All::has_part; } && numbered<State>)
      all_.part = n > 0 && count_of(every_number_of(bar_of(*made_bar(x0)))) < count_of(every_number_of(state_of(x0)));
  }
  [[nodiscard]] bool has_capacity_of(unnamed_state const& x, unnamed_state const& from) const override {
    return same_capacity(state_of(x), state_of(from));
  }
  [[nodiscard]] bool differ(unnamed_state const& a, unnamed_state const& b) const override {
    if constexpr (out_of_place && hashable<State>) return hash_of(state_of(a)) != hash_of(state_of(b));
    else
      return first_other_number([&](run_visitor f) { visit(a, true, f); },
                                [&](run_visitor f) { visit(b, true, f); }) >= 0;
  }

 private:
  static auto& state_of(unnamed_state& x) noexcept { return with_type<State>(x); }
  static auto& state_of(unnamed_state const& x) noexcept { return with_type<State>(x); }
  static auto& bar_of(unnamed_bar& bar) noexcept { return with_type<Bar>(bar); }
  static auto& bar_of(unnamed_bar const& bar) noexcept { return with_type<Bar>(bar); }
  template <class Input>
  void visit_state(Input& x, bool all, run_visitor f) const {
    if constexpr (numbered<State>) {
      if (all) return visit_runs(x, every_number{}, f);
    }
    visit_runs(x, all_, f);
  }
  template <class BarOf>
  void visit_bar(BarOf& bar, bool all, run_visitor f) const {
    if constexpr (bar_is_state) visit_state(bar, all, f);
    else visit_runs(bar, every_number{}, f);
  }

  loop_type loop_;
  Tangent& tangent_;
  All all_;
};

}  // namespace cairn::detail
