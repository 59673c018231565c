// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checked_loop.hpp  A loop whose adjoint is checked, step by step: the numbers of its states and adjoints, and
/// the report.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/detail/taylor_test.hpp>
#include <cairn/run/check/report.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// The gradient of n steps from x0, with `pull` for the adjoint. Keeps the first state of each stretch of some sqrt(n)
/// steps, and all states of one stretch: not by a sweep, which each file with a check would have to compile.
/// Cost: fewer than 2n steps, some 2 sqrt(n) states.   \pre n > 0
[[nodiscard, gnu::cold]] inline held_bar whole_gradient(
    checked_functions& loop, unnamed_state const& x0, step_index n, held_bar bar,
    call_ref<void(unnamed_state const&, unnamed_bar&, step_index)> pull) {
  step_index stretch = 1;
  while (stretch < n / stretch) ++stretch;
  step_index const last = (n - 1) / stretch;
  std::vector<held_state> kept;  // the first states of stretches 0 .. k, then those inside stretch k
  kept.push_back(loop.copy(x0));
  auto const run = [&](step_index from, step_index to) {
    kept.push_back(loop.copy(*kept.back()));
    for (step_index i = from; i < to; ++i) loop.advance(*kept.back(), i);
  };
  for (step_index k = 0; k < last; ++k) run(k * stretch, (k + 1) * stretch);
  for (step_index k = last, end = n; k >= 0; end = k-- * stretch) {
    for (step_index i = k * stretch; i + 1 < end; ++i) run(i, i + 1);
    for (step_index i = end; i-- > k * stretch; kept.pop_back()) pull(*kept.back(), *bar, i);
  }
  return bar;
}

/// Which numbers of a value are meant.
enum class number_choice : unsigned char {
  known,           ///< all that are known, also those that are not differentiated
  differentiated,  ///< without those taken as constants
  constants        ///< those taken as constants
};
/// Numbers of a state or an adjoint, which must outlive them.
class value_numbers {
 public:
  /// \param constants  which of the numbers are taken as constants; those past its end are not
  template <class Value>
  value_numbers(checked_functions const& functions, Value& x, number_choice which,
                value_list<bool> const& constants) noexcept
      : functions_{functions},
        x_{&x},
        visit_{[](checked_functions const& loop, void const* at, bool all, run_visitor f) {
          loop.visit(*static_cast<Value*>(const_cast<void*>(at)), all, f);
        }},
        constants_{constants},
        which_{which} {}
  [[gnu::noinline]] void operator()(run_visitor f) const {
    bool const only_constants = which_ == number_choice::constants;
    if (which_ == number_choice::known || constants_.empty()) {
      if (!only_constants) visit_(functions_, x_, which_ == number_choice::known, f);
      return;
    }
    std::size_t first = 0;
    visit_(functions_, x_, false, [&](number_run const& run) {
      auto const handed_out = [&](std::size_t k) {
        return (first + k < constants_.size() && constants_[first + k]) == only_constants;
      };
      for (std::size_t k = 0; k < run.count;) {
        std::size_t end = k + 1;
        while (end < run.count && handed_out(end) == handed_out(k)) ++end;
        if (handed_out(k)) f({run.at(k), end - k, run.kind});
        k = end;
      }
      first += run.count;
    });
  }

 private:
  checked_functions const& functions_;
  void const* x_;
  void (*visit_)(checked_functions const&, void const*, bool, run_visitor);
  value_list<bool> const& constants_;
  number_choice which_;
};

/// Runs steps and adjoints one by one, reads and writes their numbers, and holds the report. An adjoint that is a State
/// has the same differentiated numbers as a state; of any other adjoint, the first numbers belong to those of the
/// state.
class checked_loop {
 public:
  checked_loop(checked_functions& functions, std::uint64_t random_seed)
      : functions_{functions}, known_{functions.known()}, random_{random_seed} {}

  [[nodiscard]] checked_functions::facts known() const noexcept { return known_; }
  /// The numbers that are taken as constants.
  [[nodiscard]] value_list<bool>& constants() noexcept { return constants_; }
  [[nodiscard]] random_numbers& random() noexcept { return random_; }
  [[nodiscard]] adjoint_report& report() noexcept { return report_; }
  /// Whether some parts of the state are not differentiated.
  [[nodiscard]] bool has_constants() const noexcept { return has_constants_; }

  /// The differentiated numbers of a state or an adjoint x; x must outlive the result.
  template <class Value>
  [[nodiscard]] value_numbers numbers(Value& x) const noexcept {
    return {functions_, x, number_choice::differentiated, constants_};
  }
  /// All known numbers of x, also those that are not differentiated.
  template <class Value>
  [[nodiscard]] value_numbers all_numbers(Value& x) const noexcept {
    return {functions_, x, number_choice::known, constants_};
  }
  /// The numbers of x that are taken as constants.
  template <class Value>
  [[nodiscard]] value_numbers taken_as_constants(Value& x) const noexcept {
    return {functions_, x, number_choice::constants, constants_};
  }

  void fail(adjoint_fault fault, step_index i) {
    report_.fault = fault;
    report_.step = i;
  }
  [[gnu::cold]] void name(unnamed_state const& x, std::int64_t number) {
    report_.number = number;
    report_.member = number < 0 ? -1 : functions_.member_of(x, number);
  }
  /// The positions of the differentiated numbers of x, as the report counts them.
  [[nodiscard]] value_list<std::int64_t> places(unnamed_state const& x) const {
    return places_of(numbers(x), all_numbers(x));
  }
  [[gnu::noinline]] void list_undifferentiated(unnamed_state const& x0) {
    report_.numbers = std::int64_t(count_of(all_numbers(x0)));
    auto const gaps = [&](value_list<std::int64_t> const& places, std::vector<number_range>& into) {
      std::int64_t next = 0;
      auto const leave_out = [&](std::int64_t end) {
        if (next < end)
          into.push_back({next, end - next, functions_.member_of(x0, next), functions_.member_of(x0, end - 1)});
      };
      for (std::int64_t const place : places) {
        leave_out(place);
        next = place + 1;
      }
      leave_out(report_.numbers);
    };
    gaps(places(x0), report_.undifferentiated);
    value_list<std::int64_t> others;
    auto const taken = places_of(taken_as_constants(x0), all_numbers(x0));
    for (std::int64_t place = 0, k = 0; place < report_.numbers; ++place)
      if (k < std::int64_t(taken.size()) && taken[std::size_t(k)] == place) ++k;
      else others.push_back(place);
    gaps(others, report_.taken_as_constants);
    has_constants_ = !known_.numbered || !report_.undifferentiated.empty();
  }
  void find_part(unnamed_state const& x0, step_index n) { functions_.find_part(x0, n); }
  void each_group(unnamed_state const& x, call_ref<void(std::size_t, bool)> f) const { functions_.each_group(x, f); }

  [[nodiscard]] held_state copy(unnamed_state const& x) const { return functions_.copy(x); }
  void advance(unnamed_state& x, step_index i) {
    ++report_.step_calls;
    if (chooses_at(i)) functions_.advance_anew(x, i);
    else functions_.advance(x, i);
  }
  /// Whether step i chooses anew in differences.
  [[nodiscard]] bool chooses_at(step_index i) const noexcept {
    for (step_index const at : anew_)
      if (at == i) return true;
    return false;
  }
  /// From now on differences of step i choose anew: its choice depends on the state, as a last step that ends at a given
  /// time does.   \pre known().chooses
  void choose_at(step_index i) { anew_.push_back(i); }
  /// Takes back the last `choose_at`.
  void repeat_again() { anew_.resize(anew_.size() - 1); }
  void run_out_of_place(unnamed_state const& x, unnamed_state& x1, step_index i) {
    ++report_.step_calls;
    functions_.run_out_of_place(x, x1, i);
  }
  void take_tangent(unnamed_state const& x, unnamed_state& dx, step_index i) { functions_.take_tangent(x, dx, i); }
  /// Turns bar of state i+1 into bar of state i.
  void pull(unnamed_state const& x, unnamed_bar& bar, step_index i) {
    if (known_.step_in_adjoint) ++report_.step_calls;
    functions_.pull(x, bar, i);
  }
  /// An adjoint of state x whose numbers, as many as are differentiated in x, are w. Numbers of named constants are 0;
  /// those taken as constants get values of w, because no adjoint may read them.
  [[gnu::cold]] held_bar bar_with(unnamed_state const& x, reals w) {
    held_bar bar = functions_.made_bar(x);
    (void)cut(*bar, w.size());
    if (known_.bar_is_state) {
      reals none(count_of(all_numbers(*bar)));
      set_numbers(all_numbers(*bar), none);
    }
    set_numbers(numbers(*bar), w);
    if (!constants_.empty() && !w.empty()) {
      auto beside = numbers_of(taken_as_constants(*bar));
      for (std::size_t k = 0; k < beside.size(); ++k) beside[k] = w[k % w.size()];
      set_numbers(taken_as_constants(*bar), beside);
    }
    return bar;
  }
  /// The result of the adjoint of step i for bar = w, cut to the numbers of x.
  [[gnu::cold]] reals pulled(unnamed_state const& x, unnamed_state const& x1, reals w, step_index i) {
    held_bar bar = bar_with(x1, std::move(w));
    pull(x, *bar, i);
    return cut(*bar, count_of(numbers(x)));
  }
  /// The gradient of the first n steps for bar = w, by `pull` for each step.
  [[gnu::cold]] reals gradient_of(unnamed_state const& x0, unnamed_state const& last, step_index n,
                                  reals w,
                                  call_ref<void(unnamed_state const&, unnamed_bar&, step_index)> pull) {
    held_bar const bar = whole_gradient(functions_, x0, n, bar_with(last, std::move(w)), pull);
    return cut(*bar, count_of(numbers(x0)));
  }
  /// The first `size` numbers of bar, which belong to the differentiated numbers of the state.
  [[gnu::cold]] reals cut(unnamed_bar const& bar, std::size_t size) const {
    auto all = numbers_of(numbers(bar));
    if (all.size() < size)
      throw invalid_call{"cairn::check_adjoint",
                         "the adjoint has fewer floating-point numbers than the state",
                         {{"adjoint", all.size()}, {"state", size}},
                         "its first ones must be those of the state's adjoint, in the state's order; name the state's "
                         "constants in cairn::with_constants{x0, &state::t}"};
    all.resize(size);
    return all;
  }
  /// Random weights for numbers of these scales, so that all terms of the adjoint have one magnitude. \param reach
  /// magnitudes of the states that the adjoint passes through
  [[gnu::cold]] reals random_weights(unnamed_state const& x, reals scales, magnitudes const& reach) {
    int range = most_terms_exponent;
    held_bar const sample = functions_.made_bar(x);
    numbers(*sample)([&](number_run const& run) {
      int const own = run.kind->max_exponent / 8 * 7;
      range = lesser(range, own);
    });
    double const terms = reach.of_terms(range), least = reach.least_within(range);
    for (double& scale : scales) scale = random_.next() * (terms / greater(scale, least));
    return scales;
  }

  /// Replaces each number by another one of the same sign and magnitude.
  [[gnu::cold]] void refill(unnamed_state& x) const {
    constexpr double golden = 1.6180339887498949;
    auto others = numbers_of(all_numbers(x));
    for (double& number : others) number = number != 0 && finite(number) ? golden * number : golden;
    set_numbers(all_numbers(x), others);
  }
  /// The first number in which two states differ, -1 if there is none.
  [[nodiscard, gnu::cold]] std::int64_t first_other(unnamed_state const& a, unnamed_state const& b) const {
    return first_other_number(all_numbers(a), all_numbers(b));
  }
  /// Whether the values of two states differ, as far as they are known. \pre the step writes into another state
  [[nodiscard]] bool differ(unnamed_state const& a, unnamed_state const& b) const { return functions_.differ(a, b); }
  /// Whether a frame that holds `from` may be used for x again. \pre the step writes into another state
  [[nodiscard]] bool has_capacity_of(unnamed_state const& x, unnamed_state const& from) const {
    return functions_.has_capacity_of(x, from);
  }

  /// Runs x through n steps; numbers that are not differentiated come from a second run, that of `other`, so that no
  /// derivative goes through them; so do numbers that x lacks.
  [[gnu::cold]] void run_beside(held_state& x, held_state other, step_index n) {
    for (step_index i = 0; i < n; ++i) {
      advance(*x, i);
      advance(*other, i);
      auto own = numbers_of(numbers(*x));
      x = copy(*other);
      set_numbers(numbers(*x), own);
    }
  }

 private:
  checked_functions& functions_;
  checked_functions::facts known_;
  value_list<bool> constants_;  // in the order of the numbers
  value_list<step_index> anew_;
  random_numbers random_;
  adjoint_report report_;
  bool has_constants_ = false;
};

}  // namespace cairn::detail
