// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file descriptor.hpp  Files and folders by their descriptors: nothing is followed, nothing is left open.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// A file or folder that is closed when its owner ends; negative if there is none.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_{number} {}
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) (void)::close(number_);
  }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_ = -1;
};

[[noreturn]] inline void refuse_file(char const* problem, int number, std::string const& path) {
  throw file_error{"cairn::disk", problem, {{"error", number}}, path.c_str()};
}

/// Writes all bytes at a place. Returns 0, or the number of the system's error; an interrupted or partial write goes on.
[[nodiscard]] inline int write_at(int file, void const* from, std::size_t size, std::uint64_t at) noexcept {
  auto const* bytes = static_cast<char const*>(from);
  while (size > 0) {
    ssize_t const done = ::pwrite(file, bytes, size, off_t(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes += done;
    at += std::uint64_t(done);
    size -= std::size_t(done);
  }
  return 0;
}
/// Reads as many bytes; EIO if the file ends before.
[[nodiscard]] inline int read_at(int file, void* into, std::size_t size, std::uint64_t at) noexcept {
  auto* bytes = static_cast<char*>(into);
  while (size > 0) {
    ssize_t const done = ::pread(file, bytes, size, off_t(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes += done;
    at += std::uint64_t(done);
    size -= std::size_t(done);
  }
  return 0;
}

/// A plain file of the user's own in a folder, by its name there. No link is followed, and a file that has a second name
/// or another owner is not opened: `errno` is ELOOP, EMLINK or EPERM then.
[[nodiscard]] inline descriptor open_in(descriptor const& folder, char const* name, int how) noexcept {
  int number = -1;
  do number = ::openat(folder.get(), name, how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  while (number < 0 && errno == EINTR);
  descriptor file{number};
  struct stat now {};
  if (!file || ::fstat(number, &now) != 0) return {};
  bool const plain = S_ISREG(now.st_mode), mine = now.st_uid == ::geteuid(), once = now.st_nlink <= 1;
  if (plain && mine && once) return file;
  errno = !plain ? ELOOP : mine ? EMLINK : EPERM;
  return {};
}
/// A folder, made if it is not there; only its owner may enter one that is made here.
/// \param in  the folder that it is in, or AT_FDCWD   \throws file_error
[[nodiscard]] inline descriptor open_folder(int in, std::string const& name) {
  if (::mkdirat(in, name.c_str(), 0700) != 0 && errno != EEXIST)
    refuse_file("a folder for checkpoints cannot be made", errno, name);
  descriptor folder{::openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder) refuse_file("a folder for checkpoints cannot be opened", errno, name);
  struct stat now {};
  if (::fstat(folder.get(), &now) != 0 || now.st_uid != ::geteuid())
    refuse_file("a folder for checkpoints belongs to another user", EPERM, name);
  return folder;
}

}  // namespace cairn::detail
