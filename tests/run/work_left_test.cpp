// SPDX-License-Identifier: Apache-2.0
// What an event knows of the work that is left, against the actions that come after it, counted one by one.
#include <cairn/cairn.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/trace/progress.hpp>

#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

/// Everything that was seen of a sweep: each action, when, and the work left then.
struct seen_event {
  action what;
  moment when;
  std::optional<sweep_work> left;
};
struct recorder {
  std::vector<seen_event>& all;
  void operator()(event const& e) const { all.push_back({e.what(), e.moment(), e.work_left()}); }
};

/// Counted by hand, with no line of the library's.
void add(wide& runs, wide& reversals, action const& a) {
  using enum action_kind;
  if (a.kind == advance || a.kind == turn || a.kind == record) runs += wide(a.to - a.from);
  if (a.kind == reverse) reversals += wide(a.to - a.from);
}
/// \param from  the first event at which the work left is known
void check_left(std::vector<seen_event> const& all, std::size_t from = 0) {
  wide runs = 0, reversals = 0;
  for (std::size_t k = all.size(); k-- > from;) {
    if (all[k].when == moment::before) add(runs, reversals, all[k].what);
    CAPTURE(k, all.size(), int(all[k].what.kind));
    REQUIRE(all[k].left);
    REQUIRE(*all[k].left == sweep_work{runs, reversals});
  }
}

auto const step = [](double& x, step_index i) { x += 0.1 * x * double(i % 3); };
auto const adjoint = [](double, double& bar, step_index i) { bar += 0.1 * bar * double(i % 3); };
auto const record_step = [](double& x, step_index i) {
  step(x, i);
  return i;
};
auto const reverse_tape = [](step_index tape, double& bar, step_index i) { adjoint(0.0, bar, tape == i ? i : -1); };

}  // namespace

TEST_CASE("every event of a gradient knows the work that is left, with every plan") {
  for (step_index const n : {0, 1, 2, 7, 23})
    each_in_memory(n, [&](std::string const& name, auto const& given) {
      any_schedule const plan{given};
      if (plan.leaf() > 1 || tapes_restart(plan)) return;
      CAPTURE(name);
      std::vector<seen_event> all;
      if (tapes_of(plan) > 0)
        (void)gradient(step, 1.0, plan, 1.0, recorded{record_step, reverse_tape}, recorder{all});
      else (void)gradient(step, 1.0, plan, 1.0, adjoint, recorder{all});
      check_left(all);
      CHECK(*all.front().left == work_of(plan));
      CHECK(*all.front().left == work_of(given));
      if (tapes_of(plan) == 0) {
        auto const cost = estimate(plan);
        CHECK(work_of(plan) == sweep_work{cost.step_calls, wide(n)});
      }
    });
}

TEST_CASE("the work that is left counts leaves by their steps") {
  leaves const plan{40, 3, revolve{14, 3}};
  std::vector<seen_event> all;
  auto const leaf = [](double x, double& bar, step_index first, step_index last) {
    for (auto i = last; i-- > first;) adjoint(x, bar, i);
  };
  (void)gradient(step, 1.0, plan, 1.0, leaf, recorder{all});
  check_left(all);
  CHECK(all.front().left->reversals == 40);
}

TEST_CASE("a run that is kept knows the work that is left of each reversal") {
  revolve const plan{50, 4};
  std::vector<seen_event> all;
  auto run = checkpointed_loop(step, 1.0, plan, recorder{all});
  REQUIRE(!all.empty());
  (void)run.reverse(1.0, adjoint);
  check_left(all);
  all.clear();
  (void)run.reverse(1.0, adjoint);
  check_left(all);
  CHECK(all.front().left->reversals == 50);
}

TEST_CASE("a loop of unknown length knows the work that is left as soon as it has ended") {
  for (bool const in_place : {true, false}) {
    CAPTURE(in_place);
    std::vector<seen_event> all;
    auto const go_on = [](double, step_index i) { return i < 37; };
    auto const check = [&](auto run) {
      CHECK(run.steps() == 37);
      auto const forward = all.size();
      for (auto const& one : all) CHECK_FALSE(one.left);
      (void)run.reverse(1.0, adjoint);
      check_left(all, forward);
      CHECK(all[forward].left->reversals == 37);
    };
    auto const by_value = [](double x, step_index i) { return step(x, i), x; };
    if (in_place) check(checkpointed_while(step, 1.0, go_on, online{4}, recorder{all}));
    else check(checkpointed_while(by_value, 1.0, go_on, online{4}, recorder{all}));
  }
}

TEST_CASE("a sweep that goes on knows what is left of it, and not of the first plan") {
  revolve const plan{60, 5};
  auto work = workspace_for<double>(plan);
  resume_point<double> noted{60, 1.0};
  auto const stops = hooked(adjoint, [&](double, double bar, step_index i) {
    noted = {i, bar};
    if (i == 31) throw std::runtime_error{"stop"};
  });
  std::vector<seen_event> all;
  CHECK_THROWS_AS(gradient(step, 1.0, plan, 1.0, stops, work, recorder{all}), std::runtime_error);
  all.clear();
  (void)resume(step, 1.0, plan, noted, adjoint, work, recorder{all});
  check_left(all);
  CHECK(all.front().left->reversals == 31);
}

TEST_CASE("a chain knows the work that is left in stages") {
  std::vector<std::size_t> const lengths(9, 3);
  for (std::uint64_t from = 0; from < 5; ++from) {
    auto all_stages = chain_stages::net<chain_stages::by_value>(lengths);
    std::vector<seen_event> all;
    (void)chain_gradient(all_stages, chain_stages::start(lengths[0]), chain_stages::split_plan{8, from, false}.actions,
                         chain_stages::seed, recorder{all});
    check_left(all);
    CHECK(all.front().left->reversals == 8);
  }
}
