// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_plan.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>
#include <cairn/plan/chain/replay.hpp>

namespace sequential_planner_tests {

using at::Tensor;
using cairn::action;
using cairn::action_kind;
using cl::checkpoint_sequential;
using cl::CheckpointedSequentialOptions;
using cl::SequentialPlans;
using cairn::step_index;
using cl::detail::bytes_held;
using cl::detail::limit_planner;
using cl::detail::measured_stages;
using support::message_of;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

/// Bytes that a plan holds at most, by sets of what there is: an account of the test's own.
std::int64_t bytes_by_sets(measured_stages const& measured, std::vector<action> const& actions) {
  auto const& work = measured.work;
  std::set<step_index> states, tapes;
  step_index adjoint = 0, last = -1;
  std::set<step_index> begins;
  std::int64_t peak = 0;
  auto const live = [&](std::int64_t working) {
    std::int64_t sum = working + (adjoint > 0 ? work.g[std::size_t(adjoint)] : 0);
    for (auto const i : states) sum += work.x[std::size_t(i)];
    for (auto const i : tapes) sum += work.s[std::size_t(i)];
    peak = std::max(peak, sum);
  };
  for (auto const& a : actions) {
    REQUIRE(a.where == cairn::tier::memory);  // a chain of tensors has no tiers
    auto const i = std::size_t(a.from);
    bool const runs = a.kind == action_kind::advance || a.kind == action_kind::record;
    if (runs && (a.from == 0 || last != a.from - 1)) begins.insert(a.from);
    switch (a.kind) {
      case action_kind::advance:
        states.insert(a.from + 1);
        live(measured.bare[i]);
        break;
      case action_kind::record:
        tapes.insert(a.from);
        live(measured.recording[i]);
        states.erase(a.from + 1);
        break;
      case action_kind::drop:
        (a.what == cairn::content::tape ? tapes : states).erase(a.from);
        break;
      case action_kind::turn:
        live(work.b[i]);
        states.erase(a.from);
        adjoint = a.from;
        break;
      case action_kind::reverse:
        live(work.b[i]);
        tapes.erase(a.from);
        states.erase(a.from + 1);
        adjoint = a.from;
        live(0);
        break;
      default:
        FAIL("a chain of tensors saves and loads nothing");
    }
    if (runs) last = a.from;
    if (a.kind == action_kind::turn || a.kind == action_kind::reverse) last = -1;
  }
  return peak + (std::int64_t(begins.size()) + 1) * measured.generator;
}

/// As if stages had been measured, in numbers drawn at random.
struct drawn {
  std::mt19937_64 source;
  std::int64_t up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>{0, most}(source); }

  /// \param alike  whether a run that is recorded and one that is not work with the same bytes, and generators have
  /// none
  measured_stages measures(std::int64_t count, bool alike) {
    nn::Sequential net;
    for (std::int64_t i = 0; i < count; ++i) net->push_back(nn::Tanh());
    measured_stages found{cl::detail::stages_of(*net), torch::ones({2}, torch::requires_grad()),
                          cl::Rng::Preserve};
    auto& work = found.work;
    std::int64_t const larger = up_to(3);  // what most bytes are of
    for (std::size_t i = 0; i <= std::size_t(count); ++i) {
      work.x[i] = i == std::size_t(count) ? 0 : 1 + up_to(larger == 0 ? 200 : 20);
      work.g[i] = i == std::size_t(count) ? 0 : up_to(2 * work.x[i]);
      work.b[i] = i == std::size_t(count) ? 0 : up_to(larger == 1 ? 100 : 10);
    }
    for (std::size_t i = 0; i < std::size_t(count); ++i) {
      work.s[i] = work.x[i + 1] + up_to(larger == 2 ? 200 : 40);
      found.recording[i] = up_to(larger == 3 ? 200 : 20);
      found.bare[i] = alike ? found.recording[i] : up_to(larger == 3 ? 400 : 40);
      work.f[i] = std::max(found.recording[i], found.bare[i]);
      work.u[i] = 1 + up_to(30);
      work.v[i] = 1 + up_to(30);
    }
    found.generator = alike ? 0 : up_to(2) * 20;
    return found;
  }
};
std::int64_t time_of(measured_stages const& measured, std::vector<action> const& actions) {
  return cairn::replay(measured.work, actions).makespan;
}

TEST_CASE("what a plan for a Sequential is said to hold is what an account by sets says", "[torch][sequential]") {
  drawn chains{std::mt19937_64{1}};
  for (int round = 0; round < 60; ++round) {
    auto const measured = chains.measures(1 + round % 7, false);
    for (std::int64_t segments = 1; segments <= std::int64_t(measured.stages.size()); ++segments) {
      auto const plan = cl::detail::plan_segments(
          measured.stages, cairn::block_plan::balanced(step_index(measured.stages.size()), segments));
      REQUIRE(bytes_held(measured, plan.actions) == bytes_by_sets(measured, plan.actions));
    }
    limit_planner planner{measured};
    auto const least = planner.least();
    for (int k = 0; k < 5; ++k) {
      auto const plan = planner.within(least + k * 40);
      REQUIRE(bytes_held(measured, plan) == bytes_by_sets(measured, plan));
    }
  }
}

TEST_CASE(
    "a plan for a limit keeps within it, and where runs work alike it is the fastest and the least is the true one",
    "[torch][sequential]") {
  drawn chains{std::mt19937_64{2}};
  bool const alike = GENERATE(true, false);
  double slower = 0, cases = 0;
  for (int round = 0; round < 80; ++round) {
    auto const measured = chains.measures(2 + round % 6, alike);
    limit_planner planner{measured};
    auto const least = planner.least();
    auto few = measured.work, many = measured.work;  // working bytes
    few.f = measured.recording;
    for (std::size_t i = 0; i < few.f.size(); ++i) few.f[i] = std::min(measured.recording[i], measured.bare[i]);
    cairn::chain_planner lower{few, {.by = cairn::chain_method::persistent}},
        upper{many, {.by = cairn::chain_method::persistent}}, fastest{many};
    auto const all_generators = (std::int64_t(measured.stages.size()) + 1) * measured.generator;
    CAPTURE(round, least, lower.least_bytes(), upper.least_bytes(), measured.generator);
    REQUIRE(least >= lower.least_bytes() + std::min<std::int64_t>(2, all_generators) * measured.generator);
    REQUIRE(least <= upper.least_bytes() + all_generators);
    if (alike) REQUIRE(least == lower.least_bytes());
    for (int k = 0; k <= 8; ++k) {
      auto const limit = least + std::max<std::int64_t>(0, fastest.store_all_peak() - least) * k / 8;
      auto const plan = planner.within(limit);
      REQUIRE(bytes_by_sets(measured, plan) <= limit);
      auto const sure = limit - all_generators;  // as if each stage needed a state of the generators
      if (sure < upper.least_bytes()) continue;
      auto const known = fastest.plan(sure).actions;
      if (!cl::detail::keeps_states_of_tapes(known, step_index(measured.stages.size())))
        continue;  // tensors cannot obey it
      double const time = double(time_of(measured, plan)), best = double(time_of(measured, known));
      if (alike) REQUIRE(time == best);
      slower += time / best;
      ++cases;
    }
  }
  REQUIRE(cases > 100);
  CAPTURE(slower / cases);
  CHECK(slower / cases <= 1.0);
}

TEST_CASE("the least that is named is within three hundredths of the best of many plans", "[torch][sequential]") {
  drawn chains{std::mt19937_64{4}};
  double named = 0, bests = 0;
  for (int round = 0; round < 100; ++round) {
    auto const measured = chains.measures(3 + round % 5, false);
    auto few = measured.work;
    few.f = measured.recording;
    std::int64_t best = limit_planner{measured}.least();
    named += double(best);
    for (auto const& work : {few, measured.work}) {
      cairn::chain_planner planner{work, {.by = cairn::chain_method::persistent}};
      auto const fewest = planner.least_bytes();
      for (auto budget = fewest; budget <= fewest + fewest / 4; budget += std::max<std::int64_t>(1, fewest / 64)) {
        auto const plan = planner.plan(budget).actions;
        if (cl::detail::keeps_states_of_tapes(plan, step_index(measured.stages.size())))
          best = std::min(best, bytes_by_sets(measured, plan));
      }
    }
    bests += double(best);
  }
  CAPTURE(named / bests);
  CHECK(named / bests <= 1.03);
}

/// Small tensors beside which the states of the generators are all that weighs.
nn::Sequential small_net() {
  nn::Sequential net;
  for (int k = 0; k < 10; ++k) {
    net->push_back(nn::Linear(8, 8));
    net->push_back(nn::Dropout(0.5));
  }
  return net;
}

TEST_CASE("a limit holds where the states of generators are most of what a plan holds", "[torch][sequential]") {
  seeded const seed{3};
  auto net = small_net();
  auto const x = torch::randn({32, 8});
  auto const options = [](std::int64_t limit) { return CheckpointedSequentialOptions().memory_limit(limit); };
  auto const refused = message_of([&] { (void)checkpoint_sequential(net, 0, x, options(1)); });
  auto const at = refused.find("least = ");
  REQUIRE(at != std::string::npos);
  std::int64_t const least = std::stoll(refused.substr(at + 8));
  std::int64_t callers = 4 * 32 * 8 * 4;
  for (auto const& p : net->parameters()) callers += std::int64_t(p.nbytes());
  std::int64_t highest = 0;
  for (std::int64_t limit = least; limit < least + 30'000; limit += 1'000) {
    cl::byte_meter const meter;
    checkpoint_sequential(net, 0, x, options(limit)).sum().backward();
    (void)take_grads(net->parameters());
    INFO("limit " << limit << ", least " << least);
    REQUIRE(meter.peak() <= limit + callers);
    highest = std::max(highest, meter.peak());
  }
  CHECK(highest > least);
}

TEST_CASE("a second backward of a retained graph takes the output beside the limit, and no more",
          "[torch][sequential]") {
  seeded const seed{5};
  auto const w = torch::ones({1}, torch::requires_grad());
  nn::Sequential net(nn::Functional([w](Tensor const& t) { return t * w; }));
  for (int k = 0; k < 16; ++k) net->push_back(nn::Tanh());
  net->push_back(nn::Functional([](Tensor const& t) { return torch::cat({t, t}, 1).sigmoid(); }));
  auto const x = torch::randn({256, 64}), bar = torch::ones({256, 128});
  measured_stages const measured{cl::detail::stages_of(*net), x, cl::Rng::Preserve};
  std::int64_t const least = std::max(limit_planner{measured}.least(), measured.measuring_peak),
                     most = measured.plain_peak;
  std::int64_t const output = 256 * 128 * 4;
  std::int64_t const callers = output + 64;
  std::int64_t beyond = 0;
  REQUIRE(least < most);
  for (int k = 0; k < 4; ++k) {
    auto const limit = least + (most - least) * k / 4;
    cl::byte_meter meter;
    auto const y = checkpoint_sequential(net, 0, x, CheckpointedSequentialOptions().memory_limit(limit));
    (void)torch::autograd::grad({y}, {w}, {bar}, true);
    CAPTURE(limit, least, most);
    CHECK(meter.peak() <= limit + callers);
    for (int again = 0; again < 2; ++again) {
      meter.reset_peak();
      (void)torch::autograd::grad({y}, {w}, {bar}, true);
      CHECK(meter.peak() <= limit + callers + output);
      beyond = std::max(beyond, meter.peak() - limit - callers);
    }
  }
  CHECK(beyond > 0);  // what the options say of it is true
}

TEST_CASE("a place for plans gives none whose modules are gone, one of several included", "[torch][sequential]") {
  SequentialPlans plans{8};
  std::vector<std::int64_t> const key{1, 2, 3}, other{4, 5, 6};
  auto const stays = std::make_shared<nn::TanhImpl>();
  auto goes = std::make_shared<nn::TanhImpl>();
  plans.keep({key, {stays, goes}, {false}, {}});
  plans.keep({other, {stays}, {true}, {}});
  REQUIRE(plans.find(key));
  REQUIRE(plans.find(other));
  CHECK(plans.find(other)->joins == std::vector<bool>{true});
  goes.reset();  // another module may stand at its address from now on
  CHECK_FALSE(plans.find(key));
  CHECK(plans.find(other));
  CHECK(plans.size() == 1);
  CHECK(plans.made() == 2);
}

TEST_CASE("the plan of a module that is gone makes room at the next look", "[torch][sequential]") {
  auto const plans = std::make_shared<SequentialPlans>(8);
  auto const x = torch::randn({8, 8});
  auto const options = CheckpointedSequentialOptions().memory_limit("1MB").plans(plans);
  nn::Linear shared(8, 8);
  for (int k = 0; k < 3; ++k)
    (void)checkpoint_sequential(nn::Sequential(shared, nn::Tanh()), 0, x, options);  // each time another Tanh
  nn::Sequential const net(shared, nn::Sigmoid());
  (void)checkpoint_sequential(net, 0, x, options);
  CHECK(plans->size() == 1);
  CHECK(plans->made() == 4);
}

}  // namespace sequential_planner_tests
