// SPDX-License-Identifier: Apache-2.0
// Settings from the environment: every name, every value, and what is refused.
#include <cairn/trace/environment.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

environment read(std::vector<std::string> const& lines) { return from_environment(lines); }
std::string refused(std::vector<std::string> const& lines) {
  try {
    (void)from_environment(lines);
  } catch (environment_error const& problem) { return problem.what(); }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("nothing is asked for by an environment without names of cairn's") {
  auto const found = read({"HOME=/root", "PATH=/bin", "cairn_slots=7", "CAIRNS=7", "=", ""});
  CHECK(found.enabled);
  CHECK_FALSE(found.budget);
  CHECK_FALSE(found.slots);
  CHECK_FALSE(found.schedule);
  CHECK_FALSE(found.verify);
  CHECK_FALSE(found.progress);
  CHECK_FALSE(found.log);
  CHECK_FALSE(found.trace);
  CHECK_FALSE(found.trace_filter);
  CHECK_FALSE(found.trace_metadata);
  CHECK_FALSE(found.trace_compression);
  CHECK_FALSE(found.profile);
  CHECK(found.given.empty());
}

TEST_CASE("every variable is read into its member") {
  auto const found = read({"CAIRN_LOG=a=b.log", "CAIRN_BUDGET=1.5GiB", "CAIRN_SLOTS=12", "CAIRN_SCHEDULE=two_level",
                           "CAIRN_VERIFY=every_step", "CAIRN_PROGRESS=on", "CAIRN_ENABLE=1", "CAIRN_TRACE=run.pfw",
                           "CAIRN_TRACE_FILTER=reverse,bytes", "CAIRN_TRACE_METADATA=0", "CAIRN_PROFILE=profiles",
                           "CAIRN_TRACE_COMPRESSION=1"});
  CHECK(*found.budget == byte_size{"1.5GiB"});
  CHECK(*found.slots == 12);
  CHECK(*found.schedule == "two_level");
  CHECK(*found.verify == replay_check::every_step);
  CHECK(*found.progress);
  CHECK(*found.log == "a=b.log");
  CHECK(*found.trace == "run.pfw");
  CHECK(*found.trace_filter == "reverse,bytes");
  CHECK_FALSE(*found.trace_metadata);
  CHECK(*found.trace_compression);
  CHECK(*found.profile == "profiles");
  // In the order of the list, and every name of the list was set here: a new one needs a line in this test.
  REQUIRE(found.given.size() == environment_names().size());
  for (std::size_t k = 0; k < found.given.size(); ++k) CHECK(found.given[k].name == environment_names()[k].name);
  CHECK(found.given[1] == environment::variable{"CAIRN_BUDGET", "1.5GiB"});
  CHECK(*read({"CAIRN_VERIFY=off"}).verify == replay_check::off);
  CHECK(*read({"CAIRN_VERIFY=checkpoints"}).verify == replay_check::checkpoints);
  for (auto const name : schedule_names())
    CHECK(*read({"CAIRN_SCHEDULE=" + std::string{name}}).schedule == name);
}

TEST_CASE("the master switch leaves nothing in effect, but what is wrong is said all the same") {
  for (std::string const off : {"0", "off", "false"}) {
    auto const found = read({"CAIRN_BUDGET=1GB", "CAIRN_PROGRESS=1", "CAIRN_ENABLE=" + off});
    CHECK_FALSE(found.enabled);
    CHECK_FALSE(found.budget);
    CHECK_FALSE(found.progress);
    CHECK(found.given.size() == 3);
    CHECK(found.not_obeyed({}).empty());
  }
  CHECK_THAT(refused({"CAIRN_ENABLE=0", "CAIRN_SLOTS=many"}), ContainsSubstring("CAIRN_SLOTS=many"));
}

TEST_CASE("an unknown name is refused with all that are known") {
  auto const said = refused({"CAIRN_BUGDET=1GB"});
  CHECK_THAT(said, ContainsSubstring("CAIRN_BUGDET"));
  for (auto const& known : environment_names())
    CHECK_THAT(said, ContainsSubstring(std::string{known.name.substr(std::string_view{"CAIRN"}.size())}));
  CHECK_THAT(refused({"CAIRN_" + std::string(500, 'X') + "=1"}), ContainsSubstring("_PROFILE"));
  CHECK_THAT(refused({"CAIRN_=1"}), ContainsSubstring("unset CAIRN_,"));
  CHECK_THAT(refused({"CAIRN_SLOTS_2"}), ContainsSubstring("CAIRN_SLOTS_2"));
}

TEST_CASE("variables of the checkout's own scripts and options of its build are passed over") {
  CHECK(read({"CAIRN_APT_WAIT=300", "CAIRN_FUZZ_PROGRAMS=7", "CAIRN_FUZZ_PROGRAM=1", "CAIRN_NOT_SUSPENDED=1",
              "CAIRN_BUILD_TOOLS=ON", "CAIRN_WITH_TORCH=OFF", "CAIRN_PERFETTO_SHOT=a.png",
              "CAIRN_PERFETTO_PYTHON=python3", "CAIRN_MPI_KILLS=1"})
            .given.empty());
}

TEST_CASE("a value that a name does not take is refused with those that it takes") {
  CHECK_THAT(refused({"CAIRN_SCHEDULE=revolver"}), ContainsSubstring("CAIRN_SCHEDULE=revolver") &&
                                                       ContainsSubstring("revolve, uniform, store_all") &&
                                                       ContainsSubstring("runge_kutta"));
  CHECK_THAT(refused({"CAIRN_VERIFY=yes"}), ContainsSubstring("off, checkpoints or every_step"));
  for (std::string const wrong : {"CAIRN_ENABLE=", "CAIRN_ENABLE=2", "CAIRN_PROGRESS=TRUE", "CAIRN_PROGRESS= 1",
                                  "CAIRN_BUDGET=4G", "CAIRN_BUDGET=-1", "CAIRN_BUDGET=", "CAIRN_SLOTS=0",
                                  "CAIRN_SLOTS=-3", "CAIRN_SLOTS=7x", "CAIRN_SLOTS=99999999999999999999", "CAIRN_LOG=",
                                  "CAIRN_SCHEDULE=", "CAIRN_VERIFY=", "CAIRN_SLOTS", "CAIRN_TRACE=",
                                  "CAIRN_TRACE_FILTER=",
                                  "CAIRN_TRACE_FILTER=a,", "CAIRN_TRACE_FILTER=a,,b", "CAIRN_TRACE_METADATA=yes",
                                  "CAIRN_PROFILE=", "CAIRN_TRACE_COMPRESSION=gz"}) {
    CAPTURE(wrong);
    CHECK_THAT(refused({wrong}), ContainsSubstring("a value that it does not take"));
  }
  auto const said = refused({"CAIRN_BUDGET=" + std::string(1000, '9')});
  CHECK_THAT(said, ContainsSubstring("such as 512MiB"));
}

TEST_CASE("a program can say what it does not obey") {
  auto const found = read({"CAIRN_SLOTS=3", "CAIRN_BUDGET=1GB", "CAIRN_ENABLE=1"});
  std::string_view const obeyed[] = {"CAIRN_BUDGET"};
  CHECK(found.not_obeyed(obeyed) == std::vector<std::string>{"CAIRN_SLOTS"});
  CHECK(found.not_obeyed({}).size() == 2);
}

TEST_CASE("the environment of the process is the one that is read") {
  REQUIRE(setenv("CAIRN_SLOTS", "41", 1) == 0);
  CHECK(*from_environment().slots == 41);
  REQUIRE(setenv("CAIRN_SLOTS", "none", 1) == 0);
  CHECK_THROWS_AS(from_environment(), environment_error);
  REQUIRE(unsetenv("CAIRN_SLOTS") == 0);
  CHECK_FALSE(from_environment().slots);
}

TEST_CASE("the list of variables has names of its own, with an effect each") {
  std::set<std::string_view> names;
  for (auto const& one : environment_names()) {
    CHECK(one.name.starts_with("CAIRN_"));
    CHECK(names.insert(one.name).second);
    CHECK_FALSE(one.value.empty());
    CHECK_FALSE(one.fallback.empty());
    CHECK_FALSE(one.effect.empty());
  }
}
