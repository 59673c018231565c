// SPDX-License-Identifier: Apache-2.0
// Which builds of the program and of shared libraries a run belongs to. This program starts copies of itself, some of
// them with another build id, as if it was built anew.
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <string>
#include <unistd.h>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace {

using support::temporary;

/// A loop whose bits depend on which sine and exponential the processor gets, killed at a call.
[[noreturn]] void of_processor(char const* folder, int plan, long kill_at) {
  using numbers = std::vector<double>;
  static long calls = 0, last = 0;
  last = kill_at;
  auto const tick = [] {
    if (++calls == last) std::raise(SIGKILL);
  };
  auto const step = [tick](numbers& x, cairn::step_index) {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(2.9 * x[k] + 0.1 * double(k)) + 0.1 * std::exp(-x[k]);
  };
  auto const adjoint = [tick](numbers const& x, numbers& bar) {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k)
      bar[k] *= 2.9 * std::cos(2.9 * x[k] + 0.1 * double(k)) - 0.1 * std::exp(-x[k]);
  };
  cairn::disk const run{folder, {.commit_every = 7}};
  numbers const x0(32, 0.3), one(32, 1.0);
  auto const by = [&](auto const& schedule) { return cairn::gradient(step, x0, schedule, one, adjoint, run); };
  numbers const bar = plan == 0 ? by(cairn::multistage{200, 3, 8}) : by(cairn::two_level{200, 25, 3});
  double sum = 0;
  for (double const one_bar : bar) sum += std::log(std::abs(one_bar));
  std::printf("%d %a|%s\n", int(run.report().used), sum, run.report().why);
  std::fflush(stdout);
  ::_exit(0);
}
/// What a copy of this program does in the place of tests: one run, whose use of another process it prints.
struct as_child {
  as_child() {
    char const* const folder = std::getenv("CODE_TEST_FOLDER");
    if (folder == nullptr) return;
    if (char const* const kill = std::getenv("CODE_TEST_KILL"))
      of_processor(folder, std::atoi(std::getenv("CODE_TEST_PLAN")), std::atol(kill));
    char const* const code = std::getenv("CODE_TEST_CODE");
    cairn::disk const run{folder, {.code = code != nullptr ? code : "", .commit_every = 1}};
    auto const back = [](double x, double& bar) { bar /= 3 * std::cbrt(x) * std::cbrt(x); };
    double (*const in_library)(double) = &::cbrt;  // of libm
    double const bar = cairn::gradient(in_library, 0.3, cairn::multistage{20, 2, 4}, 1.0, back, run);
    std::printf("%d %a|%s\n", int(run.report().used), bar, run.report().why);
    std::fflush(stdout);
    ::_exit(0);
  }
};
as_child const runs_first;

struct said {
  int used = -1;
  double bar = 0;
  std::string why;
};
said run(std::string const& program, std::string const& folder, std::string const& more = "", bool is_killed = false) {
  std::string const command = "CODE_TEST_FOLDER='" + folder + "' " + more + " '" + program + "' 2>/dev/null";
  std::FILE* const out = ::popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  char line[600] = {};
  said answer;
  if (std::fgets(line, sizeof line, out) != nullptr) {
    char const* const why = std::strchr(line, '|');
    REQUIRE(std::sscanf(line, "%d %la", &answer.used, &answer.bar) == 2);
    answer.why = std::string{why + 1, std::strlen(why + 1) - 1};
  }
  CHECK((::pclose(out) == 0) != is_killed);
  return answer;
}
std::string path_of_this() {
  char text[4'096] = {};
  REQUIRE(::readlink("/proc/self/exe", text, sizeof text - 1) > 0);
  return text;
}
/// The build id in the notes of a file, and where it is.
struct build_note {
  std::string content;
  std::size_t name = 0, id = 0;
  explicit build_note(std::string const& path) : content{support::content_of(path)} {
    char const head[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
    std::size_t const at = content.find(std::string{head, sizeof head});
    REQUIRE(at != std::string::npos);
    name = at + 12, id = at + 16;
  }
};
void put_program(std::string const& path, std::string const& content) {
  support::put(path, content);
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
}
std::string libm() {
  std::string found;
  auto const each = [](dl_phdr_info* one, std::size_t, void* into) {
    if (std::string const path = one->dlpi_name; path.find("/libm.so") != std::string::npos)
      *static_cast<std::string*>(into) = path;
    return 0;
  };
  (void)::dl_iterate_phdr(each, &found);
  return found;
}

}  // namespace

TEST_CASE("a function of a shared library is the same in the next process, and a copy of a program is that program",
          "[disk]") {
  temporary const here;
  said const first = run(path_of_this(), here.run());
  CHECK(first.used == 0);
  said const again = run(path_of_this(), here.run());
  CHECK((again.used == 2 && again.bar == first.bar && again.why.empty()));
  put_program(here.path() + "/copy", support::content_of(path_of_this()));
  CHECK(run(here.path() + "/copy", here.run()).used == 2);
}
TEST_CASE("a program that was built anew begins anew and says so, unless its code has a name", "[disk]") {
  temporary const here;
  build_note const built{path_of_this()};
  std::string other = built.content;
  other[built.id] ^= 1;
  std::string const rebuilt = here.path() + "/rebuilt";
  put_program(rebuilt, other);
  (void)run(path_of_this(), here.run());
  said const found = run(rebuilt, here.run());
  CHECK(found.used == 0);
  CHECK_THAT(found.why, Catch::Matchers::ContainsSubstring("another build"));
  std::string const named = "CODE_TEST_CODE='2.1'";
  CHECK(run(path_of_this(), here.run(), named).used == 0);
  CHECK(run(rebuilt, here.run(), named).used == 2);
}
TEST_CASE("without a build id a program is known by all of its bytes", "[disk]") {
  temporary const here;
  build_note const built{path_of_this()};
  std::string other = built.content;
  other[built.name] = 'X';
  std::string const without = here.path() + "/without", changed = here.path() + "/changed";
  put_program(without, other);
  other[built.id] ^= 1;
  put_program(changed, other);
  CHECK(run(without, here.run()).used == 0);
  CHECK(run(without, here.run()).used == 2);
  CHECK(run(changed, here.run()).used == 0);
}
TEST_CASE("another build of a shared library that the program needs is another run", "[disk]") {
  temporary const here;
  std::string const library = libm();
  REQUIRE_FALSE(library.empty());
  build_note const built{library};
  std::string other = built.content;
  other[built.id] ^= 1;
  std::string const elsewhere = here.path() + "/lib";
  REQUIRE(::mkdir(elsewhere.c_str(), 0700) == 0);
  put_program(elsewhere + "/libm.so.6", other);
  said const first = run(path_of_this(), here.run());
  said const found = run(path_of_this(), here.run(), "LD_LIBRARY_PATH='" + elsewhere + "'");
  CHECK((found.used == 0 && found.bar == first.bar));
  CHECK_THAT(found.why, Catch::Matchers::ContainsSubstring("another build"));
  CHECK(run(path_of_this(), here.run()).used == 2);
}
TEST_CASE("a library that is loaded beside the program, and not needed by it, changes nothing", "[disk]") {
  temporary const here;
  (void)run(path_of_this(), here.run());
  CHECK(run(path_of_this(), here.run(), "LD_PRELOAD=libdl.so.2").used == 2);
}
TEST_CASE("a run that goes on on another processor has the bits of one of the two, and not of both", "[disk][long]") {
  std::string const other = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F";  // another sine of libm
  long used = 0, anew = 0;
  for (int const plan : {0, 1}) {
    auto const how = [&](long kill) {
      return "CODE_TEST_PLAN=" + std::to_string(plan) + " CODE_TEST_KILL=" + std::to_string(kill);
    };
    temporary const alone, there;
    double const here_bits = run(path_of_this(), alone.run(), how(-1)).bar,
                 other_bits = run(path_of_this(), there.run(), how(-1) + ' ' + other).bar;
    for (long kill = 30; kill < 500; kill += 60) {
      CAPTURE(plan, kill);
      temporary const here;
      (void)run(path_of_this(), here.run(), how(kill), true);
      said const found = run(path_of_this(), here.run(), how(-1) + ' ' + other);
      CHECK((found.bar == here_bits || found.bar == other_bits));
      ++(found.used == 0 ? anew : used);
    }
  }
  CHECK(used + anew == 16);
}
