// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_filler.hpp  Computes the costs of a slot_table.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/slot_kernel.hpp>
#include <cairn/plan/chain/detail/slot_rows.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Fills the rows of a slot_table, in blocks that stay in the cache: by tiles, or by length if intervals share rows.
class slot_filler {
 public:
  /// \param meter  null for no limit
  slot_filler(slot_rows& rows, slot_kernel const& kernel, work_meter* meter) noexcept
      : rows_{rows},
        costs_{rows.costs()},
        count_{rows.stages()},
        slots_{rows.scale().slots()},
        kernel_{kernel},
        meter_{meter} {}

  /// \throws too_much_work
  void fill() {
    if (rows_.classes().shared()) fill_by_length();
    else fill_by_tiles();
  }

 private:
  static constexpr std::size_t tile = slot_tile;
  static constexpr std::int32_t slots_at_once = 512;

  /// Lowers the costs of `out` from slot `from` to `to` to those of keeping state j: `left` plus `right` with `size`
  /// fewer slots.
  void lower(slot_row const& out, std::int32_t time, slot_row const& left, slot_row const& right, std::int32_t size,
             std::int32_t from, std::int32_t to) noexcept {
    from = (std::max)({from, left.least, right.least + size});
    if (from > to) return;
    std::int32_t* const costs = costs_;
    // Costs fall with slots: compare the highest current cost with the lowest new one.
    std::int32_t const dearest = costs[out.at + from];
    if (time >= dearest) return;
    std::int32_t const cheapest = time + (to >= left.enough ? 0 : costs[left.at + to]) +
                                  (to - size >= right.enough ? 0 : costs[right.at + to - size]);
    if (cheapest >= dearest) return;
    std::int32_t const end = to + 1, left_end = std::clamp(left.enough, from, end),
                       right_end = std::clamp(right.enough + size, from, end);
    std::int32_t const both_end = (std::min)(left_end, right_end), one_end = (std::max)(left_end, right_end);
    if (both_end > from &&
        time + costs[left.at + both_end - 1] + costs[right.at + both_end - 1 - size] < costs[out.at + from])
      kernel_.both(costs + (out.at + from), costs + (left.at + from), costs + (right.at + from - size), time,
                   std::size_t(both_end - from));
    if (one_end > both_end) {
      std::int32_t const* const part =
          left_end > right_end ? costs + (left.at + both_end) : costs + (right.at + both_end - size);
      if (time + part[one_end - both_end - 1] < costs[out.at + both_end])
        kernel_.one(costs + (out.at + both_end), part, time, std::size_t(one_end - both_end));
    }
    for (std::int32_t m = one_end; m < end && costs[out.at + m] > time; ++m) costs[out.at + m] = time;
  }
  /// Lowers the costs of stages s..t to those of keeping the first tape.
  void keep_tape(std::size_t s, std::size_t t) noexcept {
    slot_row const& out = rows_.row(s, t);
    if (out.first > out.last) return;
    slot_row const& rest = rows_.row(s + 1, t);
    std::int32_t const from = (std::max)({out.first, rows_.tape_need(s, t), rest.least + rows_.tape_size(s)}),
                       end = (std::min)(out.last + 1, rest.enough + rows_.tape_size(s));
    if (from < end)
      kernel_.one(costs_ + (out.at + from), costs_ + (rest.at + from - rows_.tape_size(s)), 0,
                  std::size_t(end - from));
  }
  /// Lowers the costs of stages s..t to those of keeping state j, j0 <= j < j1, for slots from..to.
  void keep_state(std::size_t s, std::size_t t, std::size_t j0, std::size_t j1, std::int32_t from,
                  std::int32_t to) noexcept {
    slot_row const& out = rows_.row(s, t);
    from = (std::max)(from, out.first), to = (std::min)(to, out.last);
    for (std::size_t j = j0; j < j1 && from <= to; ++j)
      lower(out, rows_.run(s, j), rows_.row(s, j - 1), rows_.row(j, t), rows_.state_size(j), from, to);
  }

  /// Fills tiles diagonal by diagonal: they read only tiles nearer to the main diagonal.
  void fill_by_tiles() {
    std::size_t const tiles = (count_ + tile - 1) / tile;
    for (std::size_t d = 0; d < tiles; ++d) {
      auto const one = [&](std::size_t k) { d == 0 ? fill_corner(k * tile) : fill_tile(k * tile, (k + d) * tile); };
      each(
          tiles - d, one, [&](std::size_t k) { return sums_of_tile(k * tile, (k + d) * tile); },
          (double(d) + 1) / double(tiles));
    }
  }
  /// Fills intervals that start and end in one tile.
  void fill_corner(std::size_t s0) noexcept {
    std::size_t const end = (std::min)(s0 + tile, count_);
    for (std::size_t t = s0; t < end; ++t)
      for (std::size_t s = t; s-- > s0;) {
        keep_tape(s, t);
        keep_state(s, t, s + 1, t + 1, 0, slots_);
      }
  }
  /// Fills intervals that start in s0.. and end in t0..: first with all states between the two tiles, whose parts are
  /// finished, so many slots at a time that the rows stay in the cache; then with the states inside the tiles, interval
  /// by interval.
  void fill_tile(std::size_t s0, std::size_t t0) noexcept {
    std::size_t const s1 = s0 + tile, t1 = (std::min)(t0 + tile, count_);
    std::int32_t low = slots_ + 1, high = -1;
    for (std::size_t s = s0; s < s1; ++s)
      for (std::size_t t = t0; t < t1; ++t)
        if (slot_row const& of = rows_.row(s, t); of.first <= of.last)
          low = (std::min)(low, of.first), high = (std::max)(high, of.last);
    for (std::int32_t from = low; from <= high; from += slots_at_once)
      between(s0, t0, from, (std::min)(high, from + slots_at_once - 1));
    for (std::size_t t = t0; t < t1; ++t)
      for (std::size_t s = s1; s-- > s0;) {
        keep_tape(s, t);
        keep_state(s, t, s + 1, s1, 0, slots_);
        keep_state(s, t, t0 + 1, t + 1, 0, slots_);
      }
  }
  void between(std::size_t s0, std::size_t t0, std::int32_t from, std::int32_t to) noexcept {
    std::size_t const s1 = s0 + tile, t1 = (std::min)(t0 + tile, count_);
    for (std::size_t j = s1; j <= t0; ++j) {
      std::array<slot_row, tile> rights;
      for (std::size_t t = t0; t < t1; ++t) rights[t - t0] = rows_.row(j, t);
      for (std::size_t s = s0; s < s1; ++s) {
        slot_row const& left = rows_.row(s, j - 1);
        if (left.least > to) continue;
        std::int32_t const time = rows_.run(s, j), size = rows_.state_size(j);
        for (std::size_t t = t0; t < t1; ++t) {
          slot_row const& out = rows_.row(s, t);
          lower(out, time, left, rights[t - t0], size, (std::max)(from, out.first), (std::min)(to, out.last));
        }
      }
    }
  }
  /// Fills rows by length: they read only shorter ones.
  void fill_by_length() {
    for (std::size_t length = 1; length < count_; ++length) {
      std::size_t const first = rows_.classes().first(length);
      auto const one = [&](std::size_t k) {
        std::size_t const s = rows_.classes().from(first + k, length), t = s + length;
        slot_row const& out = rows_.all()[first + k];
        keep_tape(s, t);
        for (std::int32_t from = out.first; from <= out.last; from += slots_at_once)
          keep_state(s, t, s + 1, t + 1, from, (std::min)(out.last, from + slots_at_once - 1));
      };
      each(
          rows_.classes().first(length + 1) - first, one,
          [&](std::size_t k) { return sums_of_row(rows_.all()[first + k], length); },
          double(length + 1) / double(count_));
    }
  }
  [[nodiscard]] static wide sums_of_row(slot_row const& of, std::size_t length) noexcept {
    return of.first > of.last ? 1 : wide(of.last - of.first + 1) * length + 1;
  }
  [[nodiscard]] wide sums_of_tile(std::size_t s0, std::size_t t0) const noexcept {
    wide sums = 0;
    for (std::size_t s = s0; s < (std::min)(s0 + tile, count_); ++s)
      for (std::size_t t = (std::max)(s, t0); t < (std::min)(t0 + tile, count_); ++t)
        sums += sums_of_row(rows_.row(s, t), t - s);
    return sums;
  }
  /// \param sums  the sums that f(k) takes   \param length  of the longest of the rows, as a fraction of all stages
  template <class Fn, class Sums>
  void each(std::size_t count, Fn const& f, Sums const& sums, double length) const {
    auto const share = [length] { return length * length * (3 - 2 * length); };
    for (std::size_t k = 0; k < count; ++k) {
      f(k);
      if (meter_) meter_->add(sums(k), share);
    }
  }

  slot_rows const& rows_;
  std::int32_t* costs_;
  std::size_t count_;
  std::int32_t slots_;
  slot_kernel const& kernel_;
  work_meter* meter_;
};

}  // namespace cairn::detail
