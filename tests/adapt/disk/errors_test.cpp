// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail, each of them: a run ends with the right gradient or with an error that says which.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include "support/failing_system.hpp"
#include <cairn/run/with/adaptive.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace disk_runs;
using failing_system::call;
using failing_system::failing;
using failing_system::fault;

/// No run may take longer than this: SIGALRM ends the program then.
constexpr unsigned longest = 20;

end end_with(fault const& wanted, std::string const& run) {
  ::alarm(longest);
  failing const now{wanted};
  auto const seen = end_of(run);
  ::alarm(0);
  return seen;
}
/// How often a run makes each call.
std::vector<long> counted(std::string const& run) {
  failing_system::set({});
  (void)end_of(run);
  return {std::begin(failing_system::counts), std::end(failing_system::counts)};
}

/// A new run, and one that was stopped.
struct beginning {
  temporary place;
  files const all;
  explicit beginning(bool anew) : all{anew ? files{} : stop_at<numbers>(place.run(), 24)} {}
  /// As it was.
  std::string const& again() {
    if (all.empty()) place.remove_runs();
    else put_back(only_run_in(place.run()), all);
    return path;
  }
  std::string const path = place.run();
};

}  // namespace

TEST_CASE("an error of any call ends in the right gradient or in an error of cairn, and the run goes on afterwards",
          "[disk]") {
  for (bool const anew : {true, false}) {
    beginning from{anew};
    auto const all = counted(from.again());
    for (auto const of : {call::write, call::read, call::open, call::reserve, call::sync, call::sync_names})
      for (int const error : {ENOSPC, EDQUOT, EIO, EMFILE, EACCES, EROFS})
        for (bool const from_there : {false, true})
          for (long at = 1; at <= all[std::size_t(of)]; ++at) {
            auto const seen = end_with({of, at, error, from_there}, from.again());
            auto const next = end_of(from.path);
            if (seen != end::wrong && seen != end::other && seen != end::busy && next == end::right) continue;
            CAPTURE(anew, int(of), error, from_there, at, words(seen), words(next));
            CHECK(false);
          }
    CHECK(all[int(call::write)] >= 12);
    CHECK(all[int(call::open)] > 20);
    CHECK(all[int(call::sync)] >= 4);
    CHECK(all[int(call::reserve)] == 3);
  }
}

TEST_CASE("calls that are interrupted, or do a part of what is asked for, change nothing", "[disk]") {
  for (bool const anew : {true, false}) {
    beginning from{anew};
    auto const all = counted(from.again());
    auto const steps_then = go_on<numbers>(from.again()).report.step_calls;
    for (auto const of : {call::write, call::read, call::open, call::reserve})
      for (int const error : {0, EINTR})
        for (bool const from_there : {false, true}) {
          if (error != 0 && from_there) continue;  // it would be interrupted for ever
          if (error == 0 && of == call::open) continue;
          for (long at = 1; at <= all[std::size_t(of)]; ++at) {
            from.again();
            ::alarm(longest);
            failing const now{{of, at, error, from_there}};
            auto const seen = go_on<numbers>(from.path);
            ::alarm(0);
            CAPTURE(anew, int(of), error, from_there, at);
            CHECK(same(seen.numbers, right<numbers>()));
            CHECK(seen.report.step_calls == steps_then);
          }
        }
  }
}

TEST_CASE("a lock that another process has for a moment, to look at the run, is waited for; any longer it is busy",
          "[disk]") {
  temporary const place;
  CHECK(end_with({call::lock, 1, EWOULDBLOCK}, place.run()) == end::right);
  CHECK(end_with({call::lock, 1, EINTR}, place.run()) == end::right);
  char text[100];  // of an owner who is there; what nobody owns is waited for longer
  (void)std::snprintf(text, sizeof text, "host %ld\n%llx 1 1", long(::getpid()),
                      static_cast<unsigned long long>(cairn::detail::this_machine()));
  put(only_run_in(place.run()) + "/lock", summed(text));
  CHECK(end_with({call::lock, 1, EWOULDBLOCK, true}, place.run()) == end::busy);
  CHECK(end_with({call::lock, 1, ENOLCK}, place.run()) == end::file);
}

TEST_CASE("a checkpoint that cannot be written costs steps, and no more", "[disk]") {
  beginning from{true};
  auto const usual = go_on<numbers>(from.again()).report.step_calls;
  for (int const error : {ENOSPC, EDQUOT, EIO})
    for (auto const of : {call::write, call::open}) {
      from.again();
      failing const now{{of, of == call::open ? 8 : 1, error, true, 's'}};  // after they were looked for and reserved
      auto const seen = go_on<numbers>(from.path);
      CHECK(same(seen.numbers, right<numbers>()));
      CHECK(seen.report.step_calls > usual);
      if (of == call::write) CHECK(failing_system::counts[int(of)] == 3);  // each slot is tried once
    }
}

TEST_CASE("a record that cannot be written is tried once more, in a new file, and then later, and ends nothing", "[disk]") {
  for (int const error : {ENOSPC, EDQUOT, EIO})
    for (auto const of : {call::write, call::sync}) {
      CAPTURE(error, int(of));
      beginning from{false};
      auto const commits = go_on<numbers>(from.again()).report.commits;
      from.again();
      {
        failing const now{{of, 1, error, false, 'r'}};
        auto const once = go_on<numbers>(from.path);
        CHECK(same(once.numbers, right<numbers>()));
        CHECK(once.report.commits == commits);
        CHECK(once.report.commits_failed == 0);
      }
      from.again();
      {
        failing const now{{of, 1, error, true, 'r', false, 2}};  // the first record, twice
        auto const then = go_on<numbers>(from.path);
        CHECK(same(then.numbers, right<numbers>()));
        CHECK(then.report.commits_failed == 1);
        CHECK(then.report.commits >= 2);
        CHECK(then.report.not_written.empty());
        CHECK(std::string{then.report.why}.empty());
        CHECK(files_of(from.path).size() == 2);  // the records of a finished run
      }
      from.again();
      {
        failing const now{{of, 1, error, true, 'r'}};
        auto const never = go_on<numbers>(from.path);
        CHECK(same(never.numbers, right<numbers>()));
        CHECK(never.report.commits == 0);
        CHECK(never.report.commits_failed >= 2);
        CHECK_THAT(never.report.not_written, Catch::Matchers::ContainsSubstring(cairn::detail::words_of_system(error).says));
        CHECK_THAT(never.report.not_written, Catch::Matchers::ContainsSubstring("/record0"));
        CHECK_THAT(never.report.why, Catch::Matchers::ContainsSubstring("could not be written"));
      }
      auto const then = files_of(from.path);
      CHECK(then.at("record1") == from.all.at("record1"));  // the later one of before
      CHECK(then.contains("s0000") + then.contains("s0001") + then.contains("s0002") + then.contains("s0003") > 0);
      // What was written and did not reach the disk is there as long as the system runs: that of the end.
      CHECK(go_on<numbers>(from.path).report.resumed_at == (of == call::write ? 9 : 0));
    }
}

TEST_CASE("a file that the disk has refused to keep is not asked again: what it says then is not to be believed",
          "[disk]") {
  for (long const fails : {0, 1, 2}) {
    CAPTURE(fails);
    beginning from{false};
    std::string const name = only_run_in(from.again()) + "/record0";  // the next one to be written
    cairn::detail::descriptor const before{::open(name.c_str(), O_RDONLY)};
    REQUIRE(before);
    failing const now{{fails > 0 ? call::sync : call::none, 1, EIO, true, 'r', false, fails}};
    CHECK(same(go_on<numbers>(from.path).numbers, right<numbers>()));
    struct stat then {};
    CHECK(::fstat(before.get(), &then) == 0);
    CHECK(then.st_nlink == (fails > 0 ? 0 : 1));
  }
}
TEST_CASE("a disk that takes no record is tried ever less often", "[disk]") {
  temporary const place;
  failing const now{{call::write, 1, EIO, true, 'r'}};
  auto const seen = go_on<numbers>(place.run(), {.commit_every = 1});
  CHECK(same(seen.numbers, right<numbers>()));
  CHECK(seen.report.commits_failed == 4);  // after 1, 2, 4 reversals more each, and at the end, of 14
}

TEST_CASE("a folder that is removed or unmounted in the middle of a sweep changes no bit, and the report says so",
          "[disk]") {
  auto const in_the_middle = [](std::string const& run, auto const& lose) {
    long seen = 0;
    auto const watch = [&](cairn::event const& e) {
      if (e.moment() == cairn::moment::after && e.what().kind == cairn::action_kind::reverse && ++seen == 3) lose();
    };
    cairn::disk const on{run, {.commit_every = 2}};
    outcome made{numbers::gradient(numbers::first(), plan(), on, watch), {}};
    made.report = on.report();
    return made;
  };
  temporary const place;
  auto const gone = in_the_middle(place.run(), [&] { place.remove_runs(); });
  CHECK(same(gone.numbers, right<numbers>()));
  CHECK(gone.report.commits == 2);
  CHECK_THAT(gone.report.not_written, Catch::Matchers::ContainsSubstring(cairn::detail::words_of_system(ENOENT).says));
  if (::mount("cairn", place.path().c_str(), "tmpfs", 0, "size=512k") != 0) return;  // not root
  auto const detached = in_the_middle(place.run(), [&] { (void)::umount2(place.path().c_str(), MNT_DETACH); });
  CHECK(same(detached.numbers, right<numbers>()));
}

namespace {
std::string run_of_choices;
ino_t choices_now() {
  struct stat now {};
  return ::stat((only_run_in(run_of_choices) + "/choices").c_str(), &now) == 0 ? now.st_ino : 0;
}
ino_t choices_then = 0;
/// Steps that choose a size.
struct chooses {
  double operator()(std::vector<double>& x, step_index i) const {
    double const h = 0.01 + 0.001 * std::abs(x[0]) + 0.0001 * double(i);
    x[0] += h * std::cos(x[0]);
    return h;
  }
};
struct repeats {
  void operator()(std::vector<double>& x, double h) const { x[0] += h * std::cos(x[0]); }
};
struct pulls_back {
  void operator()(std::vector<double> const& x, std::vector<double>& bar, double h) const {
    disk_runs::call();
    if (calls == 2) choices_then = choices_now();
    bar[0] *= 1 - h * std::sin(x[0]);
  }
};
outcome with_choices(std::string const& run) {
  cairn::disk const on{run_of_choices = run, {.commit_every = 1}};
  calls = 0;
  cairn::adaptive loop{chooses{}, repeats{}};
  std::vector<double> const x0{0.4};
  outcome made{cairn::gradient(loop.step(), x0, plan(), x0, loop.with_record(pulls_back{}), on), {}};
  made.report = on.report();
  return made;
}
}  // namespace

TEST_CASE("choices that cannot be written end nothing, and what a disk has refused to keep is written into a new file",
          "[disk]") {
  temporary const other;
  auto const want = with_choices(other.run()).numbers;
  temporary const place;
  {
    failing const now{{call::write, 1, ENOSPC, true, 'c'}};
    auto const never = with_choices(place.run());
    CHECK(same(never.numbers, want));
    CHECK(never.report.commits == 0);
    CHECK_THAT(never.report.not_written, Catch::Matchers::ContainsSubstring("/choices"));
  }
  place.remove_runs();
  for (long const fails : {1, 2}) {
    failing const now{{call::sync, 1, EIO, true, 'c', false, fails}};
    place.remove_runs();
    last_call = 12;
    CHECK_THROWS_AS(with_choices(place.run()), stopped);
    last_call = -1;
    CHECK(failing_system::counts[int(call::sync)] == fails + 1);  // after which no choice is added
    CHECK(choices_now() != choices_then);
    auto const left = files_of(place.run());
    CHECK(left.contains("choices"));
    CHECK(!left.contains("choices.new"));
  }
  auto const next = with_choices(place.run());
  CHECK(same(next.numbers, want));
  CHECK(next.report.used == cairn::disk_use::record);
}

TEST_CASE("a run that is asked to stop and cannot write stops all the same, and says what was not kept", "[disk]") {
  for (long const at : {9, 30}) {  // on its way forward, and back
    CAPTURE(at);
    beginning from{true};
    long asked = 0;
    auto const stop = [&] {
      if (++asked == at) failing_system::set({call::write, 1, ENOSPC, true});
      return asked == at;
    };
    cairn::disk const on{from.path, {.commit_every = 2, .stop = stop}};
    CHECK_THROWS_AS(numbers::gradient(numbers::first(), plan(), on), cairn::stopped);
    failing_system::set({});
    CHECK_THAT(on.report().not_written, Catch::Matchers::ContainsSubstring(cairn::detail::words_of_system(ENOSPC).says));
    CHECK_THAT(on.report().why, Catch::Matchers::ContainsSubstring("could"));
    auto const next = go_on<numbers>(from.path);
    CHECK(same(next.numbers, right<numbers>()));
    CHECK(next.report.used == (at == 9 ? cairn::disk_use::states : cairn::disk_use::record));
  }
}

TEST_CASE("a record that is there but does not open for the moment is an error, and no new beginning", "[disk]") {
  for (int const error : {EMFILE, EIO, EACCES}) {
    beginning from{false};
    CHECK(end_with({call::open, 1, error, true, 'r'}, from.again()) == end::file);
    CHECK(files_of(from.path) == from.all);
  }
}

TEST_CASE("a disk without room is an error before the loop runs, and keeps nothing of what was reserved", "[disk]") {
  for (int const error : {ENOSPC, EDQUOT, EFBIG})
    for (long const at : {1, 2, 3}) {
      beginning from{true};
      (void)end_of(from.again());  // makes what it compares with
      from.again();
      calls = 0;
      CHECK(end_with({call::reserve, at, error}, from.path) == end::full);
      CHECK(calls == 1);  // that of step 0, which says which run it is
      CHECK(files_of(from.path).empty());

      beginning stopped{false};  // what holds checkpoints stays
      CHECK(end_with({call::reserve, at, error}, stopped.again()) == end::full);
      CHECK(files_of(stopped.path) == stopped.all);
    }
}

TEST_CASE("an error of the system is said in words, with what to do about it before a path of any length", "[disk]") {
  using cairn::detail::words_of_system;
  for (int const error : {ENOENT, EACCES, EPERM, EROFS, ENOSPC, EDQUOT, ENOTDIR, ELOOP, EMFILE, EIO, ESTALE,
                          ENAMETOOLONG, ENODEV})
    try {
      cairn::detail::refuse_file("a file cannot be opened", error, '/' + std::string(500, 'p'));
    } catch (cairn::file_error const& seen) {
      std::string const said = seen.what(), words = words_of_system(error).says, advice = words_of_system(error).advice;
      CAPTURE(said);
      CHECK_FALSE(advice.empty());
      CHECK(said.starts_with("cairn::disk: a file cannot be opened: " + words + " (error = "));
      CHECK(said.find("; " + advice + ": /") != said.npos);
      CHECK(seen.value(0).magnitude == cairn::wide(error));
    }
  CHECK(std::string{words_of_system(EXDEV).says} == std::strerror(EXDEV));
}

TEST_CASE("a file system that cannot reserve room gets no byte for it", "[disk]") {
  for (int const error : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    temporary const place;
    failing const now{{call::reserve, 1, error, true}};
    auto const all = stop_at<numbers>(place.run(), 2);  // when state 0 is written
    CHECK(failing_system::counts[int(call::reserve)] == 3);
    CHECK(failing_system::counts[int(call::write)] == 5);  // of the lock, the name, and that state, two parts each
    CHECK(std::count_if(all.begin(), all.end(), [](auto const& one) { return one.second.empty(); }) == 2);
    CHECK(end_of(place.run()) == end::right);
  }
}

namespace {
/// A run of states of so many numbers.
end end_of_large(std::string const& run, std::size_t size, long* made = nullptr, std::string const& scratch = {}) {
  std::vector<double> const x0(size, 0.25);
  auto const want = right<numbers>(x0);
  calls = 0;
  end seen = end::other;
  try {
    seen = same(go_on<numbers>(run, {.commit_every = 2, .scratch = scratch}, x0).numbers, want) ? end::right : end::wrong;
  } catch (cairn::storage_full const&) {
    seen = end::full;
  } catch (cairn::file_error const&) {
    seen = end::file;
  } catch (...) {
  }
  if (made != nullptr) *made = calls;
  return seen;
}
}  // namespace

TEST_CASE("a disk of 512 KiB takes what fits, and refuses at once what does not", "[disk]") {
  temporary const place;
  if (::mount("cairn", place.path().c_str(), "tmpfs", 0, "size=512k") != 0)
    CAIRN_SKIP("a file system of 512 KiB can only be made by root");
  struct unmounts {
    std::string path;
    ~unmounts() { (void)::umount(path.c_str()); }
  } const last{place.path()};
  long made = 0;
  CHECK(end_of_large(place.run(), 30'000, &made) == end::full);  // three of 240 kB
  CHECK(made == 1);
  CHECK(end_of_large(place.run(), 10'000) == end::right);
  place.remove_runs();
  // Of the records there is no room for the second: that ends nothing.
  CHECK(end_of_large(place.run(), 16'000) == end::right);
  // Another program has taken the room meanwhile.
  place.remove_runs();
  std::string const other = place.path() + "/other";
  put(other, std::string(400'000, 'x'));
  CHECK(end_of_large(place.run(), 10'000, &made) == end::full);
  CHECK(made == 1);
  temporary const elsewhere;
  CHECK(end_of_large(elsewhere.run(), 10'000, &made, place.path() + "/scratch.d") == end::full);
  CHECK(made == 1);
  CHECK(::unlink(other.c_str()) == 0);
  CHECK(end_of_large(place.run(), 10'000) == end::right);
  place.remove_runs();
  CHECK(end_of_large(place.run(), 16'000, &made, elsewhere.path() + "/scratch.d") == end::right);  // room for records
}

TEST_CASE("a limit on the size of files is a full disk", "[disk]") {
  temporary const place;
  auto const limited = [&](std::size_t size) {
    return result_of(in_process([&] {
      rlimit const least{100'000, 100'000};
      if (::setrlimit(RLIMIT_FSIZE, &least) != 0) return 98;
      (void)::signal(SIGXFSZ, SIG_IGN);  // else the system ends the process
      return int(end_of_large(place.run(), size));
    }));
  };
  CHECK(limited(20'000) == int(end::full));
  CHECK(limited(5'000) == int(end::right));
}

TEST_CASE("a run in a process of its own", "[.child]") {
  char const* const run = std::getenv("TEST_RUN");
  REQUIRE(run != nullptr);
  std::printf("cairn: %s\n", words(end_of(run)));
}

namespace {

/// This program's run above, under strace.
std::string traced(std::string const& asked, std::string const& run) {
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "no /proc";
  std::string const command = "TEST_RUN='" + run + "' timeout " + std::to_string(longest) + " strace -f -qq " +
                              asked + " '" + self + "' '[.child]' 2>&1; echo status $?";
  std::string said;
  if (std::FILE* const pipe = ::popen(command.c_str(), "r")) {
    char part[512];
    while (std::size_t const got = std::fread(part, 1, sizeof part, pipe)) said.append(part, got);
    ::pclose(pipe);
  }
  return said;
}
bool says(std::string const& said, std::string const& words) { return said.find(words) != std::string::npos; }

struct range {
  long first = 1, last = 0;
};
/// Which calls of a kind are the run's: those of the program's start come before.
range calls_of(std::string const& name, std::string const& log, std::string const& run) {
  range all;
  long count = 0;
  bool begun = false;
  for (std::size_t at = 0; at < log.size();) {
    std::size_t const next = std::min(log.find('\n', at), log.size());
    std::string const line = log.substr(at, next - at);
    at = next + 1;
    bool const one = says(line, name + '(');
    count += one;
    if (!begun && says(line, run)) begun = true, all.first = count + (one ? 0 : 1);
  }
  all.last = count;
  return all;
}

/// Every call of these kinds fails with each of these errors, in a new run and in one that was stopped. The numbers of
/// runs and of those that did not end well.
struct campaign {
  long runs = 0, wrong = 0, errors = 0;
  bool traces = true, both = false;  // once, and from there on

  void go(std::vector<std::pair<std::string, std::vector<std::string>>> const& plans) {
    for (bool const anew : {true, false}) {
      beginning from{anew};
      from.again();
      std::string const log = from.place.path() + "/log";
      auto const usual = traced("-e trace=pwrite64,openat,fallocate,fdatasync,fsync -o '" + log + '\'', from.path);
      traces = says(usual, "cairn: right");
      if (!traces) return;
      auto const all = content_of(log);
      for (auto const& [name, faults] : plans) {
        range const calls_there = calls_of(name, all, from.path);
        for (auto const& fault : faults)
          for (long k = 2 * calls_there.first; k <= 2 * calls_there.last + 1; ++k) {
            long const at = k / 2;
            bool const from_there = k % 2 != 0;
            if (from_there && (!both || fault == "error=EINTR")) continue;  // it would be interrupted for ever
            from.again();
            auto const said = traced("-o /dev/null -e trace=" + name + " -e inject=" + name + ':' + fault + ":when=" +
                                         std::to_string(at) + (from_there ? "+" : ""),
                                     from.path);
            ++runs;
            bool const refused = says(said, "cairn: file_error") || says(said, "cairn: storage_full");
            errors += refused;
            bool const well = (refused || says(said, "cairn: right")) && end_of(from.path) == end::right;
            if (well) continue;
            ++wrong;
            UNSCOPED_INFO(name << ' ' << fault << " at " << at << (anew ? ", new: " : ", stopped: ") << said);
          }
      }
    }
  }
};

}  // namespace

TEST_CASE("errors of real calls, under strace", "[disk]") {
  if (std::system("strace -V >/dev/null 2>&1") != 0) CAIRN_SKIP("no strace");
  campaign all;
  all.go({{"pwrite64", {"error=ENOSPC", "retval=1"}},
          {"openat", {"error=EMFILE"}},
          {"fallocate", {"error=EDQUOT"}},
          {"fdatasync", {"error=EIO"}}});
  if (!all.traces) CAIRN_SKIP("strace cannot trace here");
  CHECK(all.runs > 60);
  CHECK(all.errors > 10);
  CHECK(all.wrong == 0);
}

TEST_CASE("errors of real calls, under strace, all of them", "[.soak]") {
  if (std::system("strace -V >/dev/null 2>&1") != 0) CAIRN_SKIP("no strace");
  std::vector<std::string> const errors{"error=ENOSPC", "error=EDQUOT", "error=EIO", "error=EMFILE", "error=EACCES",
                                        "error=EINTR"};
  auto written = errors;
  written.push_back("retval=1");  // nothing is written, but one byte is said to be
  campaign all;
  all.both = true;
  all.go({{"pwrite64", written}, {"openat", errors}, {"fallocate", errors}, {"fdatasync", errors}, {"fsync", errors}});
  if (!all.traces) CAIRN_SKIP("strace cannot trace here");
  std::printf("cairn: %ld runs with an injected error, %ld ended in an error of cairn\n", all.runs, all.errors);
  CHECK(all.wrong == 0);
}
