// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/run/check/report.hpp>
#include <cstddef>
#include <cairn/core/wide.hpp>

namespace cairn {

namespace detail {

/// Writes x with at most six significant digits: 1.5, -2.5e-01, 3.27e-09.
[[gnu::cold]] inline void add_real(text<1400>& into, double x) {
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

CAIRN_DECL void adjoint_report::put_in_words(char const* who) {
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
CAIRN_DECL void adjoint_report::say_fault() {
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
      if (number >= 0) {
        text_.add("; worst for number ").add(wide(number));
        if (member >= 0) text_.add(", in member ").add(wide(member));
        say(", where it should be ", number_by_differences);
        say(" and is ", number_by_adjoint);
      }
      return;
    case adjoint_fault::undecided:
      if (left_alone) {
        where("no decision is possible about number ");
        text_.add(": one part of an array is computed from no differentiated number, and the adjoint leaves it alone; "
                  "it is a constant, or its derivative is missing; keep constants in members of their own");
        return;
      }
      if (step < 0) {
        text_.add("differences cannot decide about the whole: it does not change in proportion to any distance that is "
                  "clear of rounding, as in a chaotic loop; check fewer steps");
        return;
      }
      at("differences cannot decide about step ");
      if (kink) text_.add(": the slopes on its two sides differ, as at a kink; check at another state");
      else {
        say(": they are good to ", resolution < 1 ? resolution : 1);
        text_.add(" relative only");
        if (digits <= 24)
          text_.add(", as numbers of ").add(wide(digits)).add(" bits allow; check the same code in double");
        else text_.add("; check at another state");
      }
      text_.add(", or give the tangent");
  }
}

}  // namespace cairn
