// SPDX-License-Identifier: Apache-2.0
// Runs on disk that are kept: what a second process uses of the first, played by one call after another, because nothing
// but the folder outlives a call.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/adaptive.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

using Catch::Matchers::ContainsSubstring;
using cairn::disk;
using cairn::disk_use;
using cairn::step_index;

namespace {

using numbers = std::vector<double>;
struct stopped {};
long calls = 0, stop_at = -1;
void tick() {
  if (++calls == stop_at) throw stopped{};
}
/// Without a default constructor, as grids are.
struct grid {
  numbers v;
  explicit grid(std::size_t size) : v(size, 0.4) {}
  template <class Sink> void write_state(Sink& sink) const { cairn::write_state(v, sink); }
  template <class Source> void read_state(Source& source) { cairn::read_state(v, source); }
};
struct solver {
  numbers v{0.3, -0.4, 0.5};
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] numbers save() const { return v; }
  void restore(numbers const& s) { v = s; }
  void write_state(auto& sink) const { cairn::write_state(v, sink); }
  void read_state(auto& source) { cairn::read_state(v, source); }
};
/// Its library has the adjoint, beside what a snapshot holds.
struct library {
  numbers v{0.3, -0.4, 0.5}, bar;
  library() = default;
  library(library const&) = delete;
  [[nodiscard]] numbers save() const { return v; }
  void restore(numbers const& s) { v = s; }
  void write_state(auto& sink) const { cairn::write_state(v, sink); }
  void read_state(auto& source) { cairn::read_state(v, source); }
};
struct library_that_saves : library {
  [[nodiscard]] numbers save_bar() const { return bar; }
  void restore_bar(numbers const& saved) { bar = saved; }
};
numbers& of(numbers& x) { return x; }
numbers const& of(numbers const& x) { return x; }
template <class T> auto& of(T& x) { return x.v; }

auto const step = [](auto& x, step_index i) {
  tick();
  for (double& v : of(x)) v = std::sin(1.2 * v) + 0.01 * double(i % 5);
};
auto const adjoint = [](auto const& x, numbers& bar) {
  tick();
  for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= 1.2 * std::cos(1.2 * of(x)[k]);
};
auto const by_next = [](numbers const& x, numbers const& x1, numbers& bar, step_index i) {
  tick();
  for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= 1.2 * std::cos(1.2 * x[k]) + 0 * x1[k] * double(i);
};
auto const recording = cairn::recorded{[](numbers& x, step_index i) {
                                         numbers const before = x;
                                         step(x, i);
                                         return before;
                                       },
                                       [](numbers const& tape, numbers& bar) { adjoint(tape, bar); }};
step_index const n = 40;
auto const goes_on = [](auto const&, step_index i) { return i < n; };
numbers const x0{0.3, -0.4, 0.5}, seed{1, 2, 3};
cairn::multistage const plan{n, 2, 5};
cairn::online const unknown{5};
cairn::disk_options const often{.commit_every = 1};

template <class Plan, class Step, class State, class... Last>
auto begun(Plan const& by, Step const& f, State& x, Last&&... last) {
  if constexpr (cairn::open_schedule<Plan>) return cairn::checkpointed_while(f, x, goes_on, by, last...);
  else if constexpr ((std::is_same_v<std::remove_cvref_t<Last>, disk> || ...))
    return cairn::checkpointed_loop(f, x, by, last...);
  else return cairn::checkpointed_loop(f, x, cairn::in_memory{by}, last...);
}
/// Calls f, whose process is stopped at its call `at`.
template <class Fn> void stop(long at, Fn f) {
  calls = 0, stop_at = at;
  CHECK_THROWS_AS(f(), stopped);
  stop_at = -1, calls = 0;
}
template <class Fn> long calls_of(Fn f) {
  calls = 0, stop_at = -1;
  f();
  return std::exchange(calls, 0);
}
/// Stops use(last...) at each call of the user's functions, goes on, and compares with use(), which knows no disk.
template <class Use, class Look>
void stop_everywhere(Use use, Look look) {
  auto const right = use();
  long const all = calls_of([&] { (void)use(); });
  support::temporary const here;
  for (long at = 1; at <= all; at += 3) {
    here.remove_runs();
    stop(at, [&] { (void)use(disk{here.run(), often}); });
    disk const run{here.run(), often};
    CAPTURE(at);
    CHECK(use(run) == right);
    look(run.report(), at, all);
  }
}
auto const anything = [](auto const&, long, long) {};
void damage(std::string const& file) {
  std::fstream f{file, std::ios::in | std::ios::out | std::ios::binary};
  REQUIRE(f);
  f.seekp(140);
  f.put('\x55');
}

}  // namespace

TEST_CASE("a kept run that was on its way back goes on there, with no forward run before it") {
  auto const bounded = [](cairn::disk_report const& seen, long at, long all) {
    if (seen.used == disk_use::record) CHECK(calls <= all - at + 16);  // two stretches between states on disk  // the longest stretch between two states
    if (at > n + 10) CHECK(seen.used == disk_use::record);
  };
  auto const by_plan = [](auto const&... last) { return begun(plan, step, x0, last...).reverse(seed, adjoint); };
  stop_everywhere(by_plan, [&](auto const&... is) { bounded(is...); calls = 0; });
  auto const by_end = [](auto const&... last) { return begun(unknown, step, x0, last...).reverse(seed, adjoint); };
  stop_everywhere(by_end, [&](auto const&... is) { bounded(is...); calls = 0; });
}
TEST_CASE("every form of adjoint goes on, and objects end where the options say") {
  auto const by = [](auto const& plan_by, auto const& back) {
    stop_everywhere([&](auto const&... last) { return begun(plan_by, step, x0, last...).reverse(seed, back); }, anything);
  };
  by(plan, cairn::with_next(by_next));
  by(unknown, cairn::with_next(by_next));
  by(plan, recording);
  by(unknown, recording);
  auto const leaf = cairn::leaf([](numbers const& x, numbers& bar, step_index first, step_index last) {
    std::vector<numbers> all{x};
    for (step_index i = first; i + 1 < last; ++i) step(all.emplace_back(all.back()), i);
    for (step_index i = last; i-- > first;) adjoint(all[std::size_t(i - first)], bar);
  });
  by(cairn::hrevolve{n, {cairn::storage_tier{.slots = 1}, cairn::storage_tier{.slots = 3, .write = 1, .read = 1}}}, leaf);
  for (auto const end : {cairn::object_ends::at_initial, cairn::object_ends::at_final}) {
    auto const object = [&](auto const& plan_by, auto const&... last) {
      solver x;
      numbers found = begun(plan_by, step, x, last..., end).reverse([](solver& s) { return s.v; }, adjoint);
      for (double const v : x.v) found.push_back(v);
      return found;
    };
    auto const plain = [&](auto const&... last) {
      if constexpr (sizeof...(last) == 0) return object(cairn::in_memory{plan});
      else return object(plan, last...);
    };
    stop_everywhere(plain, anything);
    stop_everywhere([&](auto const&... last) { return object(unknown, last...); }, anything);
  }
}
TEST_CASE("an object whose library saves the adjoint goes on from its record; another begins its way back again") {
  auto const fill = [](auto& x) { x.bar = seed; };
  auto const back = [](auto& x) { adjoint(x, x.bar); };
  auto const by_run = [&]<class Object>(Object x, auto const& by, auto const&... last) {
    (void)begun(by, step, *x, last...).reverse(fill, back);
    return x->bar;
  };
  auto const by_gradient = [&]<class Object>(Object x, auto const&... last) {
    if constexpr (sizeof...(last) == 0) (void)cairn::gradient(step, *x, cairn::in_memory{plan}, fill, back);
    else (void)cairn::gradient(step, *x, plan, fill, back, last...);
    return x->bar;
  };
  auto const goes_back = [](cairn::disk_report const& seen, long at, long) {
    if (at > n + 10) CHECK(seen.used == disk_use::record);
  };
  auto const saves = [] { return std::make_unique<library_that_saves>(); };
  stop_everywhere([&](auto const&... last) { return by_gradient(saves(), last...); }, goes_back);
  stop_everywhere([&](auto const&... last) { return by_run(saves(), plan, last...); }, goes_back);
  stop_everywhere([&](auto const&... last) { return by_run(saves(), unknown, last...); }, goes_back);
  auto const begins = [](cairn::disk_report const& seen, long, long) {
    CHECK(seen.used != disk_use::record);
    CHECK_THAT(seen.why, ContainsSubstring("save_bar()"));
  };
  auto const lacks = [] { return std::make_unique<library>(); };
  stop_everywhere([&](auto const&... last) { return by_gradient(lacks(), last...); }, begins);
  stop_everywhere([&](auto const&... last) { return by_run(lacks(), plan, last...); }, begins);
}
TEST_CASE("a state without a default constructor goes on") {
  auto const use = [](auto const& by) {
    return [&by](auto const&... last) {
      grid x{3};
      return begun(by, step, x, last...).reverse(seed, adjoint);
    };
  };
  stop_everywhere(use(plan), anything);
  stop_everywhere(use(unknown), anything);
}
TEST_CASE("with a replay check on, a run goes on, and compares what it runs again") {
  cairn::sweep_options const every{.verify = cairn::replay_check::every_step};
  cairn::sweep_options const some{.verify = cairn::replay_check::checkpoints};
  for (auto const& options : {every, some}) {
    stop_everywhere([&](auto const&... last) { return begun(plan, step, x0, last..., options).reverse(seed, adjoint); },
                    anything);
    stop_everywhere([&](auto const&... last) { return begun(unknown, step, x0, last..., options).reverse(seed, adjoint); },
                    anything);
  }
}
TEST_CASE("loops of no step, one and two are run, kept and answered again") {
  for (step_index const few : {0, 1, 2}) {
    support::temporary const here;
    auto const short_loop = [few](numbers const&, step_index i) { return i < few; };
    numbers const right = cairn::checkpointed_loop(step, x0, few).reverse(seed, adjoint);
    for (int process = 0; process < 2; ++process) {
      CHECK(cairn::checkpointed_loop(step, x0, few, disk{here.run()}).reverse(seed, adjoint) == right);
      disk const run{here.run(), {.key = std::to_string(few)}};
      CHECK(cairn::checkpointed_while(step, x0, short_loop, unknown, run).reverse(seed, adjoint) == right);
    }
  }
}
TEST_CASE("an objective of a loop of unknown length goes on from its record") {
  auto const height = cairn::at_every(7, [](numbers const& x) { return x[0] * x[1]; },
                                      [](numbers const& x, numbers& bar) { bar[0] += x[1], bar[1] += x[0]; });
  cairn::model const m{step, adjoint};
  stop_everywhere(
      [&](auto const&... last) {
        auto const found = cairn::differentiate(m, x0, cairn::run_while{goes_on, unknown}, height, last...);
        return std::pair{found.value, found.state};
      },
      [](cairn::disk_report const& seen, long at, long) {
        if (at > n + 10) CHECK(seen.used == disk_use::record);
      });
}
TEST_CASE("what stands before the reverse is that of an undisturbed run: final state, states, and the walk back") {
  support::temporary const here;
  auto const look = [](auto run) {
    numbers all = run.final_state();
    for (step_index const i : {0, 7, 39}) all.push_back(run.at(i)[1]);
    for (auto [i, x] : run.backward()) all.push_back(x[0] + double(i));
    return all;
  };
  auto const both = [&](auto const& by) {
    numbers const right = look(begun(by, step, x0));
    here.remove_runs();
    stop(70, [&] { (void)begun(by, step, x0, disk{here.run(), often}).reverse(seed, adjoint); });
    CHECK(look(begun(by, step, x0, disk{here.run(), often})) == right);
  };
  both(plan);
  both(unknown);
}
TEST_CASE("a reverse with another seed or by another adjoint does not go on from the record, and is right") {
  support::temporary const here;
  auto const linear = [](numbers const&, numbers& bar) { for (double& v : bar) v *= 1.1; };
  auto const both = [&](auto const& by) {
    auto const begin_one = [&] {
      here.remove_runs();
      stop(70, [&] { (void)begun(by, step, x0, disk{here.run(), often}).reverse(seed, adjoint); });
    };
    auto const other = [&](auto const& from, auto const& back) {
      begin_one();
      disk const run{here.run(), often};
      CHECK(begun(by, step, x0, run).reverse(from, back) == begun(by, step, x0).reverse(from, back));
      CHECK(run.report().used == disk_use::states);
    };
    other(numbers{1, 2, 4}, adjoint);
    other([](numbers const& x) { return x; }, adjoint);
    other(seed, linear);
    begin_one();  // the same seed from a function is the same
    disk const run{here.run(), often};
    CHECK(begun(by, step, x0, run).reverse([](numbers const&) { return seed; }, adjoint) ==
          begun(by, step, x0).reverse(seed, adjoint));
    CHECK(run.report().used == disk_use::record);
  };
  both(plan);
  both(unknown);
}
TEST_CASE("a seed that adds something else to dp begins its way back") {
  support::temporary const here;
  disk const run{here.run(), often};
  double p = 1.2, dp = 0;
  auto const by_p = [](numbers& x, double const& a, step_index) { tick(), x[0] *= a; };
  auto const back = [](numbers const& x, numbers& bar, double const& a, double& da) {
    tick();
    da += bar[0] * x[0];
    bar[0] *= a;
  };
  auto const from = [&](auto const& seed_by) {
    dp = 0;
    cairn::wrt by{p, dp};
    auto kept = cairn::checkpointed_loop(by_p, x0, plan, run, by);
    (void)kept.reverse(seed_by, back);
    return dp;
  };
  auto const one = [](numbers const&, double const&, double& da) { return da += 1, seed; };
  auto const two = [](numbers const&, double const&, double& da) { return da += 2, seed; };
  double const right = from(one);
  here.remove_runs();
  stop(70, [&] { (void)from(one); });
  CHECK(from(two) == right + 1);
  CHECK(run.report().used == disk_use::states);
}
TEST_CASE("a run that moves between its parts, and outlives its disk, goes on") {
  support::temporary const here;
  numbers const right = begun(plan, step, x0).reverse(seed, adjoint);
  stop(70, [&] { (void)begun(plan, step, x0, disk{here.run(), often}).reverse(seed, adjoint); });
  auto run = begun(plan, step, x0, disk{here.run(), often});
  auto moved = std::move(run);
  CHECK(moved.reverse(seed, adjoint) == right);
  CHECK(moved.reverse(seed, adjoint) == right);
  numbers const twice{2, 4, 6};
  CHECK(moved.reverse(twice, adjoint) == begun(plan, step, x0).reverse(twice, adjoint));
}
TEST_CASE("a final state that is damaged is made again") {
  support::temporary const here;
  auto const both = [&](auto const& by) {
    here.remove_runs();
    disk const run{here.run(), often};
    stop(70, [&] { (void)begun(by, step, x0, run).reverse(seed, adjoint); });
    damage(run.report().folder + "/final");
    CHECK(begun(by, step, x0, run).reverse(seed, adjoint) == begun(by, step, x0).reverse(seed, adjoint));
    CHECK(run.report().used == disk_use::record);
  };
  both(plan);
  both(unknown);
}
TEST_CASE("what steps have chosen is repeated; states after the first choice that is damaged are not used") {
  struct choice {
    double h;
  };
  auto const first = [](numbers& x, step_index) {
    tick();
    choice const made{std::abs(x[0]) > 0.9 ? 0.01 : 0.02};
    for (double& v : x) v += made.h * std::cos(v);
    return made;
  };
  auto const again = [](numbers& x, choice const& made) {
    for (double& v : x) v += made.h * std::cos(v);
  };
  auto const back = [](numbers const& x, numbers& bar, choice const& made) {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1 - made.h * std::sin(x[k]);
  };
  auto const use = [&](auto const&... last) {
    cairn::adaptive loop{first, again};
    auto run = cairn::checkpointed_while(loop.step(), x0, goes_on, unknown, last...);
    numbers found = run.reverse(seed, loop.with_record(back));
    for (choice const& made : loop.records()) found.push_back(made.h);
    return found;
  };
  numbers const right = use();
  support::temporary const here;
  disk const run{here.run(), often};
  stop(60, [&] { (void)use(run); });
  CHECK(calls_of([&] { CHECK(use(run) == right); }) <= n - 20 + 1);  // nothing was chosen twice
  CHECK(run.report().used == disk_use::record);
  here.remove_runs();
  stop(60, [&] { (void)use(run); });
  damage(run.report().folder + "/choices");
  CHECK(calls_of([&] { CHECK(use(run) == right); }) >= n - 1);  // state 1 is the last that is used
}
TEST_CASE("functions that capture decide what a kept run uses") {
  support::temporary const here;
  disk const run{here.run(), often};
  numbers const right = begun(plan, step, x0).reverse(seed, adjoint);
  auto const used = [&](auto const& use, disk_use expected, char const* why) {
    here.remove_runs();
    stop(70, [&] { (void)use(run); });
    CHECK(use(run) == right);
    CHECK(run.report().used == expected);
    CHECK_THAT(run.report().why, ContainsSubstring(why));
  };
  long sum = 0;
  auto const counts = [&sum](numbers const& x, numbers& bar) { adjoint(x, bar), ++sum; };
  auto const counted = [&sum](numbers& x, step_index i) { step(x, i), ++sum; };
  step_index most = n;
  auto const until = [&most](numbers const&, step_index i) { return i < most; };
  used([&](disk const& on) { return begun(plan, step, x0, on).reverse(seed, counts); }, disk_use::states, "the adjoint");
  used([&](disk const& on) { return begun(plan, step, x0, on).reverse(seed, cairn::reads_only{counts}); },
       disk_use::record, "");
  used([&](disk const& on) { return begun(plan, counted, x0, on).reverse(seed, adjoint); }, disk_use::nothing, "the step");
  used([&](disk const& on) { return cairn::checkpointed_while(step, x0, until, unknown, on).reverse(seed, adjoint); },
       disk_use::nothing, "the condition");
  disk const keyed{here.run(), {.key = "40 steps", .commit_every = 1}};
  stop(70, [&] { (void)cairn::checkpointed_while(step, x0, until, unknown, keyed).reverse(seed, counts); });
  CHECK(cairn::checkpointed_while(step, x0, until, unknown, keyed).reverse(seed, counts) == right);
  CHECK(keyed.report().used == disk_use::record);
  here.remove_runs();
  CHECK_THROWS_AS(begun(plan, step, x0, disk{here.run(), {.resume = cairn::resume_rule::require}}), cairn::invalid_call);
}
TEST_CASE("a kept run of another arithmetic begins anew as long as nobody has its final state, and is refused afterwards") {
  support::temporary const here;
  static bool differs = false;
  auto const varying = [](numbers& x, step_index i) {
    step(x, i);
    if (differs && i > 0) x[0] = std::nextafter(x[0], 1.0);
  };
  numbers const right = begun(plan, varying, x0).reverse(seed, adjoint);
  auto const both = [&](auto const& by, long at, auto const& from) {
    here.remove_runs();
    disk const run{here.run(), often};
    stop(at, [&] { (void)begun(by, varying, x0, run).reverse(seed, adjoint); });
    differs = true;
    auto const by_journal = ContainsSubstring("a state differs");
    auto const by_ledger = ContainsSubstring("at first another process made it");
    auto const refused = by_journal || by_ledger;  // which refers to them
    if (at > n) CHECK_THROWS_WITH(begun(by, varying, x0, run).reverse(from, adjoint), refused);
    else {
      CHECK_THROWS_WITH(begun(by, varying, x0, disk{here.run(), {.resume = cairn::resume_rule::require}}), refused);
      CHECK(begun(by, varying, x0, run).reverse(from, adjoint) == begun(by, varying, x0).reverse(from, adjoint));
      CHECK(run.report().used == disk_use::nothing);
      CHECK_THAT(run.report().why, ContainsSubstring("another trajectory"));
    }
    differs = false;
    if (at > n) CHECK(begun(by, varying, x0, run).reverse(seed, adjoint) == right);  // what it has left is still there
  };
  numbers const other{1, 2, 4};  // the record is not used
  for (long const at : {30, 70}) {
    both(plan, at, seed);
    both(unknown, at, seed);
    both(plan, at, other);
    both(unknown, at, other);
  }
}
TEST_CASE("a kept run on disk takes no more memory than its report predicts, also if it goes on") {
  support::temporary const here;
  numbers const large(20'000, 0.5), ones(20'000, 1.0);
  disk const run{here.run(), {.commit_every = 10}};
  cairn::sweep_report report;
  auto const once = [&](auto const& by, auto&&... last) {
    return begun(by, step, large, last...).reverse(ones, adjoint);
  };
  auto const right = once(plan);
  std::size_t const state = large.size() * sizeof(double);
  {
    heap::mark const from;
    stop(70, [&] { (void)once(plan, run, report); });
    CHECK(from.rise() <= std::size_t(report.predicted_bytes));
  }
  {
    heap::mark const from;
    CHECK(once(plan, run, report) == right);
    CHECK(run.report().used == disk_use::record);
    CHECK(from.rise() <= std::size_t(report.predicted_bytes) + 2 * state);  // the seam, and the record that is read
  }
  here.remove_runs();
  heap::mark const from;
  CHECK(once(unknown, run) == right);
  CHECK(from.rise() <= 7 * state);  // and five slots
}
