#pragma once
/// \file deadline_timer.hpp  The time that an answer may take, and a word on standard error where it takes long.
#include <chrono>
#include <concepts>
#include <string>
#include <cairn/core/action.hpp>
#include <cairn/schedule/stopped_online.hpp>
#include <cairn/schedule/walked_counts.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace tool {

/// Of a request that names no limit, in seconds.
inline constexpr double usual_time_limit = 60;

/// Runs from its making on. Says how far the work is after 2 s, and then each time that twice as long has passed.
class deadline_timer {
 public:
  /// \param seconds  infinite for no limit
  explicit deadline_timer(double seconds) : limit_{seconds} {}
  deadline_timer(deadline_timer const&) = delete;

  /// To hand to what makes tables.   \pre this outlives them
  [[nodiscard]] cairn::work_limit limit() noexcept { return {.stop = &check_table, .context = this}; }
  /// The same for what answers with the best that is found when the time is over: it is told to stop.   \pre this
  /// outlives it
  [[nodiscard]] cairn::work_limit soft_limit() noexcept { return {.stop = &is_late, .context = this}; }
  /// \param what  is under way   \param share  of it that is done; below 0 where nobody knows   \throws out_of_time
  /// when the time is over
  void check(char const* what, double share = -1);
  /// Whether the time is over; if not, says how far the work is.
  [[nodiscard]] bool is_over(char const* what = "", double share = -1);
  /// "time_limit is 0.300 s".
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

/// A plan whose cursors ask for the time now and then.
template <class Plan>
struct timed_plan : Plan {
  timed_plan(Plan const& plan, deadline_timer* deadline) : Plan{plan}, by{deadline} {}

  struct cursor {
    cairn::cursor_of<Plan> inner;
    deadline_timer* by;
    unsigned actions = 0;
    [[nodiscard]] cairn::action next() {
      if (++actions % (1u << 10) == 0 && by)
        by->check("the walk");  // an action of `online` takes as long as there are slots
      return inner.next();
    }
  };
  [[nodiscard]] cursor walk() const { return {Plan::walk(), by}; }
  /// `online` plays its way forward for its totals, which is watched, too.
  [[nodiscard]] cairn::schedule_counts counts() const
    requires cairn::counted_schedule<Plan>
  {
    if constexpr (std::same_as<Plan, cairn::stopped_online>) return cairn::walked_counts(*this);
    else return Plan::counts();
  }

  deadline_timer* by;
};

}  // namespace tool
