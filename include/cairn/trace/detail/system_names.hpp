// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file system_names.hpp  What a trace says of its process, as far as files of the system say it.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn::detail {

/// The 64-bit FNV-1a hash of a text, as 16 hexadecimal digits.
[[nodiscard]] inline std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

/// The whole of a small file of the system; "" if there is none.
[[nodiscard]] inline std::string system_file(char const* name) {
  std::ifstream stream{name, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

/// Number of the process and of its parent; -1 if the system does not say.
struct process_numbers {
  std::int64_t own = -1;
  std::int64_t parent = -1;
};
[[nodiscard]] inline process_numbers numbers_of_process() {
  process_numbers found;
  long long own = 0, parent = 0;
  // "1234 (name) S 1 ...": a name may hold spaces and brackets
  std::string const text = system_file("/proc/self/stat");
  auto const named = text.rfind(')');
  if (named != text.npos && std::sscanf(text.c_str(), "%lld", &own) == 1 &&
      std::sscanf(text.c_str() + named + 1, " %*c %lld", &parent) == 1)
    found = {own, parent};
  return found;
}

/// Host, command line (arguments with ';' between), executable and folder; "unknown" if the system does not say.
struct process_names {
  std::string host, command, executable, folder;
};
[[nodiscard]] inline process_names names_of_process() {
  process_names found{system_file("/proc/sys/kernel/hostname"), system_file("/proc/self/cmdline"), "", ""};
  while (!found.host.empty() && found.host.back() == '\n') found.host.pop_back();
  while (!found.command.empty() && found.command.back() == '\0') found.command.pop_back();
  for (char& c : found.command)
    if (c == '\0') c = ';';
  std::error_code none;
  found.executable = std::filesystem::read_symlink("/proc/self/exe", none).string();
  found.folder = std::filesystem::current_path(none).string();
  for (auto* const one : {&found.host, &found.command, &found.executable, &found.folder})
    if (one->empty()) *one = "unknown";
  return found;
}

/// The system's number of this thread. If the system has none, each call returns the next number from 1.
[[nodiscard]] inline std::int64_t number_of_thread() {
  std::error_code none;
  long long number = 0;
  std::string const link = std::filesystem::read_symlink("/proc/thread-self", none).string();  // "1234/task/1240"
  if (std::sscanf(link.c_str(), "%*d/task/%lld", &number) == 1) return number;
  static std::atomic<std::int64_t> count{0};
  return ++count;
}

/// "2026-01-31T23:59:59Z".
[[nodiscard]] inline std::string date_text(std::int64_t seconds) {
  auto const at = std::time_t(seconds);
  char text[32] = "";
  auto const* const utc = std::gmtime(&at);
  if (utc != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", utc);
  return text;
}

}  // namespace cairn::detail
