// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checks.hpp  What a program promises about itself, and whether it was kept.

#include <cstdio>
#include <string>

#include "json.hpp"

namespace support {

/// Promises and whether they were kept.
class checks {
 public:
  void add(char const* name, bool kept, std::string const& details) {
    std::printf("  %-6s  %s: %s\n", kept ? "ok" : "FAILED", name, details.c_str());
    report_.add(name, kept);
    all_kept_ = all_kept_ && kept;
  }
  [[nodiscard]] bool all_kept() const noexcept { return all_kept_; }
  [[nodiscard]] json_object const& report() const noexcept { return report_; }

 private:
  json_object report_;
  bool all_kept_ = true;
};

}  // namespace support
