// SPDX-License-Identifier: Apache-2.0
// Processes that are killed: at a call of the user's functions, or at an operation on a file, clean or torn.
#pragma once
#include <atomic>
#include <csignal>
#include <cstdint>
#include <sys/wait.h>
#include <unistd.h>

namespace killed {

inline std::atomic<long> calls = 0;         // so far, in this process
inline std::atomic<long> operations = 0;    // the same
inline std::atomic<long> no_room_from = -1; // these and later ones find no room on the disk
inline long at_call = -1, at_operation = -1;  // where it is killed
inline long throws_at = -1;                 // where it throws
inline long started = 0;                    // processes, by this one
inline int by = SIGKILL;                    // at a call
inline bool torn = false;                   // half of what is written is there

struct thrown {};
/// To be called by each step and adjoint.
inline void tick() {
  long const now = ++calls;
  if (now == at_call) (void)::raise(by);
  if (now == throws_at) throw thrown{};
}

/// Runs f in a process of its own, which ends with 0 if f returns true. Returns its status: 0 or 1, or -1 if it was
/// killed.
template <class Fn>
int run(Fn f, long call, long operation = -1, bool half = false) {
  ++started;
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    calls = operations = 0;
    at_call = call, at_operation = operation, torn = half;
    bool right = false;
    try {
      right = f();
    } catch (...) {
    }
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? -1 : 2;
}

}  // namespace killed
