#pragma once
/// \file adjoint_shape.hpp  How an adjoint is read: tried as record and reverse, (x, bar, i), (x, bar), (x, bar, first,
/// last), (x, x1, bar, i).
#include <type_traits>
#include <utility>
#include <cairn/core/detail/sharing.hpp>
#include <cairn/core/detail/step_shape.hpp>

namespace cairn {

/// An adjoint that records a step and then reverses the record: `tape = record(x[, i])` moves x one step on;
/// `reverse(tape, bar[, i])` changes bar or returns it. Plans that restart from tapes also need `x1 = restart(tape)`,
/// the state behind the recorded step with the bits that the step gave it: a value, or a reference to a state inside
/// the tape.
template <class Record, class Reverse, class Restart = void>
struct recorded {
  Record record;  ///< `tape = record(x[, i])`
  Reverse reverse;  ///< `reverse(tape, bar[, i])`
  Restart restart;  ///< `x1 = restart(tape)`
};
/// Without a way to restart from a tape.
template <class Record, class Reverse>
struct recorded<Record, Reverse, void> {
  Record record;  ///< `tape = record(x[, i])`
  Reverse reverse;  ///< `reverse(tape, bar[, i])`
};
/// Its types are those of what it is made of.
template <class Record, class Reverse>
recorded(Record, Reverse) -> recorded<Record, Reverse>;
/// Its types are those of what it is made of.
template <class Record, class Reverse, class Restart>
recorded(Record, Reverse, Restart) -> recorded<Record, Reverse, Restart>;

namespace detail {

struct adjoint_shape {
  adjoint_form form = adjoint_form::none;
  bool indexed = true;           ///< of `recorded`: its record
  bool ambiguous = false;        ///< fits (x, bar, first, last) and (x, x1, bar, i)
  bool by_value = false;         ///< returns the adjoint
  bool reverse_indexed = false;  ///< of `recorded`
  fault wrong = fault::shape;
};
[[nodiscard]] consteval adjoint_shape no_adjoint(fault wrong) {
  return {adjoint_form::none, true, wrong == fault::two_readings, false, false, wrong};
}

/// Called as f(before..., bar, after...).
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
  /// bar, the state or the tape, and the state after the step.
  template <class First, class... Next>
  static consteval bool cuts_one(arguments<First, Next...>) {
    return narrows<F, Bar, arguments<Before...>, After...> ||
           narrows<F, std::remove_cvref_t<First>, arguments<>, Next..., Bar&, After...> ||
           (narrows<F, std::remove_cvref_t<Next>, arguments<First>, Bar&, After...> || ...);
  }
};

template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape one_step_adjoint() {
  if constexpr (!calls_with_index<F, S const&, Bar&>)
    return adjoint_read<adjoint_form::one_step, F, Bar, arguments<S const&>>::get();
  else if constexpr (floating_index<F, S const&, Bar&>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::one_step, F, Bar, arguments<S const&>, step_index>::get();
}
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape leaf_adjoint() {
  if constexpr (!calls<F, S const&, Bar&, step_index, step_index>) return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, S const&, Bar&, step_index>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::leaf, F, Bar, arguments<S const&>, step_index, step_index>::get();
}
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape next_adjoint() {
  if constexpr (!calls<F, S const&, S const&, Bar&, step_index>) return no_adjoint(fault::shape);
  else if constexpr (floating_index<F, S const&, S const&, Bar&>) return no_adjoint(fault::floating);
  else return adjoint_read<adjoint_form::with_next, F, Bar, arguments<S const&, S const&>, step_index>::get();
}

/// `auto& bar` would take a const x1, too, so x1 is tried as an rvalue.
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape four_argument_adjoint() {
  constexpr bool as_leaf = fits<F, S, Bar&, step_index, step_index>(), as_next = fits<F, S, S, Bar&, step_index>();
  if constexpr (as_leaf && as_next) return no_adjoint(fault::two_readings);
  else if constexpr (as_leaf) return leaf_adjoint<F, S, Bar>();
  else return next_adjoint<F, S, Bar>();
}

/// Has both halves as objects, as `recorded` has.
template <class F>
concept recorder = requires(F& f) {
  sizeof(f.record);
  sizeof(f.reverse);
};
/// Of which only the call can be used.
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
  else if constexpr (!kept_alone<tape>) return no_adjoint(fault::refers);
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

/// How `F` is an adjoint on states `S` and adjoints `Bar`; the form is none where something is wrong.
template <class F, class S, class Bar>
[[nodiscard]] consteval adjoint_shape shape_of_adjoint() {
  if constexpr (reference_to_adjoint<F>) return shape_of_adjoint<typename F::type, S, Bar>();
  else if constexpr (said_as<F, adjoint_form>) {
    if constexpr (form_said<F> == adjoint_form::leaf) return leaf_adjoint<typename untagged<F>::type, S, Bar>();
    else return next_adjoint<typename untagged<F>::type, S, Bar>();
  } else if constexpr (!said_as<F, untold>) return {};
  else if constexpr (recorder<F>) return recorded_adjoint<record_of<F>, reverse_of<F>, S, Bar>();
  else if constexpr (calls_with_index<F, S const&, Bar&> || calls<F, S const&, Bar&>)
    return one_step_adjoint<F, S, Bar>();
  else return four_argument_adjoint<F, S, Bar>();
}

}  // namespace detail
}  // namespace cairn
