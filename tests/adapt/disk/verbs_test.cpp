// SPDX-License-Identifier: Apache-2.0
// What a run on disk uses of another one, and what it refuses. One process after another is played by one call after
// another, because nothing but the folder outlives a call.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/run/with/nested.hpp>
#include "support/catch.hpp"
#include "support/temporary.hpp"

using Catch::Matchers::ContainsSubstring;
using cairn::disk;
using cairn::disk_use;
using cairn::resume_rule;
using cairn::step_index;
using cairn::wrt;

namespace {

using numbers = std::vector<double>;
struct stopped {};

long calls = 0, stop_at = -1;
double scale = 1;  // a static variable, which no library can see
void tick() {
  if (++calls == stop_at) throw stopped{};
}
void advance_one(numbers& x, double a, step_index i) {
  tick();
  for (double& v : x) v = std::sin(a * scale * v) + 0.01 * double(i % 5);
}
void pull_one(numbers const& x, numbers& bar, double a, double& da) {
  tick();
  for (std::size_t k = 0; k < x.size(); ++k) {
    double const c = bar[k] * std::cos(a * scale * x[k]);
    da += c * x[k];
    bar[k] = c * a;
  }
}
auto const step = [](numbers& x, double const& a, step_index i) { advance_one(x, a, i); };
auto const back = [](numbers const& x, numbers& bar, double const& a, double& da) { pull_one(x, bar, a, da); };
auto const plain_step = [](numbers& x, step_index i) { advance_one(x, 1.2, i); };
auto const plain_back = [](numbers const& x, numbers& bar) {
  double none = 0;
  pull_one(x, bar, 1.2, none);
};

numbers const x0{0.3, -0.4, 0.5};
numbers const seed{1, 2, 3};
cairn::hrevolve plan_of(step_index n) {
  return cairn::hrevolve{n, {cairn::storage_tier{.slots = 2}, cairn::storage_tier{.slots = 4, .write = 5, .read = 5}}};
}
auto const plan = plan_of(40);
struct answer {
  numbers bar;
  double da = 0;
  bool operator==(answer const&) const = default;
};
template <class Plan, class... Last>
answer sweep(Plan const& by, numbers const& from, double a, Last const&... last) {
  answer found;
  found.bar = cairn::gradient(step, from, by, seed, back, wrt{a, found.da}, last...);
  return found;
}
/// The same without parameters.
template <class Step, class Adjoint, class Seed, class... Last>
numbers plain(Step const& f, Adjoint const& g, Seed const& from, Last const&... last) {
  return cairn::gradient(f, x0, plan, from, g, last...);
}
template <class Fn> void stop(long at, Fn f) {
  calls = 0, stop_at = at;
  CHECK_THROWS_AS(f(), stopped);
  stop_at = -1, calls = 0;
}
/// Calls until the sweep has reversed about half of its steps.
long halfway() {
  calls = 0;
  (void)sweep(cairn::in_memory{plan}, x0, 1.2);
  return std::exchange(calls, 0) * 3 / 4;
}
cairn::disk_options const often{.commit_every = 1};
std::string text(char const* from) { return from; }

void shrink(numbers& x) {
  for (double& v : x) v = 0.9 * v + 0.1 * v * v;
}
void pull_shrunk(numbers const& x, numbers& bar) {
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 0.9 + 0.2 * x[k];
}
void pull_as_if_linear(numbers const&, numbers& bar) {
  for (double& v : bar) v *= 0.9;
}
double first_number(numbers const& x) { return x[0]; }
double second_number(numbers const& x) { return x[1]; }
void to_first(numbers const&, numbers& bar) { bar[0] += 1; }
void to_second(numbers const&, numbers& bar) { bar[1] += 1; }

}  // namespace

TEST_CASE("a loop of a step or none that is finished has its value") {
  auto const f = cairn::at_every(1, [](numbers const& x) { return x[0]; }, [](numbers const&, numbers& bar) { bar[0] += 1; }) +
                 cairn::at_end([](numbers const& x) { return x[1]; }, [](numbers const&, numbers& bar) { bar[1] += 1; });
  for (step_index const n : {0, 1, 2}) {
    support::temporary const here;
    auto const right = cairn::differentiate(cairn::model{step, back}, x0, 0.9, cairn::revolve{n, 2}, f);
    for (int times = 0; times < 2; ++times) {
      auto const found =
          cairn::differentiate(cairn::model{step, back}, x0, 0.9, cairn::revolve{n, 2}, f, disk{here.run()});
      CHECK(found.value == right.value);
      CHECK(found.params == right.params);
    }
  }
}

TEST_CASE("a stopped run goes on from its record, in few more calls than were left") {
  support::temporary const here;
  answer const right = sweep(cairn::in_memory{plan}, x0, 1.2);
  long const at = halfway();
  disk const run{here.run(), often};
  stop(at, [&] { (void)sweep(plan, x0, 1.2, run); });
  CHECK(sweep(plan, x0, 1.2, run) == right);
  CHECK(run.report().used == disk_use::record);
  CHECK(text(run.report().why) == "");
  CHECK(run.report().resumed_at > 0);
  CHECK(run.report().resumed_at < 40);
  CHECK(calls < at);
}
TEST_CASE("a finished run is answered from its record, with no sweep") {
  support::temporary const here;
  disk const run{here.run()};
  answer const first = sweep(plan, x0, 1.2, run);
  calls = 0;
  CHECK(sweep(plan, x0, 1.2, run) == first);
  CHECK(calls == 1);  // step 0, by which the run is known
  CHECK(run.report().resumed_at == 0);
  for (auto const& file : std::filesystem::directory_iterator{run.report().folder})
    CHECK(file.path().filename().string()[0] != 's');  // no checkpoint is left
}
TEST_CASE("other functions of the same program, of other types or of the same, are other runs") {
  support::temporary const here;
  disk const run{here.run()};
  for (int process = 0; process < 2; ++process) {
    auto const is = [&](disk_use used) { CHECK(run.report().used == (process == 0 ? disk_use::nothing : used)); };
    auto const by = [&](auto const& back_by) {
      CHECK(cairn::gradient(shrink, x0, plan, seed, back_by, run) ==
            cairn::gradient(shrink, x0, cairn::in_memory{plan}, seed, back_by));
      is(disk_use::record);
    };
    by(&pull_shrunk);
    by(&pull_as_if_linear);
    by([](numbers const& x, numbers& bar) { pull_shrunk(x, bar); });
    by([](numbers const& x, numbers& bar) { pull_as_if_linear(x, bar); });
    auto const ends_in = [&](auto const& loss, auto const& loss_back) {
      auto const all = [&](auto const&... last) {
        auto found = cairn::differentiate(cairn::model{&shrink, &pull_shrunk}, x0, last...);
        return std::pair{found.value, std::move(found.state)};
      };
      cairn::at_end const end{loss, loss_back};
      CHECK(all(plan, end, run) == all(cairn::in_memory{plan}, end));
      is(disk_use::record);
    };
    ends_in(&first_number, &to_first);
    ends_in(&second_number, &to_second);
    auto const seeded = [&](numbers (*make)(numbers const&)) {
      CHECK(cairn::gradient(shrink, x0, plan, make, &pull_shrunk, run) ==
            cairn::gradient(shrink, x0, cairn::in_memory{plan}, make, &pull_shrunk));
      is(disk_use::record);
    };
    seeded([](numbers const& x) { return x; });
    seeded([](numbers const& x) { return numbers(x.size(), 1.0); });
  }
}
TEST_CASE("another initial state, parameter, length, plan, key or step is another run") {
  support::temporary const here;
  long const at = halfway();
  auto const other = [&](char const* what, auto const& then) {
    here.remove_runs();
    stop(at, [&] { (void)sweep(plan, x0, 1.2, disk{here.run(), often}); });
    CAPTURE(what);
    disk const run{here.run(), often};
    then(run);
    CHECK(run.report().used == disk_use::nothing);
  };
  numbers x1 = x0;
  x1[1] = std::nextafter(x1[1], 1.0);
  double const a1 = std::nextafter(1.2, 2.0);
  other("x0", [&](disk const& run) { CHECK(sweep(plan, x1, 1.2, run) == sweep(cairn::in_memory{plan}, x1, 1.2)); });
  other("p", [&](disk const& run) { CHECK(sweep(plan, x0, a1, run) == sweep(cairn::in_memory{plan}, x0, a1)); });
  auto const shorter = plan_of(39);
  other("n", [&](disk const& run) { CHECK(sweep(shorter, x0, 1.2, run) == sweep(cairn::in_memory{shorter}, x0, 1.2)); });
  cairn::multistage const otherwise{40, 2, 4};
  other("plan", [&](disk const& run) { (void)sweep(otherwise, x0, 1.2, run); });
  here.remove_runs();
  stop(at, [&] { (void)sweep(plan, x0, 1.2, disk{here.run(), often}); });
  disk const keyed{here.run(), {.key = "another"}};
  (void)sweep(plan, x0, 1.2, keyed);
  CHECK(keyed.report().used == disk_use::nothing);
  scale = 1.5;  // what step 0 makes of x0 differs
  disk const rebuilt{here.run(), often};
  CHECK(sweep(plan, x0, 1.2, rebuilt) == sweep(cairn::in_memory{plan}, x0, 1.2));
  CHECK(rebuilt.report().used == disk_use::nothing);
  scale = 1;
}
TEST_CASE("what a function captures decides how much of a stopped run is used") {
  long const at = halfway();
  numbers const right = cairn::gradient(plain_step, x0, cairn::in_memory{plan}, seed, plain_back);
  struct use { disk_use used; std::string why; };
  auto const goes_on = [&](auto const& f, auto const& g, auto const& from, cairn::disk_options options) {
    support::temporary const here;
    options.commit_every = 1;
    disk const run{here.run(), options};
    stop(at, [&] { (void)plain(f, g, from, run); });
    CHECK(plain(f, g, from, run) == right);
    return use{run.report().used, run.report().why};
  };
  double const a = 1.2;
  auto const step_of = [a](numbers& x, step_index i) { advance_one(x, a, i); };
  auto const back_of = [a](numbers const& x, numbers& bar) {
    double none = 0;
    pull_one(x, bar, a, none);
  };
  auto const step_with = [&a](numbers& x, step_index i) { advance_one(x, a, i); };
  auto const back_with = [&a](numbers const& x, numbers& bar) {
    double none = 0;
    pull_one(x, bar, a, none);
  };
  auto const seed_with = [of = seed](numbers const&) { return of; };  // the members of a closure have no names
  auto const seed_without = [](numbers const&) { return numbers{1, 2, 3}; };
  CHECK(goes_on(plain_step, plain_back, seed, {}).used == disk_use::record);
  CHECK(goes_on(plain_step, plain_back, seed_without, {}).used == disk_use::record);
  CHECK(goes_on(step_of, back_of, seed, {}).used == disk_use::record);
  auto found = goes_on(step_with, plain_back, seed, {});
  CHECK(found.used == disk_use::nothing);
  CHECK_THAT(found.why, ContainsSubstring("the step, or a stage, holds what cannot be seen"));
  found = goes_on(plain_step, back_with, seed, {});
  CHECK(found.used == disk_use::states);
  CHECK_THAT(found.why, ContainsSubstring("the adjoint holds what cannot be seen"));
  found = goes_on(plain_step, plain_back, seed_with, {});
  CHECK(found.used == disk_use::states);
  CHECK_THAT(found.why, ContainsSubstring("the seed holds what cannot be seen"));
  CHECK(goes_on(cairn::reads_only(step_with, a), cairn::reads_only(back_with, a), cairn::reads_only(seed_with, seed), {}).used == disk_use::record);
  CHECK(goes_on(step_with, back_with, seed_with, {.key = "a = 1.2"}).used == disk_use::record);
  CHECK(goes_on(step_with, back_with, seed_with, {.key = cairn::key_of(a, seed)}).used == disk_use::record);
  CHECK(goes_on(plain_step, cairn::hooked(plain_back, [](numbers const&, numbers&, step_index) {}), seed, {}).used == disk_use::record);
  CHECK(goes_on(plain_step, cairn::hooked(plain_back, [&](numbers const&, numbers&, step_index) { (void)a; }), seed, {}).used == disk_use::states);
}
TEST_CASE("a seed that takes parameters is a function: what it refers to is not in the run's name, and not believed") {
  answer const right = sweep(cairn::in_memory{plan}, x0, 1.2);
  long const at = halfway();
  for (bool const keyed : {true, false}) {
    support::temporary const here;
    auto const go = [&](numbers const& of, disk const& run) {
      answer found;
      double const a = 1.2;
      auto const from = [at_end = &of](numbers const&, double const&, double&) { return *at_end; };
      found.bar = cairn::gradient(step, x0, plan, from, back, wrt{a, found.da}, run);
      return found;
    };
    numbers const first = seed, second = seed;  // another place in each process
    disk const run{here.run(), {.key = keyed ? "1, 2, 3" : "", .commit_every = 1}};
    stop(at, [&] { (void)go(first, run); });
    CHECK(go(second, run) == right);
    CHECK(run.report().used == (keyed ? disk_use::record : disk_use::states));
  }
}
TEST_CASE("what an objective captures decides whether sums along the way are believed") {
  double const weight = 2;
  auto const f = [&weight](numbers const& x) { return weight * x[0]; };
  auto const df = [&weight](numbers const&, numbers& bar) { bar[0] += weight; };
  auto const uses = [&](auto const& objective) {
    support::temporary const here;
    cairn::model const of{step, back};
    auto const right = cairn::differentiate(of, x0, 1.2, cairn::in_memory{plan}, objective);
    disk const run{here.run(), often};
    stop(halfway(), [&] { (void)cairn::differentiate(of, x0, 1.2, plan, objective, run); });
    auto const found = cairn::differentiate(of, x0, 1.2, plan, objective, run);
    CHECK(found.value == right.value);
    CHECK(found.state == right.state);
    CHECK(found.params == right.params);
    return run.report().used;
  };
  CHECK(uses(cairn::at_end(f, df)) == disk_use::states);
  CHECK(uses(cairn::at_every(5, f, df)) == disk_use::nothing);
  auto const g = [weight](numbers const& x) { return weight * x[0]; };
  auto const dg = [weight](numbers const&, numbers& bar) { bar[0] += weight; };
  CHECK(uses(cairn::at_every(5, g, dg)) == disk_use::record);
}
TEST_CASE("a captured sum is whole after a stop, because the reverse sweep begins again") {
  support::temporary const here;
  double sum = 0;
  auto const adds = [&](numbers const& x, numbers& bar) { pull_one(x, bar, 1.2, sum); };
  (void)cairn::gradient(plain_step, x0, cairn::in_memory{plan}, seed, adds);
  double const right = std::exchange(sum, 0);
  disk const run{here.run(), often};
  stop(halfway(), [&] { (void)plain(plain_step, adds, seed, run); });
  sum = 0;  // a new process
  (void)plain(plain_step, adds, seed, run);
  CHECK(sum == right);
  CHECK(run.report().used == disk_use::states);
}
TEST_CASE("a process whose arithmetic differs begins anew at the seam, or throws if it must go on") {
  support::temporary const here;
  disk const run{here.run(), often};
  static bool differs = false;
  auto const varying = [](numbers& x, double const& a, step_index i) {
    advance_one(x, a, i);
    if (differs && i > 0) x[0] = std::nextafter(x[0], 1.0);
  };
  double a = 1.2, da = 0;
  disk const must{here.run(), {.resume = resume_rule::require}};
  auto const by = [&](auto const& from, auto const&... on) {
    return cairn::gradient(varying, x0, from, seed, back, wrt{a, da}, on...);
  };
  differs = true;
  numbers const other = by(cairn::in_memory{plan});
  double const other_da = da;
  differs = false;
  calls = 0;
  stop(halfway() * 7 / 6, [&] { (void)by(plan, run); });
  differs = true;
  CHECK_THROWS_WITH(by(plan, must), ContainsSubstring("a state differs from what the process that stopped had"));
  CHECK(by(plan, run) == other);
  CHECK(da == other_da);
  CHECK(run.report().used == disk_use::nothing);
  CHECK_THAT(run.report().why, ContainsSubstring("another trajectory"));
  CHECK(by(plan, run) == other);  // and its record is the one that is there
  CHECK(run.report().finished);
}
TEST_CASE("so is one that goes on from checkpoints, after one stretch between two of them") {
  support::temporary const here;
  disk const run{here.run()};
  static step_index differs_from = 1'000;
  auto const varying = [](numbers& x, double const& a, step_index i) {
    advance_one(x, a, i);
    if (i >= differs_from) x[0] = std::nextafter(x[0], 1.0);
  };
  double a = 1.2, da = 0;
  auto const once = [&] { return cairn::gradient(varying, x0, plan, seed, back, wrt{a, da}, run); };
  for (long const at : {30L, halfway()}) {  // on the way forward, and on the way back
    here.remove_runs();
    stop(at, [&] { (void)once(); });
    differs_from = 1;
    numbers const other = cairn::gradient(varying, x0, cairn::in_memory{plan}, seed, back, wrt{a, da});
    double const other_da = da;
    CHECK(once() == other);
    CHECK(da == other_da);
    CHECK(run.report().used == disk_use::nothing);
    differs_from = 1'000;
  }
}
TEST_CASE("a rule says whether a run goes on") {
  support::temporary const here;
  disk const required{here.run(), {.resume = resume_rule::require}};
  CHECK_THROWS_WITH(sweep(plan, x0, 1.2, required), ContainsSubstring("there is nothing of an earlier process"));
  answer const right = sweep(cairn::in_memory{plan}, x0, 1.2);
  stop(halfway(), [&] { (void)sweep(plan, x0, 1.2, disk{here.run(), often}); });
  disk const anew{here.run(), {.resume = resume_rule::never}};
  calls = 0;
  CHECK(sweep(plan, x0, 1.2, anew) == right);
  CHECK(anew.report().used == disk_use::nothing);
  CHECK(sweep(plan, x0, 1.2, required) == right);
}
TEST_CASE("of many finished runs the first ones stay, and nothing else is removed") {
  support::temporary const here;
  stop(halfway(), [&] { (void)sweep(plan, x0, 0.5, disk{here.run(), often}); });  // stays, because it is not finished
  std::filesystem::create_directory(here.run() + "/mine");
  for (int k = 0; k < 5; ++k) (void)sweep(plan, x0, 1 + 0.1 * k, disk{here.run(), {.keep = 2}});
  std::size_t runs = 0;
  for (auto const& one : std::filesystem::directory_iterator{here.run()}) runs += one.path().filename() != "mine";
  CHECK(runs == 3);
  CHECK(std::filesystem::exists(here.run() + "/mine"));
  calls = 0;
  disk const again{here.run()};
  for (double const a : {1.0, 1.1}) {
    CHECK(sweep(plan, x0, a, again) == sweep(cairn::in_memory{plan}, x0, a));
    CHECK(again.report().finished);
  }
}
TEST_CASE("options of a disk that make no sense are refused before any step") {
  support::temporary const here;
  calls = 0;
  for (double const seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(sweep(plan, x0, 1.2, disk{here.run(), {.seconds_between_failures = seconds}}), cairn::invalid_call);
  CHECK_THROWS_AS(sweep(plan, x0, 1.2, disk{here.run(), {.commit_every = -1}}), cairn::invalid_call);
  CHECK_THROWS_AS(sweep(plan, x0, 1.2, disk{here.run(), {.keep = 0}}), cairn::invalid_call);
  CHECK_THROWS_AS(sweep(plan, x0, 1.2, disk{here.run(), {.forget_after = 0}}), cairn::invalid_call);
  CHECK_THROWS_AS(sweep(plan, x0, 1.2, disk{here.run() + "/none/there"}), cairn::file_error);
  CHECK(calls == 0);
}
TEST_CASE("loops of no, one and two steps run on disk, finished or not") {
  for (step_index const n : {0, 1, 2}) {
    support::temporary const here;
    auto const few = plan_of(n);
    answer const right = sweep(cairn::in_memory{few}, x0, 1.2);
    disk const run{here.run()};
    CHECK(sweep(few, x0, 1.2, run) == right);
    CHECK(sweep(few, x0, 1.2, run) == right);
    CHECK(run.report().resumed_at == 0);
  }
}
TEST_CASE("nested loops with jumps, leaves and recording adjoints go on from their records") {
  long const at = halfway();
  double const a = 1.2;
  auto const goes_on = [&](auto const& f, auto const& g, auto const& by, long calls_before) {
    support::temporary const here;
    disk const run{here.run(), often};
    answer right, found;
    right.bar = cairn::gradient(f, x0, cairn::in_memory{by}, seed, g, wrt{a, right.da});
    auto const once = [&] { found.bar = cairn::gradient(f, x0, by, seed, g, run, wrt{a, found.da}); };
    stop(calls_before, once);
    once();
    CHECK(found == right);
    return run.report().used;
  };
  cairn::nested const inner{cairn::revolve{3, 2}, step, back};
  auto const bend = [](numbers& x, double const& by) { x[0] = by * x[0] * x[0]; };
  auto const bend_back = [](numbers const& x, numbers& bar, double const& by, double& da) {
    da += bar[0] * x[0] * x[0];
    bar[0] *= 2 * by * x[0];
  };
  cairn::with_jumps const loop{inner.step, inner.adjoint, cairn::jump_at(17, bend, bend_back)};
  CHECK(goes_on(loop.step, loop.adjoint, plan, 3 * at) == disk_use::record);

  auto const leaf = cairn::leaf([](numbers const& x, numbers& bar, double const& by, double& da, step_index first,
                                   step_index last) {
    std::vector<numbers> states{x};
    for (step_index i = first; i + 1 < last; ++i) {
      states.push_back(states.back());
      advance_one(states.back(), by, i);
    }
    for (; !states.empty(); states.pop_back()) pull_one(states.back(), bar, by, da);
  });
  cairn::leaves const in_leaves{40, 5, plan_of(8)};
  CHECK(goes_on(step, leaf, in_leaves, at) == disk_use::record);

  struct tape { numbers x; };
  auto const record = [](numbers& x, double const& by, step_index i) {
    tape made{x};
    advance_one(x, by, i);
    return made;
  };
  auto const reverse = [](tape const& of, numbers& bar, double const& by, double& da) { pull_one(of.x, bar, by, da); };
  CHECK(goes_on(step, cairn::recorded{record, reverse}, plan, at) == disk_use::record);
}
TEST_CASE("an observer, options and a report may stand beside a disk") {
  support::temporary const here;
  cairn::sweep_report report;
  long seen = 0;
  std::size_t most = 0;
  auto const watch = [&](cairn::event const& e) {
    ++seen;
    most = std::max(most, e.bytes_held(cairn::tier::disk));
  };
  answer found;
  double const a = 1.2;
  found.bar = cairn::gradient(step, x0, plan, seed, back, cairn::sweep_options{.verify = cairn::replay_check::every_step},
                              watch, disk{here.run()}, report, wrt{a, found.da});
  CHECK(found == sweep(cairn::in_memory{plan}, x0, 1.2));
  CHECK(report.step_calls > 40);
  (void)cairn::gradient(step, x0, plan, seed, back, disk{here.run()}, report, wrt{a, found.da});
  CHECK(report.step_calls == 0);
  CHECK(report.steps == 40);
  CHECK(seen > 0);
  CHECK(most == 4 * (128 + cairn::written_bytes(x0)));
}
