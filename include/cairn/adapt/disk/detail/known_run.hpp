// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file known_run.hpp  By which a run is known in every process, and how far its functions are.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/contents.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/model.hpp>
#include <cairn/door/objective.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>
#include <cairn/schedule/detail/plan_numbers.hpp>

namespace cairn::detail {

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
  constexpr bool written = written_whole<stored_as<State>>(),
                 made = copied_state<State> || std::is_default_constructible_v<stored_as<State>>;
  static_assert(written,
                "cairn: checkpoints on disk need states whose bytes can all be written and read back; give the state "
                "members write_state(sink) const and read_state(source), which do not count in a base of a larger "
                "class, or declare an array type by cairn::flat; Eigen's types need <cairn/adapt/eigen.hpp>");
  static_assert(made, "cairn: snapshots on disk need a default constructor, so that they can be read back");
  return written && made;
}

/// Names the state after step 0, from x0, which stays as it is. What step 0 chooses here is not kept.
template <class State, class Step, class X0, class Choices>
void name_first_step(run_name& name, Step& step, X0& x0, [[maybe_unused]] Choices* choices) {
  constexpr bool chooses = !std::is_same_v<Choices, no_choices>;
  [[maybe_unused]] std::ptrdiff_t before = 0;
  if constexpr (chooses) before = std::ptrdiff_t(choices->all.size());
  id_sum& sum = name.sum();
  sum.begin();
  step_index failed = 0;
  if constexpr (copied_state<State>) {
    advanced_copy<State> x{std::as_const(x0), shape_of_step<Step, State>().form};
    x.run(step, 0, 1, failed);
    write_exactly(std::as_const(x).state(), sum);
  } else {
    auto const initial = taken_snapshot(std::as_const(x0));
    run_in_place(step, x0, 0, 1, failed);
    write_exactly(taken_snapshot(std::as_const(x0)), sum);
    restore_state(x0, initial);
  }
  name[run_part::first] = {sum.value(), true, ""};
  if constexpr (chooses) choices->all.erase(choices->all.begin() + before, choices->all.end());
}

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
  auto const all = [&parts]<class Own, class Objectives, class T>(Own const& p, Objectives const& objective, T& terms) {
    constexpr bool has_terms = !std::is_same_v<Objectives, no_objective>;
    using objective_of = std::conditional_t<has_terms, Objectives, no_terms>;
    using terms_of = std::conditional_t<has_terms, T, no_terms>;
    given_parts<Step, Adjoint, Seed, Own, no_params, objective_of, terms_of, KeepGoing> known{parts.step, parts.adjoint,
                                                                                              parts.seed, &p};
    if constexpr (has_terms) known.objective = &objective, known.terms = &terms;
    known.keep_going = parts.keep_going, known.limit = parts.limit, known.seed_goes = parts.seed_goes;
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
  using state = State;
  using step = StepGiven;
  using seed = Seed;
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
      !seed_takes_params<State, Seed, Params, DP>() && written_whole<std::remove_cv_t<Seed>>();
  static constexpr bool sums_on_the_way = has_objective && !std::is_base_of_v<only_at_end, Objective>;
  /// The seed of an objective is made of it.
  static constexpr bool has_seed = !is_kept && !seed_is_known && !(has_objective && std::is_same_v<Seed, Objective>);
};
/// The length of the loop; that of one of unknown length is as large as numbers get.
template <class Plan>
[[nodiscard]] step_index steps_of_run(Plan const& plan) {
  if constexpr (is_open_plan<Plan>) return (std::numeric_limits<step_index>::max)();
  else return plan.steps();
}
/// The part of what the caller gave that runs forward, and the part that runs backward: of a `model` its two functions.
template <class Given>
[[nodiscard]] auto const& forward_part(Given const& f) noexcept { return f; }
template <class Step, class Adjoint, class Bar>
[[nodiscard]] auto const& forward_part(model<Step, Adjoint, Bar> const& f) noexcept { return f.step; }
template <class Given>
[[nodiscard]] auto const& backward_part(Given const& f) noexcept { return f; }
template <class Step, class Adjoint, class Bar>
[[nodiscard]] auto const& backward_part(model<Step, Adjoint, Bar> const& f) noexcept { return f.adjoint; }

template <class Adjoint, class Bar>
struct adjoint_and_bar {
  Adjoint const& adjoint;
  Bar const& bar;
  void each_function(auto const& look) const { look(adjoint), look(bar); }
};
template <class Step, class Adjoint, class Bar>
  requires(!std::is_same_v<Bar, no_bar_maker>)
[[nodiscard]] adjoint_and_bar<Adjoint, Bar> backward_part(model<Step, Adjoint, Bar> const& f) noexcept {
  return {f.adjoint, f.bar};
}

/// The word `concurrent` is no part of a run: without a helper, it needs none.
template <class Fn>
[[nodiscard]] auto const& without_word(Fn const& f) noexcept {
  if constexpr (reference_to<Fn> && requires { requires bool(Fn::concurrent); }) return f.get();
  else return f;
}
/// Calls look(part, f) with each function that a sweep calls.
template <class Of, class Parts, class Look>
void each_function_of(Parts const& parts, Look const& look) {
  look(run_part::step, without_word(forward_part(*parts.step)));
  if constexpr (!Of::is_kept) look(run_part::adjoint, without_word(backward_part(*parts.adjoint)));
  if constexpr (Of::has_seed) look(run_part::seed, *parts.seed);
  if constexpr (Of::is_open) look(run_part::condition, *parts.keep_going);
  if constexpr (Of::has_objective) look(run_part::objective, *parts.objective);
}
/// What functions and parameters hold now: it must stay what it is as long as records are written.
template <class Of, class Parts>
[[nodiscard]] run_id held_now(id_sum& sum, Parts const& parts) {
  sum.begin();
  if constexpr (Of::has_params) write_state(*parts.p, sum);
  contents all{sum};
  each_function_of<Of>(parts, [&all](run_part, auto const& f) { all.add(f); });
  return sum.value();
}

/// The parts of a name that are known before any step runs: parameters, key, code, and functions with what they hold.
/// Returns which of these could be seen through.
/// \tparam Bar  types of adjoints, as far as they do not follow from the others
template <class Of, class... Bar, class Parts>
[[nodiscard]] seen_parts name_given(run_name& name, disk_options const& asked, Parts const& parts) {
  seen_parts seen;
  loaded_code code;
  bool const named = !asked.code.empty();
  each_function_of<Of>(parts, [&]<class Fn>(run_part which, Fn const& f) {
    name.set(which, name_of_type<Fn>(), [&](id_sum& sum) {
      contents all{sum, &code, named};
      all.add(f);
      all.template add_type<typename Of::state>();
      all.template add_type<typename Of::params>();
      all.template add_type<typename Of::seed>();
      (all.template add_type<Bar>(), ...);
      all.template add_type<typename Of::dp>();
      if constexpr (Of::has_dp && !Of::is_kept)
        if (which == run_part::adjoint) write_exactly(*parts.dp, sum);  // zeros now, but its sizes are the caller's
      if constexpr (requires { f.each_number([](step_index) {}); })  // of an objective: which states have terms
        f.each_number([&sum](step_index number) { sum.number(number); });
      seen[which] = all.whole();
    });
  });
  if constexpr (Of::has_params) {
    static_assert(written_whole<typename Of::params>(),
                  "cairn: a run on disk is known by its parameters, whose bytes must all be known; give them members "
                  "write_state(sink) const and read_state(source), which do not count in a base of a larger class");
    name.set(run_part::params, "", [&](id_sum& sum) { add_value(sum, *parts.p); });
  }
  if (!asked.key.empty())
    name.set(run_part::key, asked.key.c_str(), [&](id_sum& sum) { write_state(asked.key, sum); });
  name.set(run_part::code, asked.code.c_str(), [&](id_sum& sum) {
    std::uint64_t const build = named ? 1 : code.build();
    seen[run_part::code] = build != 0;
    if (named) write_state(asked.code, sum);
    else sum.number(build);
  });
  return seen;
}
/// The parts of a loop's name beside these: n, plan, x0, a seed that is a value, and what step 0 makes of x0. A loop of
/// unknown length may have no step 0.
/// \param known  nothing of the run, if an object holds what neither its snapshots nor a key show
template <class State, class Parts, class Plan, class Step, class X0>
void name_loop(run_name& name, Parts const& parts, Plan const& plan, Step& step, X0& x0, bool has_key, trust& known) {
  using of = parts_of<State, Parts>;
  step_index const n = steps_of_run(plan);
  name.set(run_part::verb, of::is_kept ? "kept" : "", [](id_sum& sum) { sum.number(std::uint64_t{of::is_kept}); });
  name.set(run_part::steps, "", [n](id_sum& sum) { sum.number(n); });
  name.set(run_part::plan, name_of_type<Plan>(), [&plan](id_sum& sum) {
    if constexpr (!is_open_plan<Plan>) each_plan_number(plan, [&sum](std::int64_t number) { sum.number(number); });
    else sum.number(plan.slots());
  });
  run_id held;
  if constexpr (!copied_state<State>) {
    contents all{name.sum()};
    name.sum().begin();
    all.add(std::as_const(x0));
    if (all.whole()) held = name.sum().value();
    else if (known.states && !has_key) known = {false, false, why_unknown_object};
  }
  name.set(run_part::initial, name_of_type<State>(), [&](id_sum& sum) {
    as_stored<State>(x0, [&sum](auto const& x) { add_value(sum, x); });
    sum.number(held);
  });
  if constexpr (of::seed_is_known)
    name.set(run_part::seed, "", [&](id_sum& sum) { add_value(sum, *parts.seed); });
  if constexpr (!is_open_plan<Plan>)
    if (n > 0) name_first_step<State>(name, step, x0, choices_of(*parts.step));
}

[[noreturn]] inline void refuse_nothing_found(char const* why, step_index steps) {
  throw invalid_call{"cairn::disk", "there is nothing of an earlier process that can be used",
                     {{"steps", steps}}, why[0] != '\0' ? why : "begin with cairn::resume_rule::if_found"};
}

/// Whether a record can hold the adjoint.
template <class Bar, class State>
inline constexpr bool reads_bar = std::is_default_constructible_v<Bar> && written_whole<Bar>() &&
                                  (!std::is_same_v<Bar, library_bar> || saves_bar<State>);
/// Why it cannot.
template <class Bar>
inline constexpr char const* why_no_bar =
    std::is_same_v<Bar, library_bar>
        ? "the library has the adjoint; give the object members save_bar() const and restore_bar(saved)"
        : "the adjoint's type cannot be read back: it needs a default constructor, and bytes that are known";

}  // namespace cairn::detail
