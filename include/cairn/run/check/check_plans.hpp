// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_plans.hpp  Checks whether a loop has the same gradient under every plan. For tests; not part of
/// <cairn/cairn.hpp>.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {

/// The result of `check_plans`.
struct plans_report {
  int plans = 0;                      ///< plans that agree, each run twice
  char const* first_plan = nullptr;   ///< the first two plans that differ, in words; null if all agree
  char const* second_plan = nullptr;  ///< the same as `first_plan` if two runs of one plan differ
  /// Number of the first floating-point number of the result that differs, in the order of `visit_numbers`; -1 if
  /// unknown.
  std::int64_t number = -1;
  double first = 0;   ///< its value by the first plan, if `number` is known
  double second = 0;  ///< its value by the second

  [[nodiscard]] bool passed() const noexcept { return first_plan == nullptr; }  ///< whether all have the same bits
  /// The result in one line of text, with what it usually means; valid as long as the report.
  [[nodiscard]] char const* text() const noexcept { return text_.c_str(); }
  /// Writes the line of text from the numbers.
  CAIRN_DECL void put_in_words();

 private:
  detail::text<1400> text_;
};

namespace detail {

struct nothing_read {};
/// What a sweep gives: its adjoint, and what the caller's function reads.
template <class Bar, class Result>
struct sweep_result {
  Bar bar;
  Result result;
};
/// The caller's function is called with the object, or without.
template <class Read, class State>
[[nodiscard]] decltype(auto) read_result(Read& read, [[maybe_unused]] State& x) {
  if constexpr (std::is_same_v<std::remove_const_t<Read>, nothing_read>) return nothing_read{};
  else if constexpr (requires { read(); }) return read();
  else return read(x);
}

}  // namespace detail

/// Checks whether the gradient of a short loop has the same bits under store_all, one slot, few slots, uniform and, if
/// the adjoint takes `(x, bar, first, last)`, leaves; each plan runs twice, the second time in the memory of the first.
///
/// It need not see what a state holds. So it finds what no type and no hash shows: a class whose implicit copy shares
/// a raw pointer, a snapshot that lacks a member or is one file for all states, captured generators and counters. It
/// does not find a wrong derivative, which is wrong under every plan: see `check_adjoint`.
/// \param step, x0, seed, adjoint  as for `gradient`, in all forms. An object is restored to its initial state before
///   each sweep and at the end
/// \param n  steps, 0 or more; some ten are enough
/// \param result  `result()`, or `result(x)` for an object, returns what the adjoint leaves elsewhere, such as a bar in
///   the library or sums that `seed` sets to 0; it is compared, too
/// Cost: about n^2 + 10 n steps, 10 n adjoints, n + 3 states.
/// \throws invalid_plan   for n < 0, and what user code throws
/// \ingroup start
template <class Step, class X0, class Seed, class Adjoint, class Result = detail::nothing_read>
[[nodiscard]] plans_report check_plans(Step&& step, X0&& x0, step_index n, Seed&& seed, Adjoint&& adjoint,
                                       Result&& result = {}) {
  using State = std::remove_cvref_t<X0>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  if constexpr (!detail::check_forward<std::remove_reference_t<Step>, State, step_index>() ||
                !detail::check_initial<X0>())
    return {};
  else if constexpr (!detail::check_adjoint<AdjointF, State, detail::bar_type<Seed, State>>()) return {};
  else {
    using Bar = detail::bar_type<Seed, State>;
    using Read = std::remove_cvref_t<decltype(detail::read_result(result, x0))>;
    using found_type = detail::sweep_result<Bar, Read>;
    constexpr bool told = !std::is_same_v<Bar, library_bar> || !std::is_same_v<Read, detail::nothing_read>;
    static_assert(told,
                  "cairn: the bar is in the library, where check_plans cannot see it; give a last argument `result(x)` "
                  "that returns it");
    constexpr bool comparable = detail::hashable<Bar> && detail::hashable<Read>;
    static_assert(comparable,
                  "cairn: check_plans cannot determine the bytes of this adjoint or result; give it a member "
                  "visit_buffers(f) or specialise cairn::state_traits with visit_buffers(x, f)");
    if constexpr (!told || !comparable) return {};
    else {
      if (n < 0)
        throw invalid_plan{"cairn::check_plans", "the number of steps is negative", {{"steps", n}}, "use 0 or more"};
      plans_report report;
      [[maybe_unused]] auto const initial = [&] {
        if constexpr (saved_state<State>) return detail::taken_snapshot(std::as_const(x0));
        else return detail::nothing_read{};
      }();
      [[maybe_unused]] auto const restore = [&] {
        if constexpr (saved_state<State>) restore_state(x0, initial);
      };
      auto const sweep = [&](any_schedule const& plan, auto& work) -> found_type {
        auto& from = [&]() -> auto& {
          if constexpr (saved_state<State>) return x0;
          else return std::as_const(x0);
        }();
        Bar bar = gradient(step, from, plan, seed, adjoint, work);
        found_type made{std::move(bar), detail::read_result(result, x0)};
        restore();
        return made;
      };
      auto const agree = [&](found_type const& one, char const* by, found_type const& other, char const* by_other) {
        bool const bars = detail::hash_of(one.bar) == detail::hash_of(other.bar);
        if (bars && detail::hash_of(one.result) == detail::hash_of(other.result)) return true;
        detail::first_difference const where = bars ? detail::difference_of(one.result, other.result)
                                                    : detail::difference_of(one.bar, other.bar);
        report.first_plan = by, report.second_plan = by_other;
        report.number = where.number, report.first = where.first, report.second = where.again;
        return false;
      };
      constexpr char const* store_all_name = "store_all";
      any_schedule const all = store_all(n);
      auto first_work = workspace_for<State>(all);
      found_type const expected = sweep(all, first_work);
      auto const check = [&](char const* name, any_schedule const& plan) {
        if (!report.passed()) return;
        auto work = workspace_for<State>(plan);
        found_type const once = sweep(plan, work);
        if (!agree(expected, store_all_name, once, name) || !agree(once, name, sweep(plan, work), name)) return;
        ++report.plans;
      };
      if (agree(expected, store_all_name, sweep(all, first_work), store_all_name)) ++report.plans;
      check("revolve with one slot", revolve{n, 1});
      check("revolve with 3 slots", revolve{n, 3});
      check("uniform", uniform{n});
      if constexpr (detail::shape_of_adjoint<AdjointF, State, Bar>().form == adjoint_form::leaf)
        check("leaves of 3 steps", leaves{n, 3, revolve{(n + 2) / 3, 2}});
      report.put_in_words();
      return report;
    }
  }
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/impl/check_plans.ipp>
#endif
