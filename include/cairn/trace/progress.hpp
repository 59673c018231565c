// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file progress.hpp  Where a sweep is and when it will be done: an observer for people who wait.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// What a whole sweep of a plan runs and reverses: `estimate(plan)`'s step calls and reversals, if the adjoint takes
/// states and not tapes. Cost: O(1) for a plan with `counts()`, otherwise a walk.
template <schedule Plan>
[[nodiscard]] constexpr sweep_work work_of(Plan const& plan) {
  if constexpr (counted_schedule<Plan>) {
    schedule_counts const all = plan.counts();
    return {all.advances + all.turned + all.recorded, all.reversals};
  } else {
    sweep_work all;
    detail::each_action(plan, [&](action const& a) { all += a; });
    return all;
  }
}

/// How far a sweep is.
struct progress_report {
  std::string_view name;    ///< `progress_options::name`; valid as long as the observer
  std::int64_t sweep = 1;   ///< the number of the sweep, from 1
  std::int64_t sweeps = 1;  ///< how many there are going to be; 0 if that is not known
  cairn::phase phase = phase::forward;  ///< the part of the sweep that the last action belongs to
  bool ended = false;                   ///< whether the sweep is done
  sweep_work done;                      ///< steps of this sweep so far
  std::optional<sweep_work> total;      ///< all steps of this sweep; nothing before the length of the loop is known
  double seconds = 0;                   ///< since this sweep began
  double steps_per_second = 0;          ///< of this sweep, steps that are reversed included; 0 before any is done
  /// Seconds until the last sweep is done, or until this sweep is done if the number of sweeps is not known; empty as
  /// long as the total or the speed is not known.
  std::optional<double> seconds_left;
  std::size_t bytes_held = 0;           ///< bytes of all states that the sweep holds
  tier where = tier::memory;            ///< where the last checkpoint was saved or read

  /// The part of this sweep's steps that is done, 0 to 1; 0 as long as their number is not known.
  [[nodiscard]] double share() const noexcept {
    if (ended || !total) return ended ? 1 : 0;
    return total->steps() == 0 ? 1 : double(done.steps()) / double(total->steps());
  }
};

/// One line of about 80 characters: "pass 2/4 recompute 63.1 % 12,345/19,564 steps 81.2 k/s 1.4 s left 31.2 MiB
/// memory".
[[nodiscard]] CAIRN_DECL std::string progress_text(progress_report const& report);

/// Where a progress observer writes.
enum class progress_style : std::uint8_t {
  automatic,  ///< `line` if the file is a terminal, otherwise `log`
  line,       ///< one line that is written over again and again, at most ten times a second
  log,        ///< plain lines, one every five seconds
  silent      ///< nothing; the callback is called all the same
};

/// Options of a progress observer.
struct progress_options {
  std::string name;         ///< what a sweep is called in the line, such as "pass"
  std::int64_t sweeps = 1;  ///< how many sweeps the observer is going to see; 0 if that is not known
  /// What one sweep runs and reverses, if the caller knows: see `work_of`. Otherwise the observer asks the sweep once,
  /// at the first line, which copies the cursor of its plan. A sweep that begins after its turn is always asked.
  std::optional<sweep_work> work;
  /// The time of the adjoint of a step, in times of a step; used until the observer has seen the speed of both.
  double adjoint_steps = 2;
  progress_style style = progress_style::automatic;  ///< see `progress_style`
  std::FILE* file = stderr;                          ///< where lines go
  std::string log;  ///< the name of a file to which plain lines are added instead; none by default
  /// Called at most ten times a second, and at the end of a sweep of which something was shown. What it throws passes
  /// through the sweep.
  std::function<void(progress_report const&)> call;
  event::clock now = nullptr;  ///< returns nanoseconds; the steady clock by default. For tests
};

/// An observer that shows phase, steps done and to do, speed, time to go, bytes held and tier: `gradient(step, x0,
/// plan, seed, adjoint, cairn::progress{})`. Works in `checkpointed_loop`, `checkpointed_while` (without a total until
/// the loop has ended), `resume`, chains and graphs, too. The numbers of steps are those of the plan and exact; only
/// the speed of the machine is measured.
///
/// One object for one sweep after another, used by one thread. After an exception has ended a sweep, the next one is
/// shown from its own start. The destructor erases the line. While a sweep runs, the observer allocates nothing except
/// the cursor of a sweep that it asks for its work.
/// Cost: some 75 instructions an action. The clock is read once in 256 steps and actions, and more often if they are
/// slow. An action is shown when it is done, so the line does not change during a long `advance`.
class progress {
 public:
  /// \throws file_error   if the log cannot be opened
  CAIRN_DECL explicit progress(progress_options options = {});
  /// For sweeps of `plan`, whose work is counted here and not at the first line.
  template <schedule Plan>
  explicit progress(Plan const& plan, progress_options options = {}) : progress{with_work_of(plan, options)} {}
  progress(progress&& other) noexcept = default;  ///< takes over the open line, if there is one
  progress& operator=(progress&&) = delete;
  CAIRN_DECL ~progress();

  /// Counts an action, and occasionally shows how far the sweep is.
  void operator()(event const& seen) {
    if (seen.moment() == moment::before) {
      if (at_ != place::between) attend(seen);
      at_ = place::inside;
      return;
    }
    at_ = place::between;
    action const& what = seen.what();
    std::uint64_t length = 0;
    switch (what.kind) {
      case action_kind::advance:
      case action_kind::record: runs_ += length = std::uint64_t(what.to - what.from); break;
      case action_kind::reverse: reversals_ += length = std::uint64_t(what.to - what.from); break;
      case action_kind::save:
      case action_kind::load: where_ = what.where; break;
      case action_kind::drop: break;
      case action_kind::turn:
      case action_kind::done: return attend(seen);
    }
    counted_ += length + 1;
    if (counted_ >= stride_) attend(seen);
  }

  /// Erases the line before something else is printed on the terminal; the next one appears as usual.
  CAIRN_DECL void wipe();
  /// What was shown last.
  [[nodiscard]] progress_report last() const {
    progress_report report = shown_;
    report.name = options_.name;
    return report;
  }

 private:
  /// Where the observer is: outside of any sweep, between two actions, inside an action, or after the turn, where a
  /// kept run may wait for long.
  enum class place : std::uint8_t { outside, between, inside, turned };
  struct close_file {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  /// Speeds by least squares: how many seconds some runs and some reversals took.
  struct speeds {
    double runs_runs = 0, runs_reversals = 0, reversals_reversals = 0, runs_seconds = 0, reversals_seconds = 0;
    double runs = 0, reversals = 0, seconds = 0;
  };
  /// A file, if this object has written an open line to it.
  struct open_line {
    open_line() = default;
    open_line(open_line&& other) noexcept : file{std::exchange(other.file, nullptr)} {}
    open_line& operator=(open_line&&) = delete;
    std::FILE* file = nullptr;
  };

  template <class Plan>
  [[nodiscard]] static progress_options with_work_of(Plan const& plan, progress_options& options) {
    options.work = cairn::work_of(plan);
    return std::move(options);
  }
  /// Handles the actions that need more than counting. Out of line, so that an action that is only counted costs half.
  [[gnu::noinline, gnu::cold]] void attend(event const& seen) {
    if (seen.moment() == moment::before) return enter(seen.phase());
    if (seen.what().kind == action_kind::turn) turn(seen);
    else if (seen.what().kind == action_kind::done) end(seen);
    else look(seen);
  }
  CAIRN_DECL void enter(cairn::phase where);
  CAIRN_DECL void turn(event const& seen);
  CAIRN_DECL void look(event const& seen);
  CAIRN_DECL void end(event const& seen);
  CAIRN_DECL void report(event const& seen, std::int64_t now, bool ended);
  CAIRN_DECL void write_line(std::int64_t now, bool ended);
  CAIRN_DECL void note_speed(std::int64_t now);
  [[nodiscard]] CAIRN_DECL std::optional<double> seconds_for(sweep_work const& work) const;

  progress_options options_;
  std::unique_ptr<std::FILE, close_file> log_;
  open_line line_;
  place at_ = place::outside;
  tier where_ = tier::memory;
  bool from_start_ = true;                    // this sweep began before its turn
  bool reported_ = false, logged_ = false;        // something of this sweep was shown, or written as a plain line
  std::int64_t sweep_ = 1;
  std::uint64_t runs_ = 0, reversals_ = 0;    // of this sweep
  std::uint64_t counted_ = 0, stride_ = 1;    // steps and actions since the last look, and per look
  std::int64_t began_ = -1, looked_ = 0;      // nanoseconds; began_ is that of this sweep, -1 before the first
  std::int64_t next_report_ = 0, next_log_ = 0;
  sweep_work looked_at_;                      // what was done at the last look
  std::optional<sweep_work> total_;
  speeds speeds_;
  progress_report shown_;
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/progress.ipp>
#endif
