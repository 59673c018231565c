// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint_shape.hpp  Finds the form of an adjoint. The forms are tried in this order: record and reverse, (x,
/// bar, i), (x, bar), (x, bar, first, last), (x, x1, bar, i).
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/step_shape.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/library_bar.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// The state as the adjoint receives it. An object is passed non-const: the sweep does not return to this state, so the
/// adjoint may change it.
template <class S>
using lent_state = std::conditional_t<saved_state<S>, S&, S const&>;

struct adjoint_shape {
  adjoint_form form = adjoint_form::none;
  bool indexed = true;           ///< the `record` of `recorded` takes the index
  bool ambiguous = false;        ///< fits both (x, bar, first, last) and (x, x1, bar, i)
  bool by_value = false;         ///< returns the new adjoint
  bool reverse_indexed = false;  ///< the `reverse` of `recorded` takes the index
  fault wrong = fault::shape;
};
[[nodiscard]] consteval adjoint_shape no_adjoint(fault wrong) {
  return {adjoint_form::none, true, wrong == fault::two_readings, false, false, wrong};
}

/// An adjoint called as f(before..., bar, after...).
template <adjoint_form Form, class F, class Bar, class Before, class... After>
struct adjoint_read;
template <adjoint_form Form, class F, class Bar, class... Before, class... After>
struct adjoint_read<Form, F, Bar, arguments<Before...>, After...> {
  static consteval adjoint_shape get() {
    using R = call_result<F, Before..., Bar&, After...>;
    constexpr bool by_value = !std::is_void_v<R>, reads = only_reads<F, R, Bar, arguments<Before...>, After...>;
    constexpr bool writes = !reads || forwards<F, Bar, arguments<Before...>, After...>;
    if constexpr (cuts_one(arguments<Before...>{})) return no_adjoint(fault::narrow);
    else if constexpr (by_value && !reads) return no_adjoint(fault::both);
    else if constexpr (by_value && !gives<R, Bar>) return no_adjoint(fault::result);
    else if constexpr (!by_value && !writes) return no_adjoint(fault::unchanged);
    else return {Form, sizeof...(After) > 0, false, by_value, false, fault::none};
  }

 private:
  /// True if f cuts bar, the state or the tape, or the state after the step to a narrower number.
  template <class First, class... Next>
  static consteval bool cuts_one(arguments<First, Next...>) {
    return narrows<F, Bar, arguments<Before...>, After...> ||
           narrows<F, std::remove_cvref_t<First>, arguments<>, Next..., Bar&, After...> ||
           (narrows<F, std::remove_cvref_t<Next>, arguments<First>, Bar&, After...> || ...);
  }
};

template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape one_step_adjoint() {
  using x = lent_state<S>;
  if constexpr (!calls_with_index<F, x, Bar&>)
    return adjoint_read<adjoint_form::one_step, F, Bar, arguments<x>>::get();
  else if constexpr (floating_index<F, x, Bar&>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::one_step, F, Bar, arguments<x>, step_index>::get();
}
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape leaf_adjoint() {
  using x = lent_state<S>;
  if constexpr (!calls<F, x, Bar&, step_index, step_index>) return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, x, Bar&, step_index>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::leaf, F, Bar, arguments<x>, step_index, step_index>::get();
}
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape next_adjoint() {
  if constexpr (!calls<F, S const&, S const&, Bar&, step_index>) return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, S const&, S const&, Bar&>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::with_next, F, Bar, arguments<S const&, S const&>, step_index>::get();
}

/// Reads an adjoint of four arguments. `auto& bar` of a leaf adjoint would bind to a const x1, so x1 is tried as an
/// rvalue.
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape four_argument_adjoint() {
  if constexpr (saved_state<S>) {  // objects have no x1
    if constexpr (calls<F, S&, Bar&, step_index, step_index>) return leaf_adjoint<F, S, Bar>();
    else return next_adjoint<F, S, Bar>();
  } else {
    constexpr bool as_leaf = fits<F, S, Bar&, step_index, step_index>(), as_next = fits<F, S, S, Bar&, step_index>();
    if constexpr (as_leaf && as_next) return no_adjoint(fault::two_readings);
    else if constexpr (as_leaf) return leaf_adjoint<F, S, Bar>();
    else return next_adjoint<F, S, Bar>();
  }
}

/// An adjoint called as f(x[, i]), or for a leaf as f(x, first, last): the library stores bar.
template <adjoint_form Form, class F, class X>
[[nodiscard]] consteval adjoint_shape adjoint_without_bar() {
  constexpr auto read = []<class... Index>(arguments<Index...>) -> adjoint_shape {
    if constexpr (!std::is_void_v<call_result<F, X, Index...>>) return no_adjoint(fault::both);
    else return {sizeof...(Index) == 2 ? adjoint_form::leaf : Form, sizeof...(Index) > 0, false, false, false,
                 fault::none};
  };
  if constexpr (calls_with_index<F, X>) {
    if constexpr (floating_index<F, X>) return no_adjoint(fault::floating);
    else return read(arguments<step_index>{});
  } else if constexpr (calls<F, X>) return read(arguments<>{});
  else if constexpr (Form != adjoint_form::recorded && calls<F, X, step_index, step_index>) {
    if constexpr (floating_index<F, X, step_index>) return no_adjoint(fault::floating);
    else return read(arguments<step_index, step_index>{});
  } else return no_adjoint(fault::shape);
}

/// An object with members `record` and `reverse`, as `recorded` has.
template <class F>
concept recorder = requires(F& f) {
  sizeof(f.record);
  sizeof(f.reverse);
};
/// A reference wrapper around an adjoint that is not a recorder: only its call operator can be used.
template <class F>
concept reference_to_adjoint = reference_to<F> && !recorder<typename F::type>;
template <class F>
using record_of = std::remove_reference_t<decltype((std::declval<F&>().record))>;
template <class F>
using reverse_of = std::remove_reference_t<decltype((std::declval<F&>().reverse))>;

template <class Record, class Reverse, class S, class Bar, class... Index>
[[nodiscard]] consteval adjoint_shape reverse_after() {
  using R = call_result<Record, S&, Index...>;
  using tape = std::remove_cvref_t<R>;
  constexpr bool moves_on =
      !only_reads<Record, R, S, arguments<>, Index...> || forwards<Record, S, arguments<>, Index...>;
  constexpr auto with = [](adjoint_shape read) {
    read.reverse_indexed = read.indexed;
    read.indexed = sizeof...(Index) > 0;
    return read;
  };
  if constexpr (std::is_void_v<R> || !moves_on) return no_adjoint(fault::tape);
  else if constexpr (!standalone<tape>) return no_adjoint(fault::refers);
  else if constexpr (std::is_same_v<Bar, library_bar>)
    return with(adjoint_without_bar<adjoint_form::recorded, Reverse, tape&>());
  else if constexpr (calls_with_index<Reverse, tape&, Bar&>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>, step_index>::get());
  else if constexpr (calls<Reverse, tape&, Bar&>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>>::get());
  else return no_adjoint(fault::tape);
}
template <class Record, class Reverse, class S, class Bar>
[[nodiscard]] consteval adjoint_shape recorded_adjoint() {
  if constexpr (calls_with_index<Record, S&>) return reverse_after<Record, Reverse, S, Bar, step_index>();
  else if constexpr (calls<Record, S&>) return reverse_after<Record, Reverse, S, Bar>();
  else return no_adjoint(fault::tape);
}

/// Whether an adjoint call may leave an object in another state. For a function with one signature, the parameter x
/// decides: only a non-const reference may. For all other functions only the body would show it, so they are assumed to
/// do so unless they have a member `moves_object` that denies it.
template <class F, class S, class Bar>
[[nodiscard]] consteval bool moves_object() {
  if constexpr (!saved_state<S>) return false;
  else if constexpr (reference_to_adjoint<F>) return moves_object<typename F::type, S, Bar>();
  else if constexpr (requires { F::moves_object; }) return F::moves_object;
  else {
    using called = typename untagged<F>::type;
    if constexpr (!one_signature<called>) return true;
    else if constexpr (std::is_same_v<Bar, library_bar>)
      return !calls<called, S const&> && !calls<called, S const&, step_index> &&
             !calls<called, S const&, step_index, step_index>;
    else
      return !calls<called, S const&, Bar&> && !calls<called, S const&, Bar&, step_index> &&
             !calls<called, S const&, Bar&, step_index, step_index>;
  }
}

/// The form of `F` as an adjoint on states `S` and adjoints `Bar`; `none` if something is wrong.
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape shape_of_adjoint() {
  if constexpr (reference_to_adjoint<F>) return shape_of_adjoint<typename F::type, S, Bar>();
  else if constexpr (said_as<F, adjoint_form>) {
    using called = typename untagged<F>::type;
    if constexpr (std::is_same_v<Bar, library_bar>) {
      constexpr auto read = adjoint_without_bar<adjoint_form::one_step, called, lent_state<S>>();
      return read.form == form_said<F> || read.form == adjoint_form::none ? read : no_adjoint(fault::shape);
    } else if constexpr (form_said<F> == adjoint_form::leaf) return leaf_adjoint<called, S, Bar>();
    else return next_adjoint<called, S, Bar>();
  } else if constexpr (!said_as<F, untold>) return {};
  else if constexpr (recorder<F>) return recorded_adjoint<record_of<F>, reverse_of<F>, S, Bar>();
  else if constexpr (std::is_same_v<Bar, library_bar>)
    return adjoint_without_bar<adjoint_form::one_step, F, lent_state<S>>();
  else if constexpr (calls_with_index<F, lent_state<S>, Bar&> || calls<F, lent_state<S>, Bar&>)
    return one_step_adjoint<F, S, Bar>();
  else return four_argument_adjoint<F, S, Bar>();
}

}  // namespace cairn::detail
