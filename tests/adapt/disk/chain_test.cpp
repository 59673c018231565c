// SPDX-License-Identifier: Apache-2.0
// What a chain on disk uses of another process, and what it takes. One process after another is played by one call
// after another, because nothing but the folder outlives a call.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include "adapt/disk/chain_runs.hpp"
#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

using namespace chain_runs;
using Catch::Matchers::ContainsSubstring;
using cairn::disk;
using cairn::disk_use;
using cairn::wrt;

namespace {

cairn::disk_options const often{.commit_every = 1};
std::string text(char const* from) { return from; }

/// The sweep that counts calls of stages and stops at one of them, or is killed there.
struct stopped {};
long calls = 0, stop_at = -1;
void tick() {
  killed::tick();
  if (++calls == stop_at) throw stopped{};
}
template <class Fn> void stop(long at, Fn f) {
  calls = 0, stop_at = at;
  CHECK_THROWS_AS(f(), stopped);
  stop_at = -1, calls = 0;
}
/// Multiplies by its number; the adjoint is the same.
struct scaled {
  double by;
  [[nodiscard]] double forward(double x) const { return tick(), std::sin(by * x); }
  [[nodiscard]] double backward(double x, double bar) const { return tick(), bar * by * std::cos(by * x); }
};
std::vector<scaled> const eight{{0.9}, {1.1}, {1.2}, {0.8}, {0.7}, {1.3}, {1.05}, {0.95}};
template <class Stages, class Plan, class Seed, class... Last>
auto plain(Stages&& stages, Plan const& plan, Seed const& from, Last&&... last) {
  return cairn::chain_gradient(stages, 0.4, plan, from, last...);
}
double const right = plain(eight, stored_whole(8), 1.0);
auto const in_files = filed(8, 2);
/// Calls until so many of the eight adjoints are made.
long calls_to(std::vector<action> const& plan, int adjoints) {
  long sum = 0;
  for (auto const& a : plan) {
    sum += a.kind == cairn::action_kind::advance || a.kind == cairn::action_kind::record ||
           a.kind == cairn::action_kind::reverse;
    if (a.kind == cairn::action_kind::reverse && --adjoints == 0) break;
  }
  return sum;
}

/// A stage whose backward sums up in it.
struct sums_itself {
  double by, sum = 0;
  [[nodiscard]] double forward(double x) const { return tick(), std::sin(by * x); }
  [[nodiscard]] double backward(double x, double bar) {
    tick();
    double const c = bar * std::cos(by * x);
    sum += c * x;
    return c * by;
  }
};
/// A stage between states of other sizes.
using field = std::vector<double>;
struct resized {
  std::size_t out;
  static inline std::size_t stop_at = 0;
  [[nodiscard]] field forward(field const& x) const {
    field y(out);
    for (std::size_t k = 0; k < out; ++k) y[k] = std::sin(x[k % x.size()]);
    return y;
  }
  [[nodiscard]] field backward(field const& x, field const& bar) const {
    if (out == stop_at) throw stopped{};
    field before(x.size());
    for (std::size_t k = 0; k < out; ++k) before[k % x.size()] += bar[k] * std::cos(x[k % x.size()]);
    return before;
  }
};
/// A chain of functions.
auto of_functions() {
  auto const f = [](double x) { return tick(), std::sin(1.1 * x); };
  auto const g = [](double x, double bar) { return tick(), bar * 1.1 * std::cos(1.1 * x); };
  return std::vector(8, cairn::stage{f, g});
}
double one(double x) { return tick(), 2 * x; }
double one_back(double, double bar) { return tick(), 2 * bar; }
double other_back(double, double bar) { return tick(), 3 * bar; }

}  // namespace

TEST_CASE("a stopped chain goes on from its record: what is left, and what its plan still holds") {
  for (auto const& plan : {stored_whole(8), persistent(8, 3), nothing_kept(8), in_files})
    for (int adjoints = 1; adjoints < 8; ++adjoints) {
      support::temporary const here;
      disk const run{here.run(), often};
      CAPTURE(plan.size(), adjoints);
      long const at = calls_to(plan, adjoints), all = calls_to(plan, 8);
      stop(1 + at + 1, [&] { (void)plain(eight, plan, 1.0, run); });  // stage 0 runs for the run's name
      CHECK(plain(eight, plan, 1.0, run) == right);
      CHECK(run.report().used == disk_use::record);
      CHECK(text(run.report().why) == "");
      CHECK(run.report().resumed_at == 8 - adjoints);
      CHECK(calls <= 1 + (8 - adjoints) + (all - at));
    }
}
TEST_CASE("a finished chain is answered from its record, and leaves no states") {
  support::temporary const here;
  disk const run{here.run()};
  CHECK(plain(eight, in_files, 1.0, run) == right);
  calls = 0;
  cairn::sweep_report report;
  CHECK(plain(eight, in_files, 1.0, run, report) == right);
  CHECK(calls == 1);
  CHECK(report.step_calls == 0);
  CHECK(run.report().resumed_at == 0);
  for (auto const& file : std::filesystem::directory_iterator{run.report().folder})
    CHECK(file.path().filename().string()[0] != 's');
}
TEST_CASE("a chain that was stopped on its way forward goes on from its last state on disk") {
  support::temporary const here;
  disk const run{here.run()};
  stop(1 + 8, [&] { (void)plain(eight, in_files, 1.0, run); });  // states 2, 4 and 6 are written
  CHECK(plain(eight, in_files, 1.0, run) == right);
  CHECK(run.report().used == disk_use::states);
  CHECK(calls == 1 + 2 + calls_to(in_files, 8) - 6);  // stage 0, a stretch that is compared, and all but stages 0..5
}
TEST_CASE("a file that is gone costs the stages from the one before, and the files between are made again") {
  support::temporary const here;
  disk const run{here.run(), often};
  stop(1 + calls_to(in_files, 1) + 1, [&] { (void)plain(eight, in_files, 1.0, run); });
  for (auto const* const gone : {"/s0006", "/s0004"}) std::filesystem::remove(run.report().folder + gone);
  CHECK(plain(eight, in_files, 1.0, run) == right);
  // The stages 2..5 once, and what is left.
  CHECK(calls <= 1 + 4 + calls_to(in_files, 8) - calls_to(in_files, 1));
}
TEST_CASE("states that cannot be written are made again") {
  support::temporary const here;
  disk const run{here.run(), {.resume = cairn::resume_rule::never}};
  (void)plain(eight, in_files, 1.0, run);
  for (auto const* const taken : {"/s0002", "/s0004", "/s0006"})
    std::filesystem::create_directory(run.report().folder + taken);
  CHECK(plain(eight, in_files, 1.0, run) == right);
}
TEST_CASE("another x0, number of a stage, plan, seed, key, parameter or function is another run") {
  support::temporary const here;
  auto const is_new = [&](auto const& sweep_on) {
    here.remove_runs();
    (void)plain(eight, in_files, 1.0, disk{here.run()});
    disk const run{here.run()};
    sweep_on(run);
    CHECK(run.report().used == disk_use::nothing);
  };
  is_new([&](disk const& run) { (void)cairn::chain_gradient(eight, 0.5, in_files, 1.0, run); });
  auto changed = eight;
  changed[5].by = std::nextafter(changed[5].by, 2.0);
  is_new([&](disk const& run) { CHECK(plain(changed, in_files, 1.0, run) == plain(changed, stored_whole(8), 1.0)); });
  is_new([&](disk const& run) { CHECK(plain(eight, filed(8, 3), 1.0, run) == right); });
  is_new([&](disk const& run) { CHECK(plain(eight, in_files, 2.0, run) == plain(eight, stored_whole(8), 2.0)); });
  is_new([&](disk const& run) {
    auto const same = [](double x) { return x; };
    CHECK(plain(eight, in_files, same, run) == plain(eight, stored_whole(8), same));
  });
  is_new([&](disk const&) {
    disk const keyed{here.run(), {.key = "other"}};
    CHECK(plain(eight, in_files, 1.0, keyed) == right);
    CHECK(keyed.report().used == disk_use::nothing);
  });
  disk const run{here.run()};
  for (int process = 0; process < 2; ++process) {
    auto const by = [&](double (*back)(double, double)) {
      std::vector const pair(2, cairn::stage{&one, back});
      CHECK(plain(pair, stored_whole(2), 1.0, run) == plain(pair, stored_whole(2), 1.0));
      CHECK(run.report().used == (process == 0 ? disk_use::nothing : disk_use::record));
    };
    by(&one_back);
    by(&other_back);
  }
  numbers p1 = p;
  p1[2] = std::nextafter(p1[2], 2.0);
  disk const with_p{here.run()};
  (void)sweep(tuple_of_types(), stored_whole(8), with_p);
  answer found{{}, {7}};
  found.bar = cairn::chain_gradient(tuple_of_types(), x0, stored_whole(8), seed, with_p, wrt{p1, found.dp});
  CHECK(with_p.report().used == disk_use::nothing);
  CHECK(sweep(tuple_of_types(), stored_whole(8), with_p) == sweep(tuple_of_types(), stored_whole(8)));
  CHECK(with_p.report().used == disk_use::record);
}
TEST_CASE("what stages capture decides what of another process is used") {
  auto const uses = [&](auto const& stages, auto const& from, cairn::disk_options const& options, char const* why) {
    support::temporary const here;
    disk const run{here.run(), options};
    auto const undisturbed = plain(stages, stored_whole(8), from);
    stop(1 + calls_to(in_files, 3) + 1, [&] { (void)plain(stages, in_files, from, run); });
    CHECK(plain(stages, in_files, from, run) == undisturbed);
    CHECK_THAT(text(run.report().why), ContainsSubstring(why));
    return run.report().used;
  };
  cairn::disk_options const keyed{.key = "mine", .commit_every = 1};
  double a = 1.1;
  auto const f = [](double x) { return tick(), std::sin(1.1 * x); };
  auto const captured = [&a](double x) { return tick(), std::sin(a * x); };
  struct of_value {  // g++ 12 does not see through closures in a vector
    double a;
    double operator()(double x) const { return tick(), std::sin(a * x); }
  };
  of_value const by_value{a};
  auto const g = [](double x, double bar) { return tick(), bar * 1.1 * std::cos(1.1 * x); };
  auto const summed = [&a](double x, double bar) { return tick(), bar * a * std::cos(a * x); };
  using cairn::stage;
  CHECK(uses(of_functions(), 1.0, often, "") == disk_use::record);
  CHECK(uses(std::vector(8, stage{captured, g}), 1.0, often, "a stage, holds what cannot be seen") == disk_use::nothing);
  CHECK(uses(std::vector(8, stage{by_value, g}), 1.0, often, "") == disk_use::record);
  CHECK(uses(std::vector(8, stage{captured, g}), 1.0, keyed, "") == disk_use::record);
  CHECK(uses(std::vector(8, stage{f, summed}), 1.0, often, "the adjoint holds what cannot be seen") == disk_use::states);
  CHECK(uses(std::vector(8, stage{f, cairn::reads_only{summed}}), 1.0, often, "") == disk_use::record);
  CHECK(uses(std::vector(8, stage{f, summed}), 1.0, keyed, "") == disk_use::record);
  CHECK(uses(of_functions(), [&a](double x) { return a * x; }, often, "the seed holds what cannot be seen") == disk_use::states);
}
TEST_CASE("a sum in a stage, or that its backward captures, is whole after a stop") {
  support::temporary const here;
  auto const fresh = [] {
    std::vector<sums_itself> all;
    for (auto const& stage : eight) all.push_back({stage.by});
    return all;
  };
  auto const sums_of = [](std::vector<sums_itself> const& all) {
    numbers sums;
    for (auto const& stage : all) sums.push_back(stage.sum);
    return sums;
  };
  auto want = fresh();
  (void)plain(want, stored_whole(8), 1.0);
  for (int adjoints : {1, 4, 7}) {
    here.remove_runs();
    disk const run{here.run(), often};
    auto before = fresh();
    stop(1 + calls_to(in_files, adjoints) + 1, [&] { (void)plain(before, in_files, 1.0, run); });
    CHECK_THAT(text(run.report().why), ContainsSubstring("what a function holds, which may be a sum"));
    auto now = fresh();
    CHECK(plain(now, in_files, 1.0, run) == right);
    CHECK(sums_of(now) == sums_of(want));
    CHECK(run.report().resumed_at == -1);
    auto after_it = fresh();  // its adjoint alone is no answer
    CHECK(plain(after_it, in_files, 1.0, run) == right);
    CHECK(sums_of(after_it) == sums_of(want));

    here.remove_runs();
    auto killed_ones = fresh(), next = fresh();
    auto const dies = [&] { return plain(killed_ones, in_files, 1.0, run) == right; };
    CHECK(killed::run(dies, 1 + calls_to(in_files, adjoints) + 1) == -1);  // and can remove nothing
    CHECK(plain(next, in_files, 1.0, run) == right);
    CHECK(sums_of(next) == sums_of(want));
  }
  double sum = 0;
  auto const f = [](double x) { return tick(), std::sin(1.1 * x); };
  auto const adds = [&sum](double x, double bar) {
    tick();
    sum += bar * x;
    return bar * 1.1 * std::cos(1.1 * x);
  };
  std::vector const stages(8, cairn::stage{f, adds});
  (void)plain(stages, stored_whole(8), 1.0);
  double const whole = std::exchange(sum, 0);
  disk const run{here.run(), often};
  stop(1 + calls_to(in_files, 4) + 1, [&] { (void)plain(stages, in_files, 1.0, run); });
  sum = 0;  // a new process
  (void)plain(stages, in_files, 1.0, run);
  CHECK(sum == whole);
  CHECK(run.report().used == disk_use::states);
}
TEST_CASE("a process whose arithmetic differs begins anew, at the seam or at a stretch between two states, unless it must go on") {
  static bool differs = false;
  struct varying {
    double by;
    [[nodiscard]] double forward(double x) const {
      double const y = (tick(), std::sin(by * x));
      return differs && by > 1 ? y + 1e-9 : y;  // stage 0 is as before
    }
    [[nodiscard]] double backward(double x, double bar) const { return tick(), bar * by * std::cos(by * x); }
  };
  std::vector<varying> stages;
  for (auto const& stage : eight) stages.push_back({stage.by});
  for (std::int64_t const every : {1, 1'000}) {
    support::temporary const here;
    disk const run{here.run(), {.commit_every = every}}, goes_on{here.run(), {.resume = cairn::resume_rule::require}};
    stop(every == 1 ? 1 + calls_to(in_files, 2) + 1 : 1 + 8, [&] { (void)plain(stages, in_files, 1.0, run); });
    differs = true;
    if (every == 1) std::filesystem::remove(run.report().folder + "/s0004");  // it is made again, and wrong
    CHECK_THROWS_WITH(plain(stages, in_files, 1.0, goes_on),
                      ContainsSubstring("a state differs from what the process that stopped had"));
    cairn::sweep_report report;
    calls = 0;
    CHECK(plain(stages, in_files, 1.0, run, report) == plain(stages, stored_whole(8), 1.0));
    CHECK(run.report().used == disk_use::nothing);
    CHECK_THAT(run.report().why, ContainsSubstring("another trajectory"));
    CHECK(run.report().step_calls == report.step_calls);
    differs = false;
  }
}
TEST_CASE("what a process of another arithmetic has written keeps nobody from going on from the record before it") {
  static bool differs = false;
  struct varying {
    double by;
    [[nodiscard]] double forward(double x) const {
      double const y = (tick(), std::sin(by * x));
      return differs && by == 1.2 ? y + 1e-9 : y;  // stage 2
    }
    [[nodiscard]] double backward(double x, double bar) const { return tick(), bar * by * std::cos(by * x); }
  };
  std::vector<varying> stages;
  for (auto const& stage : eight) stages.push_back({stage.by});
  support::temporary const here;
  disk const run{here.run(), often}, must{here.run(), {.resume = cairn::resume_rule::require, .commit_every = 1}};
  for (bool const is_killed : {false, true}) {
    here.remove_runs();
    stop(1 + calls_to(in_files, 2) + 1, [&] { (void)plain(stages, in_files, 1.0, run); });
    std::string const lost = run.report().folder + "/s0004";
    std::filesystem::remove(lost);
    differs = true;
    // Stage 0 and the stages 2 and 3, which make a state that is written; then those up to the seam.
    if (is_killed) CHECK(killed::run([&] { return plain(stages, in_files, 1.0, must) == right; }, 1 + 2 + 1) == -1);
    else CHECK_THROWS_AS(plain(stages, in_files, 1.0, must), cairn::nondeterminism_error);
    CHECK(std::filesystem::exists(lost));
    differs = false;
    CHECK(plain(stages, in_files, 1.0, must) == right);
    CHECK(must.report().used == disk_use::record);
  }
}
namespace {
/// Stage 4 is a spike, whose adjoint is that of something smooth: other states before it, the same ones behind it.
struct spiking {
  double by;
  static inline double differs = 0;  // a stage whose arithmetic is another one in this process
  [[nodiscard]] bool is_spike() const { return by == 0.7; }
  [[nodiscard]] double forward(double x) const {
    tick();
    if (is_spike()) return x > 0.2 ? 0.5 : 0.1;
    return std::sin(by * x) + (by == differs ? 1e-3 : 0);
  }
  [[nodiscard]] double backward(double x, double bar) const {
    return tick(), is_spike() ? bar / (1 + x * x) : bar * by * std::cos(by * x);
  }
};
struct spiking_on_tape : spiking {
  struct tape {
    double input, output;
  };
  [[nodiscard]] tape record(double x) const { return {x, forward(x)}; }
  [[nodiscard]] static double const& output(tape const& kept) { return kept.output; }
  [[nodiscard]] double backward(tape const& kept, double bar) const { return spiking::backward(kept.input, bar); }
};
/// The plan of stages whose tapes hold all: the state that a period begins with is dropped once it is recorded.
std::vector<action> own_inputs(std::vector<action> plan) {
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (plan[k].kind != cairn::action_kind::drop || plan[k].what != cairn::content::state) continue;
    action const moved = plan[k];
    std::size_t to = k;
    while (to > 0 && !(plan[to - 1].kind == cairn::action_kind::record && plan[to - 1].from == moved.from)) --to;
    if (to == 0 || moved.where != cairn::tier::memory) continue;
    plan.erase(plan.begin() + std::ptrdiff_t(k));
    plan.insert(plan.begin() + std::ptrdiff_t(to), moved);
  }
  return plan;
}
template <class Stage>
void mixes_nothing(std::vector<std::vector<action>> const& plans) {
  std::vector<Stage> stages;
  for (auto const& one : eight) stages.push_back({one.by});
  double const first = plain(stages, stored_whole(8), 1.0);
  for (auto const& plan : plans)
    for (int const k : {1, 2, 3}) {
      spiking::differs = eight[std::size_t(k)].by;
      double const other = plain(stages, stored_whole(8), 1.0);
      spiking::differs = 0;
      REQUIRE(other != first);
      for (long at = 2; at <= 1 + calls_to(plan, 8); ++at) {
        support::temporary const here;
        disk const run{here.run(), often};
        stop(at, [&] { (void)plain(stages, plan, 1.0, run); });
        spiking::differs = eight[std::size_t(k)].by;
        double const found = plain(stages, plan, 1.0, run);
        spiking::differs = 0;
        CAPTURE(plan.size(), k, at, run.report().resumed_at);
        CHECK((found == first || found == other));
      }
    }
}
}  // namespace
TEST_CASE("no gradient is of two arithmetics, also where a stage makes the same of their states") {
  std::vector<std::vector<action>> const plans{stored_whole(8), persistent(8, 3), nothing_kept(8), in_files};
  mixes_nothing<spiking>(plans);
  mixes_nothing<spiking_on_tape>(plans);
  std::vector<std::vector<action>> dropped;
  for (auto const& plan : plans) dropped.push_back(own_inputs(plan));
  mixes_nothing<spiking_on_tape>(dropped);
}
TEST_CASE("files of a chain with a changed byte, cut, or in the place of another one change no bit") {
  support::temporary const here;
  disk const run{here.run(), often};
  auto const stages = tuple_of_types();
  auto const plan = filed(8, 2);
  answer const want = sweep(stages, stored_whole(8));
  killed::calls = 0;
  struct cut {};
  {  // stopped in its middle by an observer
    int reversed = 0;
    auto const watch = [&](cairn::event const& e) {
      if (e.moment() == cairn::moment::before && e.what().kind == cairn::action_kind::reverse && ++reversed == 3)
        throw cut{};
    };
    CHECK_THROWS_AS(sweep(stages, plan, run, watch), cut);
  }
  std::string const folder = run.report().folder;
  std::vector<std::pair<std::string, std::string>> all;
  for (auto const& name : support::temporary::names_in(folder))
    if (name != "lock" && name != "name") all.emplace_back(name, support::content_of(folder + '/' + name));
  REQUIRE(all.size() == 4);  // two records, and the states 2 and 4
  auto const with = [&](std::string const& name, std::string const& content) {
    support::temporary::remove_all(folder);
    REQUIRE(std::filesystem::create_directory(folder));
    for (auto const& [other, whole] : all) support::put(folder + '/' + other, other == name ? content : whole);
    return sweep(stages, plan, run) == want;
  };
  long wrong = 0, tried = 0;
  for (auto const& [name, content] : all) {
    CHECK(with(name, content));
    CHECK(run.report().resumed_at == 6);
    for (std::size_t at = 0; at < content.size(); ++at, ++tried) {
      auto now = content;
      now[at] = char(now[at] ^ 1 << at % 8);
      wrong += !with(name, now);
      if (at % 5 == 0) wrong += !with(name, content.substr(0, at));
    }
    for (auto const& [other, foreign] : all) wrong += !with(name, foreign);
  }
  CHECK(tried > 600);
  CHECK(wrong == 0);
}
TEST_CASE("a chain on disk takes no more memory than its report predicts, and the files that its plan counts") {
  std::vector<resized> stages;
  for (std::size_t i = 0; i < 24; ++i) stages.push_back({8'000 + 1'000 * (i % 5) + i});
  field const x0_of(8'000, 0.3);
  auto const ones = [](field const& y) { return field(y.size(), 1.0); };
  auto const work = cairn::chain_probe<std::chrono::steady_clock>(stages, x0_of, ones, 1);
  cairn::chain_planner planner{work, {.by = cairn::chain_method::tiers, .tiers = {{.where = cairn::tier::disk}}}};
  auto const plan = planner.plan(planner.least_bytes() * 11 / 10);
  REQUIRE(plan.cost.elsewhere > 0);
  field const want = cairn::chain_gradient(stages, x0_of, stored_whole(24), ones);
  support::temporary const here;
  disk const run{here.run(), often};
  cairn::sweep_report report;
  std::size_t on_disk = 0, files = 0, held = 0;
  for (auto const& a : plan.actions) {
    held += a.kind == cairn::action_kind::save;
    held -= a.kind == cairn::action_kind::drop && a.where != cairn::tier::memory;
    files = std::max(files, held);
  }
  auto const watch = [&](cairn::event const& e) { on_disk = std::max(on_disk, e.bytes_held(cairn::tier::disk)); };
  auto const once = [&] { return cairn::chain_gradient(stages, x0_of, plan, ones, run, report, watch); };
  std::size_t const pointers = 8 * (2 * 24 + 1), state = 12'024 * sizeof(double);
  resized::stop_at = 10'012;
  {
    heap::mark const from;
    CHECK_THROWS_AS(once(), stopped);
    CHECK(from.rise() <= std::size_t(report.predicted_bytes) + pointers);
  }
  CHECK(on_disk <= std::size_t(plan.cost.elsewhere) + files * 128);
  CHECK(on_disk + files * 64 >= std::size_t(plan.cost.elsewhere));
  resized::stop_at = 0;
  on_disk = 0;
  heap::mark const from;
  CHECK(once() == want);
  CHECK(run.report().used == disk_use::record);
  CHECK(from.rise() <= std::size_t(report.predicted_bytes) + pointers + state);
  CHECK(on_disk <= std::size_t(plan.cost.elsewhere) + files * 128);
}
TEST_CASE("a disk without room for a chain's files is refused before any but stage 0 runs") {
  support::temporary const here;
  cairn::chain_plan plan;
  plan.actions = in_files;
  plan.cost.elsewhere = std::int64_t{1} << 60;
  calls = 0;
  CHECK_THROWS_AS(plain(eight, plan, 1.0, disk{here.run()}), cairn::storage_full);
  CHECK(calls == 1);
}
TEST_CASE("chains of no and one stage, checks, options and failures stand beside a disk") {
  for (std::size_t const count : {0u, 1u, 2u}) {
    support::temporary const here;
    std::vector<scaled> const few(eight.begin(), eight.begin() + std::ptrdiff_t(count));
    auto const plan = stored_whole(step_index(count));
    disk const run{here.run()};
    for (int k = 0; k < 2; ++k) CHECK(plain(few, plan, 1.0, run) == plain(few, plan, 1.0));
    CHECK(run.report().resumed_at == (count > 0 ? 0 : -1));
  }
  support::temporary const here;
  for (auto const check : {cairn::replay_check::checkpoints, cairn::replay_check::every_step})
    for (long const at : {8, 14, 24}) {
      here.remove_runs();
      cairn::sweep_failure failure;
      auto const once = [&] {
        return plain(eight, in_files, 1.0, disk{here.run(), often}, cairn::sweep_options{.verify = check}, failure);
      };
      stop(at, [&] { (void)once(); });
      CHECK(failure.failed);
      stop(4, [&] { (void)once(); });
      CHECK(failure.failed);
      CHECK(once() == right);
    }
  disk const required{here.run() + "2", {.resume = cairn::resume_rule::require}};
  CHECK_THROWS_WITH(plain(eight, in_files, 1.0, required), ContainsSubstring("there is nothing of an earlier process"));
}
namespace {
struct product {
  [[nodiscard]] double forward(numbers const& x) const { return tick(), x[0] * x[1]; }
  [[nodiscard]] numbers backward(numbers const& x, double bar) const { return tick(), numbers{bar * x[1], bar * x[0]}; }
};
}  // namespace
TEST_CASE("a chain goes on whose seed takes the last state alone, and x0 has another type") {
  std::tuple const stages{product{}, scaled{0.9}, scaled{1.1}, scaled{1.2}};
  auto const once = [&](auto const& plan, auto const&... last) {
    return cairn::chain_gradient(stages, numbers{0.4, 0.7}, plan, [](double y) { return 2 * y; }, last...);
  };
  numbers const all = once(stored_whole(4));
  support::temporary const here;
  disk const run{here.run(), often};
  stop(12, [&] { (void)once(filed(4, 2), run); });
  CHECK(once(filed(4, 2), run) == all);
  CHECK(run.report().used == disk_use::record);
  CHECK(text(run.report().why).empty());
}
