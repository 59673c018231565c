// SPDX-License-Identifier: Apache-2.0
// A folder of a test, and files in it.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace support {

/// A folder of a test, in memory where there is one for that. It is gone with its owner.
class temporary {
 public:
  temporary() {
    char const* const asked = std::getenv("TMPDIR");
    static int made = 0;
    path_ = asked != nullptr ? asked : ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path_ += "/cairn_disk_" + std::to_string(::getpid()) + '_' + std::to_string(++made);
    remove_all(path_);
    if (::mkdir(path_.c_str(), 0700) != 0) throw std::runtime_error{"no temporary folder"};
  }
  temporary(temporary const&) = delete;
  ~temporary() { remove_all(path_); }
  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string run() const { return path_ + "/run.d"; }
  void remove_runs() const { remove_all(run()); }
  /// The files of all runs whose names begin so.
  void remove_files(std::string const& beginning) const {
    for (auto const& one : names_in(run()))
      for (auto const& name : names_in(run() + '/' + one))
        if (name.starts_with(beginning)) remove_all(run() + '/' + one + '/' + name);
  }

  static std::vector<std::string> names_in(std::string const& folder) {
    std::vector<std::string> names;
    if (DIR* const open = ::opendir(folder.c_str())) {
      while (dirent const* const one = ::readdir(open))
        if (std::string const name = one->d_name; name != "." && name != "..") names.push_back(name);
      ::closedir(open);
    }
    return names;
  }
  static void remove_all(std::string const& path) {
    struct stat now {};
    if (::lstat(path.c_str(), &now) == 0 && S_ISDIR(now.st_mode)) {
      (void)::chmod(path.c_str(), 0700);
      for (auto const& name : names_in(path)) remove_all(path + '/' + name);
      (void)::rmdir(path.c_str());
    } else (void)::unlink(path.c_str());
  }

 private:
  std::string path_;
};

inline std::string content_of(std::string const& path) {
  std::string all;
  if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
    char part[4096];
    while (std::size_t const got = std::fread(part, 1, sizeof part, file)) all.append(part, got);
    std::fclose(file);
  }
  return all;
}
inline void put(std::string const& path, std::string const& content) {
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (file < 0 || ::write(file, content.data(), content.size()) != ssize_t(content.size()))
    throw std::runtime_error{"cannot write " + path};
  ::close(file);
}

}  // namespace support
