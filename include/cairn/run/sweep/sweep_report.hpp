// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_report.hpp  What a sweep did and took, beside what was predicted.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// One of the last arguments of a verb, filled in when its sweep ends: the plan that a budget chose, and its bytes.
/// That of a run that is kept must outlive it, and is filled in again by each reverse.
struct sweep_report {
  step_index steps = 0;      ///< loop length n; for a chain its stages, for a graph its operations
  slot_index slots = 0;      ///< slots of the plan; 0 for chains and graphs
  wide step_calls = 0;       ///< calls of the step, or of `record`
  /// Most bytes at once, as counted before any step ran; `unknown_bytes` if one of the parts cannot be told.
  wide predicted_bytes = 0;
  wide state_bytes = 0;      ///< most bytes of states at once, as counted during the sweep; for chains and graphs
                             ///< with tapes and adjoints
  sweep_parts predicted = {};     ///< what `predicted_bytes` is the sum of; `unknown_bytes` where it cannot be told
  /// The most of each part at once, as counted during the sweep. What is not seen there has the size that was
  /// predicted: tables, and a leaf that says what it holds. What nobody counts or says is `unknown_bytes`. Of chains
  /// and graphs states, tapes and adjoints are those at the peak.
  sweep_parts counted = {};
  /// The most `float`s and `double`s of the adjoint that were subnormal at one of a few states: 0, and of n >= 64 states
  /// those at n / 2, n / 4 and so on. Many processors are slow with them. Of loops whose bar is a value; 0 otherwise.
  wide subnormals = 0;
  char const* serial = nullptr;  ///< why a sweep with `parallel` ran on one thread, at last; null if it did not

  /// What would help, if anything would; otherwise empty.
  [[nodiscard]] constexpr char const* advice() const noexcept {
    return subnormals == 0 ? "" : "the adjoint holds subnormal numbers, which are slow: give cairn::flush_subnormals{}";
  }
  /// The table of the parts: calls f(name, predicted bytes, counted bytes) for each.
  template <class Fn>
  constexpr void each_part(Fn f) const {
    wide all[sweep_parts::count] = {}, *next = all;
    sweep_parts::each(counted, [&](char const*, wide bytes) { *next++ = bytes; });
    next = all;
    sweep_parts::each(predicted, [&](char const* name, wide bytes) { f(name, bytes, *next++); });
  }
};

namespace detail {
template <class T> inline constexpr bool is_report = std::is_same_v<std::remove_cvref_t<T>, sweep_report>;

/// An observer that fills in a report, around the caller's.   \tparam Given  a reference if the caller keeps it
template <class Given>
class reporting {
 public:
  using Observer = std::remove_reference_t<Given>;
  static constexpr bool reports = true;
  template <class From>
  reporting(From&& observer, sweep_report& into) : observer_{std::forward<From>(observer)}, report_{&into} {
    into.state_bytes = 0;
  }
  void operator()(event const& e) {
    if (e.moment() == moment::after) {
      if (wide const held = e.bytes_held(); held > report_->state_bytes)
        report_->state_bytes = held, parts_ = e.parts_held();
      work_ += e.what();
      if (e.what().kind == action_kind::reverse && count_ != nullptr) look(e.what());
    }
    if constexpr (!std::is_same_v<std::remove_cv_t<Observer>, no_observer>) observer_(e);
  }
  [[nodiscard]] static std::int64_t clock_now()
    requires requires { { Observer::clock_now() } -> std::convertible_to<std::int64_t>; }
  {
    return Observer::clock_now();
  }
  /// A part of the sweep begins, whose adjoint is in `user.bar`.
  template <class User>
  void watches([[maybe_unused]] User const& user) {
    if constexpr (requires { requires numbered<std::remove_cvref_t<decltype(*user.bar)>>; }) {
      report_->subnormals = 0, look_at_ = -1, user_ = &user;
      count_ = [](void const* from) {
        wide found = 0;
        visit_numbers(*static_cast<User const*>(from)->bar, [&]<class T>(T const* x, std::size_t count) {
          if constexpr (constexpr T least = T(sizeof(T) < 8 ? 0x1p-126 : 0x1p-1022);
                        std::is_same_v<T, float> || std::is_same_v<T, double>)
            for (std::size_t k = 0; k < count; ++k) found += wide(x[k] != 0 && x[k] < least && x[k] > -least);
        });
        return found;
      };
    } else count_ = nullptr;
  }
  /// \param user  says what else has been held
  template <class... User>
  void ends(step_index steps, slot_index slots, wide step_calls, User const&... user) {
    report_->steps = steps, report_->slots = slots, report_->step_calls = step_calls;
    auto& held = report_->counted;
    if (report_->state_bytes == 0 && held.states == unknown_bytes) report_->state_bytes = unknown_bytes;
    held.states = report_->state_bytes;
    if constexpr (sizeof...(User) == 0) {
      held.states -= parts_.tapes + parts_.adjoints;
      held.adjoints = parts_.adjoints, held.tapes = parts_.tapes, held.terms = 0;
    } else {
      held.tapes = report_->predicted.tapes;
      (user.note_held(held), ...);
    }
  }
  [[nodiscard]] wide runs() const noexcept { return work_.runs; }  ///< of steps or stages, as actions count them

 private:
  [[gnu::noinline, gnu::cold]] void look(action const& a) {
    if (look_at_ < 0) look_at_ = a.to < 64 ? 0 : a.to / 2;
    if (a.from > look_at_) return;
    look_at_ = look_at_ < 64 ? 0 : look_at_ / 2;
    if (wide const found = count_(user_); found > report_->subnormals) report_->subnormals = found;
  }
  [[no_unique_address]] Given observer_;
  sweep_report* report_;
  void const* user_ = nullptr;
  wide (*count_)(void const* user) = nullptr;
  step_index look_at_ = -1;
  sweep_parts parts_{};  // at the moment of the most bytes
  sweep_work work_{};
};
/// Notes the parts that were predicted, and their sum. What is counted later replaces them in `counted`.
inline void note_predicted(sweep_report& report, sweep_parts const& parts) noexcept {
  report.predicted = report.counted = parts;
  report.predicted_bytes = parts.total();
}
/// The same for the peak of a plan for a chain or a graph; unknown if it is a list of actions.
template <class Plan>
void note_peak(sweep_report& report, Plan const& plan, wide files = 0) {
  sweep_parts parts{.states = unknown_bytes, .adjoints = unknown_bytes, .tapes = unknown_bytes, .files = files};
  if constexpr (requires { wide(plan.cost.peak); }) {
    auto const& cost = plan.cost;
    parts.adjoints = wide(cost.peak_adjoints), parts.tapes = wide(cost.peak_tapes);
    parts.states = wide(cost.peak) - parts.adjoints - parts.tapes;
  }
  note_predicted(report, parts);
}
/// Notes the end of a sweep, if its observer fills in a report.
template <class Observer, class... User>
void end_report(Observer& observer, step_index steps,
                slot_index slots, wide step_calls,
                User const&... user) {
  if constexpr (requires { Observer::reports; }) observer.ends(steps, slots, step_calls, user...);
}
}  // namespace detail

}  // namespace cairn
