// SPDX-License-Identifier: Apache-2.0
// The work of making a table: it is counted, limited, and stopped while it is under way.
#include <cairn/planning.hpp>
#include <cairn/schedule/online.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

struct table_plan {
  char const* name;
  std::function<any_schedule(work_limit const&)> make;
};
/// Small loops whose plans need a table.
std::vector<table_plan> const small_tables{
    {"multistage",
     [](work_limit const& limit) {
       return multistage{300, 3, 9, {.limit = limit}};
     }},
    {"hrevolve",
     [](work_limit const& limit) {
       return hrevolve{300, {{3}, {9, 2, 1}}, {.limit = limit}};
     }},
    {"hrevolve of unordered tiers",
     [](work_limit const& limit) {
       return hrevolve{300, {{3, 0, 3}, {9, 2, 1}}, {.limit = limit}};
     }},
    {"disk_revolve",
     [](work_limit const& limit) {
       return disk_revolve{300, 3, {.disk_write = 2, .disk_read = 1, .limit = limit}};
     }},
    {"mixed",
     [](work_limit const& limit) {
       return mixed{300, 20, {.tape_units = 2, .limit = limit}};
     }},
    {"mixed that restarts",
     [](work_limit const& limit) {
       return mixed{300, 20, {.tape_units = 2, .tapes_restart = true, .limit = limit}};
     }},
    {"bptt",
     [](work_limit const& limit) {
       return bptt{300, 20, {.tape_units = 2, .limit = limit}};
     }},
    {"runge_kutta",
     [](work_limit const& limit) {
       return runge_kutta{300, 20, {.stages = 2, .limit = limit}};
     }},
};
/// The same with tables that take too long.
std::vector<table_plan> const endless_tables{
    {"multistage",
     [](work_limit const& limit) {
       return multistage{200'000, 3, 100, {.limit = limit}};
     }},
    {"hrevolve",
     [](work_limit const& limit) {
       return hrevolve{200'000, {{3}, {100, 2, 1}}, {.limit = limit}};
     }},
    {"disk_revolve",
     [](work_limit const& limit) {
       return disk_revolve{2'000'000, 3, {.disk_write = 2, .disk_read = 1, .limit = limit}};
     }},
    {"mixed",
     [](work_limit const& limit) {
       return mixed{8'000, 7'000, {.tape_units = 2, .limit = limit}};
     }},
};

bool is_within(table_plan const& plan, wide sums) {
  try {
    (void)plan.make({.most_sums = sums});
    return true;
  } catch (too_much_work const&) {
    return false;
  }
}

bool is_same(any_schedule const& one, any_schedule const& other) {
  auto a = one.walk(), b = other.walk();
  for (;;) {
    action const now = a.next();
    if (now != b.next()) return false;
    if (now.kind == action_kind::done) return true;
  }
}

}  // namespace

TEST_CASE("a table takes so many sums, no fewer are enough, and with as many the plan is the same",
          "[schedule]") {
  for (auto const& plan : small_tables) {
    CAPTURE(plan.name);
    wide few = 0, enough = wide{1} << 40;
    while (enough - few > 1) {
      wide const middle = few + (enough - few) / 2;
      (is_within(plan, middle) ? enough : few) = middle;
    }
    CHECK(enough > 300);
    CHECK(enough < 300 * 300 * 50);
    CHECK(is_same(plan.make({.most_sums = enough}), plan.make({})));
  }
}

TEST_CASE("a table that is too much work is refused in words that name the work and the limit, at once", "[schedule]") {
  for (auto const& plan : endless_tables) {
    CAPTURE(plan.name);
    try {
      (void)plan.make({.most_sums = 15'000'000});
      FAIL("made");
    } catch (too_much_work const& refused) {
      CHECK_THAT(refused.what(), ContainsSubstring("too much work"));
      CHECK_THAT(refused.what(), ContainsSubstring("most sums = 15000000"));
      REQUIRE(refused.value_count() >= 3);
      CHECK(refused.value(1).magnitude > 15'000'000);
      CHECK(refused.value(2).magnitude == 15'000'000);
    }
  }
}

TEST_CASE("a table that is stopped says how much of it was made", "[schedule]") {
  for (auto const& plan : endless_tables) {
    CAPTURE(plan.name);
    CHECK_THROWS_WITH(plan.make({.stop = [](void*, double) { return true; }}),
                      ContainsSubstring("percent of the table = 0"));
  }
}

TEST_CASE("stop is called once in 2^24 sums, in however small parts they come", "[schedule]") {
  int calls = 0;
  work_limit const limit{.stop =
                             [](void* context, double) {
                               ++*static_cast<int*>(context);
                               return false;
                             },
                         .context = &calls};
  detail::work_meter meter{"cairn::test", {"steps", 1}, limit, ""};
  for (int k = 0; k < 16 * 64; ++k) meter.add(wide{1} << 18);
  CHECK(calls >= 14);
  CHECK(calls <= 16);
}

TEST_CASE("as many sums as a limit allows are made and not one more, in however small parts they come", "[schedule]") {
  wide const between_stops = wide{1} << 24;
  for (wide const most : {wide{7}, between_stops, between_stops + 5, 3 * between_stops + 5})
    for (wide const part : {wide{1} << 18, (wide{1} << 22) + 1, most}) {
      CAPTURE(most, part);
      detail::work_meter meter{"cairn::test", {"steps", 9}, {.most_sums = most}, "give less"};
      wide left = most;
      for (; left > part; left -= part) meter.add(part);
      CHECK_NOTHROW(meter.add(left));
      CHECK_FALSE(meter.has_stopped());
      auto const text = [](wide sums) { return std::to_string(std::uint64_t(sums)); };
      CHECK_THROWS_WITH(meter.add(1), ContainsSubstring("(steps = 9, sums made = " + text(most + 1) +
                                                        ", most sums = " + text(most) + ")"));
      CHECK(meter.has_stopped());
      CHECK_THROWS_AS(meter.add(0), too_much_work);  // and from then on
    }
}

TEST_CASE("who stops a table is told how far it is, at most all of it, and is not asked again", "[schedule]") {
  struct asked { double share = 0; int calls = 0; } last;
  work_limit const limit{.stop =
                             [](void* context, double share) {
                               auto& noted = *static_cast<asked*>(context);
                               noted.share = share;
                               return ++noted.calls == 4;
                             },
                         .context = &last};
  detail::work_meter meter{"cairn::test", {"steps", 9}, limit, "give less"};
  wide const enough = (wide{1} << 24) + 1;
  for (double const share : {0.25, 1.5}) {
    meter.add(enough, [share] { return share; });
    CHECK(last.share == (share < 1 ? share : 1));
  }
  meter.add(enough);
  CHECK(last.share < 0);  // unknown
  CHECK_THROWS_WITH(meter.add(enough, [] { return 0.75; }),
                    ContainsSubstring("was stopped") && ContainsSubstring("percent of the table = 75)"));
  CHECK_THROWS_WITH(meter.add(1), !ContainsSubstring("percent") && !ContainsSubstring("most sums"));
  CHECK(last.calls == 4);
}

TEST_CASE("each row of a table is an equal share of it, and half of one, whose numbers take more and more, a quarter",
          "[schedule]") {
  double seen = -1;
  work_limit const limit{.stop =
                             [](void* context, double share) {
                               *static_cast<double*>(context) = share;
                               return false;
                             },
                         .context = &seen};
  detail::row_meter rows{"cairn::test", 1000, 4, limit};
  for (int row = 0; row < 4; ++row) {
    for (step_index const x : {0, 500, 1000}) {
      rows.add((step_index{1} << 24) + 1, x);
      CHECK(seen == (row + (x == 500 ? 0.25 : double(x) / 1000)) / 4);
    }
    rows.end_row();
  }
  CHECK_THROWS_WITH((detail::row_meter{"cairn::test", 1000, 4, {.most_sums = 8}, 9}),
                    ContainsSubstring("(steps = 1000, least sums = 9, most sums = 8)"));
  CHECK_NOTHROW(detail::row_meter{"cairn::test", 1000, 4, {.most_sums = 9}, 9});
}

TEST_CASE("while a table is made, stop is called with how far it is", "[schedule][long]") {
  struct asked {
    std::vector<double> shares;
    std::size_t most;
  };
  auto const stop = [](void* context, double share) {
    auto& so_far = *static_cast<asked*>(context);
    so_far.shares.push_back(share);
    return so_far.shares.size() >= so_far.most;
  };
  for (auto const& plan : endless_tables) {
    CAPTURE(plan.name);
    asked so_far{{}, 5};
    CHECK_THROWS_AS(plan.make({.stop = stop, .context = &so_far}), too_much_work);
    REQUIRE(so_far.shares.size() == 5);
    for (std::size_t k = 0; k < 5; ++k) {
      CHECK(so_far.shares[k] >= (k == 0 ? 0 : so_far.shares[k - 1]));
      CHECK(so_far.shares[k] < 0.5);
    }
    CHECK(so_far.shares.back() > 0);
    work_limit const thrown{.stop = [](void*, double) -> bool { throw std::runtime_error{"out of time"}; }};
    CHECK_THROWS_WITH(plan.make(thrown), "out of time");
  }
}

TEST_CASE("the totals of an online plan are work, which is counted, limited and stopped", "[schedule][long]") {
  constexpr step_index n = 100'000'000;  // that many decisions are seconds
  for (bool const eager : {false, true})
    for (slot_index const slots : {3, 10, 1000}) {
      CAPTURE(eager, slots);
      auto const within = [&](wide sums) { return online{slots, {.eager = eager, .limit = {.most_sums = sums}}}; };
      try {
        (void)within(1'000'000).stopping_at(n).counts();
        FAIL("counted");
      } catch (too_much_work const& refused) {
        CHECK_THAT(refused.what(),
                   Catch::Matchers::StartsWith("cairn::online: the totals of this plan take too much work"));
        CHECK(refused.value(0).magnitude == n);
        CHECK((refused.value(1).magnitude > 1'000'000 && refused.value(1).magnitude < 1'010'000));
        CHECK(refused.value(2).magnitude == 1'000'000);
      }
      CHECK_THROWS_AS(estimate(within(1'000'000).stopping_at(n), {.state_bytes = 8}), too_much_work);
      CHECK_THROWS_AS(estimate(any_schedule{within(1'000'000).stopping_at(n)}), too_much_work);
      // With as many sums as it takes the totals are the same, with one less there are none.
      auto const free = online{slots, {.eager = eager}}.stopping_at(5000).counts();
      wide few = 0, enough = wide{1} << 40;
      while (enough - few > 1) {
        wide const middle = few + (enough - few) / 2;
        try {
          auto const found = within(middle).stopping_at(5000).counts();
          CHECK(found == free);
          enough = middle;
        } catch (too_much_work const&) { few = middle; }
      }
      CHECK(enough > 5000);
      CHECK(enough < 5000 * (512 + 4 * wide(slots)));
    }
  std::vector<double> shares;
  work_limit const asked{.stop =
                             [](void* context, double share) {
                               static_cast<std::vector<double>*>(context)->push_back(share);
                               return share > 0.2;
                             },
                         .context = &shares};
  CHECK_THROWS_WITH(online(10, {.limit = asked}).stopping_at(20'000'000).counts(),
                    ContainsSubstring("the counting of this plan was stopped"));
  REQUIRE(shares.size() > 2);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK((shares.front() > 0 && shares.back() > 0.2 && shares.back() < 0.3));
}

TEST_CASE("planning leaves out tables that are too much work, and returns the best of the others with its gap",
          "[plan]") {
  workload work{
      .steps = 4000, .state_bytes = 1000, .adjoint_bytes = 1000, .step_seconds = 1e-3, .adjoint_seconds = 1e-3};
  work.form = {.step = step_form::in_place, .adjoint = adjoint_form::one_step};
  work.tiers.disk = {.write_seconds = 1e-3, .read_seconds = 1e-3, .bytes = 20'000};
  auto const free = advise("20kB", work), limited = advise("20kB", work, {.limit = {.most_sums = 1000}});
  auto const left_out = [](advice const& given, planner by) {
    for (auto const& skipped : given.skipped)
      if (skipped.by == by) return skipped.reason == skip_reason::work;
    return false;
  };
  for (auto const by : {planner::hrevolve, planner::multistage, planner::disk_revolve}) {
    CAPTURE(name_of(by));
    CHECK_FALSE(left_out(free, by));
    CHECK(left_out(limited, by));
    CHECK_THROWS_AS(advise("20kB", work, {.only = by, .limit = {.most_sums = 1000}}), too_much_work);
  }
  CHECK(limited.best.cost.seconds >= free.best.cost.seconds);
  CHECK(limited.best.proof.seconds_gap() >= 0);
  CHECK(limited.best.proof.least_seconds > 0);
}
