// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file objective.hpp  What is differentiated: a function of the final state, of every state, or of some states.
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn {
namespace detail {

/// The term `f(x)`, `f(x, params)` or `f(x, params, i)` of a state.
template <class F, class X, class P>
decltype(auto) call_term(F const& f, X const& x, P const& p, step_index i) {
  if constexpr (requires { f(x, p, i); }) return f(x, p, i);
  else if constexpr (requires { f(x, p); }) return f(x, p);
  else return f(x);
}
template <class F, class X, class P>
concept has_term = requires(F const& f, X const& x, P const& p, step_index i) { f(x, p, i); } ||
                   requires(F const& f, X const& x, P const& p) { f(x, p); } ||
                   requires(F const& f, X const& x) { f(x); };
/// Whether the term is a number. A tool's expression is refused: it would refer to objects that no longer exist.
template <class F, class X, class P, class Scalar>
[[nodiscard]] consteval bool is_term() {
  if constexpr (!has_term<F, X, P>) return false;
  else {
    using term = std::remove_cvref_t<decltype(call_term(std::declval<F const&>(), std::declval<X const&>(),
                                                        std::declval<P const&>(), step_index{}))>;
    return std::is_same_v<term, Scalar> || std::is_arithmetic_v<term>;
  }
}

/// Whether the term takes the number of its state.
template <class F, class X, class P>
inline constexpr bool has_indexed_term = requires(F const& f, X const& x, P const& p, step_index i) { f(x, p, i); };

struct objective_part {};
/// An objective with no terms but those of the last state.
struct only_at_end : objective_part {
  template <class X, class P, class Emit>
  void running(X const&, P const&, step_index, Emit&&) const {}
  template <class Note>
  void each_count(step_index, Note&&) const noexcept {}
  template <class X, class P>
  static constexpr bool indexed = false;
  [[nodiscard]] step_index last_state() const noexcept { return 0; }
};

}  // namespace detail

/// What is summed over a loop and then differentiated: `at_end`, `at_every`, `at_states`, sums of them by `+`, or
/// `no_objective`.
template <class T>
concept objective = std::is_base_of_v<detail::objective_part, T>;

/// No objective: the seed of the sweep defines what is differentiated.
struct no_objective : detail::only_at_end {
  /// The final state has no term, either.
  template <class X, class P, class Emit>
  void ending(X const&, P const&, step_index, Emit&&) const {}
  /// All states are accepted.
  template <class X, class P, class Scalar>
  static constexpr bool fits = true;
};

/// `f(x)`, `f(x, params)` or `f(x, params, i)` of the final state, with its number i = n.
template <class F>
struct at_end : detail::only_at_end {
  explicit at_end(F function) : f{std::move(function)} {}  ///< \param function  generic in the scalar
  F f;  ///< returns a scalar
  /// Passes the term of the final state to `emit`.
  template <class X, class P, class Emit>
  void ending(X const& x, P const& p, step_index n, Emit&& emit) const { emit(detail::call_term(f, x, p, n)); }
  /// Whether f accepts such states.
  template <class X, class P, class Scalar>
  static constexpr bool fits = detail::is_term<F, X, P, Scalar>();
};

/// The sum of `f(x)`, `f(x, params)` or `f(x, params, i)` over the states i = k, 2 k, 3 k ... up to the last; k = 1 is
/// the state after every step. \throws invalid_call   for k < 1
template <class F>
class at_every : public detail::objective_part {
 public:
  /// \param k  steps from one term to the next, >= 1   \param f  generic in the scalar
  at_every(step_index k, F f) : every_{k}, f_{std::move(f)} {
    if (k < 1)
      throw invalid_call{"cairn::at_every", "terms come every so many steps", {{"steps", k}}, "give 1 or more"};
  }
  /// Passes the term of state i to `emit`, if there is one.
  template <class X, class P, class Emit>
  void running(X const& x, P const& p, step_index i, Emit&& emit) const {
    if (runs_at(i)) emit(detail::call_term(f_, x, p, i));
  }
  /// Tells `note` how many terms state i has.
  template <class Note>
  void each_count(step_index i, Note&& note) const { note(std::size_t{runs_at(i)}); }
  /// Whether a term is told the number of its state.
  template <class X, class P>
  static constexpr bool indexed = detail::has_indexed_term<F, X, P>;
  /// The final state has no further term.
  template <class X, class P, class Emit>
  void ending(X const&, P const&, step_index, Emit&&) const {}
  /// Whether f accepts such states.
  template <class X, class P, class Scalar>
  static constexpr bool fits = detail::is_term<F, X, P, Scalar>();
  /// All loop lengths are accepted.
  [[nodiscard]] step_index last_state() const noexcept { return 0; }

 private:
  [[nodiscard]] bool runs_at(step_index i) const noexcept { return i > 0 && i % every_ == 0; }

  step_index every_;
  F f_;
};

/// The sum of `f(x)`, `f(x, params)` or `f(x, params, i)` over the listed states i, which may include 0 and n; a state
/// listed twice counts twice. \throws invalid_call   for a state below 0
template <class F>
class at_states : public detail::objective_part {
 public:
  /// \param states  their numbers, in any order   \param f  generic in the scalar
  at_states(std::vector<step_index> states, F f) : states_{std::move(states)}, f_{std::move(f)} {
    std::sort(states_.begin(), states_.end());
    if (!states_.empty() && states_.front() < 0)
      throw invalid_call{"cairn::at_states", "there is no state with such a number", {{"state", states_.front()}},
                         "name states from 0 to the number of steps"};
  }
  /// Passes the terms of state i to `emit`, as often as it is listed.
  template <class X, class P, class Emit>
  void running(X const& x, P const& p, step_index i, Emit&& emit) const {
    auto const [from, to] = std::equal_range(states_.begin(), states_.end(), i);
    for (auto at = from; at != to; ++at) emit(detail::call_term(f_, x, p, i));
  }
  /// Tells `note` how many terms state i has.
  template <class Note>
  void each_count(step_index i, Note&& note) const {
    auto const [from, to] = std::equal_range(states_.begin(), states_.end(), i);
    note(std::size_t(to - from));
  }
  /// Whether a term is told the number of its state.
  template <class X, class P>
  static constexpr bool indexed = detail::has_indexed_term<F, X, P>;
  /// The final state has no further term.
  template <class X, class P, class Emit>
  void ending(X const&, P const&, step_index, Emit&&) const {}
  /// Whether f accepts such states.
  template <class X, class P, class Scalar>
  static constexpr bool fits = detail::is_term<F, X, P, Scalar>();
  /// The largest number listed.
  [[nodiscard]] step_index last_state() const noexcept { return states_.empty() ? 0 : states_.back(); }

 private:
  std::vector<step_index> states_;
  F f_;
};

/// The sum of two objectives; `a + b` makes it.
template <objective First, objective Second>
struct objective_sum : detail::objective_part {
  /// The terms of a state are emitted in the order a, b.
  objective_sum(First a, Second b) : first{std::move(a)}, second{std::move(b)} {}
  First first;    ///< emits first
  Second second;  ///< emits second
  /// Passes the terms of state i to `emit`.
  template <class X, class P, class Emit>
  void running(X const& x, P const& p, step_index i, Emit&& emit) const {
    first.running(x, p, i, emit);
    second.running(x, p, i, emit);
  }
  /// Tells `note` how many terms state i has of each.
  template <class Note>
  void each_count(step_index i, Note&& note) const {
    first.each_count(i, note);
    second.each_count(i, note);
  }
  /// Whether a term of one of them is told the number of its state.
  template <class X, class P>
  static constexpr bool indexed = First::template indexed<X, P> || Second::template indexed<X, P>;
  /// Passes the terms of the final state to `emit`.
  template <class X, class P, class Emit>
  void ending(X const& x, P const& p, step_index n, Emit&& emit) const {
    first.ending(x, p, n, emit);
    second.ending(x, p, n, emit);
  }
  /// Whether both accept such states.
  template <class X, class P, class Scalar>
  static constexpr bool fits = First::template fits<X, P, Scalar> && Second::template fits<X, P, Scalar>;
  /// The larger number of the two.
  [[nodiscard]] step_index last_state() const noexcept { return (std::max)(first.last_state(), second.last_state()); }
};
/// The sum of two objectives.
template <objective First, objective Second>
[[nodiscard]] objective_sum<First, Second> operator+(First a, Second b) { return {std::move(a), std::move(b)}; }

namespace detail {

/// Converts a function to `at_end`.
template <class T>
[[nodiscard]] auto as_objective(T given) {
  if constexpr (objective<T>) return given;
  else return at_end<T>{std::move(given)};
}
template <class T>
using objective_type = decltype(as_objective(std::declval<T>()));

}  // namespace detail
}  // namespace cairn
