// SPDX-License-Identifier: Apache-2.0
// Ranks whose sweep is kept on disk, of which one or each is killed at a random call or write, again and again, until
// the job ends: then every rank has the bits of an undisturbed sweep.
//   disk_killed PROGRAM LAUNCHER...    LAUNCHER: mpirun and its options
// 3 jobs, one of each verb and number of ranks, or as many as CAIRN_MPI_KILLS says. CAIRN_MPI_SEED: where they are killed.
#include "support/started.hpp"
#include "support/temporary.hpp"
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using words = std::vector<std::string>;
constexpr double most_seconds = 20;
char const* const verbs[] = {"differentiate", "loop", "while"};
constexpr int most_calls = 70, most_writes = 25, most_kills = 4;

int number_of(char const* setting, int otherwise) {
  char const* const text = std::getenv(setting);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// What a job said, once all of its processes are gone.
struct ended {
  bool in_time = false;
  int status = -1;
  std::string text;
  ended(words const& job, std::string const& output) {
    pid_t const launcher = support::started(job, output);
    in_time = support::within(most_seconds, [&] {
      int one = 0;
      for (pid_t gone; (gone = ::waitpid(-1, &one, WNOHANG)) != 0;) {
        if (gone < 0) return true;  // none is left
        if (gone == launcher) status = one;
      }
      return false;
    });
    if (!in_time) (void)::kill(launcher, SIGTERM);
    text = support::content_of(output);
  }
  [[nodiscard]] bool has(char const* part) const { return text.find(part) != text.npos; }
  /// Of each rank that ended right: what it used, where it went on, and its steps.
  [[nodiscard]] std::vector<std::array<long, 3>> right() const {
    std::vector<std::array<long, 3>> all;
    for (auto at = text.find(" right used "); at != text.npos; at = text.find(" right used ", at + 1)) {
      auto& of = all.emplace_back();
      if (std::sscanf(text.c_str() + at, " right used %ld at %ld steps %ld", &of[0], &of[1], &of[2]) != 3) all.pop_back();
    }
    return all;
  }
};

class campaign {
 public:
  explicit campaign(words const& all) : program_{all[0]}, launcher_(all.begin() + 1, all.end()) {}
  void run(int jobs) {
    for (int job = 0; job < jobs; ++job) end_one(job, 2 + job % 3);
    std::printf("%d jobs, %d kills, at most %.1f s; records were used by %d\n", jobs, kills_, slowest_, by_record_);
    if (kills_ < jobs / 2 || by_record_ == 0) throw std::runtime_error{"that is too few"};
  }

 private:
  [[nodiscard]] int below(int most) { return int(draw_() % unsigned(most)); }
  void end_one(int job, int ranks) {
    support::temporary const folder;
    for (int attempt = 0;; ++attempt) {
      int const who = attempt < most_kills ? below(ranks + 1) - 1 : ranks;  // each (-1) or one; nobody at the end
      bool const writes = below(2) == 0;
      auto const at = std::to_string(writes ? 1 + below(most_writes - 1) : 2 + below(most_calls - 2));
      words all = launcher_;
      all.insert(all.end(), {"-n", std::to_string(ranks), program_, folder.run(), std::to_string(who),
                             writes ? "write" : "call", at, verbs[job % 3]});
      auto const begun = std::chrono::steady_clock::now();
      ended const seen{all, folder.path() + "/said.txt"};
      slowest_ = (std::max)(slowest_, std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count());
      auto const right = seen.right();
      bool const done = right.size() == std::size_t(ranks);
      if (!seen.in_time || seen.has("WRONG") || seen.has("collective_error") ||
          (done ? std::count(right.begin(), right.end(), right[0]) != ranks : seen.status == 0 || who == ranks))
        throw std::runtime_error{"job " + std::to_string(job) + ", attempt " + std::to_string(attempt) + ", " +
                                 std::to_string(ranks) + " ranks, killed " + std::to_string(who) + " at " +
                                 (writes ? "write " : "call ") + at + (seen.in_time ? ":\n" : ", hangs:\n") + seen.text};
      if (done) return void(by_record_ += right[0][0] == 2);
      ++kills_;
    }
  }

  std::string program_;
  words launcher_;
  std::mt19937 draw_{unsigned(number_of("CAIRN_MPI_SEED", 1))};
  int kills_ = 0, by_record_ = 0;
  double slowest_ = 0;
};

}  // namespace

int main(int count, char** all) try {
  if (count < 3 || ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return 2;  // ranks outlive their launcher
  campaign{words(all + 1, all + count)}.run(number_of("CAIRN_MPI_KILLS", 3));
  std::puts("all ended with the right bits on all ranks");
} catch (std::exception const& e) {
  std::printf("%s\n", e.what());
  return 1;
}
