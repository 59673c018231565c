// SPDX-License-Identifier: Apache-2.0
// A plan of every kind, with random settings.
#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include "support/plans.hpp"

namespace fuzz {

using namespace cairn;

/// Draws what a program is made of; the same numbers for the same seed everywhere, which the distributions of std do
/// not promise.
class source {
 public:
  explicit source(unsigned long seed) : random_{std::mt19937_64::result_type(seed)} {}
  /// One of low, low + 1, ... high.
  [[nodiscard]] step_index in(step_index low, step_index high) {
    return low + step_index(random_() % (std::uint64_t(high - low) + 1));
  }
  [[nodiscard]] bool one_of(step_index n) { return in(1, n) == 1; }
  /// 0 <= x < 1
  [[nodiscard]] double unit() { return double(random_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 random_;
};

struct named_plan {
  std::string name;
  any_schedule plan;
};

inline std::string told(std::string const& kind, std::initializer_list<step_index> numbers) {
  std::string text = kind + "{";
  for (step_index const k : numbers) text += (text.back() == '{' ? "" : ", ") + std::to_string(k);
  return text + "}";
}

/// Slots from one to more than there are steps, mostly few.
inline slot_index random_slots(source& from, step_index n) {
  return from.one_of(4) ? from.in(1, n + 3) : from.in(1, std::min<step_index>(n + 1, 9));
}

/// A plan without leaves over n steps. Tables grow with n^2, so that long loops get the kinds that have none.
inline named_plan random_flat_plan(source& from, step_index n) {
  slot_index const s = random_slots(from, n);
  switch (from.in(0, n <= 120 ? 19 : 7)) {
    case 0: return {told("store_all", {n}), store_all(n)};
    case 1: return {told("uniform", {n}), uniform{n}};
    case 2: {
      step_index const block = from.in(1, n + 5);
      return {told("uniform of blocks", {n, block}), uniform{n, {.block = block}}};
    }
    case 3: {
      step_index const k = from.in(0, n);
      return {told("uniform of checkpoints", {n, k}), uniform{n, {.checkpoints = k}}};
    }
    case 4: return {told("revolve", {n, s}), revolve{n, s}};
    case 5: return {told("revolve with a free initial state", {n, s - 1}), revolve{n, s - 1, {.free_initial = true}}};
    case 6: {
      bool const eager = from.one_of(2);
      return {told("online", {s, eager}) + told(".stopping_at", {n}), online{s, {.eager = eager}}.stopping_at(n)};
    }
    case 7: {
      step_index const period = from.in(1, n + 2);
      slot_index const extra = from.in(0, 4);
      bool const in_memory = from.one_of(2);
      return {told("two_level", {n, period, extra, in_memory}),
              two_level{n, period, extra, {.periods_on = in_memory ? tier::memory : tier::disk}}};
    }
    case 8: return {told("remaining", {n, s - 1}), remaining{{n, n, false, s - 1}, [](slot_index) { return -1; }}};
    case 9: return {told("action_list from revolve", {n, s}), action_list_from(revolve{n, s})};
    case 10: return {told("verified revolve", {n, s}), verified{revolve{n, s}}};
    case 11: return {told("all tapes", {n}), all_tapes(n)};
    case 12: return {told("every other tape", {n}), every_other_tape(n)};
    case 13: {
      storage_tier const tiers[] = {
          {from.in(1, 4), 0, 0, tier::memory},
          {from.in(0, 4), double(from.in(0, 8)) / 4, double(from.in(0, 8)) / 4, tier::host},
          {from.in(0, 4), double(from.in(0, 16)) / 4, double(from.in(0, 16)) / 4, tier::disk}};
      return {told("hrevolve", {n, tiers[0].slots, tiers[1].slots, tiers[2].slots}),
              hrevolve{n, tiers, 3, {.turn_cost = 1}}};
    }
    case 14: {
      slot_index const ram = from.in(0, 5), disk = from.in(ram == 0, 6);
      return {told("multistage", {n, ram, disk}), multistage{n, ram, disk}};
    }
    case 15: {
      step_index const write = from.in(0, 6), read = from.in(0, 6);
      slot_index const ram = from.in(1, 5);
      return {told("disk_revolve", {n, ram, write, read}),
              disk_revolve{n, ram, {.disk_write = double(write), .disk_read = double(read)}}};
    }
    case 16:
    case 17: {
      slot_index const units = from.in(1, n + 4), tape = from.in(1, 3);
      bool const restart = from.one_of(2), free = from.one_of(2);
      return {told("mixed", {n, units, tape, restart, free}),
              mixed{n, units, {.tape_units = tape, .tapes_restart = restart, .free_initial = free}}};
    }
    case 18: {
      slot_index const units = from.in(0, n + 4);
      auto const keep = bptt_keep(from.in(0, 2));
      return {told("bptt", {n, units, step_index(keep)}), bptt{n, units, {.tape_units = 2, .keep = keep}}};
    }
    default: {
      slot_index const units = from.in(1, n + 4);
      bool const accurate = from.one_of(2);
      return {told("runge_kutta", {n, units, accurate}),
              runge_kutta{n, units, {.stages = 2, .stiffly_accurate = accurate}}};
    }
  }
}

inline named_plan random_plan(source& from, step_index n) {
  if (!from.one_of(4)) return random_flat_plan(from, n);
  step_index const size = from.one_of(5) ? from.in(1, n + 4) : from.in(1, 7);
  auto const over = random_flat_plan(from, n / size + (n % size != 0 ? 1 : 0));
  return {"leaves of " + std::to_string(size) + " over " + over.name, leaves{n, size, over.plan}};
}

/// Makes a plan that cannot be. \throws what its constructor throws
inline std::string impossible_plan(source& from, step_index n, bool& refused) {
  slot_index const s = random_slots(from, n);
  auto const refuses = [&](auto make) {
    try {
      make();
      refused = false;
    } catch (invalid_plan const&) {
      refused = true;
    }
  };
  switch (from.in(0, 8)) {
    case 0: return refuses([&] { (void)revolve{-1 - n, s}; }), "revolve of negative length";
    case 1: return refuses([&] { (void)revolve{n + 1, 0}; }), "revolve without slots";
    case 2: return refuses([&] { (void)uniform{n, {.checkpoints = n + 1}}; }), "uniform of too many checkpoints";
    case 3: return refuses([&] { (void)uniform{n, {.block = 0}}; }), "uniform of empty blocks";
    case 4: return refuses([&] { (void)leaves{n, 0, uniform{n}}; }), "leaves of no steps";
    case 5: return refuses([&] { (void)leaves{n + 1, 2, uniform{n + 2}}; }), "leaves over a plan of another length";
    case 6: return refuses([&] { (void)online{0}; }), "online without slots";
    case 7: return refuses([&] { (void)two_level{n, 0, 1}; }), "two_level of empty periods";
    default: return refuses([&] { (void)multistage{n, 0, 0}; }), "multistage without slots";
  }
}

}  // namespace fuzz
