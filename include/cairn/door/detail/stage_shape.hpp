// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_shape.hpp  Finds the form of a stage: the state it returns, what it records, and what its adjoint needs.
/// The forms differ only in the number of arguments, so that generic lambdas are read like any other function.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/member_function.hpp>
#include <cairn/door/detail/user_function.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

/// Its functions.
struct member_forward {
  template <class T>
  static consteval auto pointer() -> decltype(&T::forward) { return &T::forward; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.forward(std::forward<Args>(args)...)) {
    return of.forward(std::forward<Args>(args)...);
  }
};
struct member_record {
  template <class T>
  static consteval auto pointer() -> decltype(&T::record) { return &T::record; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.record(std::forward<Args>(args)...)) {
    return of.record(std::forward<Args>(args)...);
  }
};
struct member_backward {
  template <class T>
  static consteval auto pointer() -> decltype(&T::backward) { return &T::backward; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.backward(std::forward<Args>(args)...)) {
    return of.backward(std::forward<Args>(args)...);
  }
};

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
  narrow,    ///< a parameter of a function is too narrow for the number it receives
  index,     ///< the number of the stage is taken as another kind of number, or by a default argument
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
  bool runs_with_p = false;    ///< forward takes the parameters of the chain
  bool records_with_p = false;
  bool adds = false;           ///< backward takes them, and the gradient with respect to them
};

/// What the functions of a stage get beside states, tapes and bar: p and dp, `no_params` if the chain has none, and the
/// number of the stage, if all are one object. A list of arguments is a `call_with`.
template <class Params, class DP, bool Indexed>
struct stage_context {
  static constexpr bool has_params = !no_p<Params>, indexed = Indexed;
  using number = std::conditional_t<Indexed, call_with<numbers_step>, call_with<>>;
  template <class... Args> using bare = decltype(call_with<Args...>{} + number{});
  template <class... Args> using one = decltype(call_with<Args..., reads_params<Params>>{} + number{});
  template <class... Args> using both = decltype(call_with<Args..., reads_params<Params>, adds_to<DP>>{} + number{});
};
using plain_stage = stage_context<no_params, no_params, false>;

/// An argument that may be moved from.
template <class T> struct moves : argument<T, T&&, fault::narrow> {};

/// Whether f is called with p: what would cut p to a narrower number, and can be called without, means something else by
/// that parameter.
template <class Fn, class With, class Without>
[[nodiscard]] consteval bool wants_params() {
  if constexpr (std::is_void_v<With>) return false;  // the chain has no parameters
  else if constexpr (!called_with<Fn, With>) return false;
  else return fault_of_call<Fn>(With{}) != fault::params || !called_with<Fn, Without>;
}
/// A function of a stage that takes a state: `Context` says with what else.
template <class Name, class Stage, class Context, class State>
struct stage_function {
  using fn = member_as_function<Name, Stage>;
  using without = typename Context::template bare<reads<State>>;
  using with = typename Context::template one<reads<State>>;
  static constexpr bool with_p = wants_params<fn, std::conditional_t<Context::has_params, with, void>, without>();
  using call = std::conditional_t<with_p, with, without>;
  static constexpr bool fits = called_with<fn, call>;
  using result = typename result_with<fn, call>::type;
};
template <class Stage, class Context, class State>
using forward_in = stage_function<member_forward, Stage, Context, State>;
template <class Stage, class Context, class State>
using record_in = stage_function<member_record, Stage, Context, State>;
/// The state that a stage returns.
template <class Stage, class Context, class State> using next_of = typename forward_in<Stage, Context, State>::result;
/// What it records; without a record, the state that it returns.
template <class Stage, class Context, class State>
using tape_of_stage =
    typename std::conditional_t<record_in<Stage, Context, State>::fits, record_in<Stage, Context, State>,
                                forward_in<Stage, Context, State>>::result;

/// Has a member `record` that is neither overloaded nor a template, like the members of `taped_stage`.
template <class Stage>
concept names_record = requires { &Stage::record; };

/// What a fault of one call means for the stage.
[[nodiscard]] consteval stage_fault fault_in_stage(fault found) {
  if (found == fault::narrow || found == fault::params) return stage_fault::narrow;
  if (found == fault::sum) return stage_fault::backward;
  if (found == fault::floating || found == fault::short_index || found == fault::preset) return stage_fault::index;
  return stage_fault::none;
}

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

/// A backward called with `Before..., bar` and what else there is. One that returns the new bar may take the old one as
/// an rvalue.
template <class Stage, class Context, class Bar, class... Before>
struct backward_read {
  using fn = member_as_function<member_backward, Stage>;
  template <class Old>
  static constexpr bool adds = [] {
    if constexpr (!Context::has_params) return false;
    else
      return wants_params<fn, typename Context::template both<Before..., Old>,
                          typename Context::template bare<Before..., Old>>();
  }();
  template <class Old>
  using call =
      typename std::conditional_t<adds<Old>, std::type_identity<typename Context::template both<Before..., Old>>,
                                  std::type_identity<typename Context::template bare<Before..., Old>>>::type;
  template <class Old> using result = typename result_with<fn, call<Old>>::type;
  static constexpr bool by_reference = called_with<fn, call<may_change<Bar>>>,
                        by_move = called_with<fn, call<moves<Bar>>>, fits = by_reference || by_move;

  template <class Old>
  static consteval auto as(stage_shape found) {
    using Result = result<Old>;
    constexpr bool nothing = std::is_void_v<Result>;
    found.gives_adjoint = !nothing;
    found.moves_adjoint = std::is_same_v<Old, moves<Bar>>;
    found.adds = adds<Old>;
    found.wrong = nothing || standalone<Result> ? stage_fault::none : stage_fault::adjoint;
    constexpr auto cut = fault_in_stage(fault_of_call<fn>(call<Old>{}));
    if constexpr (cut != stage_fault::none) found.wrong = cut;
    else if constexpr (!nothing && !std::is_same_v<Old, moves<Bar>>) found.wrong = stage_fault::both;
    else if constexpr (whole_for<Result, Bar>) found.wrong = stage_fault::whole;
    if constexpr (nothing && one_signature<fn>)
      if (by_move || called_with<fn, call<reads<Bar>>>) found.wrong = stage_fault::unchanged;
    return stage_read<std::conditional_t<nothing, Bar, Result>>{found};
  }
  static consteval auto get(stage_shape found) {
    if constexpr (!by_reference) return as<moves<Bar>>(found);
    else if constexpr (by_move && !std::is_void_v<result<may_change<Bar>>>) return as<moves<Bar>>(found);
    else return as<may_change<Bar>>(found);
  }
};

template <class Stage, class Context, class State, class Bar>
[[nodiscard]] consteval auto read_taped(stage_shape found) {
  using tape = tape_of_stage<Stage, Context, State>;
  constexpr auto fault = [](stage_fault wrong) { return stage_read<Bar>{{.wrong = wrong}}; };
  if constexpr (!standalone<tape>) return fault(stage_fault::tape);
  else if constexpr (!refers_to_output<Stage, tape, next_of<Stage, Context, State>>) return fault(stage_fault::output);
  else {
    using alone = backward_read<Stage, Context, Bar, may_change<tape>>;
    using with_state = backward_read<Stage, Context, Bar, reads<State>, may_change<tape>>;
    found.taped = true;
    found.needs_state = !alone::fits;
    if constexpr (alone::fits) return alone::get(found);
    else if constexpr (with_state::fits) return with_state::get(found);
    else return fault(stage_fault::backward);
  }
}
template <class Stage, class Context, class State, class Bar>
[[nodiscard]] consteval auto read_untaped(stage_shape found) {
  using alone = backward_read<Stage, Context, Bar, reads<State>>;
  using with_output = backward_read<Stage, Context, Bar, reads<State>, reads<next_of<Stage, Context, State>>>;
  found.needs_output = !alone::fits;
  if constexpr (alone::fits) return alone::get(found);
  else if constexpr (with_output::fits) return with_output::get(found);
  else return stage_read<Bar>{{.wrong = stage_fault::backward}};
}
/// A stage whose forward or record takes the parameters of the chain, but whose backward does not, would lose its part
/// of their gradient.
template <class Read>
[[nodiscard]] consteval Read with_gradient_kept(Read found) {
  auto& shape = found.shape;
  if (shape.wrong == stage_fault::none && !shape.adds && (shape.runs_with_p || shape.records_with_p))
    shape.wrong = stage_fault::dropped;
  return found;
}
/// Reads a whole stage.
template <class Stage, class Context, class State, class Bar>
[[nodiscard]] consteval auto read_stage() {
  constexpr auto fault = [](stage_fault wrong) { return stage_read<Bar>{{.wrong = wrong}}; };
  using forward = forward_in<Stage, Context, State>;
  using record = record_in<Stage, Context, State>;
  using next = typename forward::result;
  constexpr auto cut = []<class Of>(std::type_identity<Of>) {
    if constexpr (!Of::fits) return stage_fault::none;
    else return fault_in_stage(fault_of_call<typename Of::fn>(typename Of::call{}));
  };
  constexpr stage_fault cut_state = cut(std::type_identity<forward>{}), cut_record = cut(std::type_identity<record>{});
  constexpr stage_shape found{.runs_with_p = forward::with_p, .records_with_p = record::with_p};
  if constexpr (!std::is_class_v<Stage> || std::is_same_v<next, no_result>) return fault(stage_fault::forward);
  else if constexpr (!standalone<next>) return fault(stage_fault::state);
  else if constexpr (cut_state != stage_fault::none) return fault(cut_state);
  else if constexpr (cut_record != stage_fault::none) return fault(cut_record);
  else if constexpr (record::fits) return with_gradient_kept(read_taped<Stage, Context, State, Bar>(found));
  else if constexpr (names_record<Stage>) return fault(stage_fault::tape);
  else return with_gradient_kept(read_untaped<Stage, Context, State, Bar>(found));
}

/// The form of a stage with states State before it and adjoints Bar after it.
template <class Stage, class State, class Bar, class Context = plain_stage>
struct stage_reading {
  static constexpr auto read = read_stage<Stage, Context, State, Bar>();
  static constexpr stage_shape shape = read.shape;
  static constexpr bool indexed = Context::indexed;
  using next = next_of<Stage, Context, State>;
  using tape = tape_of_stage<Stage, Context, State>;
  using adjoint = typename decltype(read)::adjoint;  ///< of the state before it
};

}  // namespace cairn::detail
