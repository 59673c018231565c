// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_table.hpp  The fastest persistent plan of a chain in slots: sizes are rounded up for a plan, down for a
/// lower bound on all plans.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/plan/chain/detail/slot_kernel.hpp>
#include <cairn/plan/chain/detail/slot_rows.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Stages from..to, and what is free for them: bytes, or slots of some unit.
template <class Size>
struct free_stretch {
  std::int64_t from, to;
  Size free;
};

/// Appends the plan of the whole chain; the loss is stage `stages`.
/// \param choose  `choose(stretch)` returns the state to keep, or `from` to keep the tape of stage `from`; may lower
///   `free`
/// \param state_size, tape_size  what a kept state or tape takes of `free`
template <class Size, class Choose, class StateSize, class TapeSize>
[[gnu::cold]] void write_persistent_plan(std::int64_t stages, Size free, Choose const& choose,
                                         StateSize const& state_size, TapeSize const& tape_size,
                                         std::vector<action>& plan) {
  struct part {
    free_stretch<Size> of;
    bool is_action;
    action then;
  };
  value_list<part> open{{{0, stages, free}, false, {}}};
  auto const divide_later = [&](free_stretch<Size> const& of) { open.push_back({of, false, {}}); };
  auto const write_later = [&](action const& then) { open.push_back({{}, true, then}); };
  while (!open.empty()) {
    auto [of, is_action, then] = open.back();
    open.pop_back();
    if (is_action) plan.push_back(then);
    else if (of.from == stages) plan.push_back(chain_actions::turn(of.from));
    else if (std::int64_t const j = choose(of); j == of.from) {
      plan.push_back(chain_actions::record(j));
      write_later(chain_actions::reverse(j));
      if (j < of.to) divide_later({j + 1, of.to, Size(of.free - tape_size(j))});
    } else {
      append_run(plan, of.from, j);
      divide_later({of.from, j - 1, of.free});
      if (j < stages) write_later(chain_actions::drop(j));
      divide_later({j, of.to, Size(of.free - state_size(j))});
    }
  }
}

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

/// How a slot_table is computed; its results do not depend on these options.
struct slot_table_options {
  std::int64_t most_bytes = usual_table_bytes;  ///< most bytes of the table
  bool share_rows = true;                           ///< one row for all equal intervals of stages
  slot_kernel const* kernel = nullptr;              ///< null for the kernel of this processor
  work_meter* meter = nullptr;  ///< counts the work as if no choice could be skipped; null for no limit
};

/// The table of Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova (2019, theorem 1) with needs that are exact in
/// bytes. Let E(s, t, m) be the least time of runs of stages s..t beyond the first:
///
///     E(s, t, m) = min( E(s+1, t, m - s_s)  if the tape of s and the working bytes of its run and its adjoint fit,
///                       min over j of  u_s + .. + u_(j-1) + E(j, t, m - x_j) + E(s, j-1, m) )
///
/// if there is a plan at all. Whatever is kept, the first pass runs each stage k of s..t-1 beside the right adjoint,
/// state k and state k+1. If these fit for all k, they fit for every j, so runs are checked once per interval and not
/// once per choice. A row holds only the slots that can occur and whose cost is neither infinite nor 0. Times are whole
/// quanta, each stage's rounded down, so costs never exceed the times of plans, whichever way sizes are rounded; the
/// time of the plan that is returned is exact. Cost: O(L^3 K) at worst, in blocks that stay in the cache; 4 bytes per
/// interval and slot that can occur. See `stage_classes.hpp` for chains that repeat.
class slot_table {
 public:
  /// \throws invalid_plan   if the table would exceed its limit; nothing is allocated then
  /// \throws too_much_work
  /// \pre budget >= 0; the model outlives the table
  [[gnu::cold]] slot_table(chain_model const& c, std::int64_t budget, slot_division division, rounding by,
                           slot_table_options options = {})
      : c_{c},
        count_{std::size_t(c.stages) + 1},
        rows_{c,
              {(std::min)(budget, c.store_all_peak()),
               unit_of(division, c, (std::min)(budget, c.store_all_peak()), by, who), by, who},
              options.most_bytes,
              options.meter,
              who},
        stores_all_{budget >= c.store_all_peak()} {
    if (!stores_all_) {
      std::int64_t unit = 0;
      for (auto const time : c.u) unit = std::gcd(unit, time);
      unit = std::max<std::int64_t>(unit, 1);
      auto const quantum = [unit](std::int64_t times, std::int64_t most) {
        return unit * (times / unit / most + (times / unit % most != 0));
      };
      make((std::max)(unit, quantum(c.sum_u.back(), most_quanta)), options);
      // Costs stop at `never`, which a plan with little memory may exceed. Then the table is made again with quanta so
      // long that no plan can: no stage runs more than L times.
      if (feasible() && cost() == never) {
        std::int64_t most = 0;
        for (std::size_t i = 0; i < count_; ++i) most += c.u[i] * (c.stages - std::int64_t(i));
        make(quantum(most, never - 1), options);
      }
    }
    if (by == rounding::down) extra_forward_ = feasible() ? cost() * quantum_ : endless;
    else find_plan();
  }

  /// Whether a plan exists in slots. If sizes are rounded up, one exists in bytes, too. If they are rounded down and
  /// this is false, no persistent plan exists in bytes.
  [[nodiscard]] bool feasible() const noexcept {
    return stores_all_ || rows_.row(0, count_ - 1).least <= scale().slots();
  }
  /// Time of stages run more than once; `endless` if there is no plan. Rounded up: the time of `actions`. Rounded down:
  /// no persistent plan takes less.
  [[nodiscard]] std::int64_t extra_forward() const noexcept { return extra_forward_; }
  /// The plan, if sizes were rounded up; its peak is at most the budget, in bytes. Empty if there is none.
  [[nodiscard]] std::vector<action> const& actions() const noexcept { return actions_; }
  /// A lower bound, if sizes were rounded down: no persistent plan of stages from..to runs stages again for less time
  /// with that many free bytes, which hold the adjoint at the right end but not the first state. `endless` if there is
  /// no plan, 0 if the table knows nothing. The bound is the same for all bytes above `scale().bytes(k - 1)` up to
  /// `scale().bytes(k)`.
  /// \pre 0 <= from <= to <= L
  [[nodiscard]] std::int64_t bound(std::int64_t from, std::int64_t to, std::int64_t bytes) const noexcept {
    if (stores_all_) return 0;
    slot_row const& of = rows_.row(std::size_t(from), std::size_t(to));
    std::int64_t const above = bytes - scale().residue();
    std::int64_t const slots = above <= 0 ? 0 : above / scale().unit() + (above % scale().unit() != 0);
    if (slots < of.least) return endless;
    std::int64_t const nearest = std::max<std::int64_t>(slots, of.first);
    return slots >= of.enough || nearest > of.last || costs().empty()
               ? 0
               : std::int64_t{costs()[std::size_t(of.at + nearest)]} * quantum_;
  }
  /// How the budget is divided.
  [[nodiscard]] slot_scale const& scale() const noexcept { return rows_.scale(); }
  /// The unit of time in costs; bounds lose less than this for each stage run.
  [[nodiscard]] std::int64_t quantum() const noexcept { return quantum_; }
  /// Bytes that the table holds.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return costs().size() * sizeof(std::int32_t) + rows() * sizeof(slot_row);
  }
  /// Number of rows: one per interval of stages, fewer if stages repeat.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.all().size(); }
  /// All costs, to compare tables.
  [[nodiscard]] value_list<std::int32_t> const& costs() const noexcept { return rows_.costs(); }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr std::int32_t never = slot_rows::never;
  static constexpr std::int64_t most_quanta = std::int64_t{1} << 26;

  [[nodiscard]] std::int64_t cost() const noexcept {
    return stores_all_ ? 0 : rows_.cost(0, count_ - 1, scale().slots());
  }
  [[gnu::cold]] void make(std::int64_t quantum, slot_table_options const& options) {
    quantum_ = quantum;
    rows_.measure(quantum, options.share_rows);
    if (!feasible()) return;
    rows_.lay_out();
    slot_filler{rows_, options.kernel ? *options.kernel : usual_kernel(), options.meter}.fill();
  }

  /// Follows the least costs down the table; keeps a tape if that is as good as any state.
  [[gnu::cold]] void find_plan() {
    extra_forward_ = endless;
    if (!feasible()) return;
    extra_forward_ = 0;
    auto const choose = [this](free_stretch<std::int32_t> const& of) {
      auto const j = std::int64_t(split_of(std::size_t(of.from), std::size_t(of.to), of.free));
      extra_forward_ += c_.run(of.from, j);
      return j;
    };
    write_persistent_plan(
        c_.stages, scale().slots(), choose, [this](std::int64_t j) { return rows_.state_size(std::size_t(j)); },
        [this](std::int64_t j) { return stores_all_ ? 0 : rows_.tape_size(std::size_t(j)); }, actions_);
  }
  /// The state that the best choice keeps; `from` if it keeps the tape of stage `from`.
  [[nodiscard]] std::size_t split_of(std::size_t from, std::size_t to, std::int32_t slots) const noexcept {
    if (stores_all_ || from == to || slots >= rows_.row(from, to).enough) return from;
    std::int32_t const wanted = rows_.cost(from, to, slots);
    if (std::int32_t const tape = rows_.tape_size(from);
        slots >= rows_.tape_need(from, to) && slots >= tape && rows_.cost(from + 1, to, slots - tape) == wanted)
      return from;
    for (std::size_t j = from + 1; j <= to; ++j) {
      std::int32_t const size = rows_.state_size(j);
      if (slots < size || slots < rows_.row(from, j - 1).least || slots - size < rows_.row(j, to).least) continue;
      if (rows_.run(from, j) + rows_.cost(from, j - 1, slots) + rows_.cost(j, to, slots - size) == wanted) return j;
    }
    assert(false);
    return from;
  }

  chain_model const& c_;
  std::size_t count_;  ///< number of stages, with the loss
  slot_rows rows_;
  bool stores_all_;  ///< the budget is that of keeping every tape, so no table is made
  std::int64_t quantum_ = 1, extra_forward_ = 0;
  std::vector<action> actions_;
};

}  // namespace cairn::detail
