// SPDX-License-Identifier: Apache-2.0
// A program that is killed and started again with the same --disk DIR ends with the bits of one that was not, and says
// what it used of the first one.
//   go_on FINISHED WHAT PROGRAM [WORD...]    kills it once FINISHED sweeps have ended and another one has written WHAT:
//                                            state or record
#include "support/started.hpp"
#include "support/temporary.hpp"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using support::temporary;
using words = std::vector<std::string>;
constexpr double limit = 200;  // seconds

struct answer {
  std::string text, bits;
  [[nodiscard]] bool has(char const* part) const { return text.find(part) != text.npos; }
};
answer whole(words program, std::string const& folder) {
  program.insert(program.end(), {"--disk", folder});
  pid_t const process = support::started(program, "said.txt");
  int status = -1;
  if (!support::within(limit, [&] { return ::waitpid(process, &status, WNOHANG) == process; }))
    (void)::kill(process, SIGKILL);
  answer said{support::content_of("said.txt"), {}};
  auto const at = said.text.rfind("the bits of the "), end = said.text.find('\n', at);
  if (at != said.text.npos && end != said.text.npos) said.bits = said.text.substr(end - 16, 16);
  if (status != 0 || said.bits.find_first_not_of("0123456789abcdef") != said.bits.npos || said.bits.empty())
    throw std::runtime_error{"it ended with " + std::to_string(status) + ":\n" + said.text};
  return said;
}

/// The first letters of a run's files in which there is something: room for states begins with zeros.
std::string written_in(std::string const& run) {
  std::string letters;
  for (auto const& name : temporary::names_in(run))
    if (std::ifstream{run + '/' + name}.get() > 0) letters += name[0];
  return letters;
}

/// Whether so many sweeps have ended and another one has written a state, or a record.
bool is_there(long finished, char what) {
  long ended = 0;
  std::string going;
  for (auto const& name : temporary::names_in("killed.d")) {
    auto const letters = written_in("killed.d/" + name);
    if (letters.find('s') == letters.npos) ++ended;
    else going = letters;
  }
  if (ended < finished || going.empty()) return false;
  static bool late = false;
  if (going.find(what) != going.npos) return true;
  if (!std::exchange(late, true)) ::usleep(5'200'000);  // a record is due after five seconds
  return false;
}

void check(long finished, char what, words const& program) {
  auto const undisturbed = whole(program, "undisturbed.d");
  words first = program;
  first.insert(first.end(), {"--disk", "killed.d"});
  pid_t const process = support::started(first, "killed.txt");
  int status = 0;
  bool const killed = support::within(limit, [&] {
    (void)::kill(process, SIGSTOP);  // so that it is killed where it is seen
    if (::waitpid(process, &status, WUNTRACED) != process || !WIFSTOPPED(status))
      throw std::runtime_error{"it ended before it could be killed; it has to be larger"};
    bool const now = is_there(finished, what);
    (void)::kill(process, now ? SIGKILL : SIGCONT);
    return now;
  });
  (void)::kill(process, SIGKILL);
  (void)::waitpid(process, &status, 0);
  if (!killed) throw std::runtime_error{"it wrote nothing of what it was to be killed at"};
  auto const said = whole(program, "killed.d");
  std::printf("%s", said.text.c_str());
  if (said.bits != undisturbed.bits)
    throw std::runtime_error{"the bits differ from those of an undisturbed one, " + undisturbed.bits};
  if (!said.has("gone on with, steps") && (what == 'r' || !said.has("states of an earlier")))
    throw std::runtime_error{"nothing of the killed sweep was used"};
  if (finished > 0 && !said.has("finished by an earlier") && (!said.has("had finished ") || said.has("had finished 0 ")))
    throw std::runtime_error{"no finished sweep was used"};
}

}  // namespace

int main(int count, char** all) try {
  if (count < 4) return 2;
  words program(all + 3, all + count);
  program[0] = std::filesystem::absolute(program[0]).string();
  temporary const folder;
  if (::chdir(folder.path().c_str()) != 0) return 2;
  check(std::atol(all[1]), all[2][0], program);
} catch (std::exception const& e) {
  std::printf("%s\n", e.what());
  return 1;
}
