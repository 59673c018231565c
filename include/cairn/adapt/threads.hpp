// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file threads.hpp  The way back of a sweep on two threads. Component `threads`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include <cairn/adapt/threads/detail/given_ahead.hpp>
#include <cairn/adapt/threads/detail/system_threads.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/detail/two_threads.hpp>
#include <cairn/run/with/flush_subnormals.hpp>

namespace cairn {
namespace detail {

/// A thread that waits for jobs, one at a time.
class parked_thread {
 public:
  parked_thread() : thread_{[this] { serve(); }} {}
  parked_thread(parked_thread const&) = delete;
  ~parked_thread() {
    {
      std::lock_guard const held{mutex_};
      quits_ = true;
    }
    wakes_.notify_one();
    thread_.join();
  }
  /// Begins run(job), which does not throw, in the caller's floating-point mode.
  void start(void (*run)(void*), void* job) {
    {
      std::lock_guard const held{mutex_};
      run_ = run, job_ = job, mode_ = float_mode::read();
    }
    wakes_.notify_one();
  }
  /// Waits until it has ended.
  void wait() noexcept {
    std::unique_lock held{mutex_};
    ends_.wait(held, [this] { return run_ == nullptr; });
  }
  /// The thread's processor time in nanoseconds; -1 where the system does not tell another thread's.
  [[nodiscard]] std::int64_t ran_ns() noexcept { return processor_ns(thread_); }

 private:
  void serve() {
    for (std::unique_lock held{mutex_};;) {
      wakes_.wait(held, [this] { return run_ != nullptr || quits_; });
      if (run_ == nullptr) return;
      held.unlock();
      float_mode::write(mode_);
      run_(job_);
      held.lock();
      run_ = nullptr;
      ends_.notify_one();
    }
  }
  std::mutex mutex_;
  std::condition_variable wakes_, ends_;
  void (*run_)(void*) = nullptr;
  void* job_ = nullptr;
  float_mode::word mode_ = 0;
  bool quits_ = false;
  std::thread thread_;  // last: it uses the others
};

/// How `parallel` uses its thread. A class of its own, so that tests can have other rules.
struct helper_rules {
  using thread = parked_thread;
  /// Whether a helper may run the step, or does not.
  template <class Step, class State>
  [[nodiscard]] static consteval bool takes() { return !copied_state<State> || runs_beside<Step>(); }
  /// How long a thread spins before it sleeps; after how long and how many reversals the caller looks whether the helper
  /// is of use.
  static constexpr std::int64_t spin_ns = 50'000, window_ns = 4'000'000, look_after = 64;
  [[nodiscard]] static int cores() noexcept { return allowed_cores(); }
  /// Whether steps are long enough for hand-offs, and the way back for a start.
  [[nodiscard]] static constexpr bool pays(double step_ns, step_index open) noexcept {
    return is_worth_a_helper(1e-9 * step_ns, open);
  }
  /// Whether the helper had no core while the caller waited for it, or the caller would have been as fast alone.
  /// Neither happens on idle cores because a plan runs many steps between two reversals.
  [[nodiscard]] static constexpr bool recalls(walk_measures const& m) noexcept {
    bool const starved =
        m.helper_ran >= 0 && m.waited > 0.1 * m.time && m.helper_ran < 0.8 * (m.time - m.helper_slept - m.moved);
    return starved || (m.again > 0 && m.time > 1.1 * (m.again + m.moved + m.time - m.waited));
  }
};

/// Recognised as a reference to the function, and so read as that.
template <class Fn>
class concurrent_function {
 public:
  using type = std::remove_reference_t<Fn>;
  static constexpr bool concurrent = true;
  template <class From>
    requires(!std::is_same_v<std::remove_cvref_t<From>, concurrent_function>)
  constexpr explicit concurrent_function(From&& f) : f_{std::forward<From>(f)} {}
  [[nodiscard]] constexpr type& get() const noexcept { return *f_; }
  constexpr operator type&() const noexcept { return *f_; }
  template <class... Args>
    requires std::is_invocable_v<type&, Args...>
  constexpr decltype(auto) operator()(Args&&... all) const { return (*f_)(std::forward<Args>(all)...); }

 private:
  kept_callable<Fn> f_;
};

}  // namespace detail

/// The caller's word that a step, or an adjoint of several steps, may run on one thread while other functions of the loop
/// run on another: they share nothing that one of them changes, such as scratch memory, a generator of random numbers or
/// a tape. A class may say so of itself by a member `static constexpr bool concurrent = true`. An lvalue is kept by
/// reference.
template <class Fn>
[[nodiscard]] constexpr auto concurrent(Fn&& f) {
  return detail::concurrent_function<detail::kept_as<Fn>>{std::forward<Fn>(f)};
}

/// One of the last arguments of a verb of loops: `gradient(cairn::concurrent(step), x0, plan, seed, adjoint,
/// cairn::parallel{.threads = 2})`. On the way back a second thread runs the steps, saves and loads of the plan ahead,
/// and hands states over to the caller's thread, which runs the adjoints. Bits, order and number of all calls are those
/// of a sweep on one thread. The step runs on both threads, but never on both at once; adjoint, seed, terms of an
/// objective and `dp` stay with the caller. An observer sees one action at a time, on the thread that does it: those of
/// the helper come before the reversals that they are ahead of.
///
/// Exceptions reach the caller after the reversals that come before them. The helper is recalled, once a sweep, where it
/// gets no core or the sweep is no faster with it, and is not used where the process may use one core only, for steps
/// below about half a microsecond, objects, plans with tapes, and stores of users that are told of each reversal: then
/// the sweep goes on alone, and `sweep_report::serial` says why. Over a `disk` the caller writes records, and a process
/// goes on with or without a helper. Memory: `ahead` states more than the plan's. The thread is kept in the workspace; a
/// warm sweep allocates nothing.
struct parallel {
  int threads = 2;  ///< 1: the caller's alone; no more than 2
  /// States that the sweep may have beside its plan's, for those that are handed over and not yet reversed. 0: as many
  /// as should leave the other core's cache before they are written again, 2 MiB of them, 8 to 128.
  slot_index ahead = 0;
  /// Time of an adjoint over that of a step, as `probe` measures it. A budget is divided between slots and states ahead by
  /// it, and left to one thread where two are not faster.
  double adjoint_over_step = 1;

  /// As `advise` has planned with `planning_options::threads`; given beside that plan.
  template <class Planned>
    requires requires(Planned const& plan) { plan.with.ahead; }
  [[nodiscard]] static constexpr parallel of(Planned const& plan) noexcept {
    return {.threads = plan.with.ahead > 0 ? 2 : 1, .ahead = plan.with.ahead};
  }
  /// With the times of a workload, as `probe` measures them; given beside a budget.
  template <class Workload>
    requires requires(Workload const& work) { work.adjoint_seconds / work.step_seconds; }
  [[nodiscard]] static constexpr parallel of(Workload const& work) noexcept {
    return {.adjoint_over_step =
                work.step_seconds > 0 && work.adjoint_seconds > 0 ? work.adjoint_seconds / work.step_seconds : 1};
  }

  using walks_ahead = detail::helper_rules;  ///< how the library uses it
  /// What a verb is given, with the helper; called by verbs.
  /// \throws invalid_plan  for other than one or two threads, fewer than 0 states ahead, and a ratio that is not above 0
  template <class State, class Given>
  [[nodiscard]] auto given(Given&& others) const {
    if (threads < 1 || threads > 2)
      throw invalid_plan{"cairn::parallel", "a sweep runs on one or two threads", {{"threads", threads}}, "ask for 1 or 2"};
    if (ahead < 0)
      throw invalid_plan{"cairn::parallel", "a negative number of states ahead", {{"ahead", ahead}}, "0 lets cairn choose"};
    if (!(adjoint_over_step > 0 && adjoint_over_step < 1e9))
      throw invalid_plan{"cairn::parallel", "adjoint_over_step is not a positive number", {}, "1 is an adjoint as long as a step"};
    return detail::with_helper<State>(*this, std::move(others));
  }
};

}  // namespace cairn
