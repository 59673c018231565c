// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail where a test wants it. To be included by one source file of a program.
#pragma once
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace failing_system {

enum class call { write, read, open, reserve, sync, sync_names, lock, none };
/// Which call fails: number `at` of its kind, counted from 1, of files whose names begin with a letter, or of all.
struct fault {
  call of = call::none;
  long at = 1;
  int error = 0;           // 0: a part of what is asked for is done
  bool from_there = false; // all after it fail, too, up to number `last` if that is given
  char files = 0;
  bool kills = false;      // the process, before the call
  long last = 0;
};
inline fault now;
inline long counts[int(call::none)];
inline char first_letter[1024];  // of the names of open files

inline void set(fault wanted) {
  now = wanted;
  for (auto& count : counts) count = 0;
}
/// As long as it exists.
struct failing {
  explicit failing(fault wanted) { set(wanted); }
  failing(failing const&) = delete;
  ~failing() { set({}); }
};
/// Whether this call is the one.
inline bool hits(call of, char letter) {
  if (now.of != call::none && now.files != 0 && letter != now.files) return false;
  long const count = ++counts[int(of)];
  bool const there = now.from_there ? count >= now.at && (now.last == 0 || count <= now.last) : count == now.at;
  bool const hit = now.of == of && there;
  if (hit && now.kills) (void)::raise(SIGKILL);
  return hit;
}
inline char letter_of(int file) { return file >= 0 && file < 1024 ? first_letter[file] : 0; }

}  // namespace failing_system

extern "C" {
ssize_t pwrite(int file, void const* from, std::size_t size, off_t at) {
  using namespace failing_system;
  if (hits(call::write, letter_of(file))) {
    if (now.error != 0) return errno = now.error, -1;
    if (size > 1) size /= 2;
  }
  return ::syscall(SYS_pwrite64, file, from, size, at);
}
ssize_t pread(int file, void* into, std::size_t size, off_t at) {
  using namespace failing_system;
  if (hits(call::read, letter_of(file))) {
    if (now.error != 0) return errno = now.error, -1;
    if (size > 1) size /= 2;
  }
  return ::syscall(SYS_pread64, file, into, size, at);
}
int openat(int folder, char const* name, int how, ...) {
  using namespace failing_system;
  std::va_list more;
  va_start(more, how);
  mode_t const mode = (how & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (hits(call::open, name[0]) && now.error != 0) return errno = now.error, -1;
  int const file = int(::syscall(SYS_openat, folder, name, how, mode));
  if (file >= 0 && file < 1024) first_letter[file] = name[0];
  return file;
}
int fallocate(int file, int how, off_t at, off_t size) {
  using namespace failing_system;
  if (hits(call::reserve, letter_of(file)) && now.error != 0) return errno = now.error, -1;
  return int(::syscall(SYS_fallocate, file, how, at, size));
}
int fdatasync(int file) {
  using namespace failing_system;
  if (hits(call::sync, letter_of(file)) && now.error != 0) return errno = now.error, -1;
  return int(::syscall(SYS_fdatasync, file));
}
int flock(int file, int how) {
  using namespace failing_system;
  if (hits(call::lock, letter_of(file)) && now.error != 0) return errno = now.error, -1;
  return int(::syscall(SYS_flock, file, how));
}
int fsync(int file) {
  using namespace failing_system;
  if (hits(call::sync_names, letter_of(file)) && now.error != 0) return errno = now.error, -1;
  return int(::syscall(SYS_fsync, file));
}
}
