// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file descriptor.hpp  Files and folders by their descriptors: nothing is followed, nothing is left open. And the
/// words for what the system refuses.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <cairn/core/error.hpp>

namespace cairn::detail {

struct system_words {
  int number;
  char const* says;
  char const* advice;
};
/// The words for a number of `errno`; the system's own where there is no advice.
[[nodiscard]] inline system_words words_of_system(int number) noexcept {
  constexpr system_words all[] = {
      {ENOENT, "no such file or folder", "see whether the path is right, and make the folder that it is in"},
      {EACCES, "no permission", "give the user of the program the rights to read, write and enter it"},
      {EPERM, "not permitted", "it has to belong to the user of the program; name a folder of that user"},
      {EROFS, "the file system is read-only", "name a folder on one that can be written"},
      {ENOSPC, "no space is left on the disk", "make room, or name a folder on another disk"},
      {EDQUOT, "the quota of the user is used up", "make room or ask for more, or name a folder on another disk"},
      {ESTALE, "the file server has lost the file", "start again; if that does not help, mount the file system anew"},
      {ELOOP, "a link stands there, or no plain file", "remove it, or name the folder that it leads to"},
      {ENOTCONN, "the file system has lost its server", "mount it anew"},
      {EFBIG, "the file would be too large", "raise the limit of file sizes (ulimit -f), or name another disk"},
      {ENOTDIR, "a part of the path is not a folder", "name a folder, or remove the file that stands in its place"},
      {EISDIR, "a folder stands there", "remove it, or name another place"},
      {EMFILE, "the process has too many open files", "close some, or raise the limit (ulimit -n)"},
      {ENFILE, "the system has too many open files", "close some, or raise its limit (fs.file-max)"},
      {EIO, "the disk cannot read or write", "see the log of the system, and name a folder on another disk"},
      {ENAMETOOLONG, "the path is too long", "name a folder with a shorter one"},
      {ENODEV, "there is no such device", "see whether the file system is mounted"},
      {ENXIO, "there is no such device", "see whether the file system is mounted"},
      {ENOLCK, "no lock is to be had", "mount the file system with locks, or name a folder on another one"},
      {ENOTSUP, "the file system cannot do this", "name a folder on another one"},
      {ENOSYS, "the file system cannot do this", "name a folder on another one"},
  };
  for (auto const& one : all)
    if (one.number == number) return one;
  return {number, std::strerror(number), ""};
}
/// "problem: what the system says".
[[nodiscard]] inline std::string said_by_system(char const* problem, int number) {
  return std::string{problem} + ": " + words_of_system(number).says;
}

static_assert(sizeof(off_t) >= 8, "cairn: files of checkpoints may be large; compile with -D_FILE_OFFSET_BITS=64");

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
  /// `errno` stays what it was: it may be why the owner ends.
  ~descriptor() {
    if (number_ < 0) return;
    int const before = errno;
    (void)::close(number_);
    errno = before;
  }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
  [[nodiscard]] int get() const noexcept { return number_; }
  /// It belongs to the caller from now on.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// \param advice  what would work; empty: what does for this error of the system
[[noreturn]] inline void refuse_file(char const* problem, int number, std::string const& path,
                                     std::string advice = {}) {
  if (advice.empty()) advice = words_of_system(number).advice;
  if (!advice.empty()) advice += ": ";  // the path may be long, and is what is cut then
  throw file_error{
      "cairn::disk", said_by_system(problem, number).c_str(), {{"error", number}}, (advice + path).c_str()};
}

/// Calls one(bytes, size, at), a read or a write, until all bytes are done; what is interrupted or partial goes on.
/// Returns 0, the system's error, or EIO where the file ends.
template <class Byte, class Call>
[[nodiscard]] int transfer(Byte* bytes, std::size_t size, std::uint64_t at, Call one) noexcept {
  while (size > 0) {
    ssize_t const done = one(bytes, size, off_t(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes += done;
    at += std::uint64_t(done);
    size -= std::size_t(done);
  }
  return 0;
}
/// Writes all bytes at a place. Returns 0, or the system's error.
[[nodiscard]] inline int write_at(int file, void const* from, std::size_t size, std::uint64_t at) noexcept {
  return transfer(static_cast<char const*>(from), size, at, [file](char const* bytes, std::size_t left, off_t place) {
    return ::pwrite(file, bytes, left, place);
  });
}
/// Reads as many bytes; EIO if the file ends before.
[[nodiscard]] inline int read_at(int file, void* into, std::size_t size, std::uint64_t at) noexcept {
  return transfer(static_cast<char*>(into), size, at, [file](char* bytes, std::size_t left, off_t place) {
    return ::pread(file, bytes, left, place);
  });
}

/// The file has so many bytes, or more. Returns 0, or the system's error.
[[nodiscard]] inline int at_least(int file, std::uint64_t size) noexcept {
  struct stat now {};
  if (::fstat(file, &now) != 0) return errno;
  int done = now.st_size >= off_t(size) ? 0 : -1;
  while (done != 0 && (done = ::ftruncate(file, off_t(size))) != 0 && errno == EINTR) {}
  return done == 0 ? 0 : errno;
}

/// Takes room for the first bytes of a file, where the system can do that without writing them: elsewhere a C library may
/// write into each block. Returns 0, or the system's error.
template <class Size>
[[nodiscard]] int take_room(int file, Size bytes) noexcept {
  int error = 0;
  if constexpr (requires { fallocate(file, 0, bytes, bytes); }) {
    do error = fallocate(file, 0, Size{}, bytes) == 0 ? 0 : errno;
    while (error == EINTR);
  }
  return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL ? 0 : error;
}

/// What is done with a file that is to be written and has a second name, as after `cp -al`.
enum class second_name : std::uint8_t {
  stays,     ///< nothing is written to it here
  new_file,  ///< this name gets an empty file of its own
  copy       ///< this name gets a file of its own with the same content
};
inline constexpr char const* passing_name = "new";  // of a file before it gets its own
/// Puts a file of this folder's own in the place of one that has a second name, which stays as it is. Nobody else takes
/// the new one's lock before this process. Empty if the system fails, whose error is in `errno`.
[[nodiscard]] inline descriptor file_of_its_own(descriptor const& folder, char const* name, descriptor const& from,
                                                bool copies) noexcept {
  (void)::unlinkat(folder.get(), passing_name, 0);  // a killed process may have left one
  int const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  descriptor made{::openat(folder.get(), passing_name, flags, 0600)};
  if (!made) return {};
  (void)::fchmod(made.get(), 0600);
  (void)::flock(made.get(), LOCK_EX | LOCK_NB);
  struct stat now {};
  int error = ::fstat(from.get(), &now) == 0 ? 0 : errno;
  char part[16'384];
  for (std::uint64_t at = 0; copies && error == 0 && at < std::uint64_t(now.st_size); at += sizeof part) {
    auto const size = std::size_t((std::min)(std::uint64_t{sizeof part}, std::uint64_t(now.st_size) - at));
    error = read_at(from.get(), part, size, at);
    if (error == 0) error = write_at(made.get(), part, size, at);
  }
  if (copies && error == 0 && ::fdatasync(made.get()) != 0) error = errno;
  if (error == 0 && ::renameat(folder.get(), passing_name, folder.get(), name) == 0) return made;
  if (error == 0) error = errno;
  (void)::unlinkat(folder.get(), passing_name, 0);
  errno = error;
  return {};
}
/// A plain file of the user's own in a folder, by its name there; one that may be made here is for its owner only,
/// whatever the umask. No link is followed, and a file of another owner is not opened: `errno` is ELOOP or EPERM then.
[[nodiscard]] inline descriptor open_in(descriptor const& folder, char const* name, int how,
                                        second_name other = second_name::stays) noexcept {
  int number = -1;
  do number = ::openat(folder.get(), name, how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  while (number < 0 && errno == EINTR);
  descriptor file{number};
  struct stat now {};
  if (!file || ::fstat(number, &now) != 0) return {};
  bool const plain = S_ISREG(now.st_mode), mine = now.st_uid == ::geteuid();
  if (!plain || !mine) {
    errno = plain ? EPERM : ELOOP;
    return {};
  }
  if (now.st_nlink > 1)
    return other == second_name::stays ? std::move(file)
                                       : file_of_its_own(folder, name, file, other == second_name::copy);
  if ((how & O_CREAT) != 0 && (now.st_mode & 0777) != 0600) (void)::fchmod(number, 0600);
  return file;
}

/// A folder, which may be a link if its name is the user's.
[[nodiscard]] inline descriptor open_folder_as_it_is(int in, char const* name, int how) noexcept {
  int number = -1;
  do number = ::openat(in, name, how | O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (number < 0 && errno == EINTR);
  return descriptor{number};
}
/// Waits until the disk has the names in a folder. Returns 0, or the number of the system's error; some file systems
/// cannot wait.
[[nodiscard]] inline int names_are_kept(descriptor const& folder) noexcept {
  return ::fsync(folder.get()) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}
/// Whether a name is a link.
[[nodiscard]] inline bool is_link(int in, std::string const& name) noexcept {
  struct stat now {};
  return ::fstatat(in, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(now.st_mode);
}
/// A folder, made if it is not there; only its owner may enter one that is made here, whatever the umask.
/// \param in  the folder that it is in; or AT_FDCWD: the name is the user's, and may be a link to a folder
/// \throws file_error
[[nodiscard]] inline descriptor open_folder(int in, std::string name) {
  while (name.size() > 1 && name.back() == '/') name.pop_back();  // mkdir would not make what a link leads to
  bool const users = in == AT_FDCWD;
  int made = -1;
  struct stat now {};
  descriptor folder;
  for (int tries = 0; !folder; ++tries) {
    do made = ::mkdirat(in, name.c_str(), 0700);
    while (made != 0 && errno == EINTR);
    if (made != 0 && errno != EEXIST) refuse_file("a folder for checkpoints cannot be made", errno, name);
    if (made == 0 && ::fstatat(in, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && (now.st_mode & 0777) != 0700)
      (void)::fchmodat(in, name.c_str(), 0700 | (now.st_mode & S_ISGID), AT_SYMLINK_NOFOLLOW);
    folder = open_folder_as_it_is(in, name.c_str(), users ? 0 : O_NOFOLLOW);
    if (int const number = errno; !folder) {
      bool const link = is_link(in, name);
      if (number == ENOENT && !link && tries < 1'000) continue;  // another process has removed it
      if (users && link && number == ENOENT)
        refuse_file("the folder for checkpoints is a link that leads nowhere", number, name,
                    "make the folder that it leads to, or remove the link");
      refuse_file("a folder for checkpoints cannot be opened", number, name);
    }
  }
  if (::fstat(folder.get(), &now) != 0) refuse_file("a folder for checkpoints cannot be read", errno, name);
  if (now.st_uid != ::geteuid()) refuse_file("a folder for checkpoints belongs to another user", EPERM, name);
  if (made == 0) {  // a power cut takes what is in it, if it takes its name
    std::size_t const end = name.rfind('/');
    std::string const outside = end == std::string::npos ? "." : name.substr(0, end + 1);
    if (descriptor const outer = open_folder_as_it_is(in, outside.c_str(), 0)) (void)names_are_kept(outer);
  }
  return folder;
}

}  // namespace cairn::detail
