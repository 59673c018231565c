// SPDX-License-Identifier: Apache-2.0
// What stands where a run wants its folders and files: nothing outside of them is touched.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/run/adaptive.hpp>

namespace {

using namespace disk_runs;

[[nodiscard]] int mode_of(std::string const& path) {
  struct stat now {};
  return ::lstat(path.c_str(), &now) == 0 ? int(now.st_mode & 07777) : -1;
}

/// How a run ends in another process, of a user without rights where this one is root.
int end_in_child(std::function<end()> const& run) {
  return result_of(in_process([&] {
    if (::geteuid() == 0 && (::setgid(65'534) != 0 || ::setuid(65'534) != 0)) return 98;
    return int(run());
  }));
}

/// Something that is not a plain file with one name, made at a path; it may lead to a victim outside.
struct planted {
  char const* name;
  void (*at)(std::string const& path, std::string const& victim);
};
void check(int result) {
  if (result != 0) throw std::runtime_error{"cannot be planted"};
}
planted const things[] = {
    {"a link to a file", [](auto const& path, auto const& victim) { check(::symlink(victim.c_str(), path.c_str())); }},
    {"a link to nothing", [](auto const& path, auto const&) { check(::symlink("nowhere", path.c_str())); }},
    {"a pipe", [](auto const& path, auto const&) { check(::mkfifo(path.c_str(), 0600)); }},
    {"a folder", [](auto const& path, auto const&) { check(::mkdir(path.c_str(), 0700)); }},
    {"a link to a device", [](auto const& path, auto const&) { check(::symlink("/dev/zero", path.c_str())); }},
};

/// A run that was stopped, and a file beside it that is nobody's business.
struct scene {
  temporary place;
  files const all = stop_at<numbers>(place.run(), 24);
  std::string const folder = only_run_in(place.run());
  std::string const victim = place.path() + "/victim";

  scene() {
    put(victim, victim_text());
    check(::chmod(victim.c_str(), 0644));
  }
  static std::string victim_text() { return std::string(500, 'v'); }
  [[nodiscard]] bool untouched() const { return content_of(victim) == victim_text() && mode_of(victim) == 0644; }
};

}  // namespace

TEST_CASE("what is not a plain file of its own is not a checkpoint, a record or a lock", "[disk]") {
  for (auto const& thing : things)
    for (std::string const name : {"s0001", "s0002", "s0003", "record0", "record1", "lock"}) {
      scene const now;
      temporary::remove_all(now.folder + '/' + name);
      thing.at(now.folder + '/' + name, now.victim);
      auto const seen = end_of(now.place.run());
      CAPTURE(thing.name, name);
      CHECK(now.untouched());
      bool const a_record = name[0] == 'r';
      // A record is replaced, where that takes no more than its name.
      CHECK(seen == (a_record && thing.name != std::string{"a folder"} ? end::right : end::file));
    }
}

TEST_CASE("a file with a second name is read like others, and nothing is written through to that name", "[disk]") {
  for (std::string const name : {"s0001", "s0002", "s0003", "record0", "record1", "lock"}) {
    scene const now;
    std::string const second = now.place.path() + "/second", file = now.folder + '/' + name;
    auto const content = content_of(file);
    check(::link(file.c_str(), second.c_str()));
    auto const seen = go_on<numbers>(now.place.run());
    CAPTURE(name);
    CHECK(same(seen.numbers, right<numbers>()));
    CHECK(seen.report.resumed_at == 9);
    CHECK(content_of(second) == content);

    scene const other;  // the second name is that of a file which is nobody's business
    std::string const place = other.folder + '/' + name;
    check(::unlink(place.c_str()));
    check(::link(other.victim.c_str(), place.c_str()));
    CHECK(end_of(other.place.run()) == end::right);
    CHECK(other.untouched());
  }
}

namespace {
/// A copy of a folder of runs as `cp -al` makes it.
void copy_by_links(std::string const& from, std::string const& to) {
  check(::mkdir(to.c_str(), 0700));
  for (auto const& name : temporary::names_in(from)) {
    std::string const one = from + '/' + name, other = to + '/' + name;
    if (temporary::names_in(one).empty()) check(::link(one.c_str(), other.c_str()));
    else copy_by_links(one, other);
  }
}
std::map<std::string, std::string> all_of(std::string const& folder) {
  std::map<std::string, std::string> all;
  for (auto const& name : temporary::names_in(folder)) all[name] = content_of(folder + '/' + name);
  return all;
}

/// A loop whose steps choose.
using field = std::vector<double>;
struct choice {
  double h = 0;
};
struct chooses {
  choice operator()(field& x, step_index i) const {
    call();
    choice const made{i % 2 == 0 ? 0.1 : 0.05};
    x[0] += made.h * std::sin(x[0]);
    return made;
  }
};
struct repeats {
  void operator()(field& x, choice const& made) const {
    call();
    x[0] += made.h * std::sin(x[0]);
  }
};
struct pulls {
  void operator()(field const& x, field& bar, choice const& made) const {
    call();
    bar[0] *= 1 + made.h * std::cos(x[0]);
  }
};
double by_choices(auto const& plan, auto const&... on) {
  cairn::adaptive loop{chooses{}, repeats{}};
  return cairn::gradient(loop.step(), field{0.4}, plan, field{1.0}, loop.with_record(pulls{}), on...)[0];
}
void stop_choices_at(long at, std::string const& run) {
  calls = 0, last_call = at;
  CHECK_THROWS_AS(by_choices(plan(), cairn::disk{run, {.commit_every = 2}}), stopped);
  last_call = -1;
}
}  // namespace

TEST_CASE("a copy by hard links goes on as its original does, each by itself", "[disk]") {
  bool const chosen = GENERATE(false, true);
  temporary const place;
  std::string const copy = place.path() + "/copy.d";
  if (chosen) stop_choices_at(12, place.run());  // on its way forward: more choices are appended
  else (void)stop_at<numbers>(place.run(), 24);
  copy_by_links(place.run(), copy);
  std::string const folder = only_run_in(place.run());
  auto const before = all_of(folder);
  CHECK(before.contains("choices") == chosen);
  auto const goes_on = [&](std::string const& run) {
    if (!chosen) return end_of(run) == end::right;
    calls = 0;
    cairn::disk const on{run, {.resume = cairn::resume_rule::require}};
    return by_choices(plan(), on) == by_choices(cairn::store_all(steps)) && content_of(only_run_in(run) + "/choices").size() > before.at("choices").size();
  };
  CHECK(goes_on(copy));
  CHECK(all_of(folder) == before);
  auto const copied = all_of(only_run_in(copy));
  CHECK(goes_on(place.run()));
  CHECK(all_of(only_run_in(copy)) == copied);
}

TEST_CASE("a copy by hard links of a run that is at work is another run, and the original stays busy", "[disk]") {
  temporary const place;
  std::string const copy = place.path() + "/copy.d";
  bool looked = false;
  auto const watch = [&](cairn::event const&) {
    if (std::exchange(looked, true)) return;
    copy_by_links(place.run(), copy);
    CHECK(end_of(place.run()) == end::busy);
    CHECK(end_of(copy) == end::right);
    CHECK(end_of(place.run()) == end::busy);
  };
  cairn::disk const on{place.run(), {.commit_every = 2}};
  CHECK(same(numbers::gradient(numbers::first(), plan(), on, watch), right<numbers>()));
}

TEST_CASE("the folder of runs may be a link, and no link in it is followed", "[disk]") {
  temporary const place;
  std::string const elsewhere = place.path() + "/elsewhere";
  check(::mkdir(elsewhere.c_str(), 0755));
  check(::symlink("elsewhere", place.run().c_str()));
  for (std::string const& path : {place.run(), place.run() + "/", place.run() + "//"}) {
    (void)stop_at<numbers>(path, 24);
    CHECK(go_on<numbers>(path).report.resumed_at == 9);
    CHECK(cairn::stored_runs(path).size() == 1);
    CHECK(cairn::remove_runs(path, {.keep = 0, .really = true}).size() == 1);
    CHECK(temporary::names_in(elsewhere).empty());
  }
  CHECK(mode_of(elsewhere) == 0755);

  CHECK(end_of(place.run()) == end::right);
  std::string const folder = only_run_in(place.run()), other = place.path() + "/other";
  temporary::remove_all(folder);
  check(::mkdir(other.c_str(), 0700));
  check(::symlink(other.c_str(), folder.c_str()));
  CHECK(end_of(place.run()) == end::file);
  CHECK(temporary::names_in(other).empty());
}

TEST_CASE("a link that leads nowhere, and one to a file, are errors that say so", "[disk]") {
  using Catch::Matchers::ContainsSubstring;
  temporary const place;
  check(::symlink("nowhere", place.run().c_str()));
  CHECK_THROWS_WITH(go_on<numbers>(place.run() + '/'), ContainsSubstring("is a link that leads nowhere") &&
                                                           ContainsSubstring("make the folder that it leads to"));
  CHECK_THROWS_WITH(cairn::stored_runs(place.run()), ContainsSubstring("is a link that leads nowhere"));
  put(place.path() + "/nowhere", "x");
  CHECK_THROWS_WITH(go_on<numbers>(place.run()), ContainsSubstring("a part of the path is not a folder"));
  CHECK_THROWS_WITH(cairn::remove_runs(place.run(), {.really = true}), ContainsSubstring("not a folder of runs"));
  CHECK(content_of(place.path() + "/nowhere") == "x");
}

TEST_CASE("a file in the place of a folder, and a folder without a place, are errors that name it", "[disk]") {
  temporary const place;
  put(place.run(), "x");
  CHECK(end_of(place.run()) == end::file);
  CHECK(content_of(place.run()) == "x");
  try {
    (void)go_on<numbers>(place.path() + "/not/there");
    FAIL("a folder was made in none");
  } catch (cairn::file_error const& error) {
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("not/there") &&
                                 Catch::Matchers::ContainsSubstring("no such file or folder") &&
                                 Catch::Matchers::ContainsSubstring("make the folder that it is in"));
    CHECK(error.value(0).magnitude == ENOENT);
  }
}

TEST_CASE("folders are for their owner only, and files too, whatever the umask", "[disk]") {
  for (int const mask : {0, 022, 0077, 0277, 0777}) {
    temporary const place;
    check(::chmod(place.path().c_str(), 0777));
    CAPTURE(mask);
    auto const begun = end_in_child([&] {
      ::umask(mode_t(mask));
      try {
        (void)stop_at<numbers>(place.run(), 24);
      } catch (...) {
        return end::other;
      }
      return end::right;
    });
    CHECK(begun == int(end::right));
    CHECK(mode_of(place.run()) == 0700);
    std::string const folder = only_run_in(place.run());
    CHECK(mode_of(folder) == 0700);
    auto const names = temporary::names_in(folder);
    CHECK(names.size() == 6);
    for (auto const& name : names) CHECK(mode_of(folder + '/' + name) == 0600);
    CHECK(end_in_child([&] {
            ::umask(mode_t(mask));
            auto const seen = go_on<numbers>(place.run());
            return same(seen.numbers, right<numbers>()) && seen.report.resumed_at == 9 ? end::right : end::wrong;
          }) == int(end::right));
  }
}

TEST_CASE("folders and files without the right to write are errors before any step, and stay as they are", "[disk]") {
  temporary const place;
  check(::chmod(place.path().c_str(), 0777));
  CHECK(end_in_child([&] {
          (void)stop_at<numbers>(place.run(), 24);
          return end::right;
        }) == int(end::right));
  std::string const folder = only_run_in(place.run());
  auto const before = files_of(place.run());
  auto const at_mode = [&](std::string const& path, mode_t mode) {
    check(::chmod(path.c_str(), mode));
    return end_in_child([&] {
      if (end_of(place.path() + "/not/there") != end::file) return end::other;  // makes what it compares with
      calls = 0;
      auto const seen = end_of(place.run());
      return seen == end::file && calls > 1 ? end::wrong : seen;  // the first step says which run it is
    });
  };
  CHECK(at_mode(folder, 0000) == int(end::file));
  CHECK(files_of(place.run()) == before);
  check(::chmod(folder.c_str(), 0700));
  CHECK(at_mode(place.run(), 0000) == int(end::file));
  check(::chmod(place.run().c_str(), 0700));
  for (auto const* const name : {"s0002", "lock", "record1"}) {
    CHECK(at_mode(folder + '/' + name, 0400) == int(name[0] == 'r' ? end::right : end::file));
    check(::chmod((folder + '/' + name).c_str(), 0600));
    put_back(folder, before);
    if (::geteuid() == 0)
      for (auto const& [one, content] : before) check(::chown((folder + '/' + one).c_str(), 65'534, 65'534));
  }
  // Its files are there, so that a folder that takes no new names takes the run, but for what is removed at its end.
  CHECK(at_mode(folder, 0500) == int(end::right));
  temporary const other;
  check(::chmod(other.path().c_str(), 0555));
  CHECK(end_in_child([&] { return end_of(other.run()); }) == int(end::file));
}

TEST_CASE("a folder of another user is not used", "[disk]") {
  if (::geteuid() != 0) CAIRN_SKIP("only root can make a folder of another user");
  temporary const place;
  check(::mkdir(place.run().c_str(), 0777));
  check(::chown(place.run().c_str(), 65'534, 65'534));
  CHECK(end_of(place.run()) == end::file);
  CHECK(temporary::names_in(place.run()).empty());
}
