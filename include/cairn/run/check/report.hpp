// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file report.hpp  The results of `check_adjoint` and `check_gradient`.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/text.hpp>

namespace cairn {

/// The first fault found, or `none`.
enum class adjoint_fault : std::uint8_t {
  none,
  not_finite,              ///< a number of the state, of the adjoint or of the objective is infinite or NaN
  step_not_deterministic,  ///< two runs of a step from the same state differ
  stale_next_state,        ///< the result of `step(x, x1, i)` depends on what x1 held before
  adjoint_not_linear,      ///< the result of the adjoint is not linear in bar, or differs from call to call
  wrong_adjoint,           ///< a step's adjoint is not the transpose of its derivative
  wrong_gradient,          ///< the remainder of the whole gradient does not fall with the square of the distance
  /// Differences are too rough to decide, and a tangent would decide; or, if `left_alone` is true, a part of an array
  /// is either constant or forgotten by the adjoint, and no test can decide.
  undecided
};

/// Consecutive numbers of a state, in the order of `visit_numbers`, and the members of an aggregate that hold them.
struct number_range {
  std::int64_t first = 0;         ///< the first number
  std::int64_t size = 0;          ///< how many numbers
  /// The member that holds the first number, counted from 0; -1 if the state is not an aggregate.
  std::int64_t first_member = -1;
  std::int64_t last_member = -1;  ///< the member that holds the last number
};

/// The result of a check, in numbers and in words.
struct adjoint_report {
  adjoint_fault fault = adjoint_fault::none;  ///< the first fault
  step_index steps = 0;              ///< steps of the loop
  step_index steps_tested = 0;       ///< steps tested one by one
  step_index step = -1;              ///< the first wrong step, -1 if none is known
  double by_adjoint = 0;             ///< <adjoint(w), v> at that step
  double by_differences = 0;         ///< <w, derivative times v> at that step
  double relative_error = 0;         ///< the difference of the two, divided by the sum of the terms' magnitudes
  double resolution = 0;     ///< relative errors below this may be missed at the tested step with the least resolution
  std::int64_t number = -1;  ///< the number of the state that is worst at that step, or differs first, in the order of
                             ///< `visit_numbers`; -1 if not known
  /// The member of an aggregate state that holds this number, counted from 0; -1 if not known.
  std::int64_t member = -1;
  double number_by_adjoint = 0;      ///< its adjoint, as given
  double number_by_differences = 0;  ///< its adjoint, as it should be
  bool left_alone = false;           ///< the adjoint leaves that number alone: it may be a constant of the loop
  std::int64_t numbers = 0;          ///< floating-point numbers of the initial state
  std::vector<number_range> undifferentiated;  ///< numbers without a derivative: of members without an adjoint, of
                                               ///< named constants, and those below
  /// Numbers that were not named as constants: an adjoint that leaves them alone differs from the step, and the step
  /// makes them from no differentiated number. If their derivative is wanted, that adjoint is wrong.
  std::vector<number_range> taken_as_constants;
  bool linear = false;  ///< the Taylor remainder of the whole is only rounding, so it has no slope
  double slope = 0;     ///< of the Taylor remainder of the whole gradient: 2 if the gradient is right, 1 if it is
                        ///< wrong; 0 if linear or not measured
  std::uint64_t step_calls = 0;      ///< made by the check, without those of `gradient`

  [[nodiscard]] bool passed() const noexcept { return fault == adjoint_fault::none; }  ///< whether nothing is wrong
  /// The result in one line of text; valid as long as the report.
  [[nodiscard]] char const* text() const noexcept { return text_.c_str(); }

  /// Writes the line of text from the numbers.
  void put_in_words(char const* who);

 private:
  void say_fault();
  detail::text<1400> text_;
};

namespace detail {

/// Writes x with at most six significant digits: 1.5, -0.25, 3.27e-09.
template <std::size_t Capacity>
void add_real(text<Capacity>& into, double x) {
  if (x != x) return void(into.add("nan"));
  if (x < 0) into.put('-'), x = -x;
  if (x > 1.7e308) return void(into.add("inf"));
  constexpr double digits = 1e5;
  int exponent = 0;
  while (x >= 10 - 0.5 / digits) x /= 10, ++exponent;
  while (x > 0 && x < 1 - 0.5 / digits) x *= 10, --exponent;
  auto rest = unsigned(x * digits + 0.5);
  into.add(wide{rest / unsigned(digits)});
  if ((rest %= unsigned(digits)) != 0) into.put('.');
  for (unsigned place = unsigned(digits) / 10; rest != 0; place /= 10) {
    into.put(char('0' + rest / place));
    rest %= place;
  }
  if (exponent != 0)
    into.add(exponent < 0 ? "e-" : "e+")
        .add(exponent > -10 && exponent < 10 ? "0" : "")
        .add(wide(exponent < 0 ? -exponent : exponent));
}

}  // namespace detail

inline void adjoint_report::put_in_words(char const* who) {
  text_ = {};
  text_.add(who).add(": ");
  say_fault();
  constexpr std::size_t most = 4;
  auto const range = [this](char const* one, char const* several, std::int64_t first, std::int64_t last) {
    text_.add(first == last ? one : several).add(wide(first));
    if (first != last) text_.add(" to ").add(wide(last));
  };
  auto const list = [&](char const* words, std::vector<number_range> const& parts) {
    for (std::size_t k = 0; k < parts.size() && k < most; ++k) {
      text_.add(k == 0 ? words : ", ");
      range("number ", "numbers ", parts[k].first, parts[k].first + parts[k].size - 1);
      if (parts[k].first_member >= 0)
        range(" in member ", " in members ", parts[k].first_member, parts[k].last_member);
    }
    if (parts.size() > most) text_.add(", and more");
  };
  list("; undifferentiated: ", undifferentiated);
  if (!undifferentiated.empty()) text_.add(" of ").add(wide(numbers)).add(numbers == 1 ? " number" : " numbers");
  if (taken_as_constants.empty()) return;
  list("; taken as constants of the loop: ", taken_as_constants);
  text_.add(", because the step computes them from no differentiated number and the adjoint leaves them alone; if you "
            "need a derivative with respect to them, this adjoint is wrong; cairn::with_constants{x0} checks them, "
            "too");
}

// One function: a list of sentences, one for each fault.
inline void adjoint_report::say_fault() {
  auto const say = [this](char const* words, double x) {
    text_.add(words);
    detail::add_real(text_, x);
  };
  auto const at = [this](char const* words) {
    text_.add(words).add(wide(step));
  };
  auto const where = [this](char const* words) {
    if (number < 0) return;
    text_.add(words).add(wide(number)).add(" of the state");
    if (member >= 0) text_.add(", in member ").add(wide(member));
  };
  switch (fault) {
    case adjoint_fault::none:
      if (steps_tested > 0) {
        text_.add("the adjoint agrees with the step")
            .add(taken_as_constants.empty() ? ": " : ", constants left out: ")
            .add(wide(steps_tested))
            .add(" of ")
            .add(wide(steps))
            .add(steps == 1 ? " step tested" : " steps tested");
        say(", errors above ", resolution);
        text_.add(" would have shown");
      }
      else if (slope == 0 && !linear) text_.add("no steps, nothing to check");
      else text_.add("the gradient agrees with the objective");
      if (linear) text_.add("; the Taylor remainder of the whole is nothing but rounding");
      else if (slope > 0) say("; slope of the Taylor remainder ", slope);
      return;
    case adjoint_fault::not_finite:
      text_.add("a number is infinite or NaN");
      if (step >= 0) at(" at step ");
      return;
    case adjoint_fault::step_not_deterministic:
      at("two runs of step ");
      text_.add(" from the same state differ");
      where(", first in number ");
      text_.add("; a step must depend on the state and its index only");
      return;
    case adjoint_fault::stale_next_state:
      at("what x1 held before changes the result of step ");
      where(", first in number ");
      text_.add("; a step (x, x1, i) must write all of x1 and read none of it");
      return;
    case adjoint_fault::adjoint_not_linear:
      at("the adjoint of step ");
      text_.add(" is not linear in bar, or differs from call to call");
      return;
    case adjoint_fault::wrong_adjoint:
      at("the adjoint of step ");
      say(" is wrong by ", relative_error);
      say(" relative: the step's derivative gives ", by_differences);
      say(", the adjoint ", by_adjoint);
      if (number >= 0) {
        where("; worst for number ");
        say(", where it should be ", number_by_differences);
        say(" and is ", number_by_adjoint);
        if (left_alone)
          text_.add("; the adjoint leaves that number alone: name a constant of the loop in cairn::with_constants");
      }
      return;
    case adjoint_fault::wrong_gradient:
      say("the gradient is wrong: the Taylor remainder falls with slope ", slope);
      text_.add(", where 2 is right");
      if (steps_tested > 0) text_.add("; the tested steps are right by themselves, so look at the others");
      return;
    case adjoint_fault::undecided:
      if (left_alone) {
        where("no decision is possible about number ");
        text_.add(": one part of an array is computed from no differentiated number, and the adjoint leaves it alone; "
                  "it is a constant, or its derivative is missing; keep constants in members of their own");
        return;
      }
      if (step >= 0) at("differences cannot decide about step ");
      else text_.add("differences cannot decide");
      say(": they are good to ", resolution);
      text_.add(" relative only; check at another state, or give the tangent");
  }
}

}  // namespace cairn
