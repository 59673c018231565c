// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file user_function.hpp  What is asked of every function that a user gives: a step, an adjoint, a record, a term of an
/// objective, a hook, a condition. A kind of function is a list of calls; a call is a list of arguments, each with what
/// the function does with it. The questions are asked here, once for all kinds.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/signature.hpp>

namespace cairn::detail {

/// What is wrong with a user's function.
enum class fault : std::uint8_t {
  none,
  shape,         ///< no form fits its parameters
  result,        ///< it returns something other than the state (the adjoint)
  unchanged,     ///< it returns nothing and cannot change the state (the adjoint)
  both,          ///< it returns something and also takes the state (the adjoint) in order to change it
  narrow,        ///< a parameter is too narrow for the number it receives
  params,        ///< it cuts the parameters p, or their gradient dp, to a narrower number: most likely an index
  sum,           ///< it cannot change dp
  part,          ///< with parameters: a function that it is made of does not take what there is
  floating,      ///< its index is a floating-point number
  short_index,   ///< its index is a bool, a character or a short number
  preset,        ///< a parameter with a default argument would get the index
  two_readings,  ///< fits (x, i) and (x, x1), or (x, bar, first, last) and (x, x1, bar, i)
  tape,          ///< `record` and `reverse` do not fit together
  refers         ///< the tape refers into another object
};

/// An argument of a call, by what the function does with it.
template <class T, class Passed, fault Cut>
struct argument {
  using value = std::remove_cvref_t<T>;
  using passed = Passed;
  static constexpr fault when_cut = Cut;         ///< if it takes a narrower number
  static constexpr fault when_kept = fault::none;  ///< if it cannot change the argument
};
template <class T> struct reads : argument<T, T const&, fault::narrow> {};
template <class T> struct may_change : argument<T, T&, fault::narrow> {};  // the result says whether it has to
template <class T> struct changes : argument<T, T&, fault::narrow> { static constexpr fault when_kept = fault::unchanged; };
template <class Params> struct reads_params : argument<Params, Params const&, fault::params> {};
template <class DP> struct adds_to : argument<DP, DP&, fault::params> { static constexpr fault when_kept = fault::sum; };
struct numbers_step : argument<step_index, step_index, fault::none> {};
template <class... Args> struct call_with {};

/// A function object of one signature says by name what it can be called with, if its default arguments are not part of
/// its type, as those of a member function.
template <class Fn, class... Args>
concept calls_by_name = requires { requires Fn::template by_name<Args...>; };

struct no_number {};
/// A function that can be called without its index would get it by a default argument, or it has several call operators,
/// of which a shorter one ends in an index. Of a member that is a template, which may take anything more, only the number
/// of arguments shows.
template <class Fn, class... Before, class Last>
consteval bool may_leave_out(call_with<Before...>, call_with<Last>) {
  if constexpr (one_signature<Fn>) return true;
  else if constexpr (requires { Fn::hides_parameters; })
    return !std::is_same_v<Last, numbers_step> &&
           !calls<Fn, typename Before::passed..., typename Last::passed, no_number>;
  else return !takes_only<Fn, only_for<is_index>, arguments<typename Before::passed...>>;
}
template <class Fn, class... Before, class Next, class... More>
  requires(sizeof...(More) > 0)
consteval bool may_leave_out(call_with<Before...>, call_with<Next, More...>) {
  return may_leave_out<Fn>(call_with<Before..., Next>{}, call_with<More...>{});
}
template <class Fn, class Before, class After> struct argument_faults;
template <class Fn, class... Before>
struct argument_faults<Fn, call_with<Before...>, call_with<>> {
  static consteval fault get() { return fault::none; }
};
template <class Fn, class... Before, class First, class... After>
struct argument_faults<Fn, call_with<Before...>, call_with<First, After...>> {
  using rest = argument_faults<Fn, call_with<Before..., First>, call_with<After...>>;
  static consteval fault get() {
    if constexpr (std::is_same_v<First, numbers_step>) {
      using before = arguments<typename Before::passed...>;
      if constexpr (calls_by_name<Fn, typename Before::passed...>) return fault::preset;
      else if constexpr (requires { Fn::hides_parameters; } ||
                         takes_only<Fn, only_for<std::is_arithmetic>, before, typename After::passed...>) {
        if constexpr (calls<Fn, typename Before::passed...>)
          if constexpr (may_leave_out<Fn>(call_with<>{}, call_with<Before...>{})) return fault::preset;
        if constexpr (floats_index<Fn, before, typename After::passed...>) return fault::floating;
        else if constexpr (shortens_index<Fn, before, typename After::passed...>) return fault::short_index;
      }
    } else if constexpr (narrows<Fn, typename First::value, arguments<typename Before::passed...>,
                                 typename After::passed...>)
      return First::when_cut;
    if constexpr (rest::get() != fault::none) return rest::get();
    else if constexpr (First::when_kept == fault::none) return fault::none;
    else return kept() ? First::when_kept : fault::none;
  }

 private:
  /// It cannot change the argument: it takes it by value or by const reference.
  static consteval bool kept() {
    using value = typename First::value;
    using before = arguments<typename Before::passed...>;
    using result = call_result<Fn, typename Before::passed..., typename First::passed, typename After::passed...>;
    return only_reads<Fn, result, value, before, typename After::passed...> &&
           !forwards<Fn, value, before, typename After::passed...>;
  }
};
/// What is wrong with the arguments of f, which can be called with them.
template <class Fn, class... Args>
consteval fault fault_of_call(call_with<Args...>) {
  return argument_faults<Fn, call_with<>, call_with<Args...>>::get();
}
/// Whether f can be called with them, and its result.
template <class Fn, class Call> inline constexpr bool called_with = false;
template <class Fn, class... Args>
inline constexpr bool called_with<Fn, call_with<Args...>> = calls<Fn, typename Args::passed...>;
struct no_result {};
template <class Fn, class Call, bool Fits = called_with<Fn, Call>> struct result_with { using type = no_result; };
template <class Fn, class... Args>
struct result_with<Fn, call_with<Args...>, true> { using type = call_result<Fn, typename Args::passed...>; };

template <class... First, class... Second>
[[nodiscard]] constexpr call_with<First..., Second...> operator+(call_with<First...>, call_with<Second...>) { return {}; }
/// p and dp of a call, or nothing; the numbers of steps.
[[nodiscard]] constexpr call_with<> given_params(arguments<>) { return {}; }
template <class Params>
[[nodiscard]] constexpr call_with<reads_params<std::remove_cvref_t<Params>>> given_params(arguments<Params>) { return {}; }
template <class Params, class DP>
[[nodiscard]] constexpr call_with<reads_params<std::remove_cvref_t<Params>>, adds_to<std::remove_reference_t<DP>>>
given_params(arguments<Params, DP>) { return {}; }
/// Numbers of steps; a record that `adaptive` adds is read.
template <class... Index>
[[nodiscard]] constexpr call_with<
    std::conditional_t<std::is_same_v<std::remove_cvref_t<Index>, step_index>, numbers_step, reads<std::remove_cvref_t<Index>>>...>
counts_in(arguments<Index...>) { return {}; }

/// What is wrong with a question about a state, `f(x[, p][, i])`, that is answered by a bool: the condition of a jump, or
/// what keeps a loop going.
template <class Fn, class State, class... Params>
consteval fault fault_of_question() {
  constexpr auto x = call_with<reads<State>>{} + call_with<reads_params<Params>...>{};
  constexpr fault found = [&] {
    if constexpr (calls<Fn, State const&, Params const&..., step_index const&>) return fault_of_call<Fn>(x + call_with<numbers_step>{});
    else if constexpr (calls<Fn, State const&, Params const&...>) return fault_of_call<Fn>(x);
    else return sizeof...(Params) > 0 ? fault::params : fault::none;  // it has a sentence of its own
  }();
  if constexpr (found == fault::params && sizeof...(Params) > 0) return fault_of_question<Fn, State>();  // it takes no p
  else return found;
}

}  // namespace cairn::detail
