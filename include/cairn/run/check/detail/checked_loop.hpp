#pragma once
/// \file checked_loop.hpp  A loop whose adjoint is checked: its step, its adjoint, and the numbers of both.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/checks.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/differentiated.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn::detail {

/// Stands for a missing seed: the adjoint is a State.
struct state_is_bar {};

/// Runs steps and adjoints one by one, reads and writes their numbers, and holds the report.
/// \tparam Which  which numbers of a state are differentiated, a `numbers_without`. The same numbers of an adjoint that
///   is a State are read; of other adjoints the first ones
template <class State, class Bar, class Step, class Adjoint, class Seed, class Which>
class checked_loop {
  static constexpr bool bar_is_state = std::is_same_v<Bar, State>;
  using which_of_bar = std::conditional_t<bar_is_state, Which, numbers_without<every_number>>;
  using which_of_all = std::conditional_t<numbered<State>, every_number, typename Which::all_type>;

 public:
  using state_type = State;
  using bar_type = Bar;
  using step_type = Step;

  checked_loop(Step& step, Adjoint& adjoint, Seed& seed, Which const& which, std::uint64_t random_seed)
      : step_{step}, adjoint_{adjoint}, seed_{seed}, which_{which}, random_{random_seed} {}

  [[nodiscard]] Which& which() noexcept { return which_; }
  [[nodiscard]] Adjoint& adjoint() noexcept { return adjoint_; }
  [[nodiscard]] random_numbers& random() noexcept { return random_; }
  [[nodiscard]] adjoint_report& report() noexcept { return report_; }
  /// Whether some parts of the state are not differentiated.
  [[nodiscard]] bool has_constants() const noexcept { return has_constants_; }

  void fail(adjoint_fault fault, step_index i) {
    report_.fault = fault;
    report_.step = i;
  }
  void name(State const& x, std::int64_t number) {
    report_.number = number;
    report_.member = number < 0 ? -1 : member_with(x, number);
  }
  /// The positions of the differentiated numbers of x, as the report counts them.
  [[nodiscard]] std::vector<std::int64_t> places(State const& x) const { return places_of(x, which_, all_which()); }
  void list_undifferentiated(State const& x0) {
    report_.numbers = std::int64_t(numbers_at(x0, all_which()).size());
    auto const gaps = [&](std::vector<std::int64_t> const& places, std::vector<number_range>& into) {
      std::int64_t next = 0;
      auto const leave_out = [&](std::int64_t end) {
        if (next < end) into.push_back({next, end - next, member_with(x0, next), member_with(x0, end - 1)});
      };
      for (std::int64_t const place : places) {
        leave_out(place);
        next = place + 1;
      }
      leave_out(report_.numbers);
    };
    gaps(places(x0), report_.undifferentiated);
    std::vector<std::int64_t> others;
    auto const taken = places_of(x0, only_constants(which_), all_which());
    for (std::int64_t place = 0, k = 0; place < report_.numbers; ++place)
      if (k < std::int64_t(taken.size()) && taken[std::size_t(k)] == place) ++k;
      else others.push_back(place);
    gaps(others, report_.taken_as_constants);
    has_constants_ = !numbered<State> || !report_.undifferentiated.empty();
  }
  void advance(State& x, step_index i) {
    static constexpr auto shape = shape_of_step<Step, State>();
    ++report_.step_calls;
    if constexpr (shape.form == step_form::in_place) {
      step_index failed = i;
      run_in_place(step_, x, i, i + 1, failed);
    } else {
      State const from = copy_of(x);
      if constexpr (shape.form == step_form::by_value) {
        if constexpr (shape.indexed) x = call_lending(step_, from, std::as_const(i));
        else x = call_lending(step_, from);
      } else if constexpr (shape.indexed) call_lending(step_, from, x, std::as_const(i));
      else call_lending(step_, from, x);
    }
  }
  /// Turns bar of state i+1 into bar of state i.
  void pull(State const& x, Bar& bar, step_index i) {
    static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
    if constexpr (shape.form == adjoint_form::recorded) {
      State moving = copy_of(x);
      auto tape = record_step(adjoint_.record, moving, i);
      pull_back_step<shape.reverse_indexed>(adjoint_.reverse, bar, tape, i);
    } else if constexpr (shape.form == adjoint_form::with_next) {
      State next = copy_of(x);
      advance(next, i);
      pull_back(adjoint_, bar, x, std::as_const(next), bar, std::as_const(i));
    } else if constexpr (shape.form == adjoint_form::leaf) {
      step_index const after = i + 1;
      pull_back(adjoint_, bar, x, bar, std::as_const(i), after);
    } else pull_back_step<shape.indexed>(adjoint_, bar, x, i);
  }
  Bar made_bar(State const& x) {
    std::optional<Bar> bar;
    if constexpr (std::is_same_v<Seed const, state_is_bar const>) bar.emplace(copy_of(x));
    else if constexpr (seed_function<Seed, State>)
      emplace_by(bar, [&] { return taken_out_by([&]() -> decltype(auto) { return call_lending(seed_, x); }); });
    else bar.emplace(copy_of(seed_));
    return std::move(*bar);
  }
  /// An adjoint of state x whose numbers, as many as are differentiated in x, are w. Numbers of named constants are 0;
  /// those taken as constants get values of w, because no adjoint may read them.
  Bar bar_with(State const& x, std::vector<double> w) {
    Bar bar = made_bar(x);
    (void)cut(bar, w.size());
    if constexpr (bar_is_state) {
      std::vector<double> none(numbers_of(bar, all_which()).size());
      set_numbers(bar, none, all_which());
    }
    set_numbers(bar, w, bar_which());
    if (!which_.constants.empty() && !w.empty()) {
      auto const constants = only_constants(bar_which());
      auto beside = numbers_of(bar, constants);
      for (std::size_t k = 0; k < beside.size(); ++k) beside[k] = w[k % w.size()];
      set_numbers(bar, beside, constants);
    }
    return bar;
  }
  /// The result of the adjoint of step i for bar = w, cut to the numbers of x.
  std::vector<double> pulled(State const& x, State const& x1, std::vector<double> w, step_index i) {
    Bar bar = bar_with(x1, std::move(w));
    pull(x, bar, i);
    return cut(bar, numbers_of(x, which_).size());
  }
  /// The first `size` numbers of bar, which belong to the differentiated numbers of the state.
  std::vector<double> cut(Bar const& bar, std::size_t size) const {
    auto all = numbers_of(bar, bar_which());
    if (all.size() < size)
      throw invalid_call{"cairn::check_adjoint",
                         "the adjoint has fewer floating-point numbers than the state",
                         {{"adjoint", all.size()}, {"state", size}},
                         "its first ones must be those of the state's adjoint, in the state's order; name the state's "
                         "constants in cairn::with_constants{x0, &state::t}"};
    all.resize(size);
    return all;
  }
  [[nodiscard]] which_of_bar bar_which() const {
    if constexpr (bar_is_state) return which_;
    else return {{}, which_.constants};
  }
  [[nodiscard]] which_of_all all_which() const {
    if constexpr (numbered<State>) return {};
    else return which_.all;
  }
  /// Random weights for numbers of these scales, so that all terms of the adjoint have one magnitude. \param reach
  /// magnitudes of the states that the adjoint passes through
  std::vector<double> random_weights(State const& x, std::vector<double> scales, magnitudes const& reach) {
    int range = most_terms_exponent;
    Bar const sample = made_bar(x);
    bar_which()(sample, [&](auto const* run, std::size_t) {
      constexpr int own = std::numeric_limits<std::remove_cvref_t<decltype(*run)>>::max_exponent / 8 * 7;
      range = own < range ? own : range;
    });
    double const terms = reach.of_terms(range), least = reach.least_within(range);
    for (double& scale : scales) scale = random_.next() * (terms / (scale < least ? least : scale));
    return scales;
  }

  void run_out_of_place(State const& x, State& x1, step_index i) {
    ++report_.step_calls;
    if constexpr (shape_of_step<Step, State>().indexed) call_lending(step_, x, x1, std::as_const(i));
    else call_lending(step_, x, x1);
  }
  /// Replaces each number by another one of the same sign and magnitude.
  void refill(State& x) const {
    constexpr double golden = 1.6180339887498949;
    auto others = numbers_of(x, all_which());
    for (double& number : others) number = number != 0 && finite(number) ? golden * number : golden;
    set_numbers(x, others, all_which());
  }

  /// The step of a loop that has already begun: its recorded choices are repeated.
  decltype(auto) begun_step() {
    if constexpr (told_of_loops<Step>) return in_place([this](State& x, step_index i) { step_(x, i); });
    else return (step_);
  }
  /// Runs x through n steps; numbers that are not differentiated come from a second run, that of `other`, so that no
  /// derivative goes through them.
  void run_beside(State& x, State other, step_index n) {
    for (step_index i = 0; i < n; ++i) {
      advance(x, i);
      advance(other, i);
      auto own = numbers_of(x, which_);
      x = copy_of(other);
      if (own.size() == numbers_at(x, which_).size()) set_numbers(x, own, which_);
    }
  }

 private:
  template <class All>
  [[nodiscard]] static numbers_without<All> only_constants(numbers_without<All> which) {
    which.only_constants = true;
    return which;
  }

  Step& step_;
  Adjoint& adjoint_;
  Seed& seed_;
  Which which_;
  random_numbers random_;
  adjoint_report report_;
  bool has_constants_ = false;
};

}  // namespace cairn::detail
