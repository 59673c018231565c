// SPDX-License-Identifier: Apache-2.0
// What stands where a run wants its folders and files: nothing outside of them is touched.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/chains.hpp>
#include <cairn/run/with/adaptive.hpp>

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
      // A record is replaced, where that takes no more than its name, and is not written otherwise.
      CHECK(seen == (name[0] == 'r' ? end::right : end::file));
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
    CHECK(names.size() == 7);
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

namespace {

/// A folder of runs, and one for their states.
struct two_places {
  temporary place{};
  std::string const scratch = place.path() + "/scratch.d";
  [[nodiscard]] cairn::disk_options options() const { return {.commit_every = 2, .scratch = scratch}; }
  [[nodiscard]] cairn::disk on() const { return cairn::disk{place.run(), options()}; }
  [[nodiscard]] std::vector<std::string> files_in(std::string const& folder) const {
    std::vector<std::string> all;
    for (auto const& run : temporary::names_in(folder))
      for (auto const& name : temporary::names_in(folder + '/' + run))
        if (name != "lock") all.push_back(name);
    return all;
  }
};
bool is_state(std::string const& name) { return name[0] == 's'; }

using sums = std::vector<double>;
sums in_a_loop(auto const& plan, auto const&... on) { return numbers::gradient(numbers::first(), plan, on...); }
sums over_an_object(auto const& plan, auto const&... on) { return object::gradient(object::first(), plan, on...); }
sums with_choices(auto const& plan, auto const&... on) { return {by_choices(plan, on...)}; }
struct moves {
  void operator()(field& x, step_index i) const {
    call();
    x[0] = moved(x[0], 0.01 * double(i));
  }
};
struct moves_back {
  void operator()(field const& x, field& bar, step_index i) const {
    call();
    bar[0] *= slope(x[0], 0.01 * double(i));
  }
};
sums of_a_kept_run(auto const& plan, auto const&... on) {
  auto run = cairn::checkpointed_loop(moves{}, field{0.3}, plan, on...);
  sums all = run.reverse(field{1}, moves_back{});
  all.push_back(run.reverse(field{2}, moves_back{})[0]);
  return all;
}
struct layer {
  double w;
  double forward(double x) const {
    call();
    return std::sin(w * x);
  }
  double backward(double x, double bar) const {
    call();
    return bar * w * std::cos(w * x);
  }
};
sums in_a_chain(auto const&... on) {
  constexpr std::size_t count = 7;
  std::vector<layer> net;
  for (std::size_t k = 0; k < count; ++k) net.push_back({0.9 + 0.1 * double(k)});
  cairn::chain const sizes{.x = std::vector<std::int64_t>(count + 1, 8),
                           .s = std::vector<std::int64_t>(count, 8),
                           .u = std::vector<std::int64_t>(count, 1)};
  cairn::chain_planner planner{sizes, {.by = cairn::chain_method::tiers, .tiers = {{.where = cairn::tier::disk}}}};
  auto const plan = planner.plan(planner.least_bytes());
  if constexpr (sizeof...(on) > 0) return {cairn::chain_gradient(net, 0.4, plan, 1.0, on...)};
  else {
    double x = 0.4, bar = 1;
    std::vector<double> states;
    for (auto const& one : net) states.push_back(std::exchange(x, one.forward(x)));
    for (std::size_t k = count; k-- > 0;) bar = net[k].backward(states[k], bar);
    return {bar};
  }
}
struct verb {
  char const* name;
  sums (*right)();
  sums (*on)(cairn::disk const&);
};
verb const verbs[] = {
    {"a loop", [] { return in_a_loop(cairn::store_all(steps)); }, [](auto const& on) { return in_a_loop(plan(), on); }},
    {"an object", [] { return over_an_object(cairn::store_all(steps)); },
     [](auto const& on) { return over_an_object(plan(), on); }},
    {"choices", [] { return with_choices(cairn::store_all(steps)); },
     [](auto const& on) { return with_choices(plan(), on); }},
    {"a kept run", [] { return of_a_kept_run(cairn::store_all(steps)); },
     [](auto const& on) { return of_a_kept_run(plan(), on); }},
    {"a chain", [] { return in_a_chain(); }, [](auto const& on) { return in_a_chain(on); }},
};

}  // namespace

TEST_CASE("states stand in a scratch folder, and with it or without it the bits are those of a run without a stop",
          "[disk][long]") {
  for (auto const& one : verbs) {
    sums const right = one.right();
    long states = 0, records = 0, used = 0, used_without = 0;
    for (bool const is_lost : {false, true})
      for (long at = 1, ended = 0; ended == 0; ++at) {
        two_places const now;
        calls = 0, last_call = at;
        try {
          (void)one.on(now.on());
          ended = 1;
        } catch (stopped const&) {
        }
        last_call = -1;
        CAPTURE(one.name, is_lost, at);
        for (auto const& name : now.files_in(now.place.run())) {
          if (is_state(name)) FAIL("a state stands in the run's folder");
          records += name.starts_with("record");
        }
        for (auto const& name : now.files_in(now.scratch)) {
          if (!is_state(name)) FAIL(name + " stands in the scratch folder");
          ++states;
        }
        if (is_lost) temporary::remove_all(now.scratch);
        auto const on = now.on();
        bool const well = one.on(on) == right;
        if (!well) CHECK(well);
        (is_lost ? used_without : used) += on.report().used != cairn::disk_use::nothing;
        if (!temporary::names_in(now.scratch).empty()) FAIL("the scratch folder is not empty at the end");
      }
    CAPTURE(one.name);
    CHECK((states > 20 && records > 10));
    CHECK((used > used_without && used_without > 5));
  }
}

TEST_CASE("where states are lost the record goes on in the middle of the way back", "[disk]") {
  two_places const now;
  calls = 0, last_call = 24;
  CHECK_THROWS_AS(in_a_loop(plan(), now.on()), stopped);
  last_call = -1;
  CHECK(now.files_in(now.scratch).size() == 3);
  temporary::remove_all(now.scratch);
  auto const seen = go_on<numbers>(now.place.run(), now.options());
  CHECK(same(seen.numbers, right<numbers>()));
  CHECK(seen.report.resumed_at == 9);
}

TEST_CASE("all removal covers both folders, and a look at that of states takes them for what they are", "[disk]") {
  two_places const now;
  auto const run_of = [&](double start) { return numbers::state{start, -0.7}; };
  auto const stop = [&](double start, long at) {
    calls = 0, last_call = at;
    CHECK_THROWS_AS(numbers::gradient(run_of(start), plan(), now.on()), stopped);
    last_call = -1;
  };
  stop(0.1, 12);  // before its first record
  auto const seen = cairn::stored_runs(now.scratch);
  REQUIRE(seen.size() == 1);
  CHECK((seen[0].checkpoints == 3 && seen[0].left == -1 && !seen[0].held));
  CHECK(cairn::remove_runs(now.scratch, {.really = true}).empty());
  CHECK(cairn::remove_runs(now.scratch, {.keep = 0, .really = true}).empty());
  CHECK(cairn::remove_runs(now.place.run(), {.really = true}).size() == 1);  // a lock and nothing else
  CHECK(go_on<numbers>(now.place.run(), now.options(), run_of(0.1)).report.used == cairn::disk_use::states);

  stop(0.2, 24);
  auto never = now.options();
  never.resume = cairn::resume_rule::never;
  CHECK(go_on<numbers>(now.place.run(), never, run_of(0.2)).report.used == cairn::disk_use::nothing);
  CHECK(temporary::names_in(now.scratch).empty());

  stop(0.3, 24);
  std::string const id = temporary::names_in(now.scratch).at(0), folder = now.scratch + '/' + id;
  auto const left = all_of(folder);
  (void)go_on<numbers>(now.place.run(), now.options(), run_of(0.3));
  check(::mkdir(folder.c_str(), 0700));  // as if another machine had finished it
  for (auto const& [name, content] : left) put(folder + '/' + name, content);
  auto one = now.options();
  one.keep = 1;
  CHECK(result_of(in_process([&] {  // which has not come to the first run
          (void)go_on<numbers>(now.place.run(), one, run_of(0.4));
          return 0;
        })) == 0);
  CHECK(temporary::names_in(now.place.run()).size() == 1);
  CHECK(temporary::names_in(now.scratch).empty());

  stop(0.5, 24);
  CHECK(cairn::remove_runs(now.scratch, {.older_than = 0, .really = true}).size() == 1);
  CHECK(go_on<numbers>(now.place.run(), now.options(), run_of(0.5)).report.used == cairn::disk_use::record);
}

TEST_CASE("choices without states are of use, and no removal takes them for useless", "[disk]") {
  two_places const now;
  calls = 0, last_call = 12;
  CHECK_THROWS_AS(with_choices(plan(), now.on()), stopped);
  last_call = -1;
  CHECK(now.files_in(now.place.run()) == std::vector<std::string>{"choices", "name"});
  CHECK(cairn::remove_runs(now.place.run(), {.really = true}).empty());
  auto const on = now.on();
  CHECK(with_choices(plan(), on) == with_choices(cairn::store_all(steps)));
  CHECK(on.report().used == cairn::disk_use::states);
}

TEST_CASE("two runs of one name do not share their states' folder, and a run's own folder is no other", "[disk]") {
  two_places const now;
  std::string const other = now.place.path() + "/other.d";
  bool looked = false;
  auto const watch = [&](cairn::event const&) {
    if (std::exchange(looked, true)) return;
    CHECK(end_of(other, now.options()) == end::busy);
    CHECK(cairn::stored_runs(now.scratch).at(0).held);
    CHECK(cairn::remove_runs(now.scratch, {.older_than = -100, .really = true}).empty());
  };
  CHECK(same(numbers::gradient(numbers::first(), plan(), now.on(), watch), right<numbers>()));
  CHECK(looked);
  CHECK(end_of(other, now.options()) == end::right);
  CHECK(end_of(now.place.path() + "/third.d", {.scratch = now.place.path() + "/third.d/"}) == end::right);
  CHECK(end_of(now.place.path() + "/fourth.d", {.scratch = now.place.path() + "/not/there"}) == end::file);
}

TEST_CASE("a folder is probed where states would stand", "[disk]") {
  two_places const now;
  check(::mkdir(now.place.run().c_str(), 0700));
  CHECK(cairn::probe(now.on(), numbers::first()).write_seconds > 0);
  CHECK(temporary::names_in(now.place.run()).empty());
  CHECK(mode_of(now.scratch) == 0700);
}
