// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_factories.hpp  Each planner as a function of its slots, for `most_slots_within`.
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/blocks.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Turns a plan over leaves into a plan over steps.
template <schedule Plan>
[[nodiscard]] any_schedule over_leaves(step_index steps, step_index leaf, Plan const& over) {
  if (leaf == 1) return over;
  return leaves{steps, leaf, over};
}

struct revolve_factory {
  step_index steps, leaf = 1;
  bool free_initial = true;
  [[nodiscard]] slot_index least() const { return free_initial ? 0 : 1; }
  [[nodiscard]] slot_index most() const { return useful_slots(leaves_in(steps, leaf)) - (free_initial ? 1 : 0); }
  [[nodiscard]] any_schedule operator()(slot_index slots) const {
    return over_leaves(steps, leaf, revolve{leaves_in(steps, leaf), slots, {.free_initial = free_initial}});
  }
};
struct uniform_factory {
  step_index steps, leaf = 1;
  [[nodiscard]] slot_index least() const { return least_block_peak(leaves_in(steps, leaf)); }
  [[nodiscard]] slot_index most() const { return useful_slots(leaves_in(steps, leaf)); }
  [[nodiscard]] any_schedule operator()(slot_index slots) const {
    return over_leaves(steps, leaf, uniform{leaves_in(steps, leaf), {.slots = slots}});
  }
};
struct store_all_factory {
  step_index steps, leaf = 1;
  [[nodiscard]] slot_index least() const { return useful_slots(leaves_in(steps, leaf)); }
  [[nodiscard]] slot_index most() const { return least(); }
  [[nodiscard]] any_schedule operator()(slot_index) const {
    return over_leaves(steps, leaf, store_all(leaves_in(steps, leaf)));
  }
};
struct two_level_factory {
  step_index steps, period;
  tier periods_on;
  [[nodiscard]] slot_index least() const { return 0; }
  [[nodiscard]] slot_index most() const { return useful_slots(period < steps ? period : steps); }
  [[nodiscard]] two_level as_is(slot_index slots) const { return {steps, period, slots, {.periods_on = periods_on}}; }
  [[nodiscard]] any_schedule operator()(slot_index slots) const { return as_is(slots); }
};
/// Slots in memory, and as many slots on the other tiers as fit there.
struct hrevolve_factory {
  workload const& work;
  step_index steps;
  slot_index most_slots, most_far;
  wide most_table_bytes;
  work_limit limit;
  [[nodiscard]] slot_index far_slots(tier where) const {
    return slot_index(states_on(work, where, wide(most_far)));
  }
  [[nodiscard]] slot_index least() const {
    for (tier const where : all_tiers)
      if (where != tier::memory && far_slots(where) > 0) return 0;
    return 1;
  }
  [[nodiscard]] slot_index most() const { return most_slots; }
  [[nodiscard]] any_schedule operator()(slot_index slots) const {
    storage_tier tiers[tier_count];
    std::size_t count = 0;
    for (tier const where : all_tiers) {
      slot_index const there = where == tier::memory ? slots : far_slots(where);
      if (there > 0) tiers[count++] = {there, work.tiers[where].write_seconds, work.tiers[where].read_seconds, where};
    }
    return hrevolve{
        steps, tiers, count, {.advance_cost = work.step_seconds, .most_table_bytes = most_table_bytes, .limit = limit}};
  }
};
struct multistage_factory {
  step_index steps;
  slot_index disk_slots, most_slots;
  wide most_table_bytes;
  work_limit limit;
  [[nodiscard]] slot_index least() const { return disk_slots > 0 ? 0 : 1; }
  [[nodiscard]] slot_index most() const { return most_slots; }
  [[nodiscard]] any_schedule operator()(slot_index slots) const {
    return multistage{steps, slots, disk_slots, {.most_table_bytes = most_table_bytes, .limit = limit}};
  }
};
struct disk_revolve_factory {
  workload const& work;
  step_index steps;
  wide most_table_bytes;
  work_limit limit;
  [[nodiscard]] slot_index least() const { return 0; }
  [[nodiscard]] slot_index most() const { return useful_slots(steps); }
  [[nodiscard]] any_schedule operator()(slot_index slots) const {
    tier_cost const& disk = work.tiers.disk;
    return disk_revolve{steps,
                        slots,
                        {.disk_write = disk.write_seconds,
                         .disk_read = disk.read_seconds,
                         .advance_cost = work.step_seconds,
                         .most_table_bytes = most_table_bytes,
                         .limit = limit}};
  }
};
struct mixed_factory {
  step_index steps;
  slot_index tape_units, most_units;
  bool tapes_restart;
  wide most_table_bytes;
  work_limit limit;
  [[nodiscard]] slot_index least() const { return 0; }
  [[nodiscard]] slot_index most() const { return most_units; }
  [[nodiscard]] any_schedule operator()(slot_index units) const {
    return mixed{steps,
                 units,
                 {.tape_units = tape_units,
                  .tapes_restart = tapes_restart,
                  .free_initial = true,
                  .most_table_bytes = most_table_bytes,
                  .limit = limit}};
  }
};

/// Refers to any of these factories, so that code that tries plans is compiled once and not once per factory.
class any_factory {
 public:
  /// \param make  must outlive this
  template <class Make>
  any_factory(Make const& make) : make_{&make}, functions_{&functions_of<Make>} {}
  [[nodiscard]] slot_index least() const { return functions_->least(make_); }
  [[nodiscard]] slot_index most() const { return functions_->most(make_); }
  [[nodiscard]] any_schedule operator()(slot_index slots) const { return functions_->made(make_, slots); }

 private:
  struct functions {
    slot_index (*least)(void const*);
    slot_index (*most)(void const*);
    any_schedule (*made)(void const*, slot_index);
  };
  template <class Make>
  static constexpr functions functions_of{
      [](void const* make) { return static_cast<Make const*>(make)->least(); },
      [](void const* make) { return static_cast<Make const*>(make)->most(); },
      [](void const* make, slot_index slots) { return (*static_cast<Make const*>(make))(slots); }};

  void const* make_;
  functions const* functions_;
};

}  // namespace cairn::detail
