// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/detail/least_sum.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/tier_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The label of tier k of `count`, as a plan gives it.
tier label(std::size_t k, std::size_t count) {
  constexpr tier labels[4][4] = {{tier::memory},
                                 {tier::memory, tier::disk},
                                 {tier::memory, tier::host, tier::disk},
                                 {tier::memory, tier::device, tier::host, tier::disk}};
  return labels[count - 1][k];
}

/// What a sweep costs by its counts, turns left out.
double cost_of(schedule_counts const& counts, std::vector<storage_tier> const& tiers, double advance) {
  double sum = double(counts.advances) * advance;
  for (std::size_t k = 0; k < tiers.size(); ++k) {
    auto const& there = counts.on(tiers[k].where ? *tiers[k].where : label(k, tiers.size()));
    sum += double(there.saves) * tiers[k].write + double(there.loads) * tiers[k].read;
  }
  return sum;
}

/// The plan, walked: its cost is that of the walk, and no tier holds more than its slots.
hrevolve walked(step_index steps, std::vector<storage_tier> const& tiers, double advance = 1) {
  hrevolve const plan{steps, tiers.data(), tiers.size(), {.advance_cost = advance, .turn_cost = 3}};
  auto const counts = verify(plan);
  CHECK(cost_of(counts, tiers, advance) == plan.cost_without_turns());
  CHECK(plan.cost() == plan.cost_without_turns() + 3 * double(steps));
  for (std::size_t k = 0; k < tiers.size(); ++k)
    CHECK(counts.on(tiers[k].where ? *tiers[k].where : label(k, tiers.size())).peak <= tiers[k].slots);
  CHECK(counts.peak_slots <= plan.slots());
  return plan;
}

std::int64_t searched(step_index steps, std::vector<storage_tier> const& tiers, double advance) {
  std::vector<tiers::store> stores;
  for (auto const& t : tiers) stores.push_back({int(t.slots), std::int64_t(t.write), std::int64_t(t.read)});
  return tiers::least_cost(int(steps), stores, std::int64_t(advance));
}

using generator = std::mt19937_64;
int from(generator& draw, int least, int most) { return std::uniform_int_distribution<int>{least, most}(draw); }

/// Tiers of which each is no cheaper than the one before, in any order.
std::vector<storage_tier> ordered_tiers(generator& draw, int count, int most_slots) {
  std::vector<storage_tier> tiers;
  int write = 0, read = 0;
  for (int k = 0; k < count; ++k) {
    write += from(draw, 0, 1) * from(draw, 0, 6);
    read += from(draw, 0, 1) * from(draw, 0, 6);
    tiers.push_back({from(draw, 0, most_slots), double(write), double(read)});
  }
  for (std::size_t k = 1; k < tiers.size(); ++k) std::swap(tiers[k], tiers[std::size_t(from(draw, 0, int(k)))]);
  bool any = false;
  for (auto const& t : tiers) any = any || t.slots > 0;
  if (!any) tiers[0].slots = 1;
  return tiers;
}

std::string text_of_tiers(step_index n, std::vector<storage_tier> const& tiers, double advance) {
  std::string text = std::to_string(n) + " steps, advance " + std::to_string(advance);
  for (auto const& t : tiers)
    text += "; " + std::to_string(t.slots) + " slots, write " + std::to_string(t.write) + ", read " +
            std::to_string(t.read);
  return text;
}

void compare_with_search(int cases, int count, int most_steps, int most_slots, unsigned seed) {
  generator draw{seed};
  for (int k = 0; k < cases; ++k) {
    auto const tiers = ordered_tiers(draw, count, most_slots);
    auto const n = step_index(from(draw, 0, most_steps));
    auto const advance = double(from(draw, 0, 4));
    INFO(text_of_tiers(n, tiers, advance));
    auto const plan = walked(n, tiers, advance);
    CHECK(plan.tiers_are_ordered());
    CHECK(plan.cost_without_turns() == double(searched(n, tiers, advance)));
  }
}

/// How many of these plans over tiers that cannot all be compared cost more than the least.
int above_least(int cases, int count, int most_steps, int most_slots, unsigned seed, int& uncompared) {
  generator draw{seed};
  int above = 0;
  for (int k = 0; k < cases; ++k) {
    std::vector<storage_tier> tiers;
    for (int j = 0; j < count; ++j)
      tiers.push_back({from(draw, 1, most_slots), double(from(draw, 0, 8)), double(from(draw, 0, 8))});
    auto const n = step_index(from(draw, 2, most_steps));
    auto const advance = double(from(draw, 1, 4));
    INFO(text_of_tiers(n, tiers, advance));
    auto const plan = walked(n, tiers, advance);
    auto const least = double(searched(n, tiers, advance));
    CHECK(plan.cost_without_turns() >= least);
    if (plan.tiers_are_ordered()) CHECK(plan.cost_without_turns() == least);
    else ++uncompared;
    above += plan.cost_without_turns() > least;
  }
  return above;
}

double real(csv::row const& row, char const* name) { return std::stod(row.at(name)); }

}  // namespace

static_assert(schedule<hrevolve> && !counted_schedule<hrevolve>);

TEST_CASE("hrevolve costs what the oracles of two tiers say", "[schedule][hrevolve][oracle]") {
  for (auto const& row : csv::oracle("hrevolve2.csv")) {
    std::vector<storage_tier> const tiers{
        {slot_index(csv::number(row.at("ram_slots"))), real(row, "ram_write"), real(row, "ram_read")},
        {slot_index(csv::number(row.at("disk_slots"))), real(row, "disk_write"), real(row, "disk_read")}};
    auto const n = step_index(csv::number(row.at("n")));
    auto const advance = real(row, "advance_cost");
    INFO(text_of_tiers(n, tiers, advance));
    CHECK(walked(n, tiers, advance).cost_without_turns() == real(row, "min_cost_without_turns"));
    CHECK(hrevolve{n, tiers.data(), 2, {.advance_cost = advance, .turn_cost = real(row, "turn_cost")}}.cost() ==
          real(row, "min_cost_total"));
  }
}

TEST_CASE("hrevolve costs what the oracles of three tiers say", "[schedule][hrevolve][oracle]") {
  for (auto const& row : csv::oracle("hrevolve3.csv")) {
    std::vector<storage_tier> tiers;
    for (std::string const k : {"0", "1", "2"})
      tiers.push_back(
          {slot_index(csv::number(row.at("slots" + k))), std::stod(row.at("w" + k)), std::stod(row.at("r" + k))});
    auto const n = step_index(csv::number(row.at("n")));
    INFO(text_of_tiers(n, tiers, 1));
    CHECK(walked(n, tiers).cost_without_turns() == real(row, "min_cost_without_turns"));
  }
}

TEST_CASE("no machine reverses a loop at less cost than hrevolve", "[schedule][hrevolve][brute][long]") {
  compare_with_search(300, 1, 9, 4, 1);
  compare_with_search(600, 2, 7, 3, 2);
  compare_with_search(200, 3, 5, 2, 3);
  compare_with_search(40, 4, 5, 1, 4);
}

TEST_CASE("no machine reverses a loop at less cost than hrevolve, thousands of cases",
          "[schedule][hrevolve][brute][.soak]") {
  compare_with_search(5000, 2, 8, 3, 5);
  compare_with_search(2000, 2, 9, 2, 6);
  compare_with_search(3000, 3, 6, 2, 7);
  compare_with_search(500, 4, 5, 2, 8);
}

TEST_CASE("tiers that cannot be compared are said to be so and a sound plan is made over them",
          "[schedule][hrevolve][brute][long]") {
  int uncompared = 0;
  int const above = above_least(400, 2, 7, 3, 9, uncompared);
  CHECK(uncompared > 100);
  CHECK(above * 20 < uncompared);
  std::vector<storage_tier> const mixed{
      {1, 2, 4}, {1, 10, 0}};  // the rare case: the least cost has either tier below the other in some part
  CHECK(searched(12, mixed, 6) == 210);
  CHECK(walked(12, mixed, 6).cost_without_turns() == 212);
}

TEST_CASE("how often the best order of tiers that cannot be compared is not the least cost",
          "[schedule][hrevolve][brute][.soak]") {
  int uncompared = 0;
  int const above = above_least(5000, 2, 8, 3, 10, uncompared);
  int uncompared_of_three = 0;
  int const above_of_three = above_least(1500, 3, 6, 2, 11, uncompared_of_three);
  WARN(above << " of " << uncompared << " plans over two such tiers and " << above_of_three << " of "
             << uncompared_of_three << " over three cost more than the least");
  CHECK(above * 20 < uncompared);
  CHECK(above_of_three * 20 < uncompared_of_three);
}

TEST_CASE("skipping sums changes no cost of hrevolve", "[schedule][hrevolve]") {
  generator draw{12};
  for (int k = 0; k < 60; ++k) {
    int const n = from(draw, 60, 700);
    auto const cost = [&](double above) {
      return above + std::exp(std::uniform_real_distribution<double>{-3.0, 5.0}(draw));
    };
    double const write[] = {k % 3 == 0 ? 0 : cost(0), 0}, read[] = {k % 3 == 0 ? 0 : cost(0), 0};
    std::vector<double> const writes{write[0], cost(write[0])}, reads{read[0], cost(read[0])};
    std::vector<int> const slots{from(draw, 1, 5), from(draw, 1, 5)};
    double const advance = cost(0);
    std::vector<storage_tier> const tiers{{slots[0], writes[0], reads[0]}, {slots[1], writes[1], reads[1]}};
    INFO(text_of_tiers(n, tiers, advance));
    hrevolve const plan{n, tiers.data(), 2, {.advance_cost = advance}};
    auto const all = tiers::nested_cost(n, slots, writes, reads, advance);
    if (k % 3 == 0) CHECK(plan.cost() == Approx(all).epsilon(1e-13));  // memory in closed form: other roundings
    else CHECK(plan.cost() == all);
    CHECK(plan.cost() == Approx(cost_of(verify(plan), tiers, advance)).epsilon(1e-12));
  }
}

TEST_CASE("skipping blocks of sums finds the least sum", "[schedule][least_sum]") {
  generator draw{13};
  for (int k = 0; k < 3000; ++k) {
    auto const x = std::size_t(from(draw, 0, k % 10 == 0 ? 1000 : 200));
    std::vector<double> f(x + 2), g(x + 2);
    std::vector<std::uint64_t> whole_f(x + 2), whole_g(x + 2);
    bool const flat = k % 2 == 0;
    for (std::size_t y = 2; y < x + 2; ++y) {
      f[y] = f[y - 1] + (flat ? from(draw, 0, 1) : std::exp(double(from(draw, -20, 20)) / 7));
      g[y] = g[y - 1] + (flat ? from(draw, 0, 1) : std::exp(double(from(draw, -20, 20)) / 7));
      whole_f[y] = whole_f[y - 1] + std::uint64_t(from(draw, 0, 3));
      whole_g[y] =
          from(draw, 0, 90) == 0 ? detail::impossible<std::uint64_t> : whole_g[y - 1] + std::uint64_t(from(draw, 0, 3));
    }
    double least = infinite;
    auto whole = detail::impossible<std::uint64_t>;
    for (std::size_t y = 1; y < x; ++y) {
      least = std::min(least, f[y] + g[x - y]);
      whole = std::min(whole, whole_f[y] + whole_g[x - y]);
    }
    auto const hint = step_index(from(draw, -5, 1100));
    auto const found = detail::least_sum(f.data(), g.data(), step_index(x), hint);
    CHECK(found.value == least);
    if (x > 1) CHECK(f[std::size_t(found.at)] + g[x - std::size_t(found.at)] == least);
    else CHECK(found.at == 0);
    auto const found_whole = detail::least_sum(whole_f.data(), whole_g.data(), step_index(x), hint);
    CHECK(found_whole.value == whole);
    auto const above = detail::least_sum(f.data(), g.data(), step_index(x), hint, least);
    CHECK((above.value == least && above.at == 0));
  }
}

TEST_CASE("rows of hrevolve do not decrease, also where sums are rounded", "[schedule][hrevolve]") {
  generator draw{14};
  for (int k = 0; k < 12; ++k) {
    auto const cost = [&] { return std::exp(std::uniform_real_distribution<double>{-9.0, 9.0}(draw)); };
    double const write = cost(), read = cost(), more_write = write + cost(), more_read = read + cost(),
                 advance = cost();
    double before = 0;
    for (step_index n = 0; n <= 150; ++n) {
      hrevolve const plan{n, {{2, write, read}, {2, more_write, more_read}}, {.advance_cost = advance}};
      CHECK(plan.cost() >= before);
      before = plan.cost();
    }
  }
}

TEST_CASE("one tier without costs is revolve, and so are several", "[schedule][hrevolve]") {
  for (step_index n = 0; n <= 60; ++n)
    for (slot_index s = 1; s <= 9; ++s) {
      INFO(n << " steps, " << s << " slots");
      auto const best = revolve{n, s}.counts();
      hrevolve const one{n, {{s}}};
      CHECK(verify(one) == best);
      CHECK(one.slots() == revolve{n, s}.slots());
      CHECK(one.cost() == double(best.advances));
      CHECK(hrevolve{n, {{s, 0, 1}}}.cost() == double(best.advances + best.loads));
      CHECK(hrevolve{n, {{1}, {s}}}.cost() == double(revolve::advances(n, s + 1)));
    }
  constexpr step_index far = 1'000'000'000'000'000'000;
  CHECK(hrevolve{far, {{10}}}.cost() == double(revolve::advances(far, 10)));
  CHECK(hrevolve{far, {{far}, {10, 1, 1}}}.cost() == double(far - 1));
}

TEST_CASE("hrevolve puts its tiers in order and leaves out those of no use, and says so", "[schedule][hrevolve]") {
  hrevolve const given{40, {{2}, {3, 1, 1}, {4, 2, 5}}};
  CHECK(given.tier_order() == tier_positions{3, {0, 1, 2}});
  CHECK(given.dropped_tiers().empty());
  CHECK(given.remark() == std::string{});
  CHECK(given.slots() == 9);
  CHECK((given.slot_tier(1) == tier::memory && given.slot_tier(2) == tier::host && given.slot_tier(8) == tier::disk));

  hrevolve const turned{40, {{4, 2, 5, tier::disk}, {3, 1, 1, tier::host}, {2, 0, 0, tier::memory}}};
  CHECK(turned.tier_order() == tier_positions{3, {2, 1, 0}});
  CHECK(std::vector(turned.tier_order().begin(), turned.tier_order().end()) == std::vector<std::size_t>{2, 1, 0});
  CHECK((turned.tier_order().size() == 3 && turned.tier_order()[0] == 2 && turned.tier_order()[2] == 0));
  CHECK_FALSE(turned.tier_order().empty());
  CHECK(turned.cost() == given.cost());
  CHECK(turned.tiers_are_ordered());
  CHECK_THAT(turned.remark(), ContainsSubstring("order of their costs"));
  CHECK(verify(turned) == verify(given));

  hrevolve const enough{10, {{9, 1, 1}, {50, 1, 2}}};
  CHECK(enough.tier_order() == tier_positions{1, {0}});
  CHECK(enough.dropped_tiers() == tier_positions{1, {1}});
  CHECK_THAT(enough.remark(), ContainsSubstring("not used"));
  CHECK(enough.slots() == 9);
  CHECK(hrevolve{10, {{8, 1, 1}, {50, 1, 2}}}.dropped_tiers().empty());
  CHECK(hrevolve{10, {{4, 1, 1}, {5, 1, 1}, {50, 1, 2}}}.dropped_tiers() == tier_positions{1, {2}});
  CHECK(hrevolve{10, {{0}, {5, 1, 1}}}.tier_order() == tier_positions{1, {1}});

  hrevolve const crossed{10, {{2, 0, 5}, {2, 3, 1}}};
  CHECK(!crossed.tiers_are_ordered());
  CHECK_THAT(crossed.remark(), ContainsSubstring("cheaper to write and one to read"));
  CHECK_THAT((hrevolve{10, {{2, 0, 5}, {2, 3, 1}, {0}}}.remark()), ContainsSubstring("not used; of the others"));
  CHECK_THAT((hrevolve{10, {{2, 5, 5}, {0}, {2}}}.remark()), ContainsSubstring("not used; the others"));
}

TEST_CASE("hrevolve gives the labels that were asked for", "[schedule][hrevolve]") {
  hrevolve const plan{30, {{2, 0, 0, tier::device}, {3, 1, 1, tier::host}}};
  auto const counts = verify(plan);
  CHECK(counts.on(tier::device).peak == 2);
  CHECK(counts.on(tier::host).peak > 0);
  CHECK(counts.on(tier::memory) == tier_counts{});
  CHECK(hrevolve{30, {{1}, {1, 1, 1}, {1, 2, 2}, {1, 3, 3}}}.slot_tier(1) == tier::device);
}

TEST_CASE("hrevolve says how large its table would be, before it is made", "[schedule][hrevolve]") {
  constexpr step_index far = 1'000'000'000'000;
  CHECK_THROWS_WITH((hrevolve{far, {{10, 1, 1}}}), ContainsSubstring("table bytes = 72000000000072") &&
                                                       ContainsSubstring("most table bytes = 2147483648"));
  CHECK_THROWS_AS((hrevolve{1000, {{10, 1, 1}}, {.most_table_bytes = 72071}}), invalid_plan);
  CHECK_NOTHROW(hrevolve{1000, {{10, 1, 1}}, {.most_table_bytes = 72072}});
  CHECK_THROWS_AS((hrevolve{std::numeric_limits<step_index>::max(), {{far, 1, 1}, {far, 2, 2}}}), invalid_plan);
  CHECK_THROWS_WITH((hrevolve{far, {{1, 1, 1}}, {.most_table_bytes = ~wide{0}}}), ContainsSubstring("2^31"));
  hrevolve const plan{1000, {{10, 1, 1}, {5, 2, 2}}};
  CHECK(plan.shared_table_bytes() >= 4 * 15 * 1001);
  CHECK(plan.shared_table_bytes() < 4 * 15 * 1001 + 400);
  CHECK(plan.table_bytes() == 15 * 32);
  CHECK(hrevolve{1000, {{10}}}.shared_table_bytes() < 400);
}

TEST_CASE("hrevolve refuses numbers of no meaning before it does anything", "[schedule][hrevolve]") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH((hrevolve{-1, {{3}}}), ContainsSubstring("negative number of steps"));
  CHECK_THROWS_WITH((hrevolve{5, std::initializer_list<storage_tier>{}}), ContainsSubstring("1 to 4 tiers"));
  CHECK_THROWS_AS((hrevolve{5, {{1}, {1}, {1}, {1}, {1}}}), invalid_plan);
  CHECK_THROWS_WITH((hrevolve{5, {{1}, {-1}}}),
                    ContainsSubstring("negative number of slots") && ContainsSubstring("tier = 1"));
  CHECK_THROWS_WITH((hrevolve{5, {{0}, {0}}}), ContainsSubstring("too few slots"));
  for (double const cost : {-1.0, nan, infinite}) {
    CHECK_THROWS_WITH((hrevolve{5, {{1, cost, 0}}}), ContainsSubstring("not negative"));
    CHECK_THROWS_AS((hrevolve{5, {{1, 0, cost}}}), invalid_plan);
    CHECK_THROWS_AS((hrevolve{5, {{1}}, {.advance_cost = cost}}), invalid_plan);
    CHECK_THROWS_AS((hrevolve{5, {{1}}, {.turn_cost = cost}}), invalid_plan);
  }
  CHECK_THROWS_WITH((hrevolve{5, {{1, 0, 0, tier::disk}, {1, 1, 1}}}), ContainsSubstring("same label"));
  CHECK_THROWS_WITH((hrevolve{5, {{1, 0, 0, tier(9)}}}), ContainsSubstring("no such tier"));
  CHECK_THROWS_AS((hrevolve{50, {{1, 0, 1e308}}}), overflow_error);
  CHECK_THROWS_AS((hrevolve{50, {{1}}, {.advance_cost = 1e307}}), overflow_error);
  CHECK_THROWS_AS((hrevolve{50, {{1}}, {.turn_cost = 1e307}}), overflow_error);
  CHECK_NOTHROW(hrevolve{50, {{49, 0, 1}, {1, 1e308, 1e308}}});
}

TEST_CASE("a cursor of hrevolve that is used again allocates nothing and walks the same", "[schedule][hrevolve]") {
  hrevolve const plan{200, {{3}, {3, 2, 4}}};
  auto cursor = plan.walk();
  std::vector<action> first, again;
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) first.push_back(a);
  hrevolve const copy = plan;
  cursor = copy.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) again.push_back(a);
  CHECK(first == again);
}
