// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segment_rows.hpp  The rows of a non_persistent_table: the times of every segment for the slots that can occur.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/laid_out.hpp>
#include <cairn/plan/chain/detail/non_persistent_rules.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/plan/chain/detail/stage_classes.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Times of one segment by the free slots besides its first state: `never` below `first`, 0 from `zero` on.
struct segment_row {
  /// More than any number of slots, and than any time; the sum of both fits 32 bits.
  static constexpr std::int32_t never = std::int32_t{1} << 30;

  std::int32_t first = never, zero = never;
  std::int32_t best = 0;  ///< the shortest time
  std::int32_t const* times = nullptr;  ///< for first, first + 1, .. free slots

  [[nodiscard]] std::int32_t at(std::int32_t free) const noexcept {
    return free < first ? never : free >= zero ? 0 : times[free - first];
  }
};

/// The rows of a non_persistent_table, with sizes in slots and times in quanta. Equal stages share rows.
class segment_rows {
 public:
  static constexpr std::int32_t never = segment_row::never;

  /// \param model  must outlive the rows   \param most  most bytes of the table
  /// \param meter  counts the work; null for no limit
  segment_rows(chain_model const& model, slot_scale scale, std::int64_t most, work_meter* meter, char const* who)
      : model_{model}, scale_{scale}, most_bytes_{most}, meter_{meter}, who_{who} {
    for (std::size_t i = 0; i <= std::size_t(model.stages); ++i) {
      sizes_.x.push_back(i == 0 ? 0 : scale_.size(model.x[i]));
      sizes_.s.push_back(scale_.size(model.s[i]));
    }
  }

  /// Forgets all rows, and finds out which segments share one.
  /// \throws invalid_plan   if the table would exceed its limit
  void begin(std::int64_t quantum) {
    std::size_t const count = std::size_t(model_.stages) + 1;
    value_list<std::int32_t> times(count);
    sum_u_.assign(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i) {
      times[i] = std::int32_t(model_.u[i] / quantum);
      sum_u_[i + 1] = sum_u_[i] + times[i];
    }
    check_bytes(wide(count) * wide(count) * 2);  // the numbers that say which rows are shared
    classes_ = interval_classes{stage_types(model_, times, true), meter_};
    blocks_.clear();
    block_bytes_ = 0;
    check_bytes(wide(classes_.count()) * 4 * sizeof(segment_row) +
                (wide(scale_.slots()) + 1) * 4 * sizeof(std::int32_t));
  }
  /// Makes all rows; until they are filled, they say that there is no plan.
  void lay_out() { detail::lay_out(rows_, 4 * classes_.count(), meter_); }
  /// Stores a finished row.
  /// \param times  for `numbers` free slots from `made.first` on
  /// \throws invalid_plan   if the table would exceed its limit
  void store(segment const& of, segment_row made, std::int32_t const* times, std::size_t numbers) {
    if (numbers > 0) {
      if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < numbers) {
        std::size_t const size = (std::max)(numbers, block_numbers);
        check_bytes(wide(bytes()) + wide(size) * sizeof(std::int32_t));
        blocks_.emplace_back().reserve(size);
        block_bytes_ += std::int64_t(size * sizeof(std::int32_t));
      }
      auto& block = blocks_.back();
      made.times = block.data() + block.size();
      block.append(times, numbers);
    }
    rows_[4 * place(of.from, of.to) + std::size_t(of.kind)] = made;
  }

  [[nodiscard]] segment_row const& at(segment const& of) const noexcept {
    return rows_[4 * place(of.from, of.to) + std::size_t(of.kind)];
  }
  [[nodiscard]] std::int32_t time_of(segment const& of, std::int64_t free) const noexcept {
    return free < 0 ? never : at(of).at(std::int32_t(free));
  }
  /// Time of stages from..to-1.
  [[nodiscard]] std::int32_t run(std::int64_t from, std::int64_t to) const noexcept {
    return sum_u_[std::size_t(to)] - sum_u_[std::size_t(from)];
  }
  /// Slots of the first state, if the segment owns it.
  [[nodiscard]] std::int32_t held(segment const& of) const noexcept {
    return is_released(of.kind) ? std::int32_t(sizes_.x[std::size_t(of.from)]) : 0;
  }
  /// Slots besides the first state that hold that many bytes; the bytes include a first state that the segment owns.
  [[nodiscard]] std::int32_t need(std::int64_t bytes, std::int32_t held) const noexcept {
    return (std::max)(0, scale_.need(bytes) - held);
  }
  [[nodiscard]] slot_scale const& scale() const noexcept { return scale_; }
  /// The sizes of states and tapes in slots; state 0 takes none.
  [[nodiscard]] held_sizes const& sizes() const noexcept { return sizes_; }
  [[nodiscard]] interval_classes const& classes() const noexcept { return classes_; }
  /// The number of the class of a segment. Rows with the same start are neighbours, because splits read them in this
  /// order.
  [[nodiscard]] std::size_t place(std::int64_t from, std::int64_t to) const noexcept {
    std::size_t const i = std::size_t(from), j = std::size_t(to);
    return classes_.shared() ? classes_.of(i, j) : i * (2 * classes_.stages() - i + 1) / 2 + (j - i);
  }
  /// Bytes of all rows.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return std::int64_t(rows_.size() * sizeof(segment_row)) + block_bytes_;
  }

 private:
  static constexpr std::size_t block_numbers = std::size_t{1} << 18;

  void check_bytes(wide bytes) const { check_chain_table(model_, scale_, bytes, most_bytes_, who_); }

  chain_model const& model_;
  slot_scale scale_;
  std::int64_t most_bytes_;
  work_meter* meter_;
  char const* who_;
  held_sizes sizes_;
  value_list<std::int32_t> sum_u_;
  interval_classes classes_{std::size_t{0}};
  value_list<segment_row> rows_;  ///< four per class, by kind
  std::vector<value_list<std::int32_t>> blocks_;  ///< hold the times of rows; never moved
  std::int64_t block_bytes_ = 0;
};

}  // namespace cairn::detail
