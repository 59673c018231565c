// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/multistage.hpp>

namespace cairn {

CAIRN_DECL detail::tier_table multistage::made(step_index steps, slot_index ram, slot_index disk,
                                               multistage_options const& options) {
  detail::check_steps(who, steps);
  if (ram < 0 || disk < 0)
    throw invalid_plan{
        who, "a tier cannot have a negative number of slots",
        {{"ram slots", ram}, {"disk slots", disk}}, "give 0 or more"};
  if (ram == 0 && disk == 0)
    throw invalid_plan{who, "too few slots", {{"steps", steps}, {"slots", 0}, {"least slots", 1}}, ""};
  slot_index const all = useful_slots(steps);
  ram = useful_slots(steps, ram);
  disk = detail::lesser(all - ram, disk);
  bool const chosen = disk > 0 && disk < all - ram;

  detail::tier_table table;
  table.steps = steps;
  table.most_states = ram + disk;
  detail::check_choices(who, steps, chosen ? wide(disk) : 0, chosen ? work : 0, options.most_table_bytes);
  std::size_t const lengths = std::size_t(steps) + 1;
  if (ram > 0) table.level[table.levels++] = {ram, 0, tier::memory, detail::level_kind::binomial, 0, 0};
  if (disk > 0)
    table.level[table.levels++] = {
        disk, ram, tier::disk, chosen ? detail::level_kind::chosen : detail::level_kind::chain, 0, lengths};
  if (chosen) fill(table, ram, disk, options.limit);
  return table;
}

CAIRN_DECL void multistage::fill(detail::tier_table& into, slot_index ram, slot_index disk, work_limit const& limit) {
  step_index const steps = into.steps;
  std::size_t const lengths = std::size_t(steps) + 1;
  detail::row_meter meter{who, steps, wide(disk), limit,
                          wide(disk) * wide(steps - 1 - ram)};  // one for each number in the tables
  into.choices.assign(lengths * std::size_t(disk), 0);
  detail::table<std::uint64_t> before(lengths);  // O(x, m - 1)
  detail::table<std::uint64_t> own(lengths);     // P(x, m)
  detail::table<std::uint64_t> now(lengths);     // O(x, m)
  for (slot_index m = 1; m <= disk; ++m) {
    detail::tier_choice* const choices = into.choices.begin() + std::size_t(m - 1) * lengths;
    optimal_splits interval{ram + m, steps};
    for (step_index x = 2; x <= steps; ++x) {
      auto const at = std::size_t(x);
      if (x - 1 <= ram) {
        own[at] = now[at] = 0;
        choices[at] = detail::left_below;
        continue;
      }
      interval.move_to(x);
      std::uint64_t least = ~std::uint64_t{0};
      for (step_index y = interval.first; y <= interval.last; ++y) {
        std::uint64_t const sum = before[std::size_t(x - y)] + own[std::size_t(y)];
        if (sum >= least) continue;
        least = sum;
        choices[at] = detail::tier_choice(y);
      }
      meter.add(interval.last - interval.first + 1, x);
      own[at] = least + one_load;
      now[at] = own[at] + one_save;
    }
    std::swap(before, now);
    meter.end_row();
  }
}

}  // namespace cairn
