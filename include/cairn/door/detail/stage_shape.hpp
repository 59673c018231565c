// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_shape.hpp  Finds the form of a stage: the state it returns, what it records, and what its adjoint needs.
/// The forms differ only in the number of arguments, so that generic lambdas are read like any other function.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/door/detail/callable.hpp>

namespace cairn::detail {

/// What is wrong with a stage, or with another argument of a chain's sweep.
enum class stage_fault : std::uint8_t {
  none,
  forward,   ///< not callable as y = forward(x)
  state,     ///< forward returns nothing, a reference, a view or an expression
  tape,      ///< record is not callable, or returns nothing, a reference, a view or an expression
  output,    ///< no output(tape) that refers to y
  backward,  ///< no form fits
  adjoint,   ///< backward returns a reference, a view or an expression
  unchanged, ///< backward returns nothing and cannot change bar
  both,      ///< backward returns something and also takes bar in order to change it
  whole,     ///< backward returns a whole number for a bar of floating-point numbers
  narrow,    ///< a parameter of forward or backward is too narrow for the number it receives
  unnamed_form,    ///< any_stage: the parameter type of forward is unknown
  stages,        ///< no tuple, list or indexed_stages
  two_states,    ///< stages of a list return another type of state than they take
  two_adjoints,  ///< the same of their adjoints
  plan,          ///< no list of actions
  seed_nothing,  ///< the seed returns nothing
  seed_other,    ///< the seed is a function that does not take the last state
  seed_view,     ///< the seed returns something that does not own its data
  seed_whole,    ///< the seed returns a whole number for a state of floating-point numbers
  seed_shares,   ///< a copy of the seed's result would share data with it
  dropped,       ///< forward or record takes the parameters, backward does not
  any_on_disk,   ///< any_stage, and what runs whole sweeps on disk
  extra,         ///< an argument that is not an observer, a store, a failure, options, parameters or a report
  twice,         ///< two arguments of the same kind
  store,         ///< the store cannot load these states
  unhashed,      ///< the bytes of states are unknown or include padding
  unsized        ///< the sizes of what stages make are unknown
};

/// How a stage is called.
struct stage_shape {
  stage_fault wrong = stage_fault::forward;
  bool taped = false;          ///< it records; otherwise the tape is the output
  bool needs_state = true;     ///< backward takes x
  bool needs_output = false;   ///< backward takes y; only without a tape
  bool gives_adjoint = false;  ///< backward returns the new bar; otherwise it changes the old one
  bool moves_adjoint = false;  ///< backward may take the old bar as an rvalue
  bool adds = false;           ///< backward takes the gradient with respect to parameters
};

/// Has a member `record` that is neither overloaded nor a template, like the members of `taped_stage`.
template <class Stage>
concept names_record = requires { &Stage::record; };

/// Has a backward with known parameter types, so that asking what it takes compiles no body.
template <class Stage>
concept told_backward = std::is_member_function_pointer_v<decltype(&Stage::backward)> ||
                        requires(Stage& s) { requires one_signature<std::remove_cvref_t<decltype((s.backward))>>; };

/// Has a forward with known parameter types.
template <class Stage>
concept told_forward = std::is_member_function_pointer_v<decltype(&Stage::forward)> ||
                       requires(Stage& s) { requires one_signature<std::remove_cvref_t<decltype((s.forward))>>; };

struct no_result {};

/// The arguments of a stage's function, with the stage's number at the end if the function takes it.
template <class... T> struct stage_arguments {};

template <class Stage, class All> inline constexpr bool runs_forward = false;
template <class Stage, class... Args>
inline constexpr bool runs_forward<Stage, stage_arguments<Args...>> = requires(Stage& s) {
  s.forward(std::declval<Args>()...);
};
template <class Stage, class All> inline constexpr bool runs_record = false;
template <class Stage, class... Args>
inline constexpr bool runs_record<Stage, stage_arguments<Args...>> = requires(Stage& s) {
  s.record(std::declval<Args>()...);
};
template <class Stage, class All> inline constexpr bool runs_backward = false;
template <class Stage, class... Args>
inline constexpr bool runs_backward<Stage, stage_arguments<Args...>> = requires(Stage& s) {
  s.backward(std::declval<Args>()...);
};

/// The parameter of forward is too narrow for the number it receives.
template <class Stage, class State, class... Index>
concept cuts_state = told_forward<Stage> && std::is_arithmetic_v<State> &&
    runs_forward<Stage, stage_arguments<narrowed<State>, Index...>>;

template <class Stage, class... Args>
auto forward_result(stage_arguments<Args...>) -> decltype(std::declval<Stage&>().forward(std::declval<Args>()...));
template <class Stage, class... Args>
auto record_result(stage_arguments<Args...>) -> decltype(std::declval<Stage&>().record(std::declval<Args>()...));
template <class Stage, class... Args>
auto backward_result(stage_arguments<Args...>) -> decltype(std::declval<Stage&>().backward(std::declval<Args>()...));

template <class Stage, class All, bool Runs = runs_forward<Stage, All>> struct next_state { using type = no_result; };
template <class Stage, class All>
struct next_state<Stage, All, true> {
  using type = decltype(forward_result<Stage>(All{}));
};
template <class Stage, class All, bool Runs = runs_record<Stage, All>>
struct tape_of_stage {
  using type = typename next_state<Stage, All>::type;
};
template <class Stage, class All>
struct tape_of_stage<Stage, All, true> {
  using type = decltype(record_result<Stage>(All{}));
};

/// `output(tape)` refers to a state Y.
template <class Stage, class Tape, class Output>
concept refers_to_output = requires(Stage& s, Tape const& t) {
  s.output(t);
  requires std::is_lvalue_reference_v<decltype(s.output(t))>;
  requires std::is_same_v<std::remove_cvref_t<decltype(s.output(t))>, Output>;
};

/// What was found about a stage, with the type of the adjoint before it.
template <class Adjoint>
struct stage_read {
  using adjoint = Adjoint;
  stage_shape shape;
};

/// A backward called with `Before..., bar, Index...`. One that returns the new bar may take the old one as an rvalue.
template <class Stage, class Bar, class Before, class Index> struct backward_read;
template <class Stage, class Bar, class... Before, class... Index>
struct backward_read<Stage, Bar, stage_arguments<Before...>, stage_arguments<Index...>> {
  template <class Old> using with = stage_arguments<Before..., Old, Index...>;
  static constexpr bool by_reference = runs_backward<Stage, with<Bar&>>, by_move = runs_backward<Stage, with<Bar&&>>,
                        fits = by_reference || by_move;

  template <class Old>
  static consteval auto as(stage_shape found) {
    using Result = decltype(backward_result<Stage>(with<Old>{}));
    found.gives_adjoint = !std::is_void_v<Result>;
    found.moves_adjoint = std::is_rvalue_reference_v<Old>;
    if constexpr (requires { Stage::template backward_takes<Before..., Old, Index...>; })
      found.adds = Stage::template backward_takes<Before..., Old, Index...>;
    found.wrong = std::is_void_v<Result> || standalone<Result> ? stage_fault::none : stage_fault::adjoint;
    if constexpr (cuts_one()) found.wrong = stage_fault::narrow;
    else if constexpr (!std::is_void_v<Result> && std::is_lvalue_reference_v<Old>) found.wrong = stage_fault::both;
    else if constexpr (whole_for<Result, Bar>) found.wrong = stage_fault::whole;
    if constexpr (std::is_void_v<Result> && told_backward<Stage>)
      if (by_move || runs_backward<Stage, with<Bar const&>>) found.wrong = stage_fault::unchanged;
    return stage_read<std::conditional_t<std::is_void_v<Result>, Bar, Result>>{found};
  }
  /// True if backward cuts bar, or the first argument before it, to a narrower number.
  static consteval bool cuts_one() {
    if constexpr (!told_backward<Stage>) return false;
    else return cuts<Bar, with<narrowed<Bar>>>() || cuts_first(stage_arguments<Before...>{});
  }
  template <class First, class... Next>
  static consteval bool cuts_first(stage_arguments<First, Next...>) {
    using T = std::remove_cvref_t<First>;
    return cuts<T, stage_arguments<narrowed<T>, Next..., std::conditional_t<by_reference, Bar&, Bar&&>, Index...>>();
  }
  template <class T, class All>
  static consteval bool cuts() {
    if constexpr (!std::is_arithmetic_v<T>) return false;
    else return runs_backward<Stage, All>;
  }
  static consteval auto get(stage_shape found) {
    if constexpr (!by_reference) return as<Bar&&>(found);
    else if constexpr (by_move && !std::is_void_v<decltype(backward_result<Stage>(with<Bar&>{}))>)
      return as<Bar&&>(found);
    else return as<Bar&>(found);
  }
};

template <class Stage, class State, class Bar, class... Index>
[[nodiscard]] consteval auto read_taped() {
  using all = stage_arguments<State const&, Index...>;
  using tape = typename tape_of_stage<Stage, all>::type;
  constexpr auto fault = [](stage_fault wrong) { return stage_read<Bar>{{.wrong = wrong}}; };
  if constexpr (!standalone<tape>) return fault(stage_fault::tape);
  else if constexpr (!refers_to_output<Stage, tape, typename next_state<Stage, all>::type>)
    return fault(stage_fault::output);
  else {
    using alone = backward_read<Stage, Bar, stage_arguments<tape&>, stage_arguments<Index...>>;
    using with_state = backward_read<Stage, Bar, stage_arguments<State const&, tape&>, stage_arguments<Index...>>;
    if constexpr (alone::fits) return alone::get({.taped = true, .needs_state = false});
    else if constexpr (with_state::fits) return with_state::get({.taped = true});
    else return fault(stage_fault::backward);
  }
}
template <class Stage, class State, class Bar, class... Index>
[[nodiscard]] consteval auto read_untaped() {
  using next = typename next_state<Stage, stage_arguments<State const&, Index...>>::type;
  using alone = backward_read<Stage, Bar, stage_arguments<State const&>, stage_arguments<Index...>>;
  using with_output = backward_read<Stage, Bar, stage_arguments<State const&, next const&>, stage_arguments<Index...>>;
  if constexpr (alone::fits) return alone::get({});
  else if constexpr (with_output::fits) return with_output::get({.needs_output = true});
  else return stage_read<Bar>{{.wrong = stage_fault::backward}};
}
/// A stage whose forward or record takes the parameters of the chain, but whose backward does not, would lose its part
/// of their gradient.
template <class Stage, class Read, class... Args>
[[nodiscard]] consteval Read with_gradient_kept(Read found, stage_arguments<Args...>) {
  if constexpr (requires { Stage::template forward_takes<Args...>; })
    if (found.shape.wrong == stage_fault::none && !found.shape.adds &&
        (Stage::template forward_takes<Args...> || Stage::template record_takes<Args...>))
      found.shape.wrong = stage_fault::dropped;
  return found;
}
/// Reads a whole stage. `Index...` is `step_index const&` for stages with a number.
template <class Stage, class State, class Bar, class... Index>
[[nodiscard]] consteval auto read_stage() {
  constexpr auto fault = [](stage_fault wrong) { return stage_read<Bar>{{.wrong = wrong}}; };
  using all = stage_arguments<State const&, Index...>;
  using next = typename next_state<Stage, all>::type;
  if constexpr (!std::is_class_v<Stage> || std::is_same_v<next, no_result>) return fault(stage_fault::forward);
  else if constexpr (!standalone<next>) return fault(stage_fault::state);
  else if constexpr (cuts_state<Stage, State, Index...>) return fault(stage_fault::narrow);
  else if constexpr (runs_record<Stage, all>)
    return with_gradient_kept<Stage>(read_taped<Stage, State, Bar, Index...>(), all{});
  else if constexpr (names_record<Stage>) return fault(stage_fault::tape);
  else return with_gradient_kept<Stage>(read_untaped<Stage, State, Bar, Index...>(), all{});
}

/// The form of a stage with states State before it and adjoints Bar after it.
template <class Stage, class State, class Bar, class... Index>
struct stage_reading {
  static constexpr auto read = read_stage<Stage, State, Bar, Index...>();
  static constexpr stage_shape shape = read.shape;
  using next =
      typename next_state<Stage, stage_arguments<State const&, Index...>>::type;  ///< the state that it returns
  using tape = typename tape_of_stage<Stage, stage_arguments<State const&, Index...>>::type;  ///< the recorded tape;
                                                                                          ///< without record, the state
                                                                                          ///< that it returns
  using adjoint = typename decltype(read)::adjoint;                                       ///< the adjoint of the state
                                                                                          ///< before it
};

}  // namespace cairn::detail
