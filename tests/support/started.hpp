// SPDX-License-Identifier: Apache-2.0
// Programs that are started by another one, with what they print in a file.
#pragma once
#include <chrono>
#include <fcntl.h>
#include <string>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace support {

/// Starts a program, whose standard output and errors become the content of a file.
inline pid_t started(std::vector<std::string> words, std::string const& output) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  int const file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> all;
  for (auto& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  if (::dup2(file, 1) == 1 && ::dup2(file, 2) == 2) (void)::execvp(all[0], all.data());
  ::_exit(127);
}

/// Waits until f returns true.   \returns whether it does within so many seconds
template <class Fn>
bool within(double seconds, Fn f) {
  auto const until = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds};
  while (!f()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace support
