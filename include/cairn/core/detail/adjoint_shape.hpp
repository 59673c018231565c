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

/// Whether f can be called as f(before..., p, dp, i...): a generic f takes p and dp by reference; what it takes by value
/// there is most likely its index. Without `P...`: as f(before..., i...).
template <class F, class Before, class... P> struct reads_before;
template <class F, class... Before>
struct reads_before<F, arguments<Before...>> {
  template <class... Index> static constexpr bool before = calls<F, Before..., Index...>;
};
template <class F, class... Before, class P, class... Sum>
struct reads_before<F, arguments<Before...>, P, Sum...> {
  template <class... Index>
  static constexpr bool before = [] {
    constexpr std::size_t place = sizeof...(Before);
    if constexpr (generic_by_value<F, place, Before..., P, Sum..., Index...>) return false;
    else if constexpr (sizeof...(Sum) == 0) return calls<F, Before..., P, Index...>;
    else if constexpr (generic_by_value<F, place + 1, Before..., P, Sum..., Index...>) return false;
    else return calls<F, Before..., P, Sum..., Index...>;
  }();
};
/// With a temporary index and with a const one.
template <class F, class Before, class... P>
inline constexpr bool reads_index = reads_before<F, Before, P...>::template before<step_index> &&
                                    reads_before<F, Before, P...>::template before<step_index const&>;

/// An adjoint called as f(before..., bar, p, dp, index...), where p and dp are `P...`, or nothing.
template <adjoint_form Form, class F, class Bar, class Before, class Params, class... Index>
struct adjoint_read;
template <adjoint_form Form, class F, class Bar, class... Before, class... P, class... Index>
struct adjoint_read<Form, F, Bar, arguments<Before...>, arguments<P...>, Index...> {
  static consteval adjoint_shape get() {
    using R = call_result<F, Before..., Bar&, P..., Index...>;
    constexpr bool by_value = !std::is_void_v<R>, reads = only_reads<F, R, Bar, arguments<Before...>, P..., Index...>;
    constexpr bool writes = !reads || forwards<F, Bar, arguments<Before...>, P..., Index...>;
    if constexpr (cuts_one(arguments<Before...>{})) return no_adjoint(fault::narrow);
    else if constexpr (cuts_params<F>(arguments<Before..., Bar&>{}, arguments<P...>{}, arguments<Index...>{}))
      return no_adjoint(fault::params);
    else if constexpr (loses_sum<R>(arguments<P...>{})) return no_adjoint(fault::sum);
    else if constexpr (by_value && !reads) return no_adjoint(fault::both);
    else if constexpr (by_value && !gives<R, Bar>) return no_adjoint(fault::result);
    else if constexpr (!by_value && !writes) return no_adjoint(fault::unchanged);
    else return {Form, sizeof...(Index) > 0, false, by_value, false, fault::none};
  }

 private:
  /// True if f cuts bar, the state or the tape, or the state after the step to a narrower number.
  template <class First, class... Next>
  static consteval bool cuts_one(arguments<First, Next...>) {
    return narrows<F, Bar, arguments<Before...>, P..., Index...> ||
           narrows<F, std::remove_cvref_t<First>, arguments<>, Next..., Bar&, P..., Index...> ||
           (narrows<F, std::remove_cvref_t<Next>, arguments<First>, Bar&, P..., Index...> || ...);
  }
  /// True if f cannot add to dp.
  template <class R> static consteval bool loses_sum(arguments<>) { return false; }
  template <class R, class Params, class Sum>
  static consteval bool loses_sum(arguments<Params, Sum&>) {
    return only_reads<F, R, Sum, arguments<Before..., Bar&, Params>, Index...> &&
           !forwards<F, Sum, arguments<Before..., Bar&, Params>, Index...>;
  }
};

template <class F, class S, class Bar, class... P>
[[nodiscard]] consteval adjoint_shape one_step_adjoint() {
  using x = lent_state<S>;
  if constexpr (!reads_index<F, arguments<x, Bar&>, P...>)
    return adjoint_read<adjoint_form::one_step, F, Bar, arguments<x>, arguments<P...>>::get();
  else if constexpr (floating_index<F, x, Bar&, P...>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::one_step, F, Bar, arguments<x>, arguments<P...>, step_index>::get();
}
template <class F, class S, class Bar, class... P>
[[nodiscard]] consteval adjoint_shape leaf_adjoint() {
  using x = lent_state<S>;
  if constexpr (!reads_before<F, arguments<x, Bar&>, P...>::template before<step_index, step_index>)
    return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, x, Bar&, P..., step_index>) return no_adjoint(fault::floating);
  else
    return adjoint_read<adjoint_form::leaf, F, Bar, arguments<x>, arguments<P...>, step_index, step_index>::get();
}
template <class F, class S, class Bar, class... P>
[[nodiscard]] consteval adjoint_shape next_adjoint() {
  if constexpr (!reads_before<F, arguments<S const&, S const&, Bar&>, P...>::template before<step_index>)
    return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, S const&, S const&, Bar&, P...>) return no_adjoint(fault::floating);
  else
    return adjoint_read<adjoint_form::with_next, F, Bar, arguments<S const&, S const&>, arguments<P...>,
                        step_index>::get();
}

/// Reads an adjoint of four arguments, and p and dp. `auto& bar` of a leaf adjoint would bind to a const x1, so x1 is
/// tried as an rvalue.
template <class F, class S, class Bar, class... P>
[[nodiscard]] consteval adjoint_shape four_argument_adjoint() {
  if constexpr (saved_state<S>) {  // objects have no x1
    if constexpr (calls<F, S&, Bar&, P..., step_index, step_index>) return leaf_adjoint<F, S, Bar, P...>();
    else return next_adjoint<F, S, Bar, P...>();
  } else {
    constexpr bool as_leaf = fits<F, S, Bar&, P..., step_index, step_index>(),
                   as_next = fits<F, S, S, Bar&, P..., step_index>();
    if constexpr (as_leaf && as_next) return no_adjoint(fault::two_readings);
    else if constexpr (as_leaf) return leaf_adjoint<F, S, Bar, P...>();
    else return next_adjoint<F, S, Bar, P...>();
  }
}

/// An adjoint called as f(x[, p, dp][, i]), or for a leaf as f(x[, p, dp], first, last): the library stores bar.
template <adjoint_form Form, class F, class X, class... P>
[[nodiscard]] consteval adjoint_shape adjoint_without_bar() {
  constexpr auto read = []<class... Index>(arguments<Index...>) -> adjoint_shape {
    if constexpr (!std::is_void_v<call_result<F, X, P..., Index...>>) return no_adjoint(fault::both);
    else if constexpr (cuts_params<F>(arguments<X>{}, arguments<P...>{}, arguments<Index...>{}))
      return no_adjoint(fault::params);
    else return {sizeof...(Index) == 2 ? adjoint_form::leaf : Form, sizeof...(Index) > 0, false, false, false,
                 fault::none};
  };
  using reads = reads_before<F, arguments<X>, P...>;
  if constexpr (reads_index<F, arguments<X>, P...>) {
    if constexpr (floating_index<F, X, P...>) return no_adjoint(fault::floating);
    else return read(arguments<step_index>{});
  } else if constexpr (reads::template before<>) return read(arguments<>{});
  else if constexpr (Form != adjoint_form::recorded && reads::template before<step_index, step_index>) {
    if constexpr (floating_index<F, X, P..., step_index>) return no_adjoint(fault::floating);
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

/// `Given...`: p as record takes it, or nothing; `P...`: p and dp as reverse takes them, or nothing.
template <class Record, class Reverse, class S, class Bar, class... Given, class... P, class... Index>
[[nodiscard]] consteval adjoint_shape reverse_after(arguments<Given...>, arguments<P...>, arguments<Index...>) {
  using R = call_result<Record, S&, Given..., Index...>;
  using tape = std::remove_cvref_t<R>;
  constexpr bool moves_on = !only_reads<Record, R, S, arguments<>, Given..., Index...> ||
                            forwards<Record, S, arguments<>, Given..., Index...>;
  constexpr auto with = [](adjoint_shape read) {
    read.reverse_indexed = read.indexed;
    read.indexed = sizeof...(Index) > 0;
    return read;
  };
  if constexpr (cuts_params<Record>(arguments<S&>{}, arguments<Given...>{}, arguments<Index...>{}))
    return no_adjoint(fault::params);
  else if constexpr (std::is_void_v<R> || !moves_on) return no_adjoint(fault::tape);
  else if constexpr (!standalone<tape>) return no_adjoint(fault::refers);
  else if constexpr (std::is_same_v<Bar, library_bar>)
    return with(adjoint_without_bar<adjoint_form::recorded, Reverse, tape&, P...>());
  else if constexpr (reads_index<Reverse, arguments<tape&, Bar&>, P...>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>, arguments<P...>,
                             step_index>::get());
  else if constexpr (reads_before<Reverse, arguments<tape&, Bar&>, P...>::template before<>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>, arguments<P...>>::get());
  else return no_adjoint(fault::tape);
}
template <class Record, class Reverse, class S, class Bar>
[[nodiscard]] consteval adjoint_shape recorded_adjoint() {
  constexpr arguments<> none;
  if constexpr (calls_with_index<Record, S&>)
    return reverse_after<Record, Reverse, S, Bar>(none, none, arguments<step_index>{});
  else if constexpr (calls<Record, S&>) return reverse_after<Record, Reverse, S, Bar>(none, none, none);
  else return no_adjoint(fault::tape);
}
template <class Record, class Reverse, class S, class Bar, class P, class Sum>
[[nodiscard]] consteval adjoint_shape recorded_adjoint_with() {
  constexpr arguments<P const&> given;
  constexpr arguments<P const&, Sum&> both;
  if constexpr (reads_one_with<Record, S, P, step_index>)
    return reverse_after<Record, Reverse, S, Bar>(given, both, arguments<step_index>{});
  else if constexpr (reads_one_with<Record, S, P>)
    return reverse_after<Record, Reverse, S, Bar>(given, both, arguments<>{});
  else return no_adjoint(fault::tape);
}

/// Whether an adjoint call may leave an object in another state. For a function with one signature, the parameter x
/// decides: only a non-const reference may. For all other functions only the body would show it, so they are assumed to
/// do so unless they have a member `moves_object` that denies it.
/// `P...`: p and dp, if the adjoint takes them.
template <class F, class S, class Bar, class... P>
[[nodiscard]] consteval bool moves_object() {
  if constexpr (!saved_state<S>) return false;
  else if constexpr (reference_to_adjoint<F>) return moves_object<typename F::type, S, Bar, P...>();
  else if constexpr (requires { F::moves_object; }) return F::moves_object;
  else {
    using called = typename untagged<F>::type;
    if constexpr (!one_signature<called>) return true;
    else if constexpr (std::is_same_v<Bar, library_bar>)
      return !calls<called, S const&, P...> && !calls<called, S const&, P..., step_index> &&
             !calls<called, S const&, P..., step_index, step_index>;
    else
      return !calls<called, S const&, Bar&, P...> && !calls<called, S const&, Bar&, P..., step_index> &&
             !calls<called, S const&, Bar&, P..., step_index, step_index>;
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
/// The same for an adjoint that takes the parameters of the loop, p, and the sum of their gradient, dp, before its
/// index.
template <class F, class S, class Bar, class P, class Sum>
[[nodiscard]] consteval adjoint_shape shape_of_adjoint_with() {
  using before = arguments<lent_state<S>, Bar&>;
  using reads = reads_before<F, before, P const&, Sum&>;
  if constexpr (reference_to_adjoint<F>) return shape_of_adjoint_with<typename F::type, S, Bar, P, Sum>();
  else if constexpr (said_as<F, adjoint_form>) {
    using called = typename untagged<F>::type;
    if constexpr (std::is_same_v<Bar, library_bar>) {
      constexpr auto read = adjoint_without_bar<adjoint_form::one_step, called, lent_state<S>, P const&, Sum&>();
      return read.form == form_said<F> || read.form == adjoint_form::none ? read : no_adjoint(fault::shape);
    } else if constexpr (form_said<F> == adjoint_form::leaf) return leaf_adjoint<called, S, Bar, P const&, Sum&>();
    else return next_adjoint<called, S, Bar, P const&, Sum&>();
  } else if constexpr (!said_as<F, untold>) return {};
  else if constexpr (recorder<F>) return recorded_adjoint_with<record_of<F>, reverse_of<F>, S, Bar, P, Sum>();
  else if constexpr (std::is_same_v<Bar, library_bar>)
    return adjoint_without_bar<adjoint_form::one_step, F, lent_state<S>, P const&, Sum&>();
  else if constexpr (reads_index<F, before, P const&, Sum&> || reads::template before<>)
    return one_step_adjoint<F, S, Bar, P const&, Sum&>();
  else return four_argument_adjoint<F, S, Bar, P const&, Sum&>();
}

}  // namespace cairn::detail
