// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_division.hpp  Divides a budget of bytes into slots: rounds sizes and needs, and chooses the size of a
/// slot.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// How a budget is divided into slots. If both are 0, a number of slots that fits the chain is chosen.
struct slot_division {
  std::int64_t unit = 0;   ///< bytes of a slot; 0 if `slots` gives the number of slots
  std::int64_t slots = 0;  ///< the most slots
};

/// `up`: sizes are rounded up, so plans keep within the budget. `down`: sizes are rounded down, so costs are lower
/// bounds for every plan.
enum class rounding : std::uint8_t { up, down };

/// A budget of M bytes as K = floor(M / unit) slots and a residue. Only sizes are rounded. Needs are compared with the
/// exact free bytes: k free slots are residue + k unit bytes. So if the unit divides every size, everything is exact in
/// bytes, whatever M and the needs are.
class slot_scale {
 public:
  static constexpr std::int64_t most_slots = std::int64_t{1} << 29;  ///< the sum of two such numbers and a size fits 31
                                                                     ///< bits

  /// \pre budget >= 0, unit >= 1
  /// \throws invalid_plan   for more slots than `most_slots`
  slot_scale(std::int64_t budget, std::int64_t unit, rounding by, char const* who)
      : unit_{unit}, slots_{0}, residue_{budget % unit}, by_{by} {
    if (budget / unit > most_slots)
      throw invalid_plan{who,
                         "the budget has too many slots",
                         {{"budget", budget}, {"bytes a slot", unit}, {"most slots", most_slots}},
                         "give more bytes a slot, or fewer slots"};
    slots_ = std::int32_t(budget / unit);
  }

  [[nodiscard]] std::int64_t unit() const noexcept { return unit_; }       ///< bytes of a slot
  [[nodiscard]] std::int32_t slots() const noexcept { return slots_; }     ///< K
  [[nodiscard]] std::int64_t residue() const noexcept { return residue_; } ///< bytes of the budget that fill no slot
  [[nodiscard]] rounding direction() const noexcept { return by_; }        ///< how sizes are rounded
  /// Slots of a state or a tape that is kept. K + 1 means that it fits no budget.
  [[nodiscard]] std::int32_t size(std::int64_t bytes) const noexcept {
    return clamped(bytes / unit_ + (by_ == rounding::up && bytes % unit_ != 0));
  }
  /// The least number of free slots that hold this many bytes; K + 1 if no number does.
  [[nodiscard]] std::int32_t need(std::int64_t bytes) const noexcept {
    std::int64_t const above = bytes - residue_;
    return above <= 0 ? 0 : clamped(above / unit_ + (above % unit_ != 0));
  }
  /// The free bytes with this many free slots.
  [[nodiscard]] std::int64_t bytes(std::int64_t slots) const noexcept { return residue_ + slots * unit_; }

 private:
  [[nodiscard]] std::int32_t clamped(std::int64_t count) const noexcept {
    return std::int32_t(std::min<std::int64_t>(count, std::int64_t{slots_} + 1));
  }

  std::int64_t unit_;
  std::int32_t slots_;
  std::int64_t residue_;
  rounding by_;
};

/// The default limit for the bytes of a planner's table.
inline constexpr std::int64_t usual_table_bytes = std::int64_t{1} << 31;
/// Checks the size of a table before it is allocated.   \throws invalid_plan   if the table is larger than its limit
inline void check_chain_table(chain_model const& c, slot_scale const& scale, wide bytes, std::int64_t most,
                              char const* who) {
  if (bytes > wide(most))
    throw invalid_plan{
        who,
        "the table of this chain does not fit",
        {{"stages", c.stages}, {"slots", scale.slots()}, {"table bytes", bytes}, {"most table bytes", most}},
        "give fewer slots, or more bytes a slot"};
}

/// The largest unit for which slots are exact: the greatest common divisor of all sizes that are kept. 0 if all are 0.
[[nodiscard]] inline std::int64_t exact_unit(chain_model const& c) noexcept {
  std::int64_t unit = 0;
  for (std::int64_t i = 0; i < c.stages; ++i)
    unit = std::gcd(unit, std::gcd(c.x[std::size_t(i) + 1], c.s[std::size_t(i)]));
  return unit;
}

/// The unit of `least` .. `most` bytes for which rounding changes the sizes least in total. Candidates divide some size
/// into whole slots. Cost: up to 2^17 divisions; if there are more pairs of size and unit, only every n-th unit is
/// tried.
[[nodiscard]] inline std::int64_t tuned_unit(chain_model const& c, std::int64_t least, std::int64_t most, rounding by) {
  constexpr auto rising = [](std::int64_t one, std::int64_t other) { return one < other; };
  // Tapes count twice, because more of them are held for a long time.
  struct size {
    std::int64_t bytes;
    double count;
  };
  value_list<size> sizes;
  {
    value_list<std::int64_t> all;
    for (std::size_t i = 0; i < std::size_t(c.stages); ++i)
      for (auto const bytes : {c.x[i + 1], c.s[i], c.s[i]}) all.push_back(bytes);
    sort_values(all, rising);
    for (auto const bytes : all)
      if (!sizes.empty() && sizes.back().bytes == bytes) ++sizes.back().count;
      else if (bytes > 0) sizes.push_back({bytes, 1});
  }
  constexpr std::size_t most_divisions = std::size_t{1} << 17;
  value_list<std::int64_t> units{least, most};
  std::size_t const stride = std::max<std::size_t>(1, sizes.size() / 64);
  for (std::size_t k = 0; k < sizes.size(); k += stride) {
    std::int64_t const bytes = sizes[k].bytes, first = std::max<std::int64_t>(1, bytes / most),
                       last = (std::min)(bytes / least + 1, first + 1024);
    for (std::int64_t parts = first; parts <= last; ++parts) {
      std::int64_t const unit = by == rounding::up ? bytes / parts + (bytes % parts != 0) : bytes / parts;
      if (unit >= least && unit <= most) units.push_back(unit);
    }
  }
  sort_values(units, rising);
  units.remove_repeated();
  std::size_t const skip = units.size() * sizes.size() / most_divisions + 1;
  std::int64_t best = least;
  double least_waste = -1;
  for (std::size_t k = 0; k < units.size(); k += skip) {
    double waste = 0;
    for (auto const& [bytes, count] : sizes) {
      std::int64_t const rest = bytes % units[k];
      waste += count * double(by == rounding::up && rest != 0 ? units[k] - rest : rest);
    }
    if (least_waste < 0 || waste <= least_waste) least_waste = waste, best = units[k];
  }
  return best;
}

/// Bytes of a slot for a budget. If a number of slots is given: the exact unit, if it gives no more slots than that;
/// else a unit tuned to the sizes that gives at least 4/5 of them. If nothing is given: the same for the number of
/// slots that puts 25 slots per stage into the bytes of a sweep that stores everything. A plan wastes up to a slot with
/// each item it keeps; measured, plan and bound are then within 1 %. At least 500 slots are taken, but fewer, down to
/// 64, if a table of 2 GiB would not hold them.
/// \pre budget >= 0
/// \throws invalid_plan   for negative numbers
[[nodiscard]] inline std::int64_t unit_of(slot_division division, chain_model const& c, std::int64_t budget,
                                          rounding by, char const* who) {
  if (division.unit < 0 || division.slots < 0)
    throw invalid_plan{who,
                       "a number of slots or bytes a slot is negative",
                       {{"bytes a slot", division.unit}, {"slots", division.slots}},
                       "give 1 or more, or 0 to leave the choice to the planner"};
  if (division.unit > 0) return division.unit;
  std::int64_t slots = division.slots;
  if (slots == 0) {
    double const wanted =
        25.0 * double(c.stages) * double(budget) / double(std::max<std::int64_t>(1, c.store_all_peak()));
    slots = std::clamp<std::int64_t>((std::int64_t{1} << 30) / ((c.stages + 1) * (c.stages + 1)), 64,
                                     std::max<std::int64_t>(500, std::int64_t((std::min)(wanted, 0x1p40))));
  }
  std::int64_t const exact = exact_unit(c), least = std::max<std::int64_t>(1, budget / slots + (budget % slots != 0));
  if (exact == 0) return std::max<std::int64_t>(1, budget);
  if (exact >= least) return exact;
  return tuned_unit(c, least, least + (std::min)(least / 4, (std::numeric_limits<std::int64_t>::max)() - least), by);
}

}  // namespace cairn::detail
