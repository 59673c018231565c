// SPDX-License-Identifier: Apache-2.0
// What is said of runs that were finished, killed, damaged, or are going on, and what of them is removed.
#include "support/catch.hpp"
#include "support/ended_run.hpp"
#include "support/killed.hpp"
#include "support/temporary.hpp"
#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/run/with/adaptive.hpp>

namespace {

using cairn::disk_use;
using cairn::removal_reason;
using ended_run::place;
using support::content_of;
using support::put;
namespace fs = std::filesystem;
using names = std::vector<std::string>;
using pieces = std::set<std::pair<std::string, removal_reason>>;

constexpr std::uint64_t file_bytes = 8136, record_bytes = 8144;  // of a state and of a record of theirs
constexpr std::int64_t day = 86'400;

struct folder {
  support::temporary place{};
  std::string const path = place.run();

  /// The name of a run that ends so; it is killed where something is to happen.
  std::string made(double start, ended_run::place where) const {
    auto const in_it = [&] {
      names const all = support::temporary::names_in(path);
      return std::set<std::string>(all.begin(), all.end());
    };
    auto const before = in_it();
    int const status = killed::run([&] { return ended_run::run(path, start, where).report.used == disk_use::nothing; }, -1);
    REQUIRE(status == (where == place::nowhere ? 0 : -1));
    for (auto const& name : in_it())
      if (!before.contains(name)) return name;
    return {};
  }
  [[nodiscard]] std::map<std::string, cairn::stored_run> runs(bool contents = true) const {
    std::map<std::string, cairn::stored_run> all;
    for (auto const& one : cairn::stored_runs(path, contents)) all[one.id] = one;
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (auto const& one : fs::recursive_directory_iterator{path})
      if (!one.is_directory() || one.is_symlink()) all[one.path()] = one.is_symlink() ? "" : content_of(one.path());
    return all;
  }
  /// What is removed; the same is said before and when it is done, and these are the bytes that are gone.
  pieces goes(cairn::removal_rule rule = {}) const {
    auto const before = contents();
    auto const said = cairn::remove_runs(path, rule);
    CHECK(contents() == before);
    rule.really = true;
    auto const done = cairn::remove_runs(path, rule);
    auto const after = contents();
    std::uint64_t gone = 0, files = 0, counted = 0, files_counted = 0;
    for (auto const& [name, content] : before) {
      bool const counts = !name.ends_with("/lock") && !name.ends_with("/name");
      if (counts && !after.contains(name)) gone += content.size(), ++files;
    }
    pieces all;
    REQUIRE(said.size() == done.size());
    for (std::size_t k = 0; k < done.size(); ++k) {
      CHECK((said[k].id == done[k].id && said[k].why == done[k].why));
      CHECK((said[k].files == done[k].files && said[k].bytes == done[k].bytes));
      counted += done[k].bytes, files_counted += std::uint64_t(done[k].files);
      all.emplace(done[k].id, done[k].why);
    }
    CHECK((counted == gone && files_counted == files));
    return all;
  }
  [[nodiscard]] std::string file(std::string const& run, std::string const& name) const {
    return path + '/' + run + '/' + name;
  }
  void change(std::string const& run, std::string const& name, std::size_t at) const {
    auto content = content_of(file(run, name));
    content.at(at) = char(content.at(at) ^ 1);
    put(file(run, name), content);
  }
  void age(std::string const& run, std::int64_t seconds) const {
    for (auto const& name : support::temporary::names_in(path + '/' + run)) {
      timespec const then{std::time(nullptr) - seconds, 0}, both[2] = {then, then};
      REQUIRE(::utimensat(AT_FDCWD, file(run, name).c_str(), both, 0) == 0);
    }
  }
};

}  // namespace

TEST_CASE("runs are told as they are, and without a rule only room that was not written goes", "[disk]") {
  folder const in;
  auto const forward = in.made(0.4, place::forward);
  auto const back = in.made(0.5, place::back);
  auto const finished = in.made(0.3, place::nowhere);
  auto seen = in.runs();
  REQUIRE(seen.size() == 3);
  auto const& end = seen[finished];
  CHECK((end.steps == 30 && end.left == 0 && end.checkpoints == 0 && end.record_bytes == 2 * record_bytes));
  CHECK((!end.held && end.damaged.empty() && end.written > std::time(nullptr) - day));
  auto const& half = seen[back];
  CHECK((half.left == 21 && half.checkpoints == 5 && half.checkpoint_bytes == 5 * file_bytes));
  CHECK(half.record_bytes == 2 * record_bytes);
  auto const& begun = seen[forward];
  CHECK((begun.left == -1 && begun.checkpoints == 4 && begun.unwritten_bytes == file_bytes));
  CHECK(in.goes() == pieces{{forward, removal_reason::left_over}});
  CHECK(in.goes() == pieces{});

  // Killed runs go on after that.
  auto const rest = ended_run::run(in.path, 0.5);
  CHECK(rest.bar == ended_run::run(in.place.path() + "/other.d", 0.5).bar);
  CHECK((rest.report.used == disk_use::record && rest.report.resumed_at == 21));
  CHECK(ended_run::run(in.path, 0.4).report.used == disk_use::states);
  CHECK(ended_run::run(in.path, 0.3).report.resumed_at == 0);
}

TEST_CASE("states beside the record of a finished run go, but not if the record is damaged", "[disk]") {
  folder const in;
  auto const run = in.made(0.6, place::back);
  auto const killed = in.contents();
  (void)ended_run::run(in.path, 0.6);
  for (auto const& [name, content] : killed)
    if (!name.ends_with("/lock") && name.find("/record") == name.npos) put(name, content);
  auto const records = {in.file(run, "record0"), in.file(run, "record1")};
  auto const whole = in.contents();
  for (auto const* const record : {"record0", "record1"}) in.change(run, record, file_bytes - 1);
  auto const torn = in.runs()[run];
  CHECK((torn.damaged == names{"record0", "record1"} && torn.left == -1 && torn.checkpoints == 5));
  CHECK(in.runs(false)[run].damaged.empty());  // its heads are whole
  CHECK(in.goes() == pieces{{run, removal_reason::left_over}});
  CHECK(in.runs()[run].checkpoints == 5);
  for (auto const& record : records) {
    CHECK(!fs::exists(record));
    put(record, whole.at(record));
  }
  CHECK(in.goes() == pieces{{run, removal_reason::left_over}});
  auto const left = in.runs()[run];
  CHECK((left.checkpoints == 0 && left.left == 0));
}

TEST_CASE("damaged files go, those of another version stay, and a run of which nothing can be used goes", "[disk]") {
  folder const in;
  auto const run = in.made(0.7, place::back), another = in.made(0.9, place::back);
  in.change(run, "s0002", 60);
  in.change(run, "s0003", 8);  // the version
  in.change(run, "record0", 0);
  put(in.file(run, "s0004"), content_of(in.file(run, "s0005")));
  put(in.file(run, "s0005"), content_of(in.file(another, "s0005")));
  put(in.file(run, "s0001"), "short");
  auto const seen = in.runs()[run];
  CHECK(seen.damaged == names{"record0", "s0001", "s0002", "s0004", "s0005"});
  CHECK(seen.unknown == names{"s0003"});
  CHECK(in.goes() == pieces{{run, removal_reason::left_over}});
  names left = support::temporary::names_in(in.path + '/' + run);
  std::sort(left.begin(), left.end());
  CHECK(left == names{"lock", "name", "record1", "s0003", "s0006"});
  for (auto const* const name : {"record1", "s0006"}) put(in.file(run, name), "");
  CHECK(in.goes() == pieces{{run, removal_reason::left_over}});
  put(in.file(run, "s0003"), "");
  CHECK(in.goes() == pieces{{run, removal_reason::unusable}});
  CHECK(!fs::exists(in.path + '/' + run));
}

TEST_CASE("what a process works on stays, and it does not notice", "[disk]") {
  folder const in;
  auto const where = GENERATE(place::forward, place::back);
  auto const right = ended_run::run(in.place.path() + "/other.d", 0.8).bar;
  auto const found = ended_run::run(in.path, 0.8, where, [&] {
    auto const all = cairn::stored_runs(in.path, true);
    REQUIRE(all.size() == 1);
    CHECK((all[0].held && all[0].owner.ends_with(' ' + std::to_string(::getpid()))));
    CHECK((all[0].unwritten_bytes > 0) == (where == place::forward));  // which would go otherwise
    CHECK(in.goes() == pieces{});
    CHECK(in.goes({.older_than = 0}) == pieces{});
  });
  CHECK((found.bar == right && found.report.used == disk_use::nothing));
  auto const all = cairn::stored_runs(in.path, true);
  REQUIRE(all.size() == 1);
  CHECK((all[0].left == 0 && !all[0].held));
}

TEST_CASE("whole runs go by their age and number, links are not followed, and what is not cairn's stays", "[disk]") {
  folder const in;
  auto const killed = in.made(0.5, place::back);
  names run;  // each a day older than the one before
  for (double const start : {0.1, 0.2, 0.3, 0.4}) run.push_back(in.made(start, place::nowhere));
  for (std::size_t k = 0; k < run.size(); ++k) in.age(run[k], std::int64_t(k + 1) * day);
  in.age(killed, 10 * day);
  CHECK(in.goes({.keep = 4}) == pieces{});
  CHECK(in.goes({.keep = 3, .older_than = 5 * day}) == pieces{});
  CHECK(in.goes({.keep = 3}) == pieces{{run[3], removal_reason::finished}});

  put(in.file(killed, "mine.txt"), "mine");
  REQUIRE(::mkdir((in.path + "/notes").c_str(), 0700) == 0);
  put(in.path + "/notes/record0", "mine");
  auto const elsewhere = in.place.path() + "/elsewhere";
  (void)ended_run::run(elsewhere, 0.6);
  auto const run_elsewhere = support::temporary::names_in(elsewhere).at(0);
  fs::create_symlink("../elsewhere/" + run_elsewhere, in.path + '/' + std::string(32, 'a'));
  fs::create_symlink("../elsewhere", in.path + '/' + std::string(32, 'b'));
  fs::create_symlink(in.file(killed, "mine.txt"), in.file(run[1], "s0001"));
  CHECK(in.goes({.older_than = 3 * day}) ==
        pieces{{run[2], removal_reason::finished}, {killed, removal_reason::unfinished}});
  auto seen = in.runs();
  CHECK(seen.size() == 3);
  CHECK((seen.contains(run[0]) && seen[killed].others == 1 && seen[run[1]].unknown == names{"s0001"}));
  names stay = support::temporary::names_in(in.path + '/' + killed);
  std::sort(stay.begin(), stay.end());
  CHECK(stay == names{"lock", "mine.txt"});  // and the lock of its folder
  CHECK(in.goes({.older_than = 0}) ==
        pieces{{run[0], removal_reason::finished}, {run[1], removal_reason::finished}});
  CHECK(in.runs().size() == 1);
  CHECK(content_of(in.file(killed, "mine.txt")) == "mine");
  CHECK(content_of(in.path + "/notes/record0") == "mine");
  CHECK(support::temporary::names_in(elsewhere + '/' + run_elsewhere).size() == 4);

  using Catch::Matchers::ContainsSubstring;
  auto const listed = [](std::string const& path) { return cairn::stored_runs(path).size(); };
  CHECK_THROWS_WITH(listed(in.place.path() + "/none.d"), ContainsSubstring("there is no such folder of runs"));
  CHECK_THROWS_WITH(listed(in.path + "/notes/record0"), ContainsSubstring("this is not a folder of runs"));
}
TEST_CASE("a kept run of unknown length whose steps choose has a final state and choices, of which nothing goes") {
  folder const in;
  using ended_run::field;
  struct choice {
    double h = 0;
  };
  auto const first = [](field& x, cairn::step_index) {
    x[0] += 0.01;
    return choice{0.01};
  };
  auto const again = [](field& x, choice const& made) { x[0] += made.h; };
  auto const goes_on = [](field const&, cairn::step_index i) { return i < 30; };
  auto const back = [](field const&, field&, cairn::step_index i, choice const&) {
    if (i == 20) ended_run::die();
  };
  auto const killed_late = [&] {
    cairn::adaptive loop{first, again};
    cairn::disk const on{in.path, {.commit_every = 2}};
    field const x0(100, 0.3);
    auto run = cairn::checkpointed_while(loop.step(), x0, goes_on, cairn::online{5}, on);
    return run.reverse(field(100, 1.0), loop.with_record(back))[0] != 0;
  };
  REQUIRE(killed::run(killed_late, -1) == -1);
  auto const all = in.runs();
  REQUIRE(all.size() == 1);
  auto const& seen = all.begin()->second;
  CHECK(seen.steps == -1);
  CHECK((seen.left > 20 && seen.left < 25));
  CHECK(seen.checkpoints > 1);
  CHECK((seen.damaged.empty() && seen.unknown.empty() && seen.others == 0));
  CHECK(in.goes().empty());
}
