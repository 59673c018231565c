// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file known_run.hpp  By which a run is known in every process, and how far its functions are.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/trust.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/run/detail/advanced_copy.hpp>
#include <cairn/run/detail/given_parts.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/detail/plan_numbers.hpp>

namespace cairn::detail {

/// A sink of `write_state` that hashes to 128 bits.
class id_sum {
 public:
  id_sum() {
    first_.begin(0);
    second_.begin(0x9e3779b97f4a7c15u);
  }
  void operator()(void const* run, std::size_t bytes) noexcept {
    first_.add(run, bytes);
    second_.add(run, bytes);
  }
  template <class T>
  void number(T value) noexcept { (*this)(&value, sizeof value); }
  [[nodiscard]] run_id value() const noexcept { return {{first_.value(), second_.value()}}; }

 private:
  running_hash first_, second_;
};

/// Calls f with what a file holds of a state: the state, or a snapshot of an object.
template <class State, class Fn>
auto as_stored(State const& x, Fn const& f) {
  if constexpr (copied_state<State>) return f(x);
  else return f(taken_snapshot(x));
}
/// The object of a loop over one; null for a loop over values.   \tparam X0  const if it is copied
template <class X0>
using object_of = std::conditional_t<copied_state<std::remove_const_t<X0>>, void, std::remove_const_t<X0>>;
template <class X0>
[[nodiscard]] object_of<X0>* object_in([[maybe_unused]] X0& x0) noexcept {
  if constexpr (std::is_void_v<object_of<X0>>) return nullptr;
  else return &x0;
}
/// A state of which others are copies; null for a loop over an object, whose snapshots are made by themselves.
template <class State>
[[nodiscard]] stored_as<State> const* copied_from([[maybe_unused]] State const& x0) noexcept {
  if constexpr (copied_state<State>) return &x0;
  else return nullptr;
}
/// Refuses states that cannot be read back.
template <class State>
[[nodiscard]] consteval bool check_stored() {
  constexpr bool written = written_state<stored_as<State>>,
                 made = copied_state<State> || std::is_default_constructible_v<stored_as<State>>;
  static_assert(written,
                "cairn: checkpoints on disk need states whose bytes can all be written and read back; give the state "
                "members write_state(sink) const and read_state(source)");
  static_assert(made, "cairn: snapshots on disk need a default constructor, so that they can be read back");
  return written && made;
}

/// Adds the state after step 0, from x0, which stays as it is.
template <class State, class Step, class X0>
void add_first_step(id_sum& sum, Step& step, X0& x0) {
  step_index failed = 0;
  if constexpr (copied_state<State>) {
    advanced_copy<State> x{std::as_const(x0), shape_of_step<Step, State>().form};
    x.run(step, 0, 1, failed);
    write_exactly(std::as_const(x).state(), sum);
  } else {
    auto const before = taken_snapshot(std::as_const(x0));
    run_in_place(step, x0, 0, 1, failed);
    write_exactly(taken_snapshot(std::as_const(x0)), sum);
    restore_state(x0, before);
  }
}

/// Two functions as one.
template <class First, class Second> struct both_functions { using functions = void (*)(First, Second); };

/// Whether a seed is a function of the final state and the parameters.
template <class State, class Seed, class Params, class DP>
[[nodiscard]] consteval bool seed_takes_params() {
  if constexpr (std::is_same_v<Params, no_params> || range_like<std::remove_cv_t<Seed>>) return false;
  else return calls<Seed, lent_state<State>, Params const&, DP&> || calls<Seed, lent_state<State>, Params const&>;
}
/// A step with parameters and an objective of its own, as that of a tool's loop has.
template <class Step>
concept has_own_params = requires { typename Step::own_params; };
/// What the caller gave, with the parameters and the objective that the step itself has.
template <class Step, class Adjoint, class Seed, class Params, class DP, class Objective, class Terms, class KeepGoing>
[[nodiscard]] auto all_parts(given_parts<Step, Adjoint, Seed, Params, DP, Objective, Terms, KeepGoing> const& parts) {
  auto const all = [&parts]<class P, class O, class T>(P const& p, O const& objective, T& terms) {
    constexpr bool has_terms = !std::is_same_v<O, no_objective>;
    using objective_of = std::conditional_t<has_terms, O, no_terms>;
    using terms_of = std::conditional_t<has_terms, T, no_terms>;
    given_parts<Step, Adjoint, Seed, P, no_params, objective_of, terms_of, KeepGoing> known{parts.step, parts.adjoint,
                                                                                            parts.seed, &p};
    if constexpr (has_terms) known.objective = &objective, known.terms = &terms;
    known.keep_going = parts.keep_going;
    return known;
  };
  if constexpr (has_own_params<Step>) return parts.step->kept_by(all);
  else return parts;
}
/// The parts of a sweep as a run on disk sees them.
template <class State, class Parts> struct parts_of;
template <class State, class StepGiven, class Adjoint, class Seed, class Params, class DP, class Objective, class Terms,
          class KeepGoing>
struct parts_of<State, given_parts<StepGiven, Adjoint, Seed, Params, DP, Objective, Terms, KeepGoing>> {
  using step = StepGiven;
  using params = Params;
  using dp = DP;
  using terms = Terms;
  static constexpr bool has_params = !std::is_same_v<Params, no_params>, has_dp = !std::is_same_v<DP, no_params>;
  /// Whether parameters, and the sums by them, are arguments of the verb.
  static constexpr bool has_wrt = has_params && !has_own_params<StepGiven>;
  static constexpr bool has_objective = !std::is_same_v<Objective, no_terms>;
  static constexpr bool is_kept = std::is_same_v<Adjoint, not_given_yet>;
  static constexpr bool is_open = !std::is_same_v<KeepGoing, no_terms>;
  /// A seed that is a value is a part of the run's name.
  static constexpr bool seed_is_known =
      (!has_objective || has_own_params<StepGiven>) && !is_kept && !seed_function<Seed, State> &&
      !seed_takes_params<State, Seed, Params, DP>() && written_state<std::remove_cv_t<Seed>>;
  static constexpr bool sums_on_the_way = has_objective && !std::is_base_of_v<only_at_end, Objective>;
  static constexpr bool seed_captures = !seed_is_known && !captures<Seed>::nothing;
  [[nodiscard]] static constexpr trust known(bool keyed) noexcept {
    using step_read = std::conditional_t<has_params && !has_wrt, no_terms, StepGiven>;  // its parameters are known
    using runs = std::conditional_t<is_open, both_functions<step_read, KeepGoing>, step_read>;
    return trust_in<runs, Adjoint, seed_captures, has_wrt>(keyed);
  }
};
/// The length of the loop; that of one of unknown length is as large as numbers get.
template <class Plan>
[[nodiscard]] step_index steps_of_run(Plan const& plan) {
  if constexpr (is_open_plan<Plan>) return std::numeric_limits<step_index>::max();
  else return plan.steps();
}
/// By which runs of all kinds are known beside their functions.
template <class Of, class Parts>
void add_params_and_key(id_sum& sum, [[maybe_unused]] Parts const& parts, std::string const& key) {
  if constexpr (Of::has_params) {
    static_assert(written_state<typename Of::params>,
                  "cairn: a run on disk is known by its parameters, whose bytes must all be known; give them members "
                  "write_state(sink) const and read_state(source)");
    write_exactly(*parts.p, sum);
  }
  write_state(key, sum);
}
/// By which the run is known: n, plan, x0, parameters, key, which functions these are, a seed that is a value, the
/// objective's states, and what step 0 makes of x0. A loop of unknown length may have no step 0.
template <class State, class Parts, class Plan, class Step, class X0>
[[nodiscard]] run_id id_of_run(std::string const& key, Parts const& parts, Plan const& plan, Step& step, X0& x0) {
  using of = parts_of<State, Parts>;
  id_sum sum;
  step_index const n = steps_of_run(plan);
  sum.number(std::uint64_t{3});  // the format: of hashes of states, too
  sum.number(n);
  sum.number(std::uint64_t{of::is_kept});
  if constexpr (!is_open_plan<Plan>) each_plan_number(plan, [&sum](std::int64_t number) { sum.number(number); });
  else sum.number(plan.slots());
  as_stored<State>(x0, [&sum](auto const& x) { write_exactly(x, sum); });
  if constexpr (of::seed_is_known) write_exactly(*parts.seed, sum);
  add_params_and_key<of>(sum, parts, key);
  add_function(sum, *parts.step);
  if constexpr (!of::is_kept) add_function(sum, *parts.adjoint);
  if constexpr (!of::is_kept && !of::seed_is_known) add_function(sum, *parts.seed);
  if constexpr (of::is_open) add_function(sum, *parts.keep_going);
  if constexpr (of::has_objective) {
    add_function(sum, *parts.objective);
    parts.objective->each_number([&sum](step_index number) { sum.number(number); });
  }
  if constexpr (!is_open_plan<Plan>)
    if (n > 0) {
      auto* const choices = choices_of(*parts.step);
      if constexpr (std::is_same_v<decltype(choices), no_choices* const>) add_first_step<State>(sum, step, x0);
      else {  // what step 0 chooses here is not kept
        auto const before = choices->all.size();
        add_first_step<State>(sum, step, x0);
        choices->all.erase(choices->all.begin() + std::ptrdiff_t(before), choices->all.end());
      }
    }
  return sum.value();
}

[[noreturn]] inline void refuse_nothing_found(char const* why, step_index steps) {
  throw invalid_call{"cairn::disk", "there is nothing of an earlier process that can be used",
                     {{"steps", steps}}, why[0] != '\0' ? why : "begin with cairn::resume_rule::if_found"};
}

/// Whether a record can hold the adjoint.
template <class Bar, class State>
inline constexpr bool reads_bar = std::is_default_constructible_v<Bar> && written_state<Bar> &&
                                  (!std::is_same_v<Bar, library_bar> || saves_bar<State>);
/// Why it cannot.
template <class Bar>
inline constexpr char const* why_no_bar =
    std::is_same_v<Bar, library_bar>
        ? "the library has the adjoint; give the object members save_bar() const and restore_bar(saved)"
        : "the adjoint's type cannot be read back: it needs a default constructor, and bytes that are known";

}  // namespace cairn::detail
