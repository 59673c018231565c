// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file last_arguments.hpp  What follows the fixed arguments of a verb, in any order, each known by its type: a
/// workspace or a store, an observer, options, parameters, a report.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/event.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>
#include <cairn/run/sweep/sweep_report.hpp>
#include <cairn/run/sweep/workspace.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// Stands for a workspace that the sweep makes itself.
struct own_workspace {};

/// An argument from which a sweep gets its workspace.
template <class WorkGiven, class State, class Plan>
concept workspace_or_store =
    std::is_same_v<WorkGiven, own_workspace> || is_workspace_for<WorkGiven, State, Plan> || store_of<WorkGiven, State>;

/// The kinds of arguments.
enum class last_kind : std::uint8_t { work, observer, options, params, report, helper, unknown };
/// The kind of an argument of type T, as passed.
template <class T, class State, class Plan>
inline constexpr last_kind kind_of_last =
    is_wrt<T> ? last_kind::params
    : gives_helper<T> ? last_kind::helper
    : is_report<T> ? last_kind::report
    : is_setting<T> || std::is_same_v<std::remove_cvref_t<T>, no_options> ? last_kind::options
    : workspace_or_store<std::remove_cvref_t<T>, State, Plan> || keeps_runs<T> ? last_kind::work
    : observes<std::remove_reference_t<T>> ? last_kind::observer
                                           : last_kind::unknown;
template <last_kind Kind, class State, class Plan, class... Last>
inline constexpr int count_of_last = (0 + ... + int(kind_of_last<Last, State, Plan> == Kind));

/// Refuses a run on disk where a stopped sweep goes on.
template <bool Here>
consteval bool check_begins() {
  static_assert(Here,
                "cairn: a run on cairn::disk goes on by itself, without resume: call the verb with which it began once "
                "more, with the same arguments, such as cairn::gradient(step, x0, plan, seed, adjoint, run)");
  return Here;
}
/// Whether the step may run on the thread of a helper, if the argument is one.
template <class Step, class State, class T>
inline constexpr bool runs_beside_with = [] {
  if constexpr (gives_helper<T>) return T::walks_ahead::template takes<Step, State>();
  else return true;
}();
/// Whether an adjoint of several steps, which runs them again, may do so beside the step, if one of these gives a helper.
template <class Adjoint, adjoint_form Form, class State, class... Last>
consteval bool check_leaves() {
  constexpr bool beside = ([] {
    if constexpr (Form == adjoint_form::leaf && gives_helper<Last>)
      return std::remove_cvref_t<Last>::walks_ahead::template takes<Adjoint, State>();
    else return true;
  }() && ... && true);
  static_assert(beside,
                "cairn: with cairn::parallel an adjoint of several steps, which runs them again, does so while the step "
                "runs on another thread; if both may run at once, say so by cairn::concurrent(adjoint), too");
  return beside;
}
/// Whether each argument is known, and none given twice.   \tparam OnDisk  whether the verb can be run on disk
template <bool OnDisk, class Step, class State, class Plan, class... Last>
consteval bool check_last() {
  constexpr bool here = check_begins<OnDisk || !kept_on_disk<Last...>>();
  constexpr bool known = count_of_last<last_kind::unknown, State, Plan, Last...> == 0;
  constexpr bool once =
      !known || ((count_of_last<kind_of_last<Last, State, Plan>, State, Plan, Last...> < 2) && ...);
  static_assert(
      known,
      "cairn: what follows may be, in any order, a workspace for this state and plan or a store, an observer, "
      "cairn::sweep_options, cairn::wrt{p, dp}, a cairn::sweep_report and cairn::parallel; one argument is none of "
      "these");
  static_assert(once, "cairn: two arguments of the same kind follow; give each kind once");
  constexpr bool beside = (runs_beside_with<Step, State, std::remove_cvref_t<Last>> && ... && true);
  static_assert(beside,
                "cairn: with cairn::parallel the step runs on one thread while the adjoint runs on another; if they share "
                "nothing that one of them changes, say so by cairn::concurrent(step), or a member `static constexpr bool "
                "concurrent = true`");
  return here && known && once && beside;
}

/// The argument of a kind, or `otherwise`.
template <last_kind Kind, class State, class Plan, class Otherwise>
[[nodiscard]] constexpr Otherwise&& last_of(Otherwise&& otherwise) noexcept {
  return std::forward<Otherwise>(otherwise);
}
template <last_kind Kind, class State, class Plan, class Otherwise, class First, class... Rest>
[[nodiscard]] constexpr decltype(auto) last_of(Otherwise&& otherwise, First&& first, Rest&&... rest) noexcept {
  if constexpr (kind_of_last<First, State, Plan> == Kind) return std::forward<First>(first);
  else return last_of<Kind, State, Plan>(std::forward<Otherwise>(otherwise), std::forward<Rest>(rest)...);
}
template <last_kind Kind, class State, class Plan, class Otherwise, class... Last>
using last_type = decltype(last_of<Kind, State, Plan>(std::declval<Otherwise>(), std::declval<Last>()...));

/// T& for an lvalue, T for an rvalue.
template <class T>
using passed_as = std::conditional_t<std::is_lvalue_reference_v<T>, T, std::remove_reference_t<T>>;
/// The `wrt` among the arguments, or `no_wrt`.
template <class State, class Plan, class... Last>
using wrt_in = std::remove_cvref_t<last_type<last_kind::params, State, Plan, no_wrt, Last...>>;

/// The first of the arguments, or what stands for none.
template <class... Last>
using first_of_last = decltype(argument_at<0>(std::declval<Last&>()..., std::declval<own_workspace&>()));

/// The workspace of a sweep for the caller's argument: a reference to the caller's workspace, or a new one over the
/// caller's store.
template <class State, class Plan, class Options, class Work>
[[nodiscard]] consteval auto find_workspace() {
  using given = std::remove_cvref_t<Work>;
  using asked = workspace_options<Options>;
  if constexpr (is_workspace_for<given, State, Plan>) return std::type_identity<Work>{};
  else if constexpr (std::is_same_v<given, own_workspace>)
    return std::type_identity<workspace<State, Plan, memory_store, asked>>{};
  else return std::type_identity<workspace<State, Plan, std::remove_reference_t<Work>&, asked>>{};
}
template <class State, class Plan, class Options, class Work>
using used_workspace = typename decltype(find_workspace<State, Plan, Options, Work>())::type;

/// That workspace, for a sweep that ends before the call returns.
template <class State, class Plan, class Options, class Work>
[[nodiscard]] auto workspace_from(Work& work) -> used_workspace<State, Plan, Options, Work&> {
  if constexpr (std::is_same_v<Work, own_workspace>) return {};
  else return used_workspace<State, Plan, Options, Work&>(work);
}

struct no_report {};
/// What follows the fixed arguments of a verb, sorted once. Refers to what was given.
/// \tparam Work, Observer  as passed; `own_workspace` and `no_observer` stand for none
/// \tparam By  `wrt`, or `no_wrt`
template <class Work, class Observer, class Options, class By, class Report>
struct last_given {
  static constexpr bool on_disk = keeps_runs<Work>, reports = !std::is_same_v<Report, no_report>;
  using owned = std::conditional_t<std::is_lvalue_reference_v<Observer>, Observer, std::remove_cvref_t<Observer>>;
  /// The observer of a run that is kept, into which one that was given away moves.
  using kept_observer = std::conditional_t<reports, reporting<owned>, Observer>;
  Work&& work;
  Observer&& observer;
  Options options;
  By by;
  Report report;

  /// The observer, which also fills in the report, if there is one.
  [[nodiscard]] decltype(auto) watching() const {
    if constexpr (!reports) return (observer);
    else return reporting<std::remove_reference_t<Observer>&>{observer, *report};
  }
  [[nodiscard]] kept_observer kept_watching() const {
    if constexpr (!reports) return std::forward<Observer>(observer);
    else return {std::forward<Observer>(observer), *report};
  }
  /// The same in another workspace, for a sweep whose parameters are bound.
  template <class Other>
  [[nodiscard]] last_given<Other&, Observer, Options, no_wrt, Report> in(Other& other) const {
    return {other, std::forward<Observer>(observer), options, {}, report};
  }
};
inline own_workspace nobodys_workspace;
inline no_observer not_observed;
template <class State, class Plan, class... Last>
[[nodiscard]] auto sort_last(Last&&... last) {
  using Work = last_type<last_kind::work, State, Plan, own_workspace&, Last...>;
  using Observer = last_type<last_kind::observer, State, Plan, no_observer&, Last...>;
  auto const report = [&] {
    if constexpr (count_of_last<last_kind::report, State, Plan, Last...> == 0) return no_report{};
    else return &last_of<last_kind::report, State, Plan>(nobodys_workspace, last...);
  }();
  auto options = last_of<last_kind::options, State, Plan>(no_options{}, last...);
  auto by = last_of<last_kind::params, State, Plan>(no_wrt{}, last...);
  last_given<passed_as<Work>, passed_as<Observer>, decltype(options), decltype(by),
                    std::remove_const_t<decltype(report)>> given{
      last_of<last_kind::work, State, Plan>(nobodys_workspace, std::forward<Last>(last)...),
      last_of<last_kind::observer, State, Plan>(not_observed, std::forward<Last>(last)...), options, by, report};
  if constexpr (count_of_last<last_kind::helper, State, Plan, Last...> == 0) return given;
  else {
    auto const& how = last_of<last_kind::helper, State, Plan>(0, last...);
    return how.template given<State>(std::move(given));
  }
}

/// What every loop asks of its initial state, options and parameters. Its step comes before them, in the verb itself: a
/// sentence is so one line nearer to the user's own.
template <class X0, class Wrt, class Plan, class... Last>
consteval bool check_begun() {
  using State = std::remove_cvref_t<X0>;
  if constexpr (!check_initial<X0>()) return false;
  else if constexpr (!check_sweep_options<State, options_asked<State, Plan, Last...>>()) return false;
  else return check_wrt<Wrt>();
}

}  // namespace cairn::detail
