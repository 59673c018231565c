// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_reversible.hpp  Checks whether a step can run backwards, how far, and what keeping would cost. For tests;
/// not part of <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/check/report.hpp>
#include <cairn/run/with/reversible.hpp>

namespace cairn {

/// Why a step cannot run backwards, or `none`.
enum class reversal_fault : std::uint8_t {
  none,
  not_finite,  ///< a number of a state is infinite or NaN
  not_inverse,  ///< one step forward and back does not give the state again: a wrong `back`, a forgotten source, a limiter
  not_restored,  ///< the same for what is no floating-point number
  explodes  ///< each step back is right, but rounding grows with every step: damping whose loss is not kept, chaos
};

/// How far a state is from the one that so many steps back give.
struct reversal_row {
  step_index steps = 0;      ///< 1, 2, 4 ... and all steps, from the end of the loop
  double drift = 0;          ///< see `reversal_report::drift`
  std::int64_t number = -1;  ///< the number that differs most, in the order of `visit_numbers`
};

/// The result of `check_reversible`, in numbers and in words.
struct reversible_check {
  reversal_fault fault = reversal_fault::none;  ///< the first fault
  step_index steps = 0;                         ///< steps of the loop
  step_index step = -1;                         ///< the first step whose own inverse is wrong; -1 if there is none
  double one_step = 0;             ///< the largest drift of one step forward and back
  double drift = 0;                ///< that of the whole loop, or of the row that shows a fault
  std::vector<reversal_row> rows;  ///< drifts of longer and longer segments; ends where one is wrong
  /// By how much drift grows when a segment is twice as long, at the end of the rows: 1 to 4 for rounding in a stable
  /// step, more and more where it explodes.
  double growth = 0;
  std::vector<number_range> cells;  ///< where it is largest, and at least a hundredth of that: up to 8 ranges
  std::int64_t cell_count = 0;      ///< numbers in all such ranges
  wide kept_bytes = 0;              ///< most bytes kept of a step; `unknown_bytes` if their type does not tell
  wide state_bytes = 0;             ///< one state, or snapshot; `unknown_bytes` if its type does not tell
  wide cell_bytes = 0;              ///< the numbers of `cells` in each step, if they were kept
  double unit = 0;                  ///< rounding unit of the least precise numbers

  [[nodiscard]] bool passed() const noexcept { return fault == reversal_fault::none; }  ///< whether nothing is wrong
  /// The longest segment whose drift, as measured, is at most this: a length for `segments`. 0 if not even one step is.
  [[nodiscard]] step_index longest_segment(double most) const noexcept {
    step_index longest = 0;
    for (auto const& row : rows) {
      if (!(row.drift <= most)) break;
      longest = row.steps;
    }
    return longest;
  }
  /// The result in one line of text; valid as long as the report.
  [[nodiscard]] char const* text() const noexcept { return text_.c_str(); }
  /// Writes the line of text from the numbers.
  CAIRN_DECL void put_in_words();

 private:
  detail::text<1400> text_;
};

namespace detail {

/// The states of a loop that `check_reversible` goes back to, and what it finds.
template <class Functions, class State, class Params>
class reversal_test {
  using stored = stored_as<State>;
  using inner_step = typename Functions::step_function;
  static constexpr bool copies = copied_state<State>;

 public:
  reversal_test(Functions const& of, Params const& p, reversible_check& report) : of_{of}, p_{p}, report_{report} {}

  /// \param x  runs to the end of the loop and back
  void run(State& x, step_index n) {
    report_.steps = n;
    if constexpr (sized_state<stored>) report_.state_bytes = bytes_now(x);
    else report_.state_bytes = unknown_bytes;
    if (n < 1) return;
    held_.begin(0);
    for (step_index i = 0; i < n; ++i) {
      if (is_row(n - i)) put(x);
      auto const before = now(x);
      of_.template keep_part<State>(held_, std::as_const(x), p_, i);
      note_kept(i);
      advance(x, i);
      auto const after = now(x);
      auto const size_after = size_of_numbers(after), size_before = size_of_numbers(before);
      report_.unit = size_after.unit > size_before.unit ? size_after.unit : size_before.unit;
      if (!(size_after.largest <= infinite_drift / 2) || size_after.largest == infinite_drift)
        return found(reversal_fault::not_finite, i, infinite_drift);
      of_.template go_back<State>(held_, x, p_, i);
      auto const drift = compare(x, before, size_after.largest > size_before.largest ? size_after.largest : size_before.largest);
      if (drift.by > report_.one_step) report_.one_step = drift.by;
      if (!(drift.by <= allowed())) return note_cells(x, before), found(reversal_fault::not_inverse, i, drift.by);
      if (!same_) return found(reversal_fault::not_restored, i, infinite_drift);
      restore(x, after);
    }
    back_to_rows(x, n);
  }

 private:
  [[nodiscard]] double allowed() const noexcept { return square_root(report_.unit); }
  [[nodiscard]] static constexpr bool is_row(step_index left) noexcept { return (left & (left - 1)) == 0; }
  void put(State const& x) { kept_.push_back(now(x)); }
  [[nodiscard]] static stored now(State const& x) {
    if constexpr (copies) return copy_of(x);
    else return taken_snapshot(x);
  }
  static void restore(State& x, stored const& to) {
    if constexpr (copies) copy_state(to, x);
    else restore_state(x, to);
  }
  [[nodiscard]] static wide bytes_now(State const& x) {
    if constexpr (copies) return bytes_of(x);
    else return bytes_of(save_state(x));
  }
  void note_kept(step_index i) {
    if constexpr (!Functions::keeps) return;
    else if constexpr (!sized_state<std::remove_cvref_t<decltype(held_.of(i))>>) report_.kept_bytes = unknown_bytes;
    else if (wide const bytes = bytes_of(held_.of(i)); bytes > report_.kept_bytes) report_.kept_bytes = bytes;
  }
  void advance(State& x, step_index i) {
    if constexpr (step_in_loop<inner_step, State, Params>().form == step_form::out_of_place) {
      auto const from = copy_of(std::as_const(x));
      move_to(*of_.step, from, x, p_, i);
    } else move_on(*of_.step, x, p_, i);
  }
  /// Leaves x as it is, so that what was made goes on. Notes whether what is no number is the same.
  [[nodiscard]] most_different compare(State const& x, stored const& before, double largest) {
    auto made = now(x);
    auto most = meter_.replace(made, before);
    most.by = most.over(largest);
    same_ = true;
    if constexpr (hashable<stored> && every_part<gives_all_numbers, stored>())
      same_ = !(most.by < infinite_drift) || hash_of(made) == hash_of(before);
    return most;
  }
  void found(reversal_fault fault, step_index step, double drift) {
    report_.fault = fault, report_.step = step, report_.drift = drift;
  }
  /// Goes back to the rows, from the shortest segment to the whole loop.
  void back_to_rows(State& x, step_index n) {
    double size_after = size_of_numbers(now(x)).largest;
    for (step_index i = n; i-- > 0;) {
      of_.template go_back<State>(held_, x, p_, i);
      if (i > 0 && !is_row(n - i)) continue;
      stored const& held = i > 0 || is_row(n) ? kept_.back() : first_;
      double const size_before = size_of_numbers(held).largest;
      auto const drift = compare(x, held, size_after > size_before ? size_after : size_before);
      report_.rows.push_back({n - i, drift.by, drift.number});
      report_.drift = drift.by;
      std::size_t const rows = report_.rows.size();
      double const before = rows > 1 ? report_.rows[rows - 2].drift : 0;
      bool const doubled = rows > 1 && n - i == 2 * report_.rows[rows - 2].steps;
      if (doubled && before > 0) report_.growth = drift.by / before;
      bool const runs_away = doubled && before > 0 && drift.by > 64 * before && drift.by > 1000 * report_.unit;
      if (!(drift.by <= allowed()) || runs_away) {
        note_cells(x, held);
        return found(same_ ? reversal_fault::explodes : reversal_fault::not_restored, -1, drift.by);
      }
      if (i == 0) note_cells(x, held);
      if (i > 0) kept_.pop_back();
    }
  }
  /// The numbers that differ by a hundredth of the largest difference and more, as ranges.
  void note_cells(State const& x, stored const& held) {
    auto made = now(x);
    std::vector<std::pair<std::int64_t, double>> all;
    double const most = meter_.replace(made, held, [&](std::int64_t number, double by) { all.emplace_back(number, by); }).by;
    for (auto const& [number, by] : all) {
      if (by < most / 100) continue;
      ++report_.cell_count;
      auto& ranges = report_.cells;
      if (!ranges.empty() && ranges.back().first + ranges.back().size == number) ++ranges.back().size;
      else if (ranges.size() < 8) ranges.push_back({number, 1, -1, -1});
    }
    report_.cell_bytes = wide(report_.cell_count) * (report_.unit > 1e-10 ? sizeof(float) : sizeof(double));
  }

 public:
  /// State 0, for a loop whose length is no power of two.
  void first_is(State const& x) { first_ = now(x); }

 private:
  Functions const& of_;
  Params const& p_;
  reversible_check& report_;
  typename Functions::template memory<State, Params> held_;
  std::vector<stored> kept_;  // before rows, the longest segment first
  stored first_{};
  drift_meter meter_;
  bool same_ = true;
};

template <class Step, class Keep, class Back, class X0, class Params>
[[nodiscard]] reversible_check reversal_checked(Step&& step, Keep&& keep, Back&& back, X0& x0, Params const& p,
                                                step_index n) {
  using State = std::remove_const_t<X0>;
  using functions = reversible_functions<kept_as<Step>, kept_as<Keep>, kept_as<Back>>;
  using inner_step = typename functions::step_function;
  reversible_check report;
  constexpr bool known = numbered<stored_as<State>> && std::is_default_constructible_v<stored_as<State>>;
  static_assert(known,
                "cairn: check_reversible compares floating-point numbers, but those of this state are not known, or a "
                "state cannot be made; give it a member visit_numbers(f) and a default constructor");
  constexpr auto shape = step_in_loop<inner_step, State, Params>();
  constexpr bool steps = shape.form != step_form::none && !shape.stops;
  static_assert(steps, "cairn: the step of check_reversible is `step(x, p, i)`, `x1 = step(x, p, i)` or `step(x, x1, p, "
                       "i)`, and returns no bool; p, if there is one, comes before n");
  if constexpr (known && steps) {
    if constexpr (functions::template check<State, Params>()) {
      if (n < 0)
        throw invalid_plan{"cairn::check_reversible", "the number of steps is negative", {{"steps", n}}, "use 0 or more"};
      functions const of{std::forward<Step>(step), std::forward<Keep>(keep), std::forward<Back>(back), {}};
      reversal_test<functions, State, Params> test{of, p, report};
      test.first_is(x0);
      if constexpr (copied_state<State>) {
        State x = copy_of(std::as_const(x0));
        test.run(x, n);
      } else {
        auto const before = taken_snapshot(std::as_const(x0));
        test.run(x0, n);
        restore_state(x0, before);
      }
    }
  }
  report.put_in_words();
  return report;
}

}  // namespace detail

/// Checks whether `back` is the inverse of `step` along the loop from x0, n steps: first each step by itself, forward and
/// back; then all of them from the end, with the drift after 1, 2, 4 ... n steps. Tells a wrong inverse from rounding that
/// grows, names the step and the numbers, the longest segment within a drift, and what keeping costs.
/// \param step, keep, back  as for `reversible`, `keep_nothing` if nothing is kept   \param x0  the initial state; an
///   object is restored to it
/// Cost: n steps forward, 2 n back; the kept parts of n steps, and log2 n states.
/// \throws invalid_plan   for n < 0, and what user code throws
/// \ingroup start
template <class Step, class Keep, class Back, class X0>
[[nodiscard]] reversible_check check_reversible(Step&& step, Keep&& keep, Back&& back, X0&& x0, step_index n) {
  return detail::reversal_checked(std::forward<Step>(step), std::forward<Keep>(keep), std::forward<Back>(back), x0,
                                  detail::no_parameters, n);
}
/// The same with parameters.
template <class Step, class Keep, class Back, class X0, class Params>
[[nodiscard]] reversible_check check_reversible(Step&& step, Keep&& keep, Back&& back, X0&& x0, Params const& p,
                                                step_index n) {
  return detail::reversal_checked(std::forward<Step>(step), std::forward<Keep>(keep), std::forward<Back>(back), x0, p,
                                  n);
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/impl/check_reversible.ipp>
#endif
