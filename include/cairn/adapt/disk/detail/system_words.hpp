// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file system_words.hpp  Errors of the system in words: what it says, and what to do about it.
#include <cerrno>
#include <cstring>
#include <string>

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

}  // namespace cairn::detail
