// SPDX-License-Identifier: Apache-2.0
// Writes at which a process is killed. To be included by one source file of a program, whose library's calls come here
// first.
#pragma once
#include <cerrno>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include "support/killed.hpp"

extern "C" ssize_t pwrite(int file, void const* from, std::size_t size, off_t at) {
  long const now = ++killed::operations;
  if (now == killed::at_operation) {
    if (killed::torn) (void)::syscall(SYS_pwrite64, file, from, size / 2, at);
    (void)::raise(SIGKILL);
  }
  if (killed::no_room_from >= 0 && now >= killed::no_room_from) return errno = ENOSPC, -1;
  return ssize_t(::syscall(SYS_pwrite64, file, from, size, at));
}
extern "C" int fdatasync(int file) {
  if (++killed::operations == killed::at_operation) (void)::raise(SIGKILL);
  return int(::syscall(SYS_fdatasync, file));
}
extern "C" int ftruncate(int file, off_t size) noexcept {
  if (++killed::operations == killed::at_operation) (void)::raise(SIGKILL);
  return int(::syscall(SYS_ftruncate, file, size));
}
