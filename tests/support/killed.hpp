// SPDX-License-Identifier: Apache-2.0
// Processes that are killed: at a call of the user's functions, or at an operation on a file, clean or torn.
#pragma once
#include <atomic>
#include <csignal>
#include <cstdint>
#include <sys/wait.h>
#include <unistd.h>

namespace killed {

inline long calls = 0;                      // so far, in this process
inline std::atomic<long> operations = 0;    // the same, of all its threads
inline std::atomic<long> no_room_from = -1; // these and later ones find no room on the disk
inline long at_call = -1, at_operation = -1;  // where it is killed
inline int by = SIGKILL;                    // at a call
inline bool torn = false;                   // half of what is written is there

/// To be called by each step and adjoint.
inline void tick() {
  if (++calls == at_call) (void)::raise(by);
}

/// Runs f in a process of its own, which ends with 0 if f returns true. Returns its status: 0 or 1, or -1 if it was
/// killed.
template <class Fn>
int run(Fn f, long call, long operation = -1, bool half = false) {
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
