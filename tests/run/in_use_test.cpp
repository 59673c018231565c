// SPDX-License-Identifier: Apache-2.0
// Workspaces, kept runs and stores stay where they are while a sweep runs in them; inner loops whose plan does not fit
// are refused before the outer loop runs.
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/differentiate.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/plans.hpp"
#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace cairn;
using pendulum::numbers;

namespace {

using work_type = workspace<pendulum::state, revolve>;
static_assert(!std::is_copy_constructible_v<work_type> && std::is_move_constructible_v<work_type>);

numbers expected() { return pendulum::stored{20}.gradient; }

/// A gradient whose functions call `act` once, each in its turn; `sweep(step, seed, adjoint, observer)` runs it.
template <class Sweep>
void from_each_function(std::function<void()> const& act, Sweep sweep) {
  for (int const where : {0, 1, 2, 3}) {
    CAPTURE(where);
    auto const acts = [&](int here, step_index i) {
      if (here == where && i == 7) act();
    };
    auto const step = [&](pendulum::state& x, step_index i) {
      acts(0, i);
      pendulum::in_place{}(x, i);
    };
    auto const seed = [&](pendulum::state const& x) {
      acts(1, 7);
      return pendulum::seed(x);
    };
    auto const adjoint = [&](pendulum::state const& x, numbers& bar, step_index i) {
      acts(2, i);
      pendulum::one_step{}(x, bar, i);
    };
    auto const observer = [&](event const& e) {
      if (e.what().kind == action_kind::reverse) acts(3, e.what().from);
    };
    CHECK_THROWS_AS(sweep(step, seed, adjoint, observer), reentrancy_error);
  }
}

}  // namespace

TEST_CASE("a workspace is not moved by a function that its sweep called, and lives on") {
  work_type work, other;
  auto const plan = revolve{20, 3};
  auto const whole = [&](work_type& in) {
    return gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, in);
  };
  auto const sweep = [&](auto... functions) {
    auto const run = [&](auto step, auto seed, auto adjoint, auto observer) {
      return gradient(step, pendulum::start(), plan, seed, adjoint, work, observer);
    };
    return run(functions...);
  };
  std::vector<std::function<void()>> const moves{[&] { work_type const taken{std::move(work)}; },
                                                 [&] { other = std::move(work); }, [&] { work = std::move(other); },
                                                 [&] { std::swap(work, other); }};
  for (auto const& move : moves) {
    from_each_function(move, sweep);
    CHECK(whole(work) == expected());
  }
  other = std::move(work);
  CHECK(whole(other) == expected());
}

TEST_CASE("a kept run is not moved by a function that its sweep called, and lives on") {
  auto const plan = revolve{20, 3};
  work_type work;
  work_type other_work;
  auto const check = [&](auto run, auto other) {
    auto const moving_adjoint = [&](pendulum::state const& x, numbers& bar, step_index i) {
      if (i == 7) auto const taken = std::move(run);
      pendulum::one_step{}(x, bar, i);
    };
    auto const moving_seed = [&](pendulum::state const& x) {
      auto const taken = std::move(run);
      return pendulum::seed(x);
    };
    CHECK_THROWS_AS(run.reverse(pendulum::seed, moving_adjoint), reentrancy_error);
    CHECK_THROWS_AS(run.reverse(moving_seed, pendulum::one_step{}), reentrancy_error);
    CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == expected());
    for (bool const away : {false, true}) {
      auto const assigning_adjoint = [&](pendulum::state const&, numbers&, step_index) {
        if (away) other = std::move(run);
        else run = std::move(other);
      };
      CHECK_THROWS_AS(run.reverse(pendulum::seed, assigning_adjoint), reentrancy_error);
      for (auto* one : {&run, &other}) CHECK(one->reverse(pendulum::seed, pendulum::one_step{}) == expected());
    }
    auto moved = std::move(run);
    CHECK(moved.reverse(pendulum::seed, pendulum::one_step{}) == expected());
  };
  auto const keep = [&](auto&... in) {
    return checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, in...);
  };
  check(keep(), keep());
  check(keep(work), keep(other_work));
}

TEST_CASE("a store in memory serves one sweep at a time, and is not moved meanwhile") {
  memory_store store, other;
  auto const plan = revolve{20, 3};
  auto const sweep = [&](auto... functions) {
    auto const run = [&](auto step, auto seed, auto adjoint, auto observer) {
      return gradient(step, pendulum::start(), plan, seed, adjoint, store, observer);
    };
    return run(functions...);
  };
  auto const whole = [&] {
    return gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
  };
  std::vector<std::function<void()>> const acts{[&] { memory_store const taken{std::move(store)}; },
                                                [&] { other = std::move(store); }, [&] { store = other; },
                                                [&] { (void)whole(); }};
  for (auto const& act : acts) {
    from_each_function(act, sweep);
    CHECK(whole() == expected());
  }
}

TEST_CASE("a run and a stopped sweep whose store has served another sweep refuse to go on") {
  memory_store store;
  auto const plan = revolve{20, 3};
  auto const whole = [&] {
    return gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
  };
  auto run = checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
  for (int again = 0; again < 2; ++again) CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == expected());
  CHECK(whole() == expected());
  CHECK_THROWS_AS(run.reverse(pendulum::seed, pendulum::one_step{}), invalid_call);

  auto work = workspace_for<pendulum::state>(plan, store);
  resume_point<numbers> noted{20, {}};
  auto const stopping = [&](pendulum::state const& x, numbers& bar, step_index i) {
    if (i == 9) throw 1;
    pendulum::one_step{}(x, bar, i);
    noted = {i, bar};
  };
  auto const stop = [&] {
    CHECK_THROWS_AS(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, stopping, work), int);
  };
  auto const go_on = [&] {
    return resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work);
  };
  stop();
  CHECK(go_on() == expected());
  stop();
  CHECK(whole() == expected());
  CHECK_THROWS_AS(go_on(), invalid_call);
}

TEST_CASE("an inner loop whose plan does not fit its adjoint or its store is refused before the outer loop runs") {
  auto const check = [](any_schedule const& inner, auto const& back) {
    CAPTURE(inner.steps(), inner.leaf());
    nested const direct{inner, pendulum::in_place{}, back};
    nested const twice{revolve{2, 1}, direct.step, direct.adjoint};
    auto const stay = [](pendulum::state&) {};
    auto const stay_back = [](pendulum::state const&, numbers&) {};
    with_jumps const jumps{direct.step, direct.adjoint, jump_at(0, stay, stay_back)};
    auto const refuses = [](auto const& step, auto const& adjoint) {
      pendulum::step_calls = 0;
      CHECK_THROWS_AS(gradient(step, pendulum::start(), revolve{4, 2}, pendulum::seed, adjoint), invalid_plan);
      CHECK(pendulum::step_calls == 0);
      auto run = checkpointed_loop(step, pendulum::start(), revolve{4, 2});
      pendulum::step_calls = 0;
      CHECK_THROWS_AS(run.reverse(pendulum::seed, adjoint), invalid_plan);
      workspace<pendulum::state, revolve> work;
      CHECK_THROWS_AS(resume(step, pendulum::start(), revolve{4, 2}, resume_point{4, numbers{1, 1}, 4}, adjoint, work),
                      invalid_plan);
      CHECK(pendulum::step_calls == 0);
    };
    refuses(direct.step, direct.adjoint);
    refuses(direct.step, hooked(direct.adjoint, [](auto const&, auto&, step_index) {}));
    refuses(jumps.step, jumps.adjoint);
    refuses(twice.step, twice.adjoint);
    refuses(direct.step, std::ref(direct.adjoint));
    pendulum::step_calls = 0;
    auto const seeds = [](pendulum::state const& x) { return std::vector<numbers>(2, x.v); };
    CHECK_THROWS_AS(gradient(direct.step, pendulum::start(), revolve{4, 2}, seeds, each_bar(direct.adjoint)),
                    invalid_plan);
    CHECK(pendulum::step_calls == 0);
  };
  check(leaves{6, 2, revolve{3, 2}}, pendulum::one_step{});
  check(two_level{6, 2, 1}, pendulum::one_step{});
  check(all_tapes(6), pendulum::one_step{});
  check(leaves{6, 2, two_level{3, 1, 1}}, pendulum::leaf{});
}
TEST_CASE("so it is where the inner loop has parameters, and terms of an objective") {
  int calls = 0;
  auto const step = [&](double& x, double p) { ++calls, x *= p; };
  auto const back = [](double x, double& bar, double p, double& dp) { dp += bar * x, bar *= p; };
  auto const value = [](double x) { return x; };
  auto const pull = [](double, double& bar) { bar += 1; };
  std::vector<step_index> const at{1, 3};
  double const p = 0.9;
  double dp = 0;
  nested const inner{leaves{6, 2, revolve{3, 2}}, step, back};
  auto const refuses = [&](auto const& adjoint) {
    CHECK_THROWS_AS(gradient(inner.step, 1.0, revolve{4, 2}, 1.0, adjoint, wrt{p, dp}), invalid_plan);
  };
  refuses(inner.adjoint);
  refuses(std::ref(inner.adjoint));
  auto const differentiated = [&](auto const& all) {
    return differentiate(model{all.step, all.adjoint}, 1.0, p, revolve{4, 2}, at_states(at, value, pull));
  };
  CHECK_THROWS_AS(differentiated(inner), invalid_plan);
  CHECK_THROWS_AS(differentiated(nested{revolve{2, 1}, inner.step, inner.adjoint}), invalid_plan);
  CHECK(calls == 0);
  CHECK(std::abs(differentiated(nested{revolve{6, 2}, step, back}).state - std::pow(p, 6) - std::pow(p, 18)) < 1e-12);
}

#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a workspace, a kept run or a store that is destroyed under its sweep ends the program with a sentence") {
  auto const plan = revolve{20, 3};
  auto const says = [](auto destroys) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t const child = fork();
    if (child == 0) {
      (void)dup2(ends[1], 2);
      signal(SIGABRT, SIG_DFL);
      try {
        destroys();
      } catch (...) {
      }
      _exit(0);
    }
    close(ends[1]);
    std::string text(4096, '\0');
    std::size_t size = 0;
    for (ssize_t got; size < text.size() && (got = read(ends[0], text.data() + size, text.size() - size)) > 0;)
      size += std::size_t(got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return text.substr(0, size);
  };
  auto const sentence = Catch::Matchers::ContainsSubstring("destroyed by a function that its sweep called");
  auto const ending = [](auto& place) {
    return [&](pendulum::state const&, numbers&, step_index) { place.reset(); };
  };
  CHECK_THAT(says([&] {
               std::optional<work_type> work{std::in_place};
               (void)gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, ending(work), *work);
             }),
             sentence);
  CHECK_THAT(says([&] {
               std::optional<memory_store> store{std::in_place};
               (void)gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, ending(store), *store);
             }),
             sentence);
  CHECK_THAT(says([&] {
               work_type work;
               std::optional run{checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, work)};
               (void)run->reverse(pendulum::seed, ending(run));
             }),
             sentence);
}
#endif
