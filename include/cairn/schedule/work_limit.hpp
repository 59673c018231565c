#pragma once
/// \file work_limit.hpp  How long the making of a plan's table may take, counted as it is made.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

/// How much work the making of a plan's table may be, in sums of two of its entries, of which a second has some 10^9. The same limit stops at the same place everywhere; who
/// wants seconds looks at a clock in `stop`.
struct work_limit {
  wide most_sums = ~wide{0};  ///< more are not made; no limit by default
  /// Asked every 2^24 sums or so with `context` and the share of the table that is made, 0 .. 1: whether to give up. Never where it is null. May throw.
  bool (*stop)(void* context, double share) = nullptr;
  void* context = nullptr;  ///< for `stop`
};

namespace detail {

/// Counts the work of one table row by row.
class work_meter {
 public:
  /// \param who  the public name that makes the plan   \param rows  that the table has   \param least  sums that it takes at least
  /// \throws too_much_work   before the first sum where `least` are too many
  work_meter(char const* who, step_index steps, wide rows, work_limit const& limit, wide least = 0)
      : who_{who}, steps_{steps}, rows_{rows}, limit_{limit}, next_{limit.most_sums < between_looks ? limit.most_sums : between_looks} {
    if (least > limit.most_sums)
      throw too_much_work{who, "the table of this plan takes too much work", {{"steps", steps}, {"least sums", least}, {"most sums", limit.most_sums}}, advice};
  }
  /// After the number for x steps of a row.   \throws too_much_work   or what `stop` throws
  void add(step_index sums, step_index x) {
    done_ += wide(sums);
    if (done_ > next_) look(x);
  }
  void end_row() noexcept { ++row_; }  ///< the next numbers are of another row

 private:
  static constexpr wide between_looks = wide{1} << 24;
  static constexpr char const* advice = "allow more, or give fewer steps, slots or units";

  /// The number for x steps is the least of some x sums, so that half the work of a row lies behind 7/10 of it.
  [[gnu::noinline]] void look(step_index x) {
    double const part = double(x) / double(steps_), share = (double(row_) + part * part) / double(rows_);
    bool const is_out = done_ > limit_.most_sums;
    if (is_out || (limit_.stop && limit_.stop(limit_.context, share < 1 ? share : 1)))
      throw too_much_work{who_, is_out ? "the table of this plan takes too much work" : "the making of this plan was stopped",
                          {{"steps", steps_}, {"sums made", done_}, {"most sums", limit_.most_sums}, {"percent of the table", wide(100 * share)}}, advice};
    next_ = limit_.most_sums - done_ < between_looks ? limit_.most_sums : done_ + between_looks;
  }

  char const* who_;
  step_index steps_;
  wide rows_, row_ = 0, done_ = 0;
  work_limit limit_;
  wide next_;
};

/// Sums that a row of `least_sum` takes at least: one for each block, for each number.
[[nodiscard]] constexpr wide least_sums_of_row(step_index steps) noexcept { return wide(steps) * wide(steps) / 128; }

}  // namespace detail
}  // namespace cairn
