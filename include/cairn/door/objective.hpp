// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file objective.hpp  What is differentiated: a function of the final state, of every state, or of some states.
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/term.hpp>

namespace cairn {

namespace detail {

struct objective_part {
  static constexpr step_index no_state = (std::numeric_limits<step_index>::max)();  ///< after all others
  static constexpr bool has_end = false;  ///< whether there is a term of the last state as such
  template <class State, class Params, class Emit>
  void running(State const&, Params const&, step_index, Emit&&) const {}
  template <class State, class Bar, class Params, class DP>
  void running_gradient(State const&, Bar&, Params const&, DP&, step_index) const {}
  template <class State, class Params, class Emit>
  void ending(State const&, Params const&, step_index, Emit&&) const {}
  template <class State, class Bar, class Params, class DP>
  void ending_gradient(State const&, Bar&, Params const&, DP&, step_index) const {}
  template <class Note>
  void each_count(step_index, Note&&) const noexcept {}
  template <class Note>
  void each_number(Note const&) const noexcept {}
  template <class State, class Params>
  static constexpr bool indexed = false;
  [[nodiscard]] step_index last_state() const noexcept { return 0; }
  [[nodiscard]] static constexpr step_index next_after(step_index) noexcept { return no_state; }
};
/// An objective with no terms but those of the last state.
struct only_at_end : objective_part {};

/// A term that is summed over states, state i as often as `Count` says. The final state has no further term.
template <class Term, class Count>
class summed_terms : public objective_part {
 public:
  template <class State, class Params, class Emit>
  void running(State const& x, Params const& p, step_index i, Emit&& emit) const {
    for (std::size_t k = terms_at_(i); k > 0; --k) emit(term_.value(x, p, i));
  }
  template <class State, class Bar, class Params, class DP>
  void running_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    for (std::size_t k = terms_at_(i); k > 0; --k) term_.add_gradient(x, bar, p, dp, i);
  }
  template <class Note>
  void each_count(step_index i, Note&& note) const { note(terms_at_(i)); }
  /// Calls note with the numbers that say which states have a term.
  template <class Note>
  void each_number(Note const& note) const { terms_at_.each_number(note); }
  template <class State, class Params>
  static constexpr bool indexed = Term::template indexed<State, Params>;
  template <class State, class Params, class Scalar>
  static constexpr bool fits = Term::template fits<State, Params, Scalar>;
  static constexpr bool has_derivatives = Term::has_derivative;
  template <class State, class Bar, class Params, class DP>
  static constexpr fault wrong = Term::template wrong<State, Bar, Params, DP>;
  [[nodiscard]] step_index last_state() const noexcept { return terms_at_.last_state(); }
  /// The first state after i that has a term; `no_state` if there is none.
  [[nodiscard]] step_index next_after(step_index i) const noexcept { return terms_at_.next_after(i); }
  /// Calls look with the term and its derivative.
  template <class Look>
  void each_function(Look const& look) const { term_.each_function(look); }

 protected:
  summed_terms(Count count, Term term) : terms_at_{std::move(count)}, term_{std::move(term)} {}
  Count terms_at_;
  Term term_;
};
/// One term at every k-th state.
struct every_kth {
  step_index k;
  [[nodiscard]] std::size_t operator()(step_index i) const noexcept { return i > 0 && i % k == 0; }
  [[nodiscard]] step_index last_state() const noexcept { return 0; }  // all loop lengths are accepted
  [[nodiscard]] step_index next_after(step_index i) const noexcept {
    step_index const before = i < k ? 0 : i - i % k;
    return before > objective_part::no_state - k ? objective_part::no_state : before + k;
  }
  template <class Note>
  void each_number(Note const& note) const { note(step_index{-1}), note(k); }
};
/// A term at a state as often as it is listed.   \pre sorted
struct listed_states {
  std::vector<step_index> all;
  [[nodiscard]] std::size_t operator()(step_index i) const {
    std::size_t const from = place_of(i);
    std::size_t to = from;
    while (to < all.size() && all[to] == i) ++to;
    return to - from;
  }
  [[nodiscard]] step_index next_after(step_index i) const noexcept {
    std::size_t const at = place_of(i + 1);
    return at < all.size() ? all[at] : objective_part::no_state;
  }
  /// The first place of a number >= i.
  [[nodiscard]] std::size_t place_of(step_index i) const noexcept {
    std::size_t from = 0, to = all.size();
    while (from < to) {
      std::size_t const middle = from + (to - from) / 2;
      if (all[middle] < i) from = middle + 1;
      else to = middle;
    }
    return from;
  }
  [[nodiscard]] step_index last_state() const noexcept { return all.empty() ? 0 : all.back(); }
  template <class Note>
  void each_number(Note const& note) const {
    note(step_index(all.size()));
    for (step_index const i : all) note(i);
  }
};
template <class Fn>
consteval bool check_k_first() {
  constexpr bool first = std::is_void_v<Fn>;
  static_assert(first, "cairn: the number of steps between terms comes first: cairn::at_every(k, f, df)");
  return first;
}
template <class Fn>
consteval bool check_states_first() {
  constexpr bool first = std::is_void_v<Fn>;
  static_assert(first, "cairn: the states with a term come first: cairn::at_states({0, 10}, f, df)");
  return first;
}
/// Heapsort: `<algorithm>` would cost every user's build more than the rest of this header.
inline void sort_states(std::vector<step_index>& all) {
  auto const sift = [&](std::size_t root, std::size_t end) {
    for (std::size_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && all[child] < all[child + 1]) ++child;
      if (!(all[root] < all[child])) return;
      std::swap(all[root], all[child]);
    }
  };
  for (std::size_t k = all.size() / 2; k > 0; --k) sift(k - 1, all.size());
  for (std::size_t end = all.size(); end > 1; --end) {
    std::swap(all[0], all[end - 1]);
    sift(0, end - 1);
  }
}

}  // namespace detail

/// What is summed over a loop and then differentiated: `at_end`, `at_every`, `at_states`, sums of them by `+`, or
/// `no_objective`.
template <class T>
concept objective = std::is_base_of_v<detail::objective_part, T>;

/// No objective: the seed of the sweep defines what is differentiated.
struct no_objective : detail::only_at_end {
  /// All states are accepted.
  template <class State, class Params, class Scalar>
  static constexpr bool fits = true;
};

/// A term of the final state, with its number i = n.
///
/// A term is a function `f(x)`, `f(x, p)` or `f(x, p, i)`, which returns a number; without parameters `f(x, i)`. For a
/// tool it is generic in the scalar. An adjoint by hand also needs its derivative, `df(x, bar)`, `df(x, bar, p, dp)` or
/// `df(x, bar, p, dp, i)`, which *adds* to bar, and to dp; without parameters `df(x, bar, i)`. Or one object has both,
/// as members `value` and `add_gradient`. x, p and i are inputs: a generic function takes p by reference.
template <class Fn, class DF = no_derivative>
class at_end : public detail::only_at_end {
  using term = detail::term_of<Fn, DF>;

 public:
  /// \param f  a function for a tool, or an object with `value` and `add_gradient`
  explicit at_end(Fn f)
    requires std::is_same_v<DF, no_derivative>
      : term_{detail::as_term(std::move(f))} {}
  /// \param f, df  a function and its derivative
  at_end(Fn f, DF df)
    requires(!std::is_same_v<DF, no_derivative>)
      : term_{std::move(f), std::move(df)} {}
  /// Passes the term of the final state to `emit`.
  template <class State, class Params, class Emit>
  void ending(State const& x, Params const& p, step_index n, Emit&& emit) const { emit(term_.value(x, p, n)); }
  /// Adds the derivative of the term of the final state.
  template <class State, class Bar, class Params, class DP>
  void ending_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index n) const {
    term_.add_gradient(x, bar, p, dp, n);
  }
  /// Whether f accepts such states.
  template <class State, class Params, class Scalar>
  static constexpr bool fits = term::template fits<State, Params, Scalar>;
  static constexpr bool has_end = true;  ///< a term of the last state
  /// Whether the term has a derivative.
  static constexpr bool has_derivatives = term::has_derivative;
  /// Whether the derivative accepts such states.
  template <class State, class Bar, class Params, class DP>
  static constexpr detail::fault wrong = term::template wrong<State, Bar, Params, DP>;
  /// Calls look with f and df.
  template <class Look>
  void each_function(Look const& look) const { term_.each_function(look); }

 private:
  term term_;
};
/// A function, or an object with `value` and `add_gradient`.
template <class Fn> explicit at_end(Fn) -> at_end<Fn>;
/// A function and its derivative.
template <class Fn, class DF> at_end(Fn, DF) -> at_end<Fn, DF>;

/// The sum of a term over the states i = k, 2 k, 3 k ... up to the last, and not over state 0; k = 1 is the state after
/// every step. Terms as for `at_end`. \throws invalid_call   for k < 1
template <class Fn, class DF = no_derivative>
class at_every : public detail::summed_terms<detail::term_of<Fn, DF>, detail::every_kth> {
 public:
  /// \param k  steps from one term to the next, >= 1   \param f  as for `at_end`
  at_every(step_index k, Fn f)
    requires std::is_same_v<DF, no_derivative>
      : at_every::summed_terms{{checked(k)}, detail::as_term(std::move(f))} {}
  /// \param k  steps from one term to the next, >= 1   \param f, df  a function and its derivative
  at_every(step_index k, Fn f, DF df)
    requires(!std::is_same_v<DF, no_derivative>)
      : at_every::summed_terms{{checked(k)}, {std::move(f), std::move(df)}} {}

  /// Refused: the number of steps comes first.
  at_every(Fn f, DF df, step_index)
    requires(!std::is_same_v<DF, no_derivative>)
      : at_every::summed_terms{{1}, {std::move(f), std::move(df)}} {
    (void)detail::check_k_first<Fn>();
  }
  /// Refused: the number of steps comes first.
  at_every(Fn f, step_index)
    requires std::is_same_v<DF, detail::any_derivative>
      : at_every::summed_terms{{1}, {std::move(f), {}}} {
    (void)detail::check_k_first<Fn>();
  }

 private:
  [[nodiscard]] static step_index checked(step_index k) {
    if (k < 1)
      throw invalid_call{"cairn::at_every", "the number of steps between terms is out of range",
                         {{"steps", k}}, "give 1 or more"};
    return k;
  }
};
/// A function, or an object with `value` and `add_gradient`.
template <class Fn> at_every(step_index, Fn) -> at_every<Fn>;
/// A function and its derivative.
template <class Fn, class DF> at_every(step_index, Fn, DF) -> at_every<Fn, DF>;
/// Refused: the number of steps comes first.
template <class Fn, class DF>
  requires(!std::is_arithmetic_v<Fn>)
at_every(Fn, DF, step_index) -> at_every<Fn, DF>;
/// Refused: the number of steps comes first.
template <class Fn>
  requires(!std::is_arithmetic_v<Fn>)
at_every(Fn, step_index) -> at_every<Fn, detail::any_derivative>;

/// The sum of a term over the listed states i, which may include 0 and n; a state listed twice counts twice. Terms as
/// for `at_end`. \throws invalid_call   for a state below 0
template <class Fn, class DF = no_derivative>
class at_states : public detail::summed_terms<detail::term_of<Fn, DF>, detail::listed_states> {
 public:
  /// \param states  their numbers, in any order   \param f  as for `at_end`
  at_states(std::vector<step_index> states, Fn f)
    requires std::is_same_v<DF, no_derivative>
      : at_states::summed_terms{{sorted(std::move(states))}, detail::as_term(std::move(f))} {}
  /// \param states  their numbers, in any order   \param f, df  a function and its derivative
  at_states(std::vector<step_index> states, Fn f, DF df)
    requires(!std::is_same_v<DF, no_derivative>)
      : at_states::summed_terms{{sorted(std::move(states))}, {std::move(f), std::move(df)}} {}
  /// Refused: the states come first.
  at_states(Fn f, DF df, std::vector<step_index>)
    requires(!std::is_same_v<DF, no_derivative>)
      : at_states::summed_terms{{{}}, {std::move(f), std::move(df)}} {
    (void)detail::check_states_first<Fn>();
  }
  /// Refused: the states come first.
  at_states(Fn f, std::vector<step_index>)
    requires std::is_same_v<DF, detail::any_derivative>
      : at_states::summed_terms{{{}}, {std::move(f), {}}} {
    (void)detail::check_states_first<Fn>();
  }

 private:
  [[nodiscard]] static std::vector<step_index> sorted(std::vector<step_index> all) {
    detail::sort_states(all);
    if (!all.empty() && all.front() < 0)
      throw invalid_call{"cairn::at_states", "there is no state with such a number", {{"state", all.front()}},
                         "name states from 0 to the number of steps"};
    return all;
  }
};
/// A function, or an object with `value` and `add_gradient`.
template <class Fn> at_states(std::vector<step_index>, Fn) -> at_states<Fn>;
/// A function and its derivative.
template <class Fn, class DF> at_states(std::vector<step_index>, Fn, DF) -> at_states<Fn, DF>;
/// Refused: the states come first.
template <class Fn>
  requires(!std::is_convertible_v<Fn, std::vector<step_index>>)
at_states(Fn, std::vector<step_index>) -> at_states<Fn, detail::any_derivative>;
/// Refused: the states come first.
template <class Fn, class DF>
  requires(!std::is_convertible_v<Fn, std::vector<step_index>>)
at_states(Fn, DF, std::vector<step_index>) -> at_states<Fn, DF>;

/// The sum of two objectives; `a + b` makes it.
template <objective First, objective Second>
struct objective_sum : detail::objective_part {
  /// The terms of a state are emitted in the order a, b.
  objective_sum(First a, Second b) : first{std::move(a)}, second{std::move(b)} {}
  First first;    ///< emits first
  Second second;  ///< emits second
  /// Passes the terms of state i to `emit`.
  template <class State, class Params, class Emit>
  void running(State const& x, Params const& p, step_index i, Emit&& emit) const {
    first.running(x, p, i, emit);
    second.running(x, p, i, emit);
  }
  /// Adds the derivatives of the terms of state i.
  template <class State, class Bar, class Params, class DP>
  void running_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    first.running_gradient(x, bar, p, dp, i);
    second.running_gradient(x, bar, p, dp, i);
  }
  /// Reports to `note` how many terms state i has of each.
  template <class Note>
  void each_count(step_index i, Note&& note) const {
    first.each_count(i, note);
    second.each_count(i, note);
  }
  /// Whether a term of either takes the number of its state.
  template <class State, class Params>
  static constexpr bool indexed = First::template indexed<State, Params> || Second::template indexed<State, Params>;
  /// Passes the terms of the final state to `emit`.
  template <class State, class Params, class Emit>
  void ending(State const& x, Params const& p, step_index n, Emit&& emit) const {
    first.ending(x, p, n, emit);
    second.ending(x, p, n, emit);
  }
  /// Adds the derivatives of the terms of the final state.
  template <class State, class Bar, class Params, class DP>
  void ending_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index n) const {
    first.ending_gradient(x, bar, p, dp, n);
    second.ending_gradient(x, bar, p, dp, n);
  }
  /// Whether both accept such states.
  template <class State, class Params, class Scalar>
  static constexpr bool fits =
      First::template fits<State, Params, Scalar>&& Second::template fits<State, Params, Scalar>;
  /// Calls note with the numbers that say which states have a term of either.
  template <class Note>
  void each_number(Note const& note) const { first.each_number(note), second.each_number(note); }
  /// Calls look with the functions of both.
  template <class Look>
  void each_function(Look const& look) const { first.each_function(look), second.each_function(look); }
  static constexpr bool has_end = First::has_end || Second::has_end;  ///< a term of the last state
  /// Whether all terms have derivatives.
  static constexpr bool has_derivatives = First::has_derivatives && Second::has_derivatives;
  /// Whether the derivatives of both accept such states.
  template <class State, class Bar, class Params, class DP>
  static constexpr detail::fault wrong = First::template wrong<State, Bar, Params, DP> != detail::fault::none
                                             ? First::template wrong<State, Bar, Params, DP>
                                             : Second::template wrong<State, Bar, Params, DP>;
  /// The larger number of the two.
  [[nodiscard]] step_index last_state() const noexcept {
    return detail::greater(first.last_state(), second.last_state());
  }
  /// The first state after i with a term of either.
  [[nodiscard]] step_index next_after(step_index i) const noexcept {
    return detail::lesser(first.next_after(i), second.next_after(i));
  }
};
/// The sum of two objectives.
template <objective First, objective Second>
[[nodiscard]] objective_sum<First, Second> operator+(First a, Second b) { return {std::move(a), std::move(b)}; }

namespace detail {

/// Converts a function to `at_end`.
template <class T>
[[nodiscard]] auto as_objective(T given) {
  if constexpr (objective<T>) return given;
  else return at_end{std::move(given)};
}
template <class T>
using objective_type = decltype(as_objective(std::declval<T>()));

}  // namespace detail
}  // namespace cairn
