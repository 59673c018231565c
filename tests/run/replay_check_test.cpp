// SPDX-License-Identifier: Apache-2.0
// The replay check in the executors: steps that hide something are found for every schedule, and others give the bits
// that they give without it.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include "support/catch.hpp"
#include "support/every_tier.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"
#include "support/tiered_store.hpp"
#include "support/toy_stores.hpp"

using namespace cairn;

namespace {

constexpr replay_check modes[] = {replay_check::checkpoints, replay_check::every_step};

struct named_plan {
  std::string name;
  any_schedule plan;
};
std::vector<named_plan> plans_of(step_index n) {
  std::vector<named_plan> all;
  each_as_any(n, [&](std::string const& name, auto const& plan) { all.push_back({name, plan}); });
  return all;
}
bool needs_recording(auto const& plan) { return tapes_of(plan) > 0 || tapes_restart(plan); }

struct step_tape {
  pendulum::numbers before, after;
};
/// An adjoint that records by `step`, and can restart.
template <class Step>
auto recording(Step& step) {
  auto const record = [&step](pendulum::state& x, step_index i) {
    auto before = x.v;
    step(x, i);
    return step_tape{std::move(before), x.v};
  };
  auto const reverse = [](step_tape const& tape, pendulum::numbers& bar) { pendulum::swing_back(tape.before, bar); };
  auto const restart = [](step_tape const& tape) { return pendulum::state{tape.after}; };
  return recorded{std::move(record), reverse, restart};
}

/// Calls use(adjoint) for every form that a plan can be run with.
template <class Step, class Use>
void each_adjoint(any_schedule const& plan, Step& step, Use use) {
  if (!needs_recording(plan)) {
    use(pendulum::leaf{});
    if (plan.leaf() == 1) {
      use(pendulum::one_step{});
      use(pendulum::with_next{});
    }
  }
  if (plan.leaf() == 1) use(recording(step));
}

template <class Step>
void check_sound(any_schedule const& plan, pendulum::stored const& all, sweep_options options) {
  Step step;
  pendulum::in_place record;
  each_adjoint(plan, record, [&](auto const& adjoint) {
    pendulum::step_calls = 0;
    toys::every_tier memory;
    CHECK(gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, memory) == all.gradient);
    long const calls = std::exchange(pendulum::step_calls, 0);
    CHECK(gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, memory, options) == all.gradient);
    CHECK(pendulum::step_calls == calls);
    toys::serialising bytes;
    CHECK(gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, bytes, options) == all.gradient);
    toys::late later;
    CHECK(gradient(
              step, pendulum::start(), plan, pendulum::seed, adjoint, later, [](event const&) {}, options) ==
          all.gradient);
  });
  if (needs_recording(plan)) return;
  toys::every_tier memory;
  auto run = checkpointed_loop(step, pendulum::start(), plan, memory, options);
  auto const has_states = [&](step_index stride) {
    for (step_index i = 0; i <= plan.steps(); i += stride) CHECK(run.at(i).v == all.states[std::size_t(i)]);
  };
  has_states(5);
  for (int time = 0; time < 2; ++time) CHECK(run.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
  has_states(3);
  if (plan.leaf() > 1) return;
  CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
  for (int time = 0; time < 2; ++time)
    for (auto [i, x] : run.backward()) CHECK(x.v == all.states[std::size_t(i)]);
}

}  // namespace

TEST_CASE(
    "a replay check finds nothing and changes no bit and no step call where there is nothing to find, for every "
    "schedule and form",
    "[long]") {
  for (step_index const n : {0, 1, 2, 7, 13, 40}) {
    pendulum::stored const all{n};
    for (auto const& [name, plan] : plans_of(n)) {
      if (plan.leaf() > 1 && needs_recording(plan)) continue;
      for (auto const mode : modes) {
        INFO(name << ", mode " << int(mode));
        check_sound<pendulum::in_place>(plan, all, {mode});
        check_sound<pendulum::by_value>(plan, all, {mode});
        check_sound<pendulum::out_of_place>(plan, all, {mode});
      }
    }
  }
}

namespace {

/// Sees every state that a step or an adjoint is called with, and whether it is the one that stood there first.
struct witness {
  std::map<step_index, pendulum::numbers> first;
  std::map<step_index, int> calls;       ///< of a step, by its index
  step_index first_wrong_step = -1;      ///< the step that made the first state that was another one
  bool adjoint_saw_another = false;

  void sees(pendulum::numbers const& x, step_index i, bool in_adjoint) {
    auto const [there, is_new] = first.emplace(i, x);
    if (is_new || std::memcmp(there->second.data(), x.data(), x.size() * sizeof x[0]) == 0) return;
    if (first_wrong_step < 0) first_wrong_step = i - 1;
    adjoint_saw_another = adjoint_saw_another || in_adjoint;
  }
};

/// Something that a step should not have, and what it makes of a state.
struct fault {
  std::string name;
  void (*act)(pendulum::numbers& x, step_index i, struct hidden&);
};
struct hidden {
  int total = 0;
  double last = 0, coefficient = 0;
  std::map<step_index, int> runs;
  std::mt19937 random{3};
  std::normal_distribution<double> normal;
};
double of_payload(int k) {
  std::uint64_t const bits = 0x7ff8000000000000 + std::uint64_t(k);
  double x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
fault const faults[] = {
    {"a counter of calls", [](pendulum::numbers& x, step_index, hidden& own) { x[0] += 1e-12 * ++own.total; }},
    {"a random generator",
     [](pendulum::numbers& x, step_index, hidden& own) { x[1] += 1e-3 * own.normal(own.random); }},
    {"what it made last",
     [](pendulum::numbers& x, step_index, hidden& own) { x[0] += 1e-3 * own.last, own.last = x[1]; }},
    {"a global that changes", [](pendulum::numbers& x, step_index, hidden& own) { x[0] += own.coefficient; }},
    {"the sign of a zero",
     [](pendulum::numbers& x, step_index i, hidden& own) { x[2] = own.runs[i]++ > 0 ? -0.0 : 0.0; }},
    {"what a NaN carries", [](pendulum::numbers& x, step_index i, hidden& own) { x[2] = of_payload(own.runs[i]++); }},
};

struct faulty {
  fault const& what;
  witness& seen;
  hidden own{};

  void step(pendulum::state& x, step_index i) {
    seen.sees(x.v, i, false);
    ++seen.calls[i];
    pendulum::swing(x.v, x.v, i);
    what.act(x.v, i, own);
  }
  void reversed() { own.coefficient = 1e-9; }
};
pendulum::state three_numbers() { return pendulum::state{{1.0, 0.5, 0.0}}; }

/// One sweep; what a replay check said of it, if it said anything.
template <class... More>
std::optional<replay_difference> sweep_of(any_schedule const& plan, faulty& loop, More&&... more) {
  auto const step = [&](pendulum::state& x, step_index i) { loop.step(x, i); };
  auto const adjoint = [&](pendulum::state const& x, pendulum::numbers& bar, step_index first, step_index) {
    loop.seen.sees(x.v, first, true);
    loop.reversed();
    bar[0] += x.v[0];
  };
  auto const record = [&](pendulum::state& x, step_index i) {
    loop.seen.sees(x.v, i, true);
    pendulum::numbers before = x.v;
    loop.step(x, i);
    return step_tape{before, x.v};
  };
  auto const reverse = [&](step_tape const& tape, pendulum::numbers& bar) {
    loop.reversed(), bar[0] += tape.before[0];
  };
  auto const restart = [](step_tape const& tape) { return pendulum::state{tape.after}; };
  try {
    if (needs_recording(plan))
      (void)gradient(step, three_numbers(), plan, pendulum::seed, recorded{record, reverse, restart}, more...);
    else (void)gradient(step, three_numbers(), plan, pendulum::seed, adjoint, more...);
  } catch (nondeterminism_error const& e) {
    return e.found;
  }
  return {};
}

struct tally {
  int planted = 0, found = 0;
};
/// Every fault in one plan. Steps that hide something but are never run again are no fault of a sweep.
template <class Store>
void plant(any_schedule const& plan, tally& sum) {
  for (fault const& what : faults) {
    INFO(what.name);
    witness without;
    faulty free{what, without};
    toys::every_tier memory;
    REQUIRE_FALSE(sweep_of(plan, free, memory, sweep_options{}));
    for (auto const mode : modes) {
      witness with;
      faulty checked{what, with};
      Store store;
      auto const found = sweep_of(plan, checked, store, sweep_options{mode});
      bool const wrong =
          without.adjoint_saw_another || (mode == replay_check::every_step && without.first_wrong_step >= 0);
      if (wrong) ++sum.planted, sum.found += found.has_value();
      if (wrong) CHECK(found);
      if (!found) continue;
      // The first state that a store brings back is run on by a step that the plan runs again later, or never.
      bool const run_on = found->first_step == found->last_step && with.calls[found->last_step] > 1;
      CHECK((run_on || without.first_wrong_step >= found->first_step));
      CHECK((run_on || without.first_wrong_step <= found->last_step));
      if (mode == replay_check::every_step) CHECK(found->first_step == found->last_step);
    }
  }
}

}  // namespace

TEST_CASE(
    "a step that hides something is found in every schedule that runs it again, and the step that differs first is "
    "named") {
  tally sum;
  for (step_index const n : {1, 2, 3, 7, 13, 40})
    for (auto const& [name, plan] : plans_of(n)) {
      if (plan.leaf() > 1 && needs_recording(plan)) continue;
      INFO(name);
      plant<toys::every_tier>(plan, sum);
      if (n == 13) plant<toys::keeping>(plan, sum);
      if (n == 13) plant<toys::serialising>(plan, sum);
      if (n == 13) plant<toys::late>(plan, sum);
    }
  CHECK(sum.planted > 5'000);
  CHECK(sum.found == sum.planted);
}

namespace {

/// A state of several containers, an optional and integers.
struct mixture {
  std::vector<double> v;
  std::array<float, 3> few{};
  std::optional<double> perhaps;
  std::vector<bool> bits;
  int count = 0;
};
void move(mixture& x, step_index i) {
  double const force = std::sin(0.1 * double(i));
  for (std::size_t k = 0; k < x.v.size(); ++k) x.v[k] += 0.01 * (x.v[(k + 1) % x.v.size()] + force);
  x.few[std::size_t(i) % 3] *= -0.99f;
  if (i % 4 == 0) x.perhaps = x.v[0];
  else if (i % 4 == 2) x.perhaps.reset();
  x.bits[std::size_t(i) % x.bits.size()] = x.v[0] > 0.3;
  ++x.count;
}
/// The same as an object that saves snapshots.
struct solver {
  mixture now;
  explicit solver(mixture from) : now{std::move(from)} {}
  solver(solver const&) = delete;
  [[nodiscard]] mixture save() const { return now; }
  void restore(mixture const& from) { now = from; }
};
/// Writes all of x1, in parts, and where it wants to.
void move_to(mixture const& x, mixture& x1, step_index i) {
  x1.v.clear();
  x1 = x;
  move(x1, i);
}

struct draw {
  std::mt19937& random;
  slot_index below(unsigned bound) { return slot_index(random() % bound); }
  any_schedule plan(step_index n) {
    switch (below(9)) {
      case 0: return revolve{n, 1 + below(8)};
      case 1: return revolve{n, below(5), {.free_initial = true}};
      case 2: return uniform{n, {.block = 1 + below(9)}};
      case 3: return store_all(n);
      case 4: return in_memory{two_level{n, 1 + below(9), below(4)}};
      case 5: return in_memory{multistage{n, 1 + below(3), below(4)}};
      case 6: return online{1 + below(6), {.eager = below(2) == 0}}.stopping_at(n);
      case 7:
        return in_memory{
            disk_revolve{n, 1 + below(4), {.disk_write = double(below(4)), .disk_read = double(below(4))}}};
      default: {
        step_index const leaf = 1 + below(4);
        return leaves{n, leaf, revolve{(n + leaf - 1) / leaf, 1 + below(4)}};
      }
    }
  }
};

struct numbers_of {
  double sum = 0;
};

/// Sweeps over random plans, states, forms and stores without a fault; how many.
int sound_sweeps(unsigned seed, int count) {
  std::mt19937 random{seed};
  draw any{random};
  int sweeps = 0;
  for (; sweeps < count; ++sweeps) {
    step_index const n = any.below(40);
    auto const plan = any.plan(n);
    sweep_options const options{modes[any.below(2)]};
    CAPTURE(seed, sweeps, n);
    mixture x0;
    for (slot_index k = 0; k <= any.below(40); ++k) x0.v.push_back(double(any.below(1000)) / 999);
    x0.few = {1, -0.0f, 0.5f};
    x0.bits.resize(std::size_t(1 + any.below(70)));
    auto const adjoint = [](mixture const& x, numbers_of& bar, step_index first, step_index) {
      bar.sum += double(first + 1) * x.v[0] + (x.perhaps ? *x.perhaps : 0) + x.few[1];
    };
    auto const of_solver = [&](solver const& x, numbers_of& bar, step_index first, step_index last) {
      adjoint(x.now, bar, first, last);
    };
    auto const back = [](pendulum::state const& x, pendulum::numbers& bar, step_index) {
      pendulum::swing_back(x.v, bar);
    };
    auto const same = [&](auto const& without, auto const& with) {
      if (std::memcmp(&without, &with, sizeof with) != 0) FAIL("another gradient");
    };
    numbers_of const bar;
    auto const by_move = [](mixture& x, step_index i) { move(x, i); };
    switch (any.below(6)) {
      case 0:
        same(gradient(by_move, x0, plan, bar, adjoint), gradient(by_move, x0, plan, bar, adjoint, options));
        break;
      case 1:
        same(gradient(by_move, x0, plan, bar, adjoint), gradient(move_to, x0, plan, bar, adjoint, options));
        break;
      case 2: {
        solver one{x0}, other{x0};
        auto const step = [](solver& x, step_index i) { move(x.now, i); };
        same(gradient(step, one, plan, bar, of_solver), gradient(step, other, plan, bar, of_solver, options));
        break;
      }
      case 3: {
        auto run = checkpointed_loop(by_move, x0, plan, options);
        for (int time = 0; time < 2; ++time) same(gradient(by_move, x0, plan, bar, adjoint), run.reverse(bar, adjoint));
        break;
      }
      case 4: {
        step_index const units = 1 + any.below(9);
        mixed const taped{n, units, {.tape_units = 1 + any.below(3), .tapes_restart = false}};
        CHECK(gradient(pendulum::in_place{}, pendulum::start(), taped, pendulum::seed, pendulum::recorded(), options) ==
              pendulum::stored{n}.gradient);
        break;
      }
      default: {
        if (plan.leaf() > 1) break;
        toys::losing<toys::serialising> store;
        store.random.seed(unsigned(sweeps));
        CHECK(gradient(pendulum::out_of_place{}, pendulum::start(), plan, pendulum::seed, back, store, options) ==
              pendulum::stored{n}.gradient);
      }
    }
  }
  return sweeps;
}

}  // namespace

TEST_CASE(
    "a replay check raises no false alarm in random sweeps over values, containers, objects, stores, leaves and "
    "tapes") {
  CHECK(sound_sweeps(1, 1'000) == 1'000);
}
TEST_CASE("a replay check raises no false alarm in ten thousand random sweeps", "[.soak]") {
  CHECK(sound_sweeps(2, 10'000) == 10'000);
}
