// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_lock.hpp  Who has the folder of a run: the lock of a file, and what its owner writes there for those on other
/// machines, where a file system's locks may not reach.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// This machine since its start: locks tell its processes apart.
[[nodiscard]] inline std::uint64_t this_machine() noexcept {
  static std::uint64_t const id = [] {
    std::array<char, 256> text{};
    descriptor const boot{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
    if (!boot || read_at(boot.get(), text.data(), 36, 0) != 0) (void)::gethostname(text.data(), text.size() - 1);
    return XXH64(text.data(), text.size(), 0) | 1;
  }();
  return id;
}
/// This machine, the process, and the moment.
[[nodiscard]] inline std::uint64_t new_owner() noexcept {
  std::uint64_t const all[] = {this_machine(), std::uint64_t(::getpid()),
                               std::uint64_t(std::chrono::steady_clock::now().time_since_epoch().count())};
  return XXH64(all, sizeof all, 0) | 1;
}

/// What stands in the file of a lock: a line "HOST PROCESS", and only while that process has it a second one, which ends
/// with a sum over both: what was torn when it was written over names nobody.
struct lock_text {
  char text[400] = {};
  std::size_t who = 0;  ///< length of the first line
  unsigned long long machine = 0;  ///< 0 for whoever removes, too: it has the lock for a moment
  unsigned long long owner = 0;
  unsigned long long folder = 0;  ///< its number: a copy of the folder has another one

  [[nodiscard]] std::string first_line() const { return {text, who}; }
  [[nodiscard]] std::size_t host() const noexcept {
    std::size_t end = who;
    while (end > 0 && text[end] != ' ') --end;
    return end;
  }
  [[nodiscard]] long process() const noexcept { return std::strtol(text + host(), nullptr, 10); }
};
/// Empty if it cannot be read; `errno` says why.
[[nodiscard]] inline std::optional<lock_text> text_of(descriptor const& lock) noexcept {
  lock_text all;
  ssize_t size = 0, got = 0;
  do got = ::pread(lock.get(), all.text + size, sizeof all.text - 1 - std::size_t(size), off_t(size));
  while (got > 0 ? (size += got, true) : got < 0 && errno == EINTR);
  if (got < 0) return {};
  while (all.text[all.who] >= ' ' && all.text[all.who] < 0x7f) ++all.who;
  unsigned long long sum = 0;
  int end = 0;
  char const* const at = all.text + all.who;
  if (*at == '\n' && (std::sscanf(at, "%llx %llx %llx%n %llx", &all.machine, &all.owner, &all.folder, &end, &sum) != 4 ||
                      sum != XXH64(all.text, all.who + std::size_t(end), 0)))
    all.machine = all.owner = all.folder = 0;
  return all;
}
[[nodiscard]] inline std::uint64_t number_of(descriptor const& folder) noexcept {
  struct stat now {};
  return ::fstat(folder.get(), &now) == 0 ? std::uint64_t(now.st_ino) : 0;
}
[[nodiscard]] inline std::int64_t written_at(descriptor const& file) noexcept {
  struct stat now {};
  return ::fstat(file.get(), &now) == 0 ? std::int64_t(now.st_mtime) : 0;
}
/// An owner on another machine that wrote within so many seconds is believed to be there, whatever the lock says.
inline constexpr std::int64_t beat_limit = 60;
/// Whether another machine has this folder, as the text says.
[[nodiscard]] inline bool is_elsewhere(lock_text const& text, descriptor const& folder) noexcept {
  return text.machine != 0 && text.machine != this_machine() && text.folder == number_of(folder);
}

/// The lock of a run's folder, and who has it. It is let go at its end.
class run_lock {
 public:
  /// gone: the folder or the name of the lock is not there any more, and may be made again; failed: `errno` says why
  enum class answer { taken, gone, busy, failed };

  run_lock() = default;
  run_lock(run_lock const&) = delete;
  /// Others see from the text that nobody has it; a child of the process that ends leaves it as it is.
  ~run_lock() {
    struct stat now {};
    if (!lock_ || process_ != ::getpid() || ::fstat(lock_.get(), &now) != 0 || now.st_nlink != 1) return;
    auto const text = text_of(lock_);
    if (text && text->owner == owner_) (void)::ftruncate(lock_.get(), off_t(text->who + 1));
  }
  /// A lock that is held for a moment, by a look or a removal, is waited for, 2 s at most.
  /// \param outer, run  where the folder is, and its name   \param removes  never waits
  [[nodiscard]] answer take(descriptor const& outer, std::string const& run, descriptor const& folder,
                            std::uint64_t owner, bool removes = false) {
    owner_ = owner;
    process_ = ::getpid();
    for (int looks = 0;;) {
      lock_ = open_in(folder, "lock", O_RDWR | O_CREAT);
      if (!lock_) return errno == ENOENT ? answer::gone : answer::failed;
      if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) break;
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return let_go(), answer::failed;
      other_ = text_of(lock_).value_or(lock_text{});
      if (other_.machine != 0 && other_.folder != number_of(folder) && has_second_name()) {
        if (!renew(folder)) return let_go(), answer::gone;  // a copy of this folder is at work
        break;
      }
      if (removes || ++looks > (is_for_a_moment() ? 2'000 : 20)) return let_go(), answer::busy;
      timespec const moment{0, 1'000'000};
      (void)::nanosleep(&moment, nullptr);
    }
    auto const before = text_of(lock_);
    if (!before) return let_go(), answer::failed;
    if (other_ = *before; is_elsewhere(other_, folder)) {
      age_ = (std::max)(std::int64_t{0}, now_in(folder) - written_at(lock_));
      if (age_ < beat_limit) return let_go(), answer::busy;
    }
    if (has_second_name() && !renew(folder)) return let_go(), answer::gone;
    if (int const error = write(folder, removes ? 0 : this_machine()); error != 0)
      return let_go(), errno = error, answer::failed;
    descriptor const again = open_folder_as_it_is(outer.get(), run.c_str(), O_NOFOLLOW);
    descriptor const named = again ? open_in(again, "lock", O_RDONLY) : descriptor{};
    if (!named) return let_go(), errno == ENOENT ? answer::gone : answer::failed;
    auto const now = text_of(named);
    if (!now) return let_go(), answer::failed;
    if (now->owner != owner_) return let_go(), errno = ENOENT, answer::gone;
    return answer::taken;
  }
  /// Whether this process has it still, and not one whose child it is.
  [[nodiscard]] bool holds(descriptor const& folder) noexcept {
    return lock_ && process_ == ::getpid() && !taken_over(folder);
  }
  /// Whether the lock is another one's by now: where locks do not reach all machines, or where its file was removed.
  [[nodiscard]] bool taken_over(descriptor const& folder) noexcept {
    descriptor const now = open_in(folder, "lock", O_RDONLY);
    auto const text = now ? text_of(now) : std::nullopt;
    if (!text) return false;  // nobody has it, or nobody can say
    other_ = *text;
    return other_.owner != owner_;
  }
  /// Says that its owner works, once a second at most: by the clock of the file system, and without a byte written.
  void beat(descriptor const& folder) noexcept {
    auto const now = std::chrono::steady_clock::now();
    if (now - beaten_ < std::chrono::seconds{1}) return;
    beaten_ = now;
    if (has_second_name() && !taken_over(folder) && renew(folder)) (void)write(folder, this_machine());
    (void)::futimens(lock_.get(), nullptr);
  }
  /// \throws directory_busy   that says who has it
  [[noreturn]] void refuse(std::string const& path) const {
    bool const is_known = other_.owner != owner_ && other_.host() > 0;  // else there is only its record
    std::string const host{other_.text, is_known ? other_.host() : 0};
    std::string const said = "another process or thread works on this run" + (is_known ? ", on " + host : "");
    named_value const values[] = {{"process", other_.process()}, {"seconds since it wrote", age_}};
    std::size_t const count = !is_known ? 0 : age_ < 0 ? 1 : 2;
    std::string advice = "wait for its end, or end it: ";
    if (age_ >= 0) advice = "if it was killed, start again when it has not written for 60 seconds: ";
    directory_busy error{"cairn::disk", said.c_str(), values, count, (advice + path).c_str()};
    (void)host.copy(error.host, sizeof error.host - 1);
    error.process = is_known ? other_.process() : 0;
    throw error;
  }

 private:
  void let_go() noexcept {
    int const before = errno;
    lock_ = descriptor{};
    errno = before;
  }
  [[nodiscard]] bool has_second_name() const noexcept {
    struct stat now {};
    return ::fstat(lock_.get(), &now) == 0 && now.st_nlink > 1;
  }
  [[nodiscard]] bool renew(descriptor const& folder) noexcept {
    lock_ = file_of_its_own(folder, "lock", lock_, false);
    return bool(lock_);
  }
  /// Whether who has the lock is none whose run it is: nobody has written there, or on this machine that has ended.
  [[nodiscard]] bool is_for_a_moment() const noexcept {
    if (other_.machine != this_machine()) return other_.machine == 0;
    return ::kill(pid_t(other_.process()), 0) != 0 && errno == ESRCH;
  }
  /// The time of the file system, whose clock may be another machine's.
  [[nodiscard]] static std::int64_t now_in(descriptor const& folder) noexcept {
    descriptor const made = open_in(folder, passing_name, O_RDWR | O_CREAT);
    if (!made || ::futimens(made.get(), nullptr) != 0) return std::int64_t(std::time(nullptr));
    std::int64_t const now = written_at(made);
    (void)::unlinkat(folder.get(), passing_name, 0);
    return now;
  }
  /// What is there is written over, so that a full disk takes it. Returns 0, or the system's error.
  [[nodiscard]] int write(descriptor const& folder, std::uint64_t machine) noexcept {
    char text[400] = {};
    (void)::gethostname(text, 256);
    std::size_t size = std::strlen(text);
    size += std::size_t(std::snprintf(text + size, sizeof text - size, " %ld\n%016llx %016llx %llx", long(::getpid()),
                                      static_cast<unsigned long long>(machine), static_cast<unsigned long long>(owner_),
                                      static_cast<unsigned long long>(number_of(folder))));
    unsigned long long const sum = XXH64(text, size, 0);
    size += std::size_t(std::snprintf(text + size, sizeof text - size, " %016llx\n", sum));
    int const error = write_at(lock_.get(), text, size, 0);
    if (error != 0 || ::ftruncate(lock_.get(), off_t(size)) != 0) return error != 0 ? error : errno;
    descriptor const again{::fcntl(lock_.get(), F_DUPFD_CLOEXEC, 0)};  // when it is closed, a file server has the text
    return 0;
  }

  descriptor lock_;
  lock_text other_;  // who has it, or had it
  std::uint64_t owner_ = 0;
  pid_t process_ = 0;
  std::int64_t age_ = -1;  // seconds since another machine's owner wrote; -1: not known
  std::chrono::steady_clock::time_point beaten_{};
};

}  // namespace cairn::detail
