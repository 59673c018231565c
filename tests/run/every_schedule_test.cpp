// SPDX-License-Identifier: Apache-2.0
// Every kind of schedule in the executors: the bits of storing everything, and the runs, traffic and bytes that the
// plan layer predicts.
#include <map>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"
#include "support/every_tier.hpp"
#include "support/stops.hpp"
#include "support/tiered_store.hpp"
#include "support/toy_stores.hpp"

using namespace cairn;

namespace {

step_index const lengths[] = {0, 1, 2, 3, 7, 13, 40};

struct named_plan {
  std::string name;
  any_schedule plan;
  any_schedule checked;  ///< the same, inside `verified`
};
template <class Plan>
named_plan named(std::string const& name, Plan const& plan) { return {name, plan, verified{plan}}; }

/// Random storage: up to three tiers, some without slots.
hrevolve random_hrevolve(std::mt19937& random, step_index n) {
  auto const below = [&](unsigned bound) { return slot_index(random() % bound); };
  tier const places[] = {tier::memory, tier::host, tier::disk};
  std::vector<storage_tier> tiers;
  double write = 0, read = 0;
  for (tier const where : places) {
    tiers.push_back({below(5) + (where == tier::memory ? 1 : 0), write, read, where});
    write += double(below(9)) / 4;
    read += double(below(9)) / 4;
  }
  return {n, tiers.data(), tiers.size(), {.turn_cost = 1}};
}

/// Plans that keep states on several tiers, for some random settings.
std::vector<named_plan> tiered_plans(std::mt19937& random) {
  auto const below = [&](unsigned bound) { return slot_index(random() % bound); };
  std::vector<named_plan> all;
  for (int round = 0; round < 3; ++round) {
    step_index const n = 8 + below(40);
    auto const tag = " of " + std::to_string(n) + " steps, round " + std::to_string(round);
    all.push_back(named("hrevolve" + tag, random_hrevolve(random, n)));
    all.push_back(named("multistage" + tag, multistage{n, 1 + below(4), below(6)}));
    all.push_back(named("multistage with disk enough" + tag, multistage{n, 1 + below(3), unlimited_slots}));
    all.push_back(
        named("disk_revolve" + tag,
              disk_revolve{n, 1 + below(4), {.disk_write = double(below(7)), .disk_read = double(below(7))}}));
    all.push_back(named("two_level" + tag, two_level{n, 1 + below(12), below(4)}));
    all.push_back(
        named("two_level on host and device" + tag,
              two_level{n, 1 + below(12), 1 + below(4), {.periods_on = tier::host, .extra_on = tier::device}}));
    all.push_back(named("leaves over two_level" + tag, leaves{n, 2, two_level{(n + 1) / 2, 3, below(3)}}));
    all.push_back(named("verified hrevolve" + tag, verified{random_hrevolve(random, n)}));
    all.push_back(
        named("mixed" + tag,
              mixed{n,
                    2 + below(12),
                    {.tape_units = 1 + below(3), .tapes_restart = round % 2 == 0, .free_initial = round == 1}}));
  }
  return all;
}

/// Plans of every kind over n steps, as one type, so that what runs them is compiled once.
std::vector<named_plan> plans_of(step_index n) {
  std::vector<named_plan> all;
  each_as_any(n, [&](std::string const& name, any_schedule const& plan) { all.push_back(named(name, plan)); });
  return all;
}
std::vector<named_plan> all_plans() {
  std::mt19937 random{11};
  auto all = tiered_plans(random);
  for (step_index const n : lengths)
    for (auto& one : plans_of(n)) all.push_back(std::move(one));
  return all;
}

bool needs_recording(auto const& plan) { return tapes_of(plan) > 0 || tapes_restart(plan); }
/// No adjoint is both a leaf's and recording.
bool can_run(auto const& plan) { return plan.leaf() == 1 || !needs_recording(plan); }

/// The states before and after a step.
struct step_tape {
  pendulum::numbers before, after;
};
auto recording() {
  auto const record = [](pendulum::state& x, step_index i) {
    auto before = pendulum::record{}(x, i);
    return step_tape{std::move(before), x.v};
  };
  auto const reverse = [](step_tape const& tape, pendulum::numbers& bar) { pendulum::swing_back(tape.before, bar); };
  auto const restart = [](step_tape const& tape) { return pendulum::state{tape.after}; };
  return recorded{record, reverse, restart};
}

/// Counts what no store sees: the initial state that is free.
struct free_loads {
  wide& count;
  void operator()(event const& e) const {
    action const& a = e.what();
    if (e.moment() == moment::before && a.kind == action_kind::load && a.what == content::state && a.slot == no_slot)
      ++count;
  }
};

template <class Step, class Adjoint>
constexpr sweep_form form_of = {detail::shape_of_step<Step, pendulum::state>().form,
                                detail::shape_of_adjoint<Adjoint, pendulum::state, pendulum::numbers>().form};

/// What a store saw of a sweep is what `verify` says of each tier.
void check_traffic(toys::tier_book book, wide free, schedule_counts const& counts) {
  book.seen[std::size_t(tier::memory)].loads += free;
  for (std::size_t k = 0; k < tier_count; ++k) {
    INFO("tier " << k);
    CHECK(book.seen[k] == counts.tiers[k]);
  }
}

/// One gradient: bits, step calls, and what goes to and comes from each tier.
template <class Step, class Adjoint>
void check_gradient(auto const& plan, Step step, Adjoint const& adjoint, pendulum::numbers const& expected,
                    schedule_counts const& counts) {
  constexpr auto form = form_of<Step, Adjoint>;
  INFO("step form " << int(form.step) << ", adjoint form " << int(form.adjoint));
  toys::counting store;
  wide free = 0;
  int const outside = pendulum::state::alive;
  auto const start = pendulum::start();
  pendulum::step_calls = 0;
  if (gradient(step, start, plan, pendulum::seed, adjoint, store, free_loads{free}) != expected)
    FAIL("another gradient");
  CHECK(wide(pendulum::step_calls) == estimate(plan, {.form = form}).step_calls);
  CHECK(wide(pendulum::step_calls) == step_calls(counts, form.adjoint));
  CHECK(pendulum::state::alive == outside + 1);
  check_traffic(store.book, free, counts);
}

template <class Step>
void check_adjoints(auto const& plan, pendulum::numbers const& expected) {
  auto const counts = verify(plan);
  if (!needs_recording(plan)) {
    check_gradient(plan, Step{}, pendulum::leaf{}, expected, counts);
    if (plan.leaf() == 1) {
      check_gradient(plan, Step{}, pendulum::one_step{}, expected, counts);
      check_gradient(plan, Step{}, pendulum::with_next{}, expected, counts);
    }
  }
  if (plan.leaf() == 1) check_gradient(plan, Step{}, recording(), expected, counts);
}

}  // namespace

TEST_CASE(
    "every schedule gives the gradient of store-all in every form, with the step calls and the traffic on each tier "
    "that are predicted") {
  std::size_t checked = 0;
  for (auto const& [name, plan, verified_plan] : all_plans()) {
    INFO(name);
    if (!can_run(plan)) continue;
    auto const expected = pendulum::stored{plan.steps()}.gradient;
    check_adjoints<pendulum::in_place>(plan, expected);
    check_adjoints<pendulum::by_value>(plan, expected);
    check_adjoints<pendulum::out_of_place>(plan, expected);
    check_adjoints<pendulum::in_place>(verified_plan, expected);
    ++checked;
  }
  CHECK(checked > 800);
}

namespace {

/// Whether plans of a type have tapes, so that no sweep is compiled for nothing.
template <class Plan>
constexpr bool may_record = requires(Plan const& plan) { plan.tapes(); };
template <class Inside>
constexpr bool may_record<leaves<Inside>> = std::is_same_v<Inside, action_list>;

}  // namespace

TEST_CASE("every schedule gives the gradient of store-all as its own type, too") {
  for (step_index const n : {0, 1, 13})
    each_plan(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const counts = verify(any_schedule{plan});
      auto const expected = pendulum::stored{n}.gradient;
      if (!needs_recording(plan)) check_gradient(plan, pendulum::in_place{}, pendulum::leaf{}, expected, counts);
      else if constexpr (may_record<std::remove_cvref_t<decltype(plan)>>) {
        if (can_run(plan)) check_gradient(plan, pendulum::in_place{}, recording(), expected, counts);
      } else FAIL("a sweep for this type is to be compiled");
    });
}

TEST_CASE("tapes below leaves are refused, whatever the adjoint") {
  for (step_index const n : {1, 13})
    each_as_any(n, [&](std::string const& name, any_schedule const& plan) {
      if (can_run(plan)) return;
      INFO(name);
      pendulum::step_calls = 0;
      CHECK_THROWS_AS(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}),
                      invalid_plan);
      CHECK_THROWS_AS(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, recording()),
                      invalid_plan);
      CHECK(pendulum::step_calls == 0);
    });
}

namespace {

/// A kept run: reversed twice, walked backwards, asked for states, reversed again.
template <class Step, class... Store>
void check_run(any_schedule const& plan, pendulum::stored const& all, Store&... store) {
  step_index const n = plan.steps();
  auto run = checkpointed_loop(Step{}, pendulum::start(), plan, store...);
  auto const reversed = [&](auto const& adjoint) {
    if (run.reverse(pendulum::seed, adjoint) != all.gradient) FAIL("another gradient");
  };
  auto const has_states = [&](step_index stride) {
    for (step_index i = 0; i <= n; i += stride)
      if (run.at(i).v != all.states[std::size_t(i)]) FAIL("another state " << i);
  };
  CHECK(run.final_state().v == all.states.back());
  has_states(5);
  reversed(pendulum::leaf{});
  reversed(pendulum::leaf{});
  has_states(3);
  if (plan.leaf() > 1) return;
  reversed(pendulum::with_next{});
  for (int time = 0; time < 2; ++time) {
    step_index expected = n;
    for (auto [i, x] : run.backward()) {
      if (i != expected || x.v != all.states[std::size_t(i)]) FAIL("another state " << i);
      --expected;
      if (i % 8 == 0 && run.at(i / 2).v != all.states[std::size_t(i / 2)]) FAIL("another state " << i / 2);
    }
    CHECK(expected == -1);
  }
  for (step_index const stop : {n - 1, n / 2}) {  // a walk that is left early, and then a whole reverse or another walk
    for (auto [i, x] : run.backward())
      if (i < stop) break;
    if (stop == n / 2) reversed(pendulum::one_step{});
  }
}

/// Calls use(plan, states and gradient) for every plan without tapes.
template <class Use>
void each_plan_without_tapes(Use use) {
  for (auto const& [name, plan, verified_plan] : all_plans()) {
    INFO(name);
    if (needs_recording(plan)) continue;
    pendulum::stored const all{plan.steps()};
    use(plan, all);
    use(verified_plan, all);
  }
}

}  // namespace

TEST_CASE(
    "a run that is kept gives the bits of store-all for every schedule, again and again, whatever keeps its states") {
  each_plan_without_tapes([](any_schedule const& plan, pendulum::stored const& all) {
    toys::every_tier store;
    pendulum::step_calls = 0;
    auto run = checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
    (void)run.reverse(pendulum::seed, pendulum::leaf{});
    CHECK(wide(pendulum::step_calls) == estimate(plan, {.form = {.keeps_run = true}}).step_calls);
    check_run<pendulum::in_place>(plan, all, store);
    check_run<pendulum::by_value>(plan, all, store);
    check_run<pendulum::out_of_place>(plan, all, store);
  });
}

TEST_CASE("a run that is kept goes back to the tiers of its plan") {
  each_plan_without_tapes([](any_schedule const& plan, pendulum::stored const& all) {
    toys::counting in_frames;
    check_run<pendulum::in_place>(plan, all, in_frames);
    if (!has_slot_tiers(plan)) return;
    toys::tiered in_both{plan, toys::in_memory::as_frames}, in_bytes{plan, toys::in_memory::as_bytes};
    check_run<pendulum::out_of_place>(plan, all, in_both);
    check_run<pendulum::in_place>(plan, all, in_bytes);
  });
}

namespace {

/// One gradient through a store that takes only what the plan says of each tier: bits, traffic, and states in memory at
/// once.
template <class Step, class Adjoint>
void check_tiered(any_schedule const& plan, Step step, Adjoint const& adjoint, toys::in_memory memory,
                  pendulum::numbers const& expected) {
  constexpr auto form = form_of<Step, Adjoint>;
  INFO("step form " << int(form.step) << ", adjoint form " << int(form.adjoint) << ", memory " << int(memory));
  toys::tiered store{plan, memory};
  wide free = 0;
  auto const start = pendulum::start();
  int const outside = pendulum::state::peak = int(pendulum::state::alive);
  pendulum::step_calls = 0;
  if (gradient(step, start, plan, pendulum::seed, adjoint, store, free_loads{free}) != expected)
    FAIL("another gradient");
  CHECK(wide(pendulum::step_calls) == estimate(plan, {.form = form}).step_calls);
  check_traffic(store.book, free, verify(plan));
  if (memory == toys::in_memory::as_frames)
    CHECK(pendulum::state::peak - outside == detail::count_frames(plan, form, {1, 0, true}).heaviest().states);
}
template <class Step>
void check_tiered_adjoints(any_schedule const& plan, pendulum::numbers const& expected) {
  for (auto const memory : {toys::in_memory::as_frames, toys::in_memory::as_bytes}) {
    if (!needs_recording(plan)) check_tiered(plan, Step{}, pendulum::leaf{}, memory, expected);
    if (plan.leaf() > 1) continue;
    if (!needs_recording(plan)) check_tiered(plan, Step{}, pendulum::with_next{}, memory, expected);
    check_tiered(plan, Step{}, recording(), memory, expected);
  }
}
/// Plans whose slots have tiers, and those with tapes, whose states all lie in memory.
template <class Use>
void each_tiered_plan(Use use) {
  for (auto const& [name, plan, verified_plan] : all_plans())
    if (can_run(plan) && (has_slot_tiers(plan) || tapes_of(plan) > 0)) {
      INFO(name);
      use(plan);
      use(verified_plan);
    }
}

}  // namespace

TEST_CASE(
    "a store that keeps tiers apart gets what the plan says, in the slots that it says, and holds in memory what is "
    "predicted") {
  each_tiered_plan([](any_schedule const& plan) {
    auto const expected = pendulum::stored{plan.steps()}.gradient;
    check_tiered_adjoints<pendulum::in_place>(plan, expected);
    check_tiered_adjoints<pendulum::by_value>(plan, expected);
    check_tiered_adjoints<pendulum::out_of_place>(plan, expected);
  });
}

namespace {

/// Three gradients and a kept run, each losing every k-th state or so.
template <class Store>
void check_losing(any_schedule const& plan, Store store, unsigned seed, long& lost) {
  pendulum::stored const all{plan.steps()};
  toys::losing<Store> loses{std::move(store), std::mt19937{seed}, 0.15};
  auto const check = [&](auto step, auto const& adjoint) {
    if (gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, loses) != all.gradient)
      FAIL("another gradient");
  };
  if (!needs_recording(plan)) {
    check(pendulum::in_place{}, pendulum::leaf{});
    if (plan.leaf() == 1) check(pendulum::by_value{}, pendulum::with_next{});
    auto run = checkpointed_loop(pendulum::out_of_place{}, pendulum::start(), plan, loses);
    for (int time = 0; time < 3; ++time)
      if (run.reverse(pendulum::seed, pendulum::leaf{}) != all.gradient) FAIL("another gradient of a run");
  }
  if (plan.leaf() == 1) check(pendulum::in_place{}, recording());
  lost += loses.lost;
}

}  // namespace

TEST_CASE("a sweep that loses states goes on to the same bits, with every slot on its own tier") {
  long lost = 0;
  unsigned seed = 0;
  for (auto const& [name, plan, verified_plan] : all_plans()) {
    INFO(name);
    if (!can_run(plan)) continue;
    check_losing(plan, toys::counting{}, ++seed, lost);
    if (!has_slot_tiers(plan) && !needs_recording(plan)) continue;
    check_losing(plan, toys::tiered{plan, toys::in_memory::as_frames}, ++seed, lost);
    check_losing(verified_plan, toys::tiered{plan, toys::in_memory::as_bytes}, ++seed, lost);
  }
  CHECK(lost > 5000);
}

namespace {

using stops::stop;
using stops::stop_at;

/// Stops a sweep at some of its actions, takes states from the store, and resumes from what is left: in the same
/// workspace or in another.
template <class Step, class Adjoint, class Gone>
long check_resume(any_schedule const& plan, Adjoint const& adjoint, resume_point<pendulum::numbers>& noted,
                  toys::in_memory memory, std::mt19937& random, Gone gone) {
  auto const expected = pendulum::stored{plan.steps()}.gradient;
  long resumed = 0;
  for (long k = long(random() % 9);; k += 1 + long(random() % 40)) {
    toys::tiered store{plan, memory};
    auto work = workspace_for<pendulum::state>(plan, store);
    bool turned = false;
    auto const seed = [&](pendulum::state const& x) {
      turned = true;
      noted = {plan.steps(), x.v};
      return x.v;
    };
    try {
      auto const whole = gradient(Step{}, pendulum::start(), plan, seed, adjoint, work, stop_at{k});
      CHECK(whole == expected);
      return resumed;
    } catch (stop) {
    }
    if (!turned) continue;
    store.lose(gone);
    auto another = workspace_for<pendulum::state>(plan, store);
    auto const from = noted;
    if (resume(Step{}, pendulum::start(), plan, from, adjoint, ++resumed % 2 == 0 ? work : another) != expected)
      FAIL("another gradient");
  }
}

}  // namespace

TEST_CASE("a sweep over several tiers that stopped goes on from the slots that survive, each on its own tier") {
  std::mt19937 random{5};
  std::bernoulli_distribution once_in_three{1.0 / 3};
  long resumed = 0;
  auto const memory_is_gone = [](tier where, slot_index) { return where == tier::memory; };
  auto const some_are_gone = [&](tier, slot_index) { return once_in_three(random); };
  auto const none_is_gone = [](tier, slot_index) { return false; };
  for (auto const& one : tiered_plans(random)) {
    INFO(one.name);
    any_schedule const &plan = one.plan, &verified_plan = one.checked;
    resume_point<pendulum::numbers> noted{0, {}};
    auto const all = [&](auto const& adjoint) {
      using toys::in_memory;
      resumed += check_resume<pendulum::in_place>(plan, adjoint, noted, in_memory::as_frames, random, memory_is_gone);
      resumed += check_resume<pendulum::out_of_place>(plan, adjoint, noted, in_memory::as_bytes, random, some_are_gone);
      resumed +=
          check_resume<pendulum::in_place>(verified_plan, adjoint, noted, in_memory::as_bytes, random, none_is_gone);
    };
    if (needs_recording(plan)) {
      auto taped = recording();
      auto const reverse = [&](step_tape const& tape, pendulum::numbers& bar, step_index i) {
        pendulum::swing_back(tape.before, bar);
        noted = {i, bar};
      };
      all(recorded{taped.record, reverse, taped.restart});
    } else {
      all(leaf([&](pendulum::state const& x, pendulum::numbers& bar, step_index first, step_index last) {
        pendulum::leaf{}(x, bar, first, last);
        noted = {first, bar};
      }));
    }
  }
  CHECK(resumed > 300);
}

namespace {

using bytes = std::vector<unsigned char>;
constexpr std::size_t state_size = 3000, bar_size = 500;
/// Its destructor is out of line for g++, which at -O1 warns of what an empty std::optional would destroy.
struct kept_bytes {
  bytes kept = bytes(700);
  [[gnu::noinline]] ~kept_bytes() {}
};

/// The heap that one gradient takes, what lies on the stack of it left out, and what was predicted without the tables
/// that stood before.
template <class Step, class Adjoint>
void check_bytes(auto const& plan, Step step, Adjoint const& adjoint, std::size_t tape) {
  constexpr sweep_form form{detail::shape_of_step<Step, bytes>().form,
                            detail::shape_of_adjoint<Adjoint, bytes, bytes>().form};
  constexpr bool records = form.adjoint == adjoint_form::recorded;
  bytes const x0(state_size);
  workload const work{.state_bytes = bytes_of(x0),
                      .state_inline_bytes = sizeof(bytes),
                      .initial_bytes = 0,
                      .adjoint_bytes = sizeof(bytes) + bar_size,
                      .tape_bytes = tape + (records ? sizeof(std::optional<kept_bytes>) : 0),
                      .tape_inline_bytes = records ? sizeof(std::optional<kept_bytes>) : 0,
                      .form = form};
  auto const predicted = estimate(plan, work);
  heap::mark const mark;
  toys::every_tier store;
  (void)gradient(step, x0, plan, [](bytes const&) { return bytes(bar_size); }, adjoint, store);
  auto const counted = mark.rise() + sizeof(bytes);
  INFO("step form " << int(form.step) << ", adjoint form " << int(form.adjoint));
  CHECK(counted == std::size_t(predicted.peak_bytes - shared_table_bytes_of(plan)));
  CHECK(predicted.peak_is_exact);
}
auto const plain_leaf = leaf([](bytes const&, bytes&, step_index, step_index) {});
auto recorded_bytes() {
  auto const record = [](bytes& x, step_index) {
    ++x[0];
    return kept_bytes{};
  };
  return recorded{record, [](kept_bytes const&, bytes&, step_index) {},
                  [](kept_bytes const&) { return bytes(state_size); }};
}
template <class Step>
void check_bytes_of_adjoints(any_schedule const& plan, Step step) {
  if (!needs_recording(plan)) check_bytes(plan, step, plain_leaf, 0);
  if (plan.leaf() > 1) return;
  if (!needs_recording(plan)) check_bytes(plan, step, [](bytes const&, bytes const&, bytes&, step_index) {}, 0);
  check_bytes(plan, step, recorded_bytes(), 700);
}

}  // namespace

TEST_CASE("every schedule takes the predicted bytes, to the byte") {
  for (auto const& [name, plan, verified_plan] : all_plans()) {
    INFO(name);
    if (!can_run(plan)) continue;
    check_bytes_of_adjoints(plan, [](bytes& x, step_index) { ++x[0]; });
    check_bytes_of_adjoints(plan, [](bytes const& x, step_index) { return bytes(x.size()); });
    check_bytes_of_adjoints(verified_plan, [](bytes const&, bytes& x1, step_index) { ++x1[0]; });
  }
}

TEST_CASE("a plan and its sweep together take the predicted bytes, tables that they share counted once") {
  step_index const n = 60;
  auto const check_made = [](auto make, auto const& adjoint, std::size_t tape_inline, std::size_t tape) {
    bytes const x0(state_size);
    constexpr auto form = detail::shape_of_adjoint<std::remove_cvref_t<decltype(adjoint)>, bytes, bytes>().form;
    workload const work{.state_bytes = bytes_of(x0),
                        .state_inline_bytes = sizeof(bytes),
                        .initial_bytes = 0,
                        .adjoint_bytes = sizeof(bytes) + bar_size,
                        .tape_bytes = tape_inline + tape,
                        .tape_inline_bytes = tape_inline,
                        .form = {.adjoint = form}};
    auto const predicted = estimate(make(), work);
    heap::mark const mark;
    toys::every_tier store;
    auto const plan = make();
    (void)gradient([](bytes& x, step_index) { ++x[0]; }, x0, plan, [](bytes const&) { return bytes(bar_size); },
                   adjoint, store);
    CHECK(mark.rise() + sizeof(bytes) == std::size_t(predicted.peak_bytes));
    CHECK(shared_table_bytes_of(plan) > 0);
  };
  check_made([=] { return hrevolve{n, {{3}, {4, 2, 1}}}; }, plain_leaf, 0, 0);
  check_made([=] { return multistage{n, 3, 4}; }, plain_leaf, 0, 0);
  check_made([=] { return disk_revolve{n, 3, {.disk_write = 3, .disk_read = 2}}; }, plain_leaf, 0, 0);
  check_made(
      [=] {
        return mixed{n, 12, {.tape_units = 2, .tapes_restart = true}};
      },
      recorded_bytes(), sizeof(std::optional<kept_bytes>), 700);
}

namespace {

/// Saves complete late, and the store can tell which of them have.
struct telling_late : toys::late {
  std::map<slot_index, step_index> states;
  void begin(slot_index count) { states.clear(), late::begin(count); }
  void save(auto& frames, place where, step_index i, frame_id frame) {
    states[where.slot] = i;
    late::save(frames, where, i, frame);
  }
  [[nodiscard]] step_index at(slot_index slot) const { return slots.count(slot) ? states.at(slot) : -1; }
};

}  // namespace

TEMPLATE_TEST_CASE("a sweep that stopped while saves were under way goes on to the same bits", "[store]", toys::late,
                   telling_late) {
  any_schedule const plan = hrevolve{20, {{1}, {1, 1, 1}}};  // both states may be under way
  auto const expected = pendulum::stored{20}.gradient;
  long under_way = 0;
  for (long k = 0;; ++k) {
    TestType store;
    auto work = workspace_for<pendulum::state>(plan, store);
    resume_point<pendulum::numbers> noted{-1, {}};
    auto const seed = [&](pendulum::state const& x) {
      noted = {plan.steps(), x.v};
      return x.v;
    };
    auto const noting =
        hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
          noted = {i, bar};
        });
    long now = 0;
    stop_at stops{k};
    auto const watching = [&](event const& e) {
      now = long(store.under_way.size());
      stops(e);
    };
    try {
      (void)gradient(pendulum::in_place{}, pendulum::start(), plan, seed, noting, work, watching);
      break;
    } catch (stop) {
    }
    if (noted.open < 0) continue;
    under_way += now;
    CHECK(store.under_way.empty());
    auto another = workspace_for<pendulum::state>(plan, store);
    bool const elsewhere = k % 2 == 0;
    CHECK(resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{},
                 elsewhere ? another : work) == expected);
  }
  CHECK(under_way > 10);
}
