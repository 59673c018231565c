// SPDX-License-Identifier: Apache-2.0
// Progress of sweeps against what is done, on a clock that only the test moves.
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/trace/progress.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/every_tier.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

constexpr std::int64_t milli = 1'000'000;
std::int64_t time_now = 0;
long looks = 0;
std::int64_t read_time() { return ++looks, time_now; }

/// Steps and adjoints that take time.
struct timed {
  std::int64_t step_takes = 200 * milli, adjoint_takes = 200 * milli;
  void operator()(double& x, step_index i) const {
    x += 0.1 * x * double(i % 3);
    time_now += step_takes;
  }
  [[nodiscard]] auto adjoint() const {
    return [takes = adjoint_takes](double, double& bar, step_index i) {
      bar += 0.1 * bar * double(i % 3);
      time_now += takes;
    };
  }
};

/// All reports, and the time of each.
struct reports {
  std::vector<progress_report> all;
  std::vector<std::int64_t> at;
  [[nodiscard]] progress_options options(progress_style style = progress_style::silent) {
    progress_options made;
    made.style = style;
    made.now = &read_time;
    made.call = [this](progress_report const& r) {
      all.push_back(r);
      at.push_back(time_now);
    };
    return made;
  }
};

/// A temporary file of its own.
struct scratch_file {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
  [[nodiscard]] std::string text() const {
    std::fflush(file.get());
    std::rewind(file.get());
    std::string all;
    for (int c = 0; (c = std::fgetc(file.get())) != EOF;) all += char(c);
    return all;
  }
};
[[nodiscard]] std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("progress ends with exactly the steps that a plan predicts, for every plan") {
  for (step_index const n : {1, 2, 7, 40})
    each_as_any(n, [&](std::string const& name, auto const& given) {
      any_schedule const plan{given};
      if (plan.leaf() > 1 || tapes_of(plan) > 0) return;
      CAPTURE(name);
      timed const work;
      auto const cost = estimate(plan);
      sweep_work const whole{cost.step_calls, wide(n)};
      for (bool const told : {false, true}) {
        reports seen;
        progress shown = told ? progress{plan, seen.options()} : progress{seen.options()};
        toys::every_tier store;
        (void)gradient(work, 1.0, plan, 1.0, work.adjoint(), store, shown);
        REQUIRE(!seen.all.empty());
        wide before = 0;
        for (auto const& r : seen.all) {
          REQUIRE(r.total);
          CHECK(*r.total == whole);
          CHECK(r.done.steps() >= before);
          before = r.done.steps();
        }
        CHECK(seen.all.back().ended);
        CHECK(seen.all.back().done == whole);
        CHECK(shown.last().done == whole);
        CHECK(seen.all.back().share() == 1);
        CHECK(*seen.all.back().seconds_left == 0);
      }
    });
}

TEST_CASE("progress distinguishes phases, and shows bytes held and tiers as they are") {
  timed const work;
  reports seen;
  multistage const plan{30, 2, 3};
  toys::every_tier store;
  (void)gradient(work, 1.0, plan, 1.0, work.adjoint(), store, progress{seen.options()});
  bool phases[3] = {}, disk = false;
  for (auto const& r : seen.all) {
    phases[int(r.phase)] = true;
    disk = disk || r.where == tier::disk;
    CHECK(r.bytes_held >= sizeof(double));
    CHECK(r.bytes_held <= 8 * sizeof(double));
    if (r.phase == phase::forward) CHECK(r.done.reversals == 0);
  }
  CHECK((phases[0] && phases[1] && phases[2] && disk));
}

TEST_CASE("the time left is exact once steps and adjoints have been seen") {
  timed const work{300 * milli, 700 * milli};
  for (std::int64_t const sweeps : {1, 3}) {
    reports seen;
    auto options = seen.options();
    options.sweeps = sweeps;
    revolve const plan{60, 5};
    progress shown{plan, options};
    for (std::int64_t k = 0; k < sweeps; ++k) (void)gradient(work, 1.0, plan, 1.0, work.adjoint(), shown);
    auto const end = seen.at.back();
    int exact = 0;
    for (std::size_t k = 0; k < seen.all.size(); ++k) {
      auto const& r = seen.all[k];
      if (r.done.reversals < 2 && r.sweep == 1) continue;
      REQUIRE(r.seconds_left);
      CHECK(std::abs(*r.seconds_left - double(end - seen.at[k]) * 1e-9) < 1e-6);
      ++exact;
    }
    CHECK(exact > 100 * int(sweeps));
    CHECK(seen.all.back().sweep == sweeps);
  }
}

TEST_CASE("before adjoints have been seen, the time left counts each as so many steps as the caller says") {
  timed const work{200 * milli, 800 * milli};
  reports seen;
  auto options = seen.options();
  options.adjoint_steps = 4;
  auto const start = time_now;
  auto const plan = store_all(20);
  (void)gradient(work, 1.0, plan, 1.0, work.adjoint(), progress{plan, options});
  CHECK(seen.all.front().done.reversals == 0);
  CHECK(std::abs(*seen.all.front().seconds_left - (double(time_now - start) * 1e-9 - seen.all.front().seconds)) < 1e-6);
}

TEST_CASE("a kept run is shown over its reversal, without the time between, and anew over the second") {
  timed const work;
  reports seen;
  progress shown{seen.options()};
  revolve const plan{40, 4};
  auto run = checkpointed_loop(work, 1.0, plan, shown);
  auto const forward = seen.all.size();
  CHECK(forward >= 4);
  time_now += 3'600'000 * milli;
  (void)run.reverse(1.0, work.adjoint());
  sweep_work const whole = work_of(plan);
  CHECK(seen.all.back().done == whole);
  CHECK(std::abs(seen.all.back().seconds - 0.2 * double(whole.steps())) < 1e-6);
  for (auto const& r : seen.all) CHECK(*r.total == whole);
  seen.all.clear();
  (void)run.reverse(1.0, work.adjoint());
  CHECK(seen.all.back().ended);
  CHECK(seen.all.back().done.reversals == 40);
  for (auto const& r : seen.all) CHECK(*r.total == seen.all.back().done);
}

TEST_CASE("a loop of unknown length has a total as soon as it has ended") {
  timed const work;
  reports seen;
  auto run = checkpointed_while(work, 1.0, [](double, step_index i) { return i < 25; }, online{4},
                                progress{seen.options()});
  for (auto const& r : seen.all) {
    CHECK(!r.total);
    CHECK(!r.seconds_left);
    CHECK(r.share() == 0);
  }
  CHECK(seen.all.back().done.runs == 25);
  seen.all.clear();
  (void)run.reverse(1.0, work.adjoint());
  for (auto const& r : seen.all) {
    REQUIRE(r.total);
    CHECK(*r.total == seen.all.back().done);
  }
  CHECK(seen.all.back().done.runs == run.step_calls());
}

TEST_CASE("a sweep that goes on after an exception is shown from its own start") {
  timed const work;
  revolve const plan{50, 4};
  for (bool const told : {false, true}) {
    reports seen;
    progress shown = told ? progress{plan, seen.options()} : progress{seen.options()};
    auto memory = workspace_for<double>(plan);
    resume_point<double> noted{50, 1.0};
    auto const adjoint = work.adjoint();
    auto const stops = [&](double x, double& bar, step_index i) {
      if (i == 20) throw std::runtime_error{"stop"};
      adjoint(x, bar, i);
      noted = {i, bar};
    };
    CHECK_THROWS_AS(gradient(work, 1.0, plan, 1.0, stops, memory, shown), std::runtime_error);
    seen.all.clear();
    (void)resume(work, 1.0, plan, noted, adjoint, memory, shown);
    CHECK(seen.all.back().done.reversals == 21);
    auto const& first = seen.all.front();
    CHECK(std::abs(first.seconds - 0.2 * double(first.done.steps())) < 1e-6);
    for (auto const& r : seen.all) CHECK(*r.total == seen.all.back().done);
    for (auto const& r : seen.all) CHECK(r.sweep == 1);
  }
}

TEST_CASE("nothing is shown more than ten times a second, and the clock is read rarely", "[long]") {
  struct fast {
    void operator()(double& x) const {
      x *= 0.999;
      time_now += 100;
    }
  };
  reports seen;
  auto const adjoint = [](double, double& bar) { bar *= 0.999, time_now += 100; };
  auto const start = time_now;
  looks = 0;
  (void)gradient(fast{}, 1.0, revolve{1'000'000, 30}, 1.0, adjoint, progress{seen.options()});
  auto const took = time_now - start;
  CHECK(took > 500 * milli);
  auto const steps = took / 100;
  CHECK(looks < 100 + 3 * steps / 256);
  CHECK(looks > steps / 256);
  REQUIRE(seen.at.size() > 3);
  for (std::size_t k = 1; k + 1 < seen.at.size(); ++k) CHECK(seen.at[k] - seen.at[k - 1] >= 100 * milli);
  // Steps that become slow are noticed soon.
  reports slow;
  auto const slows = [](double& x, step_index i) { x *= 0.999, time_now += i < 1'000'000 ? 100 : 1000 * milli; };
  (void)checkpointed_loop(slows, 1.0, uniform{1'000'200, {.block = 1}}, progress{slow.options()});
  CHECK(slow.at.size() > 100);
}

TEST_CASE("plain lines go into a file, one every five seconds") {
  timed const work;
  scratch_file to;
  reports seen;
  auto options = seen.options(progress_style::automatic);
  options.file = to.file.get();
  options.name = "pass";
  options.sweeps = 2;
  progress shown{options};
  auto const start = time_now;
  for (int k = 0; k < 2; ++k) (void)gradient(work, 1.0, revolve{60, 4}, 1.0, work.adjoint(), shown);
  auto const text = to.text();
  CAPTURE(text);
  CHECK(text.find('\r') == text.npos);
  CHECK(text.find("pass 1/2 forward ") == 0);
  auto const lines = count_of(text, "\n");
  CHECK(lines <= std::size_t((time_now - start) / (5000 * milli)) + 2);
  CHECK(lines + 2 >= std::size_t((time_now - start) / (5000 * milli)));
  CHECK(count_of(text, " done ") == 2);
  CHECK(text.find("pass 2/2 done") != text.npos);
}

TEST_CASE("on a terminal one line is written over and over, and taken away at the end") {
  timed const work;
  int const main_end = posix_openpt(O_RDWR | O_NOCTTY);
  if (main_end < 0 || grantpt(main_end) != 0 || unlockpt(main_end) != 0) CAIRN_SKIP("no pseudo-terminal");
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const terminal{std::fopen(ptsname(main_end), "r+"), &std::fclose};
  REQUIRE(terminal);
  std::string text;
  auto const drain = [&] {
    char part[65'536];
    for (ssize_t got = 0; (got = read(main_end, part, sizeof part)) > 0;) text.append(part, std::size_t(got));
  };
  REQUIRE(fcntl(main_end, F_SETFL, O_NONBLOCK) == 0);
  reports seen;
  auto options = seen.options(progress_style::automatic);
  options.call = nullptr;
  options.file = terminal.get();
  options.name = "a name that is so long that the terminal would have to break the line after it";
  {
    progress shown{options};
    (void)gradient(work, 1.0, revolve{12, 3}, 1.0, work.adjoint(), shown);
    drain();
    CHECK(text.ends_with("\r\33[K"));
    CHECK(text.find('\n') == text.npos);
    CHECK(count_of(text, "\r") > 20);
    for (std::size_t at = 0; at < text.size();) {
      auto const end = std::min(text.find('\r', at + 1), text.size());
      CHECK(end - at <= 1 + 79 + 3);
      at = end;
    }
    text.clear();
    auto run = checkpointed_loop(work, 1.0, revolve{12, 3}, shown);
    drain();
    CHECK_FALSE(text.ends_with("\r\33[K"));
    text.clear();
  }
  drain();
  CHECK(text == "\r\33[K");  // by the destructor
  close(main_end);
}

TEST_CASE("lines can go to a log, which must be one that can be written") {
  std::string const name = "/tmp/cairn_progress_test_" + std::to_string(getpid()) + ".log";
  timed const work;
  progress_options options;
  options.log = name;
  options.now = &read_time;
  for (int k = 0; k < 2; ++k)
    (void)gradient(work, 1.0, revolve{40, 4}, 1.0, work.adjoint(), progress{options});
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file{std::fopen(name.c_str(), "r"), &std::fclose};
  REQUIRE(file);
  char line[200];
  int done = 0;
  while (std::fgets(line, sizeof line, file.get()) != nullptr) done += std::string{line}.find("done ") == 0;
  CHECK(done == 2);  // the second was added
  std::remove(name.c_str());
  options.log = "/no/such/folder/log";
  CHECK_THROWS_AS(progress{options}, file_error);
  CHECK_THROWS_WITH(progress{options}, Catch::Matchers::ContainsSubstring("cannot be opened") &&
                                           Catch::Matchers::ContainsSubstring("/no/such/folder/log"));
}

TEST_CASE("what a callback throws passes through the sweep") {
  timed const work;
  reports seen;
  auto options = seen.options();
  options.call = [](progress_report const&) { throw std::runtime_error{"cancelled"}; };
  CHECK_THROWS_WITH(gradient(work, 1.0, revolve{12, 3}, 1.0, work.adjoint(), progress{options}), "cancelled");
}

TEST_CASE("a line says what a report says") {
  progress_report r;
  r.done = {12, 3};
  CHECK(progress_text(r) == "forward 15 steps 0 B memory");
  r.phase = phase::recompute;
  r.total = {900, 100};
  r.seconds = 1;
  r.steps_per_second = 15;
  r.seconds_left = 65.6;
  r.bytes_held = 5u << 20;
  r.where = tier::disk;
  CHECK(progress_text(r) == "recompute 1.5 % 15/1,000 steps 15.0 /s 1 min 6 s left 5.00 MiB disk");
  r.name = "pass";
  r.sweep = 2;
  r.sweeps = 4;
  r.phase = phase::reverse;
  r.steps_per_second = 12'345'678;
  r.seconds_left = 7384;
  CHECK(progress_text(r) == "pass 2/4 reverse 1.5 % 15/1,000 steps 12.3 M/s 2 h 3 min left 5.00 MiB disk");
  r.ended = true;
  r.done = *r.total;
  r.sweeps = 0;
  r.seconds = 3.25;
  CHECK(progress_text(r) == "pass 2 done 1,000 steps 12.3 M/s in 3.2 s 5.00 MiB disk");
  r.name = {};
  r.steps_per_second = 999.6;
  CHECK(progress_text(r) == "sweep 2 done 1,000 steps 1.00 k/s in 3.2 s 5.00 MiB disk");
}
