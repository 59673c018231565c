// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file deadline_timer.hpp  The time limit of an answer, and progress reports on standard error.
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <cairn/core/action.hpp>
#include <cairn/schedule/stopped_online.hpp>
#include <cairn/schedule/walked_counts.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace tool {

/// The limit, in seconds, of a request that gives none.
inline constexpr double usual_time_limit = 60;

/// Starts when it is made. Reports progress after 2 s, and then each time the elapsed time has doubled.
class deadline_timer {
 public:
  /// \param seconds  infinite for no limit
  explicit deadline_timer(double seconds) : limit_{seconds} {}
  deadline_timer(deadline_timer const&) = delete;

  /// A limit for code that makes tables.   \pre this outlives that code
  [[nodiscard]] cairn::work_limit limit() noexcept { return {.stop = &check_table, .context = this}; }
  /// A limit for code that returns the best answer found in time: it stops by request, without an exception.
  /// \pre this outlives that code
  [[nodiscard]] cairn::work_limit soft_limit() noexcept { return {.stop = &is_late, .context = this}; }
  /// \param what  the work that is under way   \param share  the share of it that is done; below 0 if unknown
  /// \throws out_of_time   if the time is over
  void check(char const* what, double share = -1);
  /// Whether the time is over; if not, reports progress when that is due.
  [[nodiscard]] bool is_over(char const* what = "", double share = -1);
  /// Seconds until the time is over; below 0 afterwards.
  [[nodiscard]] double left() const;
  /// "time_limit is 0.300 s", in the words of `worded`.
  [[nodiscard]] std::string text() const;

 private:
  using clock = std::chrono::steady_clock;
  static bool check_table(void* deadline, double share) {
    static_cast<deadline_timer*>(deadline)->check("the table", share);
    return false;
  }

  static bool is_late(void* deadline, double share) {
    return static_cast<deadline_timer*>(deadline)->is_over("the table", share);
  }

  clock::time_point start_ = clock::now();
  double limit_;
  double next_word_ = 2;
};

/// The time that all lines of a batch may take together, if it is limited.
class batch_time {
 public:
  /// \param seconds  nothing for no limit but those of the lines
  explicit batch_time(std::optional<double> seconds) {
    if (seconds) all_.emplace(*seconds);
  }
  /// The limit of all lines if it ends before that of a line, else nullptr.   \param own  the line's limit, if it has one
  /// \throws out_of_time   if the time of all lines is over
  [[nodiscard]] deadline_timer* of_line(std::optional<double> own) {
    if (!all_) return nullptr;
    all_->check("the batch");
    return own && *own < all_->left() ? nullptr : &*all_;
  }

 private:
  std::optional<deadline_timer> all_;
};

/// A plan whose cursors check the time at intervals.
template <class Plan>
struct timed_plan : Plan {
  timed_plan(Plan const& plan, deadline_timer* deadline) : Plan{plan}, by{deadline} {}

  struct cursor {
    cairn::cursor_of<Plan> inner;
    deadline_timer* by;
    unsigned actions = 0;
    [[nodiscard]] cairn::action next() {
      if (++actions % (1u << 10) == 0 && by)
        by->check("the walk");  // an action of `online` takes time proportional to its slots
      return inner.next();
    }
  };
  [[nodiscard]] cursor walk() const { return {Plan::walk(), by}; }
  /// `online` walks its forward run for its totals, so this walk checks the time, too.
  [[nodiscard]] cairn::schedule_counts counts() const
    requires cairn::counted_schedule<Plan>
  {
    if constexpr (std::same_as<Plan, cairn::stopped_online>) return cairn::walked_counts(*this);
    else return Plan::counts();
  }

  deadline_timer* by;
};

}  // namespace tool
