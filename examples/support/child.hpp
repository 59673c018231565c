// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file child.hpp  Runs a function in a child process and gets the bytes that it returns: what the child
/// allocates never counts as this process's memory.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <system_error>
#include <vector>

namespace support {

namespace detail {

inline bool write_all(int file, std::vector<std::byte> const& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    auto const count = write(file, bytes.data() + sent, bytes.size() - sent);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += std::size_t(count);
  }
  return true;
}

inline std::vector<std::byte> read_all(int file) {
  std::vector<std::byte> bytes, piece(std::size_t{1} << 16);
  for (;;) {
    auto const count = read(file, piece.data(), piece.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return bytes;
    if (count > 0) bytes.insert(bytes.end(), piece.begin(), piece.begin() + count);
  }
}

}  // namespace detail

/// What `work()`, a std::vector<std::byte>, was in a forked child; nothing if the child failed.
/// \throws std::system_error if no child could be started
template <class Work>
[[nodiscard]] std::optional<std::vector<std::byte>> run_in_child(Work work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
  std::fflush(nullptr);  // or the child would print what is still in the buffers once more
  auto const child = fork();
  if (child < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (child == 0) {
    close(ends[0]);
    bool good = false;
    try {
      good = detail::write_all(ends[1], work());
    } catch (std::exception const& problem) { std::fprintf(stderr, "child process: %s\n", problem.what()); }
    _exit(good ? 0 : 1);
  }
  close(ends[1]);
  auto bytes = detail::read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return bytes;
}

}  // namespace support
