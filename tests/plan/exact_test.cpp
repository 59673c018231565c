// SPDX-License-Identifier: Apache-2.0
// Closed forms at the edges of 31, 32, 53 and 63 bits, against whole numbers of any size. Where there is no closed
// form, a typed error.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <cairn/plan/loop/estimate.hpp>
#include "support/big.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using big::natural;

namespace Catch {
template <> struct StringMaker<natural> { static std::string convert(natural const& number) { return number.text(); } };
}  // namespace Catch

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

std::vector<step_index> const edges = [] {
  std::vector<step_index> all{0, 1, 2, 3};
  for (int const bits : {31, 32, 53}) for (step_index const d : {-1, 0, 1}) all.push_back((step_index{1} << bits) + d);
  all.push_back(longest - 1);
  all.push_back(longest);
  return all;
}();
std::vector<step_index> const sizes = [] {  // of slots, blocks, periods
  auto all = edges;
  for (step_index const k : {4, 7, 10, 63, 1000, 1'000'000}) all.push_back(k);
  return all;
}();

natural of(step_index number) { return big::u128(number); }
natural of(wide number) { return number; }

/// What estimate makes of the totals that a plan reports: sums of them, in any size.
template <class Plan>
void estimated(Plan const& plan, natural const& advances, natural const& turned) {
  if (plan.slots() > longest - 16) {
    CHECK_THROWS_AS(estimate(plan), overflow_error);
    return;
  }
  workload const work{.state_bytes = (wide{1} << 62) - 1};
  auto const told = estimate(plan, work);
  natural const n = of(plan.steps());
  CHECK(of(told.step_calls) == advances + turned);
  CHECK(of(told.forward_steps) == advances + n);
  if (n <= advances + turned) CHECK(of(told.extra_steps) + n == advances + turned);
  CHECK(of(told.stored_bytes) == of(told.peak_slots) * natural{work.state_bytes});
  CHECK(of(told.stored_bytes) <= of(told.peak_bytes));
}

}  // namespace

TEST_CASE("whole numbers of any size add, multiply and divide", "[exact]") {
  natural const a{~big::u128{0}};
  CHECK((a * a).text() == "115792089237316195423570985008687907852589419931798687112530834793049593217025");
  CHECK((a * a - a * natural{7} + a).text() ==
        "115792089237316195423570985008687907850547725730273056331750587148458983948295");
  CHECK((a * a / 4'294'967'291u).text() == "26959946698536148508137959882006446659244050557729541301070372876339");
  CHECK(a + natural{1} == natural{big::u128{1} << 127} * natural{2});
  CHECK(natural{0}.text() == "0");
  CHECK(big::beta(30, 34).text() == "1620288010530347424");
  CHECK(big::beta(3, 7) == natural{120});
  CHECK(big::beta(-1, 7) == natural{0});
  CHECK(big::repetitions(1000, 10) == 4);
  CHECK(big::binomial_sweep(1000, 10).advances == natural{3636});
}

TEST_CASE("totals of revolve are exact at the edges", "[exact][revolve]") {
  for (auto const n : edges)
    for (auto const s : sizes)
      for (bool const free : {false, true}) {
        if (s == 0 && !free) continue;
        INFO(n << " steps, " << s << " slots" << (free ? ", the initial state free" : ""));
        revolve const plan{n, s, {.free_initial = free}};
        auto const expected = big::binomial_sweep(n, free && s < longest ? s + 1 : s);
        auto const sum = plan.counts();
        CHECK(of(sum.advances) == expected.advances);
        CHECK(of(sum.saves) + natural{free && n > 1 ? 1u : 0u} == expected.saves);
        CHECK(of(sum.loads) == (n > 1 ? of(n - 1) : natural{}));
        CHECK(of(sum.reversals) == of(n));
        CHECK(sum.on(tier::memory) == tier_counts{sum.saves, sum.loads, sum.peak_slots});
        estimated(plan, expected.advances, n > 0 ? 1 : 0);
      }
}

TEST_CASE("totals of uniform are exact at the edges", "[exact][uniform]") {
  auto const agrees = [](uniform const& plan, natural const& blocks, natural const& last) {
    natural const n = of(plan.steps());
    auto const sum = plan.counts();
    natural const advances = plan.steps() == 0 ? natural{} : n - natural{1} + (n - last - (blocks - natural{1}));
    CHECK(of(plan.blocks()) == blocks);
    CHECK(of(sum.advances) == advances);
    CHECK(of(sum.loads) == (plan.steps() == 0 ? natural{} : n - natural{1}));
    CHECK(of(sum.saves) <= n);
    CHECK(plan.slots() >= 0);
    estimated(plan, advances, plan.steps() > 0 ? 1 : 0);
  };
  for (auto const n : edges) {
    INFO(n << " steps");
    uniform const usual{n};
    natural const root = of(usual.checkpoints());
    if (n > 3) {
      CHECK(root * root <= of(n));
      CHECK(of(n) < (root + natural{1}) * (root + natural{1}));
    }
    for (auto const b : sizes) {
      if (b < 1) continue;
      INFO("blocks of " << b);
      step_index const blocks = n <= b ? 1 : n / b + (n % b != 0 ? 1 : 0);
      agrees(uniform{n, {.block = b}}, of(blocks), of(n) - of(blocks - 1) * of(n <= b ? n : b));
    }
    for (auto const c : sizes) {
      if (c > n) continue;
      INFO("checkpoints " << c);
      step_index const blocks = std::min(c, std::max<step_index>(n - 1, 0)) + 1;
      agrees(uniform{n, {.checkpoints = c}}, of(blocks), of(n / blocks + (n % blocks != 0 ? 1 : 0)));
    }
    for (auto const s : sizes) {
      if (s < detail::least_block_peak(n)) {
        CHECK_THROWS_AS((uniform{n, {.slots = s}}), invalid_plan);
        continue;
      }
      CHECK((uniform{n, {.slots = s}}.slots()) <= s);
    }
  }
}

TEST_CASE("totals of two_level are exact at the edges", "[exact][two_level][long]") {
  for (auto const n : edges)
    for (auto const p : sizes)
      for (auto const x : sizes) {
        if (p < 1) continue;
        INFO(n << " steps, periods of " << p << ", extra slots " << x);
        two_level const plan{n, p, x};
        auto const sum = plan.counts();
        step_index const periods = n == 0 ? 0 : (n - 1) / p + 1, short_one = n == 0 ? 0 : n - (periods - 1) * p;
        natural const whole = n == 0 ? natural{} : of(periods - 1);
        slot_index const total = x < longest ? x + 1 : x;
        auto const in_whole = big::binomial_sweep(std::min(p, n), total),
                   in_last = big::binomial_sweep(short_one, total);
        natural const advances = of(n) + whole * in_whole.advances + in_last.advances;
        auto const kept = [](step_index length, big::binomial const& sweep) {
          return length > 1 ? sweep.saves - natural{1} : natural{};
        };
        natural const inner_saves = whole * kept(std::min(p, n), in_whole) + kept(short_one, in_last);
        CHECK(of(sum.advances) == advances);
        CHECK(of(sum.on(tier::disk).saves) == of(periods));
        CHECK(of(sum.on(tier::memory).saves) == inner_saves);
        CHECK(of(sum.on(tier::disk).loads) ==
              (n == 0 ? natural{}
                      : whole * (in_whole.loads_of_first + natural{1}) + in_last.loads_of_first + natural{1}));
        CHECK(of(sum.on(tier::disk).loads) + of(sum.on(tier::memory).loads) == of(n));
        estimated(plan, advances, {});
      }
}

TEST_CASE("totals of leaves are exact at the edges", "[exact][leaves]") {
  for (auto const n : edges)
    for (auto const k : sizes)
      for (slot_index const s : {slot_index{1}, slot_index{3}, slot_index{1000}, longest}) {
        if (k < 1) continue;
        INFO(n << " steps, leaves of " << k << ", slots " << s);
        step_index const count = n / k + (n % k != 0 ? 1 : 0);
        leaves const plan{n, k, revolve{count, s}};
        natural const advances = big::binomial_sweep(count, s).advances * of(k),
                      turned = n == 0 ? natural{} : of(n) - of(count - 1) * of(k);
        natural const limit = natural{~big::u128{0}};
        if (limit < advances) continue;  // cannot be known
        CHECK(of(plan.counts().advances) == advances);
        CHECK(of(plan.counts().turned) == turned);
        CHECK(of(plan.counts().reversals) == of(n));
      }
}

TEST_CASE("totals of a replanned sweep are exact at the edges", "[exact][remaining]") {
  for (auto const n : edges)
    for (slot_index const s : {0, 1, 3, 1000}) {
      INFO(n << " steps, slots " << s);
      remaining const plan{{n, n, false, s}, [](slot_index) { return -1; }};
      CHECK(of(plan.counts().advances) == big::binomial_sweep(n, s + 1).advances);
      if (n < 4 || s < 2) continue;
      remaining const rest{{n, n, true, s}, [n = n](slot_index slot) {
                             return slot == 1 ? n / 2 : step_index{-1};
                           }};  // the back half with one slot fewer, then the front half with all
      CHECK(of(rest.counts().advances) ==
            big::binomial_sweep(n - n / 2, s).advances + big::binomial_sweep(n / 2, s + 1).advances);
      CHECK(of(rest.counts().reversals) == of(n));
    }
}

namespace {

/// Makes the plan within a megabyte and looks at its numbers and first actions; a typed error is an answer, too.
template <class Make>
void made_or_refused(Make make) {
  try {
    auto const plan = make();
    CHECK(plan.slots() >= 0);
    CHECK(of(table_bytes_of(plan)) <= natural{big::u128{1} << 80});
    if (table_bytes_of(plan) > 1'000'000) return;
    interpreter machine{detail::limits_of(plan)};
    auto cursor = plan.walk();
    for (int k = 0; k < 2000; ++k) {
      action const a = cursor.next();
      if (auto const bad = machine.obey(a); bad != flaw::none)
        FAIL(describe(bad) << " at action " << k << ": " << text_of(a));
      if (a.kind == action_kind::done) break;
    }
  } catch (error const& refused) {
    CHECK(refused.value_count() > 0);
  }
}

}  // namespace

TEST_CASE("schedules with tables are exact or refused at the edges", "[exact]") {
  constexpr wide megabyte = 1'000'000;
  for (auto const n : edges)
    for (slot_index const s : {slot_index{0}, slot_index{1}, slot_index{2}, slot_index{5}, (slot_index{1} << 31) + 1,
                               longest - 1, longest}) {
      INFO(n << " steps, " << s);
      made_or_refused([&] { return multistage{n, 1, s, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return multistage{n, s, 2, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return multistage{n, s, unlimited_slots, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return hrevolve{n, {{s}}, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return hrevolve{n, {{s, 1, 1}}, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return hrevolve{n, {{1}, {s, 2, 1}}, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] { return hrevolve{n, {{s}, {s, 2, 1}}, {.most_table_bytes = megabyte}}; });
      made_or_refused([&] {
        return disk_revolve{n, s, {.disk_write = 1, .disk_read = 2, .most_table_bytes = megabyte}};
      });
      made_or_refused([&] { return online{s}.stopping_at(n); });
      made_or_refused([&] { return online{s, {.eager = true}}.stopping_at(n); });
      for (slot_index const alpha : {slot_index{1}, slot_index{4}, longest}) {
        made_or_refused([&] { return mixed{n, s, {.tape_units = alpha, .most_table_bytes = megabyte}}; });
        made_or_refused([&] {
          return mixed{n, s, {.tape_units = alpha, .tapes_restart = true, .most_table_bytes = megabyte}};
        });
        made_or_refused([&] { return runge_kutta{n, s, {.stages = alpha, .most_table_bytes = megabyte}}; });
        for (auto const keep : {bptt_keep::states, bptt_keep::tapes, bptt_keep::both})
          made_or_refused([&] {
            return bptt{n, s, {.tape_units = alpha, .keep = keep, .most_table_bytes = megabyte}};
          });
      }
    }
}
