// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/online_search.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

struct variant {
  bool eager;
  bool last_is_at_hand;
};
constexpr variant variants[] = {{false, true}, {false, false}, {true, true}, {true, false}};

std::string name_of(variant v, slot_index s, step_index n) {
  return std::string{v.eager ? "eager" : "lag"} + (v.last_is_at_hand ? "" : ", last state gone") + ", " +
         std::to_string(s) + " slots, " + std::to_string(n) + " steps";
}
stopped_online stopped(variant v, slot_index s, step_index n) {
  return online{s, {.eager = v.eager}}.stopping_at(n, v.last_is_at_hand);
}

/// The states kept when the cursor, driven by hand as by a loop without an end, has decided on state x.
class kept_states {
 public:
  explicit kept_states(online const& plan) : cursor_{plan.walk()}, states_(std::size_t(plan.slots()), -1) {}
  std::vector<step_index> after(step_index x) {
    while (cursor_.candidate() <= x) obey(cursor_.next());
    std::vector<step_index> kept;
    for (auto const state : states_)
      if (state >= 0) kept.push_back(state);
    std::sort(kept.begin(), kept.end());
    return kept;
  }

 private:
  void obey(action const& a) {
    if (a.kind == action_kind::save) states_.at(std::size_t(a.slot)) = a.from;
    if (a.kind == action_kind::drop) states_.at(std::size_t(a.slot)) = -1;
    if (a.kind != action_kind::advance) obey(cursor_.next());  // up to the advance
  }
  online::cursor cursor_;
  std::vector<step_index> states_;
};

struct ratios {
  double sum = 0, worst = 0, count = 0;
  void add(wide advances, std::int64_t optimum) {
    double const ratio = double(advances) / double(optimum);
    sum += ratio;
    ++count;
    worst = std::max(worst, ratio);
  }
  [[nodiscard]] double mean() const { return sum / count; }
};

}  // namespace

static_assert(schedule<stopped_online> && counted_schedule<stopped_online> && std::copyable<online::cursor>);
static_assert(verify(online{3}.stopping_at(30)) == online{3}.stopping_at(30).counts(),
              "online walks in a constant expression");

TEST_CASE("a loop may stop anywhere under online and every step is reversed", "[schedule][online]") {
  CHECK(cairn::learns_length(stopped(variants[0], 2, 9)));
  for (auto const v : variants)
    for (slot_index s = 1; s <= 20; ++s)
      for (step_index n = 0; n <= 130; ++n) {
        INFO(name_of(v, s, n));
        auto const plan = stopped(v, s, n);
        auto const found = check(plan);
        INFO(describe(found.reason) << " at action " << ::text_of(found.number) << ": " << ::text_of(found.culprit));
        REQUIRE(found);
        REQUIRE(found.counts == plan.counts());
        REQUIRE(found.counts.reversals == wide(n));
        REQUIRE(found.counts.peak_slots <= plan.slots());
        REQUIRE(plan.slots() <= s);
        REQUIRE(found.counts.advances + found.counts.turned >= wide(n));
        if (v.last_is_at_hand) REQUIRE(found.counts.turned == (n > 0 ? 1 : 0));
      }
}

TEST_CASE("the independent optima agree with each other and with revolve", "[schedule][online][brute]") {
  auto const splits = online_search::optima_by_splits(120, 12);
  online_search::optima const best{120, 12};
  for (int s = 1; s <= 12; ++s)
    for (int n = 0; n <= 120; ++n) {
      REQUIRE(best(n, s) == splits[std::size_t(s)][std::size_t(n)]);
      REQUIRE(std::int64_t(online_search::exact_optimum(n, s)) == best(n, s));
      REQUIRE(detail::gap_advances(n, s) == wide(best(n, s)));
    }
}

TEST_CASE("online is never below the offline optimum and close to it for all loops of up to 300 steps",
          "[schedule][online]") {
  online_search::optima const best{300, 16};
  ratios all;
  for (slot_index s = 2; s <= 16; ++s)
    for (step_index n = 0; n <= 300; ++n) {
      auto const found = verify(online{s}.stopping_at(n));
      INFO(s << " slots, " << n << " steps");
      REQUIRE(found.advances >= wide(best(n, s)));
      if (best(n, s) > 0) all.add(found.advances, best(n, s));
      if (n <= (s + 2) * (s + 1) / 2 + 1) REQUIRE(found.advances == wide(best(n, s)));
    }
  CHECK(all.mean() <= 1.008);
  CHECK(all.worst <= 1.14);
}

TEST_CASE("online is close to the offline optima of the oracle", "[schedule][online][oracle]") {
  ratios all, eager;
  for (auto const& row : csv::oracle("online.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const s = slot_index(csv::number(row.at("s")));
    auto const least = csv::number(row.at("offline_min_advances"));
    INFO(s << " slots, " << n << " steps");
    auto const lagged = verify(online{s}.stopping_at(n));
    CHECK(lagged.advances >= least);
    if (least == 0) continue;
    all.add(lagged.advances, std::int64_t(least));
    eager.add(verify(online{s, {.eager = true}}.stopping_at(n)).advances, std::int64_t(least));
  }
  CHECK(all.mean() <= 1.0095);
  CHECK(all.worst <= 1.11);
  CHECK(eager.mean() <= 1.035);
}

TEST_CASE("online keeps the states that its rule, evaluated word for word, keeps", "[schedule][online][brute]") {
  for (bool const eager : {false, true})
    for (slot_index s = 1; s <= 16; ++s) {
      step_index const states = s <= 6 ? 1500 : 600;
      online_search::optima const best{states, s + 1};
      auto const wanted = online_search::kept_by_the_rule(s, eager, states, best);
      kept_states kept{online{s, {.eager = eager}}};
      for (step_index x = 0; x < states; ++x) {
        INFO((eager ? "eager, " : "lag, ") << s << " slots, state " << x);
        REQUIRE(kept.after(x) == std::vector<step_index>(wanted[std::size_t(x)].begin(), wanted[std::size_t(x)].end()));
      }
    }
}

namespace {

struct dearer {
  int loops = 0;  // of those for which the reversal is not the cheapest
  double worst = 1;  // the advances over those with the cheapest reversal
};
dearer dearer_ways_back(slot_index s, step_index up_to, bool eager) {
  online_search::optima const best{up_to, s + 1};
  auto const held = online_search::kept_by_the_rule(s, eager, up_to, best);
  std::vector<std::int64_t> last, back;
  dearer found;
  for (step_index n = eager ? 1 : 2; n <= up_to; ++n) {
    auto const& p = held[std::size_t(n - (eager ? 1 : 2))];
    if (p != last || back.empty()) back = online_search::ways_back(p, s, up_to, best);
    last = p;
    auto const advances = stopped({eager, true}, s, n).counts().advances;
    auto const least = wide(n) - 1 + wide(back[std::size_t(n - 1)]);
    INFO(name_of({eager, true}, s, n));
    REQUIRE(advances >= least);
    if (advances == least) continue;
    ++found.loops;
    found.worst = std::max(found.worst, double(advances) / double(least));
  }
  return found;
}

}  // namespace

TEST_CASE("the dynamic program of the reversal finds what a search over all machines finds",
          "[schedule][online][brute]") {
  online_search::optima const best{10, 6};
  std::mt19937 random{5};
  for (int k = 0; k < 150; ++k) {
    int const e = 1 + int(random() % 8);
    int const slots = 1 + int(random() % 4);
    std::vector<std::int64_t> p{0};
    for (int state = 1; state < e; ++state)
      if (int(p.size()) < slots && random() % 3 == 0) p.push_back(state);
    CHECK(online_search::ways_back(p, slots, e, best)[std::size_t(e)] == online_search::searched_way_back(p, slots, e));
  }
}

TEST_CASE("from the states that online holds, no reversal takes more than a few advances less",
          "[schedule][online][brute]") {
  for (bool const eager : {false, true})
    for (slot_index s = 1; s <= 6; ++s) {
      auto const found = dearer_ways_back(s, 120, eager);
      INFO((eager ? "eager, " : "lag, ") << s << " slots: " << found.loops << " loops, at worst by " << found.worst);
      CHECK(found.worst <= (eager ? 1.008 : 1.003));
      if (s != 3) CHECK(found.loops == 0);
    }
}

TEST_CASE("from the states that online holds, no reversal takes more than a few advances less up to 300 steps",
          "[schedule][online][brute][.soak]") {
  for (bool const eager : {false, true})
    for (slot_index s = 1; s <= 16; ++s) {
      auto const found = dearer_ways_back(s, 300, eager);
      INFO((eager ? "eager, " : "lag, ") << s << " slots: " << found.loops << " loops, at worst by " << found.worst);
      CHECK(found.worst <= (eager ? 1.008 : 1.003));
    }
}

TEST_CASE("eager online is never below the offline optimum and its worst loops are short", "[schedule][online]") {
  online_search::optima const best{300, 16};
  ratios all;
  for (slot_index s = 2; s <= 16; ++s) {
    ratios own;
    for (step_index n = 0; n <= 300; ++n) {
      auto const found = verify(stopped({true, true}, s, n));
      REQUIRE(found.advances >= wide(best(n, s)));
      if (best(n, s) == 0) continue;
      all.add(found.advances, best(n, s));
      own.add(found.advances, best(n, s));
    }
    if (s > 2) CHECK(own.worst <= 1.16);
  }
  CHECK(all.worst <= 1.334);
  CHECK(all.mean() <= 1.013);
}

TEST_CASE("the last kept state moves to the first of the best places", "[schedule][online][brute]") {
  online_search::optima const best{60, 6};
  for (slot_index slots = 1; slots <= 5; ++slots)
    for (step_index last = 1; last <= 30; ++last)
      for (step_index end = last + 1; end <= 55; ++end) {
        auto const cost = [&](step_index y) { return y - last + best(end - y, slots) + best(y, slots + 1); };
        step_index first = last;
        for (step_index y = last + 1; y < end; ++y)
          if (cost(y) < cost(first)) first = y;
        REQUIRE(detail::moved_forward(0, last, end, slots) == first);
        REQUIRE(detail::moved_forward(7, last + 7, end + 7, slots) == first + 7);
      }
}

TEST_CASE("no rule with lag has a worst ratio below the published floors", "[schedule][online][brute]") {
  CHECK(online_search::least_worst_ratio_of_two(7) == 1);
  CHECK(online_search::least_worst_ratio_of_two(8) > 1);
  CHECK(online_search::least_worst_ratio_of_three(11) == 1);
  CHECK(online_search::least_worst_ratio_of_three(12) > 1);
  CHECK(online_search::least_worst_ratio_of_two(120) >= 1.108);
}

TEST_CASE("no rule with lag and three slots has a worst ratio below the published floor",
          "[schedule][online][brute]") {
  CHECK(online_search::least_worst_ratio_of_three(90) >= 1.0525);
}

TEST_CASE("online takes the predicted advances for all loops of up to 100,000 steps", "[schedule][online][.soak]") {
  struct expected { slot_index slots; double mean, worst; };
  for (auto const& [s, mean, worst] : {expected{2, 1.0023, 1.1390},
                                       {3, 1.0077, 1.0626},
                                       {4, 1.0077, 1.0534},
                                       {10, 1.0044, 1.0275},
                                       {50, 1.0007, 1.0104}}) {
    constexpr step_index states = 100'000;
    online_search::optima const best{states, s + 1};
    kept_states kept{online{s}};
    ratios all;
    for (step_index n = 2; n <= states; ++n) {
      auto const p = kept.after(n - 2);
      auto advances =
          n - 1;  // gap by gap, each from its start; online itself may move the last state, for a little less
      for (std::size_t k = 0; k < p.size(); ++k)
        advances += best((k + 1 < p.size() ? p[k + 1] : n - 1) - p[k], s - step_index(k));
      if (n % 997 == 0) CHECK(online{s}.stopping_at(n).counts().advances <= wide(advances));
      all.add(wide(advances), best(n, s));
    }
    INFO(s << " slots: mean " << all.mean() << ", worst " << all.worst);
    CHECK(all.mean() <= mean);
    CHECK(all.worst <= worst);
  }
}

TEST_CASE("loops of ten million steps are walked with the predicted totals", "[schedule][online][.soak]") {
  for (slot_index const s : {2, 3, 10, 1000}) {
    INFO(s << " slots");
    auto const plan = online{s}.stopping_at(10'000'000);
    auto const found = plan.counts();
    CHECK(found.advances >= revolve::advances(10'000'000, s));
    CHECK(double(found.advances) <= 1.14 * double(revolve::advances(10'000'000, s)));
    CHECK(verify(plan) == found);
  }
}

TEST_CASE("a thousand slots serve loops of any length", "[schedule][online][long]") {
  for (step_index const n : {0, 1, 2, 999, 1000, 1001, 1002, 3000, 9000})
    for (auto const v : variants) {
      INFO(name_of(v, 1000, n));
      auto const plan = stopped(v, 1000, n);
      CHECK(verify(plan) == plan.counts());
      if (!v.eager && v.last_is_at_hand) CHECK(plan.counts().advances == revolve::advances(n, 1000));
    }
  CHECK(online{longest}.stopping_at(5).slots() == 4);
  CHECK(verify(online{longest}.stopping_at(5)) == verify(online{4}.stopping_at(5)));
  CHECK(verify(online{longest, {.eager = true}}.stopping_at(5, false)).advances == 5);
  CHECK(online{longest}.stopping_at(5, false).table_bytes() < 1000);
}

TEST_CASE("online decides exactly up to 2^63-1 steps", "[schedule][online]") {
  auto const exact = [](std::int64_t n, std::int64_t s) { return online_search::exact_optimum(n, s); };
  for (bool const eager : {false, true})
    for (std::size_t const s : {2u, 3u, 5u, 9u})
      for (step_index const near :
           {step_index{1} << 31, step_index{1} << 32, step_index{1} << 53, step_index{1} << 62}) {
        INFO((eager ? "eager, " : "lag, ") << s << " slots, near " << near);
        detail::table<detail::online_slot> kept(s);
        for (std::size_t k = 0; k < s; ++k) {
          kept[k].at = k == 0 ? 0 : near + step_index(k * k) * (near >> 10) + step_index(k);
          kept[k].slot = slot_index(k);
        }
        for (int round = 0; round < 12; ++round) {
          std::vector<std::int64_t> p;
          for (auto const& one : kept) p.push_back(one.at);
          auto const choice = detail::online_decision{kept, 0, eager}.choose(1);
          if (choice.at == longest) break;
          auto const g = choice.at - p.back();
          REQUIRE(choice.victim == online_search::victim(p, g, eager, exact));
          REQUIRE(choice.victim > 0);
          if (g > 1) REQUIRE(online_search::victim(p, g - 1, eager, exact) == 0);
          for (std::size_t k = choice.victim; k + 1 < s; ++k) kept[k].at = kept[k + 1].at;
          kept[s - 1].at = choice.at;
        }
      }
}

TEST_CASE("no state beyond 2^63-1 is chosen", "[schedule][online]") {
  detail::table<detail::online_slot> kept(2);
  kept[1].at = longest - 10;
  CHECK(detail::online_decision{kept, 0, false}.choose(1).at == longest);
  kept[1].at = longest - 1;
  CHECK(detail::online_decision{kept, 0, false}.choose(1).at == longest);
  kept[1].at = 10;
  CHECK(detail::online_decision{kept, 0, false}.choose(longest).at < 40);
}

TEST_CASE("the totals of online are exact at the edges of 32, 53 and 63 bits", "[schedule][online]") {
  step_index const edges[] = {0, 1, 2, (1LL << 31) - 1, (1LL << 31) + 1, (1LL << 32) - 1, (1LL << 32) + 1,
                              (1LL << 53) - 1, (1LL << 53) + 1, longest - 1, longest};
  for (auto const n : edges) {
    auto const one = online{1}.stopping_at(n).counts();
    CHECK(one.advances == (n < 2 ? 0 : wide(n) * (wide(n) - 1) / 2));
    CHECK(one.loads == (n < 2 ? 0 : wide(n) - 1));
    CHECK(online{1}.stopping_at(n, false).counts().advances == (n < 2 ? 0 : wide(n) * (wide(n) + 1) / 2));
    if (n > (1LL << 33)) continue;
    auto const two = online{2}.stopping_at(n).counts();
    CHECK(two.advances >= wide(online_search::exact_optimum(n, 2)));
    CHECK(double(two.advances) <= 1.001 * double(online_search::exact_optimum(n, 2)) + 1);
  }
  interpreter machine{detail::limits_of(online{3}.stopping_at(longest))};
  auto cursor = online{3}.stopping_at(longest).walk();
  for (int k = 0; k < 30'000; ++k) REQUIRE(machine.obey(cursor.next()) == flaw::none);
}

TEST_CASE("the reversal of a loop of 2^63-1 steps begins without a flaw", "[schedule][online]") {
  auto const plan = online{1}.stopping_at(longest);
  interpreter machine{detail::limits_of(plan)};
  auto cursor = plan.walk();
  for (int k = 0; k < 1'000; ++k) REQUIRE(machine.obey(cursor.next()) == flaw::none);
  CHECK(machine.open() < longest);
}

TEST_CASE("a cursor speaks as if the loop never ended", "[schedule][online]") {
  online const plan{2};
  CHECK(plan.lags());
  CHECK_FALSE(online{2, {.eager = true}}.lags());
  auto cursor = plan.walk();
  CHECK(cursor.lags());
  CHECK(cursor.slots() == 2);
  CHECK_FALSE(cursor.stopped());
  CHECK(cursor.next() == action{action_kind::save, tier::memory, content::state, 0, 0, 0});
  CHECK(cursor.next() == action{action_kind::advance, tier::memory, content::state, no_slot, 0, 1});
  CHECK(cursor.candidate() == 1);
  CHECK(cursor.next() == action{action_kind::save, tier::memory, content::state, 1, 1, 0});
  auto const on = cursor.next();
  CHECK(on.kind == action_kind::advance);
  CHECK(on.from == 1);
  CHECK(on.to == cursor.candidate());
  CHECK(cursor.next() == action{action_kind::drop, tier::memory, content::state, 1, 0, 0});
  CHECK(cursor.next() == action{action_kind::save, tier::memory, content::state, 1, on.to, 0});

  auto lone = online{1}.walk();
  (void)lone.next();
  CHECK(lone.next() == action{action_kind::advance, tier::memory, content::state, no_slot, 0, longest});
  CHECK_THROWS_AS(lone.next(), invalid_call);
}

TEST_CASE("a cursor may be stopped at every state at which a loop can stop", "[schedule][online]") {
  for (bool const eager : {false, true})
    for (slot_index const s : {1, 2, 3, 5})
      for (step_index n = 0; n <= 40; ++n)
        for (step_index live = n > 0 ? n - 1 : 0; live <= n; ++live) {
          INFO((eager ? "eager, " : "lag, ") << s << " slots, " << n << " steps, live " << live);
          online const plan{s, {.eager = eager}};
          interpreter machine{{n, s}};
          auto cursor = plan.walk();
          while (cursor.candidate() < live) {
            action a = cursor.next();
            if (a.kind == action_kind::advance) a.to = std::min(a.to, live);
            if (a.kind != action_kind::advance || a.to > a.from) REQUIRE(machine.obey(a) == flaw::none);
          }
          auto copy = cursor;
          cursor.stop_at(n, live);
          action a;
          do {
            a = cursor.next();
            REQUIRE(machine.obey(a) == flaw::none);
          } while (a.kind != action_kind::done);
          CHECK(cursor.next() == action{});
          CHECK(machine.counts().reversals == wide(n));
          CHECK_FALSE(copy.stopped());
          copy.stop_at(n, live);
          CHECK(copy.next().kind != action_kind::done);
        }
}

TEST_CASE("online refuses what cannot be", "[schedule][online]") {
  CHECK_THROWS_AS(online{0}, invalid_plan);
  CHECK_THROWS_WITH(online{-3}, ContainsSubstring("cairn::online: too few slots") &&
                                    ContainsSubstring("slots = -3") && ContainsSubstring("least slots = 1"));
  CHECK_THROWS_AS(online{1}.stopping_at(-1), invalid_plan);

  auto cursor = online{3}.walk();
  CHECK_THROWS_AS(cursor.stop_at(-1, -1), invalid_call);
  CHECK_THROWS_AS(cursor.stop_at(2, 0), invalid_call);
  CHECK_THROWS_AS(cursor.stop_at(std::numeric_limits<step_index>::min(), longest), invalid_call);
  (void)cursor.next();
  CHECK_THROWS_WITH(cursor.stop_at(0, 0), ContainsSubstring("a loop cannot stop between a save and its advance"));
  (void)cursor.next();
  (void)cursor.next();
  (void)cursor.next();  // advance [1, 2)
  CHECK_THROWS_WITH(cursor.stop_at(0, 0), ContainsSubstring("the loop cannot have stopped there") &&
                                              ContainsSubstring("from = 1") && ContainsSubstring("to = 2"));
  CHECK_THROWS_AS(cursor.stop_at(4, 3), invalid_call);
  CHECK_THROWS_AS(cursor.stop_at(3, 1), invalid_call);
  CHECK_THROWS_AS(cursor.stop_at(1, 2), invalid_call);
  cursor.stop_at(3, 2);
  CHECK_THROWS_WITH(cursor.stop_at(3, 2), ContainsSubstring("the loop has been stopped before"));
  CHECK(cursor.next() == action{action_kind::turn, tier::memory, content::state, no_slot, 2, 3});
}
