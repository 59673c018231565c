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

/// A function that is summed over states, state i as often as `Count` says. The final state has no further term.
template <class F, class Count>
class summed_terms : public objective_part {
 public:
  template <class X, class P, class Emit>
  void running(X const& x, P const& p, step_index i, Emit&& emit) const {
    for (std::size_t k = terms_at_(i); k > 0; --k) emit(call_term(f_, x, p, i));
  }
  template <class Note>
  void each_count(step_index i, Note&& note) const { note(terms_at_(i)); }
  template <class X, class P>
  static constexpr bool indexed = has_indexed_term<F, X, P>;
  template <class X, class P, class Emit>
  void ending(X const&, P const&, step_index, Emit&&) const {}
  template <class X, class P, class Scalar>
  static constexpr bool fits = is_term<F, X, P, Scalar>();
  [[nodiscard]] step_index last_state() const noexcept { return terms_at_.last_state(); }

 protected:
  summed_terms(Count count, F f) : terms_at_{std::move(count)}, f_{std::move(f)} {}
  Count terms_at_;
  F f_;
};
/// One term at every k-th state.
struct every_kth {
  step_index k;
  [[nodiscard]] std::size_t operator()(step_index i) const noexcept { return i > 0 && i % k == 0; }
  [[nodiscard]] step_index last_state() const noexcept { return 0; }  // all loop lengths are accepted
};
/// A term at a state as often as it is listed.   \pre sorted
struct listed_states {
  std::vector<step_index> all;
  [[nodiscard]] std::size_t operator()(step_index i) const {
    auto const [from, to] = std::equal_range(all.begin(), all.end(), i);
    return std::size_t(to - from);
  }
  [[nodiscard]] step_index last_state() const noexcept { return all.empty() ? 0 : all.back(); }
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

/// The sum of `f(x)`, `f(x, params)` or `f(x, params, i)` over the states i = k, 2 k, 3 k ... up to the last, without
/// state 0; k = 1 is the state after every step. \throws invalid_call   for k < 1
template <class F>
class at_every : public detail::summed_terms<F, detail::every_kth> {
 public:
  /// \param k  steps from one term to the next, >= 1   \param f  generic in the scalar
  at_every(step_index k, F f) : at_every::summed_terms{{k}, std::move(f)} {
    if (k < 1)
      throw invalid_call{"cairn::at_every", "the number of steps between terms is out of range",
                         {{"steps", k}}, "give 1 or more"};
  }
};

/// The sum of `f(x)`, `f(x, params)` or `f(x, params, i)` over the listed states i, which may include 0 and n; a state
/// listed twice counts twice. \throws invalid_call   for a state below 0
template <class F>
class at_states : public detail::summed_terms<F, detail::listed_states> {
 public:
  /// \param states  their numbers, in any order   \param f  generic in the scalar
  at_states(std::vector<step_index> states, F f) : at_states::summed_terms{{std::move(states)}, std::move(f)} {
    auto& all = this->terms_at_.all;
    std::sort(all.begin(), all.end());
    if (!all.empty() && all.front() < 0)
      throw invalid_call{"cairn::at_states", "there is no state with such a number", {{"state", all.front()}},
                         "name states from 0 to the number of steps"};
  }
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
  /// Reports to `note` how many terms state i has of each.
  template <class Note>
  void each_count(step_index i, Note&& note) const {
    first.each_count(i, note);
    second.each_count(i, note);
  }
  /// Whether a term of either takes the number of its state.
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
