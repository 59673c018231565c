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
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_launcher.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/laid_out.hpp>
#include <cairn/plan/chain/detail/segments.hpp>
#include <cairn/plan/chain/detail/slot_kernel.hpp>
#include <cairn/plan/chain/detail/stage_classes.hpp>
#include <cairn/plan/chain/slot_division.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// How a slot_table is computed; its results do not depend on these options.
struct slot_table_options {
  std::int64_t most_bytes = usual_table_bytes;  ///< most bytes of the table
  bool share_rows = true;                           ///< one row for all equal intervals of stages
  slot_kernel const* kernel = nullptr;              ///< null for the kernel of this processor
  work_meter* meter = nullptr;  ///< counts the work as if no choice could be skipped; null for no limit
};

/// What is known about stages from..to with m free slots, which also hold the adjoint at the right end; the caller
/// keeps the first state.
struct slot_row {
  std::int32_t least = 0;   ///< below so many slots there is no plan
  std::int32_t enough = 0;  ///< from so many slots on every tape is kept, and nothing runs twice
  std::int32_t first = 0, last = -1;  ///< the slots m between these that can occur and are in the table
  std::ptrdiff_t at = 0;    ///< the place in the table that m = 0 would have
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
  /// \param launch  runs parts of the table in parallel; if empty, one after the other
  /// \throws invalid_plan   if the table would exceed its limit; nothing is allocated then
  /// \throws too_much_work
  /// \pre budget >= 0; the model outlives the table
  slot_table(chain_model const& c, std::int64_t budget, slot_division division, rounding by,
             chain_launcher const& launch = {}, slot_table_options options = {})
      : c_{c},
        count_{std::size_t(c.stages) + 1},
        scale_{(std::min)(budget, c.store_all_peak()),
               unit_of(division, c, (std::min)(budget, c.store_all_peak()), by, who), by, who},
        kernel_{options.kernel ? *options.kernel : usual_kernel()},
        meter_{options.meter},
        classes_{std::size_t{0}},
        stores_all_{budget >= c.store_all_peak()} {
    if (!stores_all_) {
      check_bytes(wide(count_) * wide(count_) * 8, options);
      std::int64_t unit = 0;
      for (auto const time : c.u) unit = std::gcd(unit, time);
      unit = std::max<std::int64_t>(unit, 1);
      auto const quantum = [unit](std::int64_t times, std::int64_t most) {
        return unit * (times / unit / most + (times / unit % most != 0));
      };
      make((std::max)(unit, quantum(c.sum_u.back(), most_quanta)), launch, options);
      // Costs stop at `never`, which a plan with little memory may exceed. Then the table is made again with quanta so
      // long that no plan can: no stage runs more than L times.
      if (feasible() && cost() == never) {
        std::int64_t most = 0;
        for (std::size_t i = 0; i < count_; ++i) most += c.u[i] * (c.stages - std::int64_t(i));
        make(quantum(most, never - 1), launch, options);
      }
    }
    if (by == rounding::down) extra_forward_ = feasible() ? cost() * quantum_ : endless;
    else find_plan();
  }

  /// Whether a plan exists in slots. If sizes are rounded up, one exists in bytes, too. If they are rounded down and
  /// this is false, no persistent plan exists in bytes.
  [[nodiscard]] bool feasible() const noexcept { return stores_all_ || row(0, count_ - 1).least <= scale_.slots(); }
  /// Time of stages run more than once; `endless` if there is no plan. Rounded up: the time of `actions`. Rounded down:
  /// no persistent plan takes less.
  [[nodiscard]] std::int64_t extra_forward() const noexcept { return extra_forward_; }
  /// The plan, if sizes were rounded up; its peak is at most the budget, in bytes. Empty if there is none.
  [[nodiscard]] std::vector<action> const& actions() const noexcept { return actions_; }
  /// A lower bound, if sizes were rounded down: no persistent plan of stages from..to runs stages again for less time
  /// with so many free bytes, which hold the adjoint at the right end but not the first state. `endless` if there is no
  /// plan, 0 if the table knows nothing. The bound is the same for all bytes above `scale().bytes(k - 1)` up to
  /// `scale().bytes(k)`.
  /// \pre 0 <= from <= to <= L
  [[nodiscard]] std::int64_t bound(std::int64_t from, std::int64_t to, std::int64_t bytes) const noexcept {
    if (stores_all_) return 0;
    slot_row const& of = row(std::size_t(from), std::size_t(to));
    std::int64_t const above = bytes - scale_.residue();
    std::int64_t const slots = above <= 0 ? 0 : above / scale_.unit() + (above % scale_.unit() != 0);
    if (slots < of.least) return endless;
    std::int64_t const nearest = std::max<std::int64_t>(slots, of.first);
    return slots >= of.enough || nearest > of.last || costs_.empty()
               ? 0
               : std::int64_t{costs_[std::size_t(of.at + nearest)]} * quantum_;
  }
  /// How the budget is divided.
  [[nodiscard]] slot_scale const& scale() const noexcept { return scale_; }
  /// The unit of time in costs; bounds lose less than this for each stage run.
  [[nodiscard]] std::int64_t quantum() const noexcept { return quantum_; }
  /// Bytes that the table holds.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return costs_.size() * sizeof(std::int32_t) + rows_.size() * sizeof(slot_row);
  }
  /// Number of rows: one per interval of stages, fewer if stages repeat.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
  /// All costs, to compare tables.
  [[nodiscard]] value_list<std::int32_t> const& costs() const noexcept { return costs_; }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr std::int32_t never = std::int32_t{1} << 29;  ///< the sum of two of these and of all stages once is
                                                                ///< below 2^31
  static constexpr std::int64_t most_quanta = std::int64_t{1} << 26;
  static constexpr std::size_t tile = 8;           ///< starts and ends of intervals that are computed together
  static constexpr std::int32_t slots_at_once = 512;

  void check_bytes(wide bytes, slot_table_options const& options) const {
    check_chain_table(c_, scale_, bytes, options.most_bytes, who);
  }

  [[nodiscard]] slot_row const& row(std::size_t from, std::size_t to) const noexcept {
    return rows_[classes_.of(from, to)];
  }
  [[nodiscard]] std::int32_t value(std::size_t from, std::size_t to, std::int32_t slots) const noexcept {
    slot_row const& of = row(from, to);
    return slots < of.least ? never : slots >= of.enough ? 0 : costs_[std::size_t(of.at + slots)];
  }
  [[nodiscard]] std::int64_t cost() const noexcept { return stores_all_ ? 0 : value(0, count_ - 1, scale_.slots()); }
  [[nodiscard]] std::int32_t run(std::size_t from, std::size_t to) const noexcept { return sum_u_[to] - sum_u_[from]; }
  /// Slots needed to keep the tape of `from` while the adjoint of stage `to` + 1 lives.
  [[nodiscard]] std::int32_t tape_need(std::size_t from, std::size_t to) const noexcept {
    if (from + 1 == count_) return scale_.need(c_.b[from]);
    return scale_.need(c_.s[from] + (std::max)(c_.g[to + 1] + c_.f[from], c_.g[from + 1] + c_.b[from]));
  }

  void make(std::int64_t quantum, chain_launcher const& launch, slot_table_options const& options) {
    quantum_ = quantum;
    x_.resize(count_ + 1), s_.resize(count_), sum_u_.assign(count_ + 1, 0);
    value_list<std::int32_t> times(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      x_[i + 1] = scale_.size(c_.x[i + 1]), s_[i] = scale_.size(c_.s[i]);
      times[i] = std::int32_t(c_.u[i] / quantum_);
      sum_u_[i + 1] = sum_u_[i] + times[i];
    }
    classes_ = options.share_rows ? interval_classes{stage_types(c_, times, false), meter_} : interval_classes{count_};
    // Tiles need neighbours, so sharing rows must save more work than tiles do.
    if (classes_.count() > count_ * (count_ + 1) / 4) classes_ = interval_classes{count_};
    measure();
    if (!feasible()) return;
    lay_out(options);
    if (classes_.shared()) fill_by_length(launch);
    else fill_by_tiles(launch);
  }

  /// Finds out which slots each row has.
  void measure() {
    detail::lay_out(rows_, classes_.count(), meter_);
    std::int32_t const beyond = scale_.slots() + 1;
    // The least slots, by starts and by ends, so that both are read in order.
    value_list<std::int32_t> by_start, by_end;
    detail::lay_out(by_start, count_ * count_, meter_);
    detail::lay_out(by_end, count_ * count_, meter_);
    value_list<std::int64_t> widest(count_,
                                     0);  // for each start the bytes of the largest run so far
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
        slot_row& of = rows_[number];
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
        slot_row& of = rows_[number];
        of.first = (std::max)(of.first, of.least), of.last = (std::min)(of.last, of.enough - 1);
      }
      count_work(meter_, choices + 64 * wide(count_ - length), [] { return 0.0; });
    }
  }
  /// Finds a place for each row.
  void lay_out(slot_table_options const& options) {
    wide entries = 0;
    for (slot_row const& of : rows_)
      if (of.first <= of.last) entries += wide(of.last - of.first + 1);
    check_bytes(
        entries * sizeof(std::int32_t) + wide(rows_.size()) * sizeof(slot_row) + wide(count_) * wide(count_) * 8,
        options);
    std::ptrdiff_t next = 0;
    auto const place = [&](slot_row& of) {
      if (of.first > of.last) return;
      of.at = next - of.first;
      next += of.last - of.first + 1;
    };
    if (classes_.shared()) {
      for (auto& of : rows_) place(of);
    } else {
      for (std::size_t s = 0; s < count_; s += tile)
        for (std::size_t t = s; t < count_; ++t)
          for (std::size_t a = s; a < (std::min)(s + tile, t + 1); ++a) place(rows_[classes_.of(a, t)]);
    }
    detail::lay_out(costs_, std::size_t(next), meter_, never);
  }
  /// Lowers the costs of `out` from slot `from` to `to` to those of keeping state j: `left` plus `right` with `size`
  /// fewer slots.
  void lower(slot_row const& out, std::int32_t time, slot_row const& left, slot_row const& right, std::int32_t size,
             std::int32_t from, std::int32_t to) noexcept {
    from = (std::max)({from, left.least, right.least + size});
    if (from > to) return;
    std::int32_t* const costs = costs_.data();
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
    slot_row const& out = row(s, t);
    if (out.first > out.last) return;
    slot_row const& rest = row(s + 1, t);
    std::int32_t const from = (std::max)({out.first, tape_need(s, t), rest.least + s_[s]}),
                       end = (std::min)(out.last + 1, rest.enough + s_[s]);
    if (from < end)
      kernel_.one(costs_.data() + (out.at + from), costs_.data() + (rest.at + from - s_[s]), 0,
                  std::size_t(end - from));
  }
  /// Lowers the costs of stages s..t to those of keeping state j, j0 <= j < j1, for slots from..to.
  void keep_state(std::size_t s, std::size_t t, std::size_t j0, std::size_t j1, std::int32_t from,
                  std::int32_t to) noexcept {
    slot_row const& out = row(s, t);
    from = (std::max)(from, out.first), to = (std::min)(to, out.last);
    for (std::size_t j = j0; j < j1 && from <= to; ++j)
      lower(out, run(s, j), row(s, j - 1), row(j, t), x_[j], from, to);
  }

  /// Fills all tiles of a diagonal in parallel: they read only tiles nearer to the main diagonal.
  void fill_by_tiles(chain_launcher const& launch) {
    std::size_t const tiles = (count_ + tile - 1) / tile;
    for (std::size_t d = 0; d < tiles; ++d) {
      auto const one = [&](std::size_t k) { d == 0 ? fill_corner(k * tile) : fill_tile(k * tile, (k + d) * tile); };
      each(
          tiles - d, one, launch, [&](std::size_t k) { return sums_of_tile(k * tile, (k + d) * tile); },
          (double(d) + 1) / double(tiles));
    }
  }
  /// Fills intervals that start and end in one tile.
  void fill_corner(std::size_t s0) noexcept {
    std::size_t const end = (std::min)(s0 + tile, count_);
    for (std::size_t t = s0; t < end; ++t)
      for (std::size_t s = t; s-- > s0;) {
        keep_tape(s, t);
        keep_state(s, t, s + 1, t + 1, 0, scale_.slots());
      }
  }
  /// Fills intervals that start in s0.. and end in t0..: first with all states between the two tiles, whose parts are
  /// finished, so many slots at a time that the rows stay in the cache; then with the states inside the tiles, interval
  /// by interval.
  void fill_tile(std::size_t s0, std::size_t t0) noexcept {
    std::size_t const s1 = s0 + tile, t1 = (std::min)(t0 + tile, count_);
    std::int32_t low = scale_.slots() + 1, high = -1;
    for (std::size_t s = s0; s < s1; ++s)
      for (std::size_t t = t0; t < t1; ++t)
        if (slot_row const& of = row(s, t); of.first <= of.last)
          low = (std::min)(low, of.first), high = (std::max)(high, of.last);
    for (std::int32_t from = low; from <= high; from += slots_at_once)
      between(s0, t0, from, (std::min)(high, from + slots_at_once - 1));
    for (std::size_t t = t0; t < t1; ++t)
      for (std::size_t s = s1; s-- > s0;) {
        keep_tape(s, t);
        keep_state(s, t, s + 1, s1, 0, scale_.slots());
        keep_state(s, t, t0 + 1, t + 1, 0, scale_.slots());
      }
  }
  void between(std::size_t s0, std::size_t t0, std::int32_t from, std::int32_t to) noexcept {
    std::size_t const s1 = s0 + tile, t1 = (std::min)(t0 + tile, count_);
    for (std::size_t j = s1; j <= t0; ++j) {
      std::array<slot_row, tile> rights;
      for (std::size_t t = t0; t < t1; ++t) rights[t - t0] = row(j, t);
      for (std::size_t s = s0; s < s1; ++s) {
        slot_row const& left = row(s, j - 1);
        if (left.least > to) continue;
        std::int32_t const time = run(s, j);
        for (std::size_t t = t0; t < t1; ++t) {
          slot_row const& out = row(s, t);
          lower(out, time, left, rights[t - t0], x_[j], (std::max)(from, out.first), (std::min)(to, out.last));
        }
      }
    }
  }
  /// Fills all rows of a length in parallel: they read only shorter ones.
  void fill_by_length(chain_launcher const& launch) {
    for (std::size_t length = 1; length < count_; ++length) {
      std::size_t const first = classes_.first(length);
      auto const one = [&](std::size_t k) {
        std::size_t const s = classes_.from(first + k, length), t = s + length;
        slot_row const& out = rows_[first + k];
        keep_tape(s, t);
        for (std::int32_t from = out.first; from <= out.last; from += slots_at_once)
          keep_state(s, t, s + 1, t + 1, from, (std::min)(out.last, from + slots_at_once - 1));
      };
      each(
          classes_.first(length + 1) - first, one, launch,
          [&](std::size_t k) { return sums_of_row(rows_[first + k], length); }, double(length + 1) / double(count_));
    }
  }
  [[nodiscard]] static wide sums_of_row(slot_row const& of, std::size_t length) noexcept {
    return of.first > of.last ? 1 : wide(of.last - of.first + 1) * length + 1;
  }
  [[nodiscard]] wide sums_of_tile(std::size_t s0, std::size_t t0) const noexcept {
    wide sums = 0;
    for (std::size_t s = s0; s < (std::min)(s0 + tile, count_); ++s)
      for (std::size_t t = (std::max)(s, t0); t < (std::min)(t0 + tile, count_); ++t)
        sums += sums_of_row(row(s, t), t - s);
    return sums;
  }
  /// \param sums  the sums that f(k) takes   \param length  of the longest of the rows, as a fraction of all stages
  template <class F, class Sums>
  void each(std::size_t count, F const& f, chain_launcher const& launch, Sums const& sums, double length) const {
    auto const share = [length] { return length * length * (3 - 2 * length); };
    bool const at_once = launch && count > 1;
    if (at_once) launch(count, f);
    for (std::size_t k = 0; k < count; ++k) {
      if (!at_once) f(k);
      if (meter_) meter_->add(sums(k), share);
    }
  }

  /// Follows the least costs down the table; keeps a tape if that is as good as any state.
  [[gnu::cold]] void find_plan() {
    extra_forward_ = endless;
    if (!feasible()) return;
    extra_forward_ = 0;
    struct part {
      std::size_t from, to;
      std::int32_t slots;
      bool is_action;
      action then;
    };
    value_list<part> open{{0, count_ - 1, scale_.slots(), false, {}}};
    auto const later = [&](action const& then) { open.push_back({0, 0, 0, true, then}); };
    while (!open.empty()) {
      part const now = open.back();
      open.pop_back();
      if (now.is_action) {
        actions_.push_back(now.then);
        continue;
      }
      std::size_t const s = now.from;
      if (s + 1 == count_) {
        actions_.push_back(chain_actions::turn(step_index(s)));
        continue;
      }
      std::size_t const j = split_of(s, now.to, now.slots);
      if (j == s) {
        actions_.push_back(chain_actions::record(step_index(s)));
        later(chain_actions::reverse(step_index(s)));
        if (s < now.to) open.push_back({s + 1, now.to, stores_all_ ? 0 : now.slots - s_[s], false, {}});
        continue;
      }
      append_run(actions_, std::int64_t(s), std::int64_t(j));
      extra_forward_ += c_.run(std::int64_t(s), std::int64_t(j));
      open.push_back({s, j - 1, now.slots, false, {}});
      if (j + 1 < count_) later(chain_actions::drop(step_index(j)));
      open.push_back({j, now.to, now.slots - x_[j], false, {}});
    }
  }
  /// The state that is kept; `from` if the tape is.
  [[nodiscard]] std::size_t split_of(std::size_t from, std::size_t to, std::int32_t slots) const noexcept {
    if (stores_all_ || from == to || slots >= row(from, to).enough) return from;
    std::int32_t const wanted = value(from, to, slots);
    if (slots >= tape_need(from, to) && slots >= s_[from] && value(from + 1, to, slots - s_[from]) == wanted)
      return from;
    for (std::size_t j = from + 1; j <= to; ++j) {
      if (slots < x_[j] || slots < row(from, j - 1).least || slots - x_[j] < row(j, to).least) continue;
      if (run(from, j) + value(from, j - 1, slots) + value(j, to, slots - x_[j]) == wanted) return j;
    }
    assert(false);
    return from;
  }

  chain_model const& c_;
  std::size_t count_;  ///< number of stages, with the loss
  slot_scale scale_;
  slot_kernel const& kernel_;
  work_meter* meter_;
  interval_classes classes_;
  bool stores_all_;  ///< the budget is that of keeping every tape, so no table is made
  std::int64_t quantum_ = 1, extra_forward_ = 0;
  value_list<std::int32_t> x_, s_;  ///< in slots
  value_list<std::int32_t> sum_u_;  ///< in quanta
  value_list<slot_row> rows_;
  value_list<std::int32_t> costs_;
  std::vector<action> actions_;
};

}  // namespace cairn::detail
