// SPDX-License-Identifier: Apache-2.0
// What stands where a run wants its folders and files: nothing outside of them is touched.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include <cstdlib>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

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
    {"a second name", [](auto const& path, auto const& victim) { check(::link(victim.c_str(), path.c_str())); }},
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
      // A record is replaced, where that takes no more than its name, and is not written otherwise.
      CHECK(seen == (name[0] == 'r' ? end::right : end::file));
    }
}

TEST_CASE("the content of a second name of a checkpoint is not used, even if it is right", "[disk]") {
  scene const now;
  check(::link((now.folder + "/record1").c_str(), (now.place.path() + "/second").c_str()));
  auto const seen = go_on<numbers>(now.place.run());
  CHECK(same(seen.numbers, right<numbers>()));
  CHECK(seen.report.resumed_at == 11);
  CHECK(content_of(now.place.path() + "/second") == now.all.at("record1"));
}

TEST_CASE("links in the place of the folders are not followed", "[disk]") {
  temporary const place;
  std::string const elsewhere = place.path() + "/elsewhere";
  check(::mkdir(elsewhere.c_str(), 0755));
  check(::symlink(elsewhere.c_str(), place.run().c_str()));
  CHECK(end_of(place.run()) == end::file);
  CHECK(end_of(place.run() + "/") == end::file);
  CHECK(end_of(place.run() + "//") == end::file);
  CHECK(temporary::names_in(elsewhere).empty());
  CHECK(mode_of(elsewhere) == 0755);
  check(::unlink(place.run().c_str()));

  CHECK(end_of(place.run() + "/") == end::right);  // a folder may be named with a slash
  std::string const folder = only_run_in(place.run());
  temporary::remove_all(folder);
  check(::symlink(elsewhere.c_str(), folder.c_str()));
  CHECK(end_of(place.run()) == end::file);
  CHECK(temporary::names_in(elsewhere).empty());
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
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("not/there"));
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
