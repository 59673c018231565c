// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_parts.hpp  What is kept of the steps of a segment, and the state at its end.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>

namespace cairn::detail {

struct no_kept_part {};

/// The kept parts of steps [first, next), and one state that the reversal begins from. Memory is kept from loop to loop.
template <class State, class Kept>
class kept_parts {
  static constexpr bool keeps = !std::is_same_v<Kept, no_kept_part>;

 public:
  /// Forgets all, and keeps the parts of steps from `first` on.
  void begin(step_index first) noexcept {
    first_ = next_ = first;
    end_at_ = -1;
    bytes_ = 0;
  }
  void forget() noexcept { begin(-1); }
  /// Room for the parts of so many steps. Those of a loop that never ends are not reserved.
  void reserve(step_index steps) {
    constexpr step_index most = step_index{1} << 24;
    if constexpr (keeps)
      if (steps > 0 && steps <= most) all_.reserve(std::size_t(steps));
  }
  /// Keeps the result of `make()`, the part of step i, unless it is there, or one before it is missing.
  template <class Make>
  void collect(step_index i, Make const& make) {
    if (i != next_) return;
    if constexpr (keeps) {
      auto const place = std::size_t(i - first_);
      if (place < all_.size()) all_[place] = taken_from(make);
      else all_.push_back(taken_from(make));
      if constexpr (sized_state<Kept>) bytes_ += wide(bytes_of(all_[place]));
    }
    ++next_;
  }
  [[nodiscard]] bool has(step_index from, step_index to) const noexcept {
    return first_ >= 0 && first_ <= from && to <= next_;
  }
  /// \pre has(i, i + 1)
  [[nodiscard]] Kept const& of(step_index i) const noexcept {
    if constexpr (keeps) return all_[std::size_t(i - first_)];
    else return nothing;
  }
  [[nodiscard]] step_index count() const noexcept { return next_ - first_; }
  [[nodiscard]] wide bytes() const noexcept { return !keeps ? 0 : sized_state<Kept> ? bytes_ : unknown_bytes; }

  /// Notes state i, from which a segment may begin to go backwards.
  void end_is(State const& x, step_index i) {
    keep_in(end_, x);
    end_at_ = i;
  }
  [[nodiscard]] bool ends_at(step_index i) const noexcept { return end_at_ == i; }
  void end_is_gone() noexcept { end_at_ = -1; }
  /// The state that was noted, or memory for one.
  [[nodiscard]] std::optional<stored_as<State>>& end() noexcept { return end_; }
  /// Another one: of state i + 1, for a step or an adjoint that takes two.
  [[nodiscard]] std::optional<stored_as<State>>& next() noexcept { return after_; }

 private:
  static constexpr std::conditional_t<keeps, int, no_kept_part> nothing{};
  std::vector<Kept> all_;
  step_index first_ = -1, next_ = -1, end_at_ = -1;
  wide bytes_ = 0;
  std::optional<stored_as<State>> end_, after_;
};

}  // namespace cairn::detail
