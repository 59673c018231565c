// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;

static_assert(counted_schedule<any_schedule> && std::is_nothrow_copy_constructible_v<any_schedule>);
static_assert(!std::is_constructible_v<any_schedule, int>);

namespace {

any_schedule chosen(bool small, step_index n) {
  return small ? any_schedule{store_all(n)} : any_schedule{revolve{n, 3}};
}

}  // namespace

TEST_CASE("a condition chooses a schedule of one type", "[schedule][any]") {
  CHECK(chosen(true, 30).counts() == store_all(30).counts());
  CHECK(chosen(false, 30).counts() == revolve{30, 3}.counts());
}

TEST_CASE("plans of several kinds share a container", "[schedule][any]") {
  std::vector<any_schedule> plans{uniform{50}, revolve{50, 4}, leaves{50, 5, revolve{10, 2}}, all_tapes(50),
                                  chosen(true, 50)};
  for (auto const& plan : plans) CHECK(verify(plan).reversals == 50);
  plans.front() = plans[1];
  CHECK(verify(plans.front()) == revolve{50, 4}.counts());
}

TEST_CASE("a cursor goes over to a plan of another kind when it is assigned", "[schedule][any]") {
  any_schedule const plans[] = {uniform{40}, revolve{40, 4}, all_tapes(40), leaves{40, 3, uniform{14}}};
  for (auto const& first : plans)
    for (auto const& second : plans)
      for (int const before : {0, 1, 31, 32, 33, 50}) {
        auto cursor = first.walk();
        for (int k = 0; k < before; ++k) (void)cursor.next();
        cursor = second.walk();
        for (auto const& a : actions_of(second)) CHECK(cursor.next() == a);
        auto const& same = cursor;
        cursor = same;
        CHECK(cursor.next() == action{});
      }
}

TEST_CASE("a cursor outlives its plan", "[schedule][any]") {
  auto cursor = [] { return cursor_of<any_schedule>{any_schedule{all_tapes(20)}.walk()}; }();
  for (auto const& a : actions_of(all_tapes(20))) CHECK(cursor.next() == a);
}

TEST_CASE("threads may copy one plan at once", "[schedule][any]") {
  any_schedule const plan = all_tapes(30);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        any_schedule copy = plan;
        auto cursor = copy.walk();
        (void)cursor.next();
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(verify(plan).reversals == 30);
}

TEST_CASE("a list of actions is the schedule that it was written from", "[schedule][listed]") {
  action_list const plan{2,
                    1,
                    {{action_kind::save, tier::memory, content::state, 0, 0, 0},
                     {action_kind::advance, tier::memory, content::state, no_slot, 0, 1},
                     {action_kind::turn, tier::memory, content::state, no_slot, 1, 2},
                     {action_kind::reverse, tier::memory, content::state, no_slot, 1, 2},
                     {action_kind::load, tier::memory, content::state, 0, 0, 0},
                     {action_kind::drop, tier::memory, content::state, 0, 0, 0},
                     {action_kind::reverse, tier::memory, content::state, no_slot, 0, 1}}};
  CHECK(plan.size() == 7);
  CHECK(actions_of(plan) == actions_of(revolve{2, 1}));
  CHECK(verify(plan) == revolve{2, 1}.counts());
}

TEST_CASE("a list ends at its first done", "[schedule][listed]") {
  std::vector<action> all = actions_of(uniform{5});
  auto const length = all.size() - 1;
  all.push_back({action_kind::advance, tier::memory, content::state, no_slot, 0, 1});
  action_list const plan{5, 5, all.data(), all.size()};
  CHECK(plan.size() == length);
  CHECK(actions_of(plan) == actions_of(uniform{5}));
  CHECK(action_list{0, 0, nullptr, 0}.walk().next() == action{});
}

TEST_CASE("a list refuses numbers that no plan has", "[schedule][listed]") {
  CHECK_THROWS_AS((action_list{-1, 0, {}}), invalid_plan);
  CHECK_THROWS_AS((action_list{1, -1, {}}), invalid_plan);
  CHECK_THROWS_AS((action_list{1, 0, {}, {.leaf = 0}}), invalid_plan);
  CHECK_THROWS_AS((action_list{1, 0, {}, {.tapes = -1}}), invalid_plan);
}
