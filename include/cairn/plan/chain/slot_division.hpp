#pragma once
/// \file slot_division.hpp  A budget of bytes divided into slots: how sizes and needs are rounded, and how large a slot
/// is best.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn {

/// How a budget is divided into slots. Where both are 0, a number of slots is chosen that fits the chain.
struct slot_division {
  std::int64_t unit = 0;   ///< bytes of a slot; 0 where `slots` says how many there are
  std::int64_t slots = 0;  ///< at most so many
};

namespace detail {

/// Up: sizes take at least what they are, and plans keep within the budget. Down: at most, and costs bound those of
/// every plan from below.
enum class rounding : std::uint8_t { up, down };

/// A budget of M bytes as K = floor(M / unit) slots and a residue. Sizes are rounded once, needs are compared with the
/// residue in hand: with k slots free, residue + k unit bytes are. So where the unit divides every size, all is exact
/// in bytes, whatever M and the needs are.
class slot_scale {
 public:
  static constexpr std::int64_t most_slots = std::int64_t{1} << 29;  ///< two of them and a size add up within 31 bits

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
  [[nodiscard]] std::int64_t residue() const noexcept { return residue_; } ///< bytes of the budget beside its slots
  [[nodiscard]] rounding direction() const noexcept { return by_; }        ///< of sizes
  /// Slots of what is kept: a state or a tape. K + 1 stands for all that fits in no budget.
  [[nodiscard]] std::int32_t size(std::int64_t bytes) const noexcept {
    return clamped(bytes / unit_ + (by_ == rounding::up && bytes % unit_ != 0));
  }
  /// The least number of free slots in which so many bytes fit; K + 1 where they fit in none.
  [[nodiscard]] std::int32_t need(std::int64_t bytes) const noexcept {
    std::int64_t const above = bytes - residue_;
    return above <= 0 ? 0 : clamped(above / unit_ + (above % unit_ != 0));
  }
  /// Bytes free where so many slots are.
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

/// Bytes that a table of a planner may take unless it is told otherwise.
inline constexpr std::int64_t usual_table_bytes = std::int64_t{1} << 31;
/// Before anything is allocated.   \throws invalid_plan   where the table takes more than it may
inline void check_chain_table(chain_model const& c, slot_scale const& scale, wide bytes, std::int64_t most,
                              char const* who) {
  if (bytes > wide(most))
    throw invalid_plan{
        who,
        "the table of this chain does not fit",
        {{"stages", c.stages}, {"slots", scale.slots()}, {"table bytes", bytes}, {"most table bytes", most}},
        "give fewer slots, or more bytes a slot"};
}

/// The largest unit for which slots are exact: it divides every size that is kept. 0 where all are 0.
[[nodiscard]] inline std::int64_t exact_unit(chain_model const& c) noexcept {
  std::int64_t unit = 0;
  for (std::int64_t i = 0; i < c.stages; ++i)
    unit = std::gcd(unit, std::gcd(c.x[std::size_t(i) + 1], c.s[std::size_t(i)]));
  return unit;
}

/// Among units of `least` .. `most` bytes that divide some size into whole slots, the one by which rounding changes all
/// sizes the least. Cost: up to 2^17 divisions; where there are more pairs of size and unit, only every n-th unit is
/// tried.
[[nodiscard]] inline std::int64_t tuned_unit(chain_model const& c, std::int64_t least, std::int64_t most, rounding by) {
  constexpr auto rising = [](std::int64_t one, std::int64_t other) { return one < other; };
  // Tapes count twice: more of them are held for long.
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

/// Bytes of a slot for a budget. Where a number of slots is given: the exact unit if it gives no more slots, else one
/// tuned to the sizes that gives 4/5 of them or more. Where nothing is given: so for 25 slots a stage in all bytes of a
/// sweep that stores everything, since a plan wastes up to a slot with each item it keeps; measured, plan and bound are
/// then within 1 %. At least 500, and fewer where a table of 2 GiB would not hold them.
/// \pre budget >= 0
/// \throws invalid_plan   for numbers below 0
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

}  // namespace detail
}  // namespace cairn
