// SPDX-License-Identifier: Apache-2.0
// The replay check of chains: a stage that is not a function of its state is found wherever a plan runs it again, and
// no other is accused.
#include <cairn/run/chain.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/core/detail/state_hash.hpp>
#include <cairn/plan/chain/chain_planner.hpp>

#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/planted_faults.hpp"

using namespace chain_stages;
using cairn::replay_check;
using cairn::step_index;
using namespace cairn::chain_actions;

namespace {

using actions = std::vector<action>;

constexpr replay_check both[] = {replay_check::checkpoints, replay_check::every_step};

/// Stages whose number k returns something else from its second run on.
struct moody {
  int stage = 0;       ///< which one
  bool in_record = false;  ///< record alone does, forward never
  std::map<step_index, int> runs;

  [[nodiscard]] vec forward(vec const& x, step_index i) { return run_once(x, i, false); }
  [[nodiscard]] vec run_once(vec const& x, step_index i, bool records) {
    vec y = run(x, 3, weight(std::size_t(i)));
    if (i == stage && (in_record ? records : runs[i]++ > 0)) y[1] += 1e-14 * (1 + y[1] * y[1]);
    return y;
  }
  struct kept {
    vec input, output;
  };
  [[nodiscard]] kept record(vec const& x, step_index i) { return {x, run_once(x, i, true)}; }
  [[nodiscard]] static vec const& output(kept const& tape) { return tape.output; }
  [[nodiscard]] vec backward(kept const& tape, vec const& bar, step_index i) const {
    double w_bar = 0;
    return pull(tape.input, bar, weight(std::size_t(i)), w_bar);
  }
};

/// A plan that runs stage k by forward and later records it.
bool records_again(actions const& plan, step_index k) {
  bool ran = false;
  for (auto const& a : plan) {
    if (a.from != k) continue;
    if (a.kind == cairn::action_kind::record && ran) return true;
    ran = ran || a.kind == cairn::action_kind::advance;
  }
  return false;
}

std::optional<cairn::nondeterminism_error> found(moody stage, int stages, actions const& plan, replay_check mode) {
  try {
    (void)cairn::chain_gradient(cairn::indexed_stages{stages, std::move(stage)}, start(3), plan, seed,
                                cairn::sweep_options{.verify = mode});
    return {};
  } catch (cairn::nondeterminism_error const& e) { return e; }
}

}  // namespace

TEST_CASE("a stage of a chain that is not a function of its state is found in every plan that runs it again",
          "[run][chain][replay]") {
  planted_faults faults;
  for (int const stages : {1, 2, 3, 6, 11})
    for (std::uint64_t k = 0; k < 24; ++k) {
      actions const plan = k % 2 == 0 ? split_plan{stages, k, true}.actions : wild_plan(stages, k, 6 * stages, true);
      auto const runs = runs_of(plan, stages);
      for (int bad = 0; bad < stages; ++bad) {
        CAPTURE(stages, k, bad);
        auto const exact = found({.stage = bad, .runs = {}}, stages, plan, replay_check::every_step);
        auto const ranged = found({.stage = bad, .runs = {}}, stages, plan, replay_check::checkpoints);
        faults.hold(bad, runs[std::size_t(bad)], exact, ranged);
      }
    }
  CHECK(faults.found > 300);
  CHECK(faults.unseen > 50);
}

TEST_CASE("a record that gives other bits than forward is found", "[run][chain][replay]") {
  int planted = 0;
  for (std::uint64_t k = 0; k < 30; ++k) {
    auto const plan = split_plan{7, k, true}.actions;
    for (int bad = 0; bad < 7; ++bad) {
      CAPTURE(k, bad);
      for (auto const mode : both)
        REQUIRE(found({.stage = bad, .in_record = true, .runs = {}}, 7, plan, mode).has_value() ==
                records_again(plan, bad));
      planted += records_again(plan, bad) ? 1 : 0;
    }
  }
  CHECK(planted > 50);
}

TEMPLATE_TEST_CASE("chains whose stages are functions pass the replay check with the bits of storing everything",
                   "[run][chain][replay]", by_value, in_place, with_output, taped, self_contained) {
  constexpr bool alone = std::is_same_v<TestType, self_contained>;
  std::mt19937_64 numbers{5};
  for (int const stages : {0, 1, 2, 5, 9})
    for (int repeat = 0; repeat < 20; ++repeat) {
      auto const lengths = random_lengths(stages, 9, numbers);
      stored const expected{lengths};
      auto const from = numbers();
      for (auto const& plan :
           {split_plan{stages, from, alone}.actions, wild_plan(stages, from, int(8 * stages), alone)})
        for (auto const mode : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
          auto all = net<TestType>(lengths);
          REQUIRE(cairn::chain_gradient(all, start(lengths[0]), plan, seed, cairn::sweep_options{.verify = mode}) ==
                  expected.gradient);
          std::vector<cairn::any_stage> any;
          for (auto const& stage : net<TestType>(lengths)) any.emplace_back(stage);
          auto const bar =
              cairn::chain_gradient(any, start(lengths[0]), plan, seed, cairn::sweep_options{.verify = mode});
          REQUIRE(bar.template get<vec>() == expected.gradient);
        }
    }
}

namespace {

struct number_stage {
  int* runs;
  [[nodiscard]] double forward(double x) const { return ++*runs == 4 ? 0.0 : x * -0.0; }
  [[nodiscard]] double backward(double, double bar) const { return bar; }
};
struct single {
  std::unique_ptr<double> value;
};
struct to_single {
  [[nodiscard]] single forward(double x) const { return {std::make_unique<double>(x)}; }
  [[nodiscard]] double backward(double, double bar) const { return bar; }
};
struct of_single {
  [[nodiscard]] double forward(single const& x) const { return *x.value; }
  [[nodiscard]] double backward(single const&, double bar) const { return bar; }
};

/// Keeps states, and returns the chosen one with another bit.
struct forgetful_store {
  step_index spoils = -1;
  std::map<std::pair<cairn::tier, step_index>, vec> all;
  void save(cairn::tier where, step_index i, vec const& x) { all[{where, i}] = x; }
  [[nodiscard]] vec load(cairn::tier where, step_index i) {
    vec x = all.at({where, i});
    if (i == spoils) x[0] += 1e-15;
    return x;
  }
  void drop(cairn::tier where, step_index i) { all.erase({where, i}); }
};

}  // namespace

TEST_CASE("the replay check of a chain compares bits: -0.0 is not 0.0", "[run][chain][replay]") {
  // The fourth run is stage 0 again, which gave -0.0 at first.
  actions const plan{advance(0), advance(1), turn(2), record(1),
                     reverse(1), record(0), reverse(0)};
  for (auto const mode : both) {
    int runs = 0;
    std::tuple stages{number_stage{&runs}, number_stage{&runs}};
    CHECK_THROWS_WITH(cairn::chain_gradient(stages, 1.0, plan, 1.0, cairn::sweep_options{.verify = mode}),
                      Catch::Matchers::ContainsSubstring("(state = 1, step = 0)"));
    runs = 10;
    CHECK_NOTHROW(cairn::chain_gradient(stages, 1.0, plan, 1.0, cairn::sweep_options{.verify = mode}));
  }
}

TEST_CASE("a state that a chain's store gives back with other bits is found", "[run][chain][replay]") {
  actions const plan{advance(0), save(1, cairn::tier::disk), record(1), drop(1),
                     turn(2), load(1, cairn::tier::disk), reverse(1),
                     drop(1, cairn::tier::disk), record(0), reverse(0)};
  std::vector<std::size_t> const lengths{3, 4, 2};
  stored const expected{lengths};
  for (auto const mode : both)
    for (step_index const spoils : {-1, 1}) {
      auto all = net<by_value>(lengths);
      forgetful_store store{spoils, {}};
      auto const sweep = [&] {
        return cairn::chain_gradient(all, start(3), plan, seed, store, cairn::sweep_options{.verify = mode});
      };
      if (spoils < 0) CHECK(sweep() == expected.gradient);
      else CHECK_THROWS_WITH(sweep(), Catch::Matchers::ContainsSubstring("is not what was kept (state = 1)"));
    }
}

TEST_CASE("states of any_stage whose bytes are not known are refused by the replay check in words",
          "[run][chain][replay]") {
  std::vector<cairn::any_stage> all;
  all.emplace_back(to_single{});
  all.push_back(cairn::any_stage::taking<single, double>(of_single{}));
  auto const plan = store_all(2);
  CHECK(cairn::chain_gradient(all, 2.0, plan, 1.0).get<double>() == 1.0);
  CHECK_THROWS_AS(cairn::chain_gradient(all, 2.0, plan, 1.0, cairn::sweep_options{.verify = replay_check::every_step}),
                  cairn::invalid_call);
  CHECK(cairn::chain_gradient(all, 2.0, plan, 1.0, cairn::sweep_options{}).get<double>() == 1.0);
}

namespace {
/// A value of whose bytes a member is left out, and its store.
class half_told {
 public:
  double u = 0.7, speed = 1;
  void visit_buffers(auto& f) const { cairn::visit_buffers(u, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(u, f); }
};
template <bool Complete>
struct half_store {
  std::map<step_index, half_told> all;
  void save(cairn::tier, step_index i, half_told const& x) { all[i] = x; }
  void save(cairn::tier, step_index i, cairn::stage_view x) { all[i] = x.get<half_told>(); }
  template <class State>
  [[nodiscard]] State load(cairn::tier, step_index i) {
    half_told x = all.at(i);
    if (!Complete) x.speed = 1;
    return State(x);
  }
  void drop(cairn::tier, step_index i) { all.erase(i); }
};
struct slower {
  int* runs;
  [[nodiscard]] half_told forward(half_told const& x) const {
    ++*runs;
    half_told y;
    y.u = x.speed * x.u, y.speed = 0.5 * x.speed;
    return y;
  }
  [[nodiscard]] static double backward(half_told const& x, double bar) { return bar * x.speed; }
};
}  // namespace
TEST_CASE("a chain's store that leaves out a member is found, where nothing runs again", "[run][chain][replay]") {
  actions const plan{advance(0), save(1, cairn::tier::disk), record(1), drop(1),
                     turn(2), load(1, cairn::tier::disk), reverse(1),
                     drop(1, cairn::tier::disk), drop(1), record(0), reverse(0)};
  auto const check = [&](auto make) {
    for (auto const mode : both) {
      int runs = 0;
      auto stages = make(slower{&runs});
      half_store<true> right;
      half_store<false> wrong;
      auto const plain = cairn::chain_gradient(stages, half_told{}, plan, 1.0, right);
      int const calls = std::exchange(runs, 0);
      auto const checked =
          cairn::chain_gradient(stages, half_told{}, plan, 1.0, right, cairn::sweep_options{.verify = mode});
      if constexpr (std::is_same_v<decltype(plain), double const>) CHECK(plain == checked);
      else CHECK(plain.template get<double>() == checked.template get<double>());
      CHECK(runs == calls + 1);
      CHECK_THROWS_WITH(
          cairn::chain_gradient(stages, half_told{}, plan, 1.0, wrong, cairn::sweep_options{.verify = mode}),
          Catch::Matchers::ContainsSubstring("brought back and run on") &&
              Catch::Matchers::ContainsSubstring("(state = 2, step = 1)"));
    }
  };
  check([](slower one) { return std::vector{one, one}; });
  check([](slower one) { return std::tuple{one, one}; });
  check([](slower one) {
    std::vector<cairn::any_stage> all;
    all.push_back(cairn::any_stage::taking<half_told, double>(one));
    all.push_back(cairn::any_stage::taking<half_told, double>(one));
    return all;
  });
}
