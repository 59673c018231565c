// SPDX-License-Identifier: Apache-2.0
// Every schedule over many random parameters: what an executor counts, what verify counts and what estimate predicts
// are the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <cairn/plan/loop/estimate.hpp>
#include "support/book_of.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"
#include "support/stub_executor.hpp"

using namespace cairn;

namespace {

class dice {
 public:
  explicit dice(unsigned seed) : random_{seed} {}
  /// From `least` to `most`, small numbers more often, and each number that is asked for noted in `said`.
  std::int64_t number(char const* name, std::int64_t least, std::int64_t most) {
    std::int64_t const range = most - least + 1;
    std::int64_t const widest = below(3) == 0 ? range : 1 + range / (1 + below(8));
    std::int64_t const value = least + below(std::min(widest, range));
    said += std::string{" "} + name + " " + std::to_string(value);
    return value;
  }
  bool claim(char const* name) { return number(name, 0, 1) == 1; }
  double cost(char const* name) { return double(number(name, 0, 12)) / 4; }
  std::string said;

 private:
  std::int64_t below(std::int64_t count) { return std::int64_t(random_() % std::uint64_t(count)); }
  std::mt19937_64 random_;
};

step_index leaves_of(step_index n, step_index k) { return n / k + (n % k != 0 ? 1 : 0); }

struct kind {
  char const* name;
  any_schedule (*make)(dice&);
};
kind const kinds[] = {
    {"store_all", [](dice& d) -> any_schedule { return store_all(d.number("steps", 0, 200)); }},
    {"uniform", [](dice& d) -> any_schedule { return uniform{d.number("steps", 0, 200)}; }},
    {"uniform by checkpoints", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200);
       return uniform{n, {.checkpoints = d.number("checkpoints", 0, n)}};
     }},
    {"uniform by blocks", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200);
       return uniform{n, {.block = d.number("block", 1, n + 3)}};
     }},
    {"uniform by slots", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200);
       return uniform{n, {.slots = detail::least_block_peak(n) + d.number("more slots", 0, n)}};
     }},
    {"revolve", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200);
       bool const free = d.claim("free");
       return revolve{n, d.number("slots", free ? 0 : 1, n + 3), {.free_initial = free}};
     }},
    {"leaves", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200), k = d.number("leaf", 1, n + 3);
       return leaves{n, k, revolve{leaves_of(n, k), d.number("slots", 1, 12)}};
     }},
    {"leaves over two_level", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200), k = d.number("leaf", 1, n + 3);
       return leaves{n, k, two_level{leaves_of(n, k), d.number("period", 1, 20), d.number("extra", 0, 5)}};
     }},
    {"remaining", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 150), k = d.number("leaf", 1, 5);
       return remaining{{n, n, false, d.number("slots", 0, 12), k}, [](slot_index) { return -1; }};
     }},
    {"two_level", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 200), p = d.number("period", 1, n + 3), x = d.number("extra", 0, n + 3);
       return two_level{
           n, p, x, {.periods_on = tier(d.number("periods on", 0, 3)), .extra_on = tier(d.number("extra on", 0, 3))}};
     }},
    {"verified", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60);
       return verified{action_list_from(two_level{n, d.number("period", 1, n + 3), d.number("extra", 0, 9)})};
     }},
    {"online", [](dice& d) -> any_schedule {
       auto const s = d.number("slots", 1, 20);
       return online{s, {.eager = d.claim("eager")}}.stopping_at(d.number("steps", 0, 150));
     }},
    {"multistage", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60), ram = d.number("ram", 0, n + 3);
       return multistage{n, ram, d.claim("unlimited") ? unlimited_slots : d.number("disk", ram == 0 ? 1 : 0, n + 3)};
     }},
    {"hrevolve", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60);
       storage_tier tiers[4];
       auto const count = std::size_t(d.number("tiers", 1, 4));
       for (std::size_t k = 0; k < count; ++k)
         tiers[k] = {d.number("slots", k == 0 ? 1 : 0, 8), d.cost("write"), d.cost("read")};
       return hrevolve{n, tiers, count, {.advance_cost = d.cost("advance"), .turn_cost = d.cost("turn")}};
     }},
    {"disk_revolve", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60), c = d.number("ram", 1, n + 3);
       return disk_revolve{
           n, c, {.disk_write = d.cost("write"), .disk_read = d.cost("read"), .advance_cost = d.cost("advance")}};
     }},
    {"mixed", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60);
       bool const free = d.claim("free");
       return mixed{
           n,
           d.number("units", free ? 0 : 1, n + 5),
           {.tape_units = d.number("tape units", 1, 5), .tapes_restart = d.claim("restart"), .free_initial = free}};
     }},
    {"bptt", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60);
       return bptt{n,
                   d.number("units", 0, n + 5),
                   {.tape_units = d.number("tape units", 1, 5), .keep = bptt_keep(d.number("keep", 0, 2))}};
     }},
    {"runge_kutta", [](dice& d) -> any_schedule {
       auto const n = d.number("steps", 0, 60);
       return runge_kutta{n,
                          d.number("units", 1, n + 5),
                          {.stages = d.number("stages", 1, 5), .stiffly_accurate = d.claim("accurate")}};
     }},
};

void agrees(any_schedule const& plan) {
  auto const walked = check(plan);
  if (!walked)
    FAIL(describe(walked.reason) << " at action " << text_of(walked.number) << ": " << text_of(walked.culprit));
  stub::executor run{12345, plan.steps()};
  cursor_of<any_schedule> cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) run.obey(entry_of(a));
  auto const executed = counts_of(run.sum);
  auto const told = estimate(plan);
  // An adjoint that records runs each step once for that, also where the plan keeps no tape.
  wide const calls = tapes_of(plan) > 0 ? executed.advances + executed.reversals : run.ran;
  bool const same = executed == walked.counts && told.counts == executed && told.advances == executed.advances &&
                    told.saves == executed.saves && told.loads == executed.loads &&
                    told.peak_slots == executed.peak_slots && told.reversals == executed.reversals &&
                    told.step_calls == calls && run.ran == executed.advances + executed.turned + executed.recorded &&
                    told.forward_steps == executed.advances + executed.recorded + wide(plan.steps()) - executed.taped;
  if (!same)
    FAIL("executed " << text_of(executed) << "\nverified " << text_of(walked.counts) << "\nestimated "
                     << text_of(told.counts) << ", " << text_of(told.step_calls) << " calls of " << text_of(calls));
  if (run.bar != stub::kept_all(12345, plan.steps())) FAIL("another adjoint than that of store-all");
  if (wide(executed.peak_slots) > units_of(plan).units || executed.peak_slots > plan.slots() ||
      executed.peak_tapes > tapes_of(plan))
    FAIL("more than was promised");
}

void campaign(unsigned seed, int each) {
  for (auto const& one : kinds) {
    dice d{seed++};
    for (int k = 0; k < each; ++k) {
      d.said.clear();
      try {
        any_schedule const plan = one.make(d);
        INFO(one.name << d.said);
        agrees(plan);
      } catch (error const& refused) {
        FAIL(one.name << d.said << " threw " << refused.what());
      }
    }
    SUCCEED(one.name);
  }
}

}  // namespace

TEST_CASE("executed, verified and estimated counts are the same for random plans of every kind", "[plan][campaign]") {
  campaign(1, 100);
}
TEST_CASE("executed, verified and estimated counts are the same for 2,000 random plans of every kind",
          "[plan][campaign][long]") {
  campaign(1, 2'000);
}

TEST_CASE("executed, verified and estimated counts are the same for many random plans of every kind",
          "[plan][campaign][.soak]") {
  campaign(100, 100'000);
}
