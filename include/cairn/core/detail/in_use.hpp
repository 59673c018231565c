// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file in_use.hpp  One sweep at a time in one place.
#include <cstdint>
#include <cairn/core/error.hpp>

namespace cairn::detail {

[[noreturn]] inline void refuse_busy(char const* who) {
  throw reentrancy_error{who,
                         "this workspace is in use by a sweep that has not ended",
                         {},
                         "give each nested sweep a workspace of its own"};
}

/// Counts the sweeps that began in a place; what a kept run notes, so that it knows whether its states are still there.
/// They are not, once they have moved elsewhere or other ones have moved in.
struct sweep_count {
  std::uint64_t value = 0;
  sweep_count() = default;
  sweep_count(sweep_count&& other) noexcept : value{other.value++} {}
  sweep_count& operator=(sweep_count&& other) noexcept {
    value = (value > other.value ? value : other.value) + 1;
    ++other.value;
    return *this;
  }
};

/// Marks a place that serves one sweep at a time as in use.
struct in_use {
  bool& busy;
  in_use(bool& flag, char const* who) : busy{flag} {
    if (busy) refuse_busy(who);
    busy = true;
  }
  in_use(in_use const&) = delete;
  ~in_use() { busy = false; }
};

}  // namespace cairn::detail
