// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_rows.hpp  The rows of a slot_table: which slots can occur in each interval of stages, and where their
/// costs are stored.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// What is known about stages from..to with m free slots, which also hold the adjoint at the right end; the caller
/// keeps the first state.
struct slot_row {
  std::int32_t least = 0;   ///< below this many slots there is no plan
  std::int32_t enough = 0;  ///< from this many slots on, every tape is kept and nothing runs twice
  std::int32_t first = 0, last = -1;  ///< the slots m between these that can occur and are in the table
  std::ptrdiff_t at = 0;    ///< the place in the table that m = 0 would have
};

/// Starts and ends of intervals that are computed together; their rows are neighbours.
inline constexpr std::size_t slot_tile = 8;

/// The rows of a slot_table, with sizes in slots and times in quanta.
class slot_rows {
 public:
  /// The cost if there is no plan, and the most of any cost: the sum of two of these and of all stages once is below
  /// 2^31.
  static constexpr std::int32_t never = std::int32_t{1} << 29;

  /// \param most  most bytes of the table   \param meter  null for no limit
  /// \pre `c` outlives the rows
  slot_rows(chain_model const& c, slot_scale scale, std::int64_t most, work_meter* meter, char const* who)
      : c_{c}, count_{std::size_t(c.stages) + 1}, scale_{scale}, most_bytes_{most}, meter_{meter}, who_{who} {}

  /// Finds out which slots each row has.
  /// \param share  one row for all equal intervals of stages
  /// \throws invalid_plan   if the table would exceed its limit   \throws too_much_work
  void measure(std::int64_t quantum, bool share) {
    check_bytes(0);
    x_.resize(count_ + 1), s_.resize(count_), sum_u_.assign(count_ + 1, 0);
    value_list<std::int32_t> times(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      x_[i + 1] = scale_.size(c_.x[i + 1]), s_[i] = scale_.size(c_.s[i]);
      times[i] = std::int32_t(c_.u[i] / quantum);
      sum_u_[i + 1] = sum_u_[i] + times[i];
    }
    classes_ = share ? interval_classes{stage_types(c_, times, false), meter_} : interval_classes{count_};
    // Tiles need neighbours, so sharing rows must save more work than tiles do.
    if (classes_.count() > count_ * (count_ + 1) / 4) classes_ = interval_classes{count_};
    measure_rows();
  }
  /// Finds a place for each row, and sets all costs to `never`.
  /// \throws invalid_plan   if the table would exceed its limit
  void lay_out() {
    wide entries = 0;
    for (slot_row const& of : all_)
      if (of.first <= of.last) entries += wide(of.last - of.first + 1);
    check_bytes(entries * sizeof(std::int32_t) + wide(all_.size()) * sizeof(slot_row));
    std::ptrdiff_t next = 0;
    auto const place = [&](slot_row& of) {
      if (of.first > of.last) return;
      of.at = next - of.first;
      next += of.last - of.first + 1;
    };
    if (classes_.shared()) {
      for (auto& of : all_) place(of);
    } else {
      for (std::size_t s = 0; s < count_; s += slot_tile)
        for (std::size_t t = s; t < count_; ++t)
          for (std::size_t a = s; a < (std::min)(s + slot_tile, t + 1); ++a) place(all_[classes_.of(a, t)]);
    }
    detail::lay_out(costs_, std::size_t(next), meter_, never);
  }

  [[nodiscard]] slot_row const& row(std::size_t from, std::size_t to) const noexcept {
    return all_[classes_.of(from, to)];
  }
  /// The cost of stages from..to.
  [[nodiscard]] std::int32_t cost(std::size_t from, std::size_t to, std::int32_t slots) const noexcept {
    slot_row const& of = row(from, to);
    return slots < of.least ? never : slots >= of.enough ? 0 : costs_[std::size_t(of.at + slots)];
  }
  /// Time of stages from..to-1.
  [[nodiscard]] std::int32_t run(std::size_t from, std::size_t to) const noexcept { return sum_u_[to] - sum_u_[from]; }
  /// Slots of state i, i > 0, and of the tape of stage i.
  [[nodiscard]] std::int32_t state_size(std::size_t i) const noexcept { return x_[i]; }
  [[nodiscard]] std::int32_t tape_size(std::size_t i) const noexcept { return s_[i]; }
  /// Slots needed to keep the tape of `from` while the adjoint of stage `to` + 1 lives.
  [[nodiscard]] std::int32_t tape_need(std::size_t from, std::size_t to) const noexcept {
    if (from + 1 == count_) return scale_.need(c_.b[from]);
    return scale_.need(c_.s[from] + (std::max)(c_.g[to + 1] + c_.f[from], c_.g[from + 1] + c_.b[from]));
  }
  [[nodiscard]] slot_scale const& scale() const noexcept { return scale_; }
  /// Number of stages, with the loss.
  [[nodiscard]] std::size_t stages() const noexcept { return count_; }
  /// Which intervals share a row, and the rows by the number of their class.
  [[nodiscard]] interval_classes const& classes() const noexcept { return classes_; }
  [[nodiscard]] value_list<slot_row> const& all() const noexcept { return all_; }
  [[nodiscard]] value_list<std::int32_t> const& costs() const noexcept { return costs_; }
  [[nodiscard]] std::int32_t* costs() noexcept { return costs_.data(); }

 private:
  /// \param bytes  besides those of the interval numbers
  void check_bytes(wide bytes) const {
    check_chain_table(c_, scale_, bytes + wide(count_) * wide(count_) * 8, most_bytes_, who_);
  }
  void measure_rows() {
    detail::lay_out(all_, classes_.count(), meter_);
    std::int32_t const beyond = scale_.slots() + 1;
    // The least slots, by starts and by ends, so that both are read in order.
    value_list<std::int32_t> by_start, by_end;
    detail::lay_out(by_start, count_ * count_, meter_);
    detail::lay_out(by_end, count_ * count_, meter_);
    value_list<std::int64_t> widest(count_, 0);  // for each start the bytes of the largest run so far
    // Free slots at a start: what is kept before it is at most all tapes, and at least the state of the start.
    value_list<std::int32_t> fewest(count_), most(count_);
    std::int64_t tapes = 0;
    for (std::size_t s = 0; s < count_; ++s) {
      fewest[s] = std::int32_t(std::max<std::int64_t>(0, scale_.slots() - tapes));
      most[s] = s == 0 ? scale_.slots() : scale_.slots() - scale_.size(c_.x[s]);
      tapes += s_[s];
    }
    for (std::size_t length = 0; length < count_; ++length) {
      wide choices = 0;
      for (std::size_t s = 0; s + length < count_; ++s) {
        std::size_t const t = s + length, number = classes_.of(s, t);
        slot_row& of = all_[number];
        if (length > 0) widest[s] = (std::max)(widest[s], (length > 1 ? c_.x[t - 1] : 0) + c_.x[t] + c_.f[t - 1]);
        if (classes_.from(number, length) == s) {
          std::int32_t const tape = tape_need(s, t);
          slot_row const* const rest = length > 0 ? &row(s + 1, t) : nullptr;
          of.enough = rest ? (std::min)(beyond, (std::max)(tape, s_[s] + rest->enough)) : tape;
          of.least = rest ? (std::min)(beyond, (std::max)(tape, s_[s] + rest->least)) : tape;
          std::int32_t const runs = rest ? scale_.need(c_.g[t + 1] + widest[s]) : 0;
          std::int32_t const *const left = by_start.data() + s * count_, *const right = by_end.data() + t * count_;
          for (std::size_t j = s + 1; j <= t && of.least > runs; ++j, ++choices)
            of.least = (std::min)(of.least, (std::max)(x_[j] + right[j], left[j - 1]));
          of.least = (std::max)(of.least, runs);
          of.first = fewest[s], of.last = most[s];
        } else {
          of.first = (std::min)(of.first, fewest[s]), of.last = (std::max)(of.last, most[s]);
        }
        by_start[s * count_ + t] = by_end[t * count_ + s] = of.least;
      }
      for (std::size_t number = classes_.first(length); number < classes_.first(length + 1); ++number) {
        slot_row& of = all_[number];
        of.first = (std::max)(of.first, of.least), of.last = (std::min)(of.last, of.enough - 1);
      }
      count_work(meter_, choices + 64 * wide(count_ - length), [] { return 0.0; });
    }
  }

  chain_model const& c_;
  std::size_t count_;
  slot_scale scale_;
  std::int64_t most_bytes_;
  work_meter* meter_;
  char const* who_;
  interval_classes classes_{std::size_t{0}};
  value_list<std::int32_t> x_, s_;  ///< in slots
  value_list<std::int32_t> sum_u_;  ///< in quanta
  value_list<slot_row> all_;
  value_list<std::int32_t> costs_;
};

}  // namespace cairn::detail
