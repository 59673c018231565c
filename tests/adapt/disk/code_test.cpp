// SPDX-License-Identifier: Apache-2.0
// Which builds of the program and of shared libraries a run belongs to. This program starts copies of itself, some of
// them with another build id, as if it was built anew.
#include <cmath>
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

/// What a copy of this program does in the place of tests: one run, whose use of another process it prints.
struct as_child {
  as_child() {
    char const* const folder = std::getenv("CAIRN_CODE_TEST_FOLDER");
    if (folder == nullptr) return;
    char const* const code = std::getenv("CAIRN_CODE_TEST_CODE");
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
said run(std::string const& program, std::string const& folder, std::string const& more = "") {
  std::string const command = "CAIRN_CODE_TEST_FOLDER='" + folder + "' " + more + " '" + program + "'";
  std::FILE* const out = ::popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  char line[600] = {};
  said answer;
  if (std::fgets(line, sizeof line, out) != nullptr) {
    char const* const why = std::strchr(line, '|');
    REQUIRE(std::sscanf(line, "%d %la", &answer.used, &answer.bar) == 2);
    answer.why = std::string{why + 1, std::strlen(why + 1) - 1};
  }
  CHECK(::pclose(out) == 0);
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
  std::string const named = "CAIRN_CODE_TEST_CODE='2.1'";
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
