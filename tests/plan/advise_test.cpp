// SPDX-License-Identifier: Apache-2.0
// The advised plan is the cheapest one when all of them are run.
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <vector>
#include <cairn/adapt/threads.hpp>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/overlap.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include "adapt/threads/ahead.hpp"
#include "support/catch.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A loop whose calls are counted, on a store that counts what it is asked for, tier by tier.
struct tally {
  wide steps = 0, records = 0, adjoints = 0;
  wide saves[tier_count] = {}, loads[tier_count] = {};
};
struct counting_store {
  static constexpr bool keeps_frames = true;
  tally* counts;
  memory_store inner{};

  void begin(slot_index slots) { inner.begin(slots); }
  void save(auto& frames, place where, step_index i, frame_id frame) {
    ++counts->saves[std::size_t(where.where)];
    inner.save(frames, where, i, frame);
  }
  frame_id load(auto& frames, place where, step_index i) {
    ++counts->loads[std::size_t(where.where)];
    return inner.load(frames, where, i);
  }
  void drop(auto& frames, place where) { inner.drop(frames, where); }
  frame_id frame(slot_index slot) const { return inner.frame(slot); }
};

double next(double x, step_index i) { return std::sin(x + 0.1 * double(i)); }
double slope(double x, step_index i) { return std::cos(x + 0.1 * double(i)); }

struct tape { double x, x1; };

/// Runs the plan and counts.
double run(any_schedule const& plan, adjoint_form form, tally& counts) {
  counting_store store{&counts};
  auto const step = [&](double& x, step_index i) { ++counts.steps, x = next(x, i); };
  if (form == adjoint_form::leaf)
    return gradient(step, 0.3, plan, 1.0, leaf([&](double x, double& bar, step_index first, step_index last) {
                      std::vector<double> states{x};
                      for (step_index i = first; i + 1 < last; ++i) states.push_back(next(states.back(), i));
                      for (step_index i = last; i-- > first; ++counts.adjoints)
                        bar *= slope(states[std::size_t(i - first)], i);
                    }), store);
  if (form == adjoint_form::recorded) {
    recorded const adjoint{
        [&](double& x, step_index i) {
          double const x0 = x;
          ++counts.records, x = next(x, i);
          return tape{x0, x};
        },
        [&](tape const& kept, double& bar, step_index i) { ++counts.adjoints, bar *= slope(kept.x, i); },
        [](tape const& kept) { return kept.x1; }};
    return gradient(step, 0.3, plan, 1.0, adjoint, store);
  }
  return gradient(
      step, 0.3, plan, 1.0, [&](double x, double& bar, step_index i) { ++counts.adjoints, bar *= slope(x, i); }, store);
}

double executed_seconds(tally const& counts, workload const& work) {
  double sum = double(counts.steps) * work.step_seconds + double(counts.records) * detail::record_seconds(work) +
               double(counts.adjoints) * work.adjoint_seconds;
  for (tier const where : detail::all_tiers)
    sum += double(counts.saves[std::size_t(where)]) * work.tiers[where].write_seconds +
           double(counts.loads[std::size_t(where)]) * work.tiers[where].read_seconds;
  return sum;
}

workload random_workload(std::mt19937& random) {
  auto const pick = [&](auto... all) {
    using value = std::common_type_t<decltype(all)...>;
    value const values[] = {value(all)...};
    return values[random() % sizeof...(all)];
  };
  workload work;
  work.steps = step_index(1 + random() % pick(10u, 40u, 150u));
  work.state_bytes = pick(500u, 1000u, 20'000u);
  work.adjoint_bytes = pick(8u, 1000u, 50'000u);
  work.step_seconds = pick(0.001, 1.0, 7.0);
  work.adjoint_seconds = pick(0.0, 1.0, 3.0);
  work.form.step = pick(step_form::in_place, step_form::by_value);
  work.form.adjoint = pick(adjoint_form::one_step, adjoint_form::leaf, adjoint_form::recorded);
  work.tape_bytes = pick(0u, 400u, 3000u);
  work.tape_step_bytes = pick(10u, 700u, 40'000u);
  if (random() % 2 == 0) work.record_seconds = work.step_seconds * pick(1.0, 1.5, 4.0);
  work.tapes_restart = random() % 2 == 0;
  for (tier const where : {tier::host, tier::disk})
    if (random() % 3 == 0) {
      double const slow = pick(0.01, 0.5, 5.0, 100.0);
      work.tiers[where] = {work.step_seconds * slow, work.step_seconds * slow * pick(0.5, 1.0, 2.0),
                           pick(work.state_bytes * 3, work.state_bytes * 50, unlimited_bytes)};
    }
  return work;
}
byte_size random_budget(std::mt19937& random, workload const& work) {
  double const least = double(detail::smallest_plan(work, "test").cost.memory_bytes);
  double const all = double(estimate(store_all(*work.steps), work).memory_bytes) * 1.2;
  double const share = std::uniform_real_distribution<>{}(random);
  return byte_size{std::uint64_t(least * std::pow(std::max(all / least, 1.0), share) + 1)};
}

/// The clock of a sweep on two threads, action by action. A frame exists as long as a slot, the live state or a
/// reversal that is not over holds it; the helper waits where all exist.
double on_two_threads(any_schedule const& plan, workload const& work) {
  long exist = 0;
  using frame = std::shared_ptr<int>;
  auto const made = [&] { return ++exist, frame{new int{}, [&exist](int* k) { --exist, delete k; }}; };
  long const most = long(plan.slots() + working_frames(work.form, plan.leaf()));
  bool const out = work.form.step != step_form::in_place, records = work.form.adjoint == adjoint_form::recorded;
  std::vector<frame> slots(std::size_t(plan.slots()));
  struct handed { frame state; double done; };
  std::deque<handed> open;
  frame live = made();
  double helper = 0, caller = 0, slower = 1;
  std::size_t const x1 = work.form.adjoint == adjoint_form::with_next ? 1 : 0;
  auto const take = [&] {
    while (open.size() > x1 && (open[x1].done <= helper || exist >= most)) {
      helper = std::max(helper, open[x1].done);
      open.pop_front();
    }
    return made();
  };
  auto const to_write = [&] {
    if (live && live.use_count() == 1) return;
    live.reset();
    live = take();
  };
  auto cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    double const steps = double(a.to - a.from);
    switch (a.kind) {
      case action_kind::advance:
        if (out) {
          frame const source = live;
          live.reset();
          live = take();
          if (a.to - a.from > 1 && source.use_count() > 1) (void)take();
        } else to_write();
        helper += slower * steps * work.step_seconds;
        break;
      case action_kind::turn:
        helper += steps * work.step_seconds, slower = work.form.ahead < 8 ? 1.2 : 1.1;
        if (x1 > 0) open.push_back({made(), helper});
        break;
      case action_kind::save: slots[std::size_t(a.slot)] = live; break;
      case action_kind::drop: slots[std::size_t(a.slot)].reset(); break;
      case action_kind::load:
        if (a.slot != no_slot) live = slots[std::size_t(a.slot)];
        else live.reset(), live = take();
        break;
      case action_kind::reverse:
        if (records) to_write();
        caller = std::max(caller, helper) + steps * (work.adjoint_seconds + (records ? work.step_seconds : 0));
        open.push_back({std::exchange(live, nullptr), caller});
        break;
      default: break;
    }
  }
  return std::max(caller, helper);
}

}  // namespace

TEST_CASE("the advised plan is the cheapest of all planners as they are executed", "[plan][advise]") {
  std::mt19937 random{5};
  std::size_t chosen[planner_count] = {};
  for (int round = 0; round < 100; ++round) {
    auto const work = random_workload(random);
    auto const budget = random_budget(random, work);
    auto const given = advise(budget, work);
    CAPTURE(round, *work.steps, budget.count(), int(work.form.adjoint), name_of(given.best.by));
    std::vector<planned const*> all{&given.best};
    for (auto const& other : given.runners_up) all.push_back(&other);
    double least = -1;
    for (planned const* const plan : all) {
      INFO(name_of(plan->by));
      tally counts;
      CHECK(run(plan->schedule, work.form.adjoint, counts) ==
            run(store_all(*work.steps), adjoint_form::one_step, *std::make_unique<tally>()));
      CHECK(counts.steps + counts.records == plan->cost.step_calls);
      CHECK(counts.adjoints == wide(*work.steps));
      for (std::size_t k = 0; k < tier_count; ++k) {
        CHECK(counts.saves[k] == plan->cost.counts.tiers[k].saves);
        bool const starts_outside = initial_is_free(plan->schedule) && k == 0;
        CHECK((starts_outside ? counts.loads[k] <= plan->cost.counts.tiers[k].loads
                              : counts.loads[k] == plan->cost.counts.tiers[k].loads));
      }
      CHECK(plan->cost.memory_bytes <= budget.count());
      double const seconds = executed_seconds(counts, work);
      CHECK(seconds == Approx(plan->cost.seconds).epsilon(1e-12));
      if (least < 0) least = seconds;
      CHECK(least <= seconds * (1 + 1e-12));
    }
    ++chosen[std::size_t(given.best.by)];
  }
  // The workloads are of all kinds: no planner but store-all's own special cases is never the best.
  CHECK(chosen[std::size_t(planner::revolve)] > 0);
  CHECK(chosen[std::size_t(planner::mixed)] > 0);
  CHECK(chosen[std::size_t(planner::disk_revolve)] + chosen[std::size_t(planner::hrevolve)] > 0);
}

TEST_CASE("no plan of any planner with any number of slots within the budget beats the advised one", "[plan][advise]") {
  std::mt19937 random{11};
  for (int round = 0; round < 40; ++round) {
    auto work = random_workload(random);
    work.steps = 1 + *work.steps % 25;
    auto const budget = random_budget(random, work);
    auto const given = advise(budget, work);
    step_index const n = *work.steps;
    auto const compare = [&](any_schedule const& plan) {
      auto const sum = estimate(plan, work);
      bool fits = sum.memory_bytes <= budget.count();
      for (tier const where : {tier::device, tier::host, tier::disk})
        fits = fits && sum.tier_bytes[std::size_t(where)] <= work.tiers[where].bytes;
      if (!fits) return;
      CAPTURE(round, n, budget.count(), plan.slots(), plan.leaf(), name_of(given.best.by));
      CHECK(given.best.cost.seconds <= sum.seconds * (1 + 1e-12));
    };
    for (step_index leaf = 1; leaf <= (work.form.adjoint == adjoint_form::leaf ? n : 1); ++leaf) {
      step_index const count = detail::leaves_in(n, leaf);
      for (slot_index slots = 0; slots <= count; ++slots) {
        compare(leaves{n, leaf, revolve{count, slots, {.free_initial = true}}});
        if (slots > 0) compare(leaves{n, leaf, revolve{count, slots}});
        if (slots >= detail::least_block_peak(count)) compare(leaves{n, leaf, uniform{count, {.slots = slots}}});
      }
    }
    for (tier const where : {tier::host, tier::disk})
      for (step_index period = 1; period <= n; ++period)
        for (slot_index slots = 0; slots <= n; ++slots)
          if (work.tiers[where].bytes >= work.state_bytes * wide((n + period - 1) / period))
            compare(two_level{n, period, slots, {.periods_on = where}});
    if (work.form.adjoint == adjoint_form::recorded)
      for (slot_index units = 0; units <= 4 * n; ++units)
        for (slot_index tape : {1, 3, 6})
          if (wide(tape) * work.state_bytes >= work.tape_bytes)
            compare(mixed{n, units, {.tape_units = tape, .tapes_restart = work.tapes_restart, .free_initial = true}});
  }
}

TEST_CASE("the clock of two threads waits for frames, and for states", "[plan][advise]") {
  for (auto const form : {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::recorded})
    for (slot_index const slots : {4, 8, 16})
      for (slot_index const ahead : {1, 3})
        for (double const adjoint : {1.5, 4.0}) {
          workload work{.steps = 150, .state_bytes = 8, .step_seconds = 1, .adjoint_seconds = adjoint};
          work.form.adjoint = form, work.form.ahead = ahead;
          revolve const plan{150, slots, {.free_initial = slots > 8}};
          CAPTURE(int(form), slots, ahead, adjoint);
          CHECK(overlapped(plan, work).seconds == Approx(on_two_threads(plan, work)).epsilon(1e-9));
        }
}

TEST_CASE("slots and states ahead are within 3 % of the best division of all", "[plan][advise]") {
  std::mt19937 random{17};
  int helped = 0, alone = 0;
  for (int round = 0; round < 60; ++round) {
    auto work = random_workload(random);
    work.tiers = {}, work.record_seconds = {};
    work.steps = 1 + *work.steps % 60;
    if (work.form.adjoint == adjoint_form::recorded) work.form.adjoint = adjoint_form::with_next, work.tape_bytes = 0;
    work.adjoint_seconds = work.step_seconds * std::uniform_real_distribution<>{0.3, 5}(random);
    auto const budget = random_budget(random, work);
    auto const given = advise(budget, work, {.threads = 2});
    step_index const n = *work.steps;
    double least = advise(budget, work).best.cost.seconds;
    bool const in_place = work.form.step == step_form::in_place;
    for (step_index leaf = 1; leaf <= (work.form.adjoint == adjoint_form::leaf ? n : 1); ++leaf)
      for (slot_index ahead = 1, count = detail::leaves_in(n, leaf); ahead <= count; ++ahead) {
        work.form.ahead = ahead;
        auto const widest = [&](auto const& make) {
          auto const fit = most_slots_within(budget, work, make);
          if (!fit.fits) return;
          auto const plan = make(fit.slots);
          double const seconds = on_two_threads(plan, work);
          if (in_place) CHECK(overlapped(plan, work).seconds == Approx(seconds).epsilon(1e-9));
          else CHECK(overlapped(plan, work).seconds == Approx(seconds).epsilon(0.03));
          least = std::min(least, seconds);
        };
        widest(detail::revolve_factory{n, leaf});
        widest(detail::uniform_factory{n, leaf});
      }
    auto const& best = given.best;
    work.form.ahead = best.with.ahead;
    CAPTURE(round, n, budget.count(), int(work.form.adjoint), int(work.form.step), best.with.slots, best.with.leaf,
            best.with.ahead, work.adjoint_seconds / work.step_seconds);
    CHECK(estimate(best.schedule, work).memory_bytes <= budget.count());
    CHECK(best.cost.seconds <= 1.03 * least);
    if (best.with.ahead > 0) CHECK(best.cost.seconds == Approx(on_two_threads(best.schedule, work)).epsilon(0.03));
    CHECK(best.proof.least_seconds <= best.cost.seconds * (1 + 1e-12));
    ++(best.with.ahead > 0 ? helped : alone);
  }
  CHECK(helped > 10);
  CHECK(alone > 5);
}

TEST_CASE("what is advised for two threads is run so, within the budget", "[plan][advise]") {
  auto const x0 = ahead::begin();
  auto const step = concurrent([](ahead::field const& x, ahead::field& x1, step_index i) { ahead::move(x, x1, i); });
  auto const adjoint = [](ahead::field const& x, ahead::field& bar, step_index i) { bar = ahead::pulled(x, bar, i); };
  auto const seed = [](ahead::field const& x) { return x; };
  workload work{.steps = 400, .state_bytes = bytes_of(x0), .step_seconds = 1e-6, .adjoint_seconds = 2e-6};
  work.state_inline_bytes = sizeof x0, work.form.step = step_form::out_of_place;
  auto const wanted = ahead::gradient_by_hand(400);
  CHECK(parallel::of(work).adjoint_over_step == 2);
  for (int const bytes : {1'000, 4'000, 9'000, 20'000}) {
    CAPTURE(bytes);
    auto const best = advise(byte_size{bytes}, work, {.only = planner::revolve, .threads = 2}).best;
    auto const how = parallel::of(best);
    CHECK(how.ahead == best.with.ahead);
    CHECK((how.threads == 2) == (bytes > 1'000));
    sweep_report report;
    auto const bar = gradient(step, x0, *best.schedule.target<revolve>(), seed, adjoint,
                              ahead::eager{.threads = how.threads, .ahead = how.ahead}, report);
    CHECK(ahead::same(bar, wanted));
    CHECK((report.serial == nullptr) == (how.threads == 2));
    CHECK(report.counted.total() <= wide(bytes));
  }
}

TEST_CASE("over a store behind the sweep, no plan is more than 3 % faster than the advised one", "[plan][advise]") {
  std::mt19937 random{23};
  for (int round = 0; round < 40; ++round) {
    auto work = random_workload(random);
    work.form.adjoint = adjoint_form::one_step;
    work.steps = 2 + *work.steps % 30;
    work.tiers = {}, work.record_seconds = {};
    double const slow = std::uniform_real_distribution<>{0.1, 6}(random) * work.step_seconds;
    work.tiers.disk = {slow, slow, unlimited_bytes};
    behind_options const how{1 + int(random() % 3), 1 + int(random() % 3)};
    auto beside = work;
    beside.file_bytes = wide(how.saves + how.loads + 1) * (work.state_bytes + 24);
    byte_size const budget{random_budget(random, work).count() + std::uint64_t(beside.file_bytes)};
    auto const given = advise(budget, work, {.behind = how});
    step_index const n = *work.steps;
    double least = plan_within(budget, work).cost.seconds;
    auto const compare = [&](any_schedule const& plan) {
      if (estimate(plan, leaves_memory(plan) ? beside : work).memory_bytes <= budget.count())
        least = std::min(least, overlapped(plan, work, how).seconds);
    };
    for (slot_index slots = 0; slots < n; ++slots) {
      for (step_index period = 1; period <= n; ++period) compare(two_level{n, period, slots});
      for (slot_index far = 1; far < n; ++far) compare(multistage{n, slots, far});
      for (double cost = 8; cost > 0.01; cost /= 2)
        compare(disk_revolve{n, slots, {.disk_write = cost, .disk_read = cost}});
    }
    CAPTURE(round, n, budget.count(), slow / work.step_seconds, work.adjoint_seconds / work.step_seconds,
            name_of(given.best.by), given.best.with.slots, given.best.with.period);
    auto const& best = given.best.schedule;
    CHECK(estimate(best, leaves_memory(best) ? beside : work).memory_bytes <= budget.count());
    CHECK(given.best.cost.seconds <= 1.03 * least);
    CHECK(given.best.proof.least_seconds <= given.best.cost.seconds * (1 + 1e-12));
  }
}

TEST_CASE("storing everything is not advised only because it fits", "[plan][advise]") {
  workload work{.steps = 200, .state_bytes = 1000, .step_seconds = 1, .adjoint_seconds = 1};
  CHECK(advise("1MB", work).best.cost.extra_steps == 0);
  work.tiers.memory = {.write_seconds = 3, .read_seconds = 0};  // to keep a state takes longer than to run three steps
  auto const given = advise("1MB", work);
  CHECK(given.best.by == planner::hrevolve);
  CHECK(given.best.cost.saves < 150);
}

TEST_CASE("advice for loops too long to walk needs no tables", "[plan][advise]") {
  for (step_index const n :
       {step_index{1'000'000}, step_index{1'000'000'000'000'000'000}, std::numeric_limits<step_index>::max()}) {
    workload work{.steps = n, .state_bytes = 1'000'000, .step_seconds = 1e-6, .adjoint_seconds = 1e-6};
    work.tiers.disk = {.write_seconds = 1e-4, .read_seconds = 1e-4, .bytes = wide{1} << 50};
    for (auto const form : {adjoint_form::one_step, adjoint_form::leaf, adjoint_form::recorded}) {
      work.form.adjoint = form;
      work.tape_step_bytes = 4000;
      work.tape_bytes = 4000;
      auto const given = advise("8GB", work);
      CHECK(given.best.cost.memory_bytes <= wide{8'000'000'000});
      CHECK(given.best.cost.reversals == wide(n));
      CHECK(given.best.proof.least_step_calls <= given.best.cost.step_calls);
      CHECK(given.best.proof.least_bytes <= given.best.cost.memory_bytes);
      bool said = false;
      for (auto const& skipped : given.skipped) said = said || skipped.reason != skip_reason::budget;
      CHECK(said);
      auto const overlaps = advise("8GB", work, {.threads = 2, .behind = behind_options{}});
      CHECK(overlaps.best.cost.memory_bytes <= wide{8'000'000'000});
      CHECK(overlaps.best.cost.seconds <= 1.001 * given.best.cost.seconds);
    }
  }
}

TEST_CASE("the advice says why in words", "[plan][advise]") {
  workload work{
      .steps = 1000, .state_bytes = 100'000, .adjoint_bytes = 100'000, .step_seconds = 1e-3, .adjoint_seconds = 2e-3};
  work.tiers.disk = {.write_seconds = 2e-3, .read_seconds = 1e-3, .bytes = unlimited_bytes};
  auto const given = advise("2MB", work);
  CHECK(given.best.by == planner::disk_revolve);
  CHECK(given.lead() > 0);
  CHECK_THAT(reason_text(given),
             ContainsSubstring("disk_revolve is predicted to be the fastest: ") && ContainsSubstring("% more."));
  CHECK_THAT(advice_text(given), ContainsSubstring("4.09 s and 1930 step calls") &&
                                     ContainsSubstring("store_all: needs 95.7 MiB at least"));
  CHECK_THAT(reason_text(advise("1GB", {.steps = 5, .state_bytes = 10})), ContainsSubstring("equally good"));
}

TEST_CASE("a workload that cannot be planned is refused by name", "[plan][advise]") {
  CHECK_THROWS_AS(advise("1MB", {}), invalid_plan);
  CHECK_THROWS_WITH(advise("1MB", {}),
                    ContainsSubstring("cairn::advise") && ContainsSubstring("does not say how many steps"));
  CHECK_THROWS_AS(advise("1MB", {.steps = -1}), invalid_plan);
  CHECK_THROWS_AS(advise("1kB", {.steps = 10, .state_bytes = 1000}), infeasible_budget);
  CHECK_THROWS_AS(advise("1MB", {.steps = 10, .state_bytes = 10}, {.leaf = 0}), invalid_plan);
  CHECK_THROWS_WITH(advise("1MB", {.steps = 10, .state_bytes = 10}, {.threads = 2}), ContainsSubstring("step_seconds"));
  CHECK_THROWS_WITH(advise("1MB", {.steps = 10, .state_bytes = 10, .step_seconds = 1}, {.threads = 3}),
                    ContainsSubstring("threads = 3"));
}
