// SPDX-License-Identifier: Apache-2.0
// How runs on disk end.
#pragma once
#include "support/disk_runs.hpp"
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace disk_runs {

/// With the right gradient, with a wrong one, with a typed error, with another one.
enum class end { right, wrong, file, full, busy, other };
inline char const* words(end how) {
  static char const* const all[] = {"right",        "wrong",          "file_error",
                                    "storage_full", "directory_busy", "another exception"};
  return all[int(how)];
}
template <class Kind = numbers>
end end_of(std::string const& path, cairn::disk_options const& options = {.commit_every = 2}) {
  static auto const want = right<Kind>();
  try {
    return same(go_on<Kind>(path, options).numbers, want) ? end::right : end::wrong;
  } catch (cairn::file_error const&) {
    return end::file;
  } catch (cairn::storage_full const&) {
    return end::full;
  } catch (cairn::directory_busy const&) {
    return end::busy;
  } catch (...) {
    return end::other;
  }
}

/// Starts a process of a function's, which ends with its result.
inline pid_t in_process(std::function<int()> const& run) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  int result = 99;
  try {
    result = run();
  } catch (...) {
  }
  ::_exit(result);
}
/// Its result; below 0 if it was killed.
inline int result_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace disk_runs
