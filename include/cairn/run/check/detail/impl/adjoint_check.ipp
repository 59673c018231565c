// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/detail/compiler.hpp>
#include <cairn/run/check/detail/adjoint_check.hpp>
#include <cstddef>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/run/check/detail/checked_loop.hpp>
#include <cairn/run/check/detail/constants_search.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/detail/step_test.hpp>
#include <cairn/run/check/detail/taylor_test.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// The Taylor test of the first n steps: all of them or, if at the end only numbers too tiny to have all their bits are
/// left, the steps before that.
/// \param last  the state after n steps   \param reach  magnitudes of the states along the loop
[[gnu::cold]] inline void test_whole(checked_loop& loop, unnamed_state const& x0, unnamed_state const& last,
                                     step_index n, magnitudes const& reach) {
  auto const first_numbers = loop.numbers(x0), last_numbers = loop.numbers(last);
  int bits = bits_of(first_numbers);
  auto const from = numbers_of(first_numbers), final_numbers = numbers_of(last_numbers);
  auto const scales = scales_of(first_numbers), v = random_direction(loop.random(), scales);
  auto w = loop.random_weights(last, raised(scales_of(last_numbers), underflows_of(last_numbers), bits), reach);
  held_bar const probe = loop.bar_with(last, w);
  w = loop.cut(*probe, w.size());
  int const bar_bits = bits_of(loop.numbers(*probe));
  bits = lesser(bits, bar_bits);
  // The most by which errors in numbers too tiny to have all their bits, forward and back, change the sum and its
  // derivative.
  double lost = 2 * sum_of_terms(w, underflows_of(last_numbers)), lost_rate = 0;
  auto const pull = [&](unnamed_state const& x, unnamed_bar& bar, step_index i) { loop.pull(x, bar, i); };
  auto const capture = [&](unnamed_state const& x, unnamed_bar& bar, step_index i) {
    pull(x, bar, i);
    auto const tiny = underflows_of(loop.numbers(x));
    lost += 2 * sum_of_terms(loop.cut(bar, tiny.size()), tiny);
    lost_rate += 2 * sum_of_terms(underflows_of(loop.numbers(bar)), scales_of(loop.numbers(x)));
  };
  auto const once = loop.gradient_of(x0, last, n, w, capture);
  auto const alone = loop.gradient_of(x0, last, n, reals(w.size()), pull);
  auto const slope = less(once, alone);
  bool resized = false;  // a state beside the tested one has other numbers
  double const rate = (sum_of_terms(once, v) + sum_of_terms(alone, v)) * power_of_two(-bits / 2) + lost_rate;
  taylor_test(loop.report(), bits, sum_of_terms(w, final_numbers) * power_of_two(1 - bits) + lost, rate,
              [&](double h, double& change) {
                held_state x = loop.copy(x0);
                auto to = moved(from, h, v);
                set_numbers(loop.numbers(*x), to);
                if (loop.has_constants()) loop.run_beside(x, loop.copy(x0), n);
                else
                  for (step_index i = 0; i < n; ++i) loop.advance(*x, i);
                auto const moved_numbers = numbers_of(loop.numbers(*x));
                resized = moved_numbers.size() != w.size();
                if (resized) return 1 / (h - h);
                change = dot(w, less(moved_numbers, final_numbers));
                return magnitude(change - dot(slope, less(std::move(to), from)));
              });
  if (resized) loop.report().fault = adjoint_fault::undecided;
}

/// Walks along the loop, tests steps on the way, and the whole loop at the end.
class adjoint_check {
 public:
  [[gnu::noinline]] adjoint_check(checked_functions& functions, check_options const& options)
      : options_{options}, loop_{functions, options.random_seed}, steps_{loop_, options.directions} {}
  adjoint_check(adjoint_check const&) = delete;

  [[nodiscard]] adjoint_report& report() noexcept { return loop_.report(); }
  void run(unnamed_state const& x0, step_index n) {
    loop_.report().steps = n;
    loop_.find_part(x0, n);
    if (count_of(loop_.numbers(x0)) == 0)
      throw invalid_call{
          "cairn::check_adjoint", "the initial state has no floating-point numbers", {}, "there is nothing to vary"};
    loop_.list_undifferentiated(x0);
    held_state x = loop_.copy(x0);
    step_index const tested = lesser(options_.most_steps, n);
    visit(*x, 0);
    for (step_index i = 0; i < n && loop_.report().passed(); ++i) {
      // The k-th tested step is floor(k (n - 1) / (tested - 1)).
      step_index const k = loop_.report().steps_tested;
      bool const due =
          k < tested && (tested == n || wide(k) * wide(n - 1) / wide(tested > 1 ? tested - 1 : 1) == wide(i));
      if (due) steps_.run(x, i);
      else loop_.advance(*x, i);
      visit(*x, i + 1);
    }
    if (loop_.report().passed() && n > 0 && options_.whole) {
      if (last_normal_ >= 0 && last_normal_ < n) {
        x = loop_.copy(x0);
        for (step_index i = 0; i < last_normal_; ++i) loop_.advance(*x, i);
      }
      test_whole(loop_, x0, *x, last_normal_ >= 0 ? last_normal_ : n, last_normal_ >= 0 ? span_ : met_);
    }
    if (loop_.report().passed()) steps_.report_undecided();
    loop_.report().put_in_words("cairn::check_adjoint");
  }
  /// Checks again after `found` reported a fault; replaces it if unnamed constants were mistaken for wrong adjoints.
  /// \pre this check has not run
  [[gnu::cold]] void without_constants(adjoint_report& found, unnamed_state const& x0, step_index n) {
    loop_.find_part(x0, n);
    constants_search search{loop_};
    auto const constants = search.run(x0, n);
    found.step_calls += report().step_calls;
    if (constants.empty()) return;
    report() = {};
    report().step_calls = found.step_calls;
    loop_.constants() = constants;
    run(x0, n);
    for (std::size_t k = 0; k < constants.size() && report().passed(); ++k) {
      if (!constants[k] || !search.split(k)) continue;
      loop_.constants() = {};
      loop_.name(x0, loop_.places(x0)[k]);
      loop_.fail(adjoint_fault::undecided, found.step);
      report().left_alone = true;
      report().put_in_words("cairn::check_adjoint");
    }
    found = std::move(report());
  }

 private:
  /// Notes the largest and the tiniest numbers along the loop, and the last state that has a number with all its bits.
  [[gnu::noinline]] void visit(unnamed_state const& x, step_index i) {
    loop_.numbers(x)([&](number_run const& run) {
      double const normal = run.kind->underflow() * power_of_two(run.kind->digits);
      for (std::size_t k = 0; k < run.count; ++k) {
        double const size = magnitude(run[k]);
        if (!(size > 0) || !finite(size)) continue;
        met_.add(size);
        if (size >= normal) last_normal_ = i;
      }
    });
    if (last_normal_ == i) span_ = met_;
  }

  check_options options_;
  checked_loop loop_;
  step_test steps_;
  magnitudes met_, span_;        // of numbers in all states; in the states up to the last normal one
  step_index last_normal_ = -1;  // the last state that has a number with all its bits
};

CAIRN_DECL adjoint_report report_of(checked_functions& functions, unnamed_state const& x0, step_index n,
                                    check_options const& options, bool constants_are_named) {
  adjoint_check check{functions, options};
  check.run(x0, n);
  bool const wrong =
      check.report().fault == adjoint_fault::wrong_adjoint || check.report().fault == adjoint_fault::wrong_gradient;
  if (wrong && !constants_are_named) adjoint_check{functions, options}.without_constants(check.report(), x0, n);
  return std::move(check.report());
}

}  // namespace cairn::detail
