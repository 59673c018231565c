// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include "support/kernels.hpp"

/// Where user code is called from, and can be made to throw.
enum class site { step, adjoint, copy, seed, hook, observer };

/// What a burnt fuse throws. No std::exception, so that nothing on its way could know it; remembers where it was made.
struct planned {
  explicit planned(std::int64_t call) : number{call} { made = this; }
  std::int64_t number;
  inline static planned const* made = nullptr;
};

/// Throws `planned` at a chosen call from a chosen site, once.
class fuse {
 public:
  struct place {
    std::int64_t action;     ///< number of the action that was under way, -1 outside of all
    cairn::step_index step;  ///< -1 where the call has none
  };

  void arm(site where, std::int64_t call) {
    disarm();
    armed_ = true;
    where_ = where;
    call_ = call;
  }
  void disarm() {
    armed_ = false;
    calls_.clear();
  }
  [[nodiscard]] bool armed() const { return armed_; }
  void pass(site here, cairn::step_index i = -1) {
    if (!armed_ || here != where_) return;
    calls_.push_back({action, i});
    if (std::int64_t(calls_.size()) <= call_) return;
    armed_ = false;
    throw planned{call_};
  }

  /// The calls passed since the fuse was armed, the one that threw included.
  [[nodiscard]] std::vector<place> const& calls() const { return calls_; }
  [[nodiscard]] cairn::step_index last_step() const { return calls_.back().step; }
  /// To be kept up to date by an observer.
  std::int64_t action = -1;

 private:
  bool armed_ = false;
  site where_ = site::step;
  std::int64_t call_ = 0;
  std::vector<place> calls_;
};

inline fuse the_fuse;

/// A state of two numbers that counts its living objects, and whose copies pass the fuse when half done.
class tracked {
 public:
  explicit tracked(kernels::vec2 const& numbers) : numbers_{numbers} { ++alive; }
  tracked(tracked const& other) : numbers_{other.numbers_} {
    the_fuse.pass(site::copy);
    ++alive;
  }
  tracked(tracked&& other) noexcept : numbers_{other.numbers_} {
    other.numbers_ = {};
    ++alive;
  }
  tracked& operator=(tracked const& other) {
    numbers_[0] = other.numbers_[0];
    the_fuse.pass(site::copy);
    numbers_[1] = other.numbers_[1];
    return *this;
  }
  tracked& operator=(tracked&& other) noexcept {
    numbers_ = other.numbers_;
    other.numbers_ = {};
    return *this;
  }
  ~tracked() { --alive; }

  [[nodiscard]] double* numbers() { return numbers_.data(); }
  [[nodiscard]] double const* numbers() const { return numbers_.data(); }
  [[nodiscard]] kernels::vec2 const& values() const { return numbers_; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(tracked); }

  inline static std::int64_t alive = 0;

 private:
  kernels::vec2 numbers_;
};
