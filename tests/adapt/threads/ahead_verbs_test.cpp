// SPDX-License-Identifier: Apache-2.0
// `parallel` in every verb of loops: kept runs, unknown lengths, observers, replay checks, stores, parameters,
// objectives, budgets; what stays on one thread says why; a warm sweep allocates nothing.
#include <cairn/adapt/threads.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/store/behind.hpp>
#include <cairn/store/tiered.hpp>

#include "adapt/threads/ahead.hpp"
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/toy_stores.hpp"

using ahead::eager;
using ahead::field;
using ahead::same;
using cairn::step_index;

namespace {
std::atomic<long> allocations{0};
}
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const block = std::malloc(size > 0 ? size : 1)) return block;
  throw std::bad_alloc{};
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

struct step_in {
  static constexpr bool concurrent = true;
  void operator()(field& x, step_index i) const {
    double const first = x[0];
    for (std::size_t k = 0; k < 5; ++k) x[k] = ahead::moved(x[k], k < 4 ? x[k + 1] : first, i);
  }
};
struct step_out {
  static constexpr bool concurrent = true;
  void operator()(field const& x, field& x1, step_index i) const { ahead::move(x, x1, i); }
};
struct adjoint_of {
  void operator()(field const& x, field& bar, step_index i) const { bar = ahead::pulled(x, bar, i); }
};
struct adjoint_with_next {
  void operator()(field const& x, field const& x1, field& bar, step_index i) const {
    field made(5);
    ahead::move(x, made, i);
    if (!same(made, x1)) throw std::logic_error{"another x1"};
    bar = ahead::pulled(x, bar, i);
  }
};
field own(field const& x) { return x; }
using numbers = std::vector<double>;
struct scaling {
  static constexpr bool concurrent = true;
  void step(field& x, numbers const& p, step_index) const {
    for (std::size_t k = 0; k < 5; ++k) x[k] += p[k] * x[k] * 0.01;
  }
  void adjoint(field const& x, field& bar, numbers const& p, numbers& dp, step_index) const {
    for (std::size_t k = 0; k < 5; ++k) {
      dp[k] += 0.01 * x[k] * bar[k];
      bar[k] *= 1 + 0.01 * p[k];
    }
  }
};

struct told : toys::keeping {
  step_index open = -1;
  void reversed(step_index left, auto const&) { open = left; }
};

/// Runs with `parallel`, and notes why it stayed on one thread, if it did.
template <class Verb>
std::string serial(Verb verb) {
  cairn::sweep_report report;
  REQUIRE(same(verb(report), ahead::gradient_by_hand(60)));
  return report.serial != nullptr ? report.serial : "";
}

}  // namespace

TEST_CASE("runs that are kept, and loops of unknown length, go back on two threads") {
  auto const wanted = ahead::gradient_by_hand(60);
  auto const kept = [&](auto step, auto adjoint) {
    cairn::sweep_report report;
    auto run = cairn::checkpointed_loop(step, ahead::begin(), cairn::revolve{60, 4}, eager{.ahead = 5}, report);
    for (int k = 0; k < 3; ++k) {
      CHECK(same(run.reverse(own, adjoint), wanted));
      CHECK(report.serial == nullptr);
    }
    step_index i = 60;
    for (auto const [at, x] : run.backward()) CHECK(at == i--);
    CHECK(same(run.reverse(own, adjoint), wanted));
    auto open = cairn::checkpointed_while(
        step, ahead::begin(), [](field const&, step_index at) { return at < 60; }, cairn::online{4}, eager{}, report);
    CHECK(same(open.reverse(own, adjoint), wanted));
    CHECK(same(open.reverse(own, adjoint), wanted));
    CHECK(report.serial == nullptr);
  };
  kept(step_in{}, adjoint_of{});
  kept(step_out{}, adjoint_with_next{});
}

TEST_CASE("an observer sees the actions of a serial sweep, one at a time, each thread's in its order") {
  struct seen {
    std::vector<std::string> own[2];  // reversals and the rest
    std::size_t most = 0;
    std::atomic<int> inside{0};
    void operator()(cairn::event const& e) {
      REQUIRE(++inside == 1);
      auto const& a = e.what();
      bool const back = a.kind == cairn::action_kind::reverse || a.kind == cairn::action_kind::done;
      own[back ? 1 : 0].push_back(std::to_string(int(a.kind)) + " " + std::to_string(a.slot) + " " +
                                  std::to_string(a.from) + " " + std::to_string(a.to) + " " +
                                  std::to_string(int(e.moment())) + std::to_string(int(e.phase())));
      most = std::max(most, e.bytes_held());
      --inside;
    }
  } one, two;
  cairn::revolve const plan{60, 4};
  cairn::sweep_report alone, report;
  cairn::gradient(step_out{}, ahead::begin(), plan, own, adjoint_of{}, one, alone);
  cairn::gradient(step_out{}, ahead::begin(), plan, own, adjoint_of{}, two, eager{.ahead = 7}, report);
  CHECK(report.serial == nullptr);
  CHECK(one.own[0] == two.own[0]);
  CHECK(one.own[1] == two.own[1]);
  CHECK(two.most >= one.most);
  CHECK(report.step_calls == alone.step_calls);
  CHECK(report.state_bytes <= report.predicted.states);
  CHECK(report.predicted.states > alone.predicted.states);
  struct throws_at {
    step_index step;
    cairn::action_kind kind;
    void operator()(cairn::event const& e) const {
      if (e.what().kind == kind && e.what().from <= step && e.phase() != cairn::phase::forward) throw std::runtime_error{"seen"};
    }
  };
  for (auto const kind : {cairn::action_kind::advance, cairn::action_kind::reverse, cairn::action_kind::done})
    CHECK_THROWS_WITH(cairn::gradient(step_out{}, ahead::begin(), plan, own, adjoint_of{}, throws_at{30, kind}, eager{}),
                      "seen");
}

TEST_CASE("replay checks compare what the helper runs again") {
  for (auto const mode : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    cairn::sweep_options const options{.verify = mode};
    cairn::revolve const plan{60, 4};
    auto const with = [&](auto step, auto adjoint) {
      CHECK(serial([&](auto& report) {
              return cairn::gradient(step, ahead::begin(), plan, own, adjoint, options, eager{.ahead = 5}, report);
            }) == "");
    };
    with(step_in{}, adjoint_of{});
    with(step_out{}, adjoint_with_next{});
    long calls = 0;
    auto const drifts = cairn::concurrent([&calls](field& x, step_index i) {
      step_in{}(x, i);
      if (++calls > 100) x[0] += 1e-9;
    });
    CHECK_THROWS_AS(cairn::gradient(drifts, ahead::begin(), plan, own, adjoint_of{}, options, eager{}),
                    cairn::nondeterminism_error);
  }
}

TEST_CASE("stores are used by the helper alone; those that are told of reversals stay on one thread") {
  cairn::revolve const plan{60, 4};
  toys::keeping frames;
  toys::serialising bytes;
  toys::late late;
  toys::losing<toys::serialising> losing;
  auto const with = [&](auto& store) -> std::string {
    cairn::sweep_report report;
    auto const bar = cairn::gradient(cairn::concurrent(pendulum::out_of_place{}), pendulum::start(), plan, pendulum::seed,
                                     pendulum::one_step{}, store, eager{.ahead = 3}, report);
    CHECK(bar == pendulum::stored{60}.gradient);
    return report.serial != nullptr ? report.serial : "";
  };
  ahead::transfers = 0;
  CHECK(with(frames) == "");
  CHECK(ahead::transfers == 0);
  CHECK(with(bytes) == "");
  CHECK(ahead::transfers > 0);
  CHECK(with(late) == "");
  CHECK(with(losing) == "");
  told all;
  CHECK(with(all) == "the store is told of each reversal");
  CHECK(all.open == 0);
}

TEST_CASE("the helper uses stores whose transfers run on a third thread") {
  std::mt19937 draw{7};
  for (int k = 0; k < 60; ++k) {
    auto const n = step_index(1 + draw() % 150);
    cairn::slot_index const slots = 1 + int(draw() % 9);
    bool const loses = k % 3 == 0;
    INFO("case " << k << ": " << n << " steps, " << slots << " slots");
    auto const same_over = [&](auto const& plan, auto& far) {
      cairn::memory_store near;
      cairn::tiered both{near, far};
      cairn::sweep_report report;
      auto const bar = cairn::gradient(cairn::concurrent(pendulum::in_place{}), pendulum::start(), plan, pendulum::seed,
                                       pendulum::one_step{}, both, eager{.ahead = int(draw() % 5)}, report);
      CHECK(bar == pendulum::stored{n}.gradient);
      CHECK(std::string{report.serial != nullptr ? report.serial : ""} == "");
    };
    toys::serialising bytes;
    toys::losing<toys::serialising> losing;
    auto far = cairn::behind_for<pendulum::state>(bytes, {.saves = 1 + int(draw() % 3), .loads = int(draw() % 3)});
    auto torn = cairn::behind_for<pendulum::state>(losing);
    auto const over = [&](auto const& plan) { loses ? same_over(plan, torn) : same_over(plan, far); };
    if (k % 2 == 0) over(cairn::two_level{n, 1 + step_index(draw() % 20), slots});
    else over(cairn::multistage{n, slots, slots});
  }
}

TEST_CASE("a sweep that stopped goes on with and without a helper") {
  struct stop {};
  cairn::revolve const plan{60, 4};
  auto const wanted = ahead::gradient_by_hand(60);
  for (step_index const at : {59, 40, 17, 3, 0})
    for (bool const helped : {false, true}) {
      auto work = cairn::workspace_for<field>(plan);
      cairn::resume_point<field> noted{60, field(5)};
      auto const noting = cairn::hooked(adjoint_of{}, [&](field const&, field const& bar, step_index i) {
        noted = {i, bar};
        if (i == at) throw stop{};
      });
      CHECK_THROWS_AS(cairn::gradient(step_out{}, ahead::begin(), plan, own, noting, work, eager{.ahead = 4}), stop);
      auto const frames = work.frame_count();
      auto const rest = helped ? cairn::resume(step_out{}, ahead::begin(), plan, noted, adjoint_of{}, work, eager{})
                               : cairn::resume(step_out{}, ahead::begin(), plan, noted, adjoint_of{}, work);
      CHECK(same(rest, wanted));
      CHECK(work.frame_count() == frames);  // and what the slots held
    }
}

TEST_CASE("parameters and objectives stay with the caller") {
  scaling m;
  numbers const p{.1, .2, .3, .4, .5};
  auto const objective = cairn::at_every(
      7, [](field const& x) { return x[0] * x[1]; },
      [](field const& x, field& bar) { bar[0] += x[1], bar[1] += x[0]; });
  cairn::revolve const plan{60, 4};
  auto const one = cairn::differentiate(m, ahead::begin(), p, plan, objective);
  cairn::sweep_report report;
  auto const two = cairn::differentiate(m, ahead::begin(), p, plan, objective, eager{.ahead = 5}, report);
  CHECK(report.serial == nullptr);
  CHECK(one.value == two.value);
  CHECK(same(one.state, two.state));
  CHECK(same(one.params, two.params));
  cairn::value_and_gradient f{m, plan, objective};
  for (int k = 0; k < 2; ++k) {
    auto const& [value, by_state, by_params] = f(ahead::begin(), p, eager{});
    CHECK(value == one.value);
    CHECK(same(by_params, one.params));
  }
}

TEST_CASE("a budget holds the states that are handed over, too, and chooses one thread where that is as fast") {
  struct {
    int bytes;
    double adjoint;  // over a step
    bool serial;
  } const cases[] = {{1'000, 1, true},  // few states
                     {3'000, 0.3, true},  {3'000, 1, false}, {10'000, 1, false},
                     {40'000, 1, true}};  // all of them
  for (auto const& [bytes, adjoint, serial] : cases) {
    CAPTURE(bytes, adjoint);
    cairn::sweep_report report;
    auto const bar = cairn::gradient(step_out{}, ahead::begin(), cairn::budget_of{200, cairn::byte_size{bytes}}, own(ahead::begin()),
                                     adjoint_of{}, eager{.adjoint_over_step = adjoint}, report);
    auto const one = cairn::gradient(step_out{}, ahead::begin(), cairn::store_all(200), own(ahead::begin()), adjoint_of{});
    CHECK(same(bar, one));
    CHECK(report.predicted_bytes <= cairn::wide(bytes));
    CHECK(report.counted.total() <= cairn::wide(bytes));
    CHECK((report.serial != nullptr) == serial);
  }
}

TEST_CASE("what stays on one thread says why") {
  cairn::revolve const plan{60, 4};
  auto const with = [&](auto&&... more) {
    return serial([&](auto& report) {
      return cairn::gradient(step_out{}, ahead::begin(), plan, own, adjoint_of{}, report, more...);
    });
  };
  CHECK(with(eager{}) == "");
  CHECK(with(eager{.threads = 1}) == "parallel asks for one thread");
  ahead::cores = 1;
  CHECK(with(eager{}) == "this process may use one core only");
  ahead::cores = 2, ahead::pays = false;
  CHECK(with(eager{}) == "the steps are too short");
  ahead::pays = true, ahead::recalls = true;
  CHECK(with(eager{.ahead = 1}) == "the helper was recalled: it had no core, or the sweep was no faster with it");
  ahead::recalls = false;
  cairn::mixed const tapes{60, 4};
  auto const recorded = cairn::recorded{[](field& x, step_index i) {
                                          field tape = x;
                                          step_in{}(x, i);
                                          return tape;
                                        },
                                        [](field const& tape, field& bar, step_index i) { bar = ahead::pulled(tape, bar, i); }};
  CHECK(serial([&](auto& report) {
          return cairn::gradient(step_in{}, ahead::begin(), tapes, own, recorded, eager{}, report);
        }) == "the plan keeps tapes");
}

TEST_CASE("what parallel cannot be is refused before a step") {
  auto const refused = [](cairn::parallel how, std::string const& part) {
    int calls = 0;
    auto const step = cairn::concurrent([&calls](field const&, field&, step_index) { ++calls; });
    CHECK_THROWS_MATCHES(cairn::gradient(step, ahead::begin(), cairn::revolve{9, 2}, own, adjoint_of{}, how), cairn::invalid_plan,
                         Catch::Matchers::Predicate<cairn::invalid_plan>(
                             [&](auto const& e) { return std::string(e.what()).find(part) != std::string::npos; }, part));
    CHECK(calls == 0);
  };
  refused({.threads = 3}, "threads = 3");
  refused({.threads = 0}, "threads = 0");
  refused({.ahead = -1}, "ahead = -1");
  refused({.adjoint_over_step = 0}, "adjoint_over_step");
  refused({.adjoint_over_step = std::nan("")}, "adjoint_over_step");
}

TEST_CASE("a helper is recalled at the third look in a row, and at the first one of the next sweep") {
  ahead::recalls = true;
  auto work = cairn::workspace_for<field>(cairn::revolve{60, 4});
  for (int const looks : {3, 1}) {
    ahead::looks = 0;
    (void)cairn::gradient(step_out{}, ahead::begin(), cairn::revolve{60, 4}, own, adjoint_of{}, work, eager{.ahead = 1});
    CHECK(ahead::looks == looks);
  }
  ahead::recalls = false;
}

TEST_CASE("a warm sweep on two threads allocates nothing") {
  cairn::revolve const plan{500, 10};
  auto const adjoint = [](field const& x, double bar, step_index i) { return bar + 1e-3 * x[0] * double(i % 3) * bar; };
  auto work = cairn::workspace_for<field>(plan);
  field const x0 = ahead::begin();
  for (int k = 0; k < 3; ++k) {
    long const before = allocations;
    (void)cairn::gradient(step_out{}, x0, plan, 1.0, adjoint, work, eager{.ahead = 16});
    if (k > 0) CHECK(allocations == before);
  }
}

TEST_CASE("the rules recall a helper without a core or without use, and none on idle cores") {
  using rules = cairn::detail::helper_rules;
  cairn::detail::walk_measures const bound_by_steps{4e6, 3.5e6, 4e6, 4e6, 0}, bound_by_adjoints{4e6, 0, 3e6, 3e6, 1e6},
      no_core{4e6, 3e6, 2e6, 2e6, 0}, slower{4e6, 3e6, 1.5e6, 4e6, 0}, unknown{4e6, 3.5e6, 0, -1, 0},
      bound_by_reads{4e6, 3e6, 1.5e6, 1.5e6, 0, 2.5e6};
  CHECK(!rules::recalls(bound_by_steps));
  CHECK(!rules::recalls(bound_by_adjoints));
  CHECK(rules::recalls(no_core));
  CHECK(rules::recalls(slower));
  CHECK(!rules::recalls(unknown));
  CHECK(!rules::recalls(bound_by_reads));
  CHECK(!rules::pays(5, 1'000'000));
  CHECK(!rules::pays(1'000, 20));
  CHECK(rules::pays(2'000, 1'000));
}
