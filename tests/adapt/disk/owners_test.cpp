// SPDX-License-Identifier: Apache-2.0
// Several processes that want the same run, and threads that use one `disk`.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include <cairn/adapt/disk/stored_runs.hpp>

namespace {

using namespace disk_runs;

/// Processes wait here until it is opened for all of them.
struct gate {
  int ends[2] = {-1, -1};
  gate() { REQUIRE(::pipe(ends) == 0); }
  gate(gate const&) = delete;
  ~gate() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void open() { ::close(std::exchange(ends[1], -1)); }
  void wait() const {
    ::close(ends[1]);  // a process's own
    pollfd shut{ends[0], 0, 0};
    while (::poll(&shut, 1, -1) < 0) {}
  }
};
void rest(long microseconds) {
  timespec const time{0, 1'000 * microseconds};
  (void)::nanosleep(&time, nullptr);
}

/// 16 processes that begin the same run at once; the one that has it goes on until the others have ended.
struct race {
  std::array<int, 6> ends{};
  bool several = false;  // have it at once: those that were to be told are not
  explicit race(std::string const& run, bool owner_waits = true) {
    constexpr int many = 16;
    gate start, last;
    std::vector<pid_t> all;
    int told[2];
    REQUIRE(::pipe(told) == 0);
    for (int k = 0; k < many; ++k)
      all.push_back(in_process([&] {
        ::close(told[0]);
        ::close(last.ends[1]);
        (void)right<numbers>();
        start.wait();
        end seen = end::other;
        try {
          cairn::disk const on{run, {.commit_every = 2}};
          // Called by who has the run.
          auto watch = [&, waited = !owner_waits](cairn::event const&) mutable {
            if (std::exchange(waited, true)) return;
            pollfd shut{last.ends[0], 0, 0};
            while (::poll(&shut, 1, -1) < 0) {}
          };
          auto const got = numbers::gradient(numbers::first(), plan(), on, watch);
          seen = same(got, right<numbers>()) ? end::right : end::wrong;
        } catch (cairn::directory_busy const&) {
          seen = end::busy;
        } catch (cairn::file_error const&) {
          seen = end::file;
        } catch (...) {
        }
        char const word = char(seen);
        if (::write(told[1], &word, 1) != 1) return 97;
        return int(seen);
      }));
    ::close(told[1]);
    start.open();
    char word = 0;
    for (int k = 0; k < (owner_waits ? many - 1 : many); ++k) {
      pollfd next{told[0], POLLIN, 0};
      several = ::poll(&next, 1, 10'000) != 1;
      if (several) break;
      REQUIRE(::read(told[0], &word, 1) == 1);
    }
    last.open();
    for (pid_t const one : all) {
      int const seen = result_of(one);
      ++ends[std::size_t(seen >= 0 && seen < int(ends.size()) ? seen : int(end::other))];
    }
    ::close(told[0]);
  }
  [[nodiscard]] int count(end of) const { return ends[std::size_t(of)]; }
};
void check_races(int many) {
  for (int k = 0, failed = 0; k < many && failed == 0; ++k) {
    temporary const place;
    if (k % 2 != 0) (void)stop_at<numbers>(place.run(), 24);  // it is there already
    race const seen{place.run()};
    bool const well = !seen.several && seen.count(end::right) == 1 && seen.count(end::busy) == 15;
    CAPTURE(k, seen.count(end::right), seen.count(end::busy), seen.count(end::file), seen.count(end::other));
    CHECK(well);
    failed += !well;
  }
}

/// Several processes in one run, each with a lock of its own because the file is removed at random moments. All but
/// those that end by `directory_busy` have the right gradient.
std::array<int, 6> forced(std::string const& run, unsigned number) {
  std::vector<pid_t> all;
  for (unsigned k = 0; k < 3; ++k)
    all.push_back(in_process([&, k] {
      auto const slow = [&](cairn::event const&) { rest(long((number * 7 + k * 13) % 5) * 20); };
      rest(long((number * 31 + k * 53) % 11) * 100);
      for (auto const& name : temporary::names_in(run)) (void)::unlink((run + '/' + name + "/lock").c_str());
      try {
        cairn::disk const on{run, {.commit_every = 1 + int(k)}};
        auto const got = numbers::gradient(numbers::first(), plan(), on, slow);
        return int(same(got, right<numbers>()) ? end::right : end::wrong);
      } catch (cairn::directory_busy const&) {
        return int(end::busy);
      } catch (cairn::file_error const&) {
        return int(end::file);
      } catch (...) {
        return int(end::other);
      }
    }));
  std::array<int, 6> ends{};
  for (pid_t const one : all) {
    int const seen = result_of(one);
    ++ends[std::size_t(seen >= 0 && seen < 6 ? seen : int(end::other))];
  }
  return ends;
}
void check_forced(unsigned many) {
  for (unsigned k = 0; k < many; ++k) {
    temporary const place;
    (void)stop_at<numbers>(place.run(), k % 2 != 0 ? 24 : 3);
    auto const ends = forced(place.run(), k);
    CAPTURE(k);
    CHECK(ends[int(end::right)] + ends[int(end::busy)] == 3);
    CHECK(end_of(place.run()) == end::right);
  }
}

}  // namespace

TEST_CASE("of 16 processes that begin a run at once one has it, all others are told", "[disk]") { check_races(40); }
TEST_CASE("of 16 processes that begin a run at once one has it, in 1,000 races", "[.soak]") { check_races(1'000); }

TEST_CASE("owners by force never have a wrong gradient", "[disk]") { check_forced(100); }
TEST_CASE("owners by force never have a wrong gradient, 5,000 times", "[.soak]") { check_forced(5'000); }

TEST_CASE("an owner by force, at any action of another one and up to any of its own calls, makes neither wrong",
          "[disk]") {
  int finished = 0, told = 0;
  {
    temporary const place;
    REQUIRE(end_of(place.run()) == end::right);  // makes what it compares with
  }
  for (bool const anew : {true, false})
    for (long last = 0; last < 40; last += 7)  // of the second owner; 0: it ends
      for (long at = 1;; ++at) {
        temporary const place;
        if (!anew) (void)stop_at<numbers>(place.run(), 24);
        long seen = 0;
        end second = end::other;
        auto const watch = [&](cairn::event const&) {
          if (++seen != at) return;
          if (::unlink((only_run_in(place.run()) + "/lock").c_str()) != 0) throw std::runtime_error{"no lock"};
          calls = 0;
          last_call = last == 0 ? -1 : last;
          try {
            second = end_of(place.run());  // a call that is the last one ends as `other`
          } catch (...) {
          }
          last_call = -1;
        };
        end first = end::other;
        try {
          cairn::disk const on{place.run(), {.commit_every = 2}};
          auto const got = numbers::gradient(numbers::first(), plan(), on, watch);
          first = same(got, right<numbers>()) ? end::right : end::wrong;
        } catch (cairn::directory_busy const&) {
          first = end::busy;
        }
        if (seen < at) break;
        finished += first == end::right;
        told += first == end::busy;
        bool const well = (first == end::right || first == end::busy) &&
                          (second == end::right || second == end::other) && end_of(place.run()) == end::right;
        CAPTURE(anew, last, at, words(first), words(second));
        if (!well) CHECK(well);
      }
  CHECK(finished > 20);  // where no record followed
  CHECK(told > 50);
}

TEST_CASE("processes that want the same run one after the other, and never wait, are right or told", "[disk]") {
  for (int k = 0; k < 20; ++k) {
    temporary const place;
    race const seen{place.run(), false};
    CHECK(seen.count(end::right) >= 1);
    CHECK(seen.count(end::right) + seen.count(end::busy) == 16);
  }
}

TEST_CASE("an owner whose record is not the last one any more learns it at its next commit", "[disk]") {
  temporary const place;
  auto const other = stop_at<numbers>(place.run(), 24);
  place.remove_runs();
  bool planted = false;
  std::string folder;
  cairn::disk const on{place.run(), {.commit_every = 2}};
  auto const watch = [&](cairn::event const& e) {
    if (planted || e.what().kind != cairn::action_kind::reverse || e.what().from != 5) return;
    planted = true;
    folder = only_run_in(place.run());
    put(folder + "/record0", other.at("record0"));
  };
  CHECK_THROWS_AS(numbers::gradient(numbers::first(), plan(), on, watch), cairn::directory_busy);
  CHECK(planted);
  CHECK(content_of(folder + "/record0") == other.at("record0"));
}

TEST_CASE("two runs of one process do not share a folder, and the next one may have it", "[disk]") {
  temporary const place;
  auto const inner = [&](cairn::event const&) { CHECK(end_of(place.run()) == end::busy); };
  cairn::disk const on{place.run(), {.commit_every = 2}};
  CHECK(same(numbers::gradient(numbers::first(), plan(), on, inner), right<numbers>()));
  CHECK(end_of(place.run()) == end::right);
}

namespace {

/// Runs that begin while other processes remove all that nobody holds, and all finished runs but one. How they end.
std::array<int, 6> beside_removals(int many) {
  temporary const place;
  std::string const run = place.run(), scratch = place.path() + "/scratch.d";
  cairn::disk_options const options{.commit_every = 2, .keep = 1, .scratch = scratch};
  (void)end_of(run, options);  // makes what it compares with
  std::vector<pid_t> others;
  int told[2];
  REQUIRE(::pipe(told) == 0);
  auto const repeat = [&](auto const& what) {
    others.push_back(in_process([&] {
      ::alarm(60);  // if the test does not end it
      for (bool first = true;;) {
        what();
        if (std::exchange(first, false) && ::write(told[1], "", 1) != 1) return 97;
      }
    }));
  };
  double start = 0;
  repeat([&] { (void)cairn::remove_runs(run, {.older_than = 0, .really = true}); });
  repeat([&] { (void)go_on<numbers>(run, {.keep = 1}, {start += 0.01, 0.5}); });
  repeat([&] {
    (void)cairn::stored_runs(run);
    (void)cairn::remove_runs(scratch, {.older_than = 0, .really = true});
  });
  char words[3];
  for (char& one : words) REQUIRE(::read(told[0], &one, 1) == 1);  // all of them are at work
  std::array<int, 6> ends{};
  for (int k = 0; k < many; ++k) {
    int const seen = int(end_of(run, options));
    ++ends[std::size_t(seen)];
  }
  int working = 0;
  for (pid_t const one : others) working += ::kill(one, SIGKILL) == 0 && result_of(one) == -SIGKILL;
  CHECK(working == 3);
  for (int const one : told) ::close(one);
  return ends;
}

/// As a process on another machine leaves the lock of a folder.
void has_lock(std::string const& folder, std::int64_t seconds_ago, std::string const& machine = "1234567890abcdef",
              ino_t number = 0) {
  struct stat now {};
  REQUIRE(::stat(folder.c_str(), &now) == 0);
  char text[80];
  (void)std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number != 0 ? number : now.st_ino));
  put(folder + "/lock", summed("node7 4711\n" + machine + " 0000000000000001 " + text));
  timespec const then{std::time(nullptr) - seconds_ago, 0}, both[2] = {then, then};
  REQUIRE(::utimensat(AT_FDCWD, (folder + "/lock").c_str(), both, 0) == 0);
}
/// A loop of n steps without global counters, whose x0 is a number of its own; an action may be the last.
struct own_loop {
  static constexpr step_index n = 40;
  static void step(std::vector<double>& x, step_index i) {
    for (double& v : x) v = std::sin(v) + 0.01 * double(i % 5);
  }
  static void adjoint(std::vector<double> const& x, std::vector<double>& bar, step_index) {
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= std::cos(x[k]);
  }
  std::vector<double> first;
  explicit own_loop(int number) : first{1.0 + number, 0.5} {}
  static auto plan() { return cairn::multistage{n, 1, 4}; }
  [[nodiscard]] std::vector<double> gradient(auto&&... on) const {
    return cairn::gradient(step, first, plan(), std::vector<double>{1, 1}, adjoint, on...);
  }
  [[nodiscard]] std::vector<double> right() const {
    return cairn::gradient(step, first, cairn::in_memory{plan()}, std::vector<double>{1, 1}, adjoint);
  }
  /// Stops where the adjoint has come to state `open`.
  void stop(cairn::disk const& on, step_index open) const {
    auto const stops = [open](cairn::event const& e) {
      if (e.what().kind == cairn::action_kind::reverse && e.what().from == open) throw stopped{};
    };
    try {
      (void)gradient(on, stops);
    } catch (stopped const&) {
    }
  }
};
template <class Fn>
void in_threads(int many, Fn const& f) {
  std::vector<std::thread> all;
  for (int k = 0; k < many; ++k) all.emplace_back([&f, k] { f(k); });
  for (auto& one : all) one.join();
}

}  // namespace

TEST_CASE("runs that begin while others look at their folder or remove it have the right gradient", "[disk]") {
  constexpr int many = 1'000;
  CHECK(beside_removals(many)[int(end::right)] == many);
}
TEST_CASE("of 5,000 runs that begin while others remove their folder all have the right gradient", "[.soak]") {
  CHECK(beside_removals(5'000)[int(end::right)] == 5'000);
}

TEST_CASE("an owner on another machine that wrote within a minute is there, whatever the lock says", "[disk]") {
  temporary const place;
  auto const before = stop_at<numbers>(place.run(), 24);
  std::string const folder = only_run_in(place.run());
  (void)right<numbers>();
  for (std::int64_t const age : {-3, 0, 40}) {
    has_lock(folder, age);
    auto const lock = content_of(folder + "/lock");
    for (int k = 0; k < 2; ++k)  // who asks does not renew it
      try {
        (void)go_on<numbers>(place.run());
        FAIL("two machines have the run");
      } catch (cairn::directory_busy const& seen) {
        CHECK_THAT(seen.what(), Catch::Matchers::ContainsSubstring("on node7 (process = 4711, seconds since it wrote = "));
        CHECK((std::string{seen.host} == "node7" && seen.process == 4711));
        CHECK((seen.value(1).magnitude >= cairn::wide(age < 0 ? 0 : age) && seen.value(1).magnitude < 60));
      }
    CHECK(content_of(folder + "/lock") == lock);
    CHECK(files_of(place.run()) == before);
    CHECK(cairn::stored_runs(place.run()).at(0).held);
    CHECK(cairn::remove_runs(place.run(), {.older_than = -100, .really = true}).empty());
  }
  has_lock(folder, 61);
  CHECK_FALSE(cairn::stored_runs(place.run()).at(0).held);
  CHECK(go_on<numbers>(place.run()).report.resumed_at == 9);
}

TEST_CASE("the lock alone decides on one machine, for a copy of a folder, and after an orderly end", "[disk]") {
  temporary const place;
  (void)stop_at<numbers>(place.run(), 24);
  std::string const folder = only_run_in(place.run());
  std::string const after = content_of(folder + "/lock");
  CHECK(after.find('\n') == after.size() - 1);  // of an orderly end there is no more than who it was
  char mine[20];
  (void)std::snprintf(mine, sizeof mine, "%016llx", static_cast<unsigned long long>(cairn::detail::this_machine()));
  has_lock(folder, 0, mine);  // killed
  CHECK(end_of(place.run()) == end::right);
  has_lock(folder, 0, "1234567890abcdef", 1);  // the text of the folder that this one is a copy of
  CHECK(end_of(place.run()) == end::right);
}

TEST_CASE("a lock whose writing was torn names nobody", "[disk]") {
  temporary const place;
  (void)stop_at<numbers>(place.run(), 24);
  std::string const folder = only_run_in(place.run());
  for (std::string const machine : {"1234567890abcdef", "0000000000000000"}) {
    has_lock(folder, 0, machine);
    std::string const now = content_of(folder + "/lock");
    std::string before = now;
    for (char& c : before)
      if (c != ' ' && c != '\n') c = c == '7' ? '8' : '7';
    for (std::size_t there = 1; there + 1 < now.size(); ++there) {
      put(folder + "/lock", now.substr(0, there) + before.substr(there));
      CAPTURE(machine, there);
      REQUIRE(end_of(place.run()) == end::right);
    }
  }
}

TEST_CASE("an owner whose lock another machine has taken over learns it at its next record, and who it is", "[disk]") {
  temporary const place;
  bool planted = false;
  auto const watch = [&](cairn::event const& e) {
    if (planted || e.what().kind != cairn::action_kind::reverse || e.what().from != 5) return;
    planted = true;
    has_lock(only_run_in(place.run()), 0);
  };
  cairn::disk const on{place.run(), {.commit_every = 2}};
  try {
    (void)numbers::gradient(numbers::first(), plan(), on, watch);
    FAIL("two machines have the run");
  } catch (cairn::directory_busy const& seen) {
    CHECK((std::string{seen.host} == "node7" && seen.process == 4711));
  }
  CHECK(content_of(only_run_in(place.run()) + "/lock").starts_with("node7 4711\n1234567890abcdef"));
}

TEST_CASE("an owner renews the moment of its lock when it writes", "[disk][long]") {
  temporary const place;
  std::int64_t renewed = -1;
  auto const watch = [&](cairn::event const& e) {
    if (e.what().kind != cairn::action_kind::reverse) return;
    std::string const lock = only_run_in(place.run()) + "/lock";
    struct stat now {};
    if (renewed < 0) {
      timespec const then{1, 0}, both[2] = {then, then};
      REQUIRE(::utimensat(AT_FDCWD, lock.c_str(), both, 0) == 0);
      renewed = 0;
      for (int k = 0; k < 2; ++k) rest(505'000);
    } else if (::stat(lock.c_str(), &now) == 0 && now.st_mtime > 1) renewed = 1;
  };
  cairn::disk const on{place.run(), {.commit_every = 2}};
  CHECK(same(numbers::gradient(numbers::first(), plan(), on, watch), right<numbers>()));
  CHECK(renewed == 1);
}

TEST_CASE("threads that use one disk at once, each with another run, have their gradients and their own reports",
          "[disk]") {
  temporary const place;
  constexpr int many = 8;
  cairn::disk const on{place.run(), {.commit_every = 1}};
  std::atomic<int> begun = 0;
  std::array<bool, many> right{}, reported{};
  in_threads(many, [&](int k) {
    own_loop const mine{k};
    ++begun;
    while (begun < many) std::this_thread::yield();
    step_index const open = 5 + k;
    mine.stop(on, open);
    bool const from_record = on.report().used == cairn::disk_use::nothing;
    right[std::size_t(k)] = mine.gradient(on) == mine.right();
    auto const told = on.report();
    reported[std::size_t(k)] = from_record && told.used == cairn::disk_use::record && told.resumed_at == open + 1;
  });
  for (int k = 0; k < many; ++k) {
    CAPTURE(k);
    CHECK(right[std::size_t(k)]);
    CHECK(reported[std::size_t(k)]);
  }
}

TEST_CASE("of two threads that want the same run one has it, and the other one is told", "[disk]") {
  temporary const place;
  cairn::disk const on{place.run(), {.commit_every = 1}};
  own_loop const same_loop{1};
  std::atomic<bool> has_it = false, told = false;
  bool busy = false, right = false;
  in_threads(2, [&](int k) {
    if (k == 0) {
      auto const waits = [&](cairn::event const&) {
        has_it = true;
        while (!told) std::this_thread::yield();
      };
      right = same_loop.gradient(on, waits) == same_loop.right();
      return;
    }
    while (!has_it) std::this_thread::yield();
    try {
      (void)same_loop.gradient(on);
    } catch (cairn::directory_busy const&) {
      busy = true;
    }
    told = true;
  });
  CHECK(right);
  CHECK(busy);
  CHECK(same_loop.gradient(on) == same_loop.right());
  CHECK(on.report().resumed_at == 0);
}

TEST_CASE("a kept run that another thread reverses reports to that thread", "[disk]") {
  temporary const place;
  cairn::disk const on{place.run(), {.commit_every = 1}};
  own_loop const loop{2};
  auto run = cairn::checkpointed_loop(own_loop::step, loop.first, own_loop::plan(), on);
  auto const forward = on.report();
  CHECK_FALSE(forward.folder.empty());
  std::vector<double> bar;
  cairn::disk_report reversed;
  in_threads(1, [&](int) {
    own_loop const other{3};
    (void)other.gradient(on);
    bar = run.reverse(std::vector<double>{1, 1}, own_loop::adjoint);
    reversed = on.report();
  });
  CHECK(bar == loop.right());
  CHECK(reversed.folder == forward.folder);
  CHECK(reversed.commits > 0);
  CHECK(on.report().commits == 0);
}

TEST_CASE("a thread that has made no call is told about the last call of all threads", "[disk]") {
  temporary const place;
  cairn::disk const on{place.run(), {.commit_every = 1}};
  CHECK(on.report().folder.empty());
  in_threads(1, [&](int) { (void)own_loop{4}.gradient(on); });
  CHECK(on.report().commits > 0);
}
