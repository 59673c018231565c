// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file in_use.hpp  One sweep at a time in one place.
#include <cstdint>
#include <cairn/core/error.hpp>

namespace cairn::detail {

[[noreturn]] inline void refuse_busy(char const* who) {
  throw reentrancy_error{who,
                         "this workspace or store is in use by a sweep that has not ended",
                         {},
                         "give each nested sweep a workspace and a store of its own"};
}

[[noreturn]] inline void refuse_to_leave() {
  throw reentrancy_error{"cairn",
                         "a workspace, a kept run or a store is moved or destroyed by a function that its sweep called",
                         {},
                         "let it stay where it is until the sweep has ended"};
}

/// Whether a place is in use. It stays where it is meanwhile: a move of it throws, and its destruction, which cannot
/// throw, ends the program with the same words. A copy is not in use.
class busy_mark {
 public:
  busy_mark() = default;
  busy_mark(busy_mark const&) noexcept {}
  busy_mark(busy_mark&& other) { other.check(); }
  busy_mark& operator=(busy_mark const&) {
    check();
    return *this;
  }
  busy_mark& operator=(busy_mark&& other) {
    check();
    other.check();
    return *this;
  }
  ~busy_mark() { check(); }
  [[nodiscard]] explicit operator bool() const noexcept { return busy_; }

 private:
  friend struct in_use;
  void check() const {
    if (busy_) refuse_to_leave();
  }
  bool busy_ = false;
};

/// Counts the sweeps that began in a place; what a kept run notes, so that it knows whether its states are still there.
/// They are not, once they have moved elsewhere or other ones have moved in.
struct sweep_count {
  std::uint64_t value = 0;
  sweep_count() = default;
  sweep_count(sweep_count const&) = default;
  sweep_count& operator=(sweep_count const&) = default;
  sweep_count(sweep_count&& other) noexcept : value{other.value++} {}
  sweep_count& operator=(sweep_count&& other) noexcept {
    value = (value > other.value ? value : other.value) + 1;
    ++other.value;
    return *this;
  }
};

/// Marks a place that serves one sweep at a time as in use.
struct in_use {
  busy_mark& mark;
  in_use(busy_mark& of, char const* who) : mark{of} {
    if (mark) refuse_busy(who);
    mark.busy_ = true;
  }
  in_use(in_use const&) = delete;
  ~in_use() { mark.busy_ = false; }
};

}  // namespace cairn::detail
