// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file work_limit.hpp  A limit on the work of making a plan, counted while it is made.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

/// Most work of making a plan, counted in sums of two entries of a table, about 10^9 per second; other work counts as
/// the sums that take as long. The same limit stops at the same point on every machine. For a limit in seconds read a
/// clock in `stop`.
struct work_limit {
  wide most_sums = ~wide{0};  ///< most sums; unlimited by default
  /// Called about every 2^24 sums with `context` and the share of the table made so far, 0 .. 1, or a negative number
  /// if unknown. Returns whether to give up. Never called if null. May throw.
  bool (*stop)(void* context, double share) = nullptr;
  void* context = nullptr;  ///< passed to `stop`
};

namespace detail {

/// The words for this work in an error message.
struct work_words {
  char const* is_too_much = "the table of this plan takes too much work";
  char const* was_stopped = "the making of this plan was stopped";
  char const* percent_made = "percent of the table";
};

/// Counts work against a limit. Once the limit is passed, all further work is refused.
class work_meter {
 public:
  /// \param who  the public name that makes the plan   \param what  the length, for the error message   \param advice
  /// what would work
  constexpr work_meter(char const* who, named_value what, work_limit const& limit, char const* advice,
                       work_words const& words = {})
      : who_{who}, advice_{advice}, words_{words}, what_{what}, limit_{limit}, next_{first_check(limit)} {}

  /// Adds a number of sums.   \param share  returns the share of the table made so far, 0 .. 1, negative if unknown
  /// \throws too_much_work   or what `stop` throws
  template <class Share>
  constexpr void add(wide sums, Share const& share) {
    done_ += sums;
    if (done_ > next_) check(share());
  }
  /// The same with an unknown share.
  constexpr void add(wide sums) {
    add(sums, [] { return -1.0; });
  }
  [[nodiscard]] bool has_stopped() const noexcept { return has_stopped_; }  ///< whether the limit was passed

 private:
  static constexpr wide sums_between_checks = wide{1} << 24;

  [[nodiscard]] static constexpr wide first_check(work_limit const& limit) noexcept {
    return limit.most_sums < sums_between_checks ? limit.most_sums : sums_between_checks;
  }
  [[gnu::noinline]] constexpr void check(double share) {
    bool const is_out = done_ > limit_.most_sums;
    if (is_out || has_stopped_ || (limit_.stop && limit_.stop(limit_.context, share < 1 ? share : 1))) {
      has_stopped_ = true;
      named_value values[4]{what_, {"sums made", done_}};
      std::size_t count = 2;
      if (is_out) values[count++] = {"most sums", limit_.most_sums};
      if (share >= 0) values[count++] = {words_.percent_made, wide(100 * (share < 1 ? share : 1))};
      throw too_much_work{who_, is_out ? words_.is_too_much : words_.was_stopped, values, count, advice_};
    }
    next_ = limit_.most_sums - done_ < sums_between_checks ? limit_.most_sums : done_ + sums_between_checks;
  }

  char const* who_;
  char const* advice_;
  work_words words_;
  named_value what_;
  work_limit limit_;
  wide done_ = 0, next_;
  bool has_stopped_ = false;
};

/// Counts work if there is a meter.   \param meter  may be null
template <class... Share>
void count_work(work_meter* meter, wide sums, Share const&... share) {
  if (meter) meter->add(sums, share...);
}

/// Counts the work of one table row by row.
class row_meter {
 public:
  /// \param who  the public name that makes the plan   \param rows  rows of the table   \param least  lower bound on
  /// the sums that the table takes
  /// \throws too_much_work   before the first sum if `least` exceeds the limit
  row_meter(char const* who, step_index steps, wide rows, work_limit const& limit, wide least = 0)
      : meter_{who, {"steps", steps}, limit, advice}, steps_{steps}, rows_{rows} {
    if (least > limit.most_sums)
      throw too_much_work{who,
                          "the table of this plan takes too much work",
                          {{"steps", steps}, {"least sums", least}, {"most sums", limit.most_sums}},
                          advice};
  }
  /// Called after the number for x steps of a row.   \throws too_much_work   or what `stop` throws
  void add(step_index sums, step_index x) {
    // The number for x steps is the least of about x sums, so half the work of a row is done at 7/10 of its length.
    meter_.add(wide(sums), [&] {
      double const part = double(x) / double(steps_);
      return (double(row_) + part * part) / double(rows_);
    });
  }
  void end_row() noexcept { ++row_; }  ///< the next numbers belong to another row

 private:
  static constexpr char const* advice = "allow more, or give fewer steps, slots or units";

  work_meter meter_;
  step_index steps_;
  wide rows_, row_ = 0;
};

/// A lower bound on the sums of a row of `least_sum`: one for each block, for each number.
[[nodiscard]] constexpr wide least_sums_of_row(step_index steps) noexcept { return wide(steps) * wide(steps) / 128; }

}  // namespace detail
}  // namespace cairn
